// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "guest.h"
#include "qemu_api.h"

enum guest_reg {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	REG_FS_BASE, REG_GS_BASE, REG_CR3, REG_CR4, REG_COUNT,
};

/* In the order of the numbers in instructions. */
static const char *const reg_names[REG_COUNT] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"fs_base", "gs_base", "cr3", "cr4",
};

/*
 * Where a kernel with nokaslr has all physical memory at a fixed virtual address: with
 * page tables of four levels and of five.
 */
#define DIRECT_MAP_4	0xffff888000000000ULL
#define DIRECT_MAP_5	0xff11000000000000ULL
#define DIRECT_SIZE_4	(64ULL << 40)
#define DIRECT_SIZE_5	(32ULL << 50)

#define CR4_LA57	(1ULL << 12)
#define PTE_PRESENT	1ULL
#define PTE_LARGE	0x80ULL
#define PTE_ADDR	0x000ffffffffff000ULL

static struct qemu_plugin_register *regs[REG_COUNT];	/* the same for all virtual CPUs */
static __thread struct g_bytes *bytes;

/* Found when the first kernel address is translated. */
static uint64_t direct_map, direct_size;
static unsigned int levels;

/*
 * Translations of kernel addresses outside the direct map (vmalloc, vmemmap). They go when
 * the guest flushes its own, on the same CPU: a virtual CPU is a thread.
 */
#define TLB_ENTRIES	512
#define PAGE_SHIFT	12

static __thread struct {
	uint64_t vpage;		/* 0: free */
	uint64_t ppage;
} tlb[TLB_ENTRIES];

static struct g_bytes *scratch(void)
{
	if (!bytes)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	return bytes;
}

bool guest_init(void)
{
	struct g_bytes *list = qemu_plugin_get_registers();
	const struct qemu_reg *all = (const void *)list->data;
	unsigned int i, r, found = 0;

	for (r = 0; r < REG_COUNT; r++) {
		for (i = 0; i < list->len; i++) {
			if (strcmp(all[i].name, reg_names[r]))
				continue;
			regs[r] = all[i].handle;
			found++;
			break;
		}
	}
	g_array_free(list, 1);
	return found == REG_COUNT;
}

static uint64_t read_reg(enum guest_reg reg)
{
	struct g_bytes *buf = scratch();
	uint64_t value = 0;
	int len = qemu_plugin_read_register(regs[reg], buf);

	if (len > 0)
		memcpy(&value, buf->data, len < 8 ? len : 8);
	return value;
}

uint64_t guest_rax(void)
{
	return read_reg(REG_RAX);
}

uint64_t guest_operand(const struct insn_operand *op, uint64_t insn_addr)
{
	uint64_t addr = (int64_t)op->disp;

	if (op->rip)
		addr += insn_addr + op->length;
	if (op->base != INSN_NO_REG)
		addr += read_reg(op->base);
	if (op->index != INSN_NO_REG)
		addr += read_reg(op->index) << op->scale;
	if (op->addr32)
		addr = (uint32_t)addr;
	if (op->segment)
		addr += read_reg(op->segment == 0x64 ? REG_FS_BASE : REG_GS_BASE);
	return addr;
}

bool guest_read(uint64_t vaddr, void *data, size_t len)
{
	struct g_bytes *buf = scratch();

	g_byte_array_set_size(buf, len);
	if (!qemu_plugin_read_memory_vaddr(vaddr, buf, len))
		return false;
	memcpy(data, buf->data, len);
	return true;
}

static void find_direct_map(void)
{
	bool la57 = read_reg(REG_CR4) & CR4_LA57;

	levels = la57 ? 5 : 4;
	direct_size = la57 ? DIRECT_SIZE_5 : DIRECT_SIZE_4;
	__atomic_store_n(&direct_map, la57 ? DIRECT_MAP_5 : DIRECT_MAP_4, __ATOMIC_RELEASE);
}

/* Page tables are in memory that the kernel's direct map reaches. */
static bool walk(uint64_t vaddr, uint64_t *paddr)
{
	uint64_t table = read_reg(REG_CR3) & PTE_ADDR, pte, mask;
	unsigned int level, shift;

	for (level = levels; level > 0; level--) {
		shift = PAGE_SHIFT + 9 * (level - 1);
		if (!guest_read(direct_map + table + 8 * ((vaddr >> shift) & 511), &pte, 8) ||
		    !(pte & PTE_PRESENT))
			return false;
		table = pte & PTE_ADDR;
		if (level == 1 || ((level == 2 || level == 3) && pte & PTE_LARGE)) {
			mask = (1ULL << shift) - 1;
			*paddr = (table & ~mask) | (vaddr & mask);
			return true;
		}
	}
	return false;
}

bool guest_translate(uint64_t vaddr, uint64_t *paddr)
{
	if (!__atomic_load_n(&direct_map, __ATOMIC_ACQUIRE))
		find_direct_map();
	if (vaddr - direct_map < direct_size) {
		*paddr = vaddr - direct_map;
		return true;
	}
	return walk(vaddr, paddr);
}

bool guest_translate_kernel(uint64_t vaddr, uint64_t *paddr)
{
	uint64_t vpage = vaddr >> PAGE_SHIFT;
	unsigned int slot = vpage % TLB_ENTRIES;

	if (vaddr - direct_map < direct_size) {
		*paddr = vaddr - direct_map;
		return true;
	}
	if (tlb[slot].vpage != vpage) {
		if (!guest_translate(vaddr, paddr))
			return false;
		tlb[slot].vpage = vpage;
		tlb[slot].ppage = *paddr >> PAGE_SHIFT;
	}
	*paddr = tlb[slot].ppage << PAGE_SHIFT | (vaddr & ((1 << PAGE_SHIFT) - 1));
	return true;
}

void guest_flush_tlb(void)
{
	memset(tlb, 0, sizeof(tlb));
}
