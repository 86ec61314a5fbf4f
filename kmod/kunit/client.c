// SPDX-License-Identifier: GPL-2.0
/* The client's pure files, whose functions its module does not export. */
#include "../client/options.c"
#include "../client/method.c"
#include "../client/auto_table.c"
