# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# lab --shell: a tmux window with a console of each VM.

tmux_lab() {
	env -u TMUX tmux -L "pmof-lab-$$" -f /dev/null "$@"
}

# A console outlives a crash of its VM.
console_command() {
	echo "while :; do socat -,rawer,escape=0x1d UNIX-CONNECT:$private/$1.tty" \
		"2>/dev/null; [ -d $private ] || exit; sleep 0.2; done"
}

# attach: in the background, while this shell serves the VMs' requests.
attach() {
	local pid in
	exec {in}<&0
	tmux_lab attach -t lab <&"$in" &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		serve_requests >>"$run/requests.log"
		nap 0.2
	done
	wait "$pid" || true
}

run_shell() {
	local vm first=${vms[0]}
	declare -gA announced=() results=() off_by=()
	failures=()
	for vm in "${vms[@]}"; do
		start_vm "$vm"
	done
	for vm in "${vms[@]}"; do
		until [[ -S $private/$vm.tty ]]; do
			kill -0 "${vm_pid[$vm]}" 2>/dev/null || { show_tails; die "$vm does not start"; }
			nap 0.1
		done
	done
	tmux_lab new-session -d -s lab -x 200 -y 50 "$(console_command "$first")"
	for vm in "${vms[@]:1}"; do
		tmux_lab split-window -t lab "$(console_command "$vm")"
	done
	tmux_lab set-option -g mouse on
	tmux_lab set-option -g status-right "quit: C-b &   next VM: C-b o   $run"
	tmux_lab select-layout -t lab even-vertical
	attach
	tmux_lab kill-server 2>/dev/null || true
	stop_all
	check_kernel_logs
	say "stopped; logs: $run"
}
