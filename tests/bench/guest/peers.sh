# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2012,SC2015,SC2034,SC2086,SC2154,SC2254 # variables of lib.sh; no spaces in words
#
# For the scripts of tests/bench: the contestants, at the server and at the client.

# shellcheck source=/dev/null
. /usr/lib/pmof-tests/lib.sh

NVMET=/sys/kernel/config/nvmet
NQN=nqn.2026-01.pmof:bench
HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:6e4fcc1c-6b2b-4f0e-9f0c-7a3d6c1f7a10
HOSTID=6e4fcc1c-6b2b-4f0e-9f0c-7a3d6c1f7a10
CONTROL_PORT=7300
DEVICES=/host/devices.tsv

# --- the server -----------------------------------------------------------------

# Touched once before anybody measures: the host gives the nvdimm's pages when they are written.
touch_pmem() {
	dd if=/dev/zero of="$1" bs=1M oflag=direct 2>/tmp/dd.err && return
	grep -q 'No space left' /tmp/dd.err || { cat /tmp/dd.err >&2; return 1; }
}

# nvmet_export TRANSPORT PORT: a subsystem of its own, or the client would take the two for two
# paths to one device.
nvmet_export() {
	_s=$NVMET/subsystems/$NQN-$1
	mkdir -p "$_s/namespaces/1" "$NVMET/ports/$2" &&
		set_attr "$_s/attr_allow_any_host" 1 &&
		set_attr "$_s/namespaces/1/device_path" /dev/pmem0 &&
		set_attr "$_s/namespaces/1/enable" 1 &&
		set_attr "$NVMET/ports/$2/addr_trtype" "$1" &&
		set_attr "$NVMET/ports/$2/addr_adrfam" ipv4 &&
		set_attr "$NVMET/ports/$2/addr_traddr" "$LAB_SERVER_IP" &&
		set_attr "$NVMET/ports/$2/addr_trsvcid" "$2" &&
		ln -s "$_s" "$NVMET/ports/$2/subsystems/$NQN-$1"
}

# nvmet opens its device without a holder, so it can have what pmof has exported. That is what is
# wanted here and nowhere else: one medium for all, and nobody needs what others have written.
nvmet_serve() {
	modprobe -a nvmet nvmet-rdma nvmet-tcp &&
		nvmet_export rdma 4420 && nvmet_export tcp 4421
}

# The second nvdimm, in devdax mode: only such memory can user space register for long.
rpma_serve() {
	[ -x "$PROGRAMS/rpma_server" ] || return 0
	modprobe -a dax_pmem device_dax &&
		ndctl create-namespace -f -e namespace1.0 -m devdax >/tmp/ndctl.log 2>&1 ||
		{ cat /tmp/ndctl.log >&2; return 1; }
	until_true 10 test -c /dev/dax1.0 || return
	"$PROGRAMS/rpma_server" "$LAB_SERVER_IP" /dev/dax1.0 "$LAB_DOMAIN" 2 >/tmp/rpma.log 2>&1 &
	until_true 30 grep -q ready /tmp/rpma.log || { cat /tmp/rpma.log >&2; return 1; }
}

rnbd_serve() {
	modprobe -q rnbd-server dev_search_path=/dev || return 0
}

# Waits without polling, which would cost the server's CPU while it is measured.
next_order() {
	nc -l -p "$CONTROL_PORT" </dev/null
}

# --- the client -----------------------------------------------------------------

order() {
	until_true 10 sh -c "echo $1 | nc $LAB_SERVER_IP $CONTROL_PORT"
}

# Prints who is who: NAME BLOCK-DEVICE-OR-MINUS CHARACTER-DEVICE-OR-MINUS WHAT...
enter() {
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$DEVICES"
}

# check_block DEVICE BYTES DRIVER: really the block device that is meant?
check_block() {
	_b=${1#/dev/}
	[ -b "$1" ] || { echo "$1 is no block device" >&2; return 1; }
	[ "$(($(cat "/sys/class/block/$_b/size") * 512))" = "$2" ] ||
		{ echo "$1 has not $2 bytes" >&2; return 1; }
	case $(readlink -f "/sys/class/block/$_b")$(cat "/sys/class/block/$_b/device/transport" 2>/dev/null) in
	$3) ;;
	*) echo "$1 is not a device of $3: $(readlink -f "/sys/class/block/$_b")" >&2; return 1 ;;
	esac
}

