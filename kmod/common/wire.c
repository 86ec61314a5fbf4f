// SPDX-License-Identifier: GPL-2.0
/*
 * The wire codec.  The door: whatever arrives is checked here, once, and only
 * host-order, checked values leave.
 */
#include "wire.h"
#include "range.h"

/* Names are file names in configfs and sysfs: letters, digits, "._:-". */
static bool name_char_ok(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' || c == '-';
}

/*
 * True if @name is 1 to @max - 1 good characters, NUL terminated within @max,
 * and does not start with a dot.
 */
bool pmof_name_valid(const char *name, size_t max)
{
	size_t i, len = strnlen(name, max);

	if (!len || len == max || name[0] == '.')
		return false;
	for (i = 0; i < len; i++)
		if (!name_char_ok(name[i]))
			return false;
	return true;
}
EXPORT_SYMBOL_GPL(pmof_name_valid);

/* A name of a message, from @w: zeros fill its field, as they do all that is reserved. */
static bool get_name(char *dst, const char *w, size_t max)
{
	size_t i;

	memcpy(dst, w, max);
	for (i = strnlen(w, max); i < max; i++)
		if (w[i])
			return false;
	return pmof_name_valid(dst, max);
}

static void put_name(char *dst, const char *src, size_t max)
{
	memset(dst, 0, max);
	memcpy(dst, src, strnlen(src, max - 1));
}

static int check_proto(__le32 magic, __le16 version)
{
	if (le32_to_cpu(magic) != PMOF_WIRE_MAGIC)
		return PMOF_SC_MAGIC;
	if (le16_to_cpu(version) != PMOF_WIRE_VERSION)
		return PMOF_SC_VERSION;
	return 0;
}

void pmof_put_connect(struct pmof_wire_connect *w, const struct pmof_connect *c)
{
	memset(w, 0, sizeof(*w));
	w->magic = cpu_to_le32(PMOF_WIRE_MAGIC);
	w->version = cpu_to_le16(PMOF_WIRE_VERSION);
	w->queue_id = cpu_to_le16(c->queue_id);
	w->queue_depth = cpu_to_le16(c->queue_depth);
	w->session_id = cpu_to_le64(c->session_id);
	if (c->has_mac) {
		w->flags = cpu_to_le16(PMOF_CONNECT_F_MAC);
		w->counter = cpu_to_le64(c->counter);
		memcpy(w->mac, c->mac, sizeof(w->mac));
	} else {
		put_name(w->client_id, c->client_id, sizeof(w->client_id));
	}
}
EXPORT_SYMBOL_GPL(pmof_put_connect);

/* Who connects: a client ID, or a proof for a queue whose session says that. */
static int get_connect_who(const struct pmof_wire_connect *w, struct pmof_connect *out)
{
	out->has_mac = le16_to_cpu(w->flags) & PMOF_CONNECT_F_MAC;
	out->counter = 0;
	if (out->has_mac) {
		memset(out->client_id, 0, sizeof(out->client_id));
		out->counter = le64_to_cpu(w->counter);
		memcpy(out->mac, w->mac, sizeof(out->mac));
		return out->queue_id && out->counter ? 0 : PMOF_SC_INVALID;
	}
	return get_name(out->client_id, w->client_id, sizeof(out->client_id)) ? 0 : PMOF_SC_INVALID;
}

/* CM pads private data with zeros, so @len may be more than was sent. */
int pmof_get_connect(const void *buf, size_t len, struct pmof_connect *out)
{
	const struct pmof_wire_connect *w = buf;
	int rc;

	if (!buf || len < sizeof(*w))
		return PMOF_SC_MAGIC;
	rc = check_proto(w->magic, w->version);
	if (rc)
		return rc;
	out->queue_id = le16_to_cpu(w->queue_id);
	out->queue_depth = le16_to_cpu(w->queue_depth);
	out->session_id = le64_to_cpu(w->session_id);
	if (w->reserved32 || le16_to_cpu(w->flags) & ~PMOF_CONNECT_F_MAC)
		return PMOF_SC_INVALID;
	if (out->queue_id > PMOF_MAX_QUEUES || !out->queue_depth ||
	    out->queue_depth > PMOF_MAX_DEPTH)
		return PMOF_SC_INVALID;
	if (!out->queue_id != !out->session_id)
		return PMOF_SC_INVALID;
	return get_connect_who(w, out);
}
EXPORT_SYMBOL_GPL(pmof_get_connect);

