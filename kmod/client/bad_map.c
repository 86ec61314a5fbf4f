// SPDX-License-Identifier: GPL-2.0
/* Where the namespace has bad pages: asked for at the login, looked up at each request. */
#include <linux/slab.h>

#include "client.h"

/* Nobody may have more pieces than a list of bad blocks makes, with room to spare. */
#define MAX_PIECES	BIT(17)

/* --- asking ----------------------------------------------------------------- */

/* A map that grows. */
struct builder {
	struct pmof_bad_map *map;
	unsigned int room;
};

static int make_room(struct builder *b, u32 more)
{
	unsigned int room = max(2 * b->room, b->map->nr + more);
	struct pmof_bad_map *map;

	if (b->map->nr + more <= b->room)
		return 0;
	if (room > MAX_PIECES)
		return -EPROTO;
	map = kvzalloc(struct_size(map, piece, room), GFP_KERNEL);
	if (!map)
		return -ENOMEM;
	memcpy(map, b->map, struct_size(map, piece, b->map->nr));
	kvfree(b->map);
	b->map = map;
	b->room = room;
	return 0;
}

static int fetch_segment(struct pmof_conn *conn, struct builder *b, u32 i)
{
	u64 at = (u64)i << conn->layout.shift;
	u64 end = at + pmof_layout_length(&conn->layout, i);
	u32 count;
	int rc = 0;

	b->map->sectors += conn->seg[i].bad_sectors;
	/* It moves on each time: pmof_get_pieces_reply(). */
	while (at < end && !rc) {
		if (fatal_signal_pending(current))
			return -EINTR;
		rc = make_room(b, PMOF_PIECES_PER_REPLY);
		if (rc)
			break;
		rc = pmof_admin_pieces(conn, &at, end, b->map->piece + b->map->nr, &count);
		if (!rc)
			b->map->nr += count;
	}
	return rc;
}

/**
 * pmof_bad_fetch - ask for the pieces of segments with bad pages
 * @conn: its segments have just been fetched
 *
 * Return: 0 or a negative errno, and then what was known before stays.  Sleeps.
 */
int pmof_bad_fetch(struct pmof_conn *conn)
{
	u32 i, nr = pmof_layout_segments(&conn->layout);
	struct builder b = { };
	int rc = 0;

	for (i = 0; i < nr && !rc; i++) {
		if (likely(!conn->seg[i].bad_sectors))
			continue;
		if (!b.map)
			b.map = kvzalloc(sizeof(*b.map), GFP_KERNEL);
		rc = b.map ? fetch_segment(conn, &b, i) : -ENOMEM;
	}
	if (rc) {
		kvfree(b.map);
		return rc;
	}
	/* One login at a time. */
	b.map = rcu_replace_pointer(conn->bad, b.map, true);
	if (b.map)
		kvfree_rcu(b.map, rcu);
	return 0;
}

/* With the connection object. */
void pmof_bad_free(struct pmof_conn *conn)
{
	kvfree(rcu_dereference_protected(conn->bad, true));
}

u64 pmof_bad_sectors(struct pmof_conn *conn)
{
	struct pmof_bad_map *map;
	u64 sectors;

	rcu_read_lock();
	map = rcu_dereference(conn->bad);
	sectors = map ? map->sectors : 0;
	rcu_read_unlock();
	return sectors;
}

/* --- looking up ------------------------------------------------------------- */

/*
 * How much of a range, from its start on, can go in one way: by RDMA with one
 * rkey, or (*@gap) by messages.  Any context.
 */
u64 pmof_bad_run(struct pmof_conn *conn, u64 offset, u64 length, bool *gap)
{
	u64 n = pmof_layout_piece(&conn->layout, offset, length);
	const struct pmof_piece *in = NULL;
	struct pmof_bad_map *map;

	*gap = false;
	if (!conn->seg[pmof_layout_index(&conn->layout, offset)].bad_sectors)
		return n;
	rcu_read_lock();
	map = rcu_dereference(conn->bad);
	if (map)
		n = pmof_piece_run(map->piece, map->nr, offset, n, &in);
	rcu_read_unlock();
	*gap = !in;
	return n;
}

bool pmof_bad_hit_slow(struct pmof_conn *conn, u64 offset, u64 length)
{
	bool gap;
	u64 n;

	while (length) {
		n = pmof_layout_piece(&conn->layout, offset, length);
		if (pmof_bad_run(conn, offset, length, &gap) != n || gap)
			return true;
		offset += n;
		length -= n;
	}
	return false;
}

/*
 * What RDMA names for @offset of a segment in pieces.  The caller is inside
 * pmof_post_begin(), so in an RCU read section.  An rkey that no HCA takes where
 * the map has changed since the caller looked: then the session has, too.
 */
void pmof_bad_where(struct pmof_conn *conn, u64 offset, u64 *addr, u32 *rkey)
{
	struct pmof_bad_map *map = rcu_dereference(conn->bad);
	const struct pmof_piece *in = NULL;

	*addr = 0;
	*rkey = 0;
	if (map)
		pmof_piece_run(map->piece, map->nr, offset, 1, &in);
	if (!in)
		return;
	*addr = in->addr + (offset - in->offset);
	*rkey = in->rkey;
}

/* @offset, or if RDMA does not reach that, a place that it reaches.  As pmof_bad_where(). */
u64 pmof_bad_elsewhere_slow(struct pmof_conn *conn, u64 offset)
{
	struct pmof_bad_map *map;
	bool gap;
	u32 i;

	pmof_bad_run(conn, offset, 1, &gap);
	if (!gap)
		return offset;
	map = rcu_dereference(conn->bad);
	if (map && map->nr)
		return map->piece[0].offset;
	for (i = 0; i < pmof_layout_segments(&conn->layout); i++)
		if (!conn->seg[i].bad_sectors)
			return (u64)i << conn->layout.shift;
	return offset;
}
