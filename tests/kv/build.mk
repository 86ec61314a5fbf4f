# SPDX-License-Identifier: GPL-2.0
#
# Histories of a store: the checker. Included by tests/build.mk.

KV_LINEAR := tests/kv/linear.c tests/kv/register.c tests/kv/history.c
KV_HEADERS := $(wildcard tests/kv/*.h)
KV_PROGRAMS := $(TEST_BUILD)/kv/lincheck

$(TEST_BUILD)/kv/lincheck: tests/kv/lincheck.c $(KV_LINEAR) $(KV_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -o $@ $(filter %.c,$^)

tests: $(KV_PROGRAMS)
