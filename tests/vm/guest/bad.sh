# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2012,SC2015,SC2016,SC2086,SC2154 # as the scripts that source it
#
# Bad blocks and memory failure, by server and client on one machine. The device
# is one whose driver can clear poison: legacy PMEM, of which it believes that
# a write does; and one that cannot, bad_stays. Needs lib.sh, port 1, and no connection.

bad_name=poisoned

bad_connect() {
	exec 3<>/dev/pmof-control || return
	/usr/bin/echo "addr=$LAB_IP,name=$bad_name,device_loss_timeout=0${1:+,$1}" >&3 || { exec 3>&-; return 1; }
	read -r _answer <&3
	exec 3>&-
	until_true 5 test -b "/dev/pmof${_answer#instance=}"
}

bad_sectors_are() {
	[ "$(cat $ns/$bad_name/bad_sectors)" = $1 ]
}
no_bad_sectors() {
	bad_sectors_are 0
}

bad_dead() {
	[ "$(ls /sys/class/pmof-session)" = "" ] && until_true 10 state_is pmof0 dead
}

bad_again() {
	pmof_disconnect pmof0
	bad_connect "$1"
}

# bad_set SECTOR COUNT: on the list, and looked at.
bad_set() {
	echo "$1 $2" >/sys/block/$bad_dev/badblocks && set_attr $ns/$bad_name/rescan 1
}

sector() {
	dd if=/dev/$1 bs=512 skip=$2 count=${3:-1} ${4:+iflag=$4} 2>/tmp/dd.log
}

# The read fails; the block layer calls a medium error ENODATA.
sector_eio() {
	! sector "$@" >/dev/null && grep -q "Input/output error\|No data available" /tmp/dd.log
}

