/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: events/pmof_server in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pmof_server

#if !defined(PMOF_SERVER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PMOF_SERVER_TRACE_H

#include <linux/tracepoint.h>

#include "wire.h"

DECLARE_EVENT_CLASS(pmof_srv_message,
		    TP_PROTO(int session, u16 queue, const struct pmof_wire_hdr *hdr),
		    TP_ARGS(session, queue, hdr),
		    TP_STRUCT__entry(__field(int, session)
				     __field(u16, queue)
				     __field(u16, tag)
				     __field(u8, opcode)
				     __field(u32, length)
				     __field(u32, status)
		    ),
		    TP_fast_assign(__entry->session = session;
				   __entry->queue = queue;
				   __entry->tag = le16_to_cpu(hdr->tag);
				   __entry->opcode = hdr->opcode;
				   __entry->length = le32_to_cpu(hdr->length);
				   __entry->status = le32_to_cpu(hdr->status);
		    ),
		    TP_printk("session=%d queue=%u tag=%u opcode=%#x length=%u status=%u",
			      __entry->session, __entry->queue, __entry->tag,
			      __entry->opcode, __entry->length, __entry->status)
);

DEFINE_EVENT(pmof_srv_message, pmof_srv_request,
	     TP_PROTO(int session, u16 queue, const struct pmof_wire_hdr *hdr),
	     TP_ARGS(session, queue, hdr));

DEFINE_EVENT(pmof_srv_message, pmof_srv_reply,
	     TP_PROTO(int session, u16 queue, const struct pmof_wire_hdr *hdr),
	     TP_ARGS(session, queue, hdr));

/* One fence of a flush worker, and what it covers; @commit: it is that of PFs. */
TRACE_EVENT(pmof_srv_flush,
	    TP_PROTO(unsigned int worker, bool commit, unsigned int requests,
		     unsigned int finished, u64 lines),
	    TP_ARGS(worker, commit, requests, finished, lines),
	    TP_STRUCT__entry(__field(unsigned int, worker)
			     __field(bool, commit)
			     __field(unsigned int, requests)
			     __field(unsigned int, finished)
			     __field(u64, lines)
	    ),
	    TP_fast_assign(__entry->worker = worker;
			   __entry->commit = commit;
			   __entry->requests = requests;
			   __entry->finished = finished;
			   __entry->lines = lines;
	    ),
	    TP_printk("worker=%u commit=%d requests=%u finished=%u lines=%llu",
		      __entry->worker, __entry->commit, __entry->requests,
		      __entry->finished, __entry->lines)
);

/* What a worker took at once. */
TRACE_EVENT(pmof_srv_batch,
	    TP_PROTO(unsigned int worker, unsigned int requests, unsigned int pending),
	    TP_ARGS(worker, requests, pending),
	    TP_STRUCT__entry(__field(unsigned int, worker)
			     __field(unsigned int, requests)
			     __field(unsigned int, pending)
	    ),
	    TP_fast_assign(__entry->worker = worker;
			   __entry->requests = requests;
			   __entry->pending = pending;
	    ),
	    TP_printk("worker=%u requests=%u pending=%u",
		      __entry->worker, __entry->requests, __entry->pending)
);

TRACE_EVENT(pmof_srv_flush_device,
	    TP_PROTO(const char *name, int rc),
	    TP_ARGS(name, rc),
	    TP_STRUCT__entry(__array(char, name, PMOF_WIRE_NAME_LEN)
			     __field(int, rc)
	    ),
	    TP_fast_assign(strscpy(__entry->name, name, PMOF_WIRE_NAME_LEN);
			   __entry->rc = rc;
	    ),
	    TP_printk("namespace=%s rc=%d", __entry->name, __entry->rc)
);

#endif /* PMOF_SERVER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
