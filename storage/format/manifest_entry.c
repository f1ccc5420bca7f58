#include "manifest_entry.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "safe_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST ((uint64_t)1 << 62)
#define CHUNK_FIELDS 5 /* and a checksum, in what this version writes */

static const char *const type_names[] = {
	[ENTRY_FILE] = "file",
	[ENTRY_DIRECTORY] = "directory",
	[ENTRY_SYMLINK] = "symlink",
	[ENTRY_HARDLINK] = "hardlink",
};

/* --- encode --- */

/* Paths are bytes, but JSON strings are UTF-8: anything else is stored as `<name>_base64`. */
static void set_bytes(json_t *item, const char *name, const char *value)
{
	json_t *text = json_string(value);
	auto_free char *other = NULL;
	auto_free char *encoded = NULL;

	if (text) {
		json_object_set_new(item, name, text);
		return;
	}
	other = text_format("%s_base64", name);
	encoded = base64_encode(value, strlen(value));
	json_object_set_new(item, other, json_string(encoded));
}

/* In hexadecimal: numbers of JSON have 63 bits. */
static void encode_checksum(json_t *item, uint64_t checksum)
{
	char text[17];

	if (checksum == CHECKSUM_NONE)
		return;
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)checksum);
	json_array_append_new(item, json_string(text));
}

json_t *manifest_chunk_encode(const struct chunk *chunk)
{
	char hex[2 * DIGEST_SIZE + 1];
	json_t *item;

	if (chunk->codec == CHUNK_ZERO)
		return json_pack("[s]", chunk_codec_name(CHUNK_ZERO));
	text_hex(chunk->digest, DIGEST_SIZE, hex);
	item = json_pack("[I, I, I, s, s]", (json_int_t)chunk->pack, (json_int_t)chunk->offset,
			 (json_int_t)chunk->stored, chunk_codec_name(chunk->codec), hex);
	encode_checksum(item, chunk->checksum);
	return item;
}

static void encode_content(json_t *item, const struct entry *entry, struct entry_part part)
{
	json_t *chunks = json_array();
	uint64_t before = (uint64_t)part.first * CHUNK_SIZE, size = entry->size - before;

	/* A part that more follows has whole chunks, however long the file is. */
	if (part.first > 0 && part.count < chunk_count(size))
		size = (uint64_t)part.count * CHUNK_SIZE;
	for (size_t i = 0; i < part.count; i++)
		json_array_append_new(chunks, manifest_chunk_encode(&entry->chunks[i]));
	json_object_set_new(item, "size", json_integer((json_int_t)size));
	json_object_set_new(item, "chunks", chunks);
	if (entry->running && part.first == 0)
		json_object_set_new(item, "running", json_true());
}

/* Names of attributes are bytes, too. */
static void encode_xattrs(json_t *item, const struct entry *entry)
{
	auto_json json_t *xattrs = json_object();
	auto_json json_t *others = json_object();

	for (size_t i = 0; i < entry->xattr_count; i++) {
		const struct entry_xattr *xattr = &entry->xattrs[i];
		auto_free char *value = base64_encode(xattr->value.data, xattr->value.size);
		auto_free char *name = base64_encode(xattr->name, strlen(xattr->name));

		if (json_object_set_new(xattrs, xattr->name, json_string(value)) < 0)
			json_object_set_new(others, name, json_string(value));
	}
	if (json_object_size(xattrs))
		json_object_set(item, "xattrs", xattrs);
	if (json_object_size(others))
		json_object_set(item, "xattrs_base64", others);
}

static struct entry_part whole_entry(const struct entry *entry)
{
	size_t count = entry->type == ENTRY_FILE ? chunk_count(entry->size) : 0;

	return (struct entry_part){.count = count};
}

json_t *manifest_entry_encode(const struct entry *entry)
{
	return manifest_entry_encode_part(entry, whole_entry(entry));
}

json_t *manifest_entry_encode_part(const struct entry *entry, struct entry_part part)
{
	json_t *item = json_object();

	set_bytes(item, "path", entry->path);
	if (part.first > 0) {
		json_object_set_new(item, "from", json_integer((json_int_t)part.first));
		encode_content(item, entry, part);
		return item;
	}
	json_object_set_new(item, "type", json_string(type_names[entry->type]));
	if (entry->type == ENTRY_SYMLINK || entry->type == ENTRY_HARDLINK)
		set_bytes(item, "target", entry->target);
	/* A hard link has no metadata of its own. */
	if (entry->type == ENTRY_HARDLINK)
		return item;
	json_object_set_new(item, "mode", json_integer(entry->mode));
	json_object_set_new(item, "mtime",
			    json_pack("[I, I]", (json_int_t)entry->mtime_s,
				      (json_int_t)entry->mtime_ns));
	if (entry->type == ENTRY_FILE)
		encode_content(item, entry, part);
	if (entry->xattr_count)
		encode_xattrs(item, entry);
	return item;
}

/* --- decode --- */

