#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The client's part of the demo.
set -euo pipefail

file=/tmp/file
back=/tmp/back

say() {
	echo "=== $*"
}

# Shows a command as a user would type it, and runs it.
run() {
	echo "  # $*"
	"$@"
}

same() {
	if cmp "$file" "$back"; then
		echo "  same: $(stat -c %s "$back") bytes, sha256 $(sha256sum <"$back" | cut -c1-16)..."
	else
		echo "  DIFFERENT"
		return 1
	fi
}

put_persist() {
	echo "  # pmof put pmof0 1M --persist < $file"
	pmof put pmof0 1M --persist <"$file"
}

get_compare() {
	echo "  # pmof get pmof0 1M $size > $back"
	pmof get pmof0 1M "$size" >"$back"
	same
}

# bench METHOD: the latency of a durable put, with what it costs on both sides.
bench() {
	local dev
	echo "  # pmof connect $LAB_SERVER_IP demo --persist $1"
	dev=$(pmof connect "$LAB_SERVER_IP" demo --persist "$1")
	run pmof bench "$dev" --op put-persist --size 64,4k,64k --count 300 --offset 64M --span 16M
	run pmof disconnect "$dev"
}

lab_rdma_up >/dev/null
lab_wait ready 90 >/dev/null

say "client: connect"
run pmof connect "$LAB_SERVER_IP" demo --fail-io-timeout -1
run pmof info pmof0

# A real file of a few MiB: the programs of this VM.
head -c 5000001 <(cat /bin/* /usr/bin/* 2>/dev/null) >"$file"
size=$(stat -c %s "$file")

say "client: put a file of $size bytes, durably, and get it back"
put_persist
get_compare

say "client: latency of a durable put, by persist method"
bench assist
bench read

say "the server crashes: its VM is killed"
lab_server_crash
run cat /sys/class/pmof/pmof0/state

say "client: what was persisted before the crash; the get waits for the server to boot again"
rm "$back"
get_compare
run pmof disconnect pmof0
