# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Helpers for scripts in a lab VM. Each is a program on the PATH as well, so
# nothing needs to be sourced; for the shell functions: . /usr/lib/lab/lib.sh
#
#   lab_net_up                 interface and static addresses
#   lab_rdma_up                lab_net_up, then soft-RoCE as rxe0 (v4 and v6)
#   lab_pmem_up [dev|mem]      /dev/pmem0 in fsdax mode, page map on the device
#                              (dev) or in memory; keeps a namespace that exists
#   lab_signal NAME [TEXT]     raise an event that all VMs can wait for
#   lab_wait NAME [SECONDS]    wait for it (60 s), print its text; 1 on time-out
#   lab_wait_clients [SECONDS] server: wait until every client's script ended
#   lab_server_kill            the host kills the server's QEMU, hard; returns
#                              when it is dead and its events are forgotten
#   lab_server_start           boots it again: same nvdimm, same script, LAB_BOOT
#                              one higher; does not wait for it to be ready
#   lab_server_crash           both
#   lab_vm VERB VM             kill, start, pause or resume server or clientN
#                              (its clock runs on: pause it for less than 50 s)
#   lab_role                   prints server or client
#   lab_ip VM [4|6]            address of server or clientN
#   lab_help                   this text
#
# In the environment: LAB_ROLE (server, client), LAB_VM (server, client1, ...),
# LAB_CLIENT_INDEX (1.., empty on the server), LAB_CLIENTS, LAB_BOOT (1..),
# LAB_IP, LAB_IP6, LAB_SERVER_IP, LAB_SERVER_IP6, LAB_RDMA_DEV, LAB_PMEM,
# LAB_DOMAIN (mem-ctrl, cpu), LAB_TIME_FACTOR (limits here are times that). A script starts in /host, the directory shared by
# all VMs and the caller. An event dies with the boot of the VM that raised it.

LAB_CTL=/run/lab/ctl

lab_help() {
	sed -n '/^# Helpers/,/^$/s/^# \{0,1\}//p' /usr/lib/lab/lib.sh
}

_lab_fail() {
	echo "$LAB_VM: $*" >&2
	return 1
}

# lab_scaled SECONDS: a time limit, on a slow kernel several times as much.
lab_scaled() {
	echo $(($1 * ${LAB_TIME_FACTOR:-1}))
}

lab_role() {
	echo "$LAB_ROLE"
}

# _lab_host VM: the last part of its addresses.
_lab_host() {
	case $1 in
	server) echo 1 ;;
	client*) echo $((10 + ${1#client})) ;;
	esac
}

lab_ip() {
	case ${2:-4} in
	4) echo "10.77.0.$(_lab_host "$1")" ;;
	6) echo "fd77::$(_lab_host "$1")" ;;
	esac
}

LAB_IP=$(lab_ip "$LAB_VM")
LAB_IP6=$(lab_ip "$LAB_VM" 6)
export LAB_IP LAB_IP6 LAB_SERVER_IP=10.77.0.1 LAB_SERVER_IP6=fd77::1
export LAB_RDMA_DEV=rxe0 LAB_PMEM=/dev/pmem0

