#include "sigv4.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"

static void add_text(struct bytes *out, const char *text)
{
	bytes_append(out, text, strlen(text), NULL);
}

/* --- the canonical request --- */

static char *single_blanks(const char *text)
{
	char *result = text_copy(text), *to = result;

	for (const char *from = text; *from; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to > result && to[-1] != ' ')
			*to++ = ' ';
	if (to > result && to[-1] == ' ')
		to--;
	*to = '\0';
	return result;
}

static int compare_names(const void *a, const void *b)
{
	const struct sigv4_header *first = a, *second = b;

	return strcmp(first->name, second->name);
}

/* The headers' block, and the list of their names in `names`. */
static void add_headers(struct bytes *out, const struct sigv4_request *request, const char *date,
			struct bytes *names)
{
	size_t count = request->header_count;
	auto_free struct sigv4_header *sorted = memory_new((count + 1) * sizeof(*sorted));

	memcpy(sorted, request->headers, count * sizeof(*sorted));
	sorted[count++] = (struct sigv4_header){"x-amz-date", date};
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < count; i++) {
		auto_free char *value = single_blanks(sorted[i].value);

		bytes_format(out, NULL, "%s:%s\n", sorted[i].name, value);
		bytes_format(names, NULL, "%s%s", i ? ";" : "", sorted[i].name);
	}
}

static void make_canonical(const struct sigv4_request *request, const char *date,
			   struct bytes *canonical, struct bytes *names)
{
	bytes_format(canonical, NULL, "%s\n%s\n%s\n", request->method, request->path,
		     request->query);
	add_headers(canonical, request, date, names);
	bytes_append(names, "", 1, NULL);
	bytes_format(canonical, NULL, "\n%s\n%s", (const char *)names->data, request->payload_hash);
}

/* --- the signature --- */

static void hmac_sha256(const uint8_t *key, size_t key_size, const void *text, size_t size,
			uint8_t result[DIGEST_SIZE])
{
	/* Fails only without SHA-256 in the library, and then nothing else works either. */
	if (!HMAC(EVP_sha256(), key, (int)key_size, text, size, result, NULL))
		abort();
}

static void derive_key(const struct sigv4_identity *identity, const char *day,
		       uint8_t key[DIGEST_SIZE])
{
	char *secret = text_format("AWS4%s", identity->secret_key);
	uint8_t next[DIGEST_SIZE];

	hmac_sha256((const uint8_t *)secret, strlen(secret), day, strlen(day), key);
	explicit_bzero(secret, strlen(secret));
	free(secret);
	hmac_sha256(key, DIGEST_SIZE, identity->region, strlen(identity->region), next);
	hmac_sha256(next, DIGEST_SIZE, identity->service, strlen(identity->service), key);
	hmac_sha256(key, DIGEST_SIZE, "aws4_request", strlen("aws4_request"), next);
	memcpy(key, next, DIGEST_SIZE);
	explicit_bzero(next, sizeof(next));
}

static void add_hex_digest(struct bytes *out, const struct bytes *of)
{
	uint8_t digest[DIGEST_SIZE];
	char hex[2 * DIGEST_SIZE + 1];

	digest_sha256(of->data, of->size, digest);
	text_hex(digest, DIGEST_SIZE, hex);
	add_text(out, hex);
}

void sigv4_sign(const struct sigv4_request *request, const struct sigv4_identity *identity,
		int64_t now_ms, struct sigv4_signed *result)
{
	auto_(bytes_release) struct bytes names = {0};
	auto_free char *day = NULL, *scope = NULL;
	uint8_t key[DIGEST_SIZE], signature[DIGEST_SIZE];
	char stamp[DATETIME_SIZE];

	*result = (struct sigv4_signed){0};
	text_set(result->date, sizeof(result->date), datetime_compact(now_ms, stamp));
	day = text_copy_n(result->date, strlen("20150830"));
	scope = text_format("%s/%s/%s/aws4_request", day, identity->region, identity->service);

	make_canonical(request, result->date, &result->canonical, &names);
	bytes_format(&result->to_sign, NULL, ALGORITHM "\n%s\n%s\n", result->date, scope);
	add_hex_digest(&result->to_sign, &result->canonical);

	derive_key(identity, day, key);
	hmac_sha256(key, sizeof(key), result->to_sign.data, result->to_sign.size, signature);
	explicit_bzero(key, sizeof(key));
	text_hex(signature, sizeof(signature), result->signature);
	result->authorization =
		text_format(ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
			    identity->access_key, scope, (const char *)names.data,
			    result->signature);
}

void sigv4_signed_release(struct sigv4_signed *result)
{
	free(result->authorization);
	bytes_release(&result->canonical);
	bytes_release(&result->to_sign);
	*result = (struct sigv4_signed){0};
}
