// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters.h"
#include "tool.h"

#define NS_PER_S	1000000000.0

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void take_side(int instance, enum pmof_side which, struct side *side)
{
	struct pmof_counter *list;
	int n = pmof_read_counters(instance, which, &list);

	side->nr = n;
	if (n <= 0)
		return;
	if (n > SNAPSHOT_MAX)
		side->nr = SNAPSHOT_MAX;
	memcpy(side->counter, list, (size_t)side->nr * sizeof(*list));
	free(list);
}

int snapshot_take(int instance, struct snapshot *s)
{
	s->time_ns = now_ns();
	take_side(instance, PMOF_SIDE_CLIENT, &s->client);
	take_side(instance, PMOF_SIDE_SERVER, &s->server);
	return s->client.nr < 0 ? s->client.nr : 0;
}

int snapshot_begin(int instance, struct snapshot *s)
{
	take_side(instance, PMOF_SIDE_SERVER, &s->server);
	take_side(instance, PMOF_SIDE_CLIENT, &s->client);
	s->time_ns = now_ns();
	return s->client.nr < 0 ? s->client.nr : 0;
}

bool counter_is_level(const char *name)
{
	return !strcmp(name, "mrs") || !strcmp(name, "queues");
}

uint64_t counter_delta(const struct side *now, const struct side *before, unsigned int i)
{
	const struct pmof_counter *c = &now->counter[i], *b;
	int j;

	for (j = 0; before && j < before->nr; j++) {
		b = &before->counter[j];
		/* Below: it counts from 0 again, after a reconnection to another session. */
		if (!strcmp(b->name, c->name))
			return c->value < b->value ? c->value : c->value - b->value;
	}
	return c->value;
}

/* Puts the differences of one side divided by @by (0: as whole numbers). */
static struct json_object *side_object(const struct side *now, const struct side *before,
				       double by)
{
	struct json_object *o = new_object();
	unsigned int i;

	for (i = 0; (int)i < now->nr; i++) {
		const struct pmof_counter *c = &now->counter[i];

		if (before && counter_is_level(c->name))
			continue;
		if (by > 0)
			put_double(o, c->name, (double)counter_delta(now, before, i) / by);
		else
			put_u64(o, c->name, counter_delta(now, before, i));
	}
	return o;
}

static void put_sides(struct json_object *o, const struct snapshot *now,
		      const struct snapshot *before, double by)
{
	if (now->client.nr >= 0)
		put_object(o, "client",
			   side_object(&now->client, before ? &before->client : NULL, by));
	if (now->server.nr >= 0 && (!before || before->server.nr >= 0))
		put_object(o, "server",
			   side_object(&now->server, before ? &before->server : NULL, by));
}

void snapshot_put(struct json_object *o, const struct snapshot *now,
		  const struct snapshot *before)
{
	put_sides(o, now, before, 0);
}

void snapshot_put_rates(struct json_object *o, const struct snapshot *now,
			const struct snapshot *before)
{
	double seconds = (double)(now->time_ns - before->time_ns) / NS_PER_S;

	put_sides(o, now, before, seconds > 0 ? seconds : 1e-9);
}

void snapshot_put_per_op(struct json_object *o, const struct snapshot *now,
			 const struct snapshot *before, uint64_t ops)
{
	struct json_object *client = NULL;
	const char *name;
	uint64_t sum = 0;
	unsigned int i;

	put_sides(o, now, before, ops ? (double)ops : 1);
	for (i = 0; (int)i < now->client.nr; i++) {
		name = now->client.counter[i].name;
		if (!strncmp(name, "wr_", 3) && strcmp(name, "wr_recv") != 0)
			sum += counter_delta(&now->client, &before->client, i);
	}
	if (json_object_object_get_ex(o, "client", &client))
		put_double(client, "work_requests", (double)sum / (double)(ops ? ops : 1));
}
