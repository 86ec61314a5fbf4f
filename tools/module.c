// SPDX-License-Identifier: BSD-3-Clause
/* Loading a kernel module when it is first needed. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

static int run_modprobe(const char *module)
{
	/* As a user's PATH often lacks it. */
	static const char *const paths[] = { "/usr/sbin/modprobe", "/sbin/modprobe", "modprobe" };
	int status;
	size_t i;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		for (i = 0; i < ARRAY_SIZE(paths); i++)
			execlp(paths[i], "modprobe", module, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOENT : -EIO;
}

int module_need(const char *module, const char *path)
{
	int ret, tries;

	if (!access(path, F_OK))
		return 0;
	if (geteuid()) {
		complain("the module %s is not loaded, and only root may load it", module);
		hint("run this as root, or `modprobe %s` first", module);
		return -EPERM;
	}
	ret = run_modprobe(module);
	if (ret) {
		complain("cannot load the module %s: %s", module,
			 ret == -ENOENT ? "modprobe is not installed" : "modprobe failed");
		hint("is it there for the running kernel (`modinfo %s`, `dkms status`)? With Secure "
		     "Boot it has to be signed; see dmesg", module);
		return ret;
	}
	/* A device node may take udev a moment. */
	for (tries = 0; access(path, F_OK) && tries < 100; tries++)
		usleep(20000);
	if (access(path, F_OK)) {
		complain("the module %s is loaded, but there is no %s", module, path);
		hint("see dmesg");
		return -ENOENT;
	}
	return 0;
}
