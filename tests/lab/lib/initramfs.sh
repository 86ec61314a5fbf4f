# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# What the VMs boot: a base initramfs (programs and kernel modules), cached per
# kernel and recipe, and an overlay (pmof, --overlay, the lab's own guest
# files), built at each run and appended to it. Heavy programs stay outside, in
# a toolbox directory that the VMs mount by 9p.
#
# Trees here have a merged /usr: bin, sbin and usr/sbin are usr/bin, lib is
# usr/lib. A cpio member 'lib' would replace the link by a directory.

programs="bash dash kmod ip rdma bridge ss tc ndctl daxctl ibv_devinfo ibv_devices
	ibv_rc_pingpong rping ib_write_lat ib_read_lat ib_send_lat ib_write_bw
	ib_read_bw ib_send_bw ib_atomic_lat mke2fs mount umount lsblk
	blkdiscard taskset chrt stdbuf dmsetup
	timeout setpriv e2fsck sfdisk blockdev"
toolbox_programs="fio nvme mkfs.xfs xfs_repair xfs_io strace gdb"
optional_programs="strace gdb ib_atomic_lat stdbuf"

module_list="virtio_pci virtio_net virtio_blk virtio_console virtio_rng 9p
	9pnet_virtio nfit nd_pmem nd_btt nd_e820 device_dax dax_pmem kmem
	virtio_pmem rdma_rxe ib_uverbs rdma_cm rdma_ucm ib_umad nvme_fabrics
	nvme_rdma nvme_tcp nvme_loop nvmet nvmet_rdma nvmet_tcp ext4 xfs configfs
	dummy veth bridge sch_netem ifb crc32_generic crc32c_generic crc32c_intel
	crct10dif_generic crct10dif_pclmul brd loop null_blk dm_mod dm_log_writes
	dm_flakey dm_snapshot overlay"

# --- modules ----------------------------------------------------------------

# module_closure TREE < names: relative paths of the modules and all they need.
# modprobe -D would leave out what the host happens to have built in, so this
# reads the depends field of the modules themselves, from depmod's list.
module_closure() {
	awk -v want="$(tr '\n' ' ')" '
		function name(p) {
			sub(".*/", "", p); sub(/\.ko.*/, "", p); gsub("-", "_", p)
			return p
		}
		{
			sub(":$", "", $1); path[name($1)] = $1
			need[name($1)] = substr($0, length($1) + 2)
		}
		END {
			n = split(want, w, " ")
			for (i = 1; i <= n; i++) {
				m = w[i]; gsub("-", "_", m)
				if (!(m in path)) continue
				print path[m]
				k = split(need[m], d, " ")
				for (j = 1; j <= k; j++) print d[j]
			}
		}' "$1/modules.dep" | sort -u
}

# copy_modules FROM TO: of the paths on standard input, uncompressed (busybox
# and a bare insmod cannot read .xz).
copy_modules() {
	local from=$1 to=$2 path
	while read -r path; do
		[[ -f $from/$path ]] || continue
		mkdir -p "$to/$(dirname "$path")"
		case $path in
		*.xz) xz -dc "$from/$path" >"$to/${path%.xz}" ;;
		*.zst) zstd -qdc "$from/$path" >"$to/${path%.zst}" ;;
		*) cp "$from/$path" "$to/$path" ;;
		esac
	done
}

# The full module tree of the kernel with a modules.dep, made once.
index_kernel_modules() {
	[[ -f $kernel_modules/modules.dep ]] ||
		/sbin/depmod -b "${kernel_modules%/lib/modules/*}" "$release"
}

base_modules() {
	local to=$1/usr/lib/modules/$release f
	mkdir -p "$to"
	tr -s ' \n\t' '\n' <<<"$module_list" | module_closure "$kernel_modules" |
		copy_modules "$kernel_modules" "$to"
	for f in modules.builtin modules.builtin.modinfo modules.order; do
		cp "$kernel_modules/$f" "$to/"
	done
}

# --- programs ---------------------------------------------------------------

find_program() {
	PATH=$PATH:/usr/sbin:/sbin type -P "$1" || true
}

libraries_of() {
	ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }
		$1 ~ /^\// && $1 !~ /:$/ { print $1 }' | sort -u
}

# put_file TREE FILE: FILE at its own place, links followed, /usr merged.
put_file() {
	local dest
	dest=$(merged_path "$2")
	mkdir -p "$1/$(dirname "$dest")"
	cp -L "$2" "$1/$dest"
}

