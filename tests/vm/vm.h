/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs in the client VM share: connecting, the ioctls as calls
 * that return 0 or -errno, sysfs, buffers, random data.
 *
 * Environment: PMOF_INSTANCE (pmof0), a connection that is up and stays up;
 * PMOF_NS (data), LAB_SERVER_IP.
 */
#ifndef PMOF_VM_H
#define PMOF_VM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../uapi/pmof.h"

#define KiB	UINT64_C(1024)
#define MiB	(1024 * KiB)

static inline const char *vm_env(const char *name, const char *otherwise)
{
	const char *v = getenv(name);

	return v && *v ? v : otherwise;
}

static inline double vm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* How many times as slow as a kernel that Debian has built this one is. */
static inline double vm_time_factor(void)
{
	return atof(vm_env("LAB_TIME_FACTOR", "1"));
}

/* The connection that the script made, and its number. */
static inline int vm_instance(void)
{
	return atoi(vm_env("PMOF_INSTANCE", "pmof0") + strlen("pmof"));
}

static inline int vm_open(int instance, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/pmofc%d", instance);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- sysfs ---------------------------------------------------------------- */

/* Reads a file of sysfs without its newline; empty if it cannot be read. */
static inline void vm_line(const char *path, char *buf, size_t size)
{
	ssize_t n = -1;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/* The same of pmofN/@attr. */
static inline void vm_attr(int instance, const char *attr, char *buf, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/pmof/pmof%d/%s", instance, attr);
	vm_line(path, buf, size);
}

static inline bool vm_attr_is(int instance, const char *attr, const char *value)
{
	char buf[256];

	vm_attr(instance, attr, buf, sizeof(buf));
	return !strcmp(buf, value);
}

static inline uint64_t vm_attr_number(int instance, const char *attr)
{
	char buf[256];

	vm_attr(instance, attr, buf, sizeof(buf));
	return strtoull(buf, NULL, 10);
}

/* Writes a file that is there; 0 or -errno. */
static inline int vm_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The same of an attribute of the connection. */
static inline int vm_set_attr(int instance, const char *attr, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/pmof/pmof%d/%s", instance, attr);
	return vm_write_file(path, value);
}

/* A counter: "stats/NAME" of the client, "server_stats/NAME" of the server. */
static inline uint64_t vm_stat(int instance, const char *name)
{
	return vm_attr_number(instance, name);
}

/* --- signals: a script and a program, by files ------------------------------- */

static inline const char *vm_signal_path(const char *file, const char *suffix)
{
	static __thread char path[256];

	snprintf(path, sizeof(path), "%s.%s", file, suffix);
	return path;
}

/* Makes FILE.SUFFIX. */
static inline void vm_signal(const char *file, const char *suffix)
{
	close(open(vm_signal_path(file, suffix), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Waits for FILE.SUFFIX. */
static inline void vm_await(const char *file, const char *suffix)
{
	while (access(vm_signal_path(file, suffix), F_OK))
		usleep(50000);
}

/* --- connections ---------------------------------------------------------- */

/* Writes an option string as it is; returns the instance or -errno. */
static inline int vm_connect_raw(const char *options)
{
	int fd = open("/dev/pmof-control", O_RDWR | O_CLOEXEC), instance = -EIO;
	char answer[64] = "";
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (write(fd, options, strlen(options)) < 0) {
		instance = -errno;
	} else {
		n = read(fd, answer, sizeof(answer) - 1);
		answer[n > 0 ? n : 0] = '\0';
		if (sscanf(answer, "instance=%d", &instance) != 1)
			instance = -EPROTO;
	}
	close(fd);
	return instance;
}

/* The same to a server that may not listen yet. */
static inline int vm_connect_soon(const char *options)
{
	double until = vm_now() + 20 * vm_time_factor();
	int instance;

	while ((instance = vm_connect_raw(options)) == -ECONNREFUSED && vm_now() < until)
		usleep(100000);
	return instance;
}

/*
 * Connects to the lab's namespace, with @more options behind (may be empty), and with more
 * patience than the default: a machine may stand still for some seconds, a slow kernel longer.
 */
static inline int vm_connect(const char *more)
{
	int factor = vm_time_factor();
	char options[512], patience[32] = "";

	if (!strstr(more, "keep_alive_tmo="))
		snprintf(patience, sizeof(patience), ",keep_alive_tmo=%d", factor > 4 ? 5 * factor : 20);
	snprintf(options, sizeof(options), "addr=%s,name=%s%s%s%s",
		 vm_env("LAB_SERVER_IP", "10.77.0.1"), vm_env("PMOF_NS", "data"), patience,
		 *more ? "," : "", more);
	return vm_connect_raw(options);
}

static inline int vm_disconnect(int instance)
{
	int rc = vm_set_attr(instance, "disconnect", "1\n"), tries = 500 * vm_time_factor();
	char path[64];

	/* The directory goes when the write has returned. */
	snprintf(path, sizeof(path), "/sys/class/pmof/pmof%d", instance);
	while (!rc && !access(path, F_OK)) {
		if (!tries--)
			return -ETIMEDOUT;
		usleep(10000);
	}
	return rc;
}

/* --- operations ----------------------------------------------------------- */

static inline int vm_ioctl(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

static inline int vm_info(int fd, struct pmof_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return vm_ioctl(fd, PMOF_IOC_GET_INFO, info);
}

static inline int vm_put(int fd, uint64_t offset, const void *buf, uint64_t len, uint32_t flags)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = flags, .offset = offset, .length = len,
		.addr = (uintptr_t)buf,
	};

	return vm_ioctl(fd, PMOF_IOC_PUT, &rw);
}

static inline int vm_get(int fd, uint64_t offset, void *buf, uint64_t len)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .offset = offset, .length = len, .addr = (uintptr_t)buf,
	};

	return vm_ioctl(fd, PMOF_IOC_GET, &rw);
}

static inline int vm_persist(int fd, uint64_t offset, uint64_t len)
{
	struct pmof_persist p = { .size = sizeof(p), .offset = offset, .length = len };

	return vm_ioctl(fd, PMOF_IOC_PERSIST, &p);
}

static inline int vm_cas(int fd, uint64_t offset, uint64_t compare, uint64_t swap, uint64_t *old)
{
	struct pmof_atomic a = {
		.size = sizeof(a), .offset = offset, .compare = compare, .operand = swap,
	};
	int rc = vm_ioctl(fd, PMOF_IOC_CAS, &a);

	*old = a.old;
	return rc;
}

static inline int vm_fetch_add(int fd, uint64_t offset, uint64_t add, uint64_t *old)
{
	struct pmof_atomic a = { .size = sizeof(a), .offset = offset, .operand = add };
	int rc = vm_ioctl(fd, PMOF_IOC_FETCH_ADD, &a);

	*old = a.old;
	return rc;
}

static inline int vm_submit(int fd, struct pmof_op *ops, uint32_t nr)
{
	struct pmof_submit s = { .size = sizeof(s), .ops = (uintptr_t)ops, .nr_ops = nr };

	return vm_ioctl(fd, PMOF_IOC_SUBMIT, &s);
}

/* --- objects -------------------------------------------------------------- */

static inline int vm_prepare(int fd, uint64_t offset, uint64_t len, uint64_t *generation)
{
	struct pmof_object o = { .size = sizeof(o), .offset = offset, .length = len };
	int rc = vm_ioctl(fd, PMOF_IOC_PREPARE, &o);

	*generation = o.generation;
	return rc;
}

static inline int vm_revalidate(int fd, uint64_t offset, uint64_t len, uint64_t *generation)
{
	struct pmof_object o = { .size = sizeof(o), .offset = offset, .length = len };
	int rc = vm_ioctl(fd, PMOF_IOC_REVALIDATE, &o);

	*generation = o.generation;
	return rc;
}

static inline int vm_commit(int fd, uint64_t offset, const void *buf, uint64_t len,
			    uint64_t generation)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = PMOF_F_COMMIT, .offset = offset, .length = len,
		.addr = (uintptr_t)buf, .generation = generation,
	};

	return vm_ioctl(fd, PMOF_IOC_PUT, &rw);
}

