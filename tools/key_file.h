/* SPDX-License-Identifier: BSD-3-Clause */
/* Files with a client's key. key_file.c needs libc only; tests/unit compiles it. */
#ifndef PMOF_TOOLS_KEY_FILE_H
#define PMOF_TOOLS_KEY_FILE_H

#include <stdbool.h>

#include "json_check.h"

#define KEY_TEXT_MAX	129	/* up to 128 hexadecimal digits, a NUL */

/**
 * key_file_read - read a client's key
 * @path: a file with one line of 32 to 128 hexadecimal digits, an even number of them. It is ours
 *	or root's, and nobody but its owner may read it
 * @kept: configured, and read unattended: a regular file, by that name itself. Else it may be
 *	a pipe, whose content is its writer's affair, and a symbolic link
 * @key: gets the digits
 * @why: gets what is wrong, of WHY_MAX bytes
 *
 * Thread safe. Return: 0; -EINVAL: it holds no key; -EPERM: others may read it; -EACCES: it is
 * somebody else's; -EBADF: no file; what open(2) and read(2) fail with. Then @key is empty.
 */
int key_file_read(const char *path, bool kept, char key[KEY_TEXT_MAX], char *why);

#endif /* PMOF_TOOLS_KEY_FILE_H */
