#include "jwt.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

AUTO_POINTER(EVP_PKEY, EVP_PKEY_free);
AUTO_POINTER(EVP_MD_CTX, EVP_MD_CTX_free);

/* The alphabet for URLs, without padding (RFC 4648 section 5). */
static char *encode_base64url(const void *data, size_t size)
{
	char *text = base64_encode(data, size);

	for (char *at = text; *at; at++) {
		if (*at == '+')
			*at = '-';
		else if (*at == '/')
			*at = '_';
		else if (*at == '=')
			*at = '\0';
		if (!*at)
			break;
	}
	return text;
}

static char *encode_json(json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	return text ? encode_base64url(text, strlen(text)) : NULL;
}

/* Never asks on the terminal for a passphrase. */
static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
	(void)buffer, (void)size, (void)writing, (void)arg;
	return -1;
}

static EVP_PKEY *read_key(const char *key_pem)
{
	BIO *input = BIO_new_mem_buf(key_pem, -1);
	EVP_PKEY *key = input ? PEM_read_bio_PrivateKey(input, NULL, no_passphrase, NULL) : NULL;

	BIO_free(input);
	return key;
}

static int sign_rs256(EVP_PKEY *key, const char *text, struct bytes *signature, struct err *err)
{
	auto_(EVP_MD_CTX_free) EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t size = 0;

	if (!context || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(context, NULL, &size, (const uint8_t *)text, strlen(text)) != 1 ||
	    bytes_reserve(signature, size, NULL) < 0 ||
	    EVP_DigestSign(context, signature->data, &size, (const uint8_t *)text, strlen(text)) !=
		    1)
		return err_set(err, ERR_FAILED, "cannot sign with the private key");
	signature->size = size;
	return 0;
}

int jwt_sign(const char *key_pem, const char *key_id, json_t *claims, char **token, struct err *err)
{
	auto_(EVP_PKEY_free) EVP_PKEY *key = read_key(key_pem);
	auto_(bytes_release) struct bytes signature = {0};
	auto_json json_t *header = json_pack("{s:s, s:s}", "alg", "RS256", "typ", "JWT");
	auto_free char *first = NULL, *second = NULL, *third = NULL, *text = NULL;

	if (!key || !EVP_PKEY_is_a(key, "RSA"))
		return err_set(err, ERR_INVALID, "the private key is no RSA key in PEM form");
	if (key_id)
		json_object_set_new(header, "kid", json_string(key_id));
	first = encode_json(header);
	second = encode_json(claims);
	if (!first || !second)
		return err_set(err, ERR_INVALID, "the claims are not UTF-8");
	text = text_format("%s.%s", first, second);
	if (sign_rs256(key, text, &signature, err) < 0)
		return -1;
	third = encode_base64url(signature.data, signature.size);
	*token = text_format("%s.%s", text, third);
	return 0;
}
