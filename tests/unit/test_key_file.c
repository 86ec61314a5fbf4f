// SPDX-License-Identifier: GPL-2.0
/* Files with a client's key: what is in them, whose they are, what they are. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/key_file.h"
#include "unit.h"

#define KEY	"0123456789abcdef0123456789ABCDEF"

FIXTURE(key_file)
{
	char dir[32], path[64];
	char key[KEY_TEXT_MAX], why[WHY_MAX];
};

FIXTURE_SETUP(key_file)
{
	strcpy(self->dir, "/tmp/pmof-key.XXXXXX");
	ASSERT_TRUE(mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/key", self->dir);
}

FIXTURE_TEARDOWN(key_file)
{
	unlink(self->path);
	rmdir(self->dir);
}

static void store(const char *path, const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text, 1, len, f) != len || fclose(f) || chmod(path, mode))
		abort();
}

TEST_F(key_file, texts_and_modes)
{
	static const struct {
		const char *text;
		mode_t mode;
		int ret;
	} cases[] = {
		{ KEY "\n", 0600, 0 }, { KEY, 0400, 0 },
		{ KEY "\n", 0640, -EPERM }, { KEY "\n", 0604, -EPERM },
		{ "0123456789abcdef0123456789abcde\n", 0600, -EINVAL },
		{ "0123456789abcdef0123456789abcde\n\n", 0600, -EINVAL },
		{ KEY "a\n", 0600, -EINVAL }, { KEY "ag\n", 0600, -EINVAL },
		{ KEY "\nx", 0600, -EINVAL }, { KEY " \n", 0600, -EINVAL }, { "", 0600, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		store(self->path, cases[i].text, strlen(cases[i].text), cases[i].mode);
		*self->why = '\0';
		EXPECT_EQ(cases[i].ret, key_file_read(self->path, i % 2, self->key, self->why)) {
			TH_LOG("case %zu", i);
		}
		EXPECT_STREQ(cases[i].ret ? "" : KEY, self->key);
		EXPECT_EQ(!cases[i].ret, !*self->why);
		unlink(self->path);
	}
}

TEST_F(key_file, lengths)
{
	char text[200];
	size_t n;

	memset(text, 'a', sizeof(text));
	for (n = 0; n < sizeof(text); n++) {
		bool good = n >= 32 && n <= 128 && n % 2 == 0;

		store(self->path, text, n, 0600);
		EXPECT_EQ(good ? 0 : -EINVAL,
			  key_file_read(self->path, true, self->key, self->why)) {
			TH_LOG("%zu digits", n);
		}
		EXPECT_EQ(good ? n : 0, strlen(self->key));
	}
	/* The longest one, a newline, and more. */
	text[128] = '\n';
	store(self->path, text, 129, 0600);
	EXPECT_EQ(0, key_file_read(self->path, true, self->key, self->why));
	store(self->path, text, 130, 0600);
	EXPECT_EQ(-EINVAL, key_file_read(self->path, true, self->key, self->why));
}

TEST_F(key_file, somebody_elses)
{
	if (geteuid())
		SKIP(return, "needs root");
	store(self->path, KEY, 32, 0600);
	ASSERT_EQ(0, chown(self->path, 12345, 0));
	EXPECT_EQ(-EACCES, key_file_read(self->path, true, self->key, self->why));
	EXPECT_EQ(-EACCES, key_file_read(self->path, false, self->key, self->why));
}

TEST_F(key_file, no_file)
{
	EXPECT_EQ(-ENOENT, key_file_read(self->path, true, self->key, self->why));
	EXPECT_EQ(-EBADF, key_file_read("/dev/null", true, self->key, self->why));
	EXPECT_EQ(-EBADF, key_file_read("/dev/null", false, self->key, self->why));
	EXPECT_EQ(-EBADF, key_file_read(self->dir, false, self->key, self->why));
}

/* Who gives a name by hand may give another name for it; what is kept is what it says. */
TEST_F(key_file, symbolic_link)
{
	char target[72];

	snprintf(target, sizeof(target), "%s/target", self->dir);
	store(target, KEY, 32, 0600);
	ASSERT_EQ(0, symlink(target, self->path));
	EXPECT_EQ(0, key_file_read(self->path, false, self->key, self->why));
	EXPECT_EQ(-ELOOP, key_file_read(self->path, true, self->key, self->why));
	unlink(target);
}

/* pmof connect --key <(pass ...): it comes in pieces. */
TEST_F(key_file, pipe)
{
	char name[32];
	int fd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(fd));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		const char *p;

		for (p = KEY "\n"; *p; p++) {
			usleep(500);
			if (write(fd[1], p, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(fd[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd[0]);
	EXPECT_EQ(0, key_file_read(name, false, self->key, self->why));
	EXPECT_STREQ(KEY, self->key);
	close(fd[0]);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_EQ(0, mkfifo(self->path, 0600));
	EXPECT_EQ(-EBADF, key_file_read(self->path, true, self->key, self->why));
}

TEST_HARNESS_MAIN
