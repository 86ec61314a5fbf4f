// SPDX-License-Identifier: GPL-2.0
/* The volatile cache: see model.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "content.h"
#include "model.h"

/* What of a line's history is kept; beyond it the older half is taken as evicted by chance. */
#define MAX_STORES	512
#define MAX_PENDING	(1U << 20)

static void *grow(void *array, uint32_t *cap, size_t size)
{
	*cap = *cap ? 2 * *cap : 4;
	array = realloc(array, *cap * size);
	if (!array)
		abort();
	return array;
}

int model_init(struct model *m, uint64_t size, enum fence_mode mode, bool caches_survive)
{
	memset(m, 0, sizeof(*m));
	if (!size || size % TRACE_LINE)
		return -1;
	m->mode = mode;
	m->caches_survive = caches_survive;
	m->size = size;
	/* Both are mostly never touched. */
	m->durable = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	m->line = calloc(size / TRACE_LINE, sizeof(struct line *));
	return m->durable == MAP_FAILED || !m->line ? -1 : 0;
}

void model_free(struct model *m)
{
	uint64_t i;

	for (i = 0; m->line && i < m->size / TRACE_LINE; i++)
		if (m->line[i]) {
			free(m->line[i]->store);
			free(m->line[i]);
		}
	for (i = 0; i < MODEL_CPUS; i++)
		free(m->cpu[i].p);
	free(m->line);
	free(m->dirty);
	if (m->durable && m->durable != MAP_FAILED)
		munmap(m->durable, m->size);
	memset(m, 0, sizeof(*m));
}

static void apply(uint8_t *to, const struct store *s, uint64_t mask)
{
	unsigned int i;

	mask &= s->mask;
	if (mask == UINT64_MAX) {
		memcpy(to, s->data, TRACE_LINE);
		return;
	}
	while (mask) {
		i = __builtin_ctzll(mask);
		/* Whole aligned words, where it can be. */
		if (!(i % 8) && (mask >> i & 0xff) == 0xff) {
			memcpy(to + i, s->data + i, 8);
			mask &= ~(0xffULL << i);
		} else {
			to[i] = s->data[i];
			mask &= mask - 1;
		}
	}
}

/* --- dirty lines -------------------------------------------------------------- */

static struct line *get_line(struct model *m, uint64_t number)
{
	if (!m->line[number]) {
		m->line[number] = calloc(1, sizeof(struct line));
		if (!m->line[number])
			abort();
	}
	return m->line[number];
}

static void set_dirty(struct model *m, uint64_t number)
{
	if (m->nr_dirty == m->cap_dirty)
		m->dirty = grow(m->dirty, &m->cap_dirty, sizeof(*m->dirty));
	m->line[number]->dirty_index = m->nr_dirty;
	m->dirty[m->nr_dirty++] = number;
}

static void set_clean(struct model *m, uint64_t number)
{
	uint64_t last = m->dirty[--m->nr_dirty];

	m->dirty[m->line[number]->dirty_index] = last;
	m->line[last]->dirty_index = m->line[number]->dirty_index;
}

/* Store @i of the log is durable: none before it can put its bytes over its own any more. */
static void settle(struct model *m, uint64_t number, uint32_t i, bool others_before)
{
	struct line *l = m->line[number];
	struct store *s = &l->store[i];
	uint32_t k;

	apply(m->durable + number * TRACE_LINE, s, UINT64_MAX);
	for (k = 0; others_before && k < i; k++)
		l->store[k].mask &= ~s->mask;
	/* It may have to stay, empty, so that places in the log keep their meaning. */
	s->mask = 0;
}

/* Takes out what is empty at the front of the log. */
static void trim(struct model *m, uint64_t number)
{
	struct line *l = m->line[number];
	uint32_t n = 0;

	while (n < l->nr && !l->store[n].mask)
		n++;
	memmove(l->store, l->store + n, (l->nr - n) * sizeof(*l->store));
	l->nr -= n;
	l->first += n;
	if (!l->nr)
		set_clean(m, number);
	if (m->changed)
		m->changed(m->arg, number);
}

