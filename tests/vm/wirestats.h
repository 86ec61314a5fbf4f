/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of our own session, by the wire. */
#ifndef PMOF_WIRESTATS_H
#define PMOF_WIRESTATS_H

#include "wireclient.h"

static inline int wc_stats(struct wc_session *s, u64 value[PMOF_SRV_STAT_MAX])
{
	struct pmof_wire_hdr hdr;
	const void *msg;
	ssize_t n;

	pmof_put_hdr(&hdr, PMOF_MSG_GET_STATS, 9, sizeof(hdr), 0);
	if (wc_send(&s->admin, &hdr, sizeof(hdr)))
		return -EIO;
	n = wc_recv(&s->admin, &msg, 10000);
	return n > 0 ? pmof_get_stats_reply(msg, n, value) : -EIO;
}

#endif /* PMOF_WIRESTATS_H */
