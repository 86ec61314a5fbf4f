// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv format: the two superblocks of a new, empty store. */
#include <blkid/blkid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kv.h"
#include "kv_verify.h"
#include "output.h"
#include "tool.h"

#define RECORDS		65536U	/* of the log, unless that is a large part of the store */
#define LOG_PART	64	/* the part of the space that it may take by default */

struct format {
	const char *path;
	unsigned int records;
	bool force;
	bool json;
};

enum {
	OPT_FORCE = OPT_LAST, OPT_RECORDS,
};

static const struct argp_option options[] = {
	{ "force", OPT_FORCE, NULL, 0, "Format even what holds a store, a file system or other data: they "
	  "are lost", 0 },
	{ "log-records", OPT_RECORDS, "N", 0, "Records of the log, 64 bytes each: commits between "
	  "two checkpoints; default 65536, fewer in a small store", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static error_t parse_format(int key, char *arg, struct argp_state *state)
{
	struct format *f = state->input;

	switch (key) {
	case OPT_FORCE:
		f->force = true;
		return 0;
	case OPT_RECORDS:
		f->records = arg_uint(state, "--log-records", arg, PMOF_KV_MIN_RECORDS,
				      PMOF_KV_MAX_RECORDS);
		return 0;
	case OPT_JSON:
		f->json = true;
		return 0;
	case ARGP_KEY_ARG:
		f->path = arg;
		return one_arg(key, state);
	default:
		return one_arg(key, state);
	}
}

static unsigned int default_records(uint64_t size)
{
	uint64_t most = size / LOG_PART / PMOF_KV_RECORD_SIZE;
	unsigned int n = RECORDS;

	while (n > PMOF_KV_MIN_RECORDS && n > most)
		n /= 2;
	return n;
}

static int make_super(const struct format *f, uint64_t size, struct pmof_kv_super *sb)
{
	int ret;

	*sb = (struct pmof_kv_super){
		.ns_size = size,
		.nr_records = f->records ? f->records : default_records(size),
		.serial = 1,
		.first = 1,
	};
	if (getrandom(sb->uuid, sizeof(sb->uuid), 0) != sizeof(sb->uuid) ||
	    getrandom(sb->hash_key, sizeof(sb->hash_key), 0) != sizeof(sb->hash_key)) {
		complain("no random numbers: %s", strerror(errno));
		return -errno;
	}
	sb->uuid[6] = (sb->uuid[6] & 0x0f) | 0x40;	/* RFC 9562, version 4 */
	sb->uuid[8] = (sb->uuid[8] & 0x3f) | 0x80;
	ret = pmof_kv_layout(sb);
	if (ret == -ENOSPC) {
		complain("%s: %llu bytes are too small for a store", f->path,
			 (unsigned long long)size);
		hint("it takes 8 MiB at least, and what the log has above that");
	} else if (ret) {
		complain("%s: %llu bytes are too large for a store", f->path,
			 (unsigned long long)size);
	}
	return ret;
}

/* --- what is there already -------------------------------------------------------- */

static int read_all(int fd, void *buf, size_t size, off_t at)
{
	ssize_t n;

	for (; size; size -= (size_t)n, buf = (char *)buf + n, at += n) {
		n = pread(fd, buf, size, at);
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
	}
	return 0;
}

static bool is_empty(const unsigned char *start, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (start[i])
			return false;
	return true;
}

static bool is_connection(const struct kv_image *im)
{
	struct stat st;

	return !fstat(im->fd, &st) && S_ISCHR(st.st_mode);
}

/*
 * What libblkid knows: many a file system leaves the first pages alone, a member of an array may
 * have its superblock at the end.  It cannot look through a character device.
 */
static bool holds_other(const struct kv_image *im)
{
	blkid_probe pr = blkid_new_probe();
	const char *type;
	int ret = -1;

	if (pr && !blkid_probe_set_device(pr, im->fd, 0, (blkid_loff_t)im->size)) {
		blkid_probe_enable_superblocks(pr, 1);
		blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE);
		blkid_probe_enable_partitions(pr, 1);
		ret = blkid_do_safeprobe(pr);
	}
	if (ret != 1) {
		if (ret || (blkid_probe_lookup_value(pr, "TYPE", &type, NULL) &&
			    blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL)))
			type = ret == -2 ? "more than one thing" : "what libblkid cannot read";
		complain("%s: it holds %s", im->path, type);
		hint("`wipefs %s` shows what; --force gives it up", im->path);
	}
	blkid_free_probe(pr);
	return ret != 1;
}

