// SPDX-License-Identifier: GPL-2.0
/* The states of a connection: with names of its own, as client.c's files have. */
#include "../client/state.c"
