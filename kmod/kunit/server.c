// SPDX-License-Identifier: GPL-2.0
/* The server's. */
#include "../server/placement.c"
#include "../server/layout.c"
#include "../server/grant.c"
