# SPDX-License-Identifier: BSD-3-Clause
#
# The pmof command, its man pages, udev rules, systemd units and shell completion. Included by
# the top Makefile, behind userlib/build.mk.

TOOLS_SRC := $(wildcard tools/*.c)
TOOLS_OBJ := $(TOOLS_SRC:tools/%.c=$(USER_BUILD)/tools/%.o)
# The server's own code reads a store that `pmof kv check` looks at.
STORE_OBJ := $(patsubst %,$(USER_BUILD)/store/%.o,format recover alloc)
TOOLS_MAN := $(USER_BUILD)/man/pmof.1 $(USER_BUILD)/man/pmof-kv.1 $(USER_BUILD)/man/pmof.4
PMOF := $(USER_BUILD)/pmof

# Expanded in recipes only: `make help` must work where nothing is installed.
PKG_CONFIG ?= pkg-config
JSON_CFLAGS = $(shell $(PKG_CONFIG) --cflags json-c)
JSON_LIBS = $(shell $(PKG_CONFIG) --libs json-c)
BLKID_CFLAGS = $(shell $(PKG_CONFIG) --cflags blkid)
BLKID_LIBS = $(shell $(PKG_CONFIG) --libs blkid)

UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEV_DIR ?= $(PREFIX)/lib/udev/rules.d
COMPLETION_DIR ?= $(PREFIX)/share/bash-completion/completions

USER_TARGETS += $(PMOF) $(TOOLS_MAN)

$(USER_BUILD)/tools/%.o: tools/%.c Makefile tools/build.mk kmod/common/version.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(PMOF_CFLAGS) $(JSON_CFLAGS) $(BLKID_CFLAGS) $(CFLAGS) $(CPPFLAGS) -pthread -MMD -MP -c -o $@ $<

$(STORE_OBJ): $(USER_BUILD)/store/%.o: kmod/store/%.c Makefile tools/build.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(PMOF_CFLAGS) -Ikmod/common -include tools/pure.h $(CFLAGS) $(CPPFLAGS) \
		-MMD -MP -c -o $@ $<

# With the static libraries: the command runs wherever it is put.
$(PMOF): $(TOOLS_OBJ) $(STORE_OBJ) $(LIBPMOFKV_A) $(LIBPMOF_A)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(JSON_LIBS) $(BLKID_LIBS) -lm

$(USER_BUILD)/man/%: tools/man/%.scd
	@mkdir -p $(@D)
	$(Q)$(SCDOC) <$< >$@.tmp && mv $@.tmp $@

install-tools: $(PMOF) $(TOOLS_MAN)
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/man/man4 $(DESTDIR)$(UDEV_DIR) \
		$(DESTDIR)$(COMPLETION_DIR) $(DESTDIR)$(UNITDIR)
	$(Q)install -m 755 $(PMOF) $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -m 644 $(USER_BUILD)/man/pmof.1 $(USER_BUILD)/man/pmof-kv.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/
	$(Q)install -m 644 $(USER_BUILD)/man/pmof.4 $(DESTDIR)$(PREFIX)/share/man/man4/
	$(Q)install -m 644 tools/udev/60-pmof.rules $(DESTDIR)$(UDEV_DIR)/
	$(Q)for unit in pmof-server pmof-connect; do \
		sed 's,@PREFIX@,$(PREFIX),' "tools/systemd/$$unit.service.in" \
			>"$(DESTDIR)$(UNITDIR)/$$unit.service" && \
		chmod 644 "$(DESTDIR)$(UNITDIR)/$$unit.service" || exit; done
	$(Q)install -m 644 tools/pmof.bash-completion $(DESTDIR)$(COMPLETION_DIR)/pmof

# pmof-redis, too, which may have been built where it is not now.
uninstall-tools:
	$(Q)rm -f $(addprefix "$(DESTDIR)$(PREFIX)"/bin/,pmof pmof-redis) \
		$(addprefix "$(DESTDIR)$(PREFIX)"/share/man/,man1/pmof.1 man1/pmof-kv.1 \
			man1/pmof-redis.1 man1/fio-pmof.1 man4/pmof.4) \
		"$(DESTDIR)$(LIBDIR)/pmof/fio-pmof.so" \
		"$(DESTDIR)$(UDEV_DIR)/60-pmof.rules" "$(DESTDIR)$(COMPLETION_DIR)/pmof" \
		$(addprefix "$(DESTDIR)$(UNITDIR)"/,pmof-server.service pmof-connect.service)

-include $(TOOLS_OBJ:.o=.d) $(STORE_OBJ:.o=.d)

.PHONY: install-tools uninstall-tools
