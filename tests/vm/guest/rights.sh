# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034,SC2154 # variables of lib.sh, and for it
#
# The server's side of tests/vm/rights*.c: what they order done, by these words.

NS=$CONFIG/namespaces/data
MAX_SESSIONS=/sys/module/pmof_server/parameters/max_sessions
ABANDONED=/sys/module/pmof_server/parameters/abandoned_seconds

set_key() {
	set_attr "$CONFIG/clients/$1/key" "$2"
}

allow() {
	ln -s "$CONFIG/clients/$1" "$NS/allowed_clients/$1"
}

deny() {
	rm "$NS/allowed_clients/$1"
}

allow_ro() {
	ln -s "$CONFIG/clients/$1" "$NS/read_only_clients/$1"
}

deny_ro() {
	rm "$NS/read_only_clients/$1"
}

drop() {
	rmdir "$CONFIG/clients/$1"
}

# no_session_of ID: now, not soon.
no_session_of() {
	for _s in /sys/class/pmof-session/*/client_id; do
		[ ! -e "$_s" ] || [ "$(cat "$_s")" != "$1" ] || return 1
	done
}

# detached_are NUMBER: so many sessions wait to be resumed.
detached_are() {
	[ "$(cat /sys/class/pmof-session/*/state 2>/dev/null | grep -c detached)" = "$1" ]
}

# client_has ID WHAT NUMBER: so much is counted of it.
client_has() {
	[ "$(cat "$CONFIG/clients/$1/$2")" = "$3" ]
}

# unused ID: nothing is counted of it any more, soon.
unused() {
	until_true 10 unused_now "$1"
}
unused_now() {
	for _u in sessions queues segments memory; do
		[ "$(cat "$CONFIG/clients/$1/$_u")" = 0 ] || return 1
	done
}

rights_clear() {
	for _c in "$NS"/allowed_clients/* "$NS"/read_only_clients/*; do
		[ ! -L "$_c" ] || rm "$_c"
	done
	for _c in "$CONFIG"/clients/*; do
		[ ! -d "$_c" ] || rmdir "$_c"
	done
	set_attr "$NS/allow_any" 1
}

# alice and bob may write, carol may read; none has a key yet.
rights_reset() {
	rights_clear
	for _c in alice bob carol; do
		mkdir "$CONFIG/clients/$_c" || return
	done
	allow alice && allow bob && allow_ro carol
}

# One that fails holds no other up: who is to lose a right loses it.
past_failures() {
	fails_with "'nobody'" pmof server allow data nobody erin && [ -L "$NS/allowed_clients/erin" ] &&
		fails_with "'nobody'" pmof server disallow data nobody erin other &&
		grep -q "'other'" /tmp/fails.out && [ ! -L "$NS/allowed_clients/erin" ]
}

# server_tools: what pmof(1) has for all this; a part of the caller's suite.
server_tools() {
	t "a client with a new key" pmof server client add dave --generate /tmp/dave.key --max-sessions 3
	t "its file is its owner's alone" test "$(stat -c %a /tmp/dave.key)" = 600
	t "the limit is set" test "$(cat "$CONFIG/clients/dave/max_sessions")" = 3
	t "a file that is there stays" fails_with "exists" pmof server client add dave --max-sessions 9 \
		--generate /tmp/dave.key
	t "and then no limit has been changed" test "$(cat "$CONFIG/clients/dave/max_sessions")" = 3
	t "allow, read-only" pmof server allow data dave:ro
	t "list shows it" sh -c "pmof server list | grep -q dave:ro"
	t "list has it in JSON" sh -c "pmof server list --json | grep -q dave:ro"
	t "list has no key" sh -c "! pmof server list --json | grep -f /tmp/dave.key"
	t "a client is in one list only" fails_with "already" pmof server allow data dave
	t "an unknown client" fails_with "no such" pmof server allow data nobody
	chmod 644 /tmp/dave.key
	t "a key that others may read" fails_with "owner" pmof server client add erin --key /tmp/dave.key
	t "has made no client" test ! -e "$CONFIG/clients/erin"
	chmod 600 /tmp/dave.key
	t "a key from a file" pmof server client add erin --key /tmp/dave.key
	t "allow and disallow go on behind a client that there is not" past_failures
	t "disallow knows no :ro" fails_with "'dave:ro'" pmof server disallow data dave:ro
	t "disallow" pmof server disallow data dave
	t "remove a client" pmof server client remove dave
	t "remove one that is in a list" sh -c "pmof server allow data erin && pmof server client remove erin"
	t "nobody may come now" test "$(cat "$NS/allow_any")" = 0
	set_attr "$NS/allow_any" 1
}

# server_rights: obeys until the client has signalled rights-done.
server_rights() {
	obey rights-done
	rights_clear
}
