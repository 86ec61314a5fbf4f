// SPDX-License-Identifier: BSD-3-Clause
/*
 * batch_log DEV NAME: appends the lines of standard input to a log, many in one batch; with no input
 * it prints the log.  A batch shares messages and persists, so that a line costs a part of a
 * round trip.  Line N of the log has the key NAME/N, and NAME has the number of lines.  Many may
 * append at the same time.
 *
 *	cc -o batch_log batch_log.c -lpmofkv
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmofkv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	64
#define KEY_MAX	100

struct log {
	struct pmofkv *kv;
	const char *name;
	unsigned long long lines;
	uint64_t version;		/* of @name */
};

static int read_length(struct log *log)
{
	char text[32] = "";
	size_t length;
	int ret = pmofkv_get(log->kv, log->name, strlen(log->name), text, sizeof(text) - 1, &length,
			     &log->version);

	log->lines = ret ? 0 : strtoull(text, NULL, 10);
	if (ret == -ENOENT) {
		log->version = PMOF_KV_EXPECT_NONE;
		return 0;
	}
	return ret;
}

/* Makes the log longer: its last @nr numbers are ours alone. */
static int claim(struct log *log, unsigned int nr)
{
	char text[32];
	int ret;

	for (;;) {
		snprintf(text, sizeof(text), "%llu", log->lines + nr);
		ret = pmofkv_put_if(log->kv, log->name, strlen(log->name), text, strlen(text),
				    log->version, &log->version);
		if (!ret)
			log->lines += nr;
		if (ret != -ESTALE && ret != -EEXIST)
			return ret;
		/* Somebody else appends, too. */
		ret = read_length(log);
		if (ret)
			return ret;
	}
}

/*
 * First the numbers, then the lines: whoever else appends gets others, so that no line that has
 * been acknowledged is ever overwritten.  What a crash leaves between the two are numbers
 * without a line.
 */
static int append(struct log *log, struct pmofkv_item *item, unsigned int nr)
{
	char key[BATCH][KEY_MAX];
	unsigned int i;
	int ret = claim(log, nr);

	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		snprintf(key[i], KEY_MAX, "%s/%llu", log->name,
			 log->lines - nr + i);
		item[i].key = key[i];
		item[i].key_length = strlen(key[i]);
	}
	return pmofkv_put_batch(log->kv, item, nr);
}

/* Reads up to a batch of lines: how many. */
static unsigned int read_lines(struct pmofkv_item *item)
{
	unsigned int n;

	for (n = 0; n < BATCH; n++) {
		char *line = NULL;
		size_t room = 0;
		ssize_t length = getline(&line, &room, stdin);

		if (length < 0) {
			free(line);
			break;
		}
		item[n] = (struct pmofkv_item){
			.value = line, .value_length = (size_t)length,
			.expected = PMOF_KV_EXPECT_NONE,
		};
	}
	return n;
}

static int append_all(struct log *log, unsigned long *appended)
{
	struct pmofkv_item item[BATCH];
	unsigned int nr, i;
	int ret = 0;

	while (!ret && (nr = read_lines(item)) > 0) {
		ret = append(log, item, nr);
		*appended += ret ? 0 : nr;
		for (i = 0; i < nr; i++)
			free((void *)item[i].value);
	}
	return ret;
}

static int print_log(const struct log *log)
{
	unsigned long long n;
	char key[KEY_MAX];
	size_t length;
	void *line;
	int ret;

	for (n = 0; n < log->lines; n++) {
		snprintf(key, sizeof(key), "%s/%llu", log->name, n);
		ret = pmofkv_get_alloc(log->kv, key, strlen(key), &line, &length, NULL);
		/* Somebody is about to write it, or has crashed before he could. */
		if (ret == -ENOENT)
			continue;
		if (ret)
			return ret;
		fwrite(line, 1, length, stdout);
		free(line);
	}
	return 0;
}

static int run(struct log *log)
{
	unsigned long appended = 0;
	int ret = read_length(log);

	if (!ret)
		ret = append_all(log, &appended);
	if (!ret && appended)
		fprintf(stderr, "%lu lines appended, %llu in all\n", appended, log->lines);
	else if (!ret)
		ret = print_log(log);
	return ret;
}

int main(int argc, char **argv)
{
	struct log log = { 0 };
	int ret;

	if (argc != 3 || strlen(argv[2]) > KEY_MAX - 24) {
		fputs("usage: batch_log DEV NAME [< LINES]\n", stderr);
		return 2;
	}
	log.name = argv[2];
	ret = pmofkv_open(argv[1], O_RDWR, NULL, &log.kv);
	if (!ret) {
		ret = run(&log);
		pmofkv_close(log.kv);
	}
	if (ret)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-ret));
	return ret ? 1 : 0;
}
