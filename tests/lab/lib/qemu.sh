# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2054,SC2154 # the files share variables
#
# QEMU: which one, which accelerator, the command line of each VM, start and kill.

declare -A vm_pid vm_boot vm_state boot_since

# QEMU 10 or later, which is Debian 12's only as a backport. The TCG of its own, 7.2, can lose
# a guest's flags: a kernel's EFLAGS were the bits of a pointer, a program took a general
# protection fault at a load that cannot have one. Better than none, but not for plugins.
choose_qemu() {
	local words status=0
	words=$("$repo/scripts/qemu" command) || status=$?
	if ((status == 0)); then
		mapfile -t qemu <<<"$words"
		return
	fi
	[[ -z $opt_plugin$opt_trace ]] || exit "$status"
	warn "no QEMU 10: the system's can spoil a run"
	qemu=(qemu-system-x86_64)
}

# Without rep movsb's quick forms, or the kernel copies by it: a copy that a kill or a traced power cut
# interrupts would be torn within a word, as no HCA tears it. And TCG stores a byte at a time there.
cpu_without="-fsrm,-erms"

# A usable /dev/kvm is not proof: boot a kernel with it once, and look for the
# token that init sends through QEMU's debug exit. Remembered until the host
# reboots.
choose_accel() {
	local verdict
	accel=(-accel "tcg,thread=${opt_threads:-multi}" -cpu "max,$cpu_without")
	accel_name=TCG
	[[ -z $opt_trace$opt_plugin ]] || return 0
	[[ ${PMOF_LAB_ACCEL:-} != tcg && -w /dev/kvm ]] || return 0
	verdict=$cache/lab/kvm-$(</proc/sys/kernel/random/boot_id)
	if [[ ! -f $verdict ]]; then
		say "trying KVM (once)"
		rm -f "$cache"/lab/kvm-*
		if (kvm_boots) 2>/dev/null; then echo yes; else echo no; fi >"$verdict"
	fi
	[[ $(<"$verdict") == yes ]] || return 0
	accel=(-accel kvm -cpu "host,$cpu_without")
	accel_name=KVM
}

# Sets clock_words, what a kernel is told of its clock. What it reads as its time stamp counter under TCG
# is the host's. It cannot find out by itself how fast that counts: beside an emulated HPET, on an idle
# host, it is up to a tenth wrong, and on a busy one ten times too fast, with all its time-outs.
choose_clock() {
	local khz program=$private/tsc_khz
	clock_words="tsc=reliable no_timer_check"
	[[ $accel_name == TCG ]] || return 0
	if gcc -O2 -o "$program" "$lab_dir/tsc_khz.c" && khz=$("$program"); then
		clock_words+=" tsc_early_khz=$khz"
	else
		warn "how fast this machine's time stamp counter counts is not known: the VMs' clocks may be wrong"
	fi
	rm -f "$program"
}

kvm_boots() {
	local pid status tries=150 log=$private/kvm.log
	setpriv --pdeathsig KILL "${qemu[@]}" -nodefaults -no-user-config \
		-display none -no-reboot -machine q35 -accel kvm -cpu "host,$cpu_without" -m 1G \
		-kernel "$image" -initrd "$private/initrd" \
		-append "panic=-1 LAB_TRIAL=1" \
		-device isa-debug-exit,iobase=0xf4,iosize=0x04 \
		>"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null && ((tries-- > 0)) &&
		! grep -q 'internal error' "$log"; do
		nap 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" && status=0 || status=$?
	# The token 42 leaves QEMU as 42 * 2 + 1.
	((status == 85))
}

# bytes SIZE: 512M and the like as a number.
bytes() {
	numfmt --from=iec "$1" 2>/dev/null || usage_error "not a size: $1"
}

prepare_nvdimm() {
	nvdimm=${opt_nvdimm:-$private/nvdimm}
	if [[ -e $nvdimm ]]; then
		nvdimm_size=$(stat -Lc %s "$nvdimm")
		[[ -z $opt_size ]] || (($(bytes "$opt_size") == nvdimm_size)) ||
			usage_error "$nvdimm has $nvdimm_size bytes, not $opt_size"
	else
		nvdimm_size=$(bytes "${opt_size:-512M}")
		truncate -s "$nvdimm_size" "$nvdimm"
	fi
	((nvdimm_size >= 16777216)) || usage_error "an nvdimm has at least 16M"
	memory=$(bytes "$opt_memory")
	nvdimm2_size=0
	[[ -z $opt_nvdimm2 ]] || nvdimm2_size=$(bytes "$opt_nvdimm2")
	virtio_pmem_size=0
	[[ -z $opt_virtio_pmem ]] || virtio_pmem_size=$(bytes "$opt_virtio_pmem")
}

# Another nvdimm; it goes with the run.
nvdimm2_args() {
	((nvdimm2_size)) || return 0
	[[ -e $private/nvdimm2 ]] || truncate -s "$nvdimm2_size" "$private/nvdimm2"
	args+=(-object "memory-backend-file,id=m2,share=on,mem-path=$private/nvdimm2,size=$nvdimm2_size"
		-device nvdimm,id=n2,memdev=m2)
}

# A second PMEM region, whose writes are durable only when QEMU has flushed the
# file. The guest finds it when it loads virtio_pmem.
virtio_pmem_args() {
	((virtio_pmem_size)) || return 0
	[[ -e $private/virtio-pmem ]] || truncate -s "$virtio_pmem_size" "$private/virtio-pmem"
	args+=(-object "memory-backend-file,id=vm1,share=on,mem-path=$private/virtio-pmem,size=$virtio_pmem_size"
		-device virtio-pmem-pci,memdev=vm1,id=vp1)
}

