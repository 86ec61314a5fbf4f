# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # variables are shared with scripts/kernel
#
# The sanitizer kernels 6.12-kasan and 6.12-kcsan: Debian's linux-source-6.12,
# tinyconfig and our fragments (tests/lab/kernel), built once into the cache.
# Sourced by scripts/kernel.

fragments=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../tests/lab/kernel

# sanitized_recipe VARIANT: what the kernel depends on, for a rebuild when it changes.
sanitized_recipe() {
	cat "$fragments/base.config" "$fragments/$1.config" | sha256sum | cut -c1-16
}

have_sanitized() {
	local dir
	dir=$(kernel_dir "6.12-$1")
	[[ -f $dir/release && $(cat "$dir/recipe" 2>/dev/null) == "$(sanitized_recipe "$1")" ]]
}

# fetch_source DIR: the kernel's source package into DIR.debs.
fetch_source() {
	local suite pkg
	suite=$(suite_of 6.12)
	apt_setup "$suite"
	pkg=$(newest 'linux-source-6\.12')
	[[ -n $pkg ]] || die "no linux-source-6.12 in $suite"
	mkdir "$1.debs"
	download "$1.debs" "$pkg"
}

unpack_source() {
	mkdir "$1"
	dpkg-deb --fsys-tarfile "$1.debs"/*.deb |
		tar -xO --wildcards '*/linux-source-*.tar.xz' | tar -xJ -C "$1" --strip-components=1
	rm -rf "$1.debs"
}

# configure TREE VARIANT: every line of the fragments holds in the .config, or it fails.
configure() {
	local lost
	make -C "$1" tinyconfig || return
	cat "$fragments/base.config" "$fragments/$2.config" >>"$1/.config"
	make -C "$1" olddefconfig || return
	lost=$(cat "$fragments/base.config" "$fragments/$2.config" |
		grep -E '^(CONFIG_|# CONFIG_.* is not set)' | grep -vxFf "$1/.config") || return 0
	echo "this kernel's configuration does not take: ${lost//$'\n'/, }"
	return 1
}

# What building external modules does not need.
slim() {
	(cd "$1" && rm -rf Documentation block certs crypto drivers fs init io_uring ipc mm \
		net rust samples security sound usr virt vmlinux* .tmp_* \
		arch/[!x]* arch/xtensa arch/x86/{boot,kvm,kernel,mm,crypto}) || return
	find "$1" \( -path "$1/scripts" -o -path "$1/tools" \) -prune -o \
		-type f \( -name '*.[oac]' -o -name '*.cmd' \) -exec rm {} +
}

# harvest TREE ROOT: lays ROOT out as unpack() does.
harvest() {
	local tree=$1 root=$2 rel
	rel=$(make -s -C "$tree" kernelrelease) &&
		mkdir -p "$root/boot" "$root/usr/src" "$root/usr/lib/modules" &&
		cp "$tree/arch/x86/boot/bzImage" "$root/boot/vmlinuz-$rel" &&
		PATH=$PATH:/sbin make -C "$tree" INSTALL_MOD_PATH="$root/usr" \
			INSTALL_MOD_STRIP=1 modules_install &&
		slim "$tree" &&
		mv "$tree" "$root/usr/src/linux-headers-$rel" || return
	ln -s usr/lib "$root/lib"
	ln -sfn "../../../src/linux-headers-$rel" "$root/usr/lib/modules/$rel/build"
	echo "$rel" >"$root/release"
}

# fetch_sanitized VARIANT: builds it. Under a lock of its own: it takes long, and
# others want apt's.
fetch_sanitized() {
	local variant=$1 dir tmp fd
	dir=$(kernel_dir "6.12-$variant")
	mkdir -p "$cache/kernels"
	exec {fd}>"$cache/.$variant.lock"
	flock "$fd"
	! have_sanitized "$variant" || return 0
	tmp=$(mktemp -d "$cache/kernels/.$variant.XXXXXX")
	# shellcheck disable=SC2064 # the directory as it is now
	trap "rm -rf '$tmp'" EXIT
	with_lock fetch_source "$tmp/tree"
	say "building 6.12-$variant (once; 15 minutes on 2 processors): ${dir%/*}/$variant.log"
	{
		unpack_source "$tmp/tree" && configure "$tmp/tree" "$variant" &&
			make -C "$tmp/tree" -j"$(nproc)" bzImage modules &&
			harvest "$tmp/tree" "$tmp/root"
	} >"${dir%/*}/$variant.log" 2>&1 </dev/null ||
		{ tail -n 20 "${dir%/*}/$variant.log" >&2; die "cannot build 6.12-$variant"; }
	sanitized_recipe "$variant" >"$tmp/root/recipe"
	chmod 755 "$tmp/root"
	rm -rf "$dir"
	mv "$tmp/root" "$dir"
	rm -rf "$tmp"
	trap - EXIT
	say "6.12-$variant is in $dir"
	exec {fd}>&-
}
