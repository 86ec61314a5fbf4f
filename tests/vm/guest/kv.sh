# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2015,SC2016,SC2086,SC2154 # no spaces in words; variables of lib.sh
#
# The store as a user has it, for kv-client: pmof kv, the examples, Redis clients, and histories
# that are checked for linearizability. tests/kv/tools looks at the commands' every option.

kv_out=/tmp/kv.out

# prints TEXT COMMAND...: succeeds and prints the text.
prints() {
	_text=$1
	shift
	"$@" >$kv_out 2>&1 && grep -q -- "$_text" $kv_out || { cat $kv_out; return 1; }
}

put() {
	pmof kv put pmof0 "$@" </tmp/kv.value
}

get_same() {
	pmof kv get pmof0 $1 >$kv_out && cmp $kv_out /tmp/kv.value
}

# A value by each protocol, and how it is replaced.
kv_command() {
	head -c 300 /dev/urandom >/tmp/kv.value
	prints '"protocol":"herd"\|"protocol": "herd"' put small --json && get_same small &&
		fails_with EEXIST put small --if-absent || return
	head -c 3000000 /dev/urandom >/tmp/kv.value
	prints '"protocol": "sa"' put large --json && get_same large &&
		put small --protocol sa && get_same small &&
		fails_with ESTALE put small --if-version 1 && pmof kv del pmof0 small &&
		fails_with ENOENT pmof kv get pmof0 small && get_same large
}

# All keys, at once and by a cursor: as many.
kv_lists() {
	pmof kv list pmof0 >/tmp/kv.list && grep -qx large /tmp/kv.list || return
	_cursor=0:0
	: >/tmp/kv.scan
	while [ -n "$_cursor" ]; do
		pmof kv scan pmof0 --limit 7 --cursor $_cursor >>/tmp/kv.scan 2>/tmp/kv.cursor ||
			return
		_cursor=$(sed -n 's/^cursor //p' /tmp/kv.cursor)
	done
	sort /tmp/kv.list >/tmp/kv.list.sorted
	sort /tmp/kv.scan | cmp - /tmp/kv.list.sorted &&
		prints "^keys  *$(wc -l </tmp/kv.list)$" pmof kv stat pmof0
}

# A scan reads a hundred values.
kv_bench() {
	_ops=200
	[ $1 != e ] || _ops=6
	pmof kv bench pmof0 --load --batch 30 --keys 100 --threads 2 --ops $_ops --workload $1 --values paper
}

kv_examples() {
	prints 'found version [1-9][0-9]*: blue' $PROGRAMS/kv_put_get pmof0 color blue || return
	$PROGRAMS/kv_counter pmof0 count 40 >/tmp/kv.count &
	_pid=$!
	$PROGRAMS/kv_counter pmof0 count 40 || return
	wait $_pid && prints 80 pmof kv get pmof0 count || return
	kv_two_logs
}

# One has read how long the log is, and waits for its lines while another appends.
kv_two_logs() {
	mkfifo /tmp/kv.late
	$PROGRAMS/kv_batch_log pmof0 log </tmp/kv.late &
	_pid=$!
	exec 9>/tmp/kv.late
	sleep 0.5
	seq 100 | $PROGRAMS/kv_batch_log pmof0 log || return
	seq 101 170 >&9
	exec 9>&-
	wait $_pid && seq 170 >/tmp/kv.value &&
		$PROGRAMS/kv_batch_log pmof0 log </dev/null >$kv_out && cmp $kv_out /tmp/kv.value
}

# Redis's own programs, where this Debian has them.
kv_redis() {
	ip link set lo up
	pmof-redis pmof0 --port 6379 &
	_redis=$!
	until_true 10 $PROGRAMS/redis-cli ping || return
	$PROGRAMS/redis-benchmark -t set,get,incr,mset -n 200 -c 4 -P 4 -r 100 -q &&
		$PROGRAMS/redis-cli set redis works && prints works pmof kv get pmof0 redis
	_status=$?
	kill $_redis && wait $_redis && return $_status
}

# more_clients: three other client IDs; sets others.
more_clients() {
	others=''
	for _c in 1 2 3; do
		_device=$(pmof_connect "$OPTIONS,id=other$_c") || return
		others="$others $_device"
	done
}

no_more_clients() {
	for _device in $others; do
		pmof_disconnect $_device || return
	done
}

# history_start NAME DEVICE...: in the background, until history_check.
history_start() {
	rm -f /tmp/history.stop
	_name=$1
	shift
	$PROGRAMS/kv_record --threads 8 --keys 4 --until /tmp/history.stop --seed 1 \
		--output /host/history.$_name "$@" >/tmp/history.$_name 2>&1 &
	history_pid=$!
	sleep 4
}

