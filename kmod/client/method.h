/* SPDX-License-Identifier: GPL-2.0 */
/* Persist methods by name, and why one is refused: pure (tests/unit). */
#ifndef PMOF_METHOD_H
#define PMOF_METHOD_H

#include "wire.h"

const char *pmof_method_name(unsigned int method);
int pmof_method_parse(const char *name);
const char *pmof_method_refusal(unsigned int method, const struct pmof_login_reply *login);

#endif /* PMOF_METHOD_H */
