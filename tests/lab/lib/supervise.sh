# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# The life of a run: start the VMs, serve their requests, collect results.
#
# vm_state: running, done (its script ended and it powered off), killed (on
# request), lost (it died without a result).

prepare_control() {
	local vm
	mkdir -p "$run/ctl"/{ev,req,ack,result,up,ended}
	for vm in "${vms[@]}"; do
		mkdir "$run/ctl/ev/$vm"
		: >"$run/ctl/$vm.out"
		ln -s "ctl/$vm.out" "$run/$vm.out"
	done
	[[ -z $opt_server ]] || install -m 755 "$opt_server" "$run/ctl/server.script"
	[[ -z $opt_client ]] || install -m 755 "$opt_client" "$run/ctl/client.script"
}

fail() {
	failures+=("$*")
	say "FAILED: $* ($(now) s)"
	[[ -n ${abort_at:-} ]] || abort_at=$((SECONDS + 8))
	touch "$run/ctl/abort"
}

# VMs that their scripts still keep busy.
busy() {
	local vm
	for vm in "${vms[@]}"; do
		[[ ${vm_state[$vm]} != running ]] || return 0
	done
	return 1
}

note_boots() {
	local vm key
	for vm in "${vms[@]}"; do
		key=$vm.${vm_boot[$vm]}
		[[ -z ${announced[$key]:-} && -e $run/ctl/up/$key ]] || continue
		announced[$key]=1
		if [[ $key == *.1 ]]; then
			say "$vm: booted ($(now) s)"
		else
			say "$vm: booted again, boot ${key##*.} ($(now) s)"
		fi
	done
}

# A QEMU that is gone either left its script's status or died.
reap() {
	local vm status
	for vm in "${vms[@]}"; do
		[[ ${vm_state[$vm]} == running ]] || continue
		! kill -0 "${vm_pid[$vm]}" 2>/dev/null || { note_result "$vm"; continue; }
		note_result "$vm"
		wait "${vm_pid[$vm]}" && status=0 || status=$?
		unset "vm_pid[$vm]"
		if [[ $status == 0 || $status == 134 ]] && boot_again "$vm"; then
			continue
		elif [[ -n ${results[$vm.${vm_boot[$vm]}]:-} ]]; then
			vm_state["$vm"]="done"
		else
			vm_state["$vm"]=lost
			fail "$vm: the VM died without a result (QEMU status $status)"
		fi
	done
}

# boot_again VM: a kernel that dies in its own boot, before any of our code is there: TCG does
# that now and then (it runs stale code where the kernel patches itself), and in some hundred
# boots it happens.  QEMU 10 itself aborts then, too (status 134): iotlb_to_section, an assertion
# about its map of the memory, which a boot changes.  What it said is put aside.  Not where the
# boot itself is traced.
boot_again() {
	local vm=$1 key=$1.${vm_boot[$1]}
	((boot_deaths < 3)) && [[ ! -e $run/ctl/up/$key && -z $opt_trace$opt_plugin ]] || return
	boot_deaths=$((boot_deaths + 1))
	say "$vm: died in its own boot, is started once more ($(now) s)"
	tail -c +$((${console_size[$vm]:-0} + 1)) "$run/$vm.console" >"$run/$vm.boot-death.$boot_deaths"
	truncate -s "${console_size[$vm]:-0}" "$run/$vm.console"
	vm_boot["$vm"]=$((${vm_boot["$vm"]} - 1))
	start_vm "$vm"
}

# A boot that hangs is one that has died: TCG can lose a timer's interrupt, and a CPU then sleeps
# for ever.  Some 12 s is what one takes on an idle machine.
check_boots() {
	local vm since limit=75
	[[ -z $opt_trace$opt_plugin ]] || return 0
	[[ ! " ${PMOF_LAB_APPEND:-}" =~ " LAB_TIME_FACTOR="([0-9]+) ]] ||
		limit=$((limit * BASH_REMATCH[1]))
	for vm in "${vms[@]}"; do
		[[ ${vm_state[$vm]} == running && ! -e $run/ctl/up/$vm.${vm_boot[$vm]} ]] || continue
		since=${boot_since["$vm"]}
		((SECONDS > since + limit)) || continue
		kill_vm "$vm"
		boot_again "$vm" || { vm_state["$vm"]=lost; fail "$vm: hangs in its boot"; }
	done
}

