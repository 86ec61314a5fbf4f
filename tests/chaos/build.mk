# SPDX-License-Identifier: GPL-2.0
#
# make chaos. Included by tests/build.mk.

CHAOS_LOAD := $(TEST_BUILD)/chaos/load
CHAOS_SRC := $(addprefix tests/chaos/,load.c table.c work.c)

$(CHAOS_LOAD): $(CHAOS_SRC) tests/chaos/load.h tests/vm/vm.h uapi/pmof.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
		-Wstrict-prototypes -D_GNU_SOURCE -o $@ $(CHAOS_SRC) -lpthread

CHAOS_FIRST_IO := $(TEST_BUILD)/chaos/first_io

$(CHAOS_FIRST_IO): tests/chaos/first_io.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -o $@ $<

chaos-programs: $(CHAOS_LOAD) $(CHAOS_FIRST_IO)

chaos: ## two clients write while the server is killed, stalled, cut off ...; ROUNDS=N SECONDS=S SEED=S KINDS='...'
	@BUILD="$(abspath $(BUILD))" tests/chaos/chaos $(ROUNDS:%=--rounds %) $(SECONDS:%=--seconds %) $(SEED:%=--seed %) \
		$(if $(KINDS),--kinds '$(KINDS)') $(KVER:%=--kernel %)

chaos-restart: ## time to the first write after the server is back, beside nvme-rdma; ROUNDS=N
	@BUILD="$(abspath $(BUILD))" tests/chaos/restart $(ROUNDS)

.PHONY: chaos chaos-programs chaos-restart
