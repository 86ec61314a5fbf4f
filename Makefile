# SPDX-License-Identifier: GPL-2.0
#
# pmof: Persistent Memory over Fabrics. `make help` lists the targets.

VERSION := $(shell sed -n 's/.*PMOF_MODULE_VERSION "\(.*\)"/\1/p' kmod/common/version.h)

# Which kernel the modules are for: KDIR= names a header directory, KVER= a
# release; by default the running kernel if its headers are installed, else the
# lab's (fetched into the cache when first needed).
KVER ?=
LAB_KERNELS := 6.1 6.12 6.12-kasan 6.12-kcsan
LAB_DEFAULT := 6.12

ifdef KDIR
  override KDIR := $(abspath $(KDIR))
else ifneq ($(filter $(KVER),$(LAB_KERNELS)),)
  KDIR = $(shell scripts/kernel kdir $(KVER))
else ifneq ($(KVER),)
  KDIR := /lib/modules/$(KVER)/build
else ifneq ($(wildcard /lib/modules/$(shell uname -r)/build),)
  KDIR_FOUND := 1
  KDIR := /lib/modules/$(shell uname -r)/build
else
  KDIR_FOUND := 1
  NO_HEADERS := 1
  KDIR = $(shell scripts/kernel kdir $(LAB_DEFAULT))
endif

# As it is called here: what make knows by another name it would not find changed.
BUILD ?= build
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
USER_BUILD := $(BUILD)/user
PREFIX ?= /usr
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch 2>/dev/null)
CFLAGS ?= -O2 -g
PMOF_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-D_GNU_SOURCE -Iuapi -Iuserlib -DPMOF_VERSION='"$(VERSION)"'
Q := $(if $(V),,@)

.DEFAULT_GOAL := all

all: modules user ## build the modules and user space (default)

include userlib/build.mk
include tools/build.mk
include tools/fio/build.mk
include tools/redis/build.mk
include examples/build.mk
include tests/build.mk

# --- kernel modules ----------------------------------------------------------
# Each kernel has a build tree of its own, made of links to the sources. A +, so that kbuild has
# its part of make -j.

MODULE_ARGS = $(if $(V),V=1) $(if $(LAB_RXE),LAB_RXE=1) $(if $(CRASH_MARKS),CRASH_MARKS=1) \
	$(if $(KUNIT),KUNIT=1) $(MODFLAGS)

modules: ## build the modules; KVER=6.1|6.12|RELEASE or KDIR=DIR selects the kernel; LAB_RXE=1: for the lab's soft-RoCE; KUNIT=1: with their KUnit tests; CRASH_MARKS=1: with marks for make crash
	+$(Q)scripts/build-modules "$(KDIR)" "$(abspath $(BUILD))" $(MODULE_ARGS)

# For dkms.conf.
dkms-modules:
	$(Q)scripts/build-modules --not-installed "$(DKMS_KERNEL)"
	+$(Q)$(MAKE) modules

user: $(USER_TARGETS) ## build libpmof, the pmof command and the man pages

# --- install -----------------------------------------------------------------

install: install-modules install-user ## install all of it; DESTDIR=, PREFIX=, KVER=, KDIR=

# Not the lab's by itself: that may be the kernel that runs behind the next reboot.
install-modules: ## build the modules, and install them under updates/
	$(if $(NO_HEADERS),$(if $(DESTDIR),,$(error No headers of the running kernel: install \
		linux-headers-$(shell uname -r), or give KVER= or KDIR=)))
	+$(Q)scripts/build-modules --install "$(KDIR)" "$(abspath $(BUILD))" "$(DESTDIR)" $(MODULE_ARGS)

install-user: user install-lib install-tools ## install libraries, header, command, man pages, udev rules, systemd units

uninstall: uninstall-user ## remove what install has installed, with the same variables; not /etc/pmof
	$(Q)scripts/build-modules --uninstall "$(if $(KDIR_FOUND),$(if $(DESTDIR),$(KDIR)),$(KDIR))" "$(abspath $(BUILD))" "$(DESTDIR)"

uninstall-user: uninstall-lib uninstall-tools ## remove what install-user has installed

# --- people ------------------------------------------------------------------

deps: ## install the Debian packages that the build needs
	scripts/deps build

clean: ## remove what was built (not the cache of kernels)
	rm -rf $(BUILD)

help: ## show this
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sort | \
		awk -F':.*## ' '{ printf "  %-18s %s\n", $$1, $$2 }'

.PHONY: all modules dkms-modules user install install-modules install-user uninstall uninstall-user deps clean help
