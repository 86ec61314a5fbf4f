// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that counts the instructions of all VMs of a run, and writes down the counts
 * when a guest sets a mark (../insn.h): the client's marks say what the server has done, too.
 *
 *   -plugin insn.so,dir=DIRECTORY,vm=server|clientN[,profile=on]
 *
 * DIRECTORY/counts is shared by the VMs' QEMUs: one count of user and one of kernel mode for
 * each VM. DIRECTORY/marks gets a line for each mark:
 *   begin|end NUMBER SERVER-USER SERVER-KERNEL CLIENT1-USER CLIENT1-KERNEL
 *
 * With profile=on, DIRECTORY/profile.VM gets, when QEMU ends, what each block of the VM's kernel has
 * executed between the marks (profile.c).
 *
 * An instruction with a REP prefix counts once for each time QEMU enters it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../crash/plugin/guest.h"
#include "../../crash/plugin/insn.h"
#include "../../crash/plugin/qemu_api.h"
#include "../insn.h"
#include "profile.h"

#define VMS	2

/* By virtual CPUs, each a thread. */
struct counts {
	uint64_t user;
	uint64_t kernel;
};

int qemu_plugin_version = QEMU_API_VERSION;

/* Of all VMs, in a file that their QEMUs share. */
struct shared {
	struct counts counts[VMS];
	bool measuring;		/* a mark says begin, none yet end */
};

static struct shared *shared;
static struct counts *mine;
static int marks_fd;
static char profile_path[4096];

static void on_user(unsigned int cpu, void *data)
{
	(void)cpu;
	__atomic_fetch_add(&mine->user, (uintptr_t)data, __ATOMIC_RELAXED);
}

static void on_kernel(unsigned int cpu, void *data)
{
	(void)cpu;
	__atomic_fetch_add(&mine->kernel, (uintptr_t)data, __ATOMIC_RELAXED);
}

static void on_block(unsigned int cpu, void *data)
{
	(void)cpu;
	if (__atomic_load_n(&shared->measuring, __ATOMIC_RELAXED))
		profile_enter(data);
}

static void on_mark(unsigned int cpu, void *data)
{
	char line[160];
	int i, len;

	(void)cpu;
	len = snprintf(line, sizeof(line), "%s %" PRIu64, (const char *)data, guest_rax());
	for (i = 0; i < VMS; i++)
		len += snprintf(line + len, sizeof(line) - len, " %" PRIu64 " %" PRIu64,
				__atomic_load_n(&shared->counts[i].user, __ATOMIC_RELAXED),
				__atomic_load_n(&shared->counts[i].kernel, __ATOMIC_RELAXED));
	line[len++] = '\n';
	__atomic_store_n(&shared->measuring, *(const char *)data == 'b', __ATOMIC_RELAXED);
	if (write(marks_fd, line, len) != len)
		fprintf(stderr, "pmof-insn: cannot write a mark\n");
}

static void look_for_mark(struct qemu_plugin_insn *insn)
{
	uint8_t code[INSN_MAX];
	struct insn decoded;
	void *what;

	insn_decode(&decoded, code, qemu_plugin_insn_data(insn, code, sizeof(code)));
	if (decoded.kind != INSN_MARK ||
	    (decoded.mark != INSN_MARK_BEGIN && decoded.mark != INSN_MARK_END))
		return;
	what = decoded.mark == INSN_MARK_BEGIN ? "begin" : "end";
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_CB_R_REGS, what);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	uint64_t addr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	bool kernel = addr >> 63;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, kernel ? on_kernel : on_user, QEMU_CB_NO_REGS,
					     (void *)n);
	if (kernel && *profile_path)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_CB_NO_REGS,
						     profile_block(addr, n));
	for (i = 0; !kernel && i < n; i++)
		look_for_mark(qemu_plugin_tb_get_insn(tb, i));
}

static void on_vcpu(uint64_t id, unsigned int cpu)
{
	(void)id;
	if (guest_init())
		return;
	fprintf(stderr, "pmof-insn: virtual CPU %u lacks registers that x86-64 has\n", cpu);
	exit(1);
}

static void on_exit_write(uint64_t id, void *data)
{
	int err = profile_write(profile_path);

	(void)id;
	(void)data;
	if (err)
		fprintf(stderr, "pmof-insn: %s: %s\n", profile_path, strerror(err));
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags | O_CREAT | O_CLOEXEC, 0644);
}

static int open_files(const char *dir)
{
	int fd = open_in(dir, "counts", O_RDWR);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		return errno;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return errno;
	marks_fd = open_in(dir, "marks", O_WRONLY | O_APPEND);
	return marks_fd < 0 ? errno : 0;
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *dir = NULL, *vm = "";
	bool profile = false;
	int i, err;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "dir=", 4))
			dir = argv[i] + 4;
		else if (!strncmp(argv[i], "vm=", 3))
			vm = argv[i] + 3;
		else if (!strcmp(argv[i], "profile=on"))
			profile = true;
	}
	if (!dir || strcmp(info->target_name, "x86_64") ||
	    (strcmp(vm, "server") && strcmp(vm, "client1"))) {
		fprintf(stderr, "pmof-insn: wants x86_64, dir=, vm=server or vm=client1\n");
		return -1;
	}
	err = open_files(dir);
	if (err) {
		fprintf(stderr, "pmof-insn: %s: %s\n", dir, strerror(err));
		return -1;
	}
	mine = &shared->counts[!strcmp(vm, "client1")];
	if (profile) {
		snprintf(profile_path, sizeof(profile_path), "%s/profile.%s", dir, vm);
		qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
	}
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
