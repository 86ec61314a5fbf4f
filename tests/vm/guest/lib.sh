# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2012,SC2034,SC2086
#
# For the scripts of tests/vm that run inside the lab's VMs: TAP, pmof by plain
# configfs and /dev/pmof-control (no tool of ours in between), counting leaks.
# tests/run puts parameters into /host/params and reads /host/*.tap.

# shellcheck source=/dev/null
. /usr/lib/lab/lib.sh
# shellcheck source=/dev/null
. /host/params

PROGRAMS=/usr/lib/pmof-tests
CONFIG=/sys/kernel/config/pmof
export PMOF_NS=data PMOF_INSTANCE=pmof0

# --- time ---------------------------------------------------------------------

# Limits are those of a kernel as Debian builds it: see lab_scaled.
timeout() {
	_kill=5
	[ "$1" != -k ] || { _kill=$2; shift 2; }
	_limit=$(lab_scaled "$1")
	shift
	command timeout -k "$_kill" "$_limit" "$@"
}

# --- TAP ----------------------------------------------------------------------

# tap_start NAME: what follows is suite NAME, until tap_end.
tap_start() {
	tap_file=/host/$1.tap
	tap_since=$(cut -d. -f1 /proc/uptime)
	tap_number=0
	tap_failed=0
	echo "TAP version 13" >"$tap_file"
}

# t TEXT COMMAND...: a test that is the command's success; keeps its output.
t() {
	tap_text=$1
	shift
	tap_number=$((tap_number + 1))
	if "$@" >/tmp/tap.out 2>&1; then
		echo "ok $tap_number - $tap_text" >>"$tap_file"
	else
		tap_failed=$((tap_failed + 1))
		{
			echo "not ok $tap_number - $tap_text"
			echo "# $*"
			sed 's/^/# /; 40q' /tmp/tap.out
		} >>"$tap_file"
	fi
}

t_skip() {
	tap_number=$((tap_number + 1))
	echo "ok $tap_number - $1 # SKIP $2" >>"$tap_file"
}

note() {
	echo "# $*" >>"$tap_file"
}

tap_end() {
	echo "1..$tap_number" >>"$tap_file"
	echo "$tap_failed" >"${tap_file%.tap}.status"
	echo $(($(cut -d. -f1 /proc/uptime) - tap_since)) >"${tap_file%.tap}.seconds"
}

# fails STATUS-OR-TEXT COMMAND...: succeeds if the command fails and says the text.
fails_with() {
	_text=$1
	shift
	if "$@" >/tmp/fails.out 2>&1; then
		echo "did not fail: $*"
		return 1
	fi
	grep -q -- "$_text" /tmp/fails.out && return
	echo "failed without '$_text':"
	cat /tmp/fails.out
	return 1
}

# suite NAME SECONDS PROGRAM [ARGUMENT...]: a program that prints TAP itself.
suite() {
	_name=$1
	_seconds=$2
	shift 2
	_since=$(cut -d. -f1 /proc/uptime)
	echo "suite $_name ($_since s)"
	# Its own output may be the last thing that it does: one file, in order.
	timeout "$_seconds" "$@" >"/host/$_name.tap" 2>&1
	echo $? >"/host/$_name.status"
	echo $(($(cut -d. -f1 /proc/uptime) - _since)) >"/host/$_name.seconds"
}

# only PROGRAM TEST...: these of its tests. It would pass over a name that it does not know.
only() {
	_program=$1 _names=
	shift
	for _t; do
		_names="$_names -t $_t"
	done
	timeout 120 "$PROGRAMS/$_program" $_names >/tmp/only.out 2>&1
	_status=$?
	cat /tmp/only.out
	[ "$(grep -c '^ok ' /tmp/only.out)" -ge $# ] || return 1
	return $_status
}

# wanted SUITE: tests/run sees that somebody has asked for what was named.
wanted() {
	[ -n "$SUITES" ] || return 0
	case " $SUITES " in *" $1 "*) : >"/host/$1.wanted" ;; *) return 1 ;; esac
}

# rights_suites: of rights, those that are wanted; the server's script obeys them (rights.sh).
rights_suites() {
	lab_wait obeying-rights-done 240 >/dev/null
	for _r in rights rights_end rights_wait rights_login rights_false rights_resume rights_limit; do
		! wanted $_r || suite $_r 400 "$PROGRAMS/$_r"
	done
	lab_signal rights-done
}

# asked_for SUITE: of a long suite: in the long form, or where it is named.
asked_for() {
	[ -n "$LONG$SUITES" ] && wanted "$1"
}

# until SECONDS COMMAND...: poll.
until_true() {
	_end=$(($(cut -d. -f1 /proc/uptime) + $(lab_scaled "$1")))
	_turns=0
	shift
	# A machine that has stood still has not looked yet.
	until "$@"; do
		[ "$(cut -d. -f1 /proc/uptime)" -le "$_end" ] || [ $_turns -lt 10 ] ||
			{ echo "time-out: $*"; return 1; }
		_turns=$((_turns + 1))
		sleep 0.1
	done
}

