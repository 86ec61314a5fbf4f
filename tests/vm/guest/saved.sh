# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2012,SC2015,SC2016,SC2034,SC2086,SC2154 # as the script that sources it
#
# pmof connect --save, --all and --wait: connections that are kept in files, without a key and
# with one. Needs what restore.sh needs.

# The kernel spells an address in its own way: what is connected is not connected once more.
# Just behind a disconnect the device may have another number than 0, whose last user is going.
connect_all() {
	for _i in 1 2; do
		pmof connect --all || return
	done
	set -- /sys/class/pmof/pmof*
	echo "$@"
	[ $# = 1 ] && [ -e "$1" ] && device=$1
}

rm -rf /etc/pmof
t "listen on IPv6" pmof server listen "$LAB_IP6"
t "export" pmof server export /dev/pmem0 --name data
later() {
	(sleep 3; pmof server listen "$LAB_IP" --namespace data) >/dev/null &
	[ "$(pmof connect "$LAB_IP" data --wait 60)" = pmof0 ] && pmof disconnect pmof0
}
t "connect --wait, to a server that comes later" later
# Who unloads the module may load another one: it is not loaded behind his back.
unloaded() {
	pmof connect "$LAB_IP" data --wait 60 >/tmp/unloaded.dev 2>/tmp/unloaded.err &
	_pid=$!
	until_true 10 grep -q "nobody listens" /tmp/unloaded.err && until_true 10 rmmod pmof-client &&
		until_true 20 grep -q "pmof-client is not loaded any more" /tmp/unloaded.err &&
		modprobe pmof-client && pmof server listen "$LAB_IP" --namespace data >/dev/null
	_status=$?
	wait $_pid && [ $_status = 0 ] && pmof disconnect "$(cat /tmp/unloaded.dev)"
}
pmof server unlisten "$LAB_IP"
t "connect --wait, and the module goes and comes" unloaded
t "connect --wait gives up" fails_with "nobody listens" pmof connect "$LAB_IP:7" data --wait 1
cut_short() {
	pmof connect "$LAB_IP" data --fail-io-timeout 900 >/tmp/dev 2>/tmp/times &&
		grep -q "after 600 s already" /tmp/times && pmof disconnect "$(cat /tmp/dev)"
}
t "a time that the device's end cuts short is told" cut_short
t "connect, and keep it" pmof connect "$(echo "$LAB_IP6" | tr a-f A-F)" data --save
t "with the client ID that it has" sh -c \
	'grep "\"id\": *\"$(cat /sys/class/pmof/pmof*/client_id)\"" /etc/pmof/data.json'
t "connect --all, twice: one device" connect_all
link_local() {
	echo '{"addr": "fe80::77%'$netdev'", "name": "data"}' >/etc/pmof/local.json
	pmof disconnect --all && rm /etc/pmof/data.json && connect_all &&
		grep -q "^\[fe80::77%$netdev\]:20049\$" "$device/address"
}
cp /etc/pmof/data.json /tmp/data.json
t "listen on a link-local address" pmof server listen "fe80::77%$netdev" --namespace data
t "connect --all to it, twice: one device" link_local
# By a unit, and by who does not wait for it; a copy of the file, which would race with it.
at_once() {
	pmof disconnect --all || return
	_pids=
	for _i in 1 2 3 4; do
		pmof connect --all >/tmp/at_once.$_i 2>&1 &
		_pids="$_pids $!"
	done
	wait $_pids
	set -- /sys/class/pmof/pmof*
	cat /tmp/at_once.*
	[ $# = 1 ] && [ -e "$1" ] && [ "$(cat /tmp/at_once.* | grep -c "is connected as")" = 1 ]
}
t "connect --all, four times at once: one device" at_once
copied() {
	sed 's/"name": *"data"/&, "read_only": true/' /etc/pmof/local.json >/etc/pmof/old.json
	sed 's/"name": *"data"/&, "key_file": "\/nowhere"/' /etc/pmof/local.json >/etc/pmof/aged.json
	pmof disconnect --all && pmof connect --all >/tmp/copied.out 2>&1 &&
		grep -q "local.json: the same namespace as /etc/pmof/aged.json, which has failed" /tmp/copied.out
	_status=$?
	cat /tmp/copied.out
	rm /etc/pmof/old.json /etc/pmof/aged.json
	set -- /sys/class/pmof/pmof*
	[ $_status = 0 ] && [ $# = 1 ] && [ -e "$1" ] && [ "$(cat "$1/read_only")" = 0 ]
}
t "of copies of a connection's file the first that works is taken" copied
mv /etc/pmof/local.json /etc/pmof/data.json
t "another connection's file is not replaced" fails_with "is there, of 'data' at" \
	pmof connect "$LAB_IP6" data --save
sed 's/"data"/"other"/' /tmp/data.json >/etc/pmof/data.json
t "nor another namespace's" fails_with "is there, of 'other' at" pmof connect "$LAB_IP6" data --save
cp /tmp/data.json /etc/pmof/data.json
pmof disconnect --all
ip addr del fe80::77/64 dev "$netdev"
# One open file, three answers: each from its beginning.
answers() {
	exec 3<>/dev/pmof-control || return
	_answers=
	for _more in nonsense=1 queues=nonsense queues=1; do
		/usr/bin/echo "addr=$LAB_IP6,name=data,$_more" >&3 2>/dev/null
		read -r _answer <&3
		_answers="$_answers ${_answer%%[= ]*}"
	done
	exec 3>&-
	echo "$_answers"
	[ "$_answers" = " error error instance" ]
}
t "connect after errors, by the same open file" answers
refused_save() {
	fails_with "$@" && cmp /tmp/data.json /etc/pmof/data.json && [ ! -e /sys/class/pmof/pmof1 ]
}
t "another server's file is not replaced" refused_save "is there, of 'data' at the server" \
	pmof connect "$LAB_IP" data --save
t "nor another port's" refused_save "is there, of 'data' at the server" \
	pmof connect "[$LAB_IP6]:7" data --save
(umask 077; echo 0102030405060708090a0b0c0d0e0f00 >/tmp/a.key)
t "a key that is in no file is not kept" refused_save "the key cannot be kept" \
	sh -c 'cat /tmp/a.key | pmof connect "$0" data --save --key /dev/fd/0' "$LAB_IP6"
long_path=/tmp/$(printf %0200d 1)/$(printf %060d 1)
mkdir -p "${long_path%/*}" && cp /tmp/a.key "$long_path"
t "nor one whose path no file may have" refused_save "less than 256 bytes" \
	pmof connect "$LAB_IP6" data --save --key "$long_path"
ln -s a.key /tmp/link.key
key_by_link() {
	refused_save "nobody listens" pmof connect "[$LAB_IP6]:7" data2 --save --key /tmp/link.key
}
t "a key behind a link could be" key_by_link
t "the same once more is" pmof connect "$LAB_IP6" data --save --read-only
echo '{"addr": "192.0.2.1"}' >/etc/pmof/bad.json
t "one of two: status 3" exits 3 pmof connect --all
t "disconnect" pmof disconnect --all
rm /etc/pmof/data.json
t "none of one: status 1" exits 1 pmof connect --all
# A killed command leaves nobody behind who would connect later.
killed() {
	echo '{"addr": "'"$LAB_IP6"'", "port": 7, "name": "data"}' >/etc/pmof/bad.json
	pmof connect --all --wait forever >/tmp/killed.out 2>&1 &
	_pid=$!
	until_true 10 grep -q "waiting for 'data'" /tmp/killed.out
	_told=$?
	kill -KILL $_pid
	wait $_pid
	[ $_told = 0 ] && until_true 10 nobody_connects
}
nobody_connects() {
	! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep "[p]mof connect --all"
}
t "connect --all that is killed ends all of it" killed
rm /etc/pmof/bad.json

# --- the same with a key -------------------------------------------------------------------

with_key() {
	pmof connect "$LAB_IP6" data --id web1 --key /etc/pmof/keys/web1 "$@"
}
writes() {
	[ "$(cat /sys/class/pmof-session/session*/authenticated)" = 1 ] &&
		dd if=/dev/zero of=/dev/pmofc0 bs=4k count=1 conv=notrunc,fsync
}
mkdir -p /etc/pmof/keys
t "a client with a new key" pmof server client add web1 --generate /etc/pmof/keys/web1
t "only it is let in" pmof server allow data web1
t "not without its key" fails_with "not allowed" pmof connect "$LAB_IP6" data --id web1
t "with it it is, and that is kept" with_key --save
t "it writes" writes
pmof server unlisten 3	# whose address is gone
t "the server's side is kept" pmof server save
t "disconnect it" pmof disconnect --all
t "the server is set up anew" sh -c "pmof server clear && pmof server restore"
t "the client has its key" test "$(cat $CONFIG/clients/web1/has_key)" = 1
t "not without its key, still" fails_with "not allowed" pmof connect "$LAB_IP6" data --id web1
t "connect --all: it is let in" pmof connect --all
t "it writes again" writes
key_gone() {
	cp -p /etc/pmof/keys/web1 /tmp/moved.key && pmof disconnect --all && rm /etc/pmof/data.json &&
		pmof server unlisten "$LAB_IP6" || return
	pmof connect "$LAB_IP6" data --id web1 --key /tmp/moved.key --save --wait "$(lab_scaled 60)" \
		>/tmp/gone.dev 2>/tmp/gone.err &
	_pid=$!
	until_true 20 grep -q "nobody listens" /tmp/gone.err && rm /tmp/moved.key &&
		pmof server listen "$LAB_IP6" --namespace data
	_status=$?
	! wait $_pid && cat /tmp/gone.err && [ $_status = 0 ] && grep -q "^pmof" /tmp/gone.dev &&
		grep -q "the key cannot be kept" /tmp/gone.err &&
		grep -q "connected, but not kept" /tmp/gone.err && [ ! -e /etc/pmof/data.json ]
}
t "a key that has gone while it waited is not kept" key_gone
t "disconnect it again" pmof disconnect --all
rm -r /etc/pmof/keys
t "unload the client" rmmod pmof-client
t "pmof server clear" pmof server clear
