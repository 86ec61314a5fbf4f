// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the server is told so that it may use freed space again: below which epoch this
 * file has no READ under way (docs/kv.md, "Reclaim").
 *
 * The server gives every address an epoch of its own, above all that it has given before.  So
 * a GET counts from before it is sent with one more than the newest epoch that was known
 * then: its answer's is not below that.  For the same reason a report that is on its way while
 * another thread gets an address speaks the truth of that, too.
 */
#include "internal.h"

void kv_epochs_init(struct kv_epochs *e)
{
	pthread_mutex_init(&e->lock, NULL);
	e->holders.next = &e->holders;
	e->holders.prev = &e->holders;
}

/* Another session: what the one before has given is void, and epochs may start anew. */
void kv_epochs_reset(struct kv_epochs *e, uint64_t session)
{
	pthread_mutex_lock(&e->lock);
	e->session = session;
	e->newest = 0;
	pthread_mutex_unlock(&e->lock);
}

/* For a request of @session.  What is said of a session that is over reaches nobody. */
uint64_t kv_epoch_report(struct kv_epochs *e, uint64_t session)
{
	uint64_t low = 0;
	struct kv_holder *h;

	pthread_mutex_lock(&e->lock);
	if (session == e->session) {
		low = e->newest + 1;
		for (h = e->holders.next; h != &e->holders; h = h->next)
			if (h->session == session && h->epoch < low)
				low = h->epoch;
	}
	pthread_mutex_unlock(&e->lock);
	return low;
}

/* Before a GET is sent; again, if the one before was not, because another's request had failed. */
void kv_epoch_hold(struct kv_epochs *e, struct kv_holder *h, uint64_t session)
{
	kv_epoch_let_go(e, h);
	pthread_mutex_lock(&e->lock);
	h->held = true;
	h->session = session;
	h->epoch = e->newest + 1;
	h->next = &e->holders;
	h->prev = e->holders.prev;
	h->prev->next = h;
	e->holders.prev = h;
	pthread_mutex_unlock(&e->lock);
}

/* Its answer has given an address. */
void kv_epoch_answer(struct kv_epochs *e, struct kv_holder *h, uint64_t epoch)
{
	pthread_mutex_lock(&e->lock);
	h->epoch = epoch;
	if (h->session == e->session && epoch > e->newest)
		e->newest = epoch;
	pthread_mutex_unlock(&e->lock);
}

/* There is no READ under way, nor will there be one.  May be called again. */
void kv_epoch_let_go(struct kv_epochs *e, struct kv_holder *h)
{
	if (!h->held)
		return;
	h->held = false;
	pthread_mutex_lock(&e->lock);
	h->prev->next = h->next;
	h->next->prev = h->prev;
	pthread_mutex_unlock(&e->lock);
}
