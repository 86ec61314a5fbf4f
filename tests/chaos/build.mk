# SPDX-License-Identifier: GPL-2.0
#
# make chaos, make chaos-kv. Included by tests/build.mk.

CHAOS_HEADERS := tests/chaos/load.h tests/chaos/host.h tests/vm/vm.h uapi/pmof.h
CHAOS_LOAD := $(TEST_BUILD)/chaos/load
CHAOS_SRC := $(addprefix tests/chaos/,load.c table.c work.c host.c)

$(CHAOS_LOAD): $(CHAOS_SRC) $(CHAOS_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
		-Wstrict-prototypes -D_GNU_SOURCE -o $@ $(CHAOS_SRC) -lpthread

CHAOS_FIRST_IO := $(TEST_BUILD)/chaos/first_io

$(CHAOS_FIRST_IO): tests/chaos/first_io.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -o $@ $<

CHAOS_KV := $(TEST_BUILD)/chaos/kv
CHAOS_KV_SRC := tests/chaos/kv.c tests/chaos/host.c $(KV_RECORDER)

$(CHAOS_KV): $(CHAOS_KV_SRC) $(CHAOS_HEADERS) $(KV_HEADERS) $(LIBPMOFKV_A) $(LIBPMOF_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $(CHAOS_KV_SRC) $(LIBPMOFKV_A) $(LIBPMOF_A) -lpthread

chaos-programs: $(CHAOS_LOAD) $(CHAOS_FIRST_IO) $(CHAOS_KV) $(KV_BUILD)/lincheck

chaos: ## two clients write while the server is killed, stalled, cut off ...; ROUNDS=N SECONDS=S SEED=S KINDS='...'
	@BUILD="$(abspath $(BUILD))" tests/chaos/chaos $(ROUNDS:%=--rounds %) $(SECONDS:%=--seconds %) $(SEED:%=--seed %) \
		$(if $(KINDS),--kinds '$(KINDS)') $(KVER:%=--kernel %)

chaos-kv: ## histories of four clients of a store while the same happens; ROUNDS=N SECONDS=S SEED=S KINDS='...'
	@BUILD="$(abspath $(BUILD))" tests/chaos/chaos-kv $(ROUNDS:%=--rounds %) $(SECONDS:%=--seconds %) $(SEED:%=--seed %) \
		$(if $(KINDS),--kinds '$(KINDS)') $(KVER:%=--kernel %)

chaos-mutants: ## mistakes that chaos and chaos-kv must find
	$(Q)BUILD="$(abspath $(BUILD))" tests/chaos/mutate

chaos-restart: ## time to the first write after the server is back, beside nvme-rdma; ROUNDS=N
	@BUILD="$(abspath $(BUILD))" tests/chaos/restart $(ROUNDS)

.PHONY: chaos chaos-kv chaos-mutants chaos-programs chaos-restart
