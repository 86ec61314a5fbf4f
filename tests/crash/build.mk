# SPDX-License-Identifier: GPL-2.0
#
# The power-cut explorer (host), its workload (client VM), their targets.
# Included by tests/build.mk.

CRASH_BUILD := $(TEST_BUILD)/crash
CRASH_PURE := model check shared log timeline trace_file cuts run keep outside store_check store_settle
CRASH_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-D_GNU_SOURCE -Ikmod/common -include tests/unit/pure.h

# The server's own recovery judges images of stores.
CRASH_STORE := $(patsubst %,$(CRASH_BUILD)/%.o,kmod/store/format kmod/store/recover kmod/store/alloc \
	kmod/store/steps tools/kv_verify)

$(CRASH_STORE): $(CRASH_BUILD)/%.o: %.c tests/crash/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(CRASH_CFLAGS) -MMD -MP -c -o $@ $<

$(CRASH_BUILD)/%.o: tests/crash/%.c tests/crash/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(CRASH_CFLAGS) -MMD -MP -c -o $@ $<

$(CRASH_BUILD)/explore: $(CRASH_PURE:%=$(CRASH_BUILD)/%.o) $(CRASH_BUILD)/explore.o \
		$(CRASH_BUILD)/replay.o $(CRASH_STORE)
	$(Q)$(CC) $(CRASH_CFLAGS) -o $@ $^

$(CRASH_BUILD)/fences: $(CRASH_BUILD)/fences.o $(CRASH_BUILD)/trace_file.o
	$(Q)$(CC) $(CRASH_CFLAGS) -o $@ $^

# The unit tests have the explorer's files with the sanitizers.
CRASH_UNIT_OBJ := $(CRASH_PURE:%=$(TEST_BUILD)/unit/crash-obj/%.o)

$(CRASH_UNIT_OBJ): $(TEST_BUILD)/unit/crash-obj/%.o: tests/crash/%.c tests/crash/build.mk | $(KSELFTEST)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

$(addprefix $(TEST_BUILD)/unit/,crash crash_model crash_shared): $(CRASH_UNIT_OBJ)

-include $(wildcard $(CRASH_BUILD)/*.d) $(CRASH_STORE:.o=.d) $(CRASH_UNIT_OBJ:.o=.d)

# The workload runs in the client VM.
CRASH_WORKLOAD := $(CRASH_BUILD)/workload

$(CRASH_WORKLOAD): $(addprefix $(CRASH_BUILD)/,workload.o work_ops.o work_dump.o log.o)
	$(Q)$(CC) $(CRASH_CFLAGS) -o $@ $^ -lpthread

# Transactions on databases, and their check, which runs here and there.
CRASH_SQLITE := $(CRASH_BUILD)/sqlite_work

$(CRASH_SQLITE): $(addprefix $(CRASH_BUILD)/,sqlite_work.o sqlite_check.o)
	$(Q)$(CC) $(CRASH_CFLAGS) -o $@ $^ -lsqlite3 -lpthread

# Puts and gets on a store.
CRASH_KV := $(CRASH_BUILD)/kv_work

$(CRASH_BUILD)/kv_work.o $(CRASH_BUILD)/kv_shared.o: CRASH_CFLAGS += -Iuserlib -Iuapi

$(CRASH_KV): $(addprefix $(CRASH_BUILD)/,kv_work.o kv_shared.o) $(LIBPMOFKV_A) $(LIBPMOF_A)
	$(Q)$(CC) $(CRASH_CFLAGS) -o $@ $^ -lpthread

crash-kv-programs: crash-programs $(CRASH_KV)

crash-programs: $(CRASH_BUILD)/explore $(CRASH_BUILD)/fences $(CRASH_WORKLOAD) trace-plugin

crash-sqlite-programs: crash-programs $(CRASH_SQLITE)

.PHONY: crash-programs crash-selftest check-crash-plugin trace-plugin print-trace-plugin

# Options of make crash, with their defaults in tests/crash/crash.
CRASH_OPTIONS = $(CUTS:%=--cuts %) $(SEED:%=--seed %) $(WORKLOAD:%=--workload %) $(OPS:%=--ops %) \
	$(BOOT:%=--boot %)

crash: ## cut the power at thousands of points; CUTS=, SEED=, METHOD=, WORKLOAD=, BOOT= select
	@BUILD="$(BUILD)" tests/crash/crash $(CRASH_OPTIONS) $(METHOD)

crash-group: ## group persist: fences per put, as counted and as executed
	@BUILD="$(BUILD)" tests/crash/group $(METHOD)

crash-mutants: ## prove that the power cuts find mistakes (about a minute each)
	@BUILD="$(BUILD)" tests/crash/mutate $(CUTS:%=--cuts %) $(OPS:%=--ops %)

crash-mmap: ## the same with stores into a mapping and msync; options of crash
	@BUILD="$(BUILD)" tests/crash/crash --mmap $(CRASH_OPTIONS) $(or $(METHOD),assist)

crash-sqlite: ## the same under SQLite on ext4 on /dev/pmof0; CUTS=, SEED=, CACHE=, METHOD=, BOOT= select
	@BUILD="$(BUILD)" tests/crash/sqlite $(CUTS:%=--cuts %) $(SEED:%=--seed %) $(BOOT:%=--boot %) \
		$(METHOD:%=--method %) $(CACHE)

crash-kv: ## the same of a store; CUTS=, SEED=, OPS=, PROTOCOL=herd|sa|auto select
	@BUILD="$(BUILD)" tests/crash/kv $(CUTS:%=--cuts %) $(SEED:%=--seed %) $(OPS:%=--ops %) $(PROTOCOL)

check-crash: ## the short form of both, and the test of the plugin (some minutes)
	@BUILD="$(BUILD)" tests/run crash

.PHONY: crash crash-group crash-mutants crash-mmap crash-sqlite crash-sqlite-programs crash-kv crash-kv-programs check-crash
