// SPDX-License-Identifier: GPL-2.0
/*
 * Images with a file system in them: the checker knows nothing of those, so a
 * program judges. It is called as PROGRAM DIR, with the namespace in DIR/image, which
 * it may change, and DIR/promises: for each slot of the log a line
 *
 *   SLOT ACKNOWLEDGED BEGUN
 *
 * The slot must hold a version of at least ACKNOWLEDGED and at most BEGUN. Exit status
 * 0: it does; else a fault, and the last line of its output says which.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explore.h"

int outside_promise(const struct run *r, const char *dir)
{
	char path[4096];
	uint32_t id;
	FILE *f;

	snprintf(path, sizeof(path), "%s/promises", dir);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return -1;
	}
	for (id = 0; id < r->log->nr_slots; id++)
		fprintf(f, "%u %u %u\n", id, r->checker.state[id].acked,
			r->checker.state[id].started);
	return fclose(f) ? -1 : 0;
}

/* The last line of what the program said. */
static void last_words(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");
	char line[256];

	snprintf(text, size, "the check failed, and said nothing");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			snprintf(text, size, "%s", line);
	}
	if (f)
		fclose(f);
}

static int judge(const struct config *c, const char *dir, const char *said)
{
	int status, fd;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
			_exit(126);
		execl(c->check, c->check, dir, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool outside_check(struct run *r, const struct place *place, struct fault *fault)
{
	const struct config *c = r->config;
	char dir[4000], path[4096];

	*fault = (struct fault){ .op = UINT32_MAX, .text = "the image could not be made" };
	snprintf(dir, sizeof(dir), "%s/now", c->out);
	snprintf(path, sizeof(path), "%s/image", dir);
	r->totals.slots += r->log->nr_slots;
	if ((mkdir(dir, 0755) && errno != EEXIST) || outside_promise(r, dir) ||
	    keep_image(&r->model, &place->image, c->data_offset, path))
		return false;
	snprintf(path, sizeof(path), "%s/said", dir);
	if (!judge(c, dir, path))
		return true;
	last_words(path, fault->text, sizeof(fault->text));
	return false;
}
