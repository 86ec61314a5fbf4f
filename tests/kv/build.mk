# SPDX-License-Identifier: GPL-2.0
#
# Histories of a store: recorder and checker; and what uses libpmofkv, over a store in memory.
# Included by tests/build.mk.

KV_BUILD := $(TEST_BUILD)/kv
KV_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-D_GNU_SOURCE -Iuapi -Iuserlib
KV_HEADERS := $(wildcard tests/kv/*.h) userlib/libpmofkv.h uapi/pmof_kv.h
KV_LINEAR := tests/kv/linear.c tests/kv/register.c tests/kv/history.c
KV_RECORDER := tests/kv/recorder.c tests/kv/history.c
KV_RECORD := tests/kv/record.c $(KV_RECORDER)

$(KV_BUILD)/lincheck: tests/kv/lincheck.c $(KV_LINEAR) $(KV_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $(filter %.c,$^)

# For the VMs, by the library: among the programs that they all get.
KV_VM := $(TEST_BUILD)/vm/kv_record $(TEST_BUILD)/vm/kv_lincheck \
	$(EXAMPLES_SRC:examples/%.c=$(TEST_BUILD)/vm/kv_%)

$(TEST_BUILD)/vm/kv_record: $(KV_RECORD) $(KV_HEADERS) $(LIBPMOFKV_A) $(LIBPMOF_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $(KV_RECORD) $(LIBPMOFKV_A) $(LIBPMOF_A) -lpthread

$(TEST_BUILD)/vm/kv_lincheck: $(KV_BUILD)/lincheck
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(EXAMPLES_SRC:examples/%.c=$(TEST_BUILD)/vm/kv_%): $(TEST_BUILD)/vm/kv_%: $(USER_BUILD)/examples/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# Here, by what stands for it.
$(KV_BUILD)/record: $(KV_RECORD) tests/kv/memory.c $(KV_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $(filter %.c,$^) -lpthread

$(KV_BUILD)/memory.o: tests/kv/memory.c $(KV_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -c -o $@ $<

$(KV_BUILD)/pmof: $(TOOLS_OBJ) $(STORE_OBJ) $(KV_BUILD)/memory.o $(LIBPMOF_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(JSON_LIBS) $(BLKID_LIBS) -lm

KV_EXAMPLES := $(EXAMPLES_SRC:examples/%.c=$(KV_BUILD)/example_%)

$(KV_EXAMPLES): $(KV_BUILD)/example_%: examples/%.c $(KV_BUILD)/memory.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $^ -lpthread

$(KV_BUILD)/pmof-redis: $(REDIS_SRC) tools/redis/redis.h tools/standard_fds.h $(KV_BUILD)/memory.o \
		$(LIBPMOF_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -o $@ $(REDIS_SRC) $(KV_BUILD)/memory.o $(LIBPMOF_A) -lpthread \
		-l:libhiredis.a

# Among the unit tests, whose runner takes it.
$(TEST_BUILD)/unit/kv_tools: tests/kv/tools $(addprefix $(KV_BUILD)/,pmof record lincheck) \
		tools/pmof.bash-completion $(KV_EXAMPLES) $(if $(HAVE_HIREDIS),$(KV_BUILD)/pmof-redis)
	@mkdir -p $(@D)
	$(Q)cp tools/pmof.bash-completion $(KV_BUILD)/completion
	$(Q)cp $< $@

KV_TESTS := $(TEST_BUILD)/unit/kv_tools $(KV_VM)

tests: $(KV_TESTS)

# libpmofkv itself, over a libpmof that the test stands for.
KV_UNIT := $(TEST_BUILD)/unit/kv_library
KV_UNIT_OBJ := $(patsubst %.c,$(TEST_BUILD)/unit/pure/%.o,$(wildcard userlib/kv/*.c))

$(KV_UNIT_OBJ): $(TEST_BUILD)/unit/pure/%.o: %.c tests/kv/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(KV_CFLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all -MMD -MP -c -o $@ $<

$(TEST_BUILD)/unit/test_kv_library.o: private UNIT_CFLAGS += -Iuapi -Iuserlib
$(KV_UNIT): $(KV_UNIT_OBJ)

-include $(KV_UNIT_OBJ:.o=.d)
