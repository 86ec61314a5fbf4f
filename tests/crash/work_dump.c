// SPDX-License-Identifier: GPL-2.0
/* After a boot: recovers what can be, and reads every slot of a log back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "workload.h"

static void get(const struct slot *s, uint8_t *buf)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .offset = s->offset, .length = s->length,
		.addr = (uintptr_t)buf,
	};

	if (ioctl(work.fd, PMOF_IOC_GET, &rw))
		die("get of [%llu, +%llu): %s", (unsigned long long)s->offset,
		    (unsigned long long)s->length, strerror(errno));
}

/* The data are left in @buf; a VALID get that fails leaves them undefined. */
static struct dump_slot recover(const struct slot *s, uint8_t *buf)
{
	struct pmof_object o = { .size = sizeof(o), .offset = s->offset, .length = s->length };
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = PMOF_F_VALID, .offset = s->offset,
		.length = s->length, .addr = (uintptr_t)buf,
	};
	struct dump_slot d = { 0 };

	if (s->type != SLOT_OBJECT)
		return d;
	d.revalidate = ioctl(work.fd, PMOF_IOC_REVALIDATE, &o) ? -errno : 0;
	d.valid = ioctl(work.fd, PMOF_IOC_GET, &rw) ? -errno : 0;
	d.generation = o.generation;
	if (!d.valid && rw.generation != o.generation)
		d.valid = -EPROTO;
	return d;
}

void dump(const char *path, const char *to)
{
	uint8_t *buf = NULL;
	struct log log;
	uint32_t i;
	FILE *f;

	if (log_read(&log, path))
		die("%s cannot be read", path);
	f = fopen(to, "w");
	for (i = 0; f && i < log.nr_slots; i++) {
		struct dump_slot d;

		buf = realloc(buf, log.slot[i].length);
		if (!buf)
			die("no memory");
		d = recover(&log.slot[i], buf);
		get(&log.slot[i], buf);
		fwrite(&d, sizeof(d), 1, f);
		fwrite(buf, log.slot[i].length, 1, f);
	}
	free(buf);
	log_free(&log);
	if (!f || ferror(f) || fclose(f))
		die("%s: %s", to, strerror(errno));
}
