/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof kv: what its files share. */
#ifndef PMOF_TOOLS_KV_H
#define PMOF_TOOLS_KV_H

#include <stdbool.h>
#include <stdint.h>

/* --- kv_image.c: a store seen from below -------------------------------------- */

/* A file, a block device, or the character device of a connection. */
struct kv_image {
	const char *path;
	int fd;
	uint64_t size;
	void *base;		/* mapped for reading; NULL before kv_image_map() */
};

/* Opens it, alone where that can be had; complains.  @write: for format. */
int kv_image_open(struct kv_image *im, const char *path, bool write);
int kv_image_map(struct kv_image *im);
void kv_image_close(struct kv_image *im);

/* "%02x" of 16 bytes, as UUIDs are written; returns @buf. */
#define KV_UUID_TEXT	37
char *kv_uuid_text(const uint8_t uuid[16], char buf[KV_UUID_TEXT]);

/* --- the commands ------------------------------------------------------------- */

int cmd_kv_format(int argc, char **argv);
int cmd_kv_check(int argc, char **argv);

#endif /* PMOF_TOOLS_KV_H */
