# SPDX-License-Identifier: BSD-3-Clause
#
# The fio engine. Not part of `all` and `install`: it is compiled against the headers
# of the fio that is installed, which have to be fetched. Included by the top Makefile, behind
# tools/build.mk.

FIO_ENGINE := $(USER_BUILD)/fio-pmof.so
FIO_ENGINE_SRC := $(wildcard tools/fio/*.c)
FIO_ENGINE_OBJ := $(FIO_ENGINE_SRC:tools/fio/%.c=$(USER_BUILD)/fio/%.o)
FIO_ENGINE_MAN := $(USER_BUILD)/man/fio-pmof.1

# A file that changes with fio's version, so that the engine is then built anew.
FIO_STAMP := $(USER_BUILD)/fio/version

$(FIO_STAMP): FORCE
	@mkdir -p $(@D)
	$(Q)scripts/fio version >$@.tmp && scripts/fio headers >>$@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi

$(FIO_ENGINE_OBJ): $(USER_BUILD)/fio/%.o: tools/fio/%.c $(FIO_STAMP) Makefile tools/fio/build.mk
	$(Q)fio=$$(tail -n 1 $(FIO_STAMP)) && \
		$(CC) $(PMOF_CFLAGS) -isystem "$$fio" -include "$$fio/config-host.h" -Itools/fio \
			$(CFLAGS) $(CPPFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(FIO_ENGINE): $(FIO_ENGINE_OBJ)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $(FIO_ENGINE_OBJ) -luring

fio-engine: $(FIO_ENGINE) ## build fio-pmof.so, the fio engine for /dev/pmofcN, for the fio that is installed

install-fio-engine: $(FIO_ENGINE) $(FIO_ENGINE_MAN) ## install it, and its man page
	$(Q)install -d $(DESTDIR)$(LIBDIR)/pmof $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)install -m 755 $(FIO_ENGINE) $(DESTDIR)$(LIBDIR)/pmof/
	$(Q)install -m 644 $(FIO_ENGINE_MAN) $(DESTDIR)$(PREFIX)/share/man/man1/

-include $(FIO_ENGINE_OBJ:.o=.d)

.PHONY: fio-engine install-fio-engine
