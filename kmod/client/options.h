/* SPDX-License-Identifier: GPL-2.0 */
/* The option string of /dev/pmof-control: a pure parser (tests/unit). */
#ifndef PMOF_OPTIONS_H
#define PMOF_OPTIONS_H

#include "auth.h"
#include "wire.h"

#define PMOF_DEPTH_MIN		4
#define PMOF_DEPTH_DEFAULT	128
#define PMOF_RECONNECT_DELAY_MAX 3600	/* seconds */
#define PMOF_TIMEOUT_MAX	86400	/* seconds, of any of the time limits */

/**
 * struct pmof_options - what a connection is asked to be
 * @addr: server address, not yet parsed
 * @name: namespace
 * @id: client ID; empty: the host name
 * @port: service number
 * @queues: I/O queues; 0: one a CPU
 * @depth: requests on one queue
 * @method: enum pmof_method
 * @read_only: ask for no right to write
 * @poll_queues: I/O queues for polled block requests, besides @queues
 * @block_size: bytes of a logical block of the block device: 512 or 4096
 * @block: make a block device
 * @keep_alive_tmo: seconds without a sign of life after which the connection is lost; 0: off
 * @reconnect_delay: the longest time between two attempts to get it back, seconds
 * @fail_io_timeout: seconds that requests wait for it; 0: not at all; -1: until the device is dead
 * @device_loss_timeout: seconds after which the device is dead; 0: at once; -1: never
 * @writeback: it has a volatile cache: a write is durable after a flush, or with FUA
 * @key: proves that this is the client @id; empty: none
 * @exclusive: nobody else shall write
 * @max_call: bytes of the longest message of a CALL, a multiple of 4096
 * @takeover: at connect, end the sessions that stand in the way of that
 */
struct pmof_options {
	char addr[64];
	char name[PMOF_WIRE_NAME_LEN];
	char id[PMOF_WIRE_ID_LEN];
	u16 port;
	u16 queues;
	u16 depth;
	u16 method;
	bool read_only;
	u16 poll_queues;
	u16 block_size;
	bool block;
	bool writeback;
	u16 keep_alive_tmo;
	u16 reconnect_delay;
	s32 fail_io_timeout;
	s32 device_loss_timeout;
	struct pmof_key key;
	bool exclusive;
	bool takeover;
	u32 max_call;
};

bool pmof_number_parse(const char *value, u16 min, u16 max, u16 *out);
bool pmof_timeout_parse(const char *value, s32 *out);
int pmof_options_parse(char *buf, struct pmof_options *o, const char **why);

#endif /* PMOF_OPTIONS_H */
