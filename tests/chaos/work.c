// SPDX-License-Identifier: GPL-2.0
/* The threads of the load. */
#include <stdio.h>

#include "load.h"

#ifndef PMOF_F_NOREPLAY
#define PMOF_F_NOREPLAY 0
#endif

/* What an operation may fail with while the connection, the namespace or the right is gone. */
static bool expected(const struct worker *w, int rc)
{
	switch (rc) {
	case -EIO:
		/* Who waits for as long as it takes has all done again that may be. */
		return !device.patient || w->kind == PUT_NOREPLAY || w->kind == PERSIST ||
		       w->kind == COMMIT;
	case -ENODEV:
	case -EACCES:
	case -ENOLINK:
		return true;
	case -ESTALE:	/* a COMMIT that was done, and is done again */
		return w->kind == COMMIT;
	default:
		return false;
	}
}

static void acknowledged(struct worker *w)
{
	double now = vm_now();

	if (w->last_ack && now - w->last_ack > w->gap)
		w->gap = now - w->last_ack;
	w->last_ack = now;
	__atomic_add_fetch(&w->acks, 1, __ATOMIC_RELEASE);
}

/* True: it was done. */
static bool outcome(struct worker *w, const char *what, int rc)
{
	if (!rc)
		return true;
	w->unknown++;
	if (!expected(w, rc) && !*w->error)
		snprintf(w->error, sizeof(w->error), "%s: %s: %s", kind_names[w->kind], what,
			 strerror(-rc));
	usleep(20000);
	return false;
}

static uint64_t next_write(struct worker *w, struct slot *s)
{
	uint64_t seq = w->seq + 1;

	if (slot_begin(s, &seq))
		w->seq = seq;
	return seq;
}

static void one_put(struct worker *w, unsigned int i, uint32_t flags)
{
	uint64_t seq = next_write(w, &w->slot[i]);

	slot_fill(w, i, seq, w->buf);
	if (outcome(w, "put", vm_put(device.fd, slot_offset(w, i), w->buf, SLOT,
				     PMOF_F_PERSIST | flags))) {
		slot_durable(&w->slot[i], seq);
		acknowledged(w);
	}
}

/* Puts to neighbours, and one PERSIST for those that were done. */
static void persist_batch(struct worker *w, unsigned int first)
{
	uint64_t seq[BATCH] = { 0 };
	unsigned int i, k;
	bool done = false;

	for (k = 0; k < BATCH; k++) {
		i = (first + k) % SLOTS;
		seq[k] = next_write(w, &w->slot[i]);
		slot_fill(w, i, seq[k], w->buf);
		if (!outcome(w, "put", vm_put(device.persist_fd, slot_offset(w, i), w->buf, SLOT,
					      0)))
			seq[k] = 0;
	}
	if (!outcome(w, "persist", vm_persist(device.persist_fd, w->base, SLOTS * SLOT)))
		return;	/* what was put may be gone, if the server was restarted */
	for (k = 0; k < BATCH; k++)
		if (seq[k]) {
			slot_durable(&w->slot[(first + k) % SLOTS], seq[k]);
			done = true;
		}
	if (done)
		acknowledged(w);
}

static void commit(struct worker *w, unsigned int i)
{
	struct slot *s = &w->slot[i];
	uint64_t generation, seq;

	s->unprepared = true;
	if (!outcome(w, "prepare", vm_prepare(device.fd, slot_offset(w, i), OBJECT, &generation)))
		return;
	seq = next_write(w, s);
	slot_fill(w, i, seq, w->buf);
	if (outcome(w, "commit", vm_commit(device.fd, slot_offset(w, i), w->buf, OBJECT,
					   generation))) {
		slot_durable(s, seq);
		acknowledged(w);
	}
}

static void block_write(struct worker *w, unsigned int i)
{
	uint64_t seq = next_write(w, &w->slot[i]);
	ssize_t n;

	slot_fill(w, i, seq, w->buf);
	n = pwrite(device.block, w->buf, SLOT, slot_offset(w, i));
	if (outcome(w, "write", n == SLOT ? 0 : n < 0 ? -errno : -EIO)) {
		slot_durable(&w->slot[i], seq);
		acknowledged(w);
	}
}

static void one(struct worker *w, unsigned int i)
{
	switch (w->kind) {
	case PUT:
		one_put(w, i, 0);
		break;
	case PUT_NOREPLAY:
		one_put(w, i, PMOF_F_NOREPLAY);
		break;
	case PERSIST:
		persist_batch(w, i);
		break;
	case COMMIT:
		commit(w, i);
		break;
	default:
		block_write(w, i);
		break;
	}
}

static enum order park(struct worker *w)
{
	enum order now;

	while ((now = __atomic_load_n(&order, __ATOMIC_ACQUIRE)) == PARK) {
		__atomic_store_n(&w->parked, true, __ATOMIC_RELEASE);
		usleep(5000);
		w->last_ack = 0;	/* standing still is no gap */
	}
	__atomic_store_n(&w->parked, false, __ATOMIC_RELEASE);
	return now;
}

void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int i = 0;

	while (park(w) != END) {
		/* Each slot once, then at random. */
		pthread_rwlock_rdlock(&device.lock);
		one(w, i < SLOTS ? i++ : (unsigned int)(vm_rnd(&w->state) % SLOTS));
		pthread_rwlock_unlock(&device.lock);
	}
	return NULL;
}
