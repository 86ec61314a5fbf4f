// SPDX-License-Identifier: GPL-2.0
/*
 * libpmofkv over a libpmof that answers as the test says: what it sends when its SUBMITs are
 * cancelled in part, and what it makes of answers that are strange.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>

#include <libpmof.h>
#include <libpmofkv.h>

#include "unit.h"

#define MAX_OPS	64

struct pmof_dev {
	unsigned int submits;
	struct pmof_op last[MAX_OPS];	/* of the last SUBMIT with a COMMIT in it */
	unsigned int nr_last;
	uint32_t leases;
	unsigned int failing;		/* the WRITE of a SUBMIT that fails, once, from 1 on */
	uint32_t first_flags;		/* of a COMMIT of the SUBMIT that failed */
	unsigned int empty;		/* answers to SCAN without a key */
	bool stays;			/* their cursor does not move */
	bool more_than_asked;		/* an answer claims to have so many keys */
	uint64_t version;		/* of the object of the last answer to a GET */
	bool rewritten;			/* each answer names another one */
	unsigned int spoilt;		/* READs that find no valid trailer */
};

static struct pmof_dev dev;

int pmof_open(const char *name, int flags, struct pmof_dev **out)
{
	(void)name;
	(void)flags;
	*out = &dev;
	return 0;
}

void pmof_close(struct pmof_dev *d)
{
	(void)d;
}

int pmof_fd(const struct pmof_dev *d)
{
	(void)d;
	return -1;
}

int pmof_instance(const struct pmof_dev *d)
{
	(void)d;
	return 0;
}

int pmof_get_info(struct pmof_dev *d, struct pmof_info *info, size_t size)
{
	(void)d;
	memset(info, 0, size);
	info->ns_size = 1 << 20;
	info->features = PMOF_FEAT_CALL;
	info->service = PMOF_SERVICE_STORE;
	info->max_call = 4096;
	info->session = 7;
	return 0;
}

static void *reply_of(struct pmof_op *op, size_t length)
{
	void *reply = (void *)(uintptr_t)op->compare;

	memset(reply, 0, length);
	op->old = length;
	return reply;
}

static void prepare(struct pmof_dev *d, struct pmof_op *op)
{
	struct pmof_kv_prepare_reply *r = reply_of(op, sizeof(*r));

	r->reply.version = htole64(1);
	r->offset = htole64(4096 * ++d->leases);
	r->lease = htole32(d->leases);
}

/* A cursor that moves; the end comes behind the empty answers. */
static void scan(struct pmof_dev *d, struct pmof_op *op)
{
	const struct pmof_kv_scan *m = (const void *)(uintptr_t)op->addr;
	struct pmof_kv_scan_reply *r = reply_of(op, sizeof(*r));

	r->hash = htole64(le64toh(m->hash) + !d->stays);
	r->count = htole32(d->more_than_asked ? le32toh(m->max) + 1 : 0);
	if (!d->empty--)
		r->flags = htole32(PMOF_KV_SCAN_F_END);
}

#define VALUE_LENGTH	5

static void get(struct pmof_dev *d, struct pmof_op *op)
{
	struct pmof_kv_get_reply *r = reply_of(op, sizeof(*r));

	d->version += d->rewritten || !d->version;
	r->reply.version = htole64(d->version);
	r->value_length = htole32(VALUE_LENGTH);
	r->offset = htole64(4096);
}

/* The object of the key "a". */
static void read_object(struct pmof_dev *d, struct pmof_op *op)
{
	struct pmof_kv_object_header *h = (void *)(uintptr_t)op->addr;
	uint64_t trailer = d->version | 1ULL << PMOF_TRAILER_PF_SHIFT |
			   (0x80 | d->version) << PMOF_TRAILER_VF_SHIFT;

	memset(h, 0, op->length);
	h->magic = htole32(PMOF_KV_OBJECT_MAGIC);
	h->key_length = htole16(1);
	h->generation = htole64(d->version);
	h->value_length = htole32(VALUE_LENGTH);
	memcpy(h->data, "avalue", 1 + VALUE_LENGTH);
	if (d->spoilt)
		d->spoilt--;
	else
		memcpy((char *)h + op->length - sizeof(trailer), &trailer, sizeof(trailer));
}

static void answer(struct pmof_dev *d, struct pmof_op *op)
{
	op->result = 0;
	if (op->opcode == PMOF_OP_GET)
		read_object(d, op);
	if (op->opcode != PMOF_OP_CALL)
		return;
	if (op->call == PMOF_KV_GET)
		get(d, op);
	else if (op->call == PMOF_KV_PREPARE_PUT)
		prepare(d, op);
	else if (op->call == PMOF_KV_SCAN)
		scan(d, op);
	else
		reply_of(op, sizeof(struct pmof_kv_reply));
}

static bool is_commit(const struct pmof_op *op)
{
	return op->opcode == PMOF_OP_CALL && op->call == PMOF_KV_COMMIT;
}

/* Of a SUBMIT what is behind the one that fails is cancelled. */
int pmof_submit(struct pmof_dev *d, struct pmof_op *ops, unsigned int nr)
{
	unsigned int i, writes = 0;
	bool failed = false;

	d->submits++;
	if (nr > MAX_OPS || d->submits > 5000)
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		writes += ops[i].opcode == PMOF_OP_PUT;
		if (failed) {
			ops[i].result = -ECANCELED;
			d->first_flags |= is_commit(&ops[i]) ? ops[i].flags : 0;
		} else if (ops[i].opcode == PMOF_OP_PUT && writes == d->failing) {
			ops[i].result = -EFAULT;
			failed = true;
		} else {
			answer(d, &ops[i]);
		}
	}
	if (failed)
		d->failing = 0;
	memcpy(d->last, ops, nr * sizeof(*ops));
	d->nr_last = nr;
	return 0;
}