void pmof_put_accept(struct pmof_wire_accept *w, int status, u16 queue_depth)
{
	memset(w, 0, sizeof(*w));
	w->magic = cpu_to_le32(PMOF_WIRE_MAGIC);
	w->version = cpu_to_le16(PMOF_WIRE_VERSION);
	w->status = cpu_to_le16(status);
	w->queue_depth = cpu_to_le16(queue_depth);
}
EXPORT_SYMBOL_GPL(pmof_put_accept);

/* For accepts and rejects alike: returns the peer's status, or our own doubt. */
int pmof_get_accept(const void *buf, size_t len, u16 *queue_depth)
{
	const struct pmof_wire_accept *w = buf;
	u16 depth;
	int rc;

	if (!buf || len < sizeof(*w))
		return PMOF_SC_MAGIC;
	rc = check_proto(w->magic, w->version);
	if (rc)
		return rc;
	rc = le16_to_cpu(w->status);
	if (rc)
		return rc < PMOF_SC_MAX ? rc : PMOF_SC_INTERNAL;
	depth = le16_to_cpu(w->queue_depth);
	if (!depth || depth > PMOF_MAX_DEPTH)
		return PMOF_SC_INVALID;
	*queue_depth = depth;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_accept);

void pmof_put_hdr(struct pmof_wire_hdr *h, u8 opcode, u16 tag, u32 length, u32 status)
{
	memset(h, 0, sizeof(*h));
	h->opcode = opcode;
	h->tag = cpu_to_le16(tag);
	h->length = cpu_to_le32(length);
	h->status = cpu_to_le32(status);
}
EXPORT_SYMBOL_GPL(pmof_put_hdr);

/* The rules of a request header that hold for every opcode. */
int pmof_get_request_hdr(const void *buf, size_t len)
{
	const struct pmof_wire_hdr *h = buf;

	if (len < sizeof(*h) || le32_to_cpu(h->length) != len)
		return PMOF_SC_INVALID;
	if (h->flags || h->status || h->reserved || (h->opcode & PMOF_MSG_REPLY))
		return PMOF_SC_INVALID;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_request_hdr);

/* A reply to @opcode: its status if that is not OK, else PMOF_SC_OK if well formed. */
int pmof_get_reply_hdr(const void *buf, size_t len, u8 opcode, size_t min_len)
{
	const struct pmof_wire_hdr *h = buf;
	u32 status;

	if (len < sizeof(*h) || le32_to_cpu(h->length) != len)
		return PMOF_SC_INVALID;
	if (h->opcode != (opcode | PMOF_MSG_REPLY) || h->flags || h->reserved)
		return PMOF_SC_INVALID;
	status = le32_to_cpu(h->status);
	if (status)
		return status < PMOF_SC_MAX ? status : PMOF_SC_INTERNAL;
	return len < min_len ? PMOF_SC_INVALID : 0;
}
EXPORT_SYMBOL_GPL(pmof_get_reply_hdr);

size_t pmof_put_login(struct pmof_wire_login *w, u16 tag, const struct pmof_login *l)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_LOGIN, tag, sizeof(*w), 0);
	memcpy(w->instance, l->instance, sizeof(w->instance));
	put_name(w->name, l->name, sizeof(w->name));
	w->nr_queues = cpu_to_le16(l->nr_queues);
	w->path_id = cpu_to_le16(l->path_id);
	w->flags = cpu_to_le32(l->flags);
	w->resume_id = cpu_to_le64(l->resume_id);
	w->keep_alive_ms = cpu_to_le32(l->keep_alive_ms);
	w->loss_timeout = cpu_to_le32(l->loss_timeout);
	w->call_size = cpu_to_le32(l->call_size);
	memcpy(w->resume_proof, l->resume_proof, sizeof(w->resume_proof));
	memcpy(w->proof, l->proof, sizeof(w->proof));
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_login);

/* Who will not write can keep nobody else from writing. */
static bool login_flags_ok(u32 flags)
{
	return !(flags & ~PMOF_LOGIN_F_ALL) &&
	       (!(flags & PMOF_LOGIN_F_READ_ONLY) || flags == PMOF_LOGIN_F_READ_ONLY);
}

