// SPDX-License-Identifier: GPL-2.0
/* mmap of /dev/pmofcN.  A mapping holds its file, and so the connection and the module. */
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "client.h"
#include "compat.h"

/* The first store to a page since it was last written back. */
static vm_fault_t cache_page_mkwrite(struct vm_fault *vmf)
{
	struct address_space *mapping = vmf->vma->vm_file->f_mapping;
	const struct pmof_conn *conn = pmof_file_conn(vmf->vma->vm_file);
	struct folio *folio = page_folio(vmf->page);

	/* Another session than that of the mmap. */
	if (pmof_conn_read_only(conn))
		return VM_FAULT_SIGBUS;
	folio_lock(folio);
	if (folio->mapping != mapping) {
		/* Invalidated meanwhile: the fault is taken again. */
		folio_unlock(folio);
		return VM_FAULT_NOPAGE;
	}
	/*
	 * [M2] Dirty before the store can happen, under the lock that write-back takes
	 * to clear it: a store is in what is written, or finds its page protected.
	 */
	folio_mark_dirty(folio);
	folio_wait_stable(folio);
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct cache_vm_ops = {
	.fault		= filemap_fault,
	.map_pages	= filemap_map_pages,
	.page_mkwrite	= cache_page_mkwrite,
};

int pmof_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	int rc = pmof_conn_check(conn);

	if (rc)
		return rc;
	if (pmof_conn_read_only(conn) && (vma->vm_flags & VM_SHARED)) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		/* Nor by mprotect() later. */
		pmof_vm_flags_clear(vma, VM_MAYWRITE);
	}
	vma->vm_ops = &cache_vm_ops;
	return 0;
}
