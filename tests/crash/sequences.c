// SPDX-License-Identifier: GPL-2.0
/*
 * Runs in the guest of the plugin's selftest: known sequences on the nvdimm.
 *
 *   sequences user PASS DEVICE   on a device-DAX device, by this program's own instructions
 *   sequences kernel DEVICE      a write of 4096 bytes to a block device, O_DIRECT, fsync
 *   sequences marks              in a client
 *   sequences bypass DEVICE FILE read FILE, on 9p, into the device: QEMU writes, not a CPU
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sequences.h"

/* Where instructions with 32-bit and RIP-relative operands reach it. */
#define PMEM		0x40000000UL
#define PMEM_SIZE	(4UL << 20)

#define ONES		0x1111111111111111ULL
#define TWOS		0x2222222222222222ULL

#define MARK(id, value)									\
	asm volatile(".byte 0x0f, 0x1f, 0x80; .word %c0; .byte 0x4d, 0x50"		\
		     : : "i" (id), "a" ((uint64_t)(value)) : "memory")

/* Instructions whose first operand is the area. */
#define RUN(text, ...)	asm volatile(text : : "r" (p), ##__VA_ARGS__ : "memory", "cc")
#define STORE(offset)	RUN("movq %1, " #offset "(%0)", "r" (ONES))

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* --- a second CPU that fences when told to ----------------------------------- */

static atomic_int fence_wanted, fence_done;

static void *fencer(void *unused)
{
	int seen = 0;

	pin(1);
	fence_done = -1;
	for (;;) {
		while (fence_wanted == seen)
			;
		seen = fence_wanted;
		if (seen < 0)
			return unused;
		asm volatile("sfence" : : : "memory");
		atomic_store_explicit(&fence_done, seen, memory_order_release);
	}
}

static void fence_elsewhere(void)
{
	int want = fence_wanted + 1;

	/* Plain stores: a locked operation would fence this CPU. */
	atomic_store_explicit(&fence_wanted, want, memory_order_release);
	while (atomic_load_explicit(&fence_done, memory_order_acquire) != want)
		;
}

/* --- the sequences -------------------------------------------------------------- */

static uint8_t *code;		/* a page for an instruction made at run time */

/* clwb disp(%rip); ret */
static void make_rip_relative(const uint8_t *target)
{
	static const uint8_t clwb[4] = { 0x66, 0x0f, 0xae, 0x35 };
	int32_t disp = target - (code + 8);

	memcpy(code, clwb, 4);
	memcpy(code + 4, &disp, 4);
	code[8] = 0xc3;
}

static void prepare(enum sequence seq, uint8_t *p)
{
	if (seq != SEQ_operands)
		return;
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, p))
		die("arch_prctl");
	make_rip_relative(p + 0x240);
}

static void operands(uint8_t *p)
{
	register uint8_t *r12 asm("r12") = p;
	register uint8_t *r13 asm("r13") = p;

	RUN("clwb (%0, %1, 8)", "r" (8UL));
	RUN("clwb 0x140(%0, %1, 8)", "r" (8UL));
	asm volatile("clwb 0xc7(%0)" : : "r" (r12) : "memory");
	asm volatile("clwb 0x100(%0)" : : "r" (r13) : "memory");
	asm volatile("clwb 0x140(%%eax)" : : "a" (p) : "memory");
	asm volatile("clwb %%gs:0x200" : : : "memory");
	asm volatile("call *%0" : : "r" (code) : "memory");
}

static void rep_movsb(uint8_t *p)
{
	const char *from = "abc";
	uint64_t count = 3;

	asm volatile("rep movsb" : "+D" (p), "+S" (from), "+c" (count) : : "memory");
	RUN("clwb -1(%0)");
}

static void rep_stosq(uint8_t *p)
{
	uint64_t count = 2;

	asm volatile("rep stosq" : "+D" (p), "+c" (count) : "a" (ONES) : "memory");
}

/* The area's first word is ONES then. */
static void cmpxchg(uint8_t *p, uint64_t expected)
{
	STORE(0);
	asm volatile("lock cmpxchgq %1, (%2)"
		     : "+a" (expected) : "r" (TWOS), "r" (p) : "memory", "cc");
}

static void cpuid(uint8_t *p)
{
	uint32_t a = 0, b, c = 0, d;

	RUN("movnti %1, (%0)", "r" (ONES));
	asm volatile("cpuid" : "+a" (a), "=b" (b), "+c" (c), "=d" (d) : : "memory");
}

static void run_stores(enum sequence seq, uint8_t *p)
{
	uint64_t twos[2] = { TWOS, TWOS }, word = 0;

	switch (seq) {
	case SEQ_store:
		STORE(0);
		break;
	case SEQ_movnti:
		RUN("movnti %1, (%0); movnti %k1, 8(%0)", "r" (ONES));
		break;
	case SEQ_movnti_sfence:
		RUN("movnti %1, (%0); sfence", "r" (ONES));
		break;
	case SEQ_movntdq:
		RUN("movdqu %1, %%xmm0; movntdq %%xmm0, (%0); sfence", "m" (twos));
		break;
	case SEQ_vmovntdq:
		RUN("vbroadcastsd %1, %%ymm0; vmovntdq %%ymm0, 0x20(%0); vzeroupper; sfence",
		    "m" (twos));
		break;
	case SEQ_two_lines:
		STORE(0x3c);
		break;
	case SEQ_two_pages:
		RUN("movq %1, 0xffc(%0); clwb 0xffc(%0); clwb 0x1003(%0)", "r" (ONES));
		break;
	case SEQ_movdqu:
		RUN("movdqu %1, %%xmm0; movdqu %%xmm0, 8(%0)", "m" (twos));
		break;
	case SEQ_rep_movsb:
		rep_movsb(p);
		break;
	case SEQ_rep_stosq:
		rep_stosq(p);
		break;
	case SEQ_cmpxchg_fails:
		cmpxchg(p, 5);
		break;
	case SEQ_cmpxchg_succeeds:
		cmpxchg(p, ONES);
		break;
	case SEQ_not_pmem:
		RUN("movq %1, (%2); clwb (%2)", "r" (ONES), "r" (&word));
		break;
	default:
		break;
	}
}

