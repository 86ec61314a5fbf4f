#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server's part of the demo; after the crash it runs again, as at a boot.
set -euo pipefail

say() {
	echo "=== $*"
}

# Shows a command as a user would type it, and runs it.
run() {
	echo "  # $*"
	"$@"
}

if [ "$LAB_BOOT" = 1 ]; then
	say "server: RDMA and persistent memory (lab helpers: rdma link add, ndctl create-namespace)"
else
	say "server: booted again on the same persistent memory"
fi
lab_rdma_up >/dev/null
lab_pmem_up >/dev/null

run pmof server listen "$LAB_SERVER_IP"
run pmof server export /dev/pmem0 --name demo
run pmof server list
lab_signal ready
lab_wait_clients 200
