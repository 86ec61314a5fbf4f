// SPDX-License-Identifier: GPL-2.0
/* kmod/store/format.c: what it writes it reads, and it believes nothing else. */
#include "unit.h"
#include "../../kmod/store/format.h"

#define NS_SIZE		(64ULL << 20)
#define TWO_SUPERS	(2 * PMOF_KV_SUPER_SIZE)

static struct pmof_kv_super make_super(void)
{
	struct pmof_kv_super sb = { .ns_size = NS_SIZE, .nr_records = 128, .serial = 7,
				    .first = 1 };

	memset(sb.uuid, 0x5a, sizeof(sb.uuid));
	memset(sb.hash_key, 0xa5, sizeof(sb.hash_key));
	if (pmof_kv_layout(&sb))
		abort();
	return sb;
}

TEST(layout)
{
	struct pmof_kv_super sb = make_super();

	EXPECT_EQ(PMOF_KV_TABLE + 64 / 4 * 8, sb.log);
	EXPECT_EQ(PMOF_KV_CHUNK_SIZE, sb.chunks);
	EXPECT_EQ(15, sb.nr_chunks);
	sb.ns_size = 2 * PMOF_KV_CHUNK_SIZE;
	EXPECT_EQ(0, pmof_kv_layout(&sb));
	EXPECT_EQ(1, sb.nr_chunks);
	sb.ns_size--;
	EXPECT_EQ(-ENOSPC, pmof_kv_layout(&sb));
	sb.ns_size = 4096;
	EXPECT_EQ(-ENOSPC, pmof_kv_layout(&sb));
	sb.ns_size = NS_SIZE;
	sb.nr_records = PMOF_KV_MIN_RECORDS - 1;
	EXPECT_EQ(-EINVAL, pmof_kv_layout(&sb));
	sb.nr_records = PMOF_KV_MAX_RECORDS + 1;
	EXPECT_EQ(-EINVAL, pmof_kv_layout(&sb));
	sb.nr_records = 128;
	sb.ns_size = U64_MAX;
	EXPECT_EQ(-EINVAL, pmof_kv_layout(&sb));
}

TEST(super_every_bit_counts)
{
	struct pmof_kv_super sb = make_super(), out;
	struct pmof_kv_wire_super w;
	unsigned int bit;

	pmof_kv_put_super(&w, &sb);
	EXPECT_EQ(0, pmof_kv_get_super(&w, NS_SIZE, &out));
	EXPECT_EQ(0, memcmp(sb.uuid, out.uuid, sizeof(sb.uuid)));
	EXPECT_EQ(0, memcmp(sb.hash_key, out.hash_key, sizeof(sb.hash_key)));
	EXPECT_EQ(sb.ns_size, out.ns_size);
	EXPECT_EQ(sb.serial, out.serial);
	EXPECT_EQ(sb.first, out.first);
	EXPECT_EQ(sb.nr_records, out.nr_records);
	EXPECT_EQ(sb.nr_chunks, out.nr_chunks);
	EXPECT_EQ(sb.seed, out.seed);
	EXPECT_EQ(sb.log, out.log);
	EXPECT_EQ(sb.chunks, out.chunks);
	EXPECT_EQ(0, pmof_kv_get_super(&w, NS_SIZE + 1, &out));
	EXPECT_EQ(-EINVAL, pmof_kv_get_super(&w, NS_SIZE - 1, &out));
	for (bit = 0; bit < 8 * sizeof(w); bit++) {
		((u8 *)&w)[bit / 8] ^= 1 << bit % 8;
		EXPECT_EQ(-EINVAL, pmof_kv_get_super(&w, NS_SIZE, &out));
		((u8 *)&w)[bit / 8] ^= 1 << bit % 8;
	}
}

/* With a checksum that is right. */
static int get_forged(struct pmof_kv_wire_super w)
{
	struct pmof_kv_super out;

	w.crc = crc32c(~0U, &w, offsetof(struct pmof_kv_wire_super, crc));
	return pmof_kv_get_super(&w, NS_SIZE, &out);
}