# history_check NAME: ends it.
history_check() {
	sleep 4
	touch /tmp/history.stop
	wait $history_pid
	_status=$?
	cat /tmp/history.$1
	sed 's/^/# /' /tmp/history.$1 >>"$tap_file"
	[ $_status = 0 ] || return
	$PROGRAMS/kv_lincheck /host/history.$1 >$kv_out
	_status=$?
	cat $kv_out
	sed 's/^/# /' $kv_out >>"$tap_file"
	return $_status
}

kv_tools() {
	tap_start kv-tools
	t "pmof kv put, get and del" kv_command
	t "pmof kv list, scan and stat" kv_lists
	for _workload in a d e f etc sys; do
		t "pmof kv bench: $_workload" kv_bench $_workload
	done
	t "examples" kv_examples
	if [ -e $PROGRAMS/redis-benchmark ]; then
		t "redis-benchmark" kv_redis
	else
		t_skip "redis-benchmark" "no libhiredis-dev or redis-tools on the host"
	fi
	history_start quiet pmof0
	t "check, while it is used" pmof kv check pmof0
	t "it is not formatted from here" fails_with "its server runs the store" pmof kv format --force /dev/pmofc0
	t "a history is linearizable" history_check quiet
	tap_end
}

# --- a store that is damaged, by its server and a client of the same machine --------

damaged_spoil() {
	only kv_damaged "$1"
}

# damaged_open COMMAND...: it is disabled, the command is run, and it is opened again.
damaged_open() {
	pmof_disconnect pmof0 && ns_disable data && "$@" && dmesg -c >/dev/null && ns_enable data &&
		[ "$(pmof_connect)" = pmof0 ]
}

damaged_log() {
	dmesg | grep -q "$1"
}

zero_sector() {
	dd if=/dev/zero of=/dev/pmem0 bs=512 seek=$1 count=1 oflag=direct
}

# The list of bad sectors is the driver's: one that it has not been told is not on it any more.
damaged_mend() {
	ndctl disable-namespace namespace0.0 && ndctl enable-namespace namespace0.0 &&
		until_true 5 test -b /dev/pmem0 && zero_sector $1
}

damaged_twice() {
	damaged_spoil superseded && read -r _older _newer </tmp/sectors
}

damaged_bad() {
	set_attr /sys/block/pmem0/badblocks "$1 1"
}

# What closing has cleared is there again, as behind a power cut, and the newer one cannot be read.
damaged_cut() {
	dd if=/tmp/older of=/dev/pmem0 bs=512 seek=$_older count=1 oflag=direct && damaged_bad $_newer
}

# Behind a key with two versions: in whichever way the newer one goes, the older does not come back.
damaged_versions() {
	t "damaged: a key is put twice" damaged_twice
	t "damaged: the sector of the older one" dd if=/dev/pmem0 of=/tmp/older bs=512 skip=$_older count=1
	t "damaged: a cut, and the newer one's header is bad" damaged_open damaged_cut
	t "damaged: that is seen, too" damaged_log "bad sectors lie in some objects"
	t "damaged: it cannot be told what the key has" fails_with ENODATA pmof kv get pmof0 newer
	t "damaged: mended, by zeros" damaged_open damaged_mend $_newer
	t "damaged: what was superseded stays so" fails_with ENOENT pmof kv get pmof0 newer
	t "damaged: it is put twice again" damaged_twice
	t "damaged: the newer one is mended before it is seen to be bad" damaged_open zero_sector $_newer
	t "damaged: what was superseded stays so here" fails_with ENOENT pmof kv get pmof0 newer
	t "damaged: once more" damaged_twice
	t "damaged: only its value is bad" damaged_open damaged_bad $((_newer + 1))
	t "damaged: the value cannot be read" fails_with ENODATA pmof kv get pmof0 newer
	t "damaged: the store takes changes still" put beside
	t "damaged: that key's, too" pmof kv del pmof0 newer
	t "damaged: mended, too" damaged_open damaged_mend $((_newer + 1))
}

# A value that is READ, from its address.
damaged_long() {
	t "damaged: a longer value" put long
	t "damaged: its place" damaged_spoil where
	read -r _long _none </tmp/sectors
	t "damaged: a sector in it is bad" damaged_open damaged_bad $((_long + 8))
	t "damaged: that is what its reader is told" fails_with ENODATA pmof kv get pmof0 long
	t "damaged: another value is there" get_same vf
	t "damaged: it can be deleted" pmof kv del pmof0 long
	t "damaged: and is mended" damaged_open damaged_mend $((_long + 8))
}

