// SPDX-License-Identifier: GPL-2.0
/*
 * A server restarts, and puts that were not made durable may be gone: each file that is open hears
 * of that, once.
 *
 *   told FILE MEBIBYTES|- [refused]
 *
 * Puts there, or relies on what others have put, makes FILE.started, waits for FILE.stop: then the
 * server has restarted, and the device is live again.  With "refused" it has been, and waits in
 * vain for its namespace now, when there is FILE.refused: nothing that is tried then may take what
 * a file is still to hear.  Makes FILE.tried.
 */
#include "vm.h"

#define LEN	65536

static int bad;

static void expect(const char *what, int is, int want)
{
	printf("%s: %s\n", what, is ? strerror(-is) : "done");
	bad |= is != want;
}

static int sync_file(int fd)
{
	return fsync(fd) ? -errno : 0;
}

int main(int argc, char **argv)
{
	int puts_it = vm_open(vm_instance(), O_RDWR), other = vm_open(vm_instance(), O_RDONLY);
	uint64_t offset;
	int later;

	if (argc < 3 || puts_it < 0 || other < 0)
		return 2;
	offset = strtoull(argv[2], NULL, 0) * MiB;
	if (strcmp(argv[2], "-"))
		expect("put", vm_put(puts_it, offset, vm_pages(LEN), LEN, 0), 0);
	vm_signal(argv[1], "started");
	if (argc > 3) {
		vm_await(argv[1], argv[3]);
		expect("PERSIST while refused", vm_persist(puts_it, 0, 4096), -ENODEV);
		expect("fsync while refused", sync_file(other), -ENODEV);
		vm_signal(argv[1], "tried");
	}
	vm_await(argv[1], "stop");
	/* Of any range: it is the file that hears. */
	expect("PERSIST", vm_persist(puts_it, 0, 4096), -EIO);
	expect("a second PERSIST", vm_persist(puts_it, offset, LEN), 0);
	expect("fsync of another file", sync_file(other), -EIO);
	expect("a second fsync", sync_file(other), 0);
	/* What somebody has heard of is no news for who comes later. */
	later = vm_open(vm_instance(), O_RDWR);
	expect("PERSIST of a file opened since", vm_persist(later, 0, 4096), 0);
	return bad;
}
