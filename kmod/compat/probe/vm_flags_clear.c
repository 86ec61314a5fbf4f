// SPDX-License-Identifier: GPL-2.0
/* 6.3: flags of a mapping are changed by calls. */
#include <linux/mm.h>

void pmof_probe(struct vm_area_struct *vma);
void pmof_probe(struct vm_area_struct *vma)
{
	vm_flags_clear(vma, VM_MAYWRITE);
}
