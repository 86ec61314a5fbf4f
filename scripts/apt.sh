# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # shared with who sources it
#
# Debian packages in a private cache: fetched with apt from the mirror that this
# machine already uses, checked with Debian's keyring, unpacked, never installed.
# Nothing under /etc/apt or /var/lib/apt changes. Sourced by scripts/kernel,
# scripts/qemu and scripts/fio, which set me to their name.

cache=${PMOF_CACHE:-$HOME/.cache/pmof}
keyring_dir=/usr/share/keyrings

say() {
	echo "$me: $*" >&2
}

die() {
	say "$*"
	exit 1
}

host_codename() {
	# shellcheck disable=SC1091 # the system's own file
	(. /etc/os-release && echo "${VERSION_CODENAME:-}")
}

# The Debian mirror of this machine's apt configuration.
mirror() {
	local code targets uri
	code=$(host_codename)
	# shellcheck disable=SC2016 # apt expands them
	targets=$(apt-get indextargets \
		--format '$(ORIGIN)|$(LABEL)|$(RELEASE)|$(CODENAME)|$(REPO_URI)' \
		'Created-By: Packages')
	uri=$(awk -F'|' -v c="$code" \
		'$1 == "Debian" && $2 == "Debian" && ($3 == c || $4 == c) { print $5; exit }' \
		<<<"$targets")
	# Before the first apt-get update there are no lists: ask what it would read.
	[[ -n $uri ]] || uri=$(apt-get --print-uris -q update 2>/dev/null |
		sed -n "s,^'\(.*/debian[^/]*\)/*/dists/\($code\|stable\)/InRelease'.*,\1,p" |
		head -n 1)
	[[ -n $uri ]] || die "no Debian mirror in the apt configuration"
	echo "$uri"
}

keyring() {
	local f
	for f in "$keyring_dir"/debian-archive-keyring.{gpg,pgp}; do
		if [[ -f $f ]]; then
			echo "$f"
			return
		fi
	done
	die "no Debian archive keyring: apt-get install debian-archive-keyring"
}

# apt_setup SUITE [deb-src]: private lists of one suite, of its packages or of its
# sources, under $cache/apt/SUITE.
apt_setup() {
	local suite=$1 type=${2:-deb} uri ring
	uri=$(mirror)
	ring=$(keyring)
	apt_dir=$cache/apt/$suite
	[[ $type == deb ]] || apt_dir+=-$type
	mkdir -p "$apt_dir"/{lists/partial,archives/partial,state,none}
	echo "$type [arch=amd64 signed-by=$ring] $uri $suite main" \
		>"$apt_dir/sources.list"
	apt_opts=(-o "Dir::Etc::sourcelist=$apt_dir/sources.list"
		-o "Dir::Etc::sourceparts=$apt_dir/none"
		-o "Dir::Etc::preferences=$apt_dir/none/file"
		-o "Dir::Etc::preferencesparts=$apt_dir/none"
		-o "Dir::State::lists=$apt_dir/lists" -o "Dir::State=$apt_dir/state"
		-o "Dir::State::status=/var/lib/dpkg/status"
		-o "Dir::Cache=$apt_dir" -o "Dir::Cache::archives=$apt_dir/archives"
		-o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
		-o "Acquire::Languages=none" -o "APT::Architecture=amd64"
		-o "APT::Architectures::=amd64")
	((EUID != 0)) || apt_opts+=(-o "APT::Sandbox::User=root")
	say "reading the package lists of $suite"
	apt-get "${apt_opts[@]}" -q update >"$apt_dir/update.log" 2>&1 ||
		{ cat "$apt_dir/update.log" >&2; die "cannot read the lists of $suite"; }
}

private_cache() {
	apt-cache "${apt_opts[@]}" "$@"
}

# newest REGEX: the highest package name that matches.
newest() {
	private_cache pkgnames | grep -E "^$1\$" | sort -V | tail -n 1
}

# depends_of PACKAGE REGEX: the names of its dependencies that match.
depends_of() {
	private_cache show --no-all-versions "$1" |
		sed -n 's/^Depends: //p' | tr ',' '\n' |
		sed 's/^ *//; s/ .*//' | grep -E "^$2\$" || true
}

# download DIR PACKAGE...: the .deb files into DIR.
download() {
	local dir=$1 pkg
	shift
	for pkg in "$@"; do
		say "downloading $pkg"
		(cd "$dir" && apt-get "${apt_opts[@]}" -q download "$pkg") \
			>"$apt_dir/download.log" 2>&1 ||
			{ cat "$apt_dir/download.log" >&2; die "cannot download $pkg"; }
	done
}

# with_lock COMMAND...: one fetch at a time; apt's lists have one writer.
with_lock() {
	local fd
	mkdir -p "$cache"
	exec {fd}>"$cache/.apt.lock"
	flock -n "$fd" || { say "waiting for another fetch"; flock "$fd"; }
	"$@"
	exec {fd}>&-
}