static void run_write_backs(enum sequence seq, uint8_t *p)
{
	uint64_t word = 0;

	switch (seq) {
	case SEQ_store_clwb:
		RUN("movq %1, (%0); clwb (%0)", "r" (ONES));
		break;
	case SEQ_store_clwb_sfence:
		RUN("movq %1, 8(%0); clwb 8(%0); sfence", "r" (ONES));
		break;
	case SEQ_store_clwb_mfence:
		RUN("movl %k1, 8(%0); clwb 8(%0); mfence", "r" (ONES));
		break;
	case SEQ_store_clflushopt:
		RUN("movw %w1, 0x40(%0); clflushopt 0x40(%0)", "r" (ONES));
		break;
	case SEQ_store_clflush:
		RUN("movb %b1, 0x7f(%0); clflush 0x7f(%0)", "q" (ONES));
		break;
	case SEQ_fence_elsewhere:
		RUN("movq %1, (%0); clwb (%0)", "r" (ONES));
		fence_elsewhere();
		break;
	case SEQ_locked_elsewhere:
		RUN("movq %1, (%0); clwb (%0); lock addq %1, (%2)", "r" (ONES), "r" (&word));
		break;
	case SEQ_locked_no_write_back:
		RUN("movq %1, (%0); lock addq %1, (%2)", "r" (ONES), "r" (&word));
		break;
	case SEQ_locked_in_pmem:
		RUN("movq %1, (%0); clwb (%0); lock addq %1, 0x40(%0)", "r" (ONES));
		break;
	case SEQ_xchg:
		RUN("movnti %1, (%0); mov %1, %%rax; xchg %%rax, 0x40(%0)", "r" (ONES), "a" (0));
		break;
	case SEQ_cpuid:
		cpuid(p);
		break;
	case SEQ_store_behind_clwb:
		RUN("movq %1, (%0); clwb (%0); movq %2, (%0); sfence", "r" (ONES), "r" (TWOS));
		break;
	case SEQ_operands:
		operands(p);
		break;
	default:
		break;
	}
}

static void *map_device(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p;

	if (fd < 0)
		die(path);
	p = mmap((void *)PMEM, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		 0);
	if (p == MAP_FAILED)
		die("mmap");
	close(fd);
	return p;
}

static void user(unsigned int pass, const char *device)
{
	uint8_t *pmem = map_device(device, PMEM_SIZE), *p = pmem;
	unsigned int seq, rep, value;
	pthread_t thread;

	code = mmap((void *)(PMEM - 0x10000), 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED)
		die("mmap");
	memset(pmem, 0, AREA * REPETITIONS * SEQUENCE_COUNT);
	pin(0);
	if (pthread_create(&thread, NULL, fencer, NULL))
		die("pthread_create");
	while (!atomic_load(&fence_done))
		;
	for (seq = 0; seq < SEQUENCE_COUNT; seq++) {
		for (rep = 0; rep < REPETITIONS; rep++, p += AREA) {
			value = pass << 16 | seq << 8 | rep;
			prepare(seq, p);
			asm volatile("mfence" : : : "memory");
			MARK(MARK_BEGIN, value);
			run_stores(seq, p);
			run_write_backs(seq, p);
			MARK(MARK_END, value);
		}
	}
	fence_wanted = -1;
	pthread_join(thread, NULL);
}

static void kernel(const char *device)
{
	static uint8_t buf[4096] __attribute__((aligned(4096)));
	int fd = open(device, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		die(device);
	memset(buf, 0x33, sizeof(buf));
	MARK(MARK_BEGIN, PASS_KERNEL << 16);
	if (pwrite(fd, buf, sizeof(buf), 8192) != sizeof(buf))
		die("pwrite");
	if (fsync(fd))
		die("fsync");
	MARK(MARK_END, PASS_KERNEL << 16);
	close(fd);
}

/* Behind the areas, so that nothing else is there. */
static void bypass(const char *device, const char *path)
{
	uint8_t *pmem = map_device(device, PMEM_SIZE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	pmem[PMEM_SIZE - 4096] = 0;
	if (read(fd, pmem + PMEM_SIZE - 4096, 4096) != 4096)
		die(path);
	close(fd);
}

static void marks(void)
{
	unsigned int i;

	for (i = 0; i < CLIENT_MARKS; i++)
		MARK(MARK_BEGIN, i);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "user"))
		user(atoi(argv[2]), argv[3]);
	else if (argc == 3 && !strcmp(argv[1], "kernel"))
		kernel(argv[2]);
	else if (argc == 4 && !strcmp(argv[1], "bypass"))
		bypass(argv[2], argv[3]);
	else if (argc == 2 && !strcmp(argv[1], "marks"))
		marks();
	else
		return 2;
	return 0;
}
