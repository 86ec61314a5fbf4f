/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin uses of QEMU's plugin interface, version 4 (QEMU 10.0 and later), and of GLib's
 * arrays, which that interface passes. No package has QEMU's header; these are declarations of
 * our own against the same binary interface.
 */
#ifndef PMOF_CRASH_QEMU_API_H
#define PMOF_CRASH_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_API_VERSION 4
#define QEMU_EXPORT __attribute__((visibility("default")))

/* GLib: the public heads of GByteArray and GArray. */
struct g_bytes {
	uint8_t *data;
	unsigned int len;
};

struct g_bytes *g_byte_array_new(void);
struct g_bytes *g_byte_array_set_size(struct g_bytes *array, unsigned int length);
char *g_array_free(struct g_bytes *array, int free_segment);

/* Handed to qemu_plugin_install(). */
struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	int smp_vcpus;
	int max_vcpus;
};

enum qemu_cb_flags {
	QEMU_CB_NO_REGS,
	QEMU_CB_R_REGS,
};

enum qemu_mem_rw {
	QEMU_MEM_W = 2,
};

enum qemu_cond {
	QEMU_COND_NE = 3,
};

struct qemu_mem_value {
	int type;		/* log2 of the size, as qemu_plugin_mem_size_shift() */
	union {
		uint64_t word;
		uint8_t bytes[16];
	} data;			/* little endian, as guest and host are */
};

/* A 64-bit value for each virtual CPU, which translated code can test by itself. */
struct qemu_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

struct qemu_reg {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

typedef void (*qemu_udata_cb)(unsigned int cpu, void *data);
typedef void (*qemu_mem_cb)(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data);

void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*cb)(uint64_t id, unsigned int cpu));
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_udata_cb cb,
					  enum qemu_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_udata_cb cb,
					    enum qemu_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn, qemu_udata_cb cb,
						 enum qemu_cb_flags flags, enum qemu_cond cond,
						 struct qemu_u64 entry, uint64_t imm, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb,
				      enum qemu_cb_flags flags, enum qemu_mem_rw rw, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t id, void *data), void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

unsigned int qemu_plugin_mem_size_shift(uint32_t info);
struct qemu_mem_value qemu_plugin_mem_get_value(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *addr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *addr);

/* The plugin's own: QEMU looks for these two. */
extern QEMU_EXPORT int qemu_plugin_version;
QEMU_EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
				    char **argv);

struct g_bytes *qemu_plugin_get_registers(void);	/* of struct qemu_reg */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct g_bytes *buf);
bool qemu_plugin_read_memory_vaddr(uint64_t addr, struct g_bytes *buf, size_t len);

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
uint64_t qemu_plugin_u64_get(struct qemu_u64 entry, unsigned int cpu);
void qemu_plugin_u64_set(struct qemu_u64 entry, unsigned int cpu, uint64_t value);

#endif /* PMOF_CRASH_QEMU_API_H */
