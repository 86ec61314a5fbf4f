# SPDX-License-Identifier: GPL-2.0
#
# Tests: host unit tests, programs for the VMs, the targets that run them.
# Included by the top Makefile.

TEST_BUILD := $(BUILD)/tests
CLANG_TIDY ?= clang-tidy

# kselftest_harness.h is not in a package by itself: a link to where it was unpacked.
KSELFTEST := $(TEST_BUILD)/kselftest

$(KSELFTEST):
	@mkdir -p $(@D)
	$(Q)dir=$$(scripts/kernel srcfiles) && ln -sfn "$$dir/tools/testing/selftests" $@

TEST_CFLAGS := -std=gnu11 -g -Wall -Wextra -Wshadow -Wno-format-overflow \
	-Wno-nonnull -D_GNU_SOURCE -isystem $(KSELFTEST)

# --- unit tests: the pure files, compiled for user space ---------------------

UNIT_TESTS := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_PROGRAMS := $(UNIT_TESTS:%=$(TEST_BUILD)/unit/%)
UNIT_PURE := kmod/common/wire.c kmod/common/wire_object.c kmod/common/wire_bad.c \
	kmod/common/wire_service.c \
	kmod/common/auth.c kmod/common/range.c kmod/common/pieces.c kmod/common/names.c \
	kmod/client/options.c kmod/client/state.c kmod/client/method.c kmod/client/auto_table.c \
	kmod/server/placement.c kmod/server/layout.c kmod/server/grant.c kmod/store/format.c kmod/store/steps.c kmod/store/recover.c \
	kmod/store/index.c kmod/store/alloc.c tools/parse.c tools/bench_stats.c tools/auto_table.c \
	tests/hmac.c tools/json_check.c tools/config.c tools/config_write.c tools/key_file.c \
	tools/kv_verify.c tools/kv_workload.c \
	tests/kv/linear.c tests/kv/register.c tests/kv/history.c
UNIT_CFLAGS := $(TEST_CFLAGS) -O1 -Ikmod/common -Iuapi -Iuserlib -include tests/unit/pure.h \
	-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

UNIT_OBJ := $(UNIT_PURE:%.c=$(TEST_BUILD)/unit/pure/%.o)

$(UNIT_OBJ): $(TEST_BUILD)/unit/pure/%.o: %.c tests/build.mk | $(KSELFTEST)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) -MMD -MP -c -o $@ $<

$(UNIT_TESTS:%=$(TEST_BUILD)/unit/test_%.o): $(TEST_BUILD)/unit/%.o: tests/unit/%.c tests/build.mk | $(KSELFTEST)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UNIT_CFLAGS) -include tests/vm/patience.h -MMD -MP -c -o $@ $<

$(UNIT_PROGRAMS): $(TEST_BUILD)/unit/%: $(TEST_BUILD)/unit/test_%.o $(UNIT_OBJ)
	$(Q)$(CC) $(UNIT_CFLAGS) -o $@ $^ -ljson-c -lm

# --- programs that run in the client VM -------------------------------------

