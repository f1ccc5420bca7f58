#include "record.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MOST 512

static const char *const kind_names[] = {
	[RECORD_FORMAT] = "format", [RECORD_ATTEMPT] = "attempt",
	[RECORD_END] = "end",       [RECORD_SNAPSHOT] = "snapshot",
	[RECORD_PIN] = "pin",       [RECORD_DRAIN] = "draining",
	[RECORD_SWEPT] = "swept",   [RECORD_CONFIRMED] = "confirmed",
	[RECORD_JOIN] = "join",     [RECORD_PART] = "part",
	[RECORD_EVENT] = "event",
};

#define SMALL_MOST ((size_t)1 << 20)
#define MANIFEST_BASE ((size_t)64 << 20)
#define MEMORY_DEFAULT ((uint64_t)256 << 20)
#define MEMORY_MOST ((uint64_t)1 << 34)

size_t record_manifest_most(uint64_t memory_bytes)
{
	uint64_t memory = memory_bytes ? memory_bytes : MEMORY_DEFAULT;

	return MANIFEST_BASE + (size_t)(memory < MEMORY_MOST ? memory : MEMORY_MOST);
}

size_t record_size_most(enum record_kind kind, size_t manifest_most)
{
	if (kind != RECORD_SNAPSHOT && kind != RECORD_PART)
		return SMALL_MOST;
	return manifest_most ? manifest_most : record_manifest_most(0);
}

static void sha256_hex(const void *data, size_t size, char *hex)
{
	uint8_t digest[DIGEST_SIZE];

	digest_sha256(data, size, digest);
	text_hex(digest, sizeof(digest), hex);
}

int record_encode(enum record_kind kind, json_t *body, struct bytes *out, struct err *err)
{
	auto_free char *text = json_dumps(body, JSON_COMPACT);
	char hex[2 * DIGEST_SIZE + 1];
	size_t size;

	if (!text)
		return err_set(err, ERR_FAILED, "cannot write the %s record as JSON",
			       kind_names[kind]);
	size = strlen(text);
	sha256_hex(text, size, hex);
	if (bytes_format(out, err,
			 "{\"reprieve\":\"%s\",\"version\":%d,\"bytes\":%zu,\"sha256\":\"%s\"}\n",
			 kind_names[kind], RECORD_VERSION, size, hex) < 0)
		return -1;
	return bytes_append(out, text, size, err);
}

static int check_header(json_t *header, enum record_kind kind, const char *body, size_t body_size,
			struct err *err)
{
	const char *name, *digest;
	uint64_t version, size;
	char hex[2 * DIGEST_SIZE + 1];

	if (json_get_text(header, "reprieve", &name, err) < 0 ||
	    json_get_u64(header, "version", INT_MAX, &version, err) < 0)
		return -1;
	if (version > RECORD_VERSION)
		return err_set(err, ERR_VERSION,
			       "written by a newer version of Reprieve (format %llu, this one "
			       "reads format %d): upgrade Reprieve here",
			       (unsigned long long)version, RECORD_VERSION);
	if (version > 0 && version < RECORD_VERSION)
		return err_set(err, ERR_VERSION,
			       "written by an older Reprieve (format %llu; this one reads %d): use "
			       "another store, or the Reprieve that wrote it",
			       (unsigned long long)version, RECORD_VERSION);
	if (version == 0 || strcmp(name, kind_names[kind]) != 0)
		return err_set(err, ERR_CORRUPT,
			       "a \"%s\" record of version %llu instead of \"%s\"", name,
			       (unsigned long long)version, kind_names[kind]);
	if (json_get_u64(header, "bytes", INT64_MAX, &size, err) < 0 ||
	    json_get_text(header, "sha256", &digest, err) < 0)
		return -1;
	if (size != body_size)
		return err_set(err, ERR_CORRUPT, "%zu bytes instead of %llu", body_size,
			       (unsigned long long)size);
	sha256_hex(body, body_size, hex);
	if (strcmp(hex, digest) != 0)
		return err_set(err, ERR_CORRUPT, "the digest does not match");
	return 0;
}

int record_decode(enum record_kind kind, const void *data, size_t size, json_t **body,
		  struct err *err)
{
	const char *text = data;
	const char *end = size ? memchr(text, '\n', size < HEADER_MOST ? size : HEADER_MOST) : NULL;
	auto_json json_t *header = NULL;
	size_t body_size;

	if (!end)
		return err_set(err, ERR_CORRUPT, "no header line");
	header = json_parse(text, (size_t)(end - text), err);
	if (!header)
		return err_wrap(err, "header");
	body_size = size - (size_t)(end + 1 - text);
	if (check_header(header, kind, end + 1, body_size, err) < 0)
		return -1;
	*body = json_parse(end + 1, body_size, err);
	if (!*body)
		return -1;
	if (!json_is_object(*body)) {
		json_decref(*body);
		*body = NULL;
		return err_set(err, ERR_CORRUPT, "the body is not an object");
	}
	return 0;
}
