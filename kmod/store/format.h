/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a key-value store looks like on the medium: docs/kv.md.  The only file
 * with its layouts, all little endian.  Pure: it compiles in user space too
 * (tests/unit).
 *
 * Nothing that is read is trusted: get_* check it against the superblock's
 * geometry, which is checked against the namespace.  Checksums start from a
 * seed that the store's UUID gives, so that what an earlier store has left in the
 * same place is not taken for this one's.
 */
#ifndef PMOF_STORE_FORMAT_H
#define PMOF_STORE_FORMAT_H

#include "../common/object.h"
#include "../../uapi/pmof_kv.h"

#define PMOF_KV_MAGIC		0x65726f7453666d50ULL	/* "PmfStore" */
#define PMOF_KV_VERSION		1
#define PMOF_KV_SUPER_SIZE	4096ULL		/* of one of the two copies, a page each */
#define PMOF_KV_TABLE		(2 * PMOF_KV_SUPER_SIZE)	/* offset of the chunk table */
#define PMOF_KV_RECORD_SIZE	64ULL
#define PMOF_KV_MIN_RECORDS	128U
#define PMOF_KV_MAX_RECORDS	0x1000000U
#define PMOF_KV_CHUNK_SHIFT	22
#define PMOF_KV_CHUNK_SIZE	0x400000ULL	/* BIT(PMOF_KV_CHUNK_SHIFT) */
#define PMOF_KV_MAX_SPAN	16U		/* chunks of the largest object */
#define PMOF_KV_MAX_OBJECT	(PMOF_KV_MAX_SPAN * PMOF_KV_CHUNK_SIZE)
#define PMOF_KV_SLOT_ALIGN	64ULL
#define PMOF_KV_ROUND		64U	/* records under one fence at most: a cut loses any */

/* --- superblock ---------------------------------------------------------------- */

struct pmof_kv_wire_super {
	__le64 magic;
	__le32 version;
	__le32 nr_records;
	__u8 uuid[16];
	__u8 hash_key[16];
	__le64 ns_size;
	__le64 serial;		/* counts up with each time that it is written */
	__le64 first;		/* sequence number of the record at place 0 */
	__le32 nr_chunks;
	__le32 reserved32;
	__le64 generation;	/* none above it has been given */
	__le32 reserved[105];
	__le32 crc;		/* of all before it */
};

static_assert(sizeof(struct pmof_kv_wire_super) == 512, "medium layout");

struct pmof_kv_super {
	u8 uuid[16];
	u8 hash_key[16];
	u64 ns_size;
	u64 serial;
	u64 first;
	u64 generation;
	u32 nr_records;
	/* These follow from the ones above. */
	u32 nr_chunks;
	u32 seed;		/* of all checksums but the superblock's own */
	u64 log;		/* offsets */
	u64 chunks;
};

int pmof_kv_layout(struct pmof_kv_super *sb);
void pmof_kv_put_super(struct pmof_kv_wire_super *w, const struct pmof_kv_super *sb);
int pmof_kv_get_super(const struct pmof_kv_wire_super *w, u64 ns_size, struct pmof_kv_super *out);
int pmof_kv_choose_super(const void *base, u64 ns_size, struct pmof_kv_super *out,
			 unsigned int *good);

/* --- size classes and the chunk table ---------------------------------------------- */

#define PMOF_KV_SLOT_CLASSES	60U	/* 1 to this: slots of a chunk */
#define PMOF_KV_CLASSES		(PMOF_KV_SLOT_CLASSES + PMOF_KV_MAX_SPAN - 1)	/* above: spans */

static inline bool pmof_kv_class_is_span(u32 class)
{
	return class > PMOF_KV_SLOT_CLASSES;
}

/* Chunks that a slot of the class takes, or shares. */
static inline u32 pmof_kv_class_chunks(u32 class)
{
	return pmof_kv_class_is_span(class) ? class - PMOF_KV_SLOT_CLASSES + 1 : 1;
}

u64 pmof_kv_class_size(u32 class);
u32 pmof_kv_class_of(u64 length);

/* Slots of one chunk, or of one span. */
static inline u32 pmof_kv_class_slots(u32 class)
{
	return pmof_kv_class_is_span(class) ? 1 : PMOF_KV_CHUNK_SIZE / pmof_kv_class_size(class);
}