TEST(super_forged)
{
	struct pmof_kv_super sb = make_super();
	struct pmof_kv_wire_super good, w;

	pmof_kv_put_super(&good, &sb);
	EXPECT_EQ(0, get_forged(good));
	w = good;
	w.version = 2;
	EXPECT_EQ(-EPROTONOSUPPORT, get_forged(w));
	w = good;
	w.nr_records = 1 << 25;
	EXPECT_EQ(-EINVAL, get_forged(w));
	w = good;
	w.nr_chunks++;
	EXPECT_EQ(-EINVAL, get_forged(w));
	w = good;
	w.ns_size = 0;
	EXPECT_EQ(-EINVAL, get_forged(w));
	w = good;
	w.first = 0;
	EXPECT_EQ(-EINVAL, get_forged(w));
	w = good;
	w.first = U64_MAX;
	EXPECT_EQ(-EINVAL, get_forged(w));
	w = good;
	w.serial = U64_MAX;
	EXPECT_EQ(-EINVAL, get_forged(w));
}

static void put_both(u8 *base, struct pmof_kv_super *sb, u64 serial0, u64 serial1)
{
	memset(base, 0, TWO_SUPERS);
	sb->serial = serial0;
	sb->first = 1 + serial0;
	pmof_kv_put_super((void *)base, sb);
	sb->serial = serial1;
	sb->first = 1 + serial1;
	pmof_kv_put_super((void *)(base + PMOF_KV_SUPER_SIZE), sb);
}

