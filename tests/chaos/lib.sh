# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2015,SC2034,SC2154 # a && b || c: b does not fail; variables are shared
#
# What make chaos and make chaos-kv share: the schedule, the orders to the VMs, what happens to
# them. Who sources it sets
#   kinds     what happens, each once in as many rounds
#   clients   client VMs
#   victims   client IDs that a right may be taken from
#   checked() what has come of a round; calls problem()

SECONDS=0	# make's is in the environment
top=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." && pwd)

rounds=30 seconds=0 seed='' version=6.12

parse_options() {
	while (($#)); do
		case $1 in
		--rounds) rounds=$2; shift ;;
		--seconds) seconds=$2; shift ;;
		--seed) seed=$2; shift ;;
		--kinds) read -ra kinds <<<"$2"; shift ;;
		--kernel) version=$2; shift ;;
		-h | --help) usage; exit 0 ;;
		*) usage >&2; exit 2 ;;
		esac
		shift
	done
	[[ $rounds =~ ^[1-9][0-9]*$ && $seconds =~ ^[0-9]+$ && ${seed:=$(date +%s)} =~ ^[0-9]+$ ]] ||
		{ usage >&2; exit 2; }
	state=$seed
}

# set_places NAME: build/NAME.
set_places() {
	build=${BUILD:-$top/build}
	out=$(realpath -m "${CHAOS_OUT:-$build/$1}")
	share=$out/host
	hung_after=${CHAOS_HUNG:-180} # seconds; every wait here ends
}

say() {
	echo "chaos: $*"
}

# --- the schedule -----------------------------------------------------------------

# random N: sets r to a number below N; the same at every run of the same seed.
random() {
	state=$((state * 6364136223846793005 + 1442695040888963407))
	r=$(((state >> 33 & 0x3fffffff) % $1))
}

# As many rounds as there are kinds have each once, in another order.
deck=()
schedule() {
	local i j t
	((${#deck[@]})) || {
		deck=("${kinds[@]}")
		for ((i = ${#deck[@]} - 1; i > 0; i--)); do
			random $((i + 1))
			j=$r t=${deck[i]}
			deck[i]=${deck[j]}
			deck[j]=$t
		done
	}
	kind=${deck[0]}
	deck=("${deck[@]:1}")
	random 800
	before=$((200 + r))
	case $kind in
	kill) random 1500; hold=$r ;;
	stall | link | rdma) random 7000; hold=$((200 + r)) ;;
	*) random 3000; hold=$((100 + r)) ;;
	esac
	random "$victims"
	victim=client$((r + 1))
}

# --- talking to the VMs --------------------------------------------------------------

declare -A sent=() boot=([server]=1)

nap() {
	read -rt "$1" <&"$nap_fd" || true
}

ms() {
	nap "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

alive() {
	kill -0 "$lab" 2>/dev/null && [[ ! -e $ctl/abort ]]
}

# order VM VERB [ARGUMENT]: its next order, to its present boot; sets asked.  A file for each: what
# replaces another of the same name a VM may never see (9p knows files by their inode's number, and
# the host's file system gives that out again).
order() {
	asked=$1.${boot[$1]:-1}.$((sent[$1] += 1))
	echo "$2 ${3:-}" >"$share/.order" && mv "$share/.order" "$share/$asked.cmd"
}

# answer NAME: to what order() has called so; sets text.
answer() {
	local end=$((SECONDS + hung_after + 60))
	until [[ -e $share/$1.answer ]]; do
		((SECONDS <= end)) && alive || { text="no answer"; return 1; }
		nap 0.02
	done
	text=$(<"$share/$1.answer")
}

# told VM VERB [ARGUMENT]: one that says nothing but ok.
told() {
	order "$@"
	answer "$asked"
	[[ $text == ok ]] || problem "$*: $text"
}

server() {
	told server "$@"
}

requests=0

# vm VERB VM: what the lab does to a VM.
vm() {
	local id end=$((SECONDS + 60))
	id=chaos.$((requests += 1))
	echo "$1 $2" >"$ctl/req/.$id" && mv "$ctl/req/.$id" "$ctl/req/$id"
	until [[ -e $ctl/ack/$id ]]; do
		((SECONDS <= end)) && alive || { problem "$1 $2: no answer"; return; }
		nap 0.02
	done
	[[ $(<"$ctl/ack/$id") == ok ]] || problem "$1 $2: $(<"$ctl/ack/$id")"
	rm -f "$ctl/ack/$id"
}

problem() {
	problems+=("$*")
}

# both VERB [ARGUMENT]: to all clients; sets texts.
both() {
	local i
	local -a names=()
	texts=()
	for ((i = 1; i <= clients; i++)); do
		order "client$i" "$@"
		names+=("$asked")
	done
	for ((i = 1; i <= clients; i++)); do
		answer "${names[i - 1]}" || problem "client$i: $1: $text"
		texts+=("$text")
	done
}

# --- disturbances ------------------------------------------------------------------

wait_ready() {
	local end=$((SECONDS + hung_after))
	until [[ -e $share/server.ready ]]; do
		((SECONDS <= end)) && alive || { problem "the server is not back"; return; }
		nap 0.05
	done
}

disturb() {
	case $kind in
	kill)
		vm kill server
		rm -f "$share/server.ready"
		boot[server]=$((boot[server] + 1)) sent[server]=0
		ms "$hold"
		vm start server
		wait_ready
		;;
	stall)
		vm pause server
		ms "$hold"
		vm resume server
		;;
	link) server down; ms "$hold"; server up ;;
	rdma) told client1 rdma-down; ms "$hold"; told client1 rdma-up ;;
	# A port that no longer listens ends nobody: they are to come back, and find it closed.
	port) server port-down; server disable; server enable; ms "$hold"; server port-up ;;
	disable) server disable; ms "$hold"; server enable ;;
	revoke) server revoke "$victim"; ms "$hold"; server allow "$victim" ;;
	server-module) server reload ;;
	client-module)
		order "$victim" reload
		answer "$asked"
		[[ $text == reloaded* ]] || problem "$victim: reload: $text"
		;;
	*) problem "no such kind: $kind" ;;
	esac
}

