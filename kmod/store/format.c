// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Reading and writing what format.h describes.  Pure. */
#include "format.h"

/* --- superblock ---------------------------------------------------------------- */

/*
 * Fills what follows from the size of the namespace, the number of records and
 * the UUID.  Returns 0, -EINVAL, or -ENOSPC where there is no room for a chunk.
 */
int pmof_kv_layout(struct pmof_kv_super *sb)
{
	u64 table;

	if (sb->nr_records < PMOF_KV_MIN_RECORDS || sb->nr_records > PMOF_KV_MAX_RECORDS ||
	    sb->ns_size >> PMOF_KV_CHUNK_SHIFT > U32_MAX)
		return -EINVAL;
	table = (sb->ns_size >> PMOF_KV_CHUNK_SHIFT) * sizeof(__le64);
	sb->log = PMOF_KV_TABLE + (table + PMOF_KV_RECORD_SIZE - 1) / PMOF_KV_RECORD_SIZE *
				  PMOF_KV_RECORD_SIZE;
	sb->chunks = sb->log + sb->nr_records * PMOF_KV_RECORD_SIZE;
	sb->chunks = (sb->chunks + PMOF_KV_CHUNK_SIZE - 1) & ~(PMOF_KV_CHUNK_SIZE - 1);
	if (sb->chunks >= sb->ns_size || sb->ns_size - sb->chunks < PMOF_KV_CHUNK_SIZE)
		return -ENOSPC;
	sb->nr_chunks = (sb->ns_size - sb->chunks) >> PMOF_KV_CHUNK_SHIFT;
	sb->seed = crc32c(~0U, sb->uuid, sizeof(sb->uuid));
	return 0;
}

static u32 super_crc(const struct pmof_kv_wire_super *w)
{
	return crc32c(~0U, w, offsetof(struct pmof_kv_wire_super, crc));
}

void pmof_kv_put_super(struct pmof_kv_wire_super *w, const struct pmof_kv_super *sb)
{
	memset(w, 0, sizeof(*w));
	w->magic = cpu_to_le64(PMOF_KV_MAGIC);
	w->version = cpu_to_le32(PMOF_KV_VERSION);
	w->nr_records = cpu_to_le32(sb->nr_records);
	memcpy(w->uuid, sb->uuid, sizeof(w->uuid));
	memcpy(w->hash_key, sb->hash_key, sizeof(w->hash_key));
	w->ns_size = cpu_to_le64(sb->ns_size);
	w->serial = cpu_to_le64(sb->serial);
	w->first = cpu_to_le64(sb->first);
	w->nr_chunks = cpu_to_le32(sb->nr_chunks);
	w->generation = cpu_to_le64(sb->generation);
	w->crc = cpu_to_le32(super_crc(w));
}

/*
 * Returns 0, -EINVAL if it is no superblock or not a valid one, or
 * -EPROTONOSUPPORT if it is of another version.
 */
int pmof_kv_get_super(const struct pmof_kv_wire_super *w, u64 ns_size, struct pmof_kv_super *out)
{
	if (le64_to_cpu(w->magic) != PMOF_KV_MAGIC || le32_to_cpu(w->crc) != super_crc(w))
		return -EINVAL;
	if (le32_to_cpu(w->version) != PMOF_KV_VERSION)
		return -EPROTONOSUPPORT;
	memset(out, 0, sizeof(*out));
	memcpy(out->uuid, w->uuid, sizeof(out->uuid));
	memcpy(out->hash_key, w->hash_key, sizeof(out->hash_key));
	out->ns_size = le64_to_cpu(w->ns_size);
	out->nr_records = le32_to_cpu(w->nr_records);
	out->serial = le64_to_cpu(w->serial);
	out->first = le64_to_cpu(w->first);
	out->generation = le64_to_cpu(w->generation);
	/* A namespace may have grown since; never shrunk. */
	if (out->ns_size > ns_size || pmof_kv_layout(out) ||
	    out->nr_chunks != le32_to_cpu(w->nr_chunks))
		return -EINVAL;
	/* Sequence numbers and serials that could not go on. */
	if (out->generation & ~PMOF_GENERATION_MASK || !out->first ||
	    out->first > U64_MAX / 2 || out->serial > U64_MAX / 2)
		return -EINVAL;
	return 0;
}