int pmof_get_login(const void *buf, size_t len, struct pmof_login *out)
{
	const struct pmof_wire_login *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	memcpy(out->instance, w->instance, sizeof(out->instance));
	out->nr_queues = le16_to_cpu(w->nr_queues);
	out->path_id = le16_to_cpu(w->path_id);
	out->flags = le32_to_cpu(w->flags);
	out->resume_id = le64_to_cpu(w->resume_id);
	out->keep_alive_ms = le32_to_cpu(w->keep_alive_ms);
	out->loss_timeout = le32_to_cpu(w->loss_timeout);
	out->call_size = le32_to_cpu(w->call_size);
	memcpy(out->resume_proof, w->resume_proof, sizeof(out->resume_proof));
	memcpy(out->proof, w->proof, sizeof(out->proof));
	if (!out->nr_queues || out->nr_queues > PMOF_MAX_QUEUES)
		return PMOF_SC_INVALID;
	if (!login_flags_ok(out->flags) || w->reserved || !pmof_call_size_ok(out->call_size))
		return PMOF_SC_INVALID;
	return get_name(out->name, w->name, sizeof(out->name)) ? 0 : PMOF_SC_INVALID;
}
EXPORT_SYMBOL_GPL(pmof_get_login);

size_t pmof_put_login_reply(struct pmof_wire_login_reply *w, u16 tag,
			    const struct pmof_login_reply *r)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_LOGIN | PMOF_MSG_REPLY, tag, sizeof(*w), 0);
	w->session_id = cpu_to_le64(r->session_id);
	w->generation = cpu_to_le64(r->generation);
	w->ns_size = cpu_to_le64(r->ns_size);
	w->segment_size = cpu_to_le64(r->segment_size);
	w->features = cpu_to_le64(r->features);
	w->nr_segments = cpu_to_le32(r->nr_segments);
	w->methods = cpu_to_le32(r->methods);
	w->flags = cpu_to_le32(r->flags);
	w->nr_queues = cpu_to_le16(r->nr_queues);
	w->max_ranges = cpu_to_le16(r->max_ranges);
	w->domain = r->domain;
	w->placement = r->placement;
	w->service = r->service;
	w->call_size = cpu_to_le32(r->call_size);
	w->writers = cpu_to_le32(r->writers);
	w->history = cpu_to_le64(r->history);
	w->max_inline = cpu_to_le16(r->max_inline);
	memcpy(w->proof, r->proof, sizeof(w->proof));
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_login_reply);

static bool login_reply_ok(const struct pmof_login_reply *r)
{
	struct pmof_layout layout;

	if (pmof_layout_init(&layout, r->ns_size, r->segment_size))
		return false;
	return r->session_id && r->nr_segments == pmof_layout_segments(&layout) &&
	       r->nr_queues && r->nr_queues <= PMOF_MAX_QUEUES &&
	       r->max_ranges && r->max_ranges <= PMOF_MAX_RANGES &&
	       r->max_inline <= PMOF_MAX_INLINE && pmof_call_size_ok(r->call_size);
}

int pmof_get_login_reply(const void *buf, size_t len, struct pmof_login_reply *out)
{
	const struct pmof_wire_login_reply *w = buf;
	int rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_LOGIN, sizeof(*w));

	if (rc)
		return rc;
	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	out->session_id = le64_to_cpu(w->session_id);
	out->generation = le64_to_cpu(w->generation);
	out->ns_size = le64_to_cpu(w->ns_size);
	out->segment_size = le64_to_cpu(w->segment_size);
	out->features = le64_to_cpu(w->features);
	out->nr_segments = le32_to_cpu(w->nr_segments);
	out->methods = le32_to_cpu(w->methods);
	out->flags = le32_to_cpu(w->flags);
	out->nr_queues = le16_to_cpu(w->nr_queues);
	out->max_ranges = le16_to_cpu(w->max_ranges);
	out->domain = w->domain;
	out->placement = w->placement;
	out->service = w->service;
	out->call_size = le32_to_cpu(w->call_size);
	out->writers = le32_to_cpu(w->writers);
	out->history = le64_to_cpu(w->history);
	out->max_inline = le16_to_cpu(w->max_inline);
	memcpy(out->proof, w->proof, sizeof(out->proof));
	return login_reply_ok(out) ? 0 : PMOF_SC_INVALID;
}
EXPORT_SYMBOL_GPL(pmof_get_login_reply);

size_t pmof_put_announce(struct pmof_wire_announce *w, u32 kind, u64 arg)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_ANNOUNCE, 0, sizeof(*w), 0);
	w->kind = cpu_to_le32(kind);
	w->arg = cpu_to_le64(arg);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_announce);

