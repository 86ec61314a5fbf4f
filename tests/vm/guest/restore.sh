# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2010,SC2012,SC2015,SC2016,SC2086,SC2154 # as the script that sources it
#
# pmof server save and restore: what configfs has, in a file and back. Needs lib.sh, what
# export-server defines, and that nothing is exported.

# What stands in configfs and can be written, but keys: FILE VALUE, links.
everything() {
	(cd $CONFIG && find . -type f -perm -600 -exec grep -H . {} + | sort
	find . -type l | sort)
}

# Each attribute has another value than its default; what is not enabled counts, too.
configure() {
	ns_make data /dev/pmem0 read_only=1 placement=assert-memory && ns_enable data &&
		ns_make other /dev/pmem7 allow_volatile=1 deep_flush=1 &&
		port_make 7 "$LAB_IP" data other && mkdir $ports/9 && set_attr $ports/9/port 20050 &&
		set_attr $ports/9/addr 192.0.2.77 || return
	[ -d $CONFIG/clients ] || return 0
	mkdir -p /etc/pmof/keys
	(umask 077; for _c in c1 c2; do
		echo "${_c}0102030405060708090a0b0c0d0e0f" >/etc/pmof/keys/$_c
	done)
	mkdir $CONFIG/clients/c1 $CONFIG/clients/c2 && set_attr $CONFIG/clients/c1/max_queues 3 &&
		set_attr $CONFIG/clients/c2/max_memory 1099511627776 &&
		set_attr $CONFIG/clients/c1/key "$(cat /etc/pmof/keys/c1)" &&
		set_attr $CONFIG/clients/c2/key "$(cat /etc/pmof/keys/c2)" &&
		set_attr $ns/other/allow_any 0 &&
		ln -s $CONFIG/clients/c1 $ns/data/allowed_clients/c1 &&
		ln -s $CONFIG/clients/c2 $ns/data/read_only_clients/c2
}

relative_path() {
	(cd /dev && pmof server export ./pmem0 --name relative)
	_path=$(cat $ns/relative/device_path)
	pmof server unexport relative && [ "$_path" = /dev/pmem0 ]
}
t "a relative path is made absolute" relative_path
# said TEXT COMMAND..., not_said TEXT COMMAND...: it succeeds, and says so, or not.
said() {
	_text=$1
	shift
	"$@" >/tmp/said.out 2>&1 || { cat /tmp/said.out; return 1; }
	grep -q -- "$_text" /tmp/said.out || { cat /tmp/said.out; return 1; }
}
not_said() {
	_not=$1
	shift
	"$@" >/tmp/said.out 2>&1 || { cat /tmp/said.out; return 1; }
	! grep -- "$_not" /tmp/said.out
}

t "configure something" configure
everything >/tmp/before
saved() {
	pmof server save 2>&1 | tee /tmp/save.out && [ -s /etc/pmof/server.json ]
}
t "pmof server save" saved
t "it tells what is not enabled" grep -q "namespace 'other' is not enabled" /tmp/save.out
t "and the port" grep -q "port '9' is not enabled" /tmp/save.out
t "and only that" test "$(grep -c 'not enabled' /tmp/save.out)" = 2
mkdir $ports/10
t "a port without an address is told" fails_with "port '10' has no address" pmof server save /tmp/other.json
t "and nothing is written" test ! -e /tmp/other.json
rmdir $ports/10
echo '{"version": 1, "namespaces": [{"name": "nobody", "device_path": "/dev/pmem7", "enable": false,
	"allowed_clients": []}]}' >/tmp/nobody.json
t "restore a namespace with an empty list of clients" pmof server restore /tmp/nobody.json
t "it is nobody's" test "$(cat $ns/nobody/allow_any)" = 0
rmdir $ns/nobody
mkdir $ns/by-hand
t "a path that no restore would take" set_attr $ns/by-hand/device_path pmem7
t "is told by save" fails_with "not an absolute path" pmof server save /tmp/other.json
t "which writes nothing" test ! -e /tmp/other.json
rmdir $ns/by-hand
if [ -d $CONFIG/clients ]; then
	rm -f /tmp/new.key
	t "another key than the one that is kept is told" said "keys/c2 holds another key" \
		pmof server client add c2 --generate /tmp/new.key
	t "the one that is kept is not" not_said "another key" \
		pmof server client add c2 --key /etc/pmof/keys/c2