/* True if they are copies of one store's superblock. */
static bool same_store(const struct pmof_kv_super *a, const struct pmof_kv_super *b)
{
	return !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
	       !memcmp(a->hash_key, b->hash_key, sizeof(a->hash_key)) &&
	       a->ns_size == b->ns_size && a->nr_records == b->nr_records;
}

/*
 * Takes the newer of the two copies at the start of @base.  @good: bit n is set
 * if copy n says the same; another has to be written anew.
 */
int pmof_kv_choose_super(const void *base, u64 ns_size, struct pmof_kv_super *out,
			 unsigned int *good)
{
	struct pmof_kv_super sb[2];
	int rc[2], i;

	if (ns_size < PMOF_KV_TABLE)
		return -EINVAL;
	for (i = 0; i < 2; i++)
		rc[i] = pmof_kv_get_super(base + i * PMOF_KV_SUPER_SIZE, ns_size, &sb[i]);
	if (rc[0] && rc[1])
		return rc[0] == -EPROTONOSUPPORT ? rc[0] : rc[1];
	/* A copy of another store, or of another version, is not a torn one of ours. */
	if (rc[0] == -EPROTONOSUPPORT || rc[1] == -EPROTONOSUPPORT ||
	    (!rc[0] && !rc[1] && !same_store(&sb[0], &sb[1])))
		return -EINVAL;
	i = rc[0] || (!rc[1] && sb[1].serial > sb[0].serial);
	*out = sb[i];
	*good = BIT(i);
	if (!rc[!i] && sb[!i].serial == sb[i].serial && sb[!i].first == sb[i].first)
		*good |= BIT(!i);
	return 0;
}

/* --- size classes ------------------------------------------------------------------ */

/* Bytes of a slot: 64 to 256 in steps of 64, then four to a doubling, then whole chunks. */
u64 pmof_kv_class_size(u32 class)
{
	u64 quarter;

	if (pmof_kv_class_is_span(class))
		return pmof_kv_class_chunks(class) * PMOF_KV_CHUNK_SIZE;
	if (class <= 4)
		return class * PMOF_KV_SLOT_ALIGN;
	quarter = PMOF_KV_SLOT_ALIGN << (class - 5) / 4;
	return 4 * quarter + ((class - 5) % 4 + 1) * quarter;
}

/* The smallest class that @length fits, or 0. */
u32 pmof_kv_class_of(u64 length)
{
	u32 shift;
	u64 quarter;

	if (!length || length > PMOF_KV_MAX_OBJECT)
		return 0;
	if (length > PMOF_KV_CHUNK_SIZE)
		return PMOF_KV_SLOT_CLASSES - 1 +
		       ((length + PMOF_KV_CHUNK_SIZE - 1) >> PMOF_KV_CHUNK_SHIFT);
	if (length <= 4 * PMOF_KV_SLOT_ALIGN)
		return (length + PMOF_KV_SLOT_ALIGN - 1) / PMOF_KV_SLOT_ALIGN;
	/* 256 << shift < length <= 512 << shift */
	shift = ilog2(length - 1) - 8;
	quarter = PMOF_KV_SLOT_ALIGN << shift;
	return 4 + 4 * shift + (length - 4 * quarter + quarter - 1) / quarter;
}

/* --- the chunk table ------------------------------------------------------------------ */

#define CHUNK_MAGIC	0x6b56U

/* Class, part and magic; above them a checksum over these and where it stands. */
u64 pmof_kv_chunk_word(const struct pmof_kv_super *sb, u32 chunk, u32 class, u32 part)
{
	u32 low = CHUNK_MAGIC << 16 | part << 8 | class;
	__le32 what[2] = { cpu_to_le32(low), cpu_to_le32(chunk) };

	return (u64)crc32c(sb->seed, what, sizeof(what)) << 32 | low;
}

static u64 read_word(const void *base, u64 offset)
{
	__le64 word;

	memcpy(&word, base + offset, sizeof(word));
	return le64_to_cpu(word);
}

