// SPDX-License-Identifier: BSD-3-Clause
/*
 * batch_log DEV NAME: appends the lines of standard input to a log, many in one batch; with no input
 * it prints the log.  A batch shares messages and persists, so that a line costs a part of a
 * round trip.  Line N of the log has the key NAME/N, and NAME has the number of lines.
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
	uint64_t version;		/* of @name: that nobody else appends is seen there */
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

/*
 * First the lines, then how many there are: so the log never says that it has a line that it
 * has not.  What a crash leaves behind its end is overwritten by the next who appends.
 */
static int append(struct log *log, struct pmofkv_item *item, unsigned int nr)
{
	char text[32];
	int ret = pmofkv_put_batch(log->kv, item, nr);

	if (ret)
		return ret;
	snprintf(text, sizeof(text), "%llu", log->lines + nr);
	ret = pmofkv_put_if(log->kv, log->name, strlen(log->name), text, strlen(text),
			    log->version, &log->version);
	if (!ret)
		log->lines += nr;
	return ret;
}

/* Reads up to a batch of lines: how many. */
static unsigned int read_lines(const struct log *log, struct pmofkv_item *item,
			       char key[BATCH][KEY_MAX])
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
		snprintf(key[n], KEY_MAX, "%s/%llu", log->name, log->lines + n);
		item[n] = (struct pmofkv_item){
			.key = key[n], .key_length = strlen(key[n]), .value = line,
			.value_length = (size_t)length, .expected = PMOF_KV_EXPECT_ANY,
		};
	}
	return n;
}

static int append_all(struct log *log, unsigned long *appended)
{
	struct pmofkv_item item[BATCH];
	char key[BATCH][KEY_MAX];
	unsigned int nr, i;
	int ret = 0;

	while (!ret && (nr = read_lines(log, item, key)) > 0) {
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
	if (ret == -ESTALE || ret == -EEXIST)
		fputs("somebody else appends to this log\n", stderr);
	else if (!ret && appended)
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