TEST(super_the_newer_copy)
{
	struct pmof_kv_super sb = make_super(), out;
	struct pmof_kv_wire_super *second;
	u8 *base = malloc(TWO_SUPERS);
	unsigned int good = 0;

	second = (void *)(base + PMOF_KV_SUPER_SIZE);
	put_both(base, &sb, 5, 5);
	EXPECT_EQ(0, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	EXPECT_EQ(3, good);
	put_both(base, &sb, 6, 5);
	EXPECT_EQ(0, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	EXPECT_EQ(6, out.serial);
	EXPECT_EQ(1, good);
	put_both(base, &sb, 5, 6);
	EXPECT_EQ(0, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	EXPECT_EQ(6, out.serial);
	EXPECT_EQ(2, good);
	base[40] ^= 1;
	EXPECT_EQ(0, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	EXPECT_EQ(2, good);
	second->crc ^= 1;
	EXPECT_EQ(-EINVAL, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	/* Another store's copy is no older copy of this one's. */
	put_both(base, &sb, 5, 6);
	sb.uuid[3]++;
	sb.serial = 7;
	pmof_kv_put_super(second, &sb);
	EXPECT_EQ(-EINVAL, pmof_kv_choose_super(base, NS_SIZE, &out, &good));
	EXPECT_EQ(-EINVAL, pmof_kv_choose_super(base, TWO_SUPERS - 1, &out, &good));
	free(base);
}

TEST(classes)
{
	u64 length, last = 0;
	u32 c;

	for (c = 1; c <= PMOF_KV_CLASSES; c++) {
		u64 size = pmof_kv_class_size(c);

		EXPECT_LT(last, size);
		EXPECT_EQ(0, size % PMOF_KV_SLOT_ALIGN);
		EXPECT_EQ(c, pmof_kv_class_of(last + 1));
		EXPECT_EQ(c, pmof_kv_class_of(size));
		EXPECT_LE(1, pmof_kv_class_slots(c));
		EXPECT_LE(pmof_kv_class_slots(c) * size,
			  pmof_kv_class_chunks(c) * PMOF_KV_CHUNK_SIZE);
		last = size;
	}
	EXPECT_EQ(PMOF_KV_MAX_OBJECT, last);
	EXPECT_EQ(0, pmof_kv_class_of(last + 1));
	EXPECT_EQ(0, pmof_kv_class_of(0));
	for (length = 257; length < 1 << 20; length += 61) {
		c = pmof_kv_class_of(length);
		EXPECT_LE(length, pmof_kv_class_size(c));
		EXPECT_GT(length, pmof_kv_class_size(c - 1));
	}
}

TEST(chunk_words)
{
	struct pmof_kv_super sb = make_super();
	u64 *table, size = 0;
	u8 *base = calloc(1, PMOF_KV_CHUNK_SIZE);
	u32 span3 = PMOF_KV_SLOT_CLASSES + 2, i;

	table = (u64 *)(base + PMOF_KV_TABLE);
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 0));
	table[0] = pmof_kv_chunk_word(&sb, 0, 2, 0);
	EXPECT_EQ(2, pmof_kv_chunk_class(base, &sb, 0));
	for (i = 0; i < 64; i++) {
		table[0] ^= 1ULL << i;
		EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 0));
		table[0] ^= 1ULL << i;
	}
	/* One chunk's word is none of another's, nor of another store's. */
	table[1] = table[0];
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 1));
	sb.seed++;
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 0));
	sb.seed--;

	EXPECT_TRUE(pmof_kv_slot_ok(base, &sb, sb.chunks, &size));
	EXPECT_EQ(128, size);
	EXPECT_TRUE(pmof_kv_slot_ok(base, &sb, sb.chunks + PMOF_KV_CHUNK_SIZE - 128, &size));
	EXPECT_FALSE(pmof_kv_slot_ok(base, &sb, sb.chunks + 64, &size));
	EXPECT_FALSE(pmof_kv_slot_ok(base, &sb, sb.chunks + PMOF_KV_CHUNK_SIZE, &size));
	EXPECT_FALSE(pmof_kv_slot_ok(base, &sb, sb.chunks - 128, &size));
	EXPECT_FALSE(pmof_kv_slot_ok(base, &sb, NS_SIZE, &size));
	EXPECT_FALSE(pmof_kv_slot_ok(base, &sb, U64_MAX, &size));

	/* A span is there with all its parts, and starts at its first. */
	for (i = 3; i; i--) {
		EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 2));
		table[2 + i - 1] = pmof_kv_chunk_word(&sb, 2 + i - 1, span3, i - 1);
	}
	EXPECT_EQ(span3, pmof_kv_chunk_class(base, &sb, 2));
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 3));
	EXPECT_TRUE(pmof_kv_slot_ok(base, &sb, pmof_kv_chunk_offset(&sb, 2), &size));
	EXPECT_EQ(3 * PMOF_KV_CHUNK_SIZE, size);
	table[3] = 0;
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 2));
	/* Nor does one reach past the last chunk, whatever stands behind the table. */
	for (i = 0; i < 3; i++)
		table[14 + i] = pmof_kv_chunk_word(&sb, 14 + i, span3, i);
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 14));
	EXPECT_EQ(0, pmof_kv_chunk_class(base, &sb, 15));
	free(base);
}

TEST(headers)
{
	struct pmof_kv_object o = { .generation = 77, .key_length = 5, .value_length = 30 }, out;
	struct pmof_kv_super sb = make_super();
	u64 length = pmof_kv_object_length(&o), i;
	struct pmof_kv_object_header *w;
	u64 *trailer;
	u8 *slot;

	ASSERT_EQ(72, length);
	slot = calloc(1, length);
	w = (void *)slot;
	trailer = (u64 *)(slot + length - 8);
	pmof_kv_put_header(w, &sb, &o, "hello");
	EXPECT_TRUE(pmof_kv_get_header(w, &sb, length, &out));
	EXPECT_EQ(0, memcmp(&o, &out, sizeof(o)));
	for (i = 0; i < length; i++)
		EXPECT_FALSE(pmof_kv_get_header(w, &sb, i, &out));
	for (i = 0; i < 8 * (sizeof(*w) + o.key_length); i++) {
		slot[i / 8] ^= 1 << i % 8;
		EXPECT_FALSE(pmof_kv_get_header(w, &sb, length, &out));
		slot[i / 8] ^= 1 << i % 8;
	}
	EXPECT_FALSE(pmof_kv_there(slot, &sb, 0, length, &out));
	*trailer = pmof_trailer_persistent(o.generation);
	EXPECT_TRUE(pmof_kv_there(slot, &sb, 0, length, &out));
	*trailer = pmof_trailer_committed(o.generation);
	EXPECT_TRUE(pmof_kv_there(slot, &sb, 0, length, &out));
	*trailer = pmof_trailer_persistent(o.generation + 1);
	EXPECT_FALSE(pmof_kv_there(slot, &sb, 0, length, &out));
	free(slot);
}