# --- a round -----------------------------------------------------------------------

# record NUMBER: the round's line.
record() {
	printf '%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n' "$1" "$kind" "$hold" "${recovery:-0}" \
		"${gap:-0}" "${acks:-0}" "${unknown:-0}" "${rewritten:-0}" "${lost:-0}" "${corrupt:-0}" \
		"${problems[*]:-}" >>"$out/rounds.tsv"
}

# What both clients say: sets recovery and gap (of the slower one), and the counts.
recovered() {
	local t
	recovery=0 gap=0
	both back "$hung_after"
	for t in "${texts[@]}"; do
		read -r word a b <<<"$t"
		if [[ $word != recovered ]]; then
			problem "HUNG: $t"
			continue
		fi
		((a <= recovery)) || recovery=$a
		((b <= gap)) || gap=$b
	done
}

# no_refusal BEFORE: as many were refused before the round. In most kinds of rounds the namespace and the
# right to it are there all the time, or at least as long as the port is.
no_refusal() {
	[[ $kind == @(port|disable|revoke|server-module) ]] || ((refused == $1)) ||
		problem "$((refused - $1)) refused without a reason"
}

# Nobody has had an acknowledgement while there was no server: or nothing has happened.
felt() {
	case $kind in
	# The guest measures by its own clock, which may be slow.
	kill | stall | link | rdma | port | disable | revoke) ((2 * gap >= hold)) || problem "it had no effect: no gap is longer than $gap ms" ;;
	esac
}

