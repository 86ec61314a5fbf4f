// SPDX-License-Identifier: GPL-2.0
#include "auto_table.h"
#include "method.h"
#include "../../uapi/pmof.h"

/* "METHOD:BYTES", or "METHOD" for no limit. */
static int parse_entry(char *word, u32 usable, struct pmof_auto_entry *entry)
{
	char *name = strsep(&word, ":");
	int method = pmof_method_parse(name);
	u64 limit = U64_MAX;

	if (method < 0 || !(usable & BIT(method)))
		return -EINVAL;
	/* kstrtoull() takes a sign and a newline, we do not. */
	if (word && (*word < '0' || *word > '9' || strchr(word, '\n') ||
		     kstrtoull(word, 10, &limit) || !limit || limit == U64_MAX))
		return -EINVAL;
	entry->method = method;
	entry->limit = limit;
	return 0;
}

/**
 * pmof_auto_parse - parse "rpc:512 read:16384 assist"
 * @text: NUL terminated, is cut up; one trailing newline is ignored
 * @usable: methods that may occur, bit n is enum pmof_method n
 * @table: filled; on error its contents are undefined
 *
 * The limits ascend, and the last entry, and only that, has none.
 *
 * Return: 0 or -EINVAL.
 */
int pmof_auto_parse(char *text, u32 usable, struct pmof_auto_table *table)
{
	size_t len = strlen(text);
	u64 below = 0;
	char *word;

	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	table->nr = 0;
	while ((word = strsep(&text, " "))) {
		struct pmof_auto_entry *entry = &table->entry[table->nr];

		/* Behind an entry without a limit nothing is larger than @below. */
		if (table->nr == PMOF_AUTO_MAX || parse_entry(word, usable, entry) ||
		    entry->limit <= below)
			return -EINVAL;
		below = entry->limit;
		table->nr++;
	}
	return below == U64_MAX ? 0 : -EINVAL;
}

/*
 * Until somebody has measured: what needs no CPU at the server, where that is
 * offered; else small puts in a message, which saves a work request.
 */
void pmof_auto_default(u32 usable, struct pmof_auto_table *table)
{
	unsigned int rest = PMOF_METHOD_ASSIST;

	if (usable & BIT(PMOF_METHOD_READ))
		rest = PMOF_METHOD_READ;
	else if (usable & BIT(PMOF_METHOD_FLUSH))
		rest = PMOF_METHOD_FLUSH;
	table->nr = 0;
	if (rest == PMOF_METHOD_ASSIST && usable & BIT(PMOF_METHOD_RPC))
		table->entry[table->nr++] = (struct pmof_auto_entry) {
			PMOF_METHOD_RPC, PMOF_AUTO_RPC_DEFAULT
		};
	table->entry[table->nr++] = (struct pmof_auto_entry) { rest, U64_MAX };
}

unsigned int pmof_auto_lookup(const struct pmof_auto_table *table, u64 bytes)
{
	unsigned int i = 0;

	/* The last has no limit. */
	while (i < table->nr - 1 && bytes > table->entry[i].limit)
		i++;
	return table->entry[i].method;
}