static inline int vm_get_valid(int fd, uint64_t offset, void *buf, uint64_t len,
			       uint64_t *generation)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = PMOF_F_VALID, .offset = offset, .length = len,
		.addr = (uintptr_t)buf,
	};
	int rc = vm_ioctl(fd, PMOF_IOC_GET, &rw);

	*generation = rw.generation;
	return rc;
}

/* --- data ----------------------------------------------------------------- */

/* xorshift64*; the state must not be 0. */
static inline uint64_t vm_rnd(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline void vm_fill(uint64_t *state, void *buf, size_t len)
{
	unsigned char *p = buf;
	uint64_t v;

	for (; len >= 8; len -= 8, p += 8) {
		v = vm_rnd(state);
		memcpy(p, &v, 8);
	}
	v = vm_rnd(state);
	memcpy(p, &v, len);
}

/* Anonymous memory of @len bytes, page aligned, with a hole behind it. */
static inline void *vm_pages(size_t len)
{
	size_t page = 4096, room = (len + page - 1) / page * page;
	char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + room, page, PROT_NONE))
		abort();
	return p;
}

/* @len bytes that end exactly where a hole starts. */
static inline void *vm_edge(size_t len)
{
	return (char *)vm_pages(len) + (-len & 4095);
}

/* The calling thread stays on one CPU, and with that on one queue. */
static inline void vm_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif /* PMOF_VM_H */
