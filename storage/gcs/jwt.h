/* PURE. A JSON Web Token signed with RS256 (RFC 7515, RFC 7519): what a Google service account
 * shows for itself. */
#ifndef JWT_H
#define JWT_H

#include "base/err.h"

#include <jansson.h>

/* `key_pem` is PKCS#8 or PKCS#1 without a passphrase; `key_id` may be NULL. ERR_INVALID for a key
 * that is none. The caller frees. */
int jwt_sign(const char *key_pem, const char *key_id, json_t *claims, char **token,
	     struct err *err);

#endif
