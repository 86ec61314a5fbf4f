// SPDX-License-Identifier: GPL-2.0
/* The threads of the load. */
#include <stdio.h>

#include "load.h"

#ifndef PMOF_F_NOREPLAY
#define PMOF_F_NOREPLAY 0
#endif

/*
 * What an operation may fail with while the connection, the namespace or the right is gone.
 * Who waits for as long as it takes has all done again that may be.
 */
static bool expected(const struct worker *w, int rc)
{
	switch (rc) {
	case -EIO:
		return !device.patient || w->kind == PUT_NOREPLAY;
	case -ENODEV:
	case -EACCES:
	case -ENOLINK:
		return true;
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
	/* ENOLINK is also what a block device says where requests do not wait for ever. */
	if (rc == -ENODEV || rc == -EACCES || (rc == -ENOLINK && device.patient))
		w->refused++;
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

static bool one_put(struct worker *w, unsigned int i, uint32_t flags)
{
	uint64_t seq = next_write(w, &w->slot[i]);

	slot_fill(w, i, seq, w->buf);
	if (!outcome(w, "put", vm_put(device.fd, slot_offset(w, i), w->buf, SLOT,
				      PMOF_F_PERSIST | flags)))
		return false;
	slot_durable(&w->slot[i], seq);
	return true;
}

/* A restart is told once; the check asks whether there was one. */
static bool persist(struct worker *w, unsigned int first)
{
	int rc = vm_persist(device.persist_fd, slot_offset(w, first), BATCH * SLOT);

	if (rc != -EIO || !device.patient)
		return outcome(w, "persist", rc);
	w->unknown++;
	w->told++;
	return false;
}

/* Puts to neighbours, and one PERSIST for those that were done. */
static bool persist_batch(struct worker *w, unsigned int first)
{
	uint64_t seq[BATCH] = { 0 };
	unsigned int k;
	bool done = false;

	for (k = 0; k < BATCH; k++) {
		seq[k] = next_write(w, &w->slot[first + k]);
		slot_fill(w, first + k, seq[k], w->buf);
		if (!outcome(w, "put", vm_put(device.persist_fd, slot_offset(w, first + k), w->buf,
					      SLOT, 0)))
			seq[k] = 0;
	}
	if (!persist(w, first))
		return false;	/* what was put may be gone, if the server was restarted */
	for (k = 0; k < BATCH; k++)
		if (seq[k]) {
			slot_durable(&w->slot[first + k], seq[k]);
			done = true;
		}
	return done;
}

static bool commit(struct worker *w, unsigned int i)
{
	struct slot *s = &w->slot[i];
	uint64_t generation, seq;

	s->unprepared = true;
	if (!outcome(w, "prepare", vm_prepare(device.fd, slot_offset(w, i), OBJECT, &generation)))
		return false;
	seq = next_write(w, s);
	slot_fill(w, i, seq, w->buf);
	if (!outcome(w, "commit", vm_commit(device.fd, slot_offset(w, i), w->buf, OBJECT,
					    generation)))
		return false;
	slot_durable(s, seq);
	return true;
}

static bool block_write(struct worker *w, unsigned int i)
{
	uint64_t seq = next_write(w, &w->slot[i]);
	ssize_t n;

	slot_fill(w, i, seq, w->buf);
	n = pwrite(device.block, w->buf, SLOT, slot_offset(w, i));
	if (!outcome(w, "write", n == SLOT ? 0 : n < 0 ? -errno : -EIO))
		return false;
	slot_durable(&w->slot[i], seq);
	return true;
}

/* True: it was acknowledged as durable. */
static bool one(struct worker *w, unsigned int i)
{
	switch (w->kind) {
	case PUT:
		return one_put(w, i, 0);
	case PUT_NOREPLAY:
		return one_put(w, i, PMOF_F_NOREPLAY);
	case PERSIST:
		return persist_batch(w, i);
	case COMMIT:
		return commit(w, i);
	default:
		return block_write(w, i);
	}
}

/*
 * From one slot to the next, so that what was acknowledged stays as it is until it is compared.
 * What failed is written again, and one in four of the others: what is left of the former write
 * may yet come over the latter.
 */
static void go_on(struct worker *w)
{
	unsigned int step = w->kind == PERSIST ? BATCH : 1;

	if (vm_rnd(&w->state) % 4 == 0)
		return;
	w->at = (w->at + step) % SLOTS;
	w->passed += step;
	if (w->passed >= SLOTS)
		w->rewritten += step;
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

	while (park(w) != END) {
		pthread_rwlock_rdlock(&device.lock);
		if (one(w, w->at)) {
			acknowledged(w);
			go_on(w);
		}
		pthread_rwlock_unlock(&device.lock);
	}
	return NULL;
}
