// SPDX-License-Identifier: GPL-2.0
/*
 * HMAC-SHA-256 by the kernel's crypto API.  One transform for all: logins and
 * new queues are rare, and so nothing is allocated on their way.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "auth.h"

static DEFINE_MUTEX(hmac_mutex);	/* protects hmac and the key in it */
static struct crypto_shash *hmac;

static int get_hmac(void)
{
	struct crypto_shash *tfm;

	lockdep_assert_held(&hmac_mutex);
	if (hmac)
		return 0;
	tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	if (WARN_ON_ONCE(crypto_shash_digestsize(tfm) != PMOF_WIRE_MAC_LEN)) {
		crypto_free_shash(tfm);
		return -EINVAL;
	}
	hmac = tfm;
	return 0;
}

int pmof_hmac_prepare(void)
{
	int rc;

	mutex_lock(&hmac_mutex);
	rc = get_hmac();
	mutex_unlock(&hmac_mutex);
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_hmac_prepare);

void pmof_hmac_exit(void)
{
	crypto_free_shash(hmac);
	hmac = NULL;
}

int pmof_hmac(const u8 *key, size_t key_len, const void *data, size_t len,
	      u8 mac[PMOF_WIRE_MAC_LEN])
{
	static const u8 no_key[PMOF_KEY_MIN];
	int rc;

	mutex_lock(&hmac_mutex);
	rc = get_hmac();
	if (!rc)
		rc = crypto_shash_setkey(hmac, key, key_len);
	if (!rc)
		rc = crypto_shash_tfm_digest(hmac, data, len, mac);
	if (rc)
		memset(mac, 0, PMOF_WIRE_MAC_LEN);
	/* The transform keeps no key of anybody's. */
	if (hmac)
		crypto_shash_setkey(hmac, no_key, sizeof(no_key));
	mutex_unlock(&hmac_mutex);
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_hmac);

bool pmof_mac_equal(const u8 *a, const u8 *b, size_t len)
{
	return !crypto_memneq(a, b, len);
}
EXPORT_SYMBOL_GPL(pmof_mac_equal);