int pmof_get_announce(const void *buf, size_t len, u32 *kind, u64 *arg)
{
	const struct pmof_wire_announce *w = buf;
	int rc = pmof_get_request_hdr(buf, len);

	if (rc)
		return rc;
	if (w->hdr.opcode != PMOF_MSG_ANNOUNCE || len != sizeof(*w) || w->reserved)
		return PMOF_SC_INVALID;
	*kind = le32_to_cpu(w->kind);
	*arg = le64_to_cpu(w->arg);
	return *kind && *kind < PMOF_ANNOUNCE_MAX ? 0 : PMOF_SC_INVALID;
}
EXPORT_SYMBOL_GPL(pmof_get_announce);

size_t pmof_put_get_segments(struct pmof_wire_get_segments *w, u16 tag, u32 first, u32 count)
{
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET_SEGMENTS, tag, sizeof(*w), 0);
	w->first = cpu_to_le32(first);
	w->count = cpu_to_le32(count);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_get_segments);

/* *count comes out capped to what one reply holds. */
int pmof_get_get_segments(const void *buf, size_t len, u32 nr_segments,
			  u32 *first, u32 *count)
{
	const struct pmof_wire_get_segments *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	*first = le32_to_cpu(w->first);
	*count = le32_to_cpu(w->count);
	if (!*count || !pmof_range_ok(*first, *count, nr_segments))
		return PMOF_SC_RANGE;
	*count = min_t(u32, *count, PMOF_SEGMENTS_PER_REPLY);
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_get_segments);

size_t pmof_put_segments_reply(struct pmof_wire_segments_reply *w, u16 tag, u32 first,
			       const struct pmof_segment_desc *seg, u32 count)
{
	size_t len = sizeof(*w) + count * sizeof(w->segment[0]);
	u32 i;

	pmof_put_hdr(&w->hdr, PMOF_MSG_GET_SEGMENTS | PMOF_MSG_REPLY, tag, len, 0);
	w->first = cpu_to_le32(first);
	w->count = cpu_to_le32(count);
	for (i = 0; i < count; i++) {
		w->segment[i].addr = cpu_to_le64(seg[i].addr);
		w->segment[i].length = cpu_to_le64(seg[i].length);
		w->segment[i].rkey = cpu_to_le32(seg[i].rkey);
		w->segment[i].bad_sectors = cpu_to_le32(seg[i].bad_sectors);
	}
	return len;
}
EXPORT_SYMBOL_GPL(pmof_put_segments_reply);

int pmof_get_segments_reply(const void *buf, size_t len, u32 first, u32 asked, u32 *count)
{
	const struct pmof_wire_segments_reply *w = buf;
	int rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_GET_SEGMENTS, sizeof(*w));

	if (rc)
		return rc;
	*count = le32_to_cpu(w->count);
	if (le32_to_cpu(w->first) != first || !*count || *count > asked)
		return PMOF_SC_INVALID;
	if (len != sizeof(*w) + (u64)*count * sizeof(w->segment[0]))
		return PMOF_SC_INVALID;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_segments_reply);

/* Entry @i of a reply that pmof_get_segments_reply() has passed. */
void pmof_get_segment(const void *buf, u32 i, struct pmof_segment_desc *out)
{
	const struct pmof_wire_segments_reply *w = buf;

	out->addr = le64_to_cpu(w->segment[i].addr);
	out->length = le64_to_cpu(w->segment[i].length);
	out->rkey = le32_to_cpu(w->segment[i].rkey);
	out->bad_sectors = le32_to_cpu(w->segment[i].bad_sectors);
}
EXPORT_SYMBOL_GPL(pmof_get_segment);

size_t pmof_put_stats_reply(struct pmof_wire_stats_reply *w, u16 tag,
			    const u64 value[PMOF_SRV_STAT_MAX])
{
	int i;

	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET_STATS | PMOF_MSG_REPLY, tag, sizeof(*w), 0);
	w->count = cpu_to_le32(PMOF_SRV_STAT_MAX);
	for (i = 0; i < PMOF_SRV_STAT_MAX; i++)
		w->value[i] = cpu_to_le64(value[i]);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_stats_reply);