merged_path() {
	local p=${1#/}
	case $p in
	bin/* | lib/* | lib64/*) p=usr/$p ;;
	sbin/* | usr/sbin/*) p=usr/bin/${p#*sbin/} ;;
	esac
	echo "$p"
}

base_skeleton() {
	local tree=$1
	mkdir -p "$tree"/{dev,proc,sys,run,tmp,etc,root,host,var/lib,usr/bin,usr/lib64}
	ln -s usr/bin "$tree/bin"
	ln -s usr/bin "$tree/sbin"
	ln -s bin "$tree/usr/sbin"
	ln -s usr/lib "$tree/lib"
	ln -s usr/lib64 "$tree/lib64"
	ln -s /run "$tree/var/run"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$tree/etc/passwd"
	echo 'root:x:0:' >"$tree/etc/group"
	printf '127.0.0.1 localhost\n::1 localhost\n' >"$tree/etc/hosts"
	echo 'hosts: files' >"$tree/etc/nsswitch.conf"
}

# Real programs win over busybox applets of the same name.
base_applets() {
	local tree=$1 applet
	cp "$(find_program busybox)" "$tree/usr/bin/busybox"
	"$tree/usr/bin/busybox" --list | while read -r applet; do
		[[ -e $tree/usr/bin/$applet ]] || ln -s busybox "$tree/usr/bin/$applet"
	done
}

base_programs() {
	local tree=$1 name path lib
	local -a files=()
	for name in $programs; do
		path=$(find_program "$name")
		if [[ -z $path ]]; then
			[[ " $optional_programs " == *" $name "* ]] ||
				die "$name is missing: run scripts/deps lab"
			continue
		fi
		files+=("$path")
		put_file "$tree" "$path"
	done
	for name in modprobe insmod rmmod lsmod modinfo depmod; do
		ln -s kmod "$tree/usr/bin/$name"
	done
	ln -s mke2fs "$tree/usr/bin/mkfs.ext4"
	# Not busybox: its shell prefers its own applets to real programs.
	ln -s dash "$tree/usr/bin/sh"
	# The C library opens libgcc_s when a thread exits; the verbs library opens
	# the provider of soft-RoCE.
	for lib in /usr/lib/*/libgcc_s.so.1 /lib/*/libgcc_s.so.1 /usr/lib/*/libibverbs/librxe-rdmav*.so /etc/libibverbs.d/rxe.driver; do
		[[ -e $lib ]] || continue
		put_file "$tree" "$lib"
		[[ $lib != *.so* ]] || files+=("$lib")
	done
	[[ ! -f /etc/mke2fs.conf ]] || put_file "$tree" /etc/mke2fs.conf
	libraries_of "${files[@]}" | while read -r lib; do
		put_file "$tree" "$lib"
	done
}

# The toolbox: programs with dozens of libraries, run in place from 9p.
base_toolbox() {
	local tree=$1 box=$2 name path lib
	mkdir -p "$box/lib"
	for name in $toolbox_programs; do
		path=$(find_program "$name")
		[[ -n $path ]] || continue
		cp -L "$path" "$box/$name"
		rm -f "$tree/usr/bin/$name"
		printf '#!/bin/sh\nexport LD_LIBRARY_PATH=/run/lab/toolbox/lib\n' \
			>"$tree/usr/bin/$name"
		# shellcheck disable=SC2016 # for the guest's shell
		printf 'exec /run/lab/toolbox/%s "$@"\n' "$name" >>"$tree/usr/bin/$name"
		chmod 755 "$tree/usr/bin/$name"
		libraries_of "$path" | while read -r lib; do
			[[ -e $tree/$(merged_path "$lib") ]] || cp -L "$lib" "$box/lib/"
		done
	done
}

# --- the base ---------------------------------------------------------------

base_recipe() {
	local name path
	echo "$release"
	cat "$lab_dir/lib/initramfs.sh"
	for name in busybox $programs $toolbox_programs; do
		path=$(find_program "$name")
		[[ -z $path ]] || stat -Lc '%n %s %Y' "$path"
	done
}

pack() {
	(cd "$1" && find . -mindepth 1 -print0 | sort -z |
		cpio --null -o -H newc -R 0:0 --quiet)
}

make_base() {
	local tmp
	tmp=$(mktemp -d "$cache/lab/.base.XXXXXX")
	base_skeleton "$tmp/tree"
	base_programs "$tmp/tree"
	base_toolbox "$tmp/tree" "$tmp/toolbox"
	base_applets "$tmp/tree"
	base_modules "$tmp/tree"
	(cd "$tmp/tree" && find usr/lib usr/lib64 -name '*.so*') >"$tmp/libs"
	pack "$tmp/tree" >"$tmp/base.cpio"
	mkdir "$tmp/modules"
	mv "$tmp/tree/usr/lib/modules/$release" "$tmp/modules/"
	rm -rf "$tmp/tree"
	extract_vmlinux "$image" "$tmp/vmlinux" || rm -f "$tmp/vmlinux"
	chmod 755 "$tmp"
	rm -rf "$base"
	mv "$tmp" "$base"
}

# prepare_base: sets base to a directory with base.cpio, toolbox, modules, and
# vmlinux if the image could be decompressed.
prepare_base() {
	local hash fd
	mkdir -p "$cache/lab"
	index_kernel_modules
	hash=$(base_recipe | sha256sum)
	base=$cache/lab/$release-${hash:0:16}
	if [[ -f $base/base.cpio ]]; then
		touch "$base"
		return
	fi
	exec {fd}>"$cache/lab/.lock"
	flock "$fd"
	if [[ ! -f $base/base.cpio ]]; then
		say "making the base initramfs for $release (once)"
		find "$cache/lab" -maxdepth 1 -name "$release-*" -mtime +7 \
			-exec rm -rf {} +
		make_base
	fi
	exec {fd}>&-
}

# Decompressing on the host saves seconds of emulated decompression; QEMU
# starts an uncompressed kernel through its PVH entry.
extract_vmlinux() {
	local from=$1 to=$2 tool magic pos
	for tool in "zstd -dcq" "xz -dcq" "lz4 -dcq" "gzip -dcq"; do
		case $tool in
		zstd*) magic='\x28\xb5\x2f\xfd' ;;
		xz*) magic='\xfd7zXZ\x00' ;;
		lz4*) magic='\x02\x21\x4c\x18' ;;
		gzip*) magic='\x1f\x8b\x08' ;;
		esac
		while read -r pos; do
			# Trailing garbage makes the tools fail after the whole kernel.
			# shellcheck disable=SC2086 # a command and its options
			tail -c +$((pos + 1)) "$from" | $tool >"$to" 2>/dev/null || true
			if [[ $(head -c 4 "$to" | od -An -tx1 | tr -d ' ') == 7f454c46 ]]; then
				return 0
			fi
		done < <(LC_ALL=C grep -aboP "$magic" "$from" | LC_ALL=C cut -d: -f1)
	done
	return 1
}

