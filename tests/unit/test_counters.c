// SPDX-License-Identifier: GPL-2.0
/* What pmof stat prints between two looks at the counters. */
#include "../../tools/counters.c" // NOLINT(bugprone-suspicious-include): what it calls is below
#include "unit.h"

/* As output.c has them. */
struct json_object *new_object(void)
{
	return json_object_new_object();
}

void put_object(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

void put_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void put_double(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

/* Not looked at here. */
int pmof_read_counters(int instance, enum pmof_side side, struct pmof_counter **counters)
{
	*counters = NULL;
	return instance + (int)side < 0 ? -ENODEV : 0;
}

static const struct side before = {
	.nr = 3, .counter = { { "fences", 700 }, { "mrs", 9 }, { "puts", 1000 } },
};

static const struct side later = {
	.nr = 4, .counter = { { "fences", 3 }, { "mrs", 4 }, { "new", 8 }, { "puts", 1010 } },
};

/* A session that was made anew counts from 0. */
TEST(differences)
{
	EXPECT_EQ(3, counter_delta(&later, &before, 0));
	EXPECT_EQ(8, counter_delta(&later, &before, 2));
	EXPECT_EQ(10, counter_delta(&later, &before, 3));
	EXPECT_EQ(1010, counter_delta(&later, NULL, 3));
	EXPECT_EQ(0, counter_delta(&later, &later, 0));
}

TEST(rates)
{
	static const char want[] = "{ \"client\": { \"fences\": 1.5, \"new\": 4.0, \"puts\": 5.0 } }";
	struct snapshot from = { .time_ns = 1, .client = before, .server.nr = -EIO };
	struct snapshot to = { .time_ns = 2000000001, .client = later, .server.nr = -EIO };
	struct json_object *o = new_object();

	snapshot_put_rates(o, &to, &from);
	EXPECT_STREQ(want, json_object_to_json_string(o));
	json_object_put(o);
}

TEST_HARNESS_MAIN
