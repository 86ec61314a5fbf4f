// SPDX-License-Identifier: GPL-2.0
/* 6.10: dirty folios come from an iterator, not through a callback. */
#include <linux/writeback.h>

struct folio *pmof_probe(struct address_space *mapping, struct writeback_control *wbc);
struct folio *pmof_probe(struct address_space *mapping, struct writeback_control *wbc)
{
	int error = 0;

	return writeback_iter(mapping, wbc, NULL, &error);
}
