// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that cannot be sent: no memory is to be had for them, or a queue of the network
 * stack's is full.
 */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/kprobes.h>
#include <linux/random.h>

#include "rxe_test.h"

static atomic_t packets;

/* Where soft-RoCE's function is sent that shall do nothing but return: it touches no register. */
static notrace noinline void return_at_once(void)
{
}

/* One of three packets. */
static int no_memory(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_inc_return(&packets) % 3)
		return 0;
	regs->ax = 0;
	regs->ip = (unsigned long)return_at_once;
	return 1;
}

static struct kprobe probe = { .symbol_name = "rxe_init_packet", .pre_handler = no_memory };

/* What is written is there, and what is read is it, each time. */
static int write_and_read(struct rt_pair *p, u32 i)
{
	u32 length = 1 + i * 37 % 9000;
	u8 *data = p->buf + SZ_64K;
	int err;

	get_random_bytes(data, length);
	err = rt_write(p, 64 * i, data, length) ?: rt_read(p, 64 * i, length, 0);
	if (!err && (memcmp(rt_pmem + 64 * i, data, length) || memcmp(p->buf, data, length)))
		err = -EILSEQ;
	return err;
}

static void write_and_read_all(struct rt_pair *p, u32 rounds, const char *one, const char *many)
{
	int err = 0;
	u32 i;

	for (i = 0; i < rounds && !err; i++)
		err = write_and_read(p, i);
	if (!rt_ok(!err, one))
		rt_note("round %u: %d", i, err);
	err = rt_write_many(p, 0);
	if (!rt_ok(!err, many))
		rt_note("%d", err);
}

/* Any packet of either end, now and then. */
void rt_test_short(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	int err = p ? register_kprobe(&probe) : -ENOMEM;

	if (rt_ok(!err, "packets can be made to find no memory")) {
		write_and_read_all(p, 100, "WRITEs and READs survive packets that find no memory",
				   "so do many WRITEs at once");
		rt_ok(atomic_read(&packets) > 400, "there were many packets");
		unregister_kprobe(&probe);
	}
	rt_pair_close(p);
}

/* The network is made so by who loads the module. */
void rt_test_full(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);

	if (rt_ok(p, "a connection over a network whose queue is short"))
		write_and_read_all(p, 20, "WRITEs and READs survive a queue that is full",
				   "so do many WRITEs at once");
	rt_pair_close(p);
}