VM_TESTS := $(patsubst tests/vm/%.c,%,$(wildcard tests/vm/*.c))
VM_PROGRAMS := $(VM_TESTS:%=$(TEST_BUILD)/vm/%)

# The wire's, for those that speak it by themselves; and what proves who one is.
VM_WIRE := $(addprefix $(TEST_BUILD)/vm/of/kmod/common/,wire.o wire_object.o wire_bad.o wire_service.o \
	range.o)
VM_AUTH := $(addprefix $(TEST_BUILD)/vm/of/,kmod/common/auth.o tests/hmac.o)
VM_WIRE_CFLAGS := -Ikmod/common -include tests/unit/pure.h

$(VM_WIRE) $(VM_AUTH): $(TEST_BUILD)/vm/of/%.o: %.c tests/build.mk | $(KSELFTEST)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(VM_WIRE_CFLAGS) -O1 -MMD -MP -c -o $@ $<

$(VM_PROGRAMS): $(TEST_BUILD)/vm/%: tests/vm/%.c tests/build.mk | $(KSELFTEST)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -include tests/vm/patience.h -O1 -MMD -MP -MF $@.d -o $@ $< $(VM_OBJ) -lpthread $(VM_LIBS)

# Those that know what a trailer says.
OBJECT_PROGRAMS := $(TEST_BUILD)/vm/objects $(TEST_BUILD)/vm/object_submit
$(OBJECT_PROGRAMS): TEST_CFLAGS += $(VM_WIRE_CFLAGS)

# The hostile clients speak the wire protocol by themselves.
HOSTILE_PROGRAMS := $(addprefix $(TEST_BUILD)/vm/,hostile hostile_io hostile_put hostile_zero turns \
	hostile_silent hostile_server hostile_attempt hostile_bad fuzz_peer)
$(HOSTILE_PROGRAMS): VM_OBJ := $(VM_WIRE)
$(HOSTILE_PROGRAMS): VM_LIBS := -lrdmacm -libverbs
$(HOSTILE_PROGRAMS): TEST_CFLAGS += $(VM_WIRE_CFLAGS)
$(HOSTILE_PROGRAMS): $(VM_WIRE)
$(TEST_BUILD)/vm/fuzz_peer: VM_LIBS += -l:liburing.a
$(TEST_BUILD)/vm/fuzz_peer: VM_OBJ += $(VM_AUTH)
$(TEST_BUILD)/vm/fuzz_peer: $(VM_AUTH)

# So does who tries everybody's rights, and has to prove who he is.
RIGHTS_PROGRAMS := $(addprefix $(TEST_BUILD)/vm/,rights rights_login rights_false rights_end \
	rights_wait rights_resume rights_limit)
$(RIGHTS_PROGRAMS): VM_OBJ := $(VM_WIRE) $(VM_AUTH)
$(RIGHTS_PROGRAMS): VM_LIBS := -lrdmacm -libverbs
$(RIGHTS_PROGRAMS): TEST_CFLAGS += $(VM_WIRE_CFLAGS)
$(RIGHTS_PROGRAMS): $(VM_WIRE) $(VM_AUTH)

# io_uring's: with the library inside, the VMs need not have it.
RING_PROGRAMS := $(addprefix $(TEST_BUILD)/vm/,aio uring expire faults fuzz_calls orphan recover kv_call)
$(RING_PROGRAMS): VM_LIBS := -l:liburing.a

# The store's, with our libraries inside.
KV_PROGRAMS := $(addprefix $(TEST_BUILD)/vm/,kv kv_call kv_crash kv_large)
KV_LIBS := $(USER_BUILD)/libpmofkv.a $(USER_BUILD)/libpmof.a
$(KV_PROGRAMS): TEST_CFLAGS += -Iuapi -Iuserlib
$(KV_PROGRAMS): $(KV_LIBS)
$(KV_PROGRAMS): VM_LIBS += $(KV_LIBS)

include tests/bench/build.mk

include tests/crash/build.mk

include tests/boot/build.mk

include tests/kv/build.mk

include tests/chaos/build.mk

tests: $(UNIT_PROGRAMS) $(VM_PROGRAMS) ## build the test programs

# --- the power-cut explorer's plugin for QEMU --------------------------------

TRACE_PLUGIN := $(TEST_BUILD)/crash/trace.so
TRACE_PLUGIN_SRC := $(wildcard tests/crash/plugin/*.c)

$(TRACE_PLUGIN): $(TRACE_PLUGIN_SRC) $(wildcard tests/crash/plugin/*.h) tests/crash/trace.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
		-Wstrict-prototypes -D_GNU_SOURCE -fvisibility=hidden -fPIC -shared \
		-o $@.tmp $(TRACE_PLUGIN_SRC) -lpthread && mv $@.tmp $@

CRASH_TOOLS := $(TEST_BUILD)/crash/dump $(TEST_BUILD)/crash/verify

$(CRASH_TOOLS): $(TEST_BUILD)/crash/%: tests/crash/%.c tests/crash/reader.c tests/crash/reader.h \
		tests/crash/trace.h tests/crash/sequences.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -o $@ \
		$< tests/crash/reader.c

# In the guest. At a fixed address, low: some of its operands have 32 bits. Its assembly calls.
CRASH_GUEST := $(TEST_BUILD)/crash/overlay/usr/bin/sequences

$(CRASH_GUEST): tests/crash/sequences.c tests/crash/sequences.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -D_GNU_SOURCE -no-pie -fno-pie \
		-mno-red-zone -o $@ $< -lpthread

trace-plugin: $(TRACE_PLUGIN)

crash-selftest: $(TRACE_PLUGIN) $(CRASH_TOOLS) $(CRASH_GUEST)

print-trace-plugin:
	@echo $(TRACE_PLUGIN)

# --- the lab's soft-RoCE ------------------------------------------------------

# For 6.12, or for a sanitizer kernel of it: then in lab-rxe-kasan and the like.
RXE_KVER ?= 6.12
RXE_DIR := $(BUILD)/lab-rxe$(RXE_KVER:6.12%=%)
RXE_MODULES := $(RXE_DIR)/rdma_rxe.ko $(RXE_DIR)-marks/rdma_rxe.ko

$(RXE_MODULES): tests/lab/rxe/build $(wildcard tests/lab/rxe/patches/*.patch tests/lab/rxe/test/*)
	+$(Q)kdir=$$(scripts/kernel kdir $(RXE_KVER)) && \
		tests/lab/rxe/build $(if $(findstring -marks/,$@),--marks) "$$kdir" $(@D)

lab-rxe: $(RXE_DIR)/rdma_rxe.ko ## build the lab's soft-RoCE (FLUSH from modules, lazy_write) for 6.12

lab-rxe-marks: $(RXE_DIR)-marks/rdma_rxe.ko ## the same, with the power-cut explorer's marks

# --- what people and machines call -------------------------------------------

check: ## run all tests: unit, lab, VM suites on 6.1 and 6.12, power cuts (three quarters of an hour)
	@BUILD="$(BUILD)" tests/run unit model lab vm crash

check-long: ## check, with the long variants of the VM suites
	@BUILD="$(BUILD)" tests/run --long unit model lab vm crash

check-unit: ## run the host unit tests (seconds)
	@BUILD="$(BUILD)" tests/run unit

check-model: ## check the models of the protocols with spin (some minutes)
	@BUILD="$(BUILD)" tests/run model

check-lab: ## run the lab's own test
	@BUILD="$(BUILD)" tests/run lab

check-vm: ## run the VM suites; KVER=6.1|6.12, RUN= and SUITE= select
	@BUILD="$(BUILD)" tests/run $(KVER:%=--kernel %) $(RUN:%=--run %) $(SUITE:%=--suite %) vm

check-sanitized: ## run the VM suites, KUnit tests and failing allocations on a sanitizer kernel (hours); VARIANT=kasan|kcsan
	@BUILD="$(BUILD)" tests/run --sanitized $(or $(VARIANT),kasan) $(RUN:%=--run %) $(SUITE:%=--suite %)

check-kcsan: ## run the same on the kernel that finds data races
	@BUILD="$(BUILD)" tests/run --sanitized kcsan $(RUN:%=--run %) $(SUITE:%=--suite %)

check-crash-plugin: crash-selftest ## run the test of the crash explorer's QEMU plugin (a minute)
	@BUILD="$(BUILD)" tests/crash/selftest

fuzz: ## tell every way in nonsense; SECONDS=N each, SEED=N, VARIANT=kasan on that sanitizer kernel
	@BUILD="$(BUILD)" FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$(or $(SEED),1) \
		FUZZ_SHARE=$(if $(VARIANT),4,2) tests/run $(if $(VARIANT),--sanitized $(VARIANT),--kernel $(or $(KVER),6.12)) \
		--domain mem-ctrl --run fuzz vm

check-mutants: ## prove that the unit tests notice mistakes
	@BUILD="$(BUILD)" tests/unit/mutate

check-vm-mutants: ## prove that the VM suites notice mistakes (a minute or two each)
	@BUILD="$(BUILD)" tests/vm/mutate

bench: ## pmof beside NVMe-oF and others: ratios, instructions, plots (25 minutes); CASES=REGEX SECONDS=N ROUNDS=N PROFILE=CASE:WAY
	@BUILD="$(BUILD)" tests/bench/bench $(KVER:%=--kernel %) $(CASES:%=--cases '%') \
		$(SECONDS:%=--seconds %) $(ROUNDS:%=--rounds %) $(PROFILE:%=--profile %) \
		$(BENCH_FLAGS)

bench-kalia: ## figures 2 and 3 of Kalia et al.: counts and ratios, with a plot
	@BUILD="$(BUILD)" tests/bench/kalia

bench-kv: ## a store's put protocols, herd beside sa: counts, the server's time as ratios (5 minutes)
	@BUILD="$(BUILD)" tests/bench/kv $(KVER:%=--kernel %)

lint: ## run the checkers; exit non-zero on any finding
	@BUILD="$(BUILD)" scripts/lint

demo: ## show it: two VMs, a file put, persisted, crashed, got back
	@BUILD="$(BUILD)" tests/demo/demo

-include $(UNIT_OBJ:.o=.d) $(UNIT_PROGRAMS:$(TEST_BUILD)/unit/%=$(TEST_BUILD)/unit/test_%.d) \
	$(VM_PROGRAMS:%=%.d) $(VM_WIRE:.o=.d) $(VM_AUTH:.o=.d)

.PHONY: bench bench-kalia bench-kv bench-programs check check-crash-plugin check-kcsan check-lab check-long \
	check-model check-mutants check-sanitized check-unit check-vm check-vm-mutants crash-selftest \
	demo fuzz lab-rxe lab-rxe-marks lint print-trace-plugin \
	tests trace-plugin
