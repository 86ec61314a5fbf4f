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

/* from, to: enum pmof_state */
TRACE_EVENT(pmof_state,
	TP_PROTO(int instance, unsigned int from, unsigned int to),
	TP_ARGS(instance, from, to),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(unsigned int, from)
		__field(unsigned int, to)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("pmof%d from=%s to=%s", __entry->instance,
		  __print_symbolic(__entry->from, { 0, "connecting" }, { 1, "live" },
				   { 2, "recovering" }, { 3, "dead" }),
		  __print_symbolic(__entry->to, { 0, "connecting" }, { 1, "live" },
				   { 2, "recovering" }, { 3, "dead" }))
);

/* An operation is begun again, on another connection. */
TRACE_EVENT(pmof_replay,
	TP_PROTO(int instance, u16 opcode, u64 offset, u64 length),
	TP_ARGS(instance, opcode, offset, length),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, opcode)
		__field(u64, offset)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->opcode = opcode;
		__entry->offset = offset;
		__entry->length = length;
	),
	TP_printk("pmof%d opcode=%u offset=%llu length=%llu", __entry->instance, __entry->opcode,
		  __entry->offset, __entry->length)
);

/* A durable put or atomic and the method that it goes by. */
TRACE_EVENT(pmof_method,
	TP_PROTO(int instance, u16 queue, u64 offset, u64 length, unsigned int method),
	TP_ARGS(instance, queue, offset, length, method),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(u64, offset)
		__field(u64, length)
		__field(unsigned int, method)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->offset = offset;
		__entry->length = length;
		__entry->method = method;
	),
	TP_printk("pmof%d queue=%u offset=%llu length=%llu method=%u",
		  __entry->instance, __entry->queue, __entry->offset, __entry->length,
		  __entry->method)
);

/* A request of the block device; op: enum req_op, sector: of 512 bytes */
TRACE_EVENT(pmof_block,
	TP_PROTO(int instance, u16 queue, int tag, unsigned int op, u64 sector, unsigned int bytes),
	TP_ARGS(instance, queue, tag, op, sector, bytes),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(int, tag)
		__field(unsigned int, op)
		__field(u64, sector)
		__field(unsigned int, bytes)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->op = op;
		__entry->sector = sector;
		__entry->bytes = bytes;
	),
	TP_printk("pmof%d queue=%u tag=%d op=%u sector=%llu bytes=%u",
		  __entry->instance, __entry->queue, __entry->tag, __entry->op,
		  __entry->sector, __entry->bytes)
);

DECLARE_EVENT_CLASS(pmof_slot,
	TP_PROTO(int instance, u16 queue, u16 tag, int value),
	TP_ARGS(instance, queue, tag, value),
	TP_STRUCT__entry(
		__field(int, instance)
		__field(u16, queue)
		__field(u16, tag)
		__field(int, value)
	),
	TP_fast_assign(
		__entry->instance = instance;
		__entry->queue = queue;
		__entry->tag = tag;
		__entry->value = value;
	),
	TP_printk("pmof%d queue=%u tag=%u value=%d",
		  __entry->instance, __entry->queue, __entry->tag, __entry->value)
);

/* value: enum ib_wr_opcode */
DEFINE_EVENT(pmof_slot, pmof_post,
	TP_PROTO(int instance, u16 queue, u16 tag, int value),
	TP_ARGS(instance, queue, tag, value)
);

/* value: status of the reply, enum pmof_wire_status */
DEFINE_EVENT(pmof_slot, pmof_reply,
	TP_PROTO(int instance, u16 queue, u16 tag, int value),
	TP_ARGS(instance, queue, tag, value)
);

/* value: 0 or a negative errno */
DEFINE_EVENT(pmof_slot, pmof_complete,
	TP_PROTO(int instance, u16 queue, u16 tag, int value),
	TP_ARGS(instance, queue, tag, value)
);

#endif /* PMOF_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
