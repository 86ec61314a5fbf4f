/* SPDX-License-Identifier: GPL-2.0 */
/* What the librpma client and server of this benchmark have agreed on. */
#ifndef PMOF_BENCH_RPMA_H
#define PMOF_BENCH_RPMA_H

#include <librpma.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RPMA_PORT	"7204"
#define RPMA_PMEM	(64UL << 20)	/* bytes of the server's memory */

/* The server's private data at connect: descriptors of its memory and of the peer. */
struct rpma_hello {
	uint8_t mr_len;
	uint8_t cfg_len;
	uint8_t bytes[48];
};

/* Server-assisted: a range to be made durable. The answer has the same form. */
struct rpma_range {
	uint64_t offset;
	uint64_t length;
};

/* The next completion; sleeps until there is one. Returns 0 or -EIO. */
static inline int rpma_next(struct rpma_cq *cq, struct ibv_wc *wc)
{
	int rc;

	while ((rc = rpma_cq_get_wc(cq, 1, wc, NULL)) == RPMA_E_NO_COMPLETION) {
		rc = rpma_cq_wait(cq);
		if (rc && rc != RPMA_E_NO_COMPLETION)
			return -EIO;
	}
	return rc || wc->status != IBV_WC_SUCCESS ? -EIO : 0;
}

#endif /* PMOF_BENCH_RPMA_H */
