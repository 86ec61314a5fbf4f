// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that writes what a volatile CPU cache over the nvdimm would see: stores,
 * write-backs, fences, and marks that the guest sets.
 *
 *   -plugin trace.so,trace=FILE,base=ADDRESS,size=BYTES
 *
 * base=0: marks only, nothing else is instrumented.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace.h"
#include "guest.h"
#include "insn.h"
#include "qemu_api.h"
#include "stream.h"

#define PAGE		4096U
#define KERNEL_TEXT	0xffffffff80000000ULL	/* and modules, fixmap: never the nvdimm */

int qemu_plugin_version = QEMU_API_VERSION;

/* A write-back in translated code. Never freed: QEMU keeps no count of its translations. */
struct write_back {
	struct insn_operand operand;
	uint64_t vaddr;		/* of the instruction */
};

static uint64_t pmem_base, pmem_size;
/*
 * Per virtual CPU: write-backs or non-temporal stores since its last fence? A locked operation
 * without any is of no interest, and there are very many of them.
 */
static struct qemu_u64 pending;
static bool kernel_seen;	/* the firmware's work is over */
static bool stored;		/* something is in the nvdimm's cache, or was */
static unsigned int problems;

/* Before the first store to the nvdimm nothing can go wrong. */
static void problem(const char *what, uint64_t addr)
{
	if (!__atomic_load_n(&stored, __ATOMIC_RELAXED))
		return;
	if (__atomic_fetch_add(&problems, 1, __ATOMIC_RELAXED) < 10)
		fprintf(stderr, "pmof-trace: problem: %s (%#" PRIx64 ")\n", what, addr);
}

/* One store in one page, as far as it is in the nvdimm. */
static void add_store(unsigned int cpu, uint8_t type, uint64_t paddr, const uint8_t *data,
		      unsigned int len)
{
	if (paddr - pmem_base >= pmem_size)
		return;
	if (type == TRACE_NT_STORE)
		qemu_plugin_u64_set(pending, cpu, 1);
	__atomic_store_n(&stored, true, __ATOMIC_RELAXED);
	stream_add(type, cpu, paddr - pmem_base, data, len);
}

/*
 * User addresses are asked of QEMU. Kernel addresses are not: behind one of devices' memory it
 * can fail an assertion, if the map of memory has just changed.
 */
static bool locate(uint32_t info, uint64_t vaddr, uint64_t *paddr)
{
	const struct qemu_plugin_hwaddr *hwaddr;

	if (vaddr >= KERNEL_TEXT)
		return false;
	if (vaddr >> 63) {
		if (guest_translate_kernel(vaddr, paddr))
			return true;
		problem("no translation of a store", vaddr);
		return false;
	}
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr) {
		problem("QEMU does not know where a store went", vaddr);
		return false;
	}
	if (qemu_plugin_hwaddr_is_io(hwaddr))
		return false;
	*paddr = qemu_plugin_hwaddr_phys_addr(hwaddr);
	return true;
}

/* The two pages of a store can be anywhere. */
static void two_pages(unsigned int cpu, uint8_t type, uint64_t vaddr, uint64_t paddr,
		      const uint8_t *data, unsigned int len)
{
	unsigned int first = PAGE - vaddr % PAGE;
	uint64_t second;

	add_store(cpu, type, paddr, data, first);
	if (guest_translate(vaddr + first, &second))
		add_store(cpu, type, second, data + first, len - first);
	else
		problem("no translation of a store's second page", vaddr);
}

static void store(unsigned int cpu, uint32_t info, uint64_t vaddr, uint8_t type, bool reread)
{
	unsigned int len = 1U << qemu_plugin_mem_size_shift(info);
	bool cross = vaddr % PAGE + len > PAGE;
	struct qemu_mem_value value;
	uint64_t paddr;

	if (!locate(info, vaddr, &paddr) || (paddr - pmem_base >= pmem_size && !cross))
		return;
	if (len > sizeof(value.data)) {
		problem("a store of more than 16 bytes", vaddr);
		return;
	}
	value = qemu_plugin_mem_get_value(info);
	if (reread && !guest_read(vaddr, &value.data, len))
		problem("cannot read back a cmpxchg", vaddr);
	if (cross)
		two_pages(cpu, type, vaddr, paddr, value.data.bytes, len);
	else
		add_store(cpu, type, paddr, value.data.bytes, len);
}

static void on_store(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)data;
	store(cpu, info, vaddr, TRACE_STORE, false);
}

static void on_nt_store(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)data;
	store(cpu, info, vaddr, TRACE_NT_STORE, false);
}

/* QEMU reports the new value also where the comparison failed and the old one stayed. */
static void on_cmpxchg(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)data;
	store(cpu, info, vaddr, TRACE_STORE, true);
}

