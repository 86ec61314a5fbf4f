/* SPDX-License-Identifier: GPL-2.0 */
/* What the uapi's numbers are called in sysfs, configfs and the log. */
#ifndef PMOF_NAMES_H
#define PMOF_NAMES_H

const char *pmof_domain_name(unsigned int domain);
const char *pmof_placement_name(unsigned int placement);
const char *pmof_method_refusal(unsigned int method, unsigned int domain, unsigned int placement);

#endif /* PMOF_NAMES_H */