/* A store, damaged or of another version too; or other data, not only where the superblocks will be. */
static bool in_the_way(const struct kv_image *im, const unsigned char *start)
{
	char uuid[KV_UUID_TEXT];
	struct pmof_kv_super sb;
	int i, rc;

	for (i = 0; i < 2; i++) {
		const void *copy = start + i * PMOF_KV_SUPER_SIZE;

		rc = pmof_kv_get_super(copy, im->size, &sb);
		if (!rc)
			complain("%s: it holds the store %s", im->path,
				 kv_uuid_text(sb.uuid, uuid));
		else if (rc == -EPROTONOSUPPORT)
			complain("%s: it holds a store of another version", im->path);
		else
			continue;
		hint("`pmof kv check %s` looks at it; --force gives it up", im->path);
		return true;
	}
	if (!is_connection(im) && holds_other(im))
		return true;
	if (is_empty(start, PMOF_KV_TABLE))
		return false;
	complain("%s: its first %llu bytes hold data of something else", im->path, PMOF_KV_TABLE);
	hint("--force gives it up");
	return true;
}

static int check_empty(const struct kv_image *im)
{
	unsigned char *start = malloc(PMOF_KV_TABLE);
	int ret;

	if (!start)
		return -ENOMEM;
	ret = read_all(im->fd, start, PMOF_KV_TABLE, 0);
	if (ret)
		explain(NULL, ret, "cannot read %s", im->path);
	else if (in_the_way(im, start))
		ret = -EEXIST;
	free(start);
	return ret;
}

/* --- writing -------------------------------------------------------------------------- */

static int write_all(int fd, const void *buf, size_t size, off_t at)
{
	ssize_t n;

	for (; size; size -= (size_t)n, buf = (const char *)buf + n, at += n) {
		n = pwrite(fd, buf, size, at);
		if (n < 0)
			return -errno;
	}
	return 0;
}

/*
 * One copy durably, then the other.  A power cut between them leaves one that counts, or the
 * copies of two stores, which is none.  Nothing else has to be cleared: what an earlier store has
 * left has checksums of another UUID.
 */
static int write_supers(const struct kv_image *im, const struct pmof_kv_super *sb)
{
	void *page = calloc(1, PMOF_KV_SUPER_SIZE);
	int i, ret = page ? 0 : -ENOMEM;

	if (page)
		pmof_kv_put_super(page, sb);
	for (i = 0; i < 2 && !ret; i++) {
		ret = write_all(im->fd, page, PMOF_KV_SUPER_SIZE,
				(off_t)(i * PMOF_KV_SUPER_SIZE));
		if (!ret && fsync(im->fd))
			ret = -errno;
	}
	free(page);
	if (ret)
		explain(NULL, ret, "cannot write %s", im->path);
	return ret;
}

static void print_format(const struct format *f, const struct pmof_kv_super *sb)
{
	struct json_object *o = new_object();
	char uuid[KV_UUID_TEXT];
	static const struct column fields[] = {
		{ "store", "uuid", COL_TEXT }, { "size", "size", COL_SIZE },
		{ "log records", "log_records", COL_NUMBER },
		{ "chunks of 4 MiB", "chunks", COL_NUMBER },
	};

	put_text(o, "uuid", kv_uuid_text(sb->uuid, uuid));
	put_u64(o, "size", sb->ns_size);
	put_u64(o, "log_records", sb->nr_records);
	put_u64(o, "chunks", sb->nr_chunks);
	if (f->json)
		print_json(o, false);
	else
		print_fields(o, fields, ARRAY_SIZE(fields));
	json_object_put(o);
}

static int format(const struct format *f)
{
	struct pmof_kv_super sb;
	struct kv_image im;
	int ret = kv_image_open(&im, f->path, true);

	if (ret)
		return ret;
	ret = make_super(f, im.size, &sb);
	if (!ret && !f->force)
		ret = check_empty(&im);
	if (!ret)
		ret = write_supers(&im, &sb);
	kv_image_close(&im);
	if (!ret)
		print_format(f, &sb);
	return ret;
}

int cmd_kv_format(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_format, .args_doc = "FILE|DEVICE",
		.doc = "Makes an empty store of an image file, of a pmem device of this machine "
		       "that is not in use, or of a connected namespace.",
	};
	struct format f = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &f);
	return format(&f) ? EXIT_FAILED : EXIT_OK;
}