static void on_write_back(unsigned int cpu, void *data)
{
	const struct write_back *wb = data;
	uint64_t vaddr = guest_operand(&wb->operand, wb->vaddr), paddr;

	if (!guest_translate(vaddr, &paddr)) {
		problem("no translation of a write-back's operand", vaddr);
		return;
	}
	if (paddr - pmem_base >= pmem_size)
		return;
	qemu_plugin_u64_set(pending, cpu, 1);
	stream_add(TRACE_WRITE_BACK, cpu, (paddr - pmem_base) & ~(TRACE_LINE - 1ULL), NULL, 0);
}

static void on_fence(unsigned int cpu, void *data)
{
	(void)data;
	qemu_plugin_u64_set(pending, cpu, 0);
	stream_add(TRACE_SFENCE, cpu, 0, NULL, 0);
}

static void on_locked(unsigned int cpu, void *data)
{
	(void)data;
	qemu_plugin_u64_set(pending, cpu, 0);
	stream_add(TRACE_LOCKED, cpu, 0, NULL, 0);
}

static void on_tlb_flush(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	guest_flush_tlb();
}

static void on_whole_cache(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	problem("wbinvd or invd is not modelled", 0);
}

static void on_mark(unsigned int cpu, void *data)
{
	stream_mark(cpu, (uintptr_t)data, guest_rax());
}

static void instrument_write_back(struct qemu_plugin_insn *insn, const struct insn *decoded)
{
	struct write_back *wb = malloc(sizeof(*wb));

	if (!wb) {
		problem("out of memory", 0);
		return;
	}
	wb->operand = decoded->operand;
	wb->vaddr = qemu_plugin_insn_vaddr(insn);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_write_back, QEMU_CB_R_REGS, wb);
}

static void instrument_locked(struct qemu_plugin_insn *insn)
{
	qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, on_locked, QEMU_CB_NO_REGS,
						    QEMU_COND_NE, pending, 0, NULL);
}

/* Callbacks of execution run before the instruction, those of memory behind the store. */
static void instrument(struct qemu_plugin_insn *insn, const struct insn *decoded)
{
	qemu_mem_cb on_mem = on_store;

	switch (decoded->kind) {
	case INSN_OTHER:
		break;
	case INSN_NT_STORE:
		on_mem = on_nt_store;
		break;
	case INSN_LOCKED_CMPXCHG:
		on_mem = on_cmpxchg;
		instrument_locked(insn);
		break;
	case INSN_TLB_FLUSH:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tlb_flush, QEMU_CB_NO_REGS, NULL);
		instrument_locked(insn);
		return;
	case INSN_LOCKED:
		instrument_locked(insn);
		break;
	case INSN_WRITE_BACK:
		instrument_write_back(insn, decoded);
		return;
	case INSN_FENCE:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_fence, QEMU_CB_NO_REGS, NULL);
		return;
	case INSN_WHOLE_CACHE:
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_whole_cache, QEMU_CB_NO_REGS,
						       NULL);
		return;
	case INSN_STACK:
	case INSN_MARK:
		return;
	}
	qemu_plugin_register_vcpu_mem_cb(insn, on_mem, QEMU_CB_R_REGS, QEMU_MEM_W, NULL);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb), len;
	struct qemu_plugin_insn *insn;
	uint8_t code[INSN_MAX];
	struct insn decoded;

	(void)id;
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		len = qemu_plugin_insn_data(insn, code, sizeof(code));
		insn_decode(&decoded, code, len);
		if (decoded.kind == INSN_MARK)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_CB_R_REGS,
							       (void *)(uintptr_t)decoded.mark);
		if (qemu_plugin_insn_vaddr(insn) >> 63)
			kernel_seen = true;
		if (pmem_base && kernel_seen)
			instrument(insn, &decoded);
	}
}

static void on_vcpu(uint64_t id, unsigned int cpu)
{
	(void)id;
	if (guest_init())
		return;
	fprintf(stderr, "pmof-trace: virtual CPU %u lacks registers that x86-64 has\n", cpu);
	exit(1);
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
	(void)id;
	(void)data;
	stream_close();
	if (problems)
		fprintf(stderr, "pmof-trace: %u problems: the trace is not complete\n", problems);
}

static bool number(const char *text, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 0);
	return *text && !*end;
}

static bool parse(const char *arg, const char **path)
{
	if (!strncmp(arg, "trace=", 6)) {
		*path = arg + 6;
		return true;
	}
	if (!strncmp(arg, "base=", 5))
		return number(arg + 5, &pmem_base) && !(pmem_base % PAGE);
	if (!strncmp(arg, "size=", 5))
		return number(arg + 5, &pmem_size) && !(pmem_size % PAGE);
	return false;
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *path = NULL;
	int i, err;

	for (i = 0; i < argc; i++) {
		if (!parse(argv[i], &path)) {
			fprintf(stderr, "pmof-trace: bad argument '%s'\n", argv[i]);
			return -1;
		}
	}
	if (!path || !pmem_base != !pmem_size || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "pmof-trace: wants x86_64, trace=, base= and size=\n");
		return -1;
	}
	err = stream_open(path, pmem_base, pmem_size);
	if (err) {
		fprintf(stderr, "pmof-trace: %s: %s\n", path, strerror(err));
		return -1;
	}
	pending.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
