# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # variables are shared with tests/run
#
# For tests/run: which VM runs there are, on which kernel and domain, and what each of them is given.

# Every VM run costs a boot and much of two processors' hour, so not all is run everywhere by
# default: the basic suites on 6.12 with a memory controller's domain, those that move data (data)
# on 6.1 with a CPU's caches', the rest on one of the two, and all of it with --long. The long ones
# first: two run side by side.
matrix() {
	local k d r
	if [[ -n $sanitized ]] && ((${#domains[@]} == 0)); then
		sanitized_matrix
		return
	fi
	if [[ -n $long ]] || ((${#kernels[@]} || ${#domains[@]} || ${#runs[@]})); then
		((${#kernels[@]})) || kernels=(6.12 6.1)
		((${#domains[@]})) || domains=(mem-ctrl cpu)
		((${#runs[@]})) || runs=(basic lifecycle crash recovery rights clients large export rxe flush fio block fs
			pressure fuzz kv)
		for k in "${kernels[@]}"; do
			for d in "${domains[@]}"; do
				for r in "${runs[@]}"; do
					# The lab's soft-RoCE, by itself and with pmof.
					[[ $r != @(rxe|flush) || $k == "$rxe_kernel" ]] || continue
					echo "$k $d $r"
				done
			done
		done
		return
	fi
	cat <<-'END'
		6.12 mem-ctrl basic
		6.12 mem-ctrl kv
		6.1 cpu data
		6.12 cpu crash
		6.12 mem-ctrl recovery
		6.12 mem-ctrl lifecycle
		6.12 mem-ctrl flush
		6.12 mem-ctrl fio
		6.12 mem-ctrl block
		6.1 mem-ctrl fs
		6.12 cpu pressure
		6.12 mem-ctrl fuzz
		6.1 cpu large
		6.12 mem-ctrl clients
		6.12 mem-ctrl export
		6.12 mem-ctrl rxe
	END
}

# Once each, on either domain, the long ones first.  Not rxe, which wants policy routing:
# flush uses the same module.
sanitized_matrix() {
	while read -r d r; do
		((${#runs[@]} == 0)) || [[ " ${runs[*]} " == *" $r "* ]] || continue
		echo "6.12-$sanitized $d $r"
	done <<-'END'
		mem-ctrl faults
		mem-ctrl basic
		cpu pressure
		mem-ctrl recovery
		mem-ctrl lifecycle
		mem-ctrl rights
		cpu fio
		mem-ctrl clients
		mem-ctrl kv
		cpu crash
		mem-ctrl fs
		cpu large
		mem-ctrl block
		cpu export
		mem-ctrl flush
		mem-ctrl fuzz
		mem-ctrl kunit
	END
}

# has_threads NAME: whether each of a VM's processors is a thread.  Two of them cost half as much again
# where there are no more real processors than VMs: they stay where races are looked for, and where what
# runs side by side is what is tested; in the short form only where that is what ends and comes back.
has_threads() {
	[[ -n $long || $sanitized == kcsan || $1 == recovery ]] ||
		[[ -n $sanitized && $1 == @(basic|lifecycle|rights|kv|fuzz) ]]
}

lab_options() {
	has_threads "$1" || echo --one-thread
	case $1 in
	basic | data | lifecycle | rights | crash | block | recovery | kv | flush) echo --size 384M ;;
	fs) echo --size 512M ;;
	pressure) echo --size "$((${long:-0} ? 2560 : 512))M" ;;
	fio | fuzz | kunit | rxe) echo --size 256M ;;
	clients) echo --size 384M --clients 2 ;;
	large) echo --size 6G ;;
	export) echo --size 256M --virtio-pmem 128M ;;
	faults) echo --size 64M --virtio-pmem 128M ;;
	esac
}

# params NAME KERNEL: what the guests' scripts are told.
params() {
	local only=${suites[*]} methods=flush
	if [[ $1 == flush ]]; then
		# The short form leaves stress to basic.
		only=${only:-methods objects hostile_attempt${long:+ stress}}
		[[ -z $long$sanitized ]] || methods="read $methods"
		echo "OBJECT_METHODS='$methods'"
		# An HCA that writes past the cache: lazy_write of the lab's soft-RoCE.
		echo "EXPORT_ATTRIBUTES='placement=assert-memory'"
	fi
	# In the short form objects go by each method once. Auto takes assist here.
	[[ $1 != basic || -n $long$sanitized ]] || echo "OBJECT_METHODS='rpc auto'"
	# There rights is a run of its own: the two together take too long for one to look at.
	[[ $1 != lifecycle || -z $sanitized ]] || only=${only:-lifecycle}
	[[ $1 != data ]] || only="submit rw counters methods group trains objects stress"
	# What of basic depends on the kernel, and a method of each kind.
	if [[ $1/$2 == data/6.1 && -z $long ]]; then
		only="submit rw counters methods trains objects uapi mmap uring lifecycle"
		echo "OBJECT_METHODS='read'"
	fi
	echo "SUITES='$only'"
	echo "STRESS_ARGS='-b $((${long:-0} ? 1000 : 20))${long:+ -a 16}'"
	echo "OBJECT_STRESS_SECONDS='${long:+60}'"
	echo "LONG=$long"
	echo "PRESSURE_SIZE=$((${long:-0} ? 512 : 32))"
	echo "FIO_SECONDS=$fio_seconds"
	echo "FIO_SIZE=$( ((fio_seconds)) && echo 8m || echo 512k)"
	echo "FUZZ_SECONDS=$fuzz_seconds"
	echo "export FUZZ_SEED=${FUZZ_SEED:-1} FUZZ_SHARE=${FUZZ_SHARE:-4}"
	# Set by --long and make fuzz only.
	((fuzz_seconds < 60)) || echo "export PMOF_HALF_OPEN=2500"
	echo "FAULTS_PATH='${FAULTS_PATH:-}'"
	echo "FIO_NO_ENGINE='$no_fio_engine'"
	[[ -n $long ]] || return 0
	echo "export PMOF_HOSTILE_ROUNDS=1000"
}

# on_lab_rxe KERNEL NAME: whether the run takes the lab's soft-RoCE.  Where a machine is slow, packets
# are lost and sent again, and the kernel's own makes of that what no client can mend: a queue that
# stands still, a READ without its data, no connection any more, an oops (docs/testing.md).  It
# stays where less is moved, and on the other kernel.
on_lab_rxe() {
	[[ $1 == "$rxe_kernel" ]] || return
	[[ -n $sanitized || $2 != @(crash|clients|export|block) ]]
}
