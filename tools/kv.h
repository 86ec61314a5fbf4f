/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof kv: what its files share. */
#ifndef PMOF_TOOLS_KV_H
#define PMOF_TOOLS_KV_H

#include <stdbool.h>
#include <stdint.h>

#include "libpmofkv.h"

struct argp_state;
struct json_object;

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

/* --- kv_online.c: by its server ------------------------------------------------- */

/* The device of a connection to a store? */
bool kv_is_online(const char *path);

/* Checks it and prints what is found.  0; -EUCLEAN: damaged; else it has complained. */
int kv_check_online(const char *device, bool json, size_t shown);

/* --- kv_data.c, kv_list.c ----------------------------------------------------- */

/* Does what is acknowledged survive a power cut?  If it does not, warns. */
bool kv_check_durable(const struct pmofkv *kv);

/* pmofkv_open(), and the complaint; the warning, if it is to be written. */
int kv_open(const char *device, int flags, enum pmofkv_protocol protocol, struct pmofkv **kv);

/* Complains of a call of libpmofkv. */
void kv_explain(int error, const char *what);

/* --protocol. */
enum pmofkv_protocol kv_arg_protocol(struct argp_state *state, const char *arg);

/* Puts them as text, or, if they are none, in hexadecimal digits as "NAME_hex". */
void kv_put_bytes(struct json_object *o, const char *name, const void *bytes, size_t length);

/* --- the commands ------------------------------------------------------------- */

int cmd_kv_format(int argc, char **argv);
int cmd_kv_check(int argc, char **argv);
int cmd_kv_put(int argc, char **argv);
int cmd_kv_get(int argc, char **argv);
int cmd_kv_del(int argc, char **argv);
int cmd_kv_list(int argc, char **argv);
int cmd_kv_scan(int argc, char **argv);
int cmd_kv_stat(int argc, char **argv);
int cmd_kv_bench(int argc, char **argv);

#endif /* PMOF_TOOLS_KV_H */
