// SPDX-License-Identifier: BSD-3-Clause
/*
 * put_get DEV KEY VALUE: stores a value, durably, and reads it back.
 *
 *	cc -o put_get put_get.c -lpmofkv
 */
#include <fcntl.h>
#include <libpmofkv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	return 1;
}

static int put_and_get(struct pmofkv *kv, const char *key, const char *value)
{
	uint64_t version;
	size_t length;
	void *found;
	int ret;

	/* When this returns 0 the value survives a power cut at the server. */
	ret = pmofkv_put(kv, key, strlen(key), value, strlen(value), &version);
	if (ret)
		return fail("put", ret);
	printf("stored as version %llu\n", (unsigned long long)version);

	/* Somebody else may have put another one meanwhile: it is whole, whichever it is. */
	ret = pmofkv_get_alloc(kv, key, strlen(key), &found, &length, &version);
	if (ret)
		return fail("get", ret);
	printf("found version %llu: %s\n", (unsigned long long)version, (char *)found);
	free(found);
	return 0;
}

int main(int argc, char **argv)
{
	struct pmofkv *kv;
	int ret;

	if (argc != 4) {
		fputs("usage: put_get DEV KEY VALUE\n", stderr);
		return 2;
	}
	ret = pmofkv_open(argv[1], O_RDWR, NULL, &kv);
	if (ret)
		return fail(argv[1], ret);
	ret = put_and_get(kv, argv[2], argv[3]);
	pmofkv_close(kv);
	return ret;
}