static struct pmofkv *open_sa(void)
{
	struct pmofkv_options opt;
	struct pmofkv *kv = NULL;

	memset(&dev, 0, sizeof(dev));
	pmofkv_options_init(&opt);
	opt.protocol = PMOFKV_SA;
	if (pmofkv_open("pmof0", O_RDWR, &opt, &kv))
		abort();
	return kv;
}

/*
 * [K2] [K9] A COMMIT behind whose WRITE the SUBMIT was cancelled: the WRITE may have gone on
 * another queue than the one that the next SUBMIT takes.
 */
TEST(commit_again_is_ordered)
{
	struct pmofkv_item item[3];
	struct pmofkv *kv = open_sa();
	unsigned int i, commits = 0;

	for (i = 0; i < 3; i++)
		item[i] = (struct pmofkv_item){
			.key = &"abc"[i], .key_length = 1, .value = "value",
			.value_length = 5, .expected = PMOF_KV_EXPECT_ANY,
		};
	dev.failing = 2;
	EXPECT_EQ(-EFAULT, pmofkv_put_batch(kv, item, 3));
	EXPECT_EQ(0, item[0].result);
	EXPECT_EQ(-EFAULT, item[1].result);
	EXPECT_EQ(0, item[2].result);
	EXPECT_EQ(0, dev.first_flags);
	EXPECT_EQ(3, dev.submits);
	for (i = 0; i < dev.nr_last; i++) {
		if (!is_commit(&dev.last[i]))
			continue;
		EXPECT_TRUE(dev.last[i].flags & PMOF_F_ORDERED);
		commits++;
	}
	EXPECT_EQ(2, commits);
	pmofkv_close(kv);
}

/* Put by itself, and a lease that is new: nothing to wait for. */
TEST(commit_is_not_ordered)
{
	struct pmofkv *kv = open_sa();

	EXPECT_EQ(0, pmofkv_put(kv, "a", 1, "value", 5, NULL));
	ASSERT_EQ(2, dev.nr_last);
	EXPECT_TRUE(is_commit(&dev.last[1]));
	EXPECT_EQ(0, dev.last[1].flags & PMOF_F_ORDERED);
	pmofkv_close(kv);
}

static int get_spoilt(unsigned int spoilt, bool rewritten)
{
	struct pmofkv *kv = open_sa();
	size_t length;
	char value[8];
	int ret;

	dev.spoilt = spoilt;
	dev.rewritten = rewritten;
	ret = pmofkv_get(kv, "a", 1, value, sizeof(value), &length, NULL);
	if (!ret && (length != VALUE_LENGTH || memcmp(value, "value", length)))
		ret = 1;
	pmofkv_close(kv);
	return ret;
}

/* An object may be rewritten under each READ; one that is not, and is wrong twice, is damaged. */
TEST(spoilt_object)
{
	EXPECT_EQ(0, get_spoilt(0, false));
	EXPECT_EQ(2, dev.submits);
	EXPECT_EQ(0, get_spoilt(1, false));
	EXPECT_EQ(4, dev.submits);
	EXPECT_EQ(-ENODATA, get_spoilt(2, false));
	EXPECT_EQ(4, dev.submits);
	EXPECT_EQ(0, get_spoilt(5, true));
	EXPECT_EQ(12, dev.submits);
	EXPECT_EQ(0, get_spoilt(100, true));
	EXPECT_EQ(-EIO, get_spoilt(2000, true));
}

static int scan_all(unsigned int empty, bool stays)
{
	struct pmofkv *kv = open_sa();
	struct pmofkv_entry e;
	struct pmofkv_scan *s;
	int ret;

	dev.empty = empty;
	dev.stays = stays;
	ret = pmofkv_scan_open(kv, &s);
	if (ret)
		return ret;
	ret = pmofkv_scan_next(s, &e);
	pmofkv_scan_close(s);
	pmofkv_close(kv);
	return ret;
}

/* Keys that cannot be read: a server may go on behind them, and say nothing. */
TEST(scan_without_keys)
{
	EXPECT_EQ(0, scan_all(0, false));
	EXPECT_EQ(0, scan_all(5, false));
	EXPECT_EQ(6, dev.submits);
	EXPECT_EQ(-EPROTO, scan_all(5, true));
}

/* Part by part: each goes on where the last one has ended. */
TEST(scan_in_parts)
{
	struct pmofkv_cursor at = { .hash = 1000, .skip = 3 };
	struct pmofkv *kv = open_sa();
	struct pmofkv_entry e;
	struct pmofkv_scan *s;

	dev.empty = 5;
	ASSERT_EQ(0, pmofkv_scan_open_at(kv, &at, 2, &s));
	EXPECT_EQ(0, pmofkv_scan_next(s, &e));
	EXPECT_EQ(0, pmofkv_scan_rest(s, &at));
	EXPECT_EQ(1006, at.hash);
	pmofkv_scan_close(s);
	dev.more_than_asked = true;
	ASSERT_EQ(0, pmofkv_scan_open_at(kv, &at, 2, &s));
	EXPECT_EQ(-EPROTO, pmofkv_scan_next(s, &e));
	EXPECT_EQ(1, pmofkv_scan_rest(s, &at));
	pmofkv_scan_close(s);
	ASSERT_EQ(0, pmofkv_scan_open_at(kv, &at, 0, &s));
	EXPECT_EQ(0, pmofkv_scan_next(s, &e));
	EXPECT_EQ(1, pmofkv_scan_rest(s, &at));
	EXPECT_EQ(1006, at.hash);
	pmofkv_scan_close(s);
	pmofkv_close(kv);
}

TEST_HARNESS_MAIN