fi
t "its mode is 600" test "$(stat -c %a /etc/pmof/server.json)" = 600
t "restore where all is there" said "port '9' is switched off" pmof server restore
everything >/tmp/same
t "has changed nothing" cmp /tmp/before /tmp/same
# contradicts TEXT SED-EXPRESSION: a file that says otherwise than what is there changes nothing.
contradicts() {
	sed "$2" /etc/pmof/server.json >/tmp/other.json
	! cmp -s /etc/pmof/server.json /tmp/other.json && fails_with "$1" \
		pmof server restore /tmp/other.json && everything >/tmp/same && cmp /tmp/before /tmp/same
}
if [ -d $CONFIG/clients ]; then
	t "fewer rights than a client has are refused" contradicts "allowed_clients" \
		's/"allowed_clients"/"read_only_clients"/;t;s/"read_only_clients"/"allowed_clients"/'
fi
# By hand, or from a file that had it: nobody has a right that the file does not give.
more_rights() {
	ln -s $CONFIG/clients/c2 $ns/other/allowed_clients/c2 &&
		fails_with "with 'c2' in allowed_clients, and the file has it in no list" pmof server restore &&
		rm $ns/other/allowed_clients/c2
}
[ ! -d $CONFIG/clients ] || t "more rights than the file gives are refused" more_rights
# Nor has anybody again what was taken away since.
# stays_away TEXT LINK: it is told, and not made again.
stays_away() {
	_target=$(readlink -f "$2") && rm "$2" && fails_with "$1" pmof server restore && [ ! -L "$2" ] &&
		ln -s "$_target" "$2"
}
if [ -d $CONFIG/clients ]; then
	t "a right that was taken is not given back" stays_away "without 'c1' in allowed_clients" \
		$ns/data/allowed_clients/c1
	t "nor the one to read" stays_away "pmof server allow data c2:ro" $ns/data/read_only_clients/c2
fi
t "nor is an open port's namespace" stays_away "without 'data' in namespaces" $ports/7/namespaces/data
half_made() {
	rm $ports/7/namespaces/other && pmof server restore && [ -L $ports/7/namespaces/other ]
}
t "what is not enabled is completed" half_made
limits_stay() {
	set_attr $CONFIG/clients/c1/max_queues 5 &&
		fails_with "with max_queues '5', not '3'" pmof server restore &&
		[ "$(cat $CONFIG/clients/c1/max_queues)" = 5 ] &&
		set_attr $CONFIG/clients/c1/max_queues 3
}
[ ! -d $CONFIG/clients ] || t "a client's limits that are there stay" limits_stay
t "what is enabled and shall not be is refused" contradicts "is enabled" \
	's/"enable": true/"enable": false/'
t "pmof server clear" pmof server clear
t "nothing is left" test "$(ls $ns $ports | grep -vc '^/\|^$')" = 0
t "restore" pmof server restore
everything >/tmp/after
t "every attribute and link is back" diff /tmp/before /tmp/after
sed 's/"read_only": true/"read_only": false/' /etc/pmof/server.json >/tmp/other.json
t "what contradicts is refused" fails_with "is there already, with read_only" \
	pmof server restore /tmp/other.json
pmof server clear
sed 's/"id": 9/"id": 7/' /etc/pmof/server.json >/tmp/other.json
t "a file that is wrong is refused" fails_with "the same id" pmof server restore /tmp/other.json
t "and nothing was changed" test "$(ls $ns $ports | grep -vc '^/\|^$')" = 0
sed "s,/dev/pmem0,/dev/not-yet,; s,\"$LAB_IP\",\"192.0.2.9\"," /etc/pmof/server.json >/tmp/other.json
t "a device and an address that never come" fails_with "waits for the address 192.0.2.9" \
	pmof server restore --wait 1 /tmp/other.json
t "the device was named" grep -q "waits for the device /dev/not-yet" /tmp/fails.out
pmof server clear
sed "s,/dev/pmem0,/dev/later," /etc/pmof/server.json >/tmp/other.json
(sleep 3; ln -s pmem0 /dev/later) &
t "a device that comes later" pmof server restore --wait 30 /tmp/other.json
t "is exported" test "$(cat $ns/data/enable)" = 1
pmof server clear
sed "s,/dev/pmem0,/dev/null," /etc/pmof/server.json >/tmp/other.json
t "what never will be exported is told apart: status 3" exits 3 pmof server restore /tmp/other.json
t "the rest is there" test "$(cat $ports/7/enable)" = 1
echo '{"version": 1, "namespaces": [{"name": "data", "device_path": "/dev/null"}]}' >/tmp/other.json
t "nothing at all: status 1" exits 1 pmof server restore /tmp/other.json
pmof server clear
echo '{"version": 1, "clients": [{"id": "c1"}], "namespaces": [{"name": "data", "device_path": "/dev/null"}]}' \
	>/tmp/other.json
