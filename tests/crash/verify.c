// SPDX-License-Identifier: GPL-2.0
/*
 * Does the trace of the plugin's selftest say what the guest did? TAP.
 *
 *   verify [--break HOW] TRACE
 *
 * --break changes the records on the way, as a wrong plugin would: a check that stays green then
 * is worthless.
 */
#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "sequences.h"

#define TEXT	4096

#define SEQUENCE_ROW(name, text) { #name, text },

static const struct {
	const char *name;
	const char *records;
} expected[] = { SEQUENCES(SEQUENCE_ROW) };

static unsigned int passed, failed;

static void result(bool ok, const char *name, const char *detail, const char *why)
{
	if (!ok && why)
		printf("# %s\n", why);
	printf("%s %u - %s%s\n", ok ? "ok" : "not ok", passed + failed + 1, name, detail);
	if (ok)
		passed++;
	else
		failed++;
}

/* --- breaking -------------------------------------------------------------------- */

/* False: leave the record out. */
static bool mutate(const char *how, struct trace_rec *rec)
{
	if (!strcmp(how, "no-write-backs"))
		return rec->type != TRACE_WRITE_BACK;
	if (!strcmp(how, "no-fences"))
		return rec->type != TRACE_SFENCE;
	if (!strcmp(how, "no-locked"))
		return rec->type != TRACE_LOCKED;
	if (!strcmp(how, "one-cpu"))
		rec->cpu = 0;
	else if (!strcmp(how, "plain-stores") && rec->type == TRACE_NT_STORE)
		rec->type = TRACE_STORE;
	else if (!strcmp(how, "next-line") && rec->type == TRACE_WRITE_BACK)
		rec->addr += TRACE_LINE;
	else if (!strcmp(how, "values") && has_data(rec))
		((uint8_t *)(rec + 1))[rec->len - 1] ^= 0x40;
	else if (!strcmp(how, "addresses") && has_data(rec))
		rec->addr ^= TRACE_LINE;
	return true;
}

/* --- the sequences in user space --------------------------------------------------- */

struct window {
	bool exact;		/* one repetition as expected to the letter */
	bool all;		/* every one, but for fences of interrupts */
	unsigned int count;	/* of repetitions */
	char odd[TEXT];		/* one that is not exact */
};

static struct window windows[2][SEQUENCE_COUNT];
static uint64_t area0[2];	/* offset of a pass's first area, once known */

static bool is_fence(const char *text)
{
	return !strncmp(text, "sfence", 6) || !strncmp(text, "locked", 6);
}

/* Is @text what is expected, but for fences between? Both: records with "; " between them. */
static bool same_but_fences(const char *want, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ";"), w = strcspn(want, ";");

		if (n == w && !strncmp(want, text, n))
			want += w + (want[w] ? 2 : 0);
		else if (!is_fence(text))
			return false;
		text += n + (text[n] ? 2 : 0);
	}
	return !*want;
}

static void end_of_window(uint64_t value, const char *text)
{
	struct window *w = &windows[value >> 16][(value >> 8) & 0xff];
	const char *want = expected[(value >> 8) & 0xff].records;
	bool long_one = *want == '~';

	if (!w->count++)
		w->all = true;
	want += long_one;
	if (long_one || !strcmp(text, want))
		w->exact = true;
	if (strcmp(text, want))
		snprintf(w->odd, sizeof(w->odd), "%s", text);
	w->all &= same_but_fences(want, text);
}

static uint64_t area(uint64_t value)
{
	unsigned int number = ((value >> 8) & 0xff) * REPETITIONS + (value & 0xff);

	return area0[value >> 16] + number * AREA;
}

static void append(char *text, const struct trace_rec *rec, uint64_t base)
{
	size_t n = strlen(text);

	if (n > TEXT - 256)
		return;
	if (n)
		n += snprintf(text + n, TEXT - n, "; ");
	format_rec(rec, base, text + n, TEXT - n);
}

/* --- the write by the kernel --------------------------------------------------------- */

static struct {
	uint64_t bytes;		/* non-temporal, contiguous */
	uint64_t next;
	bool gap;
	bool fenced;		/* behind the last store */
	bool seen;
} written;

static void in_kernel(const struct trace_rec *rec)
{
	if (rec->type == TRACE_NT_STORE) {
		if (written.bytes && rec->addr != written.next)
			written.gap = true;
		written.next = rec->addr + rec->len;
		written.bytes += rec->len;
		written.fenced = false;
	} else if (rec->type == TRACE_SFENCE) {
		written.fenced = true;
	}
}

/* ---------------------------------------------------------------------------------------- */

static bool known(uint64_t value)
{
	return value >> 16 == PASS_KERNEL ||
	       (value >> 16 < PASS_KERNEL && ((value >> 8) & 0xff) < SEQUENCE_COUNT);
}

static void scan(const char *how, struct trace *t)
{
	bool open = false, user = false;
	struct trace_rec *rec;
	uint64_t value = 0;
	char text[TEXT];

	while ((rec = next_rec(t))) {
		if (rec->type == TRACE_TIME || !mutate(how, rec))
			continue;
		if (rec->type == TRACE_MARK) {
			if (open && user)
				end_of_window(value, text);
			open = rec->mark == MARK_BEGIN && known(rec->addr);
			value = rec->addr;
			user = value >> 16 != PASS_KERNEL;
			written.seen |= !user;
			text[0] = '\0';
			continue;
		}
		if (!open)
			continue;
		if (!user) {
			in_kernel(rec);
			continue;
		}
		/* The first store of all is at the start of the first area. */
		if (!(value & 0xffff) && has_data(rec))
			area0[value >> 16] = rec->addr;
		append(text, rec, area(value));
	}
}

static void report(unsigned int pass, const char *detail)
{
	const struct window *w;
	char why[2 * TEXT];
	unsigned int i;

	for (i = 0; i < SEQUENCE_COUNT; i++) {
		w = &windows[pass][i];
		snprintf(why, sizeof(why), "%u runs; %s, not %s", w->count, w->odd,
			 expected[i].records);
		result(w->exact && w->all && w->count == REPETITIONS, expected[i].name, detail, why);
	}
}

int main(int argc, char **argv)
{
	const char *how = "";
	struct trace t;

	if (argc == 4 && !strcmp(argv[1], "--break"))
		how = argv[2];
	else if (argc != 2)
		return 2;
	open_trace(&t, argv[argc - 1]);
	scan(how, &t);
	report(PASS_2M, ", 2-MiB pages");
	report(PASS_4K, ", 4-KiB pages");
	result(written.seen && written.bytes == 4096 && !written.gap && written.fenced,
	       "the kernel writes a page and fences", "", NULL);
	printf("1..%u\n", passed + failed);
	return failed != 0;
}