/* A name that is base64 of its bytes. */
static int decode_bytes(const char *encoded, char **value)
{
	auto_(bytes_release) struct bytes decoded = {0};

	if (!base64_decode(encoded, &decoded) || memchr(decoded.data, '\0', decoded.size))
		return -1;
	*value = text_copy((char *)decoded.data);
	return 0;
}

static int get_bytes(json_t *item, const char *name, char **value, struct err *err)
{
	auto_free char *other = text_format("%s_base64", name);
	json_t *encoded = json_object_get(item, other);
	const char *text;

	if (!encoded) {
		if (json_get_text(item, name, &text, err) < 0)
			return -1;
		*value = text_copy(text);
		return 0;
	}
	if (!json_is_string(encoded) || decode_bytes(json_string_value(encoded), value) < 0)
		return err_set(err, ERR_CORRUPT, "\"%s\" is not a base64 name", other);
	return 0;
}

static bool get_u32(json_t *array, size_t index, uint64_t most, uint32_t *value)
{
	json_t *member = json_array_get(array, index);
	json_int_t number = json_integer_value(member);

	if (!json_is_integer(member) || number < 0 || (uint64_t)number > most)
		return false;
	*value = (uint32_t)number;
	return true;
}

static bool payload_fits(const struct chunk *chunk, size_t raw_size)
{
	return chunk->codec == CHUNK_RAW ? chunk->stored == raw_size
					 : chunk->stored > 0 && chunk->stored < raw_size;
}