# add_block NAME DEVICE BYTES DRIVER [CHARACTER-DEVICE]: as /dev/bench/NAME, with no scheduler, as
# the only I/O queue would have one.
add_block() {
	check_block "$2" "$3" "$4" || return
	_q=/sys/class/block/${2#/dev/}/queue
	set_attr "$_q/scheduler" none
	mkdir -p /dev/bench
	ln -sf "$2" "/dev/bench/$1"
	_b=/sys/class/block/${2#/dev/}
	enter "$1" "$2" "${5:--}" "$(cat "$_b/dev"), $3 bytes, $(cat "$_q/write_cache"), $(cat "$_q/logical_block_size")-byte blocks, $(ls "$_b/mq" | wc -l) queue(s)"
}

# add_pmof NAME BYTES OPTIONS
add_pmof() {
	_i=$(pmof_connect "$3") || { enter "$1" - - "not to be had: $3"; return 0; }
	until_true 5 test -c "/dev/pmofc${_i#pmof}" || return
	if [ -e "/sys/class/block/$_i" ]; then
		until_true 5 test -b "/dev/$_i" &&
			add_block "$1" "/dev/$_i" "$2" "*/pmof*" "/dev/pmofc${_i#pmof}"
	else
		enter "$1" - "/dev/pmofc${_i#pmof}" "no block device"
	fi
}

nvme_device() {
	for _d in /sys/class/nvme/nvme*; do
		[ "$(cat "$_d/transport" 2>/dev/null)" = "$1" ] || continue
		for _n in "$_d"/nvme*n*; do
			[ -d "$_n" ] && echo "/dev/${_n##*/}" && return
		done
	done
	return 1
}

# add_nvme TRANSPORT PORT BYTES
add_nvme() {
	nvme connect -t "$1" -a "$LAB_SERVER_IP" -s "$2" -n "$NQN-$1" --hostnqn="$HOSTNQN" \
		--hostid="$HOSTID" >/tmp/nvme.log 2>&1 || { cat /tmp/nvme.log >&2; return 1; }
	until_true 10 nvme_device "$1" >/dev/null || return
	_n=$(nvme_device "$1")
	until_true 10 test -b "$_n" && add_block "nvme-$1" "$_n" "$3" "*/nvme*$1"
}

add_rnbd() {
	if ! modprobe -q rnbd-client; then
		enter rnbd - - "not in this kernel"
		return 0
	fi
	_b=$(ls /sys/class/block)
	set_attr /sys/devices/virtual/rnbd-client/ctl/map_device \
		"sessname=bench path=ip:$LAB_SERVER_IP device_path=pmem0" || return
	until_true 10 test -b /dev/rnbd0 && add_block rnbd /dev/rnbd0 "$1" "*/rnbd*"
}

add_floor() {
	modprobe pmof-floor connect="$LAB_SERVER_IP" && until_true 5 test -c /dev/pmof-floor &&
		enter floor - /dev/pmof-floor "one RDMA request from the kernel"
}

# add_all BYTES
add_all() {
	: >"$DEVICES"
	add_pmof pmof-read "$1" persist=read &&
		add_pmof pmof-assist "$1" persist=assist &&
		add_pmof pmof-rpc "$1" persist=rpc &&
		add_pmof pmof-wb "$1" persist=read,cache=writeback || return
	# The quickest that nvme can be: no layer for several paths above it.
	modprobe nvme-core multipath=N && modprobe -a nvme-rdma nvme-tcp &&
		add_nvme rdma 4420 "$1" && add_nvme tcp 4421 "$1" && add_rnbd "$1" && add_floor
}

has_block() {
	[ -b "/dev/bench/$1" ]
}

char_of() {
	awk -F'\t' -v n="$1" '$1 == n { print $3 }' "$DEVICES"
}
