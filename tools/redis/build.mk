# SPDX-License-Identifier: BSD-3-Clause
#
# pmof-redis: where there is hiredis, whose reader of the protocol it contains. Included by the
# top Makefile.

REDIS_SRC := $(wildcard tools/redis/*.c)
REDIS := $(USER_BUILD)/pmof-redis
REDIS_MAN := $(USER_BUILD)/man/pmof-redis.1
HAVE_HIREDIS := $(shell $(PKG_CONFIG) --exists hiredis 2>/dev/null && echo yes)

$(REDIS): $(REDIS_SRC) tools/redis/redis.h tools/standard_fds.h $(LIBPMOFKV_A) $(LIBPMOF_A)
	$(Q)$(CC) $(PMOF_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) -pthread -o $@ $(REDIS_SRC) \
		$(LIBPMOFKV_A) $(LIBPMOF_A) -l:libhiredis.a

install-redis: $(REDIS) $(REDIS_MAN)
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)install -m 755 $(REDIS) $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -m 644 $(REDIS_MAN) $(DESTDIR)$(PREFIX)/share/man/man1/

ifneq ($(HAVE_HIREDIS),)
USER_TARGETS += $(REDIS) $(REDIS_MAN)
install-tools: install-redis
endif

.PHONY: install-redis
