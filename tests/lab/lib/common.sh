# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# Messages, places and small tools of the lab's host side.

lab_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
repo=$(cd "$lab_dir/../.." && pwd)
cache=${PMOF_CACHE:-$HOME/.cache/pmof}

say() {
	echo "lab: $*"
}

warn() {
	echo "lab: $*" >&2
}

die() {
	warn "$*"
	exit 3
}

usage_error() {
	warn "$*"
	warn "try: tests/lab/lab --help"
	exit 2
}

# Sleep without a process: the supervisor polls with this.
nap() {
	read -rt "$1" <&"$nap_fd" || true
}

open_nap() {
	local fifo
	fifo=$(mktemp -u)
	mkfifo "$fifo"
	exec {nap_fd}<>"$fifo"
	rm -f "$fifo"
}

# now: seconds since the lab started, with one decimal.
now() {
	local t=$(((${EPOCHREALTIME/[.,]/} - started_us) / 100000))
	printf '%d.%d' $((t / 10)) $((t % 10))
}

need_tools() {
	local tool
	for tool in qemu-system-x86_64 busybox cpio depmod fio ndctl rdma nvme \
		ib_write_lat rping setpriv xz; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null ||
			die "$tool is missing: run scripts/deps lab"
	done
	[[ -n $opt_shell ]] || return 0
	for tool in tmux socat; do
		command -v "$tool" >/dev/null ||
			die "$tool is missing: run scripts/deps lab"
	done
}
