# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with tests/run
#
# Counting for tests/run: TAP into passed, failed and skipped, one line for each suite, and what is said
# once more at the end of it all.

passed=0 failed=0 skipped=0

say() {
	printf 'check: %s\n' "$*"
}

seconds() {
	local t=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
	printf '%d.%d s' $((t / 10)) $((t % 10))
}

# What is wrong with a suite as a whole: one that did not finish its plan, or
# ended badly without saying why, has failed.
suite_problem() {
	local status=$1 ok=$2 bad=$3 skip=$4 plan=$5
	if [[ $status == 124 || $status == 137 ]]; then
		echo "timed out"
	elif [[ $plan == none ]]; then
		echo "no plan (exit status $status)"
	elif ((plan == 0)); then
		echo "no test was run (exit status $status)"
	elif ((ok + bad + skip != plan)); then
		echo "$((ok + bad + skip)) of $plan tests were run (exit status $status)"
	elif [[ $status != 0 ]] && ((bad == 0)); then
		echo "exit status $status"
	fi
}

# count_tap NAME FILE STATUS [TOOK]: adds the results of a suite, prints a line.
count_tap() {
	local name=$1 file=$2 status=$3 ok bad skip plan problem line
	touch "$file"
	read -r ok bad skip plan < <(awk '
		/^ok [0-9]/ { if (/# SKIP/) skip++; else ok++ }
		/^not ok [0-9]/ { bad++ }
		/^1\.\.[0-9]+/ { sub(/^1\.\./, ""); plan = $1 }
		END { print ok + 0, bad + 0, skip + 0, plan == "" ? "none" : plan }' "$file")
	problem=$(suite_problem "$status" "$ok" "$bad" "$skip" "$plan")
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	[[ -z $problem ]] || failed=$((failed + 1))
	line="$name: $ok passed"
	((bad == 0)) || line+=", $bad FAILED"
	((skip == 0)) || line+=", $skip skipped"
	[[ -z $problem ]] || line+=", FAILED: $problem"
	say "$line${4:+ ($4)}"
	sed -n 's/^ok [0-9]* \(.*# SKIP.*\)/check:   \1/p' "$file"
	if [[ -n $problem ]] || ((bad)); then
		show_failures "$file"
		recall "$line" "$(grep -a -m 3 -B 4 '^not ok' "$file" | grep -avE '^(ok|# +(RUN|OK) )')" \
			"$(grep -a -m 1 -A 3 'FAILED: kernel warnings' "$file" | cut -c-200)"
	fi
}

# What has failed is said once more at the very end: a log may be cut to that.
recall() {
	printf '%s\n' "$@" | sed -n 's/^./    &/p' >>"$out/failures"
}

# The failed tests with the comments before and behind them.
show_failures() {
	{
		awk '/^# +(RUN|OK) / { n = 0; next }
			/^#/ { if (after) print; else buf[n++] = $0; next }
			{ after = 0 }
			/^not ok/ { for (i = 0; i < n; i++) print buf[i]; print; after = 1 }
			{ n = 0 }' "$1" | head -n 60
		grep -q '^not ok' "$1" || tail -n 15 "$1"
	} | sed 's/^/    /'
}

one() {
	if [[ $1 == 0 ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
