# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2034,SC2154 # variables of lib.sh, and for it
#
# The server's side of tests/vm/rights.c: what it orders done, by these words.

NS=$CONFIG/namespaces/data

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

# server_rights: obeys until the client has signalled rights-done.
server_rights() {
	obey rights-done
	rights_clear
}
