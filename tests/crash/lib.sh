# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2086,SC2154 # variables are shared with the scripts that source this
#
# What crash and mutate share: building, one traced run of the lab per persist
# method, and the explorer over it. The caller sets $build, $top and $programs.

kernel=6.12
all_methods="assist rpc flush read read-cpu"
default_kinds=put,plain,commit,submit,atomic

say() {
	printf 'crash: %s\n' "$*"
}

die() {
	printf 'crash: %s\n' "$*" >&2
	exit 3
}

seconds() {
	local t=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
	printf '%d.%d s' $((t / 10)) $((t % 10))
}

# method_setup METHOD: what the run of a method takes.
#   rxe       the lab's soft-RoCE, and pmof built for it; else the kernel's
#   lazy      it acknowledges WRITEs before they are placed, past the cache
#   assert    the server is told that writes go past the cache
# With CRASH_LAB_RXE all methods are run by the lab's soft-RoCE: one build serves them all.
method_setup() {
	domain=mem-ctrl persist=${1%%-*} lazy='' assert='' rxe=${CRASH_LAB_RXE:-}
	case $1 in
	assist | rpc) ;;
	flush) rxe=1 ;;
	read | assist-lazy | rpc-lazy) rxe=1 lazy=1 assert=1 ;;
	read-cpu) domain=cpu ;;
	# Only with a mutation: nobody is offered this.
	read-cached) ;;
	*) return 1 ;;
	esac
}

# --- building -------------------------------------------------------------------

# build_stage DIR: after method_setup; the modules with marks, and user space, and the lab's soft-RoCE
# if that is wanted. In the build tree of all others: few files know of marks. Sets stage.
build_stage() {
	stage=$1/stage${rxe:+-rxe}
	make -s -C "$top" KVER="$kernel" BUILD="$build" CRASH_MARKS=1 LAB_RXE="$rxe" \
		install DESTDIR="$stage" && { [[ -z $rxe ]] || build_rxe; }
}

# The lab's soft-RoCE, with marks.
build_rxe() {
	make -s -C "$top" BUILD="$build" lab-rxe-marks
}

# booting LOG COMMAND...: a lab, its output in LOG; again, up to three times, if one of its VMs
# never got as far as its script: under TCG a kernel now and then dies, or loses a timer, in its
# own boot, before any of our code is there, or QEMU itself does.  What fails first counts: the
# scripts of the other VMs fail behind it, since the run is aborted.
booting() {
	local log=$1 status try
	shift
	for try in 1 2 3 4; do
		"$@" >"$log" 2>&1
		status=$?
		((status && status != 77 && try < 4)) || break
		[[ $(grep -c ': booted (' "$log") -lt 2 ]] || break
		[[ $(grep -m 1 'FAILED: ' "$log") != *': script ended with status '* ]] || break
		say "a VM did not boot: once more"
	done
	return $status
}

# --- a run of the lab ---------------------------------------------------------------

# run_lab DIR STAGE WORKLOAD-OPTIONS [LAB-OPTION]...: after method_setup.
# Its output is in DIR/lab.log. $PMOF_LAB_PREFIX, words, is put in front of the lab's command: nice, a lock.
run_lab() {
	local dir=$1 stage=$2 work=$3 append=''
	local -a options=()
	shift 3
	mkdir -p "$dir/host" "$dir/overlay/usr/lib/pmof-tests"
	install -m 755 "$programs/${workload:-workload}" "$dir/overlay/usr/lib/pmof-tests/"
	cat >"$dir/host/params" <<-END
		METHOD=$persist
		QUEUES=2
		WORKLOAD_OPTIONS="$work"
		SERVER_OPTIONS="${server_options:-}"
		EXPORT_OPTIONS="${assert:+--placement assert-memory}"
		${more_params:-}
	END
	[[ -z $rxe ]] || options+=(--rxe "$build/lab-rxe-marks")
	[[ -z $lazy ]] || append="rdma_rxe.lazy_write=1 rdma_rxe.lazy_atomic=1"
	PMOF_LAB_APPEND=$append PMOF_STAGE=$stage PMOF_LAB_DIR=$dir/lab \
		booting "$dir/lab.log" ${PMOF_LAB_PREFIX:-} "$top/tests/lab/lab" \
		--kernel "$kernel" --domain "$domain" --overlay "$dir/overlay" \
		--share "$dir/host" --timeout 400 "${options[@]}" "$@" \
		--server "$top/tests/crash/guest/server" --client "$top/tests/crash/guest/${client:-client}"
}

# trace_run DIR STAGE WORKLOAD-OPTIONS
trace_run() {
	rm -rf "${1:?}"/{host,lab,trace,fail-*,boot-*}
	run_lab "$@" --size 64M --trace "$1/trace"
}

# explore DIR OPTION...: after method_setup.
explore() {
	local dir=$1
	shift
	[[ $domain != cpu ]] || set -- --caches-survive "$@"
	"$programs/explore" --trace "$dir/trace/server.trace" \
		--client "$dir/trace/client1.trace" --log "$dir/host/log" \
		--data-offset "$(<"$dir/host/data-offset")" --start "$dir/trace/start.img" \
		--final "$dir/trace/nvdimm" --out "$dir" "$@"
}

# Why the lab failed, from its output and the scripts'.
show_failure() {
	tail -n 12 "$1/lab.log"
	tail -n 12 "$1"/lab/*/*.out 2>/dev/null
}