int pmof_get_stats_reply(const void *buf, size_t len, u64 value[PMOF_SRV_STAT_MAX])
{
	const struct pmof_wire_stats_reply *w = buf;
	int i, rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_GET_STATS, sizeof(*w));

	if (rc)
		return rc;
	if (len != sizeof(*w) || le32_to_cpu(w->count) != PMOF_SRV_STAT_MAX)
		return PMOF_SC_INVALID;
	for (i = 0; i < PMOF_SRV_STAT_MAX; i++)
		value[i] = le64_to_cpu(w->value[i]);
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_stats_reply);

size_t pmof_put_persist(struct pmof_wire_persist *w, u16 tag,
			const struct pmof_range *range, u16 nr)
{
	size_t len = sizeof(*w) + nr * sizeof(w->range[0]);
	u16 i;

	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_PERSIST, tag, len, 0);
	w->nr_ranges = cpu_to_le16(nr);
	for (i = 0; i < nr; i++) {
		w->range[i].offset = cpu_to_le64(range[i].offset);
		w->range[i].length = cpu_to_le64(range[i].length);
	}
	return len;
}
EXPORT_SYMBOL_GPL(pmof_put_persist);

/* Of a message that pmof_put_persist() has made. */
void pmof_put_persist_flags(struct pmof_wire_persist *w, u16 flags)
{
	w->flags = cpu_to_le16(flags);
}
EXPORT_SYMBOL_GPL(pmof_put_persist_flags);

int pmof_get_persist(const void *buf, size_t len, u64 ns_size,
		     struct pmof_range range[PMOF_MAX_RANGES], u16 *nr, u16 *flags)
{
	const struct pmof_wire_persist *w = buf;
	u16 i;

	if (len < sizeof(*w) || w->reserved32)
		return PMOF_SC_INVALID;
	*flags = le16_to_cpu(w->flags);
	if (*flags & ~PMOF_PERSIST_F_ALL)
		return PMOF_SC_INVALID;
	*nr = le16_to_cpu(w->nr_ranges);
	if (!*nr || *nr > PMOF_MAX_RANGES || len != sizeof(*w) + *nr * sizeof(w->range[0]))
		return PMOF_SC_INVALID;
	for (i = 0; i < *nr; i++) {
		range[i].offset = le64_to_cpu(w->range[i].offset);
		range[i].length = le64_to_cpu(w->range[i].length);
		if (!pmof_range_ok(range[i].offset, range[i].length, ns_size))
			return PMOF_SC_RANGE;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_persist);

static const struct {
	int err;
	const char *text;
} status_table[] = {
	[PMOF_SC_OK]		= { 0, "success" },
	[PMOF_SC_MAGIC]		= { -EPROTO, "the peer does not speak pmof" },
	[PMOF_SC_VERSION]	= { -EPROTONOSUPPORT, "the peer speaks another protocol version" },
	[PMOF_SC_INVALID]	= { -EPROTO, "malformed message" },
	[PMOF_SC_NO_NAMESPACE]	= { -ENOENT, "no such namespace on this port" },
	[PMOF_SC_NO_SESSION]	= { -ENOTCONN, "no such session" },
	[PMOF_SC_BUSY]		= { -EBUSY, "queue in use or limit reached" },
	[PMOF_SC_RANGE]		= { -ERANGE, "past the end of the namespace" },
	[PMOF_SC_READ_ONLY]	= { -EROFS, "the namespace is read-only" },
	[PMOF_SC_NO_MEMORY]	= { -ENOMEM, "the server is out of memory" },
	[PMOF_SC_UNSUPPORTED]	= { -EOPNOTSUPP, "not supported by the server" },
	[PMOF_SC_INTERNAL]	= { -EREMOTEIO, "the server failed, see its log" },
	[PMOF_SC_ACCESS]	= { -EACCES, "this client is not allowed" },
	[PMOF_SC_STALE]		= { -ESTALE, "the object is not prepared with that generation" },
	/* What the block layer knows as a medium error; user space gets EIO. */
	[PMOF_SC_MEDIUM]	= { -ENODATA, "a bad block" },
	[PMOF_SC_EXCLUSIVE]	= { -EBUSY, "another client has the namespace for itself" },
};

int pmof_status_to_errno(u32 status)
{
	return status < PMOF_SC_MAX ? status_table[status].err : -EREMOTEIO;
}
EXPORT_SYMBOL_GPL(pmof_status_to_errno);

const char *pmof_status_str(u32 status)
{
	return status < PMOF_SC_MAX ? status_table[status].text : "unknown status";
}
EXPORT_SYMBOL_GPL(pmof_status_str);