static bool word_is(const void *base, const struct pmof_kv_super *sb, u32 chunk, u32 class,
		    u32 part)
{
	return read_word(base, pmof_kv_chunk_word_offset(chunk)) ==
	       pmof_kv_chunk_word(sb, chunk, class, part);
}

/*
 * The class of the chunk if slots start in it: 0 if it is free, or another part
 * of a span than its first.  A first part counts only with all the others.
 */
u32 pmof_kv_chunk_class(const void *base, const struct pmof_kv_super *sb, u32 chunk)
{
	u32 class, part;

	if (chunk >= sb->nr_chunks)
		return 0;
	class = read_word(base, pmof_kv_chunk_word_offset(chunk)) & 0xff;
	if (!class || class > PMOF_KV_CLASSES ||
	    pmof_kv_class_chunks(class) > sb->nr_chunks - chunk)
		return 0;
	for (part = 0; part < pmof_kv_class_chunks(class); part++)
		if (!word_is(base, sb, chunk + part, class, part))
			return 0;
	return class;
}

/* True if a slot starts at @offset; then *size is its size. */
bool pmof_kv_slot_ok(const void *base, const struct pmof_kv_super *sb, u64 offset, u64 *size)
{
	u32 chunk, class;
	u64 within;

	if (offset < sb->chunks || (offset - sb->chunks) >> PMOF_KV_CHUNK_SHIFT >= sb->nr_chunks)
		return false;
	chunk = (offset - sb->chunks) >> PMOF_KV_CHUNK_SHIFT;
	class = pmof_kv_chunk_class(base, sb, chunk);
	if (!class)
		return false;
	*size = pmof_kv_class_size(class);
	within = offset - pmof_kv_chunk_offset(sb, chunk);
	return !(within % *size) && within / *size < pmof_kv_class_slots(class);
}

/* --- objects ------------------------------------------------------------------------ */

bool pmof_kv_object_ok(const struct pmof_kv_object *o)
{
	return o->key_length && o->key_length <= PMOF_KV_KEY_MAX &&
	       pmof_generation_ok(o->generation) &&
	       pmof_kv_object_length(o) <= PMOF_KV_MAX_OBJECT;
}

static u32 header_crc(const struct pmof_kv_object_header *w, const struct pmof_kv_super *sb,
		      const void *key, u32 key_length)
{
	return crc32c(crc32c(sb->seed, w, offsetof(struct pmof_kv_object_header, crc)), key,
		      key_length);
}

/* With the key.  @o must be ok. */
void pmof_kv_put_header(struct pmof_kv_object_header *w, const struct pmof_kv_super *sb,
			const struct pmof_kv_object *o, const void *key)
{
	w->magic = cpu_to_le32(PMOF_KV_OBJECT_MAGIC);
	w->key_length = cpu_to_le16(o->key_length);
	w->reserved = 0;
	w->generation = cpu_to_le64(o->generation);
	w->value_length = cpu_to_le32(o->value_length);
	w->crc = cpu_to_le32(header_crc(w, sb, key, o->key_length));
	memcpy(w->data, key, o->key_length);
}

/*
 * How many bytes of a slot of @room, which takes a header, tell whether there is one: a header, and
 * its key if it is ours.  What is behind may be bad.
 */
u64 pmof_kv_header_seen(const struct pmof_kv_object_header *w, u64 room)
{
	u64 most = pmof_kv_header_room(room) - sizeof(*w);
	struct pmof_kv_object_header h;

	memcpy(&h, w, sizeof(h));
	if (le32_to_cpu(h.magic) != PMOF_KV_OBJECT_MAGIC)
		return sizeof(h);
	return sizeof(h) + min_t(u64, le16_to_cpu(h.key_length), most);
}

/*
 * Of a slot of @room bytes, of which no more than the first @readable are looked at.  False if it
 * is not a valid header, with its key, of an object that fits.
 */
bool pmof_kv_get_header_within(const struct pmof_kv_object_header *w,
			       const struct pmof_kv_super *sb, u64 room, u64 readable,
			       struct pmof_kv_object *out)
{
	struct pmof_kv_object_header h;