static inline u64 pmof_kv_chunk_offset(const struct pmof_kv_super *sb, u32 chunk)
{
	return sb->chunks + ((u64)chunk << PMOF_KV_CHUNK_SHIFT);
}

static inline u64 pmof_kv_chunk_word_offset(u32 chunk)
{
	return PMOF_KV_TABLE + chunk * sizeof(__le64);
}

/* @part: of a span, counted from 0.  Of a class of slots: 0. */
u64 pmof_kv_chunk_word(const struct pmof_kv_super *sb, u32 chunk, u32 class, u32 part);
u32 pmof_kv_chunk_class(const void *base, const struct pmof_kv_super *sb, u32 chunk);
bool pmof_kv_slot_ok(const void *base, const struct pmof_kv_super *sb, u64 offset, u64 *size);

/* --- objects ------------------------------------------------------------------------ */

/*
 * Its header is struct pmof_kv_object_header, which clients READ, too.  Generation 0: there
 * is no object.  The crc is of the header with that field 0, then of the key.
 */
static_assert(sizeof(struct pmof_kv_object_header) == 24, "medium layout");
static_assert(PMOF_KV_MAX_OBJECT == PMOF_KV_OBJECT_MAX, "what clients are told");

struct pmof_kv_object {
	u64 generation;
	u32 key_length;
	u32 value_length;
};

static inline u64 pmof_kv_value_offset(const struct pmof_kv_object *o)
{
	return sizeof(struct pmof_kv_object_header) + o->key_length;
}

/* With its trailer. */
static inline u64 pmof_kv_object_length(const struct pmof_kv_object *o)
{
	u64 end = pmof_kv_value_offset(o) + o->value_length;

	return (end + 7) / 8 * 8 + PMOF_TRAILER_SIZE;
}

/* Of a slot of @room bytes: what a header and its key may take. */
static inline u64 pmof_kv_header_room(u64 room)
{
	return min_t(u64, room, sizeof(struct pmof_kv_object_header) + PMOF_KV_KEY_MAX);
}

bool pmof_kv_object_ok(const struct pmof_kv_object *o);
void pmof_kv_put_header(struct pmof_kv_object_header *w, const struct pmof_kv_super *sb,
			const struct pmof_kv_object *o, const void *key);
u64 pmof_kv_header_seen(const struct pmof_kv_object_header *w, u64 room);
bool pmof_kv_get_header_within(const struct pmof_kv_object_header *w,
			       const struct pmof_kv_super *sb, u64 room, u64 readable,
			       struct pmof_kv_object *out);

static inline bool pmof_kv_get_header(const struct pmof_kv_object_header *w,
				      const struct pmof_kv_super *sb, u64 room,
				      struct pmof_kv_object *out)
{
	return pmof_kv_get_header_within(w, sb, room, room, out);
}

bool pmof_kv_there(const void *base, const struct pmof_kv_super *sb, u64 offset, u64 room,
		   struct pmof_kv_object *out);

/* --- the log --------------------------------------------------------------------------- */

struct pmof_kv_wire_record {
	__le64 sequence;
	__le64 new_offset;
	__le64 new_generation;
	__le64 old_offset;
	__le64 old_generation;
	__le64 writer;
	__le64 number;
	__le32 reserved;
	__le32 crc;		/* of all before it */
};

static_assert(sizeof(struct pmof_kv_wire_record) == PMOF_KV_RECORD_SIZE, "medium layout");

/* An object that was, or is: its slot and its generation; both 0: none. */
struct pmof_kv_ref {
	u64 offset;
	u64 generation;
};

struct pmof_kv_record {
	u64 sequence;
	struct pmof_kv_ref new;
	struct pmof_kv_ref old;
	u64 writer;
	u64 number;
};

static inline u64 pmof_kv_record_offset(const struct pmof_kv_super *sb, u32 place)
{
	return sb->log + place * PMOF_KV_RECORD_SIZE;
}

void pmof_kv_put_record(struct pmof_kv_wire_record *w, const struct pmof_kv_super *sb,
			const struct pmof_kv_record *r);
bool pmof_kv_get_record(const void *base, const struct pmof_kv_super *sb, u32 place,
			struct pmof_kv_record *out);
u32 pmof_kv_count_records(const void *base, const struct pmof_kv_super *sb);
bool pmof_kv_log_hole(const void *base, const struct pmof_kv_super *sb, u32 records);

#endif /* PMOF_STORE_FORMAT_H */
