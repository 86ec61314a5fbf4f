/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The offline check of a store: what the server's recovery would find on the medium, and what it
 * could not put right.  It reads by the server's own code (kmod/store), which the pmof command
 * contains, and changes nothing.  Pure but for memory: tests/unit compiles it.
 */
#ifndef PMOF_TOOLS_KV_VERIFY_H
#define PMOF_TOOLS_KV_VERIFY_H

#include "pure.h"
#include "../kmod/store/recover.h"

/* What comes from damage alone, and never from a power cut. */
enum kv_fault_kind {
	KV_FAULT_KEY,		/* two live objects have one key: @offset, @other */
	KV_FAULT_GENERATION,	/* two live objects have one generation */
	KV_FAULT_SLOT,		/* a live object's slot is in use already, or no slot */
	KV_FAULT_TRAILER,	/* a live object's trailer has a VF that nobody writes */
	KV_FAULT_RECORD,	/* record @other of the log names @offset, which is no slot */
	KV_FAULT_GONE,		/* record @other of the log, which counts, names @offset: nothing is there */
	KV_FAULT_LOG,		/* record @other is gone, and some behind it are not: no cut does that */
	KV_FAULTS
};

struct kv_fault {
	enum kv_fault_kind kind;
	u64 offset;
	u64 other;
	u64 generation;
};

/* Slots of one class, and what is in them. */
struct kv_class_use {
	u64 chunks;
	u64 slots;
	u64 live;
	u64 bytes;		/* of the live objects, header to trailer */
};

struct kv_report {
	struct pmof_kv_super sb;
	unsigned int good;	/* bit n: copy n of the superblock is as it should be */
	struct pmof_kv_recovered found;
	u64 counted;		/* records whose change has happened */
	u64 behind;		/* valid records behind the end of the log */
	u64 hidden;		/* live objects without VF: recovery sets it */
	u64 key_bytes;		/* of the live objects */
	u64 value_bytes;
	u32 free_chunks;
	u32 part_chunks;	/* of these: words of a span whose first is not there */
	struct kv_class_use class[PMOF_KV_CLASSES + 1];
	u64 faults;
};

struct kv_verify_ops {
	void (*fault)(void *context, const struct kv_fault *fault);
	/* An object that recovery finds.  An error ends the check.  May be NULL. */
	int (*live)(void *context, u64 slot, const struct pmof_kv_object *o);
	/* A header that recovery would clear.  May be NULL. */
	void (*leftover)(void *context, u64 slot);
};

/*
 * Returns 0 with @r filled, whatever was found; -EINVAL or -EPROTONOSUPPORT if there is no
 * superblock that counts (as pmof_kv_choose_super()); -ENOMEM.
 */
int kv_verify(const void *base, u64 size, const struct kv_verify_ops *ops, void *context,
	      struct kv_report *r);

#endif /* PMOF_TOOLS_KV_VERIFY_H */
