# SPDX-License-Identifier: BSD-3-Clause
#
# The examples: built with the rest, not installed. Included by the top Makefile.

EXAMPLES_SRC := $(wildcard examples/*.c)
EXAMPLES := $(EXAMPLES_SRC:%.c=$(USER_BUILD)/%)

USER_TARGETS += $(EXAMPLES)

$(EXAMPLES): $(USER_BUILD)/examples/%: examples/%.c $(LIBPMOFKV_A) $(LIBPMOF_A) $(LIBPMOFKV_HDR)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PMOF_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) -o $@ $< $(LIBPMOFKV_A) \
		$(LIBPMOF_A) -lpthread