# --- the overlay ------------------------------------------------------------

# merge_tree FROM TO: copy a tree, folding its bin, sbin and lib into usr.
merge_tree() {
	local from=$1 to=$2 dir
	mkdir -p "$to"
	for dir in "$from"/* "$from"/.[!.]*; do
		[[ -e $dir || -L $dir ]] || continue
		case ${dir##*/} in
		bin | sbin | lib | lib64)
			[[ ! -L $dir ]] || continue
			merge_usr "$dir" "$to/usr/${dir##*/}"
			;;
		usr)
			local sub
			for sub in "$dir"/*; do
				merge_usr "$sub" "$to/usr/${sub##*/}"
			done
			;;
		*) cp -a "$dir" "$to/" ;;
		esac
	done
}

merge_usr() {
	local to=${2%/usr/sbin}
	[[ $to == "$2" ]] || to+=/usr/bin
	[[ -d $1 && ! -L $1 ]] || { cp -a "$1" "$to"; return; }
	mkdir -p "$to"
	cp -a "$1/." "$to/"
}

# find_stage: the tree that 'make install DESTDIR=' filled. Made if asked for
# or if it is not there; without it the VMs lack pmof, which serves for trying
# out the lab.
find_stage() {
	local log=$run/build.log fresh=
	stage=${PMOF_STAGE:-$repo/build/stage-$version}
	if [[ -n ${PMOF_STAGE:-} ]]; then
		[[ -z $opt_build ]] || usage_error "--build does not fill PMOF_STAGE"
		[[ -d $stage ]] || die "PMOF_STAGE=$stage is not a directory"
	elif [[ -n $opt_build || -z $(ls -A "$stage" 2>/dev/null) ]]; then
		say "building pmof for $version"
		[[ -n $(ls -A "$stage" 2>/dev/null) ]] || fresh=1
		make -s -j"$(nproc)" -C "$repo" install DESTDIR="$stage" KVER="$version" \
			>"$log" 2>&1 </dev/null || build_failed "$log" $fresh
	fi
}

