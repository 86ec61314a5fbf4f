# SPDX-License-Identifier: BSD-3-Clause
#
# libpmof and libpmofkv: static and shared libraries, headers, pkg-config files, manuals.
# Included by the top Makefile.

LIBPMOF_SO := libpmof.so.1
LIBPMOF_REAL := $(LIBPMOF_SO).2.0

LIBPMOF_SRC := $(wildcard userlib/*.c)
LIBPMOF_HDR := userlib/libpmof.h uapi/pmof.h
LIBPMOF_OBJ := $(LIBPMOF_SRC:userlib/%.c=$(USER_BUILD)/userlib/%.o)
LIBPMOF_PIC := $(LIBPMOF_SRC:userlib/%.c=$(USER_BUILD)/userlib/%.pic.o)
LIBPMOF_A := $(USER_BUILD)/libpmof.a
LIBPMOF_MAN := $(USER_BUILD)/man/libpmof.3

USER_TARGETS += $(LIBPMOF_A) $(USER_BUILD)/libpmof.so $(USER_BUILD)/pmof.pc $(LIBPMOF_MAN)

LIBPMOFKV_SO := libpmofkv.so.1
LIBPMOFKV_REAL := $(LIBPMOFKV_SO).0.0

LIBPMOFKV_SRC := $(wildcard userlib/kv/*.c)
LIBPMOFKV_HDR := userlib/libpmofkv.h uapi/pmof_kv.h
LIBPMOFKV_OBJ := $(LIBPMOFKV_SRC:userlib/%.c=$(USER_BUILD)/userlib/%.o)
LIBPMOFKV_PIC := $(LIBPMOFKV_SRC:userlib/%.c=$(USER_BUILD)/userlib/%.pic.o)
LIBPMOFKV_A := $(USER_BUILD)/libpmofkv.a
LIBPMOFKV_MAN := $(USER_BUILD)/man/libpmofkv.3

USER_TARGETS += $(LIBPMOFKV_A) $(USER_BUILD)/libpmofkv.so $(USER_BUILD)/pmofkv.pc $(LIBPMOFKV_MAN)

SCDOC ?= scdoc

$(USER_BUILD)/userlib/%.o: userlib/%.c Makefile userlib/build.mk kmod/common/version.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(PMOF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

$(USER_BUILD)/userlib/%.pic.o: userlib/%.c Makefile userlib/build.mk kmod/common/version.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(PMOF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(LIBPMOF_A): $(LIBPMOF_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(USER_BUILD)/$(LIBPMOF_REAL): $(LIBPMOF_PIC) userlib/libpmof.map
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIBPMOF_SO) -Wl,-z,defs \
		-Wl,--version-script=userlib/libpmof.map -o $@ $(LIBPMOF_PIC)

$(USER_BUILD)/libpmof.so: $(USER_BUILD)/$(LIBPMOF_REAL)
	$(Q)ln -sf $(LIBPMOF_REAL) $(USER_BUILD)/$(LIBPMOF_SO)
	$(Q)ln -sf $(LIBPMOF_SO) $@

$(LIBPMOFKV_OBJ) $(LIBPMOFKV_PIC): CPPFLAGS += -Iuserlib

$(LIBPMOFKV_A): $(LIBPMOFKV_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(USER_BUILD)/$(LIBPMOFKV_REAL): $(LIBPMOFKV_PIC) userlib/libpmofkv.map $(USER_BUILD)/libpmof.so
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIBPMOFKV_SO) -Wl,-z,defs \
		-Wl,--version-script=userlib/libpmofkv.map -o $@ $(LIBPMOFKV_PIC) \
		-L$(USER_BUILD) -lpmof -lpthread

$(USER_BUILD)/libpmofkv.so: $(USER_BUILD)/$(LIBPMOFKV_REAL)
	$(Q)ln -sf $(LIBPMOFKV_REAL) $(USER_BUILD)/$(LIBPMOFKV_SO)
	$(Q)ln -sf $(LIBPMOFKV_SO) $@

# Depends on PREFIX and LIBDIR, which are of one invocation: always made anew.
$(USER_BUILD)/%.pc: userlib/%.pc.in FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

$(USER_BUILD)/man/%: userlib/man/%.scd
	@mkdir -p $(@D)
	$(Q)$(SCDOC) <$< >$@.tmp && mv $@.tmp $@

install-lib: $(LIBPMOF_A) $(USER_BUILD)/libpmof.so $(USER_BUILD)/pmof.pc $(LIBPMOF_MAN) install-kv
	$(Q)install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(DESTDIR)$(PREFIX)/share/man/man3
	$(Q)install -m 644 $(LIBPMOF_HDR) $(DESTDIR)$(PREFIX)/include/
	$(Q)install -m 644 $(LIBPMOF_A) $(DESTDIR)$(LIBDIR)/
	$(Q)install -m 755 $(USER_BUILD)/$(LIBPMOF_REAL) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf $(LIBPMOF_REAL) $(DESTDIR)$(LIBDIR)/$(LIBPMOF_SO)
	$(Q)ln -sf $(LIBPMOF_SO) $(DESTDIR)$(LIBDIR)/libpmof.so
	$(Q)install -m 644 $(USER_BUILD)/pmof.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	$(Q)install -m 644 $(LIBPMOF_MAN) $(DESTDIR)$(PREFIX)/share/man/man3/

install-kv: $(LIBPMOFKV_A) $(USER_BUILD)/libpmofkv.so $(USER_BUILD)/pmofkv.pc $(LIBPMOFKV_MAN)
	$(Q)install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(DESTDIR)$(PREFIX)/share/man/man3
	$(Q)install -m 644 $(LIBPMOFKV_HDR) $(DESTDIR)$(PREFIX)/include/
	$(Q)install -m 644 $(LIBPMOFKV_A) $(DESTDIR)$(LIBDIR)/
	$(Q)install -m 755 $(USER_BUILD)/$(LIBPMOFKV_REAL) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf $(LIBPMOFKV_REAL) $(DESTDIR)$(LIBDIR)/$(LIBPMOFKV_SO)
	$(Q)ln -sf $(LIBPMOFKV_SO) $(DESTDIR)$(LIBDIR)/libpmofkv.so
	$(Q)install -m 644 $(USER_BUILD)/pmofkv.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	$(Q)install -m 644 $(LIBPMOFKV_MAN) $(DESTDIR)$(PREFIX)/share/man/man3/

# Those of older versions, too.
uninstall-lib:
	$(Q)rm -f "$(DESTDIR)$(LIBDIR)"/$(LIBPMOF_SO).* "$(DESTDIR)$(LIBDIR)"/$(LIBPMOFKV_SO).* \
		$(addprefix "$(DESTDIR)$(PREFIX)"/include/,$(notdir $(LIBPMOF_HDR) \
			$(LIBPMOFKV_HDR))) \
		$(addprefix "$(DESTDIR)$(LIBDIR)"/,$(notdir $(LIBPMOF_A) $(LIBPMOFKV_A)) \
			$(LIBPMOF_SO) libpmof.so pkgconfig/pmof.pc \
			$(LIBPMOFKV_SO) libpmofkv.so pkgconfig/pmofkv.pc) \
		$(addprefix "$(DESTDIR)$(PREFIX)"/share/man/man3/,$(notdir $(LIBPMOF_MAN) \
			$(LIBPMOFKV_MAN)))

-include $(LIBPMOF_OBJ:.o=.d) $(LIBPMOF_PIC:.o=.d)
-include $(LIBPMOFKV_OBJ:.o=.d) $(LIBPMOFKV_PIC:.o=.d)

.PHONY: install-lib install-kv uninstall-lib FORCE