# _lab_netdev: makes the interface that carries the addresses, prints its name.
_lab_netdev() {
	local port
	if [ "$LAB_CLIENTS" = 0 ]; then
		modprobe dummy numdummies=0 &&
			ip link add lab0 mtu 9000 type dummy && echo lab0
		return
	fi
	if [ "$LAB_ROLE" = client ] || [ "$LAB_CLIENTS" = 1 ]; then
		echo eth0
		return
	fi
	modprobe bridge && ip link add br0 type bridge || return
	for port in /sys/class/net/eth*; do
		port=${port##*/}
		ip link set "$port" mtu 9000 master br0 up || return
	done
	echo br0
}

lab_net_up() {
	local dev
	[ ! -s /run/lab/netdev ] || return 0
	# Addresses are static: no duplicate detection to wait for.
	echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
	echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
	ip link set lo up
	dev=$(_lab_netdev) || _lab_fail "no network interface" || return
	ip link set "$dev" mtu 9000 up &&
		ip addr add "$LAB_IP/24" dev "$dev" &&
		ip addr add "$LAB_IP6/64" dev "$dev" nodad ||
		_lab_fail "cannot configure $dev" || return
	lab_vm plug "$LAB_VM" || return
	echo "$dev" >/run/lab/netdev
}

lab_rdma_up() {
	local gids=/sys/class/infiniband/rxe0/ports/1/gids tries=100
	[ ! -d "$gids" ] || return 0
	lab_net_up || return
	modprobe -a crc32_generic rdma_rxe ib_uverbs rdma_ucm &&
		rdma link add rxe0 type rxe netdev "$(cat /run/lab/netdev)" ||
		_lab_fail "cannot make the soft-RoCE device" || return
	until grep -q '^fd77:' "$gids"/* 2>/dev/null && grep -q ':ffff:0a4d:' "$gids"/*; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || _lab_fail "rxe0 got no addresses" || return
		sleep 0.1
	done
}

# _lab_fsdax: is /dev/pmem0 there, with struct pages?
_lab_fsdax() {
	case $(readlink -f /sys/block/pmem0/device 2>/dev/null) in
	*/pfn*) [ -b /dev/pmem0 ] ;;
	*) false ;;
	esac
}

lab_pmem_up() {
	local map=${1:-dev} tries=50
	modprobe -a nfit nd_pmem || return
	until [ -b /dev/pmem0 ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || _lab_fail "no PMEM region" || return
		sleep 0.1
	done
	_lab_fsdax || ndctl create-namespace -f -e namespace0.0 -m fsdax -M "$map" \
		>/run/lab/ndctl.log 2>&1 || { cat /run/lab/ndctl.log >&2; return 1; }
	_lab_fsdax || _lab_fail "/dev/pmem0 is not in fsdax mode"
}

lab_signal() {
	local dir=$LAB_CTL/ev/$LAB_VM
	printf '%s' "${2:+$2
}" >"$dir/.$$" && mv "$dir/.$$" "$dir/$1"
}

# _lab_until SECONDS WHAT COMMAND...: poll the command. Processes are dear in
# an emulated VM that somebody else may be measuring: one per turn, and fewer
# turns as time goes on.
_lab_until() {
	local now end what=$2 turns=0
	read -r now _ </proc/uptime
	end=$((${now%.*} + $1 * ${LAB_TIME_FACTOR:-1}))
	shift 2
	until "$@"; do
		[ ! -e "$LAB_CTL/abort" ] ||
			_lab_fail "waiting for $what: the run was aborted" || return
		read -r now _ </proc/uptime
		[ "${now%.*}" -le "$end" ] || [ "$turns" -lt 10 ] ||
			_lab_fail "waiting for $what: time-out" || return
		turns=$((turns + 1))
		sleep "0.$((turns < 30 ? 1 : 4))"
	done
}

_lab_event() {
	local f
	for f in "$LAB_CTL"/ev/*/"$1"; do
		[ ! -e "$f" ] || { cat "$f" && return; }
	done 2>/dev/null
	return 1
}

lab_wait() {
	_lab_until "${2:-60}" "event $1" _lab_event "$1"
}

_lab_clients_ended() {
	local i=1
	while [ "$i" -le "$LAB_CLIENTS" ]; do
		[ -e "$LAB_CTL/ended/client$i" ] || return
		i=$((i + 1))
	done
}

lab_wait_clients() {
	_lab_until "${1:-600}" "the clients" _lab_clients_ended
}

_lab_acked() {
	[ -e "$LAB_CTL/ack/$1" ]
}

lab_vm() {
	local id="$LAB_VM.$LAB_BOOT.$$"
	rm -f "$LAB_CTL/ack/$id"
	printf '%s %s\n' "$1" "$2" >"$LAB_CTL/req/.$id" &&
		mv "$LAB_CTL/req/.$id" "$LAB_CTL/req/$id" || return
	_lab_until 60 "the host to $1 $2" _lab_acked "$id" || return
	[ "$(cat "$LAB_CTL/ack/$id")" = ok ] ||
		_lab_fail "$1 $2: $(cat "$LAB_CTL/ack/$id")"
}

lab_server_kill() {
	lab_vm kill server
}

lab_server_start() {
	lab_vm start server
}

lab_server_crash() {
	lab_server_kill && lab_server_start
}
