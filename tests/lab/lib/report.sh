# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# After the run: kernel logs, tails, old runs.

# What a healthy kernel never says. known-messages lists exceptions.
bad_patterns=(
	'WARNING:' 'BUG:' 'BUG ' '\bOops\b' 'Kernel panic' 'Call Trace:'
	'general protection fault' 'unable to handle' 'kernel BUG at'
	'INFO: task .* blocked for more than' 'INFO: rcu' 'rcu: INFO'
	'rcu.*detected stalls' 'soft lockup' 'hard LOCKUP'
	'INFO: possible' 'possible circular locking' 'possible recursive locking'
	'inconsistent lock state' 'INFO: trying to register non-static key'
	'suspicious RCU usage' 'lockdep' 'held lock' 'KASAN' 'KCSAN' 'KFENCE'
	'UBSAN' 'kmemleak: [0-9]+ new suspected' 'unreferenced object'
	'refcount_t:' 'list_(add|del) corruption' 'Bad page' 'Object .* not freed'
	'Objects remaining' 'scheduling while atomic' 'sleeping function called'
	'DMA-API: ' 'ODEBUG' 'segfault at' 'trap (invalid|divide)' 'Out of memory'
	'page allocation failure' 'nobody cared' 'stack guard page'
	'waiting for .* to become free' 'unbalanced' 'leaked'
	'kmemleak: (Cannot allocate|Memory pool empty|Kernel memory leak detector disabled)'
)

join() {
	local IFS=$1
	shift
	echo "$*"
}

known_messages() {
	grep -vE '^[[:space:]]*(#|$)' "$lab_dir/known-messages" || true
}

# Where allocations are made to fail, the kernel says so, with the call trace of each.
without_failed_allocations() {
	if [[ -z ${PMOF_LAB_FAILING_ALLOCATIONS:-} ]]; then
		cat
		return
	fi
	awk '/page allocation failure|vmalloc error|kmem_cache_create.* failed with error/ { left = 80 }
		left-- > 0 { if (/<\/TASK>/) left = 0; next }
		{ print }'
}

# Leaks of what others in the kernel have allocated are theirs: kept, not counted. A module that has been
# removed has no names any more: its frames are bare numbers, and the modules that go are ours.
our_leaks() {
	awk -v RS='unreferenced object' 'NR > 1 && /\[pmof|\n *(\[<[^>]*>\] *)?0x[0-9a-f]+ *\n/ {
		printf "unreferenced object%s", $0 }' "$1"
}

# Nor are the data races of others: the line names the two functions, with their modules.
our_races() {
	awk '/BUG: KCSAN: / && !/\[pmof/ { next } { print }'
}

# Where soft-RoCE's device is removed while ib_mad still takes a datagram and posts its buffer
# again, 6.12 warns that the queue pair is destroyed: the whole block is left out, unless somebody
# else has posted, or it has no end.
without_late_datagrams() {
	awk '!held && /WARNING: .* rxe_post_(recv|send)\+/ { held = 1; block = ""; mad = ours = 0 }
		!held { print; next }
		{ block = block $0 "\n"; mad += /[ _]ib_(send_|post_send_)?mad/; ours += /\[pmof/ }
		/end trace/ || ++held > 100 {
			if (!/end trace/ || !mad || ours) printf "%s", block
			held = 0
		}
		END { if (held) printf "%s", block }'
}

# scan_logs: prints the lines of the kernel logs that fail the run.
scan_logs() {
	local f
	known_messages >"$private/known"
	for f in "$run"/ctl/*.kmemleak; do
		[[ ! -s $f ]] || our_leaks "$f" | sed "s,^,${f##*/}: ,"
	done
	for f in "$run"/*.console "$run"/ctl/*.dmesg; do
		[[ -s $f ]] || continue
		tr -d '\r' <"$f" | without_failed_allocations | our_races |
			without_late_datagrams |
			grep -aE "$(join '|' "${bad_patterns[@]}")" |
			{ if [[ -s $private/known ]]; then grep -avEf "$private/known"; else cat; fi; } |
			sed "s,^,${f##*/}: ," || true
	done
}

check_kernel_logs() {
	scan_logs >"$run/kernel-warnings"
	if [[ ! -s $run/kernel-warnings ]]; then
		rm -f "$run/kernel-warnings"
		return 0
	fi
	failures+=("a kernel log has warnings")
	say "FAILED: kernel warnings ($run/kernel-warnings; full logs beside it):"
	head -n 10 "$run/kernel-warnings"
	show_first_warning | tee "$run/first-warning"
	calls_of "$run/first-warning" | tee "$run/kernel-calls"
}

# The first line that failed the run, and what the kernel said after it.
show_first_warning() {
	local line file
	read -r line <"$run/kernel-warnings"
	for file in "$run/${line%%: *}" "$run/ctl/${line%%: *}"; do
		[[ -f $file ]] || continue
		echo "--- $file"
		grep -aF -m 1 -A 45 -- "${line#*: }" "$file" || true
	done
}

# The functions that a warning names, in one line: where it was, and who had called.
calls_of() {
	awk '/RIP: 0010:/ && !line { line = $NF ~ /^\[/ ? $(NF - 1) $NF : $NF; sub(/.*0010:/, " < ", line) }
		/Call Trace:/ { calls = 1; next }
		/<\/TASK>|end trace/ { exit }
		calls && !/ \? / && match($0, /[a-zA-Z_][a-zA-Z0-9_.]*\+0x/) {
			line = line " < " substr($0, RSTART, RLENGTH - 3)
		}
		END { if (line) print "in" substr(line, 3) }' "$1"
}

show_tail() {
	[[ -s $2 ]] || return 0
	echo "--- $1: $2"
	tail -n "$3" "$2"
}

show_tails() {
	local vm
	for vm in "${vms[@]}"; do
		show_tail "$vm, QEMU" "$run/$vm.qemu" 5
		show_tail "$vm, kernel" "$run/$vm.console" 15
		show_tail "$vm, script" "$run/$vm.out" 25
	done
}

# Verdict and exit status of the run.
conclude() {
	local f
	check_kernel_logs
	if ((${#failures[@]} == 0)); then
		say "passed in $(now) s; logs: $run"
		return 0
	fi
	show_tails
	for f in "${failures[@]}"; do
		say "failed: $f"
	done
	say "failed in $(now) s; logs: $run"
	return 1
}

# Keep the last ten runs of this place; a run that is still going has a lock.
prune_runs() {
	local dir
	find "$1" -mindepth 1 -maxdepth 1 -type d -name '20*' | sort -r |
		tail -n +11 | while read -r dir; do
		flock -n "$dir/.lock" rm -rf "$dir" 2>/dev/null || true
	done
}

# follow_start: live copies on our stdout, each line with its VM's name.
follow_start() {
	local vm f
	[[ -n $opt_follow$opt_verbose ]] || return 0
	for vm in "${vms[@]}"; do
		for f in "$run/$vm.out" ${opt_verbose:+"$run/$vm.console"}; do
			follow_one "$vm" "$f" &
			follow_pids+=($!)
		done
	done
}

follow_one() {
	# tail ends when the lab does, even if the lab is killed; sed with tail.
	exec tail -qF -n +1 -s 0.3 --pid=$$ "$2" 2>/dev/null > >(exec sed -u "s/^/$1| /")
}

follow_stop() {
	((${#follow_pids[@]})) || return 0
	nap 0.5
	kill "${follow_pids[@]}" 2>/dev/null || true
	wait "${follow_pids[@]}" 2>/dev/null || true
	follow_pids=()
}