# The log's first sector that is nothing else's.
damaged_log_sector() {
	_table=$((($(blockdev --getsize64 /dev/pmem0) >> 22) * 8))
	echo $(((8192 + (_table + 63) / 64 * 64 + 511) / 512))
}

# A record of the sector, and of those behind it, tells of the key that is put twice.
damaged_records() {
	for _i in 1 2 3 4 5 6 7 8; do
		put beside || return
	done
	damaged_twice
}

damaged_many_records() {
	for _many in 1 2 3 4 5 6 7 8 9 10; do
		damaged_records || return
	done
}

# It is seen by the next list, at the latest with the next put.
damaged_seen_in_log() {
	damaged_bad $1 && until_true 15 fails_with EROFS put beside >/dev/null
}

# What closing has cleared is there again, as behind a power cut.
damaged_log_cut() {
	damaged_mend $1 && dd if=/tmp/older of=/dev/pmem0 bs=512 seek=$_older count=1 oflag=direct
}

# A sector of the log is bad, while the store is open or not, and mended by zeros.
damaged_log_lost() {
	_log=$(damaged_log_sector)
	t "damaged: records of a key that is put twice" damaged_records
	t "damaged: a sector of the log is bad" damaged_seen_in_log $_log
	t "damaged: the sector of the older one then" \
		dd if=/dev/pmem0 of=/tmp/older bs=512 skip=$_older count=1 iflag=direct
	t "damaged: a cut, and the log is mended" damaged_open damaged_log_cut $_log
	t "damaged: what its records had replaced does not come back" put beside
	t "damaged: and the key has what replaced it" damaged_spoil is_newer
	t "damaged: more records than a round has" damaged_many_records
	t "damaged: some are gone behind a reboot" damaged_open zero_sector $_log
	t "damaged: that is seen in the log" damaged_log "records of its log are gone"
	t "damaged: for reading only, so" fails_with EROFS put beside
	t "damaged: the check says so" damaged_check_log
	t "damaged: format, once more" damaged_open pmof kv format --force /dev/pmem0
}

# Both copies of the superblock cannot be read, and then are what they were.
damaged_supers() {
	pmof_disconnect pmof0 && ns_disable data &&
		dd if=/dev/pmem0 of=/tmp/supers bs=4k count=2 iflag=direct &&
		damaged_bad 0 && damaged_bad 8 && dmesg -c >/dev/null
}
damaged_supers_mended() {
	damaged_mend 0 && dd if=/tmp/supers of=/dev/pmem0 bs=4k oflag=direct && ns_enable data &&
		[ "$(pmof_connect)" = pmof0 ]
}

damaged_check_log() {
	pmof_disconnect pmof0 && ns_disable data &&
		pmof kv check /dev/pmem0 >$kv_out 2>&1
	[ $? = 1 ] && grep -q "records of the log are gone" $kv_out && ns_enable data &&
		[ "$(pmof_connect)" = pmof0 ]
}

# /dev/pmem0 is free.
kv_damaged() {
	t "damaged: format" pmof kv format --force /dev/pmem0
	t "damaged: export" export_data
	head -c 16384 /dev/urandom >/tmp/kv.value
	t "damaged: a client here" modprobe pmof-client
	t "damaged: connect" test "$(pmof_connect)" = pmof0
	t "damaged: put" put vf
	t "damaged: without VF" damaged_spoil no_vf
	t "damaged: a key is there twice" damaged_spoil twice
	t "damaged: open" damaged_open true
	t "damaged: that is seen" damaged_log "some keys are there twice"
	t "damaged: for reading only" fails_with EROFS put other
	t "damaged: what a power cut has left without VF is read" get_same vf
	t "damaged: it is there once" damaged_spoil once
	t "damaged: open, it is not" damaged_open true
	damaged_versions
	damaged_long
	damaged_log_lost
	t "damaged: both superblocks are bad" damaged_supers
	t "damaged: it is not opened" fails_with "Input/output error" ns_enable data
	t "damaged: nor taken for no store" damaged_log "a bad sector lies in a superblock"
	t "damaged: mended, with what they held" damaged_supers_mended
	t "damaged: the store takes changes" put other
	t "damaged: disconnect" pmof_disconnect pmof0
	t "damaged: the client goes" remove_modules pmof-client
	t "damaged: unexport" unexport_data
	t "damaged: what is left is a store" pmof kv check /dev/pmem0
}
