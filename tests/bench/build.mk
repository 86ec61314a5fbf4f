# SPDX-License-Identifier: GPL-2.0
#
# Benchmarks: programs for the VMs, the floor's module, the plugin that counts instructions.
# Included by tests/build.mk.

BENCH_BUILD := $(TEST_BUILD)/bench
BENCH_HEADERS := $(wildcard tests/bench/*.h) tests/bench/floor/floor.h tests/vm/vm.h \
	tests/crash/mark.h tests/crash/trace.h

# A peer, where the system has it.
RPMA := $(if $(wildcard /usr/include/librpma.h),1)

$(BENCH_BUILD)/kalia: tests/bench/kalia.c $(BENCH_HEADERS) tests/bench/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -O2 -o $@ $< -lpthread

TURNS_SRC := tests/bench/turns.c tests/bench/ways.c tests/bench/way_aio.c \
	$(if $(RPMA),tests/bench/way_rpma.c)

$(BENCH_BUILD)/turns: $(TURNS_SRC) $(BENCH_HEADERS) tests/bench/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -O2 $(if $(RPMA),-DHAVE_LIBRPMA) -o $@ $(TURNS_SRC) \
		$(if $(RPMA),-lrpma -libverbs) -lpthread

$(BENCH_BUILD)/rpma_server: tests/bench/rpma_server.c tests/bench/rpma.h tests/bench/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -O2 -o $@ $< -lrpma -libverbs -lpthread

INSN_SRC := tests/bench/insn/plugin.c tests/bench/insn/profile.c \
	tests/crash/plugin/insn.c tests/crash/plugin/guest.c

$(BENCH_BUILD)/insn.so: $(INSN_SRC) $(wildcard tests/crash/plugin/*.h tests/bench/insn/*.h) \
		tests/bench/insn.h tests/bench/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
		-Wstrict-prototypes -D_GNU_SOURCE -fvisibility=hidden -fPIC -shared \
		-o $@.tmp $(INSN_SRC) && mv $@.tmp $@

# pmof's modules of the same kernel must have been built.
bench-floor:
	$(Q)tests/bench/floor/build "$(KDIR)" "$(abspath $(BUILD))"

bench-programs: bench-floor $(BENCH_BUILD)/turns $(if $(RPMA),$(BENCH_BUILD)/rpma_server) \
	$(BENCH_BUILD)/insn.so

bench-kv-recovery: ## stores of 10^5 to 10^7 keys: loading and opening them, memory, gets (5 minutes on an idle machine); KEYS="N..."
	@BUILD="$(BUILD)" tests/bench/kv-recovery $(if $(KEYS),--load "$(KEYS)")

.PHONY: bench-floor bench-kv-recovery