/*
 * Stores [first, @end) of the line are durable now; but a non-temporal one of
 * another CPU than @cpu is not in the cache that was written back.
 */
static void make_durable(struct model *m, uint64_t number, uint64_t end, int cpu)
{
	struct line *l = m->line[number];
	bool kept = false;
	uint32_t i, n;

	if (!l->nr || end <= l->first)
		return;
	n = end - l->first < l->nr ? end - l->first : l->nr;
	for (i = 0; i < n; i++) {
		if (l->store[i].nt && cpu >= 0 && l->store[i].cpu != cpu)
			kept = true;
		else
			settle(m, number, i, kept);
	}
	trim(m, number);
}

/* A non-temporal store is durable by itself; those before it in the log are not. */
static void make_durable_alone(struct model *m, uint64_t number, uint64_t at)
{
	struct line *l = m->line[number];

	if (!l->nr || at < l->first)
		return;
	settle(m, number, at - l->first, true);
	trim(m, number);
}

static void make_all_durable(struct model *m, uint64_t number)
{
	make_durable(m, number, UINT64_MAX, -1);
}

static struct store *add_store(struct model *m, uint64_t number)
{
	struct line *l = get_line(m, number);

	if (l->nr == MAX_STORES)
		make_durable(m, number, l->first + MAX_STORES / 2, -1);
	if (l->nr == l->cap)
		l->store = grow(l->store, &l->cap, sizeof(*l->store));
	if (!l->nr)
		set_dirty(m, number);
	return &l->store[l->nr++];
}

/* --- records -------------------------------------------------------------------- */

static void add_pending(struct model *m, unsigned int cpu, uint64_t number, uint64_t end, bool nt)
{
	struct pending_list *list = &m->cpu[cpu];

	/* A CPU that never fences: forgetting can only make less durable. */
	if (list->nr == MAX_PENDING)
		return;
	if (list->nr == list->cap)
		list->p = grow(list->p, &list->cap, sizeof(*list->p));
	list->p[list->nr++] = (struct pending){ .line = number, .end = end, .nt = nt };
}

static void fence(struct model *m, unsigned int cpu)
{
	struct pending_list *list = &m->cpu[cpu];
	uint32_t i;

	for (i = 0; i < list->nr; i++) {
		if (list->p[i].nt)
			make_durable_alone(m, list->p[i].line, list->p[i].end - 1);
		else
			make_durable(m, list->p[i].line, list->p[i].end, cpu);
	}
	list->nr = 0;
	m->nr_fences++;
}

static void store_in_line(struct model *m, const struct trace_rec *rec, uint64_t addr,
			  const uint8_t *data, unsigned int len, uint64_t pos)
{
	unsigned int in_line = addr % TRACE_LINE;
	uint64_t number = addr / TRACE_LINE, end;
	struct store *s = add_store(m, number);

	s->pos = pos;
	s->nt = rec->type == TRACE_NT_STORE;
	s->cpu = rec->cpu;
	s->mask = (len == TRACE_LINE ? UINT64_MAX : (1ULL << len) - 1) << in_line;
	memcpy(s->data + in_line, data, len);
	end = m->line[number]->first + m->line[number]->nr;
	if (s->nt)
		add_pending(m, rec->cpu, number, end, true);
}

static int store(struct model *m, const struct trace_rec *rec, const uint8_t *data, uint64_t pos)
{
	unsigned int room = TRACE_LINE - rec->addr % TRACE_LINE;
	unsigned int n = rec->len < room ? rec->len : room;

	if (!rec->len || rec->len > TRACE_LINE || rec->addr > m->size ||
	    rec->len > m->size - rec->addr)
		return -1;
	m->nr_stores++;
	store_in_line(m, rec, rec->addr, data, n, pos);
	if (n < rec->len)
		store_in_line(m, rec, rec->addr + n, data + n, rec->len - n, pos);
	return 0;
}

static int write_back(struct model *m, const struct trace_rec *rec)
{
	uint64_t number = rec->addr / TRACE_LINE;
	struct line *l;

	if (rec->addr >= m->size)
		return -1;
	m->nr_write_backs++;
	l = m->line[number];
	if (l && l->nr)
		add_pending(m, rec->cpu, number, l->first + l->nr, false);
	return 0;
}

