// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto_table.h"
#include "parse.h"

/* --- text ------------------------------------------------------------------ */

/* "rpc:512", or "assist": the last one. */
static int parse_entry(struct auto_entry *e, char *word, auto_parse_fn parse)
{
	char *colon = strchr(word, ':');
	int method;

	e->up_to = AUTO_NO_LIMIT;
	if (colon) {
		*colon = '\0';
		if (parse_u64(colon + 1, &e->up_to) || !e->up_to || e->up_to == AUTO_NO_LIMIT)
			return -EINVAL;
	}
	method = parse(word);
	if (method < 0 || method >= AUTO_METHODS)
		return -EINVAL;
	e->method = (unsigned int)method;
	return 0;
}

/* Limits grow strictly, so nothing comes behind one without a limit. */
static bool grows(const struct auto_table *t)
{
	unsigned int n = t->nr;

	return n < 2 || t->entry[n - 2].up_to < t->entry[n - 1].up_to;
}

int auto_parse(struct auto_table *t, const char *text, auto_parse_fn parse)
{
	char copy[AUTO_TEXT_MAX], *word, *save = NULL;

	t->nr = 0;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (t->nr == AUTO_ENTRIES || parse_entry(&t->entry[t->nr], word, parse))
			return -EINVAL;
		t->nr++;
		if (!grows(t))
			return -EINVAL;
	}
	return t->nr && t->entry[t->nr - 1].up_to == AUTO_NO_LIMIT ? 0 : -EINVAL;
}

char *auto_format(const struct auto_table *t, char *buf, auto_name_fn name)
{
	size_t len = 0;
	unsigned int i;

	buf[0] = '\0';
	for (i = 0; i < t->nr && len < AUTO_TEXT_MAX; i++) {
		const struct auto_entry *e = &t->entry[i];

		if (e->up_to == AUTO_NO_LIMIT)
			len += (size_t)snprintf(buf + len, AUTO_TEXT_MAX - len, "%s%s",
						i ? " " : "", name(e->method));
		else
			len += (size_t)snprintf(buf + len, AUTO_TEXT_MAX - len, "%s%s:%llu",
						i ? " " : "", name(e->method),
						(unsigned long long)e->up_to);
	}
	return buf;
}

unsigned int auto_method(const struct auto_table *t, uint64_t size)
{
	unsigned int i;

	for (i = 0; i + 1 < t->nr; i++)
		if (size <= t->entry[i].up_to)
			break;
	return t->entry[i].method;
}

void auto_limit(struct auto_table *t, unsigned int method, uint64_t limit, unsigned int rest)
{
	struct auto_entry *last = &t->entry[t->nr - 1];

	if (last->method != method)
		return;
	last->up_to = limit;
	last[1].method = rest;
	last[1].up_to = AUTO_NO_LIMIT;
	t->nr++;
}

/* --- measurements ---------------------------------------------------------- */

static int find_best(struct auto_sample *s)
{
	unsigned int m;

	s->best = AUTO_METHODS;
	for (m = 0; m < AUTO_METHODS; m++)
		if (s->ns[m] && (s->best == AUTO_METHODS || s->ns[m] < s->ns[s->best]))
			s->best = m;
	return s->best == AUTO_METHODS ? -EINVAL : 0;
}

/* True if @method takes more time than @other by more than @percent. */
static bool slower(const struct auto_sample *s, unsigned int method, unsigned int other,
		   unsigned int percent)
{
	uint64_t ns = s->ns[method];

	return s->ns[other] < ns - ns / 100 * percent - ns % 100 * percent / 100;
}

/* True if @method is to give way to the one that is best at this size. */
static bool beaten(const struct auto_sample *s, const struct auto_sample *next,
		   unsigned int method, unsigned int percent)
{
	if (!s->ns[method])
		return true;
	if (!slower(s, method, s->best, percent))
		return false;
	if (!next || !next->ns[method])
		return true;
	return next->ns[s->best] && slower(next, method, s->best, 0);
}

/* Returns how many entries it takes; fills no more than the table has. */
static unsigned int choose(struct auto_table *t, struct auto_sample *sample, unsigned int nr,
			   unsigned int percent)
{
	unsigned int i, n = 0, current = AUTO_METHODS;

	for (i = 0; i < nr; i++) {
		const struct auto_sample *next = i + 1 < nr ? &sample[i + 1] : NULL;

		if (current == AUTO_METHODS || beaten(&sample[i], next, current, percent)) {
			current = sample[i].best;
			n++;
		}
		sample[i].chosen = current;
		if (n > AUTO_ENTRIES)
			continue;
		t->entry[n - 1].method = current;
		t->entry[n - 1].up_to = sample[i].size;
	}
	return n;
}

int auto_merge(struct auto_table *t, struct auto_sample *sample, unsigned int nr)
{
	unsigned int i, percent;

	t->nr = 0;
	for (i = 0; i < nr; i++)
		if (find_best(&sample[i]))
			return -EINVAL;
	for (percent = AUTO_BETTER; percent <= 100; percent += AUTO_BETTER) {
		t->nr = choose(t, sample, nr, percent);
		if (t->nr < AUTO_ENTRIES)
			break;
	}
	if (!t->nr || t->nr >= AUTO_ENTRIES)
		return -EINVAL;
	t->entry[t->nr - 1].up_to = AUTO_NO_LIMIT;
	return 0;
}
