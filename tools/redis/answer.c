// SPDX-License-Identifier: BSD-3-Clause
/* Answers in the Redis protocol. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "redis.h"

#define SEND_FROM	(1UL << 20)	/* bytes: what a client asks for shall not fill the memory */

bool answer_send(struct answer *a)
{
	size_t at = 0;
	ssize_t n;

	while (at < a->length && !a->failed) {
		n = send(a->fd, a->data + at, a->length - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			a->failed = true;
		else
			at += (size_t)n;
	}
	a->length = 0;
	/* Hundreds of connections may be open that once asked for something large. */
	if (a->room > 2 * SEND_FROM) {
		free(a->data);
		a->data = NULL;
		a->room = 0;
	}
	return !a->failed;
}

void answer_bytes(struct answer *a, const void *bytes, size_t length)
{
	size_t room = a->room ? a->room : 4096;
	char *more;

	while (room - a->length < length)
		room *= 2;
	if (room != a->room) {
		more = realloc(a->data, room);
		if (!more) {
			a->failed = true;
			return;
		}
		a->data = more;
		a->room = room;
	}
	if (length)
		memcpy(a->data + a->length, bytes, length);
	a->length += length;
	if (a->length >= SEND_FROM)
		answer_send(a);
}

static void answer_text(struct answer *a, const char *text)
{
	answer_bytes(a, text, strlen(text));
}

void answer_status(struct answer *a, const char *text)
{
	answer_text(a, "+");
	answer_text(a, text);
	answer_text(a, "\r\n");
}

void answer_error(struct answer *a, const char *text)
{
	answer_text(a, "-");
	answer_text(a, text);
	answer_text(a, "\r\n");
}

void answer_errno(struct answer *a, int error)
{
	char text[128];

	switch (-error) {
	case ENOSPC:
		answer_error(a, "OOM the store is full");
		break;
	case EINVAL:
		answer_error(a, "ERR a key has 1 to 1024 bytes");
		break;
	case EFBIG:
		answer_error(a, "ERR the value is too long");
		break;
	case EROFS:
	case EBADF:
		answer_error(a, "READONLY the store takes no changes");
		break;
	case EIO:
		answer_error(a, "ERR the connection to the store was lost: a change may have been "
			     "made, or not");
		break;
	case ENODEV:
	case EACCES:
	case EPROTO:
		snprintf(text, sizeof(text), "ERR the store: %s: a change may have been made, or "
			 "not", strerror(-error));
		answer_error(a, text);
		break;
	default:
		snprintf(text, sizeof(text), "ERR the store: %s", strerror(-error));
		answer_error(a, text);
		break;
	}
}

void answer_number(struct answer *a, long long n)
{
	char text[32];

	snprintf(text, sizeof(text), ":%lld\r\n", n);
	answer_text(a, text);
}

void answer_bulk(struct answer *a, const void *bytes, size_t length)
{
	char text[32];

	snprintf(text, sizeof(text), "$%zu\r\n", length);
	answer_text(a, text);
	answer_bytes(a, bytes, length);
	answer_text(a, "\r\n");
}

void answer_nil(struct answer *a)
{
	answer_text(a, "$-1\r\n");
}

void answer_array(struct answer *a, size_t elements)
{
	char text[32];

	snprintf(text, sizeof(text), "*%zu\r\n", elements);
	answer_text(a, text);
}
