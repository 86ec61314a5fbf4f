// SPDX-License-Identifier: GPL-2.0
/* libpmof: what pmof_connect() writes to the control device, here a file. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../userlib/internal.h"

static char control[] = "/tmp/pmof-control.XXXXXX";

#undef PMOF_CONTROL_PATH
#define PMOF_CONTROL_PATH control
#include "../../userlib/admin.c" // NOLINT(bugprone-suspicious-include): its file's name is ours
#include "unit.h"

/* Not looked at here; the methods' names are the kernel's, which are the same. */
int pmof_write_attr(int instance, const char *name, const char *text)
{
	return instance || name || text ? -ENOSYS : 0;
}

/* Connects; what was written is @want, or @ret is not 0. */
static int connect_with(const struct pmof_connect_args *args, const char *want)
{
	char text[600] = "";
	int instance = -1, ret;
	FILE *f;

	memset(strrchr(control, '.') + 1, 'X', 6);
	f = fdopen(mkstemp(control), "w+");
	if (!f)
		abort();
	/* The answer stands behind what will be written. */
	fprintf(f, "%*s%s", (int)strlen(want), "", "instance=7\n");
	fflush(f);
	ret = pmof_connect(args, &instance);
	rewind(f);
	if (!ret && (instance != 7 || fread(text, 1, strlen(want), f) != strlen(want) ||
		     strcmp(text, want) != 0))
		ret = 1;
	if (ret == 1)
		fprintf(stderr, "'%s', not '%s'\n", text, want);
	fclose(f);
	unlink(control);
	return ret;
}

struct newer {
	struct pmof_connect_args args;
	u64 more;
};

static const struct pmof_connect_args some = {
	.size = sizeof(some), .addr = "192.0.2.1", .name = "a", .read_only = true, .depth = 64,
	.no_block = true, .takeover = true, .max_call = 8192,
};

#define FIRST	"addr=192.0.2.1,name=a,depth=64,read_only=1"

TEST(sizes_of_the_arguments)
{
	struct newer newer = { .args = some };
	struct pmof_connect_args args = some;

	EXPECT_EQ(0, connect_with(&args, FIRST ",block=0,max_call=8192,takeover=1"));
	/* What a program of the first version brings: what is behind is not its. */
	args.size = offsetof(struct pmof_connect_args, no_block);
	EXPECT_EQ(0, connect_with(&args, FIRST));
	args.size = offsetof(struct pmof_connect_args, max_call);
	EXPECT_EQ(0, connect_with(&args, FIRST ",block=0,takeover=1"));
	args.size = offsetof(struct pmof_connect_args, no_block) - 1;
	EXPECT_EQ(-EINVAL, connect_with(&args, ""));
	args.size = 0;
	EXPECT_EQ(-EINVAL, connect_with(&args, ""));
	/* A later version's: good as long as it says nothing more. */
	newer.args.size = sizeof(newer);
	EXPECT_EQ(0, connect_with(&newer.args, FIRST ",block=0,max_call=8192,takeover=1"));
	newer.more = 1ULL << 63;
	EXPECT_EQ(-E2BIG, connect_with(&newer.args, ""));
	newer.args.size = (size_t)-1;
	EXPECT_EQ(-E2BIG, connect_with(&newer.args, ""));
}

TEST(a_value_is_one_option)
{
	struct pmof_connect_args args = some;

	args.name = "a,read_only=0";
	EXPECT_EQ(-EINVAL, connect_with(&args, ""));
	args.name = "a\nb";
	EXPECT_EQ(-EINVAL, connect_with(&args, ""));
	args.name = NULL;
	EXPECT_EQ(-EINVAL, connect_with(&args, ""));
}

TEST_HARNESS_MAIN
