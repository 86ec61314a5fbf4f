/* SPDX-License-Identifier: GPL-2.0 */
/* What the uapi's numbers are called in sysfs, configfs and the log. */
#ifndef PMOF_NAMES_H
#define PMOF_NAMES_H

const char *pmof_domain_name(unsigned int domain);
const char *pmof_placement_name(unsigned int placement);

#endif /* PMOF_NAMES_H */