/* A checksum that is right makes no length right. */
TEST(headers_forged)
{
	struct pmof_kv_super sb = make_super();
	struct pmof_kv_object o, out;
	u64 state = 99;
	u8 *slot;
	int i;

	for (i = 0; i < 2000; i++) {
		u64 room = 24 + rnd(&state) % 200;
		struct pmof_kv_object_header *w;
		u8 big[4096];

		memset(big, 0, sizeof(big));
		o.generation = rnd(&state) & PMOF_GENERATION_MASK;
		o.key_length = rnd(&state) % 1100;
		o.value_length = rnd(&state) >> (32 + rnd(&state) % 32);
		pmof_kv_put_header((void *)big, &sb, &o, big + 2048);
		slot = tight(big, room);
		w = (void *)slot;
		EXPECT_EQ(pmof_kv_object_ok(&o) && pmof_kv_object_length(&o) <= room,
			  pmof_kv_get_header(w, &sb, room, &out));
		free(slot);
	}
}

TEST(records)
{
	struct pmof_kv_super sb = make_super();
	struct pmof_kv_record r = { .new = { 4096, 9 }, .old = { 8192, 8 }, .writer = 5,
				    .number = 6 }, out;
	u8 *base = calloc(1, PMOF_KV_CHUNK_SIZE);
	u32 i;

	EXPECT_EQ(0, pmof_kv_count_records(base, &sb));
	for (i = 0; i < sb.nr_records; i++) {
		r.sequence = sb.first + i;
		pmof_kv_put_record((void *)(base + pmof_kv_record_offset(&sb, i)), &sb, &r);
		EXPECT_EQ(i + 1, pmof_kv_count_records(base, &sb));
	}
	EXPECT_TRUE(pmof_kv_get_record(base, &sb, 3, &out));
	r.sequence = sb.first + 3;
	EXPECT_EQ(0, memcmp(&r, &out, sizeof(r)));
	for (i = 0; i < 8 * PMOF_KV_RECORD_SIZE; i++) {
		base[pmof_kv_record_offset(&sb, 10) + i / 8] ^= 1 << i % 8;
		EXPECT_EQ(10, pmof_kv_count_records(base, &sb));
		base[pmof_kv_record_offset(&sb, 10) + i / 8] ^= 1 << i % 8;
	}
	r.sequence = sb.first + 11;
	pmof_kv_put_record((void *)(base + pmof_kv_record_offset(&sb, 10)), &sb, &r);
	EXPECT_EQ(10, pmof_kv_count_records(base, &sb));
	/* The next log has none of them. */
	sb.first += sb.nr_records;
	EXPECT_EQ(0, pmof_kv_count_records(base, &sb));
	/* Sense: something new or something old, and each with a generation. */
	r.sequence = sb.first;
	r.new.offset = 0;
	pmof_kv_put_record((void *)(base + sb.log), &sb, &r);
	EXPECT_EQ(0, pmof_kv_count_records(base, &sb));
	r.new.generation = 0;
	pmof_kv_put_record((void *)(base + sb.log), &sb, &r);
	EXPECT_EQ(1, pmof_kv_count_records(base, &sb));
	memset(&r.old, 0, sizeof(r.old));
	pmof_kv_put_record((void *)(base + sb.log), &sb, &r);
	EXPECT_EQ(0, pmof_kv_count_records(base, &sb));
	free(base);
}

TEST_HARNESS_MAIN
