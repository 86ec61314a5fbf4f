/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the unit tests (tests/unit) use of the kernel's kselftest_harness.h and of
 * the C library, on KUnit: so that they run in a kernel as they are.
 */
#ifndef PMOF_KUNIT_HARNESS_H
#define PMOF_KUNIT_HARNESS_H

#include <kunit/test.h>
#include <linux/panic.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "pure.h"

struct __test_metadata {
	struct kunit *test;
	bool trigger;		/* a check has just failed */
};

#define PMOF_KUNIT_SUITE(name_)						\
	static struct kunit_suite pmof_suite = {			\
		.name = "pmof_" #name_,					\
		.test_cases = pmof_cases,				\
	};								\
	kunit_test_suite(pmof_suite)

#define TEST(name)							\
	static void body_##name(struct __test_metadata *_metadata);	\
	static void kunit_##name(struct kunit *test)			\
	{								\
		struct __test_metadata metadata = { .test = test };	\
									\
		body_##name(&metadata);					\
	}								\
	static void body_##name(struct __test_metadata __maybe_unused *_metadata)

#define FIXTURE(fixture)	struct fixture_##fixture

#define FIXTURE_SETUP(fixture)						\
	static void fixture##_setup(struct __test_metadata __maybe_unused *_metadata, \
				    struct fixture_##fixture __maybe_unused *self)

#define FIXTURE_TEARDOWN(fixture)					\
	static void fixture##_teardown(struct __test_metadata __maybe_unused *_metadata, \
				       struct fixture_##fixture __maybe_unused *self)

#define TEST_F(fixture, name)						\
	static void body_##name(struct __test_metadata *_metadata,	\
				struct fixture_##fixture *self);	\
	static void kunit_##fixture##_##name(struct kunit *test)	\
	{								\
		struct __test_metadata metadata = { .test = test };	\
		struct fixture_##fixture self = {};			\
									\
		fixture##_setup(&metadata, &self);			\
		body_##name(&metadata, &self);				\
		fixture##_teardown(&metadata, &self);			\
	}								\
	static void body_##name(struct __test_metadata __maybe_unused *_metadata, \
				struct fixture_##fixture __maybe_unused *self)

/* The table of cases that a suite needs stands behind the last test. */
#define TEST_HARNESS_MAIN

#define TH_LOG(fmt, ...)	kunit_err(_metadata->test, fmt, ##__VA_ARGS__)

/* A check has failed; what stands behind it follows, once. */
static inline void harness_fail(struct __test_metadata *metadata, int line, const char *check,
				u64 want, u64 seen)
{
	KUNIT_FAIL(metadata->test, "line %d: %s: %#llx, %#llx", line, check, want, seen);
	metadata->trigger = true;
}

static inline void harness_fail_str(struct __test_metadata *metadata, int line, const char *check,
				    const char *want, const char *seen)
{
	KUNIT_FAIL(metadata->test, "line %d: %s: '%s', '%s'", line, check, want, seen);
	metadata->trigger = true;
}

/* After that; if @fatal, there is no more. */
static inline bool harness_bail(struct __test_metadata *metadata, bool fatal)
{
	if (fatal)
		__kunit_abort(metadata->test);
	return false;
}

#define HARNESS_EVAL(want, op, seen)					\
	({								\
		__auto_type want_ = (want);				\
		__auto_type seen_ = (seen);				\
									\
		if (!(want_ op seen_))					\
			harness_fail(_metadata, __LINE__, #want " " #op " " #seen, \
				     (u64)(uintptr_t)want_, (u64)(uintptr_t)seen_); \
	})

#define HARNESS_EVAL_STR(want, differs, seen)				\
	({								\
		const char *want_ = (want);				\
		const char *seen_ = (seen);				\
									\
		if (!!strcmp(want_, seen_) != (differs))		\
			harness_fail_str(_metadata, __LINE__, #seen, want_, seen_); \
	})

/* One statement, behind which another may stand that is for a failure only. */
#define HARNESS_CHECK(fatal, want, op, seen)				\
	for (HARNESS_EVAL(want, op, seen); _metadata->trigger;		\
	     _metadata->trigger = harness_bail(_metadata, fatal))

#define HARNESS_STR(want, differs, seen)				\
	for (HARNESS_EVAL_STR(want, differs, seen); _metadata->trigger;	\
	     _metadata->trigger = harness_bail(_metadata, false))

#define EXPECT_EQ(want, seen)	HARNESS_CHECK(false, want, ==, seen)
#define EXPECT_NE(want, seen)	HARNESS_CHECK(false, want, !=, seen)
#define EXPECT_LT(want, seen)	HARNESS_CHECK(false, want, <, seen)
#define EXPECT_LE(want, seen)	HARNESS_CHECK(false, want, <=, seen)
#define EXPECT_GT(want, seen)	HARNESS_CHECK(false, want, >, seen)
#define EXPECT_GE(want, seen)	HARNESS_CHECK(false, want, >=, seen)
#define EXPECT_TRUE(seen)	HARNESS_CHECK(false, true, ==, !!(seen))
#define EXPECT_FALSE(seen)	HARNESS_CHECK(false, false, ==, !!(seen))
#define EXPECT_STREQ(want, seen)	HARNESS_STR(want, false, seen)
#define EXPECT_STRNE(want, seen)	HARNESS_STR(want, true, seen)
#define ASSERT_EQ(want, seen)	HARNESS_CHECK(true, want, ==, seen)
#define ASSERT_NE(want, seen)	HARNESS_CHECK(true, want, !=, seen)
#define ASSERT_LT(want, seen)	HARNESS_CHECK(true, want, <, seen)
#define ASSERT_LE(want, seen)	HARNESS_CHECK(true, want, <=, seen)
#define ASSERT_GT(want, seen)	HARNESS_CHECK(true, want, >, seen)
#define ASSERT_GE(want, seen)	HARNESS_CHECK(true, want, >=, seen)
#define ASSERT_TRUE(seen)	HARNESS_CHECK(true, true, ==, !!(seen))
#define ASSERT_FALSE(seen)	HARNESS_CHECK(true, false, ==, !!(seen))

/* --- the C library ----------------------------------------------------------- */

const char *pmof_kunit_env(const char *name);

/* 0 if it is none. */
static inline u64 harness_number(const char *s)
{
	u64 value;

	return kstrtoull(s, 0, &value) ? 0 : value;
}

/* The kernel's, which a test has for itself. */
#undef READ

#define UINT64_MAX		U64_MAX
#define getenv(name)		pmof_kunit_env(name)
#define rand()			((int)(get_random_u32() & S32_MAX))
#define strtoull(s, ...)	harness_number(s)
#define malloc(size)		kmalloc(size, GFP_KERNEL | __GFP_NOFAIL)
#define free(p)			kfree(p)
#define abort()			panic("pmof-kunit: a test cannot go on\n")

#endif /* PMOF_KUNIT_HARNESS_H */
