# SPDX-License-Identifier: GPL-2.0
#
# Included by tests/build.mk.

check-boot: ## reboot a server and a client that run Debian with systemd (6.12; some minutes; needs root, and the network once)
	@BUILD="$(BUILD)" tests/boot/boot

.PHONY: check-boot
