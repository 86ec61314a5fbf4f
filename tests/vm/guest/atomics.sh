# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2015,SC2034,SC2154 # as the scripts that source it
#
# Two RDMA devices on one server: their atomics are not atomic with each other's, so only one's
# sessions get any on a namespace. Needs lib.sh, data linked to port 1, and pmof0 live on it.

ATOMICS_IP=10.79.0.1

second_device() {
	modprobe veth && ip link add veth0 type veth peer name veth1 &&
		ip link set veth1 up && ip link set veth0 up &&
		ip addr add $ATOMICS_IP/24 dev veth0 && rdma link add rxe1 type rxe netdev veth0 &&
		port_make 4 $ATOMICS_IP data
}
by_second_device() {
	(LAB_SERVER_IP=$ATOMICS_IP && pmof_connect)
}
fetch_add() {
	pmof bench "$1" --op fetch-add --count 4 --offset 3M --span 4K
}

one_session() {
	[ "$(sessions)" = 1 ]
}

# On other places than the tests that follow.
two_devices() {
	t "atomics: the first device's session has them" fetch_add pmof0
	t "atomics: a second device" second_device
	t "atomics: a session of it" test "$(by_second_device)" = pmof1
	t "atomics: it has none" fails_with "no atomics" fetch_add pmof1
	t "atomics: it puts" sh -c 'printf 12345678 | pmof put pmof1 4M --persist'
	t "atomics: the first's go on" fetch_add pmof0
	t "atomics: the first device's session ends" pmof_disconnect pmof0
	t "atomics: and is gone" until_true 20 one_session
	t "atomics: the second's did not get them unasked" fails_with "no atomics" fetch_add pmof1
	t "atomics: it comes again" pmof_disconnect pmof1
	t "atomics: as the first" test "$(by_second_device)" = pmof0
	t "atomics: now it has them" fetch_add pmof0
	t "atomics: and the other device's" test "$(pmof_connect)" = pmof1
	t "atomics: has none" fails_with "no atomics" fetch_add pmof1
	t "atomics: both end" eval "pmof_disconnect pmof0 && pmof_disconnect pmof1"
	t "atomics: and the second device" eval "port_remove 4 && rdma link del rxe1 && ip link del veth0"
	t "atomics: connect again" test "$(pmof_connect)" = pmof0
}
