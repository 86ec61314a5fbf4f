/* SPDX-License-Identifier: GPL-2.0 */
/* Going back to a place of a run: failures that were kept, images that are booted. */
#ifndef PMOF_CRASH_REPLAY_H
#define PMOF_CRASH_REPLAY_H

#include "explore.h"

/* Reads DIR/place. Returns 0, or -1 with a message. */
int replay_read(struct config *c, struct place *place, const char *dir);
void replay_free(struct config *c);

/* These return an exit status: 0 all is well, 1 a loss, -1 broken. */
int replay_show(const struct config *c, const struct log *log, const struct trace *trace,
		const struct timeline *t, const struct place *place);
int replay_verify(const struct config *c, const struct log *log, const struct trace *trace,
		  const struct timeline *t, const struct place *place, const char *dump);

/* Saves @nr images as OUT/boot-N, to be booted. Returns 0, or -1 with a message. */
int save_places(const struct config *c, const struct log *log, const struct trace *trace,
		const struct timeline *t, unsigned int nr);

#endif /* PMOF_CRASH_REPLAY_H */
