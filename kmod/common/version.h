/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PMOF_VERSION_H
#define PMOF_VERSION_H

/* Of the modules, the library and the command: the Makefile takes it from here. */
#define PMOF_MODULE_VERSION "0.1.0"

#endif /* PMOF_VERSION_H */