int model_record(struct model *m, const struct trace_rec *rec, const uint8_t *data, uint64_t pos)
{
	/* Where the caches survive, only a store that is being executed may be torn or missing. */
	while (m->caches_survive && m->nr_dirty)
		make_all_durable(m, m->dirty[m->nr_dirty - 1]);
	switch (rec->type) {
	case TRACE_STORE:
	case TRACE_NT_STORE:
		return store(m, rec, data, pos);
	case TRACE_WRITE_BACK:
		return write_back(m, rec);
	case TRACE_SFENCE:
		fence(m, rec->cpu);
		return 0;
	case TRACE_LOCKED:
		if (m->mode == FENCE_X86)
			fence(m, rec->cpu);
		return 0;
	case TRACE_MARK:
	case TRACE_TIME:
		return 0;
	default:
		return -1;
	}
}

/* --- images ----------------------------------------------------------------------- */

/* Which bytes of the line: all or none of each aligned 8-byte word, by chance. */
static uint64_t torn_words(uint64_t *rnd)
{
	uint64_t bits = crash_rnd(rnd, 256), mask = 0;
	unsigned int w;

	for (w = 0; w < 8; w++)
		if (bits & 1ULL << w)
			mask |= 0xffULL << (8 * w);
	return mask;
}

/*
 * The first @n stores. A non-temporal one may besides overtake what is
 * before it in the log: it does not wait in the cache.
 */
static void apply_log(const struct line *l, uint32_t n, uint64_t mask, bool tear_last,
		      uint64_t *rnd, uint8_t *buf)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		apply(buf, &l->store[i],
		      i == n - 1 && tear_last ? mask & torn_words(rnd) : mask);
	for (; i < l->nr; i++)
		if (l->store[i].nt && !crash_rnd(rnd, 4))
			apply(buf, &l->store[i], mask);
}

/* What the image has of a dirty line. The same at every call. */
static void read_line(const struct model *m, const struct image *image, uint64_t number,
		      uint8_t *buf)
{
	const struct line *l = m->line[number];
	uint64_t rnd = crash_mix(image->seed ^ crash_mix(number));
	uint32_t i, n;

	memcpy(buf, m->durable + number * TRACE_LINE, TRACE_LINE);
	switch (image->kind) {
	case IMAGE_LOST:
		break;
	case IMAGE_ALL:
		for (i = 0; i < l->nr; i++)
			apply(buf, &l->store[i], UINT64_MAX);
		break;
	case IMAGE_PREFIX:
		n = crash_rnd(&rnd, l->nr + 1);
		apply_log(l, n, UINT64_MAX, crash_rnd(&rnd, 2), &rnd, buf);
		break;
	case IMAGE_TORN:
		n = crash_rnd(&rnd, l->nr) + 1;
		apply_log(l, n, torn_words(&rnd), false, &rnd, buf);
		break;
	}
}

void model_read(const struct model *m, const struct image *image, uint64_t offset, void *buf,
		size_t length)
{
	uint8_t line[TRACE_LINE], *p = buf;

	memcpy(buf, m->durable + offset, length);
	if (image->kind == IMAGE_LOST)
		return;
	while (length) {
		size_t in_line = offset % TRACE_LINE, n = TRACE_LINE - in_line;

		n = n < length ? n : length;
		if (model_line_dirty(m, offset / TRACE_LINE)) {
			read_line(m, image, offset / TRACE_LINE, line);
			memcpy(p, line + in_line, n);
		}
		p += n;
		offset += n;
		length -= n;
	}
}

uint64_t model_compare(const struct model *m, const uint8_t *final)
{
	const struct image all = { .kind = IMAGE_ALL };
	uint8_t line[TRACE_LINE];
	uint64_t i, k;

	for (i = 0; i < m->size; i += TRACE_LINE) {
		model_read(m, &all, i, line, TRACE_LINE);
		if (!memcmp(line, final + i, TRACE_LINE))
			continue;
		for (k = 0; line[k] == final[i + k]; k++)
			;
		return i + k;
	}
	return m->size;
}