one_round() {
	problems=()
	schedule
	ms "$before"
	disturb
	((${#problems[@]})) || recovered
	((${#problems[@]})) || felt
	((${#problems[@]})) || checked
	record "$1"
	if ((${#problems[@]})); then
		say "round $1: $kind ($hold ms, $victim): ${problems[*]}"
	else
		say "round $1: $kind ($hold ms): recovered in $recovery ms, longest gap $gap ms," \
			"$acks acknowledged, $unknown unknown"
	fi
	((${#problems[@]} == 0))
}

# dump: has the VMs say what they are doing.
dump() {
	local end=$((SECONDS + 60)) vm i
	touch "$share/dump"
	for ((i = 0; i <= clients; i++)); do
		vm=server
		((i == 0)) || vm=client$i
		until [[ -e $share/$vm.dump ]] || ((SECONDS > end)); do
			nap 0.2
		done
	done
	cp "$share"/*.dump "$run/"
}

# --- all of it ------------------------------------------------------------------------

# make_places: empty.
make_places() {
	mkdir -p "$out"
	rm -rf "$share" "$out/overlay" "$out/rounds.tsv"
	mkdir -p "$out/overlay/usr/lib/pmof-tests" "$share"
	exec {nap_fd}<> <(:)
}

# build_stage PROGRAM...: pmof, unless there is one, and what goes into the VMs.
build_stage() {
	local d=$out/overlay/usr/lib/pmof-tests
	make -s -j"$(nproc)" -C "$top" BUILD="$build" chaos-programs >"$out/build.log" 2>&1 &&
		{ [[ -n ${PMOF_STAGE:-} ]] || make -s -j"$(nproc)" -C "$top" BUILD="$build" KVER="$version" \
			DESTDIR="$build/stage-$version" install >>"$out/build.log" 2>&1; } ||
		{ tail -n 20 "$out/build.log"; exit 3; }
	install -m 755 "${@/#/$build/tests/chaos/}" "$d/"
	install -m 644 "$top/tests/vm/guest/lib.sh" "$top"/tests/chaos/guest/{keys,witness}.sh "$d/"
}

report() {
	"$top/tests/chaos/report" "$out/rounds.tsv" "$seed" "$1" "$SECONDS" >"$out/chaos.json"
	"$top/tests/chaos/report" text "$out/rounds.tsv" "$seed" "$1" "$SECONDS" |
		tee "$out/report.txt"
}

# start_lab CLIENT-SCRIPT
start_lab() {
	local end=$((SECONDS + hung_after))
	PMOF_STAGE=${PMOF_STAGE:-$build/stage-$version} PMOF_LAB_DIR=$out/lab "$top/tests/lab/lab" \
		--kernel "$version" --size 64M --clients "$clients" --overlay "$out/overlay" \
		--share "$share" --timeout $((600 + rounds * 120)) \
		--server "$top/tests/chaos/guest/server" --client "$top/tests/chaos/guest/$1" \
		>"$out/lab.log" 2>&1 </dev/null &
	lab=$!
	until run=$(sed -n 's/^lab: logs: \(.*\); shared as .*/\1/p' "$out/lab.log") && [[ -n $run ]]; do
		kill -0 "$lab" 2>/dev/null && ((SECONDS <= end)) || { cat "$out/lab.log"; exit 3; }
		nap 0.2
	done
	ctl=$run/ctl
}

# shellcheck disable=SC2329 # called by the trap
clean_up() {
	[[ -z ${lab:-} ]] || kill -TERM "$lab" 2>/dev/null
	wait
}

# the_end NUMBER: the loads look at all once more, and the lab at what the kernels have said.
the_end() {
	local t
	problems=() kind=end hold=0 recovery=0 gap=0 lost=0 corrupt=0
	both end "$hung_after"
	for t in "${texts[@]}"; do
		[[ $t == ended ]] || problem "$t"
		[[ $t =~ ([0-9]+)\ LOST\ ([0-9]+)\ CORRUPT ]] || continue
		lost=$((lost + BASH_REMATCH[1])) corrupt=$((corrupt + BASH_REMATCH[2]))
	done
	server end
	wait "$lab" || problem "the VMs failed: $out/lab.log"
	((${#problems[@]})) || return 0
	record "$1"
	say "the end: ${problems[*]}"
	tail -n 30 "$out/lab.log"
	return 1
}

# run_rounds CLIENT-SCRIPT: true if all was well.
run_rounds() {
	local i done_rounds=0 failed=0
	trap clean_up EXIT
	trap 'exit 130' INT TERM
	start_lab "$1"
	problems=()
	wait_ready
	both back "$hung_after"
	((${#problems[@]} == 0)) || { say "${problems[*]}"; tail -n 40 "$out/lab.log"; exit 1; }
	say "$rounds rounds, seed $seed; set up in $SECONDS s"
	SECONDS=0
	for ((i = 1; i <= rounds; i++)); do
		((seconds == 0 || SECONDS < seconds)) || break
		one_round "$i" || { failed=1; break; }
		done_rounds=$i
	done
	if ((failed == 0)); then
		the_end "$i" || failed=1
	else
		dump
	fi
	report "$done_rounds"
	if ((failed)); then
		tail -qn 5 "$run"/ctl/client*.out
		say "logs: $run; to repeat: make ${out##*/} ROUNDS=$rounds SEED=$seed"
	fi
	((failed == 0))
}