# net_args VM PEER NUMBER: one end of a datagram wire. Datagrams need no
# connection: either end may die and come back. What is sent to an end that is not
# plugged in is dropped. One that nobody reads would hold its peer up instead, until a
# guest that boots slowly has its interface up: longer than soft-RoCE waits for its packets.
net_args() {
	args+=(-netdev "dgram,id=n$3,local.type=unix,local.path=$private/$1-$2.unplugged,remote.type=unix,remote.path=$private/$2-$1"
		-device "virtio-net-pci,netdev=n$3,host_mtu=9000,mac=52:54:00:77:$(mac_tail "$1" "$3"),romfile=")
}

# plug VM: its guest's interfaces are up. QEMU looks its peer's socket up for each datagram.
plug() {
	local end
	for end in "$private/$1"-*.unplugged; do
		[[ ! -S $end ]] || mv "$end" "${end%.unplugged}"
	done
}

mac_tail() {
	case $1 in
	server) printf '01:%02x' "$2" ;;
	client*) printf '02:%02x' "${1#client}" ;;
	esac
}

share_args() {
	args+=(-fsdev "local,id=$1,path=$2,security_model=none,multidevs=remap$3"
		-device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

# Without the PIT a guest under TCG calibrates its processors' timers, and where nobody tells it its
# clock, against the HPET. Against the PIT, on a busy host, that comes out several times too fast.
machine() {
	if [[ $accel_name == TCG ]]; then echo q35,pit=off; else echo q35; fi
}

server_args() {
	local i room=$((memory + nvdimm_size + nvdimm2_size + virtio_pmem_size))
	args+=(-machine "$(machine),nvdimm=on,nvdimm-persistence=$opt_domain"
		-m "size=$((memory >> 20))M,slots=2,maxmem=$(((room + 0x3fffffff) / 0x40000000 + 1))G"
		-object "memory-backend-file,id=m1,share=on,mem-path=$nvdimm,size=$nvdimm_size"
		-device "nvdimm,id=n1,memdev=m1${opt_trace:+,addr=$nvdimm_base}")
	nvdimm2_args
	virtio_pmem_args
	for ((i = 1; i <= clients; i++)); do
		net_args server "client$i" "$i"
	done
}

client_args() {
	args+=(-machine "$(machine)" -m "$((memory >> 20))M")
	net_args "$1" server 0
}

console_args() {
	args+=(-chardev "file,id=con,path=$run/$1.console,append=on" -serial chardev:con)
	[[ -n $opt_shell ]] || return 0
	args+=(-chardev "socket,id=tty,path=$private/$1.tty,server=on,wait=off"
		-serial chardev:tty)
}

# Level 5 puts warnings and their traces, no more, on the (slow) console.
kernel_line() {
	local words="console=ttyS0 loglevel=5 panic=-1 oops=panic nokaslr mitigations=off"
	words+=" random.trust_cpu=on audit=0 apparmor=0 net.ifnames=0"
	words+=" $clock_words cryptomgr.notests selinux=0"
	# What takes a fifth of a boot under TCG, for nobody here: a self-test, and a type of keys.
	words+=" initcall_blacklist=crypto_kdf108_init,init_encrypted"
	words+=" rcupdate.rcu_cpu_stall_timeout=60 watchdog_thresh=30"
	words+=" sysctl.kernel.hung_task_timeout_secs=120"
	words+=" LAB_ROLE=${1%%[0-9]*} LAB_VM=$1 LAB_BOOT=${vm_boot[$1]}"
	words+=" LAB_CLIENTS=$clients LAB_DOMAIN=$opt_domain"
	[[ $1 == server ]] || words+=" LAB_CLIENT_INDEX=${1#client}"
	[[ -z $opt_shell ]] || words="console=ttyS1 $words LAB_SHELL=1$(pane_size)"
	echo "$words${PMOF_LAB_APPEND:+ $PMOF_LAB_APPEND}"
}

# What one of the console panes will have of this terminal.
pane_size() {
	local rows cols
	read -r rows cols < <(stty size)
	echo " LAB_ROWS=$(((rows - 1) / ${#vms[@]} - 1)) LAB_COLS=$cols"
}

# start_vm VM: must run in the lab's own shell, so that the parent-death signal
# and wait work.
start_vm() {
	local vm=$1
	vm_boot[$vm]=$((${vm_boot[$vm]:-0} + 1))
	args=(-name "$vm" -nodefaults -no-user-config -display none -no-reboot
		"${accel[@]}" -smp "$opt_cpus"
		-kernel "$kernel" -initrd "$private/initrd"
		-append "$(kernel_line "$vm")")
	if [[ $vm == server ]]; then server_args; else client_args "$vm"; fi
	share_args ctl "$run/ctl" ""
	share_args host "$share" ""
	share_args toolbox "$base/toolbox" ",readonly=on"
	if [[ -n $opt_shell ]]; then
		mkdir -p "$stage"
		share_args stage "$stage" ",readonly=on"
	fi
	console_args "$vm"
	[[ -z $opt_trace ]] || trace_args "$vm"
	[[ -z $opt_plugin ]] || args+=(-plugin "$opt_plugin,vm=$vm")
	printf '%q ' "${qemu[@]}" "${args[@]}" >"$run/$vm.cmdline"
	setpriv --pdeathsig KILL "${qemu[@]}" "${args[@]}" \
		>>"$run/$vm.qemu" 2>&1 </dev/null &
	vm_pid[$vm]=$!
	boot_since[$vm]=$SECONDS
	vm_state[$vm]=running
}

# kill_vm VM: hard, and wait until it is gone.
kill_vm() {
	local pid=${vm_pid[$1]:-}
	[[ -n $pid ]] || return 0
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	unset "vm_pid[$1]"
}
