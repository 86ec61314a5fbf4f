# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2015,SC2034,SC2154
#
# File systems with a tree of files in them: /host/tree.tar and the checksums in
# /host/tree.md5, made by tests/run from the kernel's headers. Behind lib.sh.

# unpack DIR
unpack() {
	mkdir "$1" && tar -xf /host/tree.tar -C "$1"
}

# same DIR: every file there, with the right bytes; none besides.
same() {
	(cd "$1" && md5sum -c -s /host/tree.md5 &&
		[ "$(find . -type f | wc -l)" = "$(wc -l </host/tree.md5)" ])
}

# From the device, not from memory.
same_cold() {
	echo 3 >/proc/sys/vm/drop_caches
	same "$1"
}

# put_tree FSTYPE DEVICE DIR: into a file system that is there; what sync promises is kept.
put_tree() {
	mkdir -p /mnt && mount -t "$1" "$2" /mnt && unpack "/mnt/$3" && sync && same_cold "/mnt/$3" &&
		umount /mnt
}

# look FSTYPE DEVICE OPTIONS DIR...: mount, compare, unmount.
look() {
	_type=$1 _disk=$2 _mount=$3 _bad=0
	shift 3
	mkdir -p /mnt && mount -t "$_type" -o "$_mount" "$_disk" /mnt || return
	for _d; do
		same "/mnt/$_d" || { echo "$_d differs"; _bad=1; }
	done
	umount /mnt && return $_bad
}

# clean FSTYPE DEVICE: nothing to mend.
clean() {
	case $1 in
	ext4) e2fsck -fn "$2" ;;
	xfs) xfs_repair -n "$2" ;;
	esac
}
