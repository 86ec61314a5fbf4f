// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that are written back, and between them one that is read, while there is no
 * connection: when it is back each goes its own way, whoever is woken first.
 *
 *   lost_pages FILE
 *
 * Makes FILE.ready, waits for FILE.go, which says that PMOF_INSTANCE is recovering, begins
 * all, makes FILE.begun, and ends when all has ended.
 */
#include "vm.h"

#define PLACES	8
#define PAGE	4096
#define BASE	(32 * MiB)
#define PLACE	(4 * PAGE)	/* page 0 and 2 are stored to, 1 is read */
#define READ_BYTE	0x5a
#define OLD_BYTE	0x11
#define NEW_BYTE	0xa5

struct place {
	pthread_t reader, writer;
	unsigned char *map;
	uint64_t offset;
	int read, written;	/* -errno; a byte that should not be */
};

static bool is_all(const unsigned char *page, int byte)
{
	int i;

	for (i = 0; i < PAGE && page[i] == byte; i++)
		;
	return i == PAGE;
}

static void *reads(void *arg)
{
	struct place *p = arg;

	p->read = is_all(p->map + PAGE, READ_BYTE) ? 0 : -EBADMSG;
	return NULL;
}

static void *writes(void *arg)
{
	struct place *p = arg;

	p->written = msync(p->map, 3 * PAGE, MS_SYNC) ? -errno : 0;
	return NULL;
}

/* Pages 0 and 2 are in the cache, and can be stored to without the server; page 1 is not. */
static void prepare(struct place *p, int fd, int i)
{
	unsigned char *page = vm_pages(3 * PAGE);

	memset(page, OLD_BYTE, 3 * PAGE);
	memset(page + PAGE, READ_BYTE, PAGE);
	p->offset = BASE + i * PLACE;
	if (vm_put(fd, p->offset, page, 3 * PAGE, PMOF_F_PERSIST))
		abort();
	p->map = mmap(NULL, PLACE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, p->offset);
	if (p->map == MAP_FAILED || madvise(p->map, PLACE, MADV_RANDOM) ||
	    !is_all(p->map, OLD_BYTE) || !is_all(p->map + 2 * PAGE, OLD_BYTE))
		abort();
	munmap(page, 3 * PAGE);
}

/* Half of them read first: of those that wait some are woken from the one end, some from the other. */
static void begin(struct place *p, int i)
{
	memset(p->map, NEW_BYTE, PAGE);
	memset(p->map + 2 * PAGE, NEW_BYTE, PAGE);
	if (pthread_create(i & 1 ? &p->reader : &p->writer, NULL, i & 1 ? reads : writes, p))
		abort();
	usleep(100000);
	if (pthread_create(i & 1 ? &p->writer : &p->reader, NULL, i & 1 ? writes : reads, p))
		abort();
	usleep(100000);
}

static int end(struct place *p, int fd)
{
	unsigned char *page = vm_pages(3 * PAGE);
	int bad = 0;

	pthread_join(p->reader, NULL);
	pthread_join(p->writer, NULL);
	if (p->read || p->written)
		bad = printf("at %#jx: read %d, written %d\n", (uintmax_t)p->offset, p->read,
			     p->written);
	if (vm_get(fd, p->offset, page, 3 * PAGE) || !is_all(page, NEW_BYTE) ||
	    !is_all(page + 2 * PAGE, NEW_BYTE) || !is_all(page + PAGE, READ_BYTE))
		bad = printf("at %#jx: pages of %#x, %#x, %#x at the server\n",
			     (uintmax_t)p->offset, page[0], page[PAGE], page[2 * PAGE]);
	return bad != 0;
}

int main(int argc, char **argv)
{
	int i, fd = vm_open(vm_instance(), O_RDWR), bad = 0;
	struct place place[PLACES] = { 0 };

	if (argc != 2 || fd < 0)
		return 2;
	for (i = 0; i < PLACES; i++)
		prepare(&place[i], fd, i);
	vm_signal(argv[1], "ready");
	vm_await(argv[1], "go");
	for (i = 0; i < PLACES; i++)
		begin(&place[i], i);
	vm_signal(argv[1], "begun");
	for (i = 0; i < PLACES; i++)
		bad += end(&place[i], fd);
	return bad != 0;
}
