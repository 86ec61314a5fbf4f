/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pmof

#if !defined(PMOF_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PMOF_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(pmof_start,
	TP_PROTO(int instance, u16 queue, u16 opcode, u64 offset, u64 length),
	TP_ARGS(instance, queue, opcode, offset, length),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(u16, opcode)
		__field(u64, offset)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->opcode = opcode;
		__entry->offset = offset;
		__entry->length = length;
	),
	TP_printk("pmof%d queue=%u opcode=%u offset=%llu length=%llu",
		  __entry->instance, __entry->queue, __entry->opcode, __entry->offset,
		  __entry->length)
);

TRACE_EVENT(pmof_post,
	TP_PROTO(int instance, u16 queue, u16 tag, int wr_opcode),
	TP_ARGS(instance, queue, tag, wr_opcode),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(u16, tag)
		__field(int, wr_opcode)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->wr_opcode = wr_opcode;
	),
	TP_printk("pmof%d queue=%u tag=%u wr_opcode=%d",
		  __entry->instance, __entry->queue, __entry->tag, __entry->wr_opcode)
);

TRACE_EVENT(pmof_complete,
	TP_PROTO(int instance, u16 queue, u16 tag, int status),
	TP_ARGS(instance, queue, tag, status),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(u16, tag)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->status = status;
	),
	TP_printk("pmof%d queue=%u tag=%u status=%d",
		  __entry->instance, __entry->queue, __entry->tag, __entry->status)
);

#endif /* PMOF_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