# barrier NAME: both scripts, server and first client, get here; then both go on.
barrier() {
	case $LAB_ROLE in
	server) _other=client ;;
	client) _other=server ;;
	esac
	lab_signal "$LAB_ROLE-$1"
	lab_wait "$_other-$1" 240 >/dev/null || { echo "barrier $1"; exit 1; }
}

# obey EVENT: runs the orders of the client's programs (tests/vm/order.h), until the event.
obey() {
	mkdir -p /host/orders
	lab_signal "obeying-$1"
	until [ -e "$LAB_CTL/ev/client1/$1" ]; do
		for _order in /host/orders/*.cmd; do
			[ -e "$_order" ] || { sleep 0.02; continue; }
			_done=${_order%.cmd}
			mv "$_order" "$_done.run"
			# shellcheck source=/dev/null
			(. "$_done.run") >"$_done.log" 2>&1
			echo $? >"$_done.status"
			mv "$_done.status" "$_done.done"
		done
	done
}

# --- the server -----------------------------------------------------------------

# set_attr FILE VALUE: not with the shell's echo, which knows only one error.
set_attr() {
	/usr/bin/echo "$2" >"$1"
}

# ns_make NAME DEVICE [ATTRIBUTE=VALUE]...: not enabled yet.
ns_make() {
	_ns=$CONFIG/namespaces/$1
	mkdir "$_ns" && set_attr "$_ns/device_path" "$2" || return
	shift 2
	for _a; do
		set_attr "$_ns/${_a%%=*}" "${_a#*=}" || return
	done
}

ns_enable() {
	set_attr "$CONFIG/namespaces/$1/enable" 1
}

ns_disable() {
	set_attr "$CONFIG/namespaces/$1/enable" 0
}

ns_remove() {
	ns_disable "$1"
	rmdir "$CONFIG/namespaces/$1"
}

# port_make ID ADDRESS NAMESPACE...: listening, with links.
port_make() {
	_port=$CONFIG/ports/$1
	mkdir "$_port" && set_attr "$_port/addr" "$2" || return
	shift 2
	for _a; do
		ln -s "$CONFIG/namespaces/$_a" "$_port/namespaces/$_a" || return
	done
	set_attr "$_port/enable" 1
}

port_remove() {
	_port=$CONFIG/ports/$1
	set_attr "$_port/enable" 0
	for _a in "$_port"/namespaces/*; do
		[ ! -L "$_a" ] || rm "$_a"
	done
	rmdir "$_port"
}

# serve: everything up, /dev/pmem0 exported as "data" on IPv4 and IPv6.
serve() {
	lab_rdma_up && lab_pmem_up || return
	resources_before=$(resources)
	modprobe pmof-server && export_data
}

# With what the parameters want of it.
export_data() {
	ns_make data /dev/pmem0 $EXPORT_ATTRIBUTES && ns_enable data &&
		port_make 1 "$LAB_SERVER_IP" data && port_make 2 "$LAB_SERVER_IP6" data
}

unexport_data() {
	port_remove 1 && port_remove 2 && ns_remove data
}

# client_make ID KEY: who has to prove that it is this one.
client_make() {
	mkdir "$CONFIG/clients/$1" && set_attr "$CONFIG/clients/$1/key" "$2"
}
# The options of one.
KEYED=id=keyed,key=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff

# virtio_device: sets virtio to the second region's device, which virtio_pmem has made.
virtio_device() {
	for _d in /sys/block/pmem*; do
		case $(readlink -f "$_d") in *virtio*) virtio=/dev/${_d##*/}; return 0 ;; esac
	done
	return 1
}

sessions() {
	ls /sys/class/pmof-session 2>/dev/null | wc -l
}

no_sessions() {
	[ "$(sessions)" = 0 ]
}

# --- resources --------------------------------------------------------------------

# Objects on the RDMA device, as one line.
resources() {
	rdma resource show | sed 's/^[0-9]*: //; s/  */ /g; s/ *$//'
}

resources_are() {
	[ "$(resources)" = "$1" ] && return
	echo "before: $1"
	echo "now:    $(resources)"
	rdma resource show qp
	rdma resource show mr
	return 1
}

module_is() {
	[ -d "/sys/module/$1" ]
}

# The kernel may be busy with what has just gone.
caches_are_empty() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '{ exit $2 > 20 }' /proc/sys/fs/dentry-state
}

