// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of what is behind an operation of a SUBMIT that is lost and must not be done
 * twice: ECANCELED where nothing of it was sent, and EIO where it may have happened.
 *
 *   behind FILE INSTANCE
 *
 * A connection from INSTANCE on for each case, without keep-alive and idle: so a link that is
 * cut is noticed on each only when its operations are under way, and all of them that are sent
 * ahead of an answer are.  Makes FILE.ready, waits for FILE.go, which says that nothing arrives
 * at the server any more, and ends when the connections are back and all has been done anew.
 */
#include "vm.h"

#define BASE	(40 * MiB)
#define PLACE	65536
#define LEN	4096
#define COUNTER	(3 * LEN)	/* the second operation's word or page */
#define OLD	0x0101010101010101ULL
#define NEW	0x2323232323232323ULL

static struct one {
	const char *name;
	int opcode;		/* of the second operation */
	uint32_t flags;		/* its */
	int result[3];		/* what becomes of the three */
	/* when it runs: */
	int fd;
	pthread_t thread;
	uint64_t offset;
	struct pmof_op op[3];
	int rc;
} cases[] = {
	{ .name = "behind a FETCH_ADD that is waited for", .opcode = PMOF_OP_FETCH_ADD,
	  .flags = PMOF_F_PERSIST, .result = { 0, -EIO, -ECANCELED } },
	{ .name = "behind a FETCH_ADD that is not", .opcode = PMOF_OP_FETCH_ADD,
	  .result = { 0, -EIO, -EIO } },
	{ .name = "behind a put with NOREPLAY", .opcode = PMOF_OP_PUT,
	  .flags = PMOF_F_PERSIST | PMOF_F_NOREPLAY, .result = { 0, -EIO, -ECANCELED } },
	{ .name = "behind a PERSIST with NOREPLAY", .opcode = PMOF_OP_PERSIST,
	  .flags = PMOF_F_NOREPLAY, .result = { 0, -EIO, -ECANCELED } },
};

#define NR	((int)(sizeof(cases) / sizeof(cases[0])))

static uint64_t *page_of(uint64_t value)
{
	uint64_t *page = vm_pages(LEN);
	int i;

	for (i = 0; i < LEN / 8; i++)
		page[i] = value;
	return page;
}

static struct pmof_op put(const struct one *c, int at, uint64_t value, uint32_t flags)
{
	return (struct pmof_op) {
		.size = sizeof(struct pmof_op), .opcode = PMOF_OP_PUT, .flags = flags,
		.offset = c->offset + at, .length = LEN, .addr = (uintptr_t)page_of(value),
	};
}

static struct pmof_op persist(const struct one *c, size_t length)
{
	return (struct pmof_op) {
		.size = sizeof(struct pmof_op), .opcode = PMOF_OP_PERSIST, .flags = c->flags,
		.offset = c->offset, .length = length,
	};
}

/* Nothing waits for the first one; a PERSIST would, and so that one has nothing to send. */
static void make_ops(struct one *c)
{
	c->op[0] = put(c, 0, NEW, 0);
	c->op[1] = put(c, COUNTER, NEW, c->flags);
	if (c->opcode == PMOF_OP_FETCH_ADD)
		c->op[1] = (struct pmof_op) {
			.size = sizeof(struct pmof_op), .opcode = PMOF_OP_FETCH_ADD,
			.flags = c->flags, .offset = c->offset + COUNTER, .length = 8,
			.operand = 1,
		};
	if (c->opcode == PMOF_OP_PERSIST) {
		c->op[0] = persist(c, 0);
		c->op[1] = persist(c, PLACE);
	}
	c->op[2] = put(c, LEN, NEW, PMOF_F_PERSIST);
}

static int prepare(struct one *c, int i, int instance)
{
	int at;

	c->fd = vm_open(instance + i, O_RDWR);
	c->offset = BASE + i * PLACE;
	for (at = 0; at < PLACE && c->fd >= 0; at += LEN)
		if (vm_put(c->fd, c->offset + at, page_of(OLD), LEN, 0))
			return 1;
	if (c->opcode != PMOF_OP_PERSIST && vm_persist(c->fd, c->offset, PLACE))
		return 1;
	make_ops(c);
	return c->fd < 0;
}

static void *submit(void *arg)
{
	struct one *c = arg;

	c->rc = vm_submit(c->fd, c->op, 3);
	return NULL;
}

static int is(const struct one *c, const char *what, int at, uint64_t value)
{
	uint64_t *page = vm_pages(LEN);
	int i, rc = vm_get(c->fd, c->offset + at, page, LEN);

	/* The word alone, where it is one. */
	for (i = 0; i < (value == OLD || value == NEW ? LEN / 8 : 1) && !rc; i++)
		if (page[i] != value)
			return printf("%s, %s: word %d is %#jx\n", c->name, what, i,
				      (uintmax_t)page[i]);
	return rc ? printf("%s, %s: get: %s\n", c->name, what, strerror(-rc)) : 0;
}

static int results_are(const struct one *c, const int *result)
{
	int i, bad = 0;

	printf("%s: call %d, results %d, %d, %d\n", c->name, c->rc, (int)c->op[0].result,
	       (int)c->op[1].result, (int)c->op[2].result);
	for (i = 0; i < 3; i++)
		bad += c->op[i].result != result[i];
	return bad + !!c->rc;
}

/* Nothing had arrived, so what was not begun again has not happened; then all is. */
static int check(struct one *c)
{
	static const int success[3];
	bool adds = c->opcode == PMOF_OP_FETCH_ADD, puts = c->opcode == PMOF_OP_PUT;
	int bad = results_are(c, c->result);

	bad += is(c, "the first", 0, c->op[0].opcode == PMOF_OP_PUT ? NEW : OLD);
	bad += is(c, "the second", COUNTER, OLD);
	bad += is(c, "the third", LEN, OLD);
	submit(c);
	bad += results_are(c, success);
	bad += is(c, "the second, anew", COUNTER, puts ? NEW : OLD + adds);
	bad += is(c, "the third, anew", LEN, NEW);
	if (adds && c->op[1].old != OLD)
		bad += printf("%s: it was %#jx\n", c->name, (uintmax_t)c->op[1].old);
	return bad;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	if (argc != 3)
		return 2;
	for (i = 0; i < NR; i++)
		if (prepare(&cases[i], i, atoi(argv[2] + strlen("pmof"))))
			return 2;
	vm_signal(argv[1], "ready");
	vm_await(argv[1], "go");
	for (i = 0; i < NR; i++)
		if (pthread_create(&cases[i].thread, NULL, submit, &cases[i]))
			abort();
	for (i = 0; i < NR; i++)
		pthread_join(cases[i].thread, NULL);
	for (i = 0; i < NR; i++)
		bad += check(&cases[i]);
	return bad != 0;
}