# bad_blocks DEVICE
bad_blocks() {
	bad_dev=${1##*/}
	ns_make $bad_name $1 allow_volatile=1
	t "bad blocks: export" ns_enable $bad_name
	ln -s $ns/$bad_name $ports/1/namespaces/$bad_name
	dd if=/dev/urandom of=/tmp/page bs=4096 count=1 2>/dev/null
	t "bad blocks: none yet" test "$(cat $ns/$bad_name/bad_sectors)" = 0
	t "bad blocks: connect" bad_connect block=1
	t "bad blocks: a clean segment is whole" test "$(cat /sys/class/pmof/pmof0/bad_sectors)" = 0

	# Sector 2082: the third of a page.
	t "a scrub finds one, a rescan ends the sessions" bad_set 2082 1
	t "and has when it returns" bad_dead
	t "it is counted: configfs" test "$(cat $ns/$bad_name/bad_sectors)" = 1
	t "pmof server list" sh -c "pmof server list --json | tr -d ' \n' | grep -q '\"bad_sectors\":1[,}]'"
	t "connect again" bad_again block=1
	t "pmof info" sh -c 'pmof info pmof0 | grep -q "bad sectors.*1"'
	suite bad 100 env PMOF_BAD_OFF=$((2082 * 512)) $PROGRAMS/bad
	t "connect again, by rpc" bad_again block=1,persist=rpc
	suite bad-rpc 100 env PMOF_BAD_OFF=$((2082 * 512)) $PROGRAMS/bad -t puts
	t "and by what is best" bad_again block=1

	t "block: the bad sector" sector_eio pmof0 2082 1 direct
	t "block: its neighbours" sh -c 'dd if=/dev/pmof0 bs=512 skip=2081 count=1 iflag=direct of=/tmp/s && dd if=/dev/pmof0 bs=512 skip=2083 count=5 iflag=direct of=/tmp/s'
	t "block: what crosses it" sector_eio pmof0 2048 128 direct
	t "block: what is beside it" sh -c 'dd if=/dev/pmof0 bs=512 skip=2048 count=34 iflag=direct of=/tmp/s'
	t "block: a medium error" sh -c 'dmesg | tail -n 40 | grep -q "critical medium error, dev pmof0"'
	t "block: write to a neighbour" sh -c 'dd if=/tmp/page of=/dev/pmof0 bs=512 seek=2083 count=1 oflag=direct'
	sector pmof0 2083 1 direct >/tmp/s
	t "block: and read it" cmp -n 512 /tmp/s /tmp/page
	suite hostile_bad 100 env PMOF_BAD_OFF=$((2082 * 512)) LAB_SERVER_IP=$LAB_IP \
		PMOF_NS=$bad_name $PROGRAMS/hostile_bad

	# An overwrite of the sector repairs it.
	t "overwrite the bad sector" sh -c "head -c 512 /tmp/page | pmof put pmof0 $((2082 * 512)) --persist"
	sector pmof0 2082 1 direct >/tmp/s
	t "it reads as it was written" cmp -n 512 /tmp/s /tmp/page
	t "and is off the list" test "$(cat /sys/block/$bad_dev/badblocks)" = ""
	t "which is noticed" until_true 10 no_bad_sectors
	t "nobody is disturbed" state_is pmof0 live
	bad_again block=1
	t "the segment is whole again" test "$(cat /sys/class/pmof/pmof0/bad_sectors)" = 0

	# The same without a rescan by hand, and by zeros.
	set_attr /sys/module/pmof_server/parameters/rescan_seconds 1
	echo "4096 3" >/sys/block/$bad_dev/badblocks
	t "a rescan comes by itself" until_true 70 bad_dead
	bad_again block=1
	t "block: a discard repairs" blkdiscard -f -z -o $((4096 * 512)) -l 4096 /dev/pmof0
	t "block: it reads" sector pmof0 4096 8 direct
	t "and none is bad" until_true 70 no_bad_sectors
	bad_memory_failure

	pmof_disconnect pmof0
	# With recovery, and nothing that looks at the list unasked.
	set_attr /sys/module/pmof_server/parameters/rescan_seconds 0
	sleep 2
	suite bad_late 400 env PMOF_BAD_LIST=/sys/block/$bad_dev/badblocks \
		PMOF_BAD_RESCAN=$ns/$bad_name/rescan PMOF_BAD_PORT=$ports/1/enable \
		LAB_SERVER_IP=$LAB_IP PMOF_NS=$bad_name $PROGRAMS/bad_late
	bad_many
	bad_full
	bad_all
	bad_device_goes
	rm $ports/1/namespaces/$bad_name
	ns_remove $bad_name
}

# The pages of /tmp/many between those with a bad sector, from page 2500 on.
many_good() {
	_i=1
	while [ $_i -lt 200 ]; do
		dd if=/dev/pmof0 bs=4096 skip=$((2500 + _i)) count=1 iflag=direct of=/tmp/s 2>/dev/null &&
			dd if=/tmp/many bs=4096 skip=$_i count=1 of=/tmp/page 2>/dev/null &&
			cmp /tmp/s /tmp/page || return
		_i=$((_i + 2))
	done
}
# each_bad COMMAND...: of each bad sector.
each_bad() {
	_i=0
	while [ $_i -lt 100 ]; do
		"$@" $((20003 + 16 * _i)) || return
		_i=$((_i + 1))
	done
}
list_it() {
	echo "$1 1" >/sys/block/$bad_dev/badblocks
}
fails_there() {
	sector_eio pmof0 $1 1 direct
}

# More pieces than the server tells of in a reply.
bad_many() {
	dd if=/dev/urandom of=/tmp/many bs=4096 count=200 2>/dev/null
	_before=$(cat $ns/$bad_name/bad_sectors)	# of another suite
	t "many: connect" bad_connect block=1
	t "many: write" dd if=/tmp/many of=/dev/pmof0 bs=4096 seek=2500 oflag=direct
	t "many: 100 sectors are bad" each_bad list_it
	t "many: a rescan finds them" set_attr $ns/$bad_name/rescan 1
	t "many: no session is left" bad_dead
	t "many: the server counts them" test "$(cat $ns/$bad_name/bad_sectors)" = $((_before + 100))
	t "many: connect again" bad_again block=1
	t "many: so does the client" test "$(cat /sys/class/pmof/pmof0/bad_sectors)" = $((_before + 100))
	t "many: each good page is there" many_good
	t "many: each bad sector fails" each_bad fails_there
	t "many: zeros repair all" blkdiscard -f -z -o $((2500 * 4096)) -l $((200 * 4096)) /dev/pmof0
	t "many: which is noticed" until_true 20 bad_sectors_are $_before
	t "many: disconnect" pmof_disconnect pmof0
	rm /tmp/many
}

# As many as the kernel keeps.
fill_list() {
	_full=0
	while [ $_full -lt 1000 ] && list_it $((20003 + 16 * _full)); do
		_full=$((_full + 1))
	done 2>/dev/null
	echo "$_full fit"
	[ $_full -ge 400 ] && [ $_full -lt 1000 ]
}
namespace_off() {
	[ "$(cat $ns/$bad_name/enable)" = 0 ]
}

# A page fails, and there is no room to say so: nobody may reach it, and it stays mapped.
bad_full() {
	_before=$(cat $ns/$bad_name/bad_sectors)
	t "full: the list takes some hundred sectors, and no more" fill_list
	t "full: a rescan" set_attr $ns/$bad_name/rescan 1
	t "full: all are counted" bad_sectors_are $((_before + _full))
	t "full: connect" bad_connect block=1
	t "full: the client counts them, too" \
		test "$(cat /sys/class/pmof/pmof0/bad_sectors)" = $((_before + _full))
	t "full: the last bad sector fails" fails_there $((20003 + 16 * (_full - 1)))
	t "full: the one behind it does not" sector pmof0 $((20004 + 16 * (_full - 1))) 1 direct
	t "full: nor does the first good page" sector pmof0 20008 8 direct
	if [ -w $_hard ]; then
		t "full: a memory failure that cannot be kept" fails_with . set_attr $_hard $((_start + 12288 * 512))
		t "full: the namespace is disabled" namespace_off
		t "full: no session is left" bad_dead
		t "full: the page is still mapped" sector $bad_dev 12288 8 direct
		pmof_disconnect pmof0
		t "full: enabled again" ns_enable $bad_name
		t "full: connect again" bad_connect block=1
	fi
	t "full: zeros repair all" \
		blkdiscard -f -z -o $((20000 * 512)) -l $((16 * 512 * _full)) /dev/pmof0
	t "full: which is noticed" until_true 20 bad_sectors_are $_before
	t "full: disconnect" pmof_disconnect pmof0
}

# In the longest pieces that the kernel keeps, or 6.1 has them in a wrong order.
list_all() {
	_at=0
	while [ $_at -lt $_sectors ]; do
		echo "$_at 512" >/sys/block/$bad_dev/badblocks || return
		_at=$((_at + 512))
	done
}

# Not a page is good.  Who is there may repair them; enabled it is not, so.
bad_all() {
	_sectors=$(cat /sys/block/$bad_dev/size)
	t "all: zeros repair what there is" blkdiscard -f -z /dev/$bad_dev
	t "all: connect" bad_connect block=1
	t "all: each sector is bad" list_all
	t "all: a rescan" set_attr $ns/$bad_name/rescan 1
	t "all: it is counted" bad_sectors_are $_sectors
	t "all: no session is left" bad_dead
	t "all: connect again" bad_again block=1
	t "all: nothing can be read" sector_eio pmof0 0 8 direct
	t "all: zeros repair a page" blkdiscard -f -z -o 0 -l 4096 /dev/pmof0
	t "all: it can be" sector pmof0 0 8 direct
	t "all: its neighbour cannot" sector_eio pmof0 8 8 direct
	# The kernel's list is full, and has no room for what is left on both sides of it.
	t "all: of what cannot be taken off the list nobody is told that it is repaired" \
		fails_with "No data available" blkdiscard -f -z -o 16384 -l 4096 /dev/pmof0
	t "all: nor of what is put there" fails_with "a bad sector is in the range" \
		sh -c 'pmof put pmof0 16384 --persist </tmp/page'
	t "all: which is noticed" until_true 20 bad_sectors_are $((_sectors - 8))
	t "all: disconnect" pmof_disconnect pmof0
	ns_disable $bad_name
	blkdiscard -f -z /dev/$bad_dev
	list_all
	t "all: it cannot be enabled" fails_with "Input/output error" ns_enable $bad_name
	t "all: repaired by hand" blkdiscard -f -z /dev/$bad_dev
	t "all: nothing is bad" test "$(cat /sys/block/$bad_dev/badblocks)" = ""
	t "all: it can" ns_enable $bad_name
}

# The driver lets go of the PMEM under the load of somebody.
bad_device_goes() {
	_driver=$(realpath /sys/block/$bad_dev/device/driver)
	_device=$(basename "$(realpath /sys/block/$bad_dev/device)")
	t "the device will go: connect" bad_connect block=1
	dd if=/dev/zero of=/dev/pmof0 bs=4096 count=20000 oflag=direct 2>/dev/null &
	_load=$!
	sleep 1
	t "the device goes with I/O running" timeout 60 sh -c "echo $_device >$_driver/unbind"
	t "no session is left when it has" bad_dead
	t "the I/O was under way" eval "! wait $_load"
	t "nor the device" test ! -b /dev/$bad_dev
	t "the namespace is disabled" test "$(cat $ns/$bad_name/enable)" = 0
	t "and cannot be enabled" fails_with . ns_enable $bad_name
	t "the device comes back" sh -c "echo $_device >$_driver/bind"
	t "it is there" until_true 10 test -b /dev/$bad_dev
	t "so is the namespace" ns_enable $bad_name
	t "connect again" bad_again block=1
	t "it can be written" dd if=/tmp/page of=/dev/pmof0 bs=4096 count=1 oflag=direct
	t "disconnect" pmof_disconnect pmof0
}

# NFIT's, whose firmware here cannot clear poison: what is bad stays so, and nobody is told otherwise.
bad_stays() {
	bad_dev=pmem0
	if [ ! -w /sys/block/$bad_dev/badblocks ]; then
		t_skip "poison that cannot be cleared" "this kernel does not let bad blocks be set"
		return
	fi
	dd if=/dev/urandom of=/tmp/page bs=4096 count=1 2>/dev/null
	ns_make $bad_name /dev/$bad_dev
	t "no clearing: export" ns_enable $bad_name
	ln -s $ns/$bad_name $ports/1/namespaces/$bad_name
	t "no clearing: a sector is bad" bad_set 2082 1
	t "no clearing: connect" bad_connect block=1
	t "no clearing: a put is not acknowledged" fails_with "a bad sector is in the range" \
		sh -c "head -c 512 /tmp/page | pmof put pmof0 $((2082 * 512)) --persist"
	t "no clearing: nor are zeros" fails_with "No data available" \
		blkdiscard -f -z -o $((2082 * 512)) -l 512 /dev/pmof0
	t "no clearing: it is still on the list" \
		test "$(cat /sys/block/$bad_dev/badblocks)" = "2082 1"
	t "no clearing: and counted" bad_sectors_are 1
	t "no clearing: it cannot be read" sector_eio pmof0 2082 1 direct
	t "no clearing: its neighbour can be written" \
		dd if=/tmp/page of=/dev/pmof0 bs=512 seek=2083 count=1 oflag=direct
	sector pmof0 2083 1 direct >/tmp/s
	t "no clearing: and read" cmp -n 512 /tmp/s /tmp/page
	t "no clearing: disconnect" pmof_disconnect pmof0
	rm $ports/1/namespaces/$bad_name
	ns_remove $bad_name
	# Which takes it off.
	ndctl disable-namespace namespace0.0 >/dev/null 2>&1
	ndctl enable-namespace namespace0.0 >/dev/null 2>&1
	t "no clearing: the device again" until_true 5 test -b /dev/$bad_dev
}

# A page of the medium fails under the load of somebody.
bad_memory_failure() {
	_hard=/sys/devices/system/memory/hard_offline_page
	_start=$(cat /sys/block/$bad_dev/device/resource)
	t "the place of the page" test -n "$_start"
	if [ ! -w $_hard ]; then
		t_skip "memory failure" "no $_hard in this kernel"
		return
	fi
	bad_again block=1
	dd if=/dev/zero of=/dev/pmof0 bs=4096 seek=1024 count=20000 oflag=direct 2>/dev/null &
	_load=$!
	sleep 1
	t "memory failure with I/O running" set_attr $_hard $((_start + 8192 * 512))
	t "no session is left when it returns" bad_dead
	t "the I/O was under way" eval "! wait $_load"
	t "all of the page is bad" test "$(cat /sys/block/$bad_dev/badblocks)" = "8192 8"
	t "it is counted" test "$(cat $ns/$bad_name/bad_sectors)" = 8
	t "connect again" bad_again block=1
	t "the page cannot be read" sector_eio pmof0 8195 1 direct
	t "the one before can" sector pmof0 8184 8 direct
	t "a sector of it cannot be written" fails_with . \
		sh -c 'dd if=/tmp/page of=/dev/pmof0 bs=512 seek=8193 count=1 oflag=direct'
	t "all of it can" dd if=/tmp/page of=/dev/pmof0 bs=4096 seek=1024 count=1 oflag=direct
	sector pmof0 8192 8 direct >/tmp/s
	t "and read" cmp /tmp/s /tmp/page
	t "nothing is bad" test "$(cat /sys/block/$bad_dev/badblocks)" = ""

	# One with a sector that was bad before: of it the good ones go by messages.
	bad_set 12290 1
	bad_again block=1
	t "a page that was in no MR fails" set_attr $_hard $((_start + 12288 * 512))
	t "no session is left then, either" bad_dead
	bad_again block=1
	t "it is written, and good" dd if=/tmp/page of=/dev/pmof0 bs=4096 seek=1536 count=1 oflag=direct
	t "nothing is bad again" test "$(cat /sys/block/$bad_dev/badblocks)" = ""
}
