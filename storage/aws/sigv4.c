#include "sigv4.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "storage/http/http.h"

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

/* "a=1&b&c=2" -> sorted, "b" as "b=". */
static void add_query(struct bytes *out, const char *query)
{
	auto_(name_values_release) struct name_values pairs = {0};

	while (*query) {
		size_t length = strcspn(query, "&");
		size_t name = strcspn(query, "=&");

		if (length)
			name_values_add(&pairs, text_copy_n(query, name),
					name < length
						? text_copy_n(query + name + 1, length - name - 1)
						: text_copy(""));
		query += length;
		query += *query == '&';
	}
	name_values_sort(&pairs);
	for (size_t i = 0; i < pairs.count; i++)
		bytes_format(out, NULL, "%s%s=%s", i ? "&" : "", pairs.items[i].name,
			     pairs.items[i].value);
}

static char *lower_case(const char *text)
{
	char *lower = text_copy(text);

	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return lower;
}

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

/* The headers' block, and the list of their names in `names`. Sorted by name alone: "x-amz-meta-a"
 * stands before "x-amz-meta-a-b". */
static void add_headers(struct bytes *out, const struct sigv4_request *request, const char *date,
			struct bytes *names)
{
	auto_(name_values_release) struct name_values pairs = {0};

	for (size_t i = 0; i < request->header_count; i++)
		name_values_add(&pairs, lower_case(request->headers[i].name),
				single_blanks(request->headers[i].value));
	name_values_add(&pairs, text_copy("x-amz-date"), text_copy(date));
	name_values_sort_by_name(&pairs);
	for (size_t i = 0; i < pairs.count; i++) {
		if (i && strcmp(pairs.items[i].name, pairs.items[i - 1].name) == 0) {
			bytes_format(out, NULL, ",%s", pairs.items[i].value);
			continue;
		}
		bytes_format(out, NULL, "%s%s:%s", i ? "\n" : "", pairs.items[i].name,
			     pairs.items[i].value);
		bytes_format(names, NULL, "%s%s", i ? ";" : "", pairs.items[i].name);
	}
	add_text(out, "\n");
}

static void make_canonical(const struct sigv4_request *request, const char *date,
			   struct bytes *canonical, struct bytes *names)
{
	bytes_format(canonical, NULL, "%s\n%s\n", request->method, request->path);
	add_query(canonical, request->query);
	add_text(canonical, "\n");
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
