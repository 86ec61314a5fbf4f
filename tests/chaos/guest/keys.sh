# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The clients of make chaos have keys.

client_key() {
	echo "0123456789abcdef0123456789abcde${1#client}"
}