/* May be missing. */
static bool decode_checksum(json_t *item, uint64_t *checksum)
{
	const char *text = json_string_value(json_array_get(item, CHUNK_FIELDS));
	uint8_t bytes[sizeof(*checksum)];

	*checksum = CHECKSUM_NONE;
	if (json_array_size(item) == CHUNK_FIELDS)
		return true;
	if (json_array_size(item) != CHUNK_FIELDS + 1 || !text ||
	    !text_unhex(text, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*checksum = *checksum << 8 | bytes[i];
	return true;
}

int manifest_chunk_decode(json_t *item, size_t raw_size, const struct manifest_pack *packs,
			  size_t pack_count, struct chunk *chunk, struct err *err)
{
	const char *digest = json_string_value(json_array_get(item, 4));

	if (json_array_size(item) == 1 &&
	    text_equal(json_string_value(json_array_get(item, 0)), "zero")) {
		chunk->codec = CHUNK_ZERO;
		return 0;
	}
	if (!decode_checksum(item, &chunk->checksum) ||
	    !get_u32(item, 0, UINT32_MAX, &chunk->pack) ||
	    !get_u32(item, 1, UINT32_MAX, &chunk->offset) ||
	    !get_u32(item, 2, UINT32_MAX, &chunk->stored) ||
	    !chunk_codec_parse(json_string_value(json_array_get(item, 3)), &chunk->codec) ||
	    chunk->codec == CHUNK_ZERO || !digest ||
	    !text_unhex(digest, chunk->digest, DIGEST_SIZE))
		return err_set(err, ERR_CORRUPT, "malformed");
	if (chunk->pack >= pack_count)
		return err_set(err, ERR_CORRUPT,
			       "chunk refers to pack %u, but the manifest lists %zu", chunk->pack,
			       pack_count);
	if ((uint64_t)chunk->offset + chunk->stored > packs[chunk->pack].bytes)
		return err_set(err, ERR_CORRUPT, "is beyond the end of its pack");
	if (!payload_fits(chunk, raw_size))
		return err_set(err, ERR_CORRUPT, "has an impossible size");
	return 0;
}

static int decode_content(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct entry_part *part, struct err *err)
{
	json_t *chunks, *chunk;
	size_t i;

	if (json_get_u64(item, "size", SIZE_MOST, &entry->size, err) < 0 ||
	    json_get_array(item, "chunks", &chunks, err) < 0)
		return -1;
	entry->running = json_is_true(json_object_get(item, "running"));
	part->count = json_array_size(chunks);
	if (part->count > chunk_count(entry->size) ||
	    (part->first > 0 && part->count < chunk_count(entry->size)))
		return err_set(err, ERR_CORRUPT, "%zu chunks for %llu bytes", part->count,
			       (unsigned long long)entry->size);
	entry->chunks = memory_new(part->count * sizeof(*entry->chunks));
	json_array_foreach(chunks, i, chunk)
	{
		if (manifest_chunk_decode(chunk, chunk_length(entry->size, i), packs, pack_count,
					  &entry->chunks[i], err) < 0)
			return err_wrap(err, "chunk %zu", i);
	}
	return 0;
}

/* Moves `name` into the attribute. Anyone may set user.* attributes; the others carry privileges.
 */
static int decode_xattr(char **name, json_t *value, struct entry *entry, struct err *err)
{
	struct entry_xattr *xattr = &entry->xattrs[entry->xattr_count++];

	xattr->name = steal(name);
	if (!text_starts(xattr->name, "user.") || !json_is_string(value) ||
	    !base64_decode(json_string_value(value), &xattr->value))
		return err_set(err, ERR_CORRUPT, "malformed attribute \"%s\"", xattr->name);
	return 0;
}

static int decode_xattr_table(json_t *table, bool encoded, struct entry *entry, struct err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(table, key, value)
	{
		auto_free char *name = NULL;

		if (!encoded)
			name = text_copy(key);
		else if (decode_bytes(key, &name) < 0)
			return err_set(err, ERR_CORRUPT, "malformed attribute \"%s\"", key);
		if (decode_xattr(&name, value, entry, err) < 0)
			return -1;
	}
	return 0;
}

static int decode_xattrs(json_t *item, struct entry *entry, struct err *err)
{
	json_t *plain = json_object_get(item, "xattrs");
	json_t *others = json_object_get(item, "xattrs_base64");

	if ((plain && !json_is_object(plain)) || (others && !json_is_object(others)))
		return err_set(err, ERR_CORRUPT, "\"xattrs\" is not an object");
	entry->xattrs = memory_new(
		(json_object_size(plain) + json_object_size(others)) * sizeof(*entry->xattrs));
	return decode_xattr_table(plain, false, entry, err) < 0
		       ? -1
		       : decode_xattr_table(others, true, entry, err);
}

static int decode_metadata(json_t *item, struct entry *entry, struct err *err)
{
	json_t *mtime = json_object_get(item, "mtime"), *seconds = json_array_get(mtime, 0);
	uint64_t mode;

	if (json_get_u64(item, "mode", 07777, &mode, err) < 0)
		return -1;
	if (json_array_size(mtime) != 2 || !json_is_integer(seconds) ||
	    !get_u32(mtime, 1, 999999999, &entry->mtime_ns))
		return err_set(err, ERR_CORRUPT, "\"mtime\" is not a time");
	entry->mode = (uint32_t)mode;
	entry->mtime_s = json_integer_value(seconds);
	return decode_xattrs(item, entry, err);
}

static int decode_type(json_t *item, enum entry_type *type, struct err *err)
{
	const char *name;

	if (json_get_text(item, "type", &name, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
		if (strcmp(name, type_names[i]) != 0)
			continue;
		*type = (enum entry_type)i;
		return 0;
	}
	return err_set(err, ERR_CORRUPT, "unknown type \"%s\"", name);
}

static int decode_target(json_t *item, struct entry *entry, struct err *err)
{
	if (get_bytes(item, "target", &entry->target, err) < 0)
		return -1;
	if (entry->type == ENTRY_SYMLINK && !safe_path_target_is_valid(entry->path, entry->target))
		return err_set(err, ERR_CORRUPT, "the link leads out of the directory, to \"%s\"",
			       entry->target);
	return 0;
}

static int decode_by_type(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct entry_part *part, struct err *err)
{
	switch (entry->type) {
	case ENTRY_HARDLINK:
		return decode_target(item, entry, err);
	case ENTRY_SYMLINK:
		return decode_target(item, entry, err) < 0 ? -1 : decode_metadata(item, entry, err);
	case ENTRY_DIRECTORY:
		return decode_metadata(item, entry, err);
	case ENTRY_FILE:
		break;
	}
	if (decode_metadata(item, entry, err) < 0)
		return -1;
	return decode_content(item, packs, pack_count, entry, part, err);
}

/* A later part of a file: `from` is more than 0. */
static int decode_from(json_t *item, struct entry_part *part, struct err *err)
{
	uint64_t first;

	if (json_get_u64(item, "from", SIZE_MOST / CHUNK_SIZE, &first, err) < 0)
		return -1;
	part->first = (size_t)first;
	return first > 0 ? 0 : err_set(err, ERR_CORRUPT, "a later part is from 0 on");
}

int manifest_entry_decode_part(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			       struct entry *entry, struct entry_part *part, struct err *err)
{
	bool later = json_object_get(item, "from") != NULL;

	*part = (struct entry_part){0};
	if (get_bytes(item, "path", &entry->path, err) < 0)
		return -1;
	if (!safe_path_is_valid(entry->path))
		return err_set(err, ERR_CORRUPT, "\"%s\" is not a path inside the directory",
			       entry->path);
	if (later) {
		entry->type = ENTRY_FILE;
		if (decode_from(item, part, err) == 0 &&
		    decode_content(item, packs, pack_count, entry, part, err) == 0)
			return 0;
	} else if (decode_type(item, &entry->type, err) == 0 &&
		   decode_by_type(item, packs, pack_count, entry, part, err) == 0) {
		return 0;
	}
	return err_wrap(err, "\"%s\"", entry->path);
}

int manifest_entry_decode(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			  struct entry *entry, struct err *err)
{
	struct entry_part part;

	if (manifest_entry_decode_part(item, packs, pack_count, entry, &part, err) < 0)
		return -1;
	if (part.first > 0 || part.count != whole_entry(entry).count)
		return err_set(err, ERR_CORRUPT, "\"%s\": %zu chunks for %llu bytes", entry->path,
			       part.count, (unsigned long long)entry->size);
	return 0;
}
