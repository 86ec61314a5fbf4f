/* SPDX-License-Identifier: GPL-2.0 */
/* What the paths of faults.c are made of, but for I/O: 0 or -errno each. */
#ifndef PMOF_VM_FAULTS_PATHS_H
#define PMOF_VM_FAULTS_PATHS_H

#include <sys/wait.h>

#include "vm.h"

#define CONFIG		"/sys/kernel/config/pmof"
#define CLIENT		CONFIG "/clients/keyed"
#define ALLOWED		CONFIG "/namespaces/data/allowed_clients/keyed"
#define KEY		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int instance = -1;

static inline int shell(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

/* --- the server ------------------------------------------------------------------- */

static int load_modules(void)
{
	return shell("modprobe pmof-server 2>/dev/null && modprobe pmof-client 2>/dev/null");
}

static int unload_modules(void)
{
	return shell("for m in pmof_client pmof_server pmof; do"
		     " for i in 1 2 3 4 5 6 7 8 9; do"
		     " [ -d /sys/module/$m ] || break; rmmod $m 2>/dev/null || sleep 0.5;"
		     " done; [ ! -d /sys/module/$m ] || exit 1; done");
}

/* A client that has to prove who it is. */
static int make_client(void)
{
	if (mkdir(CLIENT, 0755) && errno != EEXIST)
		return -errno;
	return vm_write_file(CLIENT "/key", KEY "\n");
}

static int export_namespace(void)
{
	int rc = make_client();

	if (!rc && mkdir(CONFIG "/namespaces/data", 0755))
		rc = -errno;
	rc = rc ? rc : vm_write_file(CONFIG "/namespaces/data/device_path", "/dev/pmem0\n");
	if (!rc && symlink(CLIENT, ALLOWED))
		rc = -errno;
	rc = rc ? rc : vm_write_file(CONFIG "/namespaces/data/enable", "1\n");
	if (!rc && mkdir(CONFIG "/ports/1", 0755))
		rc = -errno;
	rc = rc ? rc : vm_write_file(CONFIG "/ports/1/addr", vm_env("LAB_SERVER_IP", "10.77.0.1"));
	if (!rc && symlink(CONFIG "/namespaces/data", CONFIG "/ports/1/namespaces/data"))
		rc = -errno;
	return rc ? rc : vm_write_file(CONFIG "/ports/1/enable", "1\n");
}

/* Takes away what there is of it. */
static int unexport(void)
{
	if (!access(CONFIG "/ports/1", F_OK)) {
		vm_write_file(CONFIG "/ports/1/enable", "0\n");
		unlink(CONFIG "/ports/1/namespaces/data");
		if (rmdir(CONFIG "/ports/1"))
			return -errno;
	}
	if (!access(CONFIG "/namespaces/data", F_OK)) {
		vm_write_file(CONFIG "/namespaces/data/enable", "0\n");
		unlink(ALLOWED);
		if (rmdir(CONFIG "/namespaces/data"))
			return -errno;
	}
	return rmdir(CLIENT) && errno != ENOENT ? -errno : 0;
}

static int disable(void)
{
	return vm_write_file(CONFIG "/namespaces/data/enable", "0\n");
}

/* --- the client --------------------------------------------------------------------- */

static int connect_it(void)
{
	instance = vm_connect("queues=1,depth=16,block=1,reconnect_delay=1,id=keyed,key=" KEY);
	return instance < 0 ? instance : 0;
}

static int disconnect(void)
{
	int rc = instance < 0 ? 0 : vm_disconnect(instance);

	instance = -1;
	return rc;
}

/* A connection that works: the old one, if it does. */
static int connected(void)
{
	if (instance >= 0 && vm_attr_is(instance, "state", "live"))
		return 0;
	disconnect();
	return connect_it();
}

static int disconnect_if_dead(void)
{
	return instance >= 0 && !vm_attr_is(instance, "state", "live") ? disconnect() : 0;
}

static int export_and_connect(void)
{
	int rc = export_namespace();

	return rc ? rc : connect_it();
}

static int disconnect_and_unexport(void)
{
	int rc = disconnect();

	return rc ? rc : unexport();
}

/* --- a connection that breaks ---------------------------------------------------------- */

static int resumed_fd = -1;

static int connected_and_open(void)
{
	int rc = connected();

	resumed_fd = rc ? rc : vm_open(instance, O_RDWR);
	return resumed_fd < 0 ? resumed_fd : 0;
}

/* 0 when it has come back, -EAGAIN while it may still. */
static int is_back(uint64_t before)
{
	bool live = vm_attr_is(instance, "state", "live");
	char byte = 1;

	if (vm_attr_is(instance, "state", "dead"))
		return -ENODEV;
	if (live && vm_attr_number(instance, "reconnects") != before)
		return 0;
	if (live)
		vm_put(resumed_fd, MiB, &byte, 1, PMOF_F_PERSIST | PMOF_F_NOREPLAY);
	return -EAGAIN;
}

/*
 * The connection breaks and comes back.  What breaks it is the first SEND or WRITE of all, which
 * the sweep has fail besides; a put that fails ahead of that is made again.
 */
static int resume(void)
{
	double until = vm_now() + 60 * vm_time_factor();
	uint64_t before = vm_attr_number(instance, "reconnects");
	int rc;

	while ((rc = is_back(before)) == -EAGAIN && vm_now() < until)
		usleep(5000);
	return rc;
}

/*
 * The same under a put that may be done again, and is: it breaks the connection itself.  It has
 * to say so if it was not: what fails ahead of the loss, or of its second time, is its error.
 */
static int replay(void)
{
	uint64_t before = vm_attr_number(instance, "reconnects");
	static char out[2 * 4096], in[2 * 4096];
	int rc, back;

	memset(out, random(), sizeof(out));
	rc = vm_put(resumed_fd, 2 * MiB, out, sizeof(out), PMOF_F_PERSIST);
	back = vm_attr_number(instance, "reconnects") == before ? resume() : 0;
	if (back || (rc && rc != -ENOMEM && rc != -EIO))
		return back ? back : rc;
	if (rc || vm_get(resumed_fd, 2 * MiB, in, sizeof(in)))
		return 0;
	return memcmp(out, in, sizeof(in)) ? -EBADMSG : 0;
}

/* It is good for something, then.  One that is dead makes way for another. */
static int works(void)
{
	char out = random(), in = ~out;
	int rc;

	if (vm_attr_is(instance, "state", "dead")) {
		close(resumed_fd);
		rc = connected_and_open();
		if (rc)
			return rc;
	}
	rc = vm_put(resumed_fd, MiB, &out, 1, PMOF_F_PERSIST);
	rc = rc ? rc : vm_get(resumed_fd, MiB, &in, 1);
	close(resumed_fd);
	return rc ? rc : in == out ? 0 : -EBADMSG;
}

#endif /* PMOF_VM_FAULTS_PATHS_H */
