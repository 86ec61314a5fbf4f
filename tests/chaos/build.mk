# SPDX-License-Identifier: GPL-2.0
#
# make chaos. Included by tests/build.mk.

CHAOS_LOAD := $(TEST_BUILD)/chaos/load
CHAOS_SRC := $(addprefix tests/chaos/,load.c table.c work.c)

$(CHAOS_LOAD): $(CHAOS_SRC) tests/chaos/load.h tests/vm/vm.h uapi/pmof.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
		-Wstrict-prototypes -D_GNU_SOURCE -o $@ $(CHAOS_SRC) -lpthread

chaos-programs: $(CHAOS_LOAD)

chaos: ## two clients write while the server is killed, stalled, cut off ...; ROUNDS=N SEED=S KINDS='...'
	@BUILD="$(abspath $(BUILD))" tests/chaos/chaos $(ROUNDS:%=--rounds %) $(SEED:%=--seed %) \
		$(if $(KINDS),--kinds '$(KINDS)') $(KVER:%=--kernel %)

.PHONY: chaos chaos-programs