# note_result VM: as soon as the script's status is there.
note_result() {
	local vm=$1 key=$1.${vm_boot[$1]} status
	[[ -z ${results[$key]:-} && -e $run/ctl/result/$key ]] || return 0
	read -r status _ <"$run/ctl/result/$key"
	results[$key]=$status
	check_clock "$vm" "$key"
	off_by[$vm]=$((SECONDS + 60))
	touch "$run/ctl/ended/$vm"
	if [[ $status == 0 ]]; then
		say "$vm: script ended with status 0 ($(now) s)"
	else
		fail "$vm: script ended with status $status"
	fi
}

# check_clock VM KEY: how long its script took by its own clock and by ours.  A clock that goes wrong makes
# every time-out in there wrong, and what fails then is far from it.
check_clock() {
	local up="$run/ctl/up/$2" result="$run/ctl/result/$2" percent
	percent=$(echo "$(<"$up") $(<"$result") $(LC_ALL=C stat -c '%.Y' "$up" "$result" | paste -sd' ')" |
		LC_ALL=C awk '$5 - $4 > 2 { printf "%.0f", 100 * ($3 - $1) / ($5 - $4) }')
	[[ -n $percent ]] || return 0
	((percent >= 90 && percent <= 110)) ||
		say "$1: its clock went at $percent % of this machine's"
}

# A VM with a result that does not power off hangs in its shutdown.
check_shutdown() {
	local vm
	for vm in "${vms[@]}"; do
		[[ ${vm_state[$vm]} == running && -n ${results[$vm.${vm_boot[$vm]}]:-} ]] || continue
		((SECONDS > off_by[$vm])) || continue
		kill_vm "$vm"
		vm_state["$vm"]=lost
		fail "$vm: does not power off"
	done
}

known_vm() {
	[[ " ${vms[*]} " == *" $1 "* ]]
}

# serve VERB VM: sets answer.
serve() {
	local verb=$1 vm=$2
	answer=ok
	known_vm "$vm" || { answer="no VM '$vm'"; return; }
	case $verb:${vm_state[$vm]} in
	kill:running)
		kill_vm "$vm"
		vm_state["$vm"]=killed
		mv "$run/ctl/ev/$vm" "$run/ctl/ev.$vm.${vm_boot[$vm]}"
		mkdir "$run/ctl/ev/$vm"
		say "$vm: killed on request ($(now) s)"
		;;
	start:killed | start:done)
		console_size[$vm]=$(stat -c %s "$run/$vm.console")
		rm -rf "$run/ctl/ended/$vm" "$run/ctl/ev/$vm"
		mkdir "$run/ctl/ev/$vm"
		start_vm "$vm"
		;;
	plug:running) plug "$vm" ;;
	pause:running) kill -STOP "${vm_pid[$vm]}" ;;
	resume:running) kill -CONT "${vm_pid[$vm]}" ;;
	*) answer="it is ${vm_state[$vm]}" ;;
	esac
}

serve_requests() {
	local file id verb vm
	for file in "$run"/ctl/req/*; do
		[[ -e $file ]] || return 0
		id=${file##*/}
		read -r verb vm <"$file" || true
		rm -f "$file"
		serve "$verb" "$vm"
		echo "$answer" >"$run/ctl/.ack"
		mv "$run/ctl/.ack" "$run/ctl/ack/$id"
	done
}

# Sets failures; returns when no script is left running.
supervise() {
	local deadline=$((SECONDS + opt_timeout)) vm
	declare -gA announced=() results=() off_by=() console_size=()
	boot_deaths=0
	failures=()
	for vm in "${vms[@]}"; do
		start_vm "$vm"
	done
	while busy; do
		serve_requests
		note_boots
		reap
		check_boots
		check_shutdown
		if ((SECONDS >= deadline)); then
			fail "time-out after $opt_timeout s: $(unfinished)"
			break
		fi
		if [[ -n ${abort_at:-} ]] && ((SECONDS >= abort_at)); then
			say "stopping the rest: $(unfinished)"
			break
		fi
		nap 0.1
	done
	stop_all
}

unfinished() {
	local vm
	for vm in "${vms[@]}"; do
		[[ ${vm_state[$vm]} != running ]] || echo -n "$vm "
	done
}

stop_all() {
	local vm
	for vm in "${!vm_pid[@]}"; do
		kill_vm "$vm"
	done
}
