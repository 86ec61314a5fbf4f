/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a store holds, read from a medium that may say anything.  Pure. */
#ifndef PMOF_STORE_RECOVER_H
#define PMOF_STORE_RECOVER_H

#include "format.h"

/* What is known of a record's change. */
enum pmof_kv_happened {
	PMOF_KV_NOT_HAPPENED,
	PMOF_KV_HAPPENED,
	/* Its object cannot be read, or a record may be gone that told of its end. */
	PMOF_KV_NOT_KNOWN,
};

struct pmof_kv_recover_ops {
	/* A live object.  An error ends the recovery. */
	int (*live)(void *context, u64 slot, const struct pmof_kv_object *o);
	/* A header of none: it has to be cleared, durably, before the log goes. */
	int (*leftover)(void *context, u64 slot);
	/*
	 * What stands there was believed, and nothing else makes it durable: that has to be
	 * done before anything is stored.  NULL: the medium is only looked at.
	 */
	void (*believed)(void *context, u64 offset, u64 length);
	/* May it be read: a trailer, or what of a slot header and key may take?  NULL: yes. */
	bool (*readable)(void *context, u64 offset, u64 length);
	/* A slot that cannot be, and so nobody knows what is in it. */
	int (*lost)(void *context, u64 slot);
	/* A record of the log, in order. */
	void (*record)(void *context, const struct pmof_kv_record *r,
		       enum pmof_kv_happened happened);
};

struct pmof_kv_recovered {
	u64 last_generation;	/* none that is larger has been told to anybody */
	u64 live;
	u64 leftover;
	u64 lost;
	u32 records;
	u32 vanished;		/* new objects of records that count: nowhere; 0 with a hole */
	bool hole;		/* others are gone: what they have superseded may be live again */
};

int pmof_kv_recover(const void *base, const struct pmof_kv_super *sb,
		    struct pmof_kv_ref *scratch, const struct pmof_kv_recover_ops *ops,
		    void *context, struct pmof_kv_recovered *out);

#endif /* PMOF_STORE_RECOVER_H */