	if (room < sizeof(h) || readable < sizeof(h))
		return false;
	/* An HCA may write there meanwhile: what is checked is what is used. */
	memcpy(&h, w, sizeof(h));
	if (le32_to_cpu(h.magic) != PMOF_KV_OBJECT_MAGIC || h.reserved)
		return false;
	out->key_length = le16_to_cpu(h.key_length);
	out->value_length = le32_to_cpu(h.value_length);
	out->generation = le64_to_cpu(h.generation);
	return pmof_kv_object_ok(out) && pmof_kv_object_length(out) <= room &&
	       out->key_length <= readable - sizeof(h) &&
	       le32_to_cpu(h.crc) == header_crc(&h, sb, w->data, out->key_length);
}

/* Recovery's question: is there a committed object in the slot?  It trusts PF. */
bool pmof_kv_there(const void *base, const struct pmof_kv_super *sb, u64 offset, u64 room,
		   struct pmof_kv_object *out)
{
	u64 trailer;

	if (!pmof_kv_get_header(base + offset, sb, room, out))
		return false;
	trailer = read_word(base, pmof_object_trailer(offset, pmof_kv_object_length(out)));
	return pmof_trailer_recovers(trailer, out->generation);
}

/* --- the log --------------------------------------------------------------------------- */

static u32 record_crc(const struct pmof_kv_wire_record *w, const struct pmof_kv_super *sb)
{
	return crc32c(sb->seed, w, offsetof(struct pmof_kv_wire_record, crc));
}

void pmof_kv_put_record(struct pmof_kv_wire_record *w, const struct pmof_kv_super *sb,
			const struct pmof_kv_record *r)
{
	w->sequence = cpu_to_le64(r->sequence);
	w->new_offset = cpu_to_le64(r->new.offset);
	w->new_generation = cpu_to_le64(r->new.generation);
	w->old_offset = cpu_to_le64(r->old.offset);
	w->old_generation = cpu_to_le64(r->old.generation);
	w->writer = cpu_to_le64(r->writer);
	w->number = cpu_to_le64(r->number);
	w->reserved = 0;
	w->crc = cpu_to_le32(record_crc(w, sb));
}

static bool ref_ok(const struct pmof_kv_ref *ref)
{
	return ref->offset ? pmof_generation_ok(ref->generation) : !ref->generation;
}

/* True if the record at @place is whole and of this log. */
bool pmof_kv_get_record(const void *base, const struct pmof_kv_super *sb, u32 place,
			struct pmof_kv_record *out)
{
	const struct pmof_kv_wire_record *w = base + pmof_kv_record_offset(sb, place);

	out->sequence = le64_to_cpu(w->sequence);
	out->new.offset = le64_to_cpu(w->new_offset);
	out->new.generation = le64_to_cpu(w->new_generation);
	out->old.offset = le64_to_cpu(w->old_offset);
	out->old.generation = le64_to_cpu(w->old_generation);
	out->writer = le64_to_cpu(w->writer);
	out->number = le64_to_cpu(w->number);
	return out->sequence == sb->first + place && !w->reserved &&
	       le32_to_cpu(w->crc) == record_crc(w, sb) && ref_ok(&out->new) &&
	       ref_ok(&out->old) && (out->new.offset || out->old.offset);
}

/* [K4] The log is what counts from place 0 on, up to the first that does not. */
u32 pmof_kv_count_records(const void *base, const struct pmof_kv_super *sb)
{
	struct pmof_kv_record r;
	u32 n = 0;

	while (n < sb->nr_records && pmof_kv_get_record(base, sb, n, &r)) {
		n++;
		cond_resched();
	}
	return n;
}

/*
 * Is one missing that was there?  The log ends behind @records; what follows that is of the round
 * in which the power was cut, the next round's come behind a fence.
 */
bool pmof_kv_log_hole(const void *base, const struct pmof_kv_super *sb, u32 records)
{
	struct pmof_kv_record r;
	u64 i;

	for (i = (u64)records + PMOF_KV_ROUND; i < sb->nr_records; i++) {
		if (pmof_kv_get_record(base, sb, i, &r))
			return true;
		cond_resched();
	}
	return false;
}