t "nothing but a client: status 1" exits 1 pmof server restore /tmp/other.json
pmof server clear

# not_yet [ATTRIBUTES [LISTS]]: a file whose device does not come.
not_yet() {
	echo '{"version": 1, "namespaces": [{"name": "data", "device_path": "/dev/not-yet"'"$1}]$2}" >/tmp/other.json
}
not_yet ', "allow_volatile": true, "emulate_latency_ns": 5000'
t "what waits has its attributes" exits 1 pmof server restore /tmp/other.json
t "this one" test "$(cat $ns/data/allow_volatile)" = 1
not_yet
t "left out of the file" exits 1 pmof server restore /tmp/other.json
t "they have their defaults" test "$(cat $ns/data/allow_volatile) $(cat $ns/data/emulate_latency_ns)" = "0 0"
if [ -d $CONFIG/clients ]; then
	t "who may use it, too: with no list anybody" test "$(cat $ns/data/allow_any)" = 1
	pmof server clear
	not_yet ', "allowed_clients": ["c1"]' ', "clients": [{"id": "c1"}]'
	t "with a list" exits 1 pmof server restore /tmp/other.json
	t "only who is in it" test "$(cat $ns/data/allow_any)" = 0
	not_yet
	pmof server clear
fi
(until [ -d $ns/data ]; do sleep 0.2; done; sleep 1; pmof server unexport data) &
t "what is taken away is not waited for" fails_with "was taken away meanwhile" \
	pmof server restore --wait 60 /tmp/other.json
t "pmof server clear at the end" pmof server clear

# A store without its module, which nobody can load.
modprobe_path=$(cat /proc/sys/kernel/modprobe)
rmmod pmof-store 2>/dev/null
echo /bin/false >/proc/sys/kernel/modprobe
t "a store without its module" fails_with "the module of its service, pmof-store" \
	pmof server export /dev/pmem0 --name keys --service store
cat >/tmp/store.json <<'END'
{"version": 1, "namespaces": [{"name": "keys", "device_path": "/dev/pmem0", "service": "store"}]}
END
t "is waited for" fails_with "waits for the module pmof-store" \
	pmof server restore --wait 1 /tmp/store.json
t "and told at the end" grep -q "cannot export.*pmof-store" /tmp/fails.out
pmof server clear
echo "$modprobe_path" >/proc/sys/kernel/modprobe

# The kernel does not take the scope of an interface that is not there: it is waited for.
t "a link-local address" ip addr add fe80::77/64 dev "$netdev" nodad
cat >/tmp/scope.json <<'END'
{"version": 1, "ports": [{"id": 3, "addr": "fe80::77%later"},
                         {"id": 4, "addr": "fe80::78%later", "enable": false}]}
END
t "of an interface that never comes" fails_with "waits for the address fe80::77%later" \
	pmof server restore --wait 1 /tmp/scope.json
t "of such a port nothing could be kept" fails_with "port '3' has no address" pmof server save /tmp/other.json
echo '{"addr": "fe80::77%later", "name": "data"}' >/tmp/client.json
t "it is waited for to connect, too" fails_with "waiting for 'data' at fe80::77%later" \
	pmof connect --wait 1 --file /tmp/client.json
(sleep 3; ip link property add dev "$netdev" altname later) &
t "of an interface that comes later" pmof server restore --wait 30 /tmp/scope.json
t "the port is open" test "$(cat $ports/3/enable)" = 1
t "one that is off is there and has its address" grep -q "^fe80::78" $ports/4/addr
t "and is off" test "$(cat $ports/4/enable)" = 0
mkdir $ports/8 $ports/9
echo "fe80::9%lo" >$ports/8/addr
echo "fe80::9%$netdev" >$ports/9/addr
t "an address of two ports ends neither" fails_with "several ports" pmof server unlisten fe80::9
t "with its interface it ends one" pmof server unlisten fe80::9%lo
t "the right one" test ! -e $ports/8 -a -e $ports/9
pmof server clear
ip link property del dev "$netdev" altname later
