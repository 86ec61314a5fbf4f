/* SPDX-License-Identifier: GPL-2.0 */
/* What a session is given, by the rules alone: pure (tests/unit). */
#ifndef PMOF_SERVER_GRANT_H
#define PMOF_SERVER_GRANT_H

#include "pure.h"

#define PMOF_RIGHT_READ		BIT(0)
#define PMOF_RIGHT_WRITE	BIT(1)

/**
 * struct pmof_grant - what the rights of a client to a namespace follow from
 * @read_only: nobody may write the namespace
 * @has_list: it is those in its list who may come
 * @allow_any: without a list: anybody
 * @listed: the client is in the list
 * @may_write: so the list says of it
 * @proved: it has shown that it has the key of that client
 */
struct pmof_grant {
	bool read_only;
	bool has_list;
	bool allow_any;
	bool listed;
	bool may_write;
	bool proved;
};

unsigned int pmof_grant_rights(const struct pmof_grant *g);
u64 pmof_grant_charged(u64 had, u64 used);
u64 pmof_grant_most(u64 limit, u64 all_used, u64 charged);

#endif /* PMOF_SERVER_GRANT_H */
