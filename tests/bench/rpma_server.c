// SPDX-License-Identifier: GPL-2.0
/*
 * The server of the librpma ways: gives clients access to persistent memory, and makes ranges
 * durable for those that ask.
 *
 *   rpma_server ADDRESS DEVICE cpu|mem-ctrl CONNECTIONS
 *
 * DEVICE is in devdax mode: memory that is registered for long must not be a file's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rpma.h"

#define MESSAGES	4096
#define DEPTH		8	/* messages under way */
#define LINE		64

static bool caches_survive;	/* a power cut */
static char *pmem;
static struct rpma_peer *peer;
static struct rpma_mr_local *pmem_mr;

/* One client's connection, and the thread that serves it. */
struct client {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_mr_local *mr;
	char *messages;		/* DEPTH ranges to receive into, then one to answer from */
};

static __attribute__((noreturn)) void die(const char *what, int rc)
{
	fprintf(stderr, "rpma_server: %s: %s\n", what,
		rc <= RPMA_E_UNKNOWN ? rpma_err_2str(rc) : strerror(-rc));
	exit(1);
}

static void persist(const struct rpma_range *r)
{
	const char *line = pmem + r->offset / LINE * LINE;

	for (; !caches_survive && line < pmem + r->offset + r->length; line += LINE)
		asm volatile("clwb %0" :: "m" (*line) : "memory");
	asm volatile("sfence" ::: "memory");
}

static int answer(struct client *c, unsigned int slot)
{
	struct rpma_range *r = (struct rpma_range *)c->messages + slot;

	if (r->offset > RPMA_PMEM || r->length > RPMA_PMEM - r->offset)
		return -ERANGE;
	persist(r);
	memcpy((struct rpma_range *)c->messages + DEPTH, r, sizeof(*r));
	return rpma_recv(c->conn, c->mr, slot * sizeof(*r), sizeof(*r), (void *)(uintptr_t)slot) ?:
	       rpma_send(c->conn, c->mr, DEPTH * sizeof(*r), sizeof(*r),
			 RPMA_F_COMPLETION_ALWAYS, NULL);
}

static void *serve(void *arg)
{
	struct client *c = arg;
	struct ibv_wc wc;
	int rc = 0;

	while (!rc) {
		rc = rpma_next(c->cq, &wc);
		if (!rc && wc.opcode & IBV_WC_RECV)
			rc = answer(c, wc.wr_id);
	}
	/* The client is gone, or does not keep to the rules. */
	return NULL;
}

static void fill_hello(struct rpma_hello *hello)
{
	struct rpma_peer_cfg *cfg;
	size_t mr_len, cfg_len;
	int rc;

	rc = rpma_peer_cfg_new(&cfg) ?:
	     rpma_peer_cfg_set_direct_write_to_pmem(cfg, caches_survive) ?:
	     rpma_mr_get_descriptor_size(pmem_mr, &mr_len) ?:
	     rpma_peer_cfg_get_descriptor_size(cfg, &cfg_len);
	if (!rc && mr_len + cfg_len > sizeof(hello->bytes))
		rc = -E2BIG;
	rc = rc ?: rpma_mr_get_descriptor(pmem_mr, hello->bytes) ?:
	     rpma_peer_cfg_get_descriptor(cfg, hello->bytes + mr_len);
	if (rc)
		die("descriptors", rc);
	hello->mr_len = mr_len;
	hello->cfg_len = cfg_len;
}

static struct rpma_conn_req *next_request(struct rpma_ep *ep, struct client *c)
{
	struct rpma_conn_req *req;
	unsigned int i;
	int rc;

	c->messages = aligned_alloc(MESSAGES, MESSAGES);
	rc = !c->messages ? -ENOMEM :
	     rpma_mr_reg(peer, c->messages, MESSAGES, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
			 &c->mr) ?:
	     rpma_ep_next_conn_req(ep, NULL, &req);
	for (i = 0; !rc && i < DEPTH; i++)
		rc = rpma_conn_req_recv(req, c->mr, i * sizeof(struct rpma_range),
					sizeof(struct rpma_range), (void *)(uintptr_t)i);
	if (rc)
		die("connection", rc);
	return req;
}

static void accept_client(struct rpma_ep *ep)
{
	struct client *c = calloc(1, sizeof(*c));
	struct rpma_hello hello = { 0 };
	struct rpma_conn_private_data data = { &hello, sizeof(hello) };
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req;
	pthread_t thread;
	int rc;

	if (!c)
		die("connection", -ENOMEM);
	fill_hello(&hello);
	req = next_request(ep, c);
	rc = rpma_conn_req_connect(&req, &data, &c->conn) ?:
	     rpma_conn_next_event(c->conn, &event) ?:
	     rpma_conn_get_cq(c->conn, &c->cq);
	if (rc || event != RPMA_CONN_ESTABLISHED)
		die("connection", rc ?: -ECONNABORTED);
	rc = -pthread_create(&thread, NULL, serve, c);
	if (rc)
		die("thread", rc);
}

static void map_pmem(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(device, -errno);
	pmem = mmap(NULL, RPMA_PMEM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pmem == MAP_FAILED)
		die(device, -errno);
	memset(pmem, 0, RPMA_PMEM);
}

static struct rpma_ep *listen_at(const char *addr)
{
	int usage = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		    RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	struct ibv_context *dev;
	struct rpma_ep *ep;
	int rc;

	if (caches_survive)
		usage |= RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
	rc = rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL, &dev) ?:
	     rpma_peer_new(dev, &peer) ?:
	     rpma_mr_reg(peer, pmem, RPMA_PMEM, usage, &pmem_mr) ?:
	     rpma_ep_listen(peer, addr, RPMA_PORT, &ep);
	if (rc)
		die(addr, rc);
	return ep;
}

int main(int argc, char **argv)
{
	struct rpma_ep *ep;
	int i, nr;

	if (argc != 5 || (strcmp(argv[3], "cpu") && strcmp(argv[3], "mem-ctrl"))) {
		fprintf(stderr, "usage: rpma_server ADDRESS DEVICE cpu|mem-ctrl CONNECTIONS\n");
		return 2;
	}
	caches_survive = !strcmp(argv[3], "cpu");
	nr = atoi(argv[4]);
	map_pmem(argv[2]);
	ep = listen_at(argv[1]);
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < nr; i++)
		accept_client(ep);
	pause();
	return 0;
}
