# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Says what a VM of make chaos is doing when something hangs: the host makes /host/dump, and looks
# at /host/VM.dump.

show() {
	for _s; do
		[ ! -f "$_s" ] || echo "$_s: $(cat "$_s")"
	done
}

dump() {
	date
	show /sys/class/pmof/*/* /sys/class/pmof-session/*/*
	for _s in qp cm_id; do
		rdma resource show $_s
	done
	for _s in /proc/[0-9]*/task/*; do
		echo "$_s $(cat "$_s/comm") $(cat "$_s/syscall")"
		cat "$_s/stack"
	done
	grep -v '^#' /sys/kernel/tracing/trace | tail -n 400
	dmesg
	# The work queues are behind the tasks.
	echo t >/proc/sysrq-trigger
	dmesg | grep -A 200 'Showing busy workqueues'
}

# In the background, to the end of the VM.
witness() {
	_s=/sys/kernel/tracing/events/pmof/pmof_state/enable
	[ ! -e $_s ] || echo 1 >$_s
	until [ -e /host/dump ]; do
		sleep 1
	done
	dump >"/host/.$LAB_VM.dump" 2>&1
	mv "/host/.$LAB_VM.dump" "/host/$LAB_VM.dump"
}