# slab_totals FILE: active objects of every cache, and memory outside of slabs.
# Dentries and inodes by the kernel's own count: to walk sysfs makes them by the hundred,
# and fills slabs up, of which those that a CPU holds count as full.
# Without vmap_area: freed by the thousand, and VmallocUsed says as much; nor what
# kmemleak keeps of others' objects.
slab_totals() {
	sync
	until_true 5 caches_are_empty
	awk '{ print "dentries", $1 - $2 }' /proc/sys/fs/dentry-state >"$1"
	awk '{ print "inodes", $1 - $2 }' /proc/sys/fs/inode-nr >>"$1"
	for _a in /sys/kernel/slab/*/shrink; do
		echo 1 >"$_a"
	done 2>/dev/null
	awk 'NR > 2 && $1 !~ /^(vmap_area|kmemleak_.*|dentry|.*inode_cache)$/ { print $1, $2 }' \
		/proc/slabinfo >>"$1"
	awk '/^(Percpu|VmallocUsed|PageTables|KernelStack):/ { sub(":", ""); print $1 "_KiB", $2 }' \
		/proc/meminfo >>"$1"
}

# grown CYCLES FILE...: caches that grew by at least one object a cycle from each
# file to the next, and evenly. A leak does; what the kernel caches for itself
# grows by fits and starts, so it takes five files to tell.
grown() {
	_cycles=$1
	shift
	awk -v n="$_cycles" '
		FNR == 1 { file++ }
		{ count[file, $1] = $2; names[$1] }
		END {
			for (name in names) {
				min = max = count[2, name] - count[1, name]
				for (i = 3; i <= file; i++) {
					d = count[i, name] - count[i - 1, name]
					if (d < min) min = d
					if (d > max) max = d
				}
				if (min < n || max > 2 * min + n)
					continue
				bad = 1
				printf "%s:", name
				for (i = 1; i <= file; i++)
					printf " %d", count[i, name]
				print ""
			}
			exit bad
		}' "$@"
}

# no_pins: of no program's memory is a page pinned any more.  Counted by each CPU for itself.
pins_are_back() {
	echo 1 >/proc/sys/vm/stat_refresh
	awk '/^nr_foll_pin_acquired/ { taken = $2 } /^nr_foll_pin_released/ { back = $2 }
		END { print taken, back; exit taken == "" || taken != back }' /proc/vmstat
}
no_pins() {
	until_true 10 pins_are_back
}

# --- the client ---------------------------------------------------------------------

patient_keep_alive() {
	_tmo=$(lab_scaled 5)
	echo $((_tmo < 20 ? 20 : _tmo))
}

# pmof_connect [OPTION,...]: connects to "data", prints the instance (pmof0).
pmof_connect() {
	# A lost connection is a dead device, unless a test wants it otherwise.
	case ,$1 in
	*,device_loss_timeout=*) _more=$1 ;;
	*) _more=device_loss_timeout=0${1:+,$1} ;;
	esac
	# Nor is a machine dead that stands still for some seconds, or a slow kernel.
	case ,$1 in
	*,keep_alive_tmo=*) ;;
	*) _more=keep_alive_tmo=$(patient_keep_alive),$_more ;;
	esac
	exec 3<>/dev/pmof-control || return
	/usr/bin/echo "addr=$LAB_SERVER_IP,name=data,$_more" >&3 || { exec 3>&-; return 1; }
	read -r _answer <&3
	exec 3>&-
	echo "pmof${_answer#instance=}"
}

# Nothing that we send arrives.  Not by taking the interface down: soft-RoCE's queue pair for
# the connection manager ends with an error when it finds no route, and stays so.
cut_link() {
	ip neigh replace "$LAB_SERVER_IP" lladdr 02:00:00:00:00:fe dev eth0 nud permanent
}
mend_link() {
	ip neigh del "$LAB_SERVER_IP" dev eth0
}

# connect_to NAME [OPTION,...]: to a namespace of this very VM.
connect_to() {
	/usr/bin/echo "addr=$LAB_IP,name=$1${2:+,$2}" >/dev/pmof-control
}

# pmof_block [OPTION,...]: the same, with a block device; prints its name (pmof0).
pmof_block() {
	_dev=$(pmof_connect "$1") && until_true 5 test -b "/dev/$_dev" && echo "$_dev"
}

# The directory goes when the write has returned; then the number is free again, and
# last the module is let go.
pmof_disconnect() {
	_uses=$(cat /sys/module/pmof_client/refcnt)
	set_attr "/sys/class/pmof/$1/disconnect" 1 &&
		until_true 5 test ! -e "/sys/class/pmof/$1" || return
	# Somebody else may come meanwhile: not waiting to the end is no error.
	until_true 10 client_uses_below "$_uses" >/dev/null
	return 0
}
client_uses_below() {
	[ "$(cat /sys/module/pmof_client/refcnt)" -lt "$1" ]
}

# remove_modules NAME...
remove_modules() {
	for _m; do
		until_true 5 rmmod "$_m" || return
	done
}

pmof_state() {
	cat "/sys/class/pmof/$1/state"
}

state_is() {
	[ "$(pmof_state "$1")" = "$2" ]
}

# client_up: network, RDMA, module, and the server's word that it is ready.
client_up() {
	lab_rdma_up || return
	resources_before=$(resources)
	modprobe pmof-client io_timeout="$(lab_scaled 30)" && lab_wait ready 240
}