build_failed() {
	tail -n 20 "$1" >&2
	# Half a tree would pass for a whole one the next time.
	[[ -z ${2:-} ]] || rm -rf "$stage"
	[[ -z $opt_build ]] || die "make install failed; all of its output: $1"
	warn "make install failed: no pmof in the VMs; all of its output: $1"
	[[ -n $opt_shell ]] || stage=
}

overlay_pmof() {
	[[ -n $stage && -d $stage ]] || return 0
	merge_tree "$stage" "$1"
	rm -rf "$1"/usr/{include,share/man,share/doc} "$1"/usr/local/share/man
	find "$1" -name '*.a' -delete
	# Most of it: each boot would unpack it, and each load of a module read it.
	find "$1" -name '*.ko' -exec strip --strip-debug {} +
	[[ -d $1/usr/lib/modules/$release ]] ||
		warn "the stage $stage has no modules for $release"
}

# Programs in the overlay may want libraries that the base does not have.
overlay_libraries() {
	local tree=$1 f lib
	local -a elf=()
	while read -r f; do
		[[ $(head -c 4 "$f" | od -An -tx1 | tr -d ' ') != 7f454c46 ]] || elf+=("$f")
	done < <(find "$tree" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.ko*')
	((${#elf[@]})) || return 0
	LD_LIBRARY_PATH=$(find "$tree" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:) \
		libraries_of "${elf[@]}" | while read -r lib; do
		[[ $lib != "$tree"/* ]] || continue
		grep -qxF "$(merged_path "$lib")" "$base/libs" || put_file "$tree" "$lib"
	done
}

# In updates/, so that it is found before the kernel's own.
overlay_rxe() {
	local to=$1/usr/lib/modules/$release/updates
	[[ -n $rxe ]] || return 0
	mkdir -p "$to"
	objcopy --strip-debug "$rxe" "$to/rdma_rxe.ko"
}

# One modules.dep for base, pmof and --overlay together, with whatever else the
# added modules depend on.
overlay_modules() {
	local tree=$1 mod=$1/usr/lib/modules/$release index=$2 extra path
	mkdir -p "$mod" "$index/usr/lib/modules"
	ln -s usr/lib "$index/lib"
	extra=$(find "$mod" -name '*.ko' -exec /sbin/modinfo -F depends {} + |
		tr ',' '\n' | module_closure "$kernel_modules")
	if [[ -n $extra ]]; then
		while read -r path; do
			[[ -f $base/modules/$release/${path%.[xz]*} ]] || echo "$path"
		done <<<"$extra" | copy_modules "$kernel_modules" "$mod"
	fi
	cp -al "$base/modules/$release" "$index/usr/lib/modules/"
	find "$index/usr" -name 'modules.*' ! -name 'modules.builtin*' \
		! -name modules.order -delete
	cp -a --remove-destination "$mod/." "$index/lib/modules/$release/"
	/sbin/depmod -b "$index" "$release"
	find "$index/lib/modules/$release" -maxdepth 1 -name 'modules.*' \
		! -name 'modules.builtin' ! -name '*.modinfo' -exec cp {} "$mod/" \;
	rm -rf "$index"
}

overlay_guest() {
	local tree=$1 name
	mkdir -p "$tree/usr/lib/lab" "$tree/usr/bin"
	install -m 755 "$lab_dir/guest/init" "$tree/init"
	install -m 644 "$lab_dir/guest/lib.sh" "$tree/usr/lib/lab/lib.sh"
	install -m 755 "$lab_dir/guest/command" "$tree/usr/lib/lab/command"
	install -m 755 "$lab_dir/guest/pmof-reload" "$tree/usr/bin/pmof-reload"
	sed -n 's/^\(lab_[a-z_]*\)() {$/\1/p' "$lab_dir/guest/lib.sh" |
		while read -r name; do
			ln -s ../lib/lab/command "$tree/usr/bin/$name"
		done
}

# make_initrd FILE: base + overlay.
make_initrd() {
	local tmp=$private/overlay
	mkdir "$tmp"
	overlay_pmof "$tmp/tree"
	overlay_rxe "$tmp/tree"
	[[ -z $opt_overlay ]] || merge_tree "$opt_overlay" "$tmp/tree"
	overlay_guest "$tmp/tree"
	overlay_modules "$tmp/tree" "$tmp/index"
	overlay_libraries "$tmp/tree"
	cp "$base/base.cpio" "$1"
	pack "$tmp/tree" >>"$1"
	rm -rf "$tmp"
}
