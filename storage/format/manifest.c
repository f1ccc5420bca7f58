#include "manifest.h"

#include "base/digest.h"
#include "base/json.h"
#include "safe_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Encodes and decodes one entry of a manifest, and one chunk. */

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
static json_t *encode_u64(uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
	return json_string(text);
}

/* `pack` is written as it is. The caller decrefs. */
static json_t *manifest_chunk_encode(const struct chunk *chunk)
{
	char hex[2 * DIGEST_SIZE + 1];
	json_t *item;

	if (chunk->codec == CHUNK_ZERO)
		return json_pack("[s]", chunk_codec_name(CHUNK_ZERO));
	text_hex(chunk->digest, DIGEST_SIZE, hex);
	item = json_pack("[I, I, I, s, s]", (json_int_t)chunk->pack, (json_int_t)chunk->offset,
			 (json_int_t)chunk->stored, chunk_codec_name(chunk->codec), hex);
	if (chunk->checksum != CHECKSUM_NONE)
		json_array_append_new(item, encode_u64(chunk->checksum));
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
	if (entry->stamp && part.first == 0)
		json_object_set_new(item, "stamp", encode_u64(entry->stamp));
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

static int get_number(json_t *object, const char *name, uint64_t most, uint32_t *value,
		      struct err *err)
{
	uint64_t number;

	if (json_get_u64(object, name, most, &number, err) < 0)
		return -1;
	*value = (uint32_t)number;
	return 0;
}

static bool payload_fits(const struct chunk *chunk, size_t raw_size)
{
	return chunk->codec == CHUNK_RAW ? chunk->stored == raw_size
					 : chunk->stored > 0 && chunk->stored < raw_size;
}

/* Missing (NULL): 0. */
static bool decode_u64(const json_t *item, uint64_t *value)
{
	const char *text = json_string_value(item);
	uint8_t bytes[sizeof(*value)];

	*value = 0;
	if (!item)
		return true;
	if (!text || !text_unhex(text, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*value = *value << 8 | bytes[i];
	return true;
}

/* Checks that the chunk, of `raw_size` bytes, is inside one of the packs. ERR_CORRUPT. */
static int manifest_chunk_decode(json_t *item, size_t raw_size, const struct manifest_pack *packs,
				 size_t pack_count, struct chunk *chunk, struct err *err)
{
	const char *digest = json_string_value(json_array_get(item, 4));

	if (json_array_size(item) == 1 &&
	    text_equal(json_string_value(json_array_get(item, 0)), "zero")) {
		chunk->codec = CHUNK_ZERO;
		return 0;
	}
	if (json_array_size(item) > CHUNK_FIELDS + 1 ||
	    !decode_u64(json_array_get(item, CHUNK_FIELDS), &chunk->checksum) ||
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
	if (!decode_u64(json_object_get(item, "stamp"), &entry->stamp))
		return err_set(err, ERR_CORRUPT, "its stamp is malformed");
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

	if (get_number(item, "mode", 07777, &entry->mode, err) < 0)
		return -1;
	if (json_array_size(mtime) != 2 || !json_is_integer(seconds) ||
	    !get_u32(mtime, 1, 999999999, &entry->mtime_ns))
		return err_set(err, ERR_CORRUPT, "\"mtime\" is not a time");
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

/*
 * Checks what one entry alone can show: names, targets, sizes, and that chunks are inside their
 * packs. Even on failure the caller frees *entry with entry_release(). ERR_CORRUPT names what is
 * wrong.
 */
static int manifest_entry_decode(json_t *item, const struct manifest_pack *packs, size_t pack_count,
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

void entry_release(struct entry *entry)
{
	for (size_t i = 0; i < entry->xattr_count; i++) {
		free(entry->xattrs[i].name);
		bytes_release(&entry->xattrs[i].value);
	}
	free(entry->xattrs);
	free(entry->path);
	free(entry->target);
	free(entry->chunks);
	*entry = (struct entry){0};
}

void entry_copy(const struct entry *from, struct entry *to)
{
	size_t count = from->type == ENTRY_FILE ? chunk_count(from->size) : 0;
	char *path = to->path;

	*to = *from;
	to->path = path;
	to->target = from->target ? text_copy(from->target) : NULL;
	to->chunks = memory_new((count + 1) * sizeof(*to->chunks));
	if (count > 0)
		memcpy(to->chunks, from->chunks, count * sizeof(*to->chunks));
	to->xattrs = memory_new((from->xattr_count + 1) * sizeof(*to->xattrs));
	for (size_t i = 0; i < from->xattr_count; i++) {
		const struct bytes *value = &from->xattrs[i].value;

		to->xattrs[i].name = text_copy(from->xattrs[i].name);
		(void)bytes_append(&to->xattrs[i].value, value->data, value->size, NULL);
	}
}

void manifest_release(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->entry_count; i++)
		entry_release(&manifest->entries[i]);
	for (size_t i = 0; i < manifest->pack_count; i++)
		free(manifest->packs[i].key);
	for (size_t i = 0; i < manifest->part_count; i++)
		json_decref(manifest->parts[i].about);
	free(manifest->parts);
	free(manifest->entries);
	free(manifest->pieces);
	free(manifest->packs);
	free(manifest->job);
	json_decref(manifest->about);
	*manifest = (struct manifest){0};
}

static int compare_paths(const void *a, const void *b)
{
	const struct entry *first = a, *second = b;

	return strcmp(first->path, second->path);
}

const struct entry *manifest_find(const struct manifest *manifest, const char *path)
{
	struct entry wanted = {.path = (char *)path};

	if (manifest->entry_count == 0)
		return NULL;
	return bsearch(&wanted, manifest->entries, manifest->entry_count, sizeof(wanted),
		       compare_paths);
}

/* --- encode --- */

static json_t *encode_id(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return snapshot_id_is_none(id) ? json_null() : json_string(snapshot_id_format(id, text));
}

static json_t *encode_packs(const struct manifest *manifest)
{
	json_t *packs = json_array();

	for (size_t i = 0; i < manifest->pack_count; i++)
		json_array_append_new(packs,
				      json_pack("{s:s, s:I}", "key", manifest->packs[i].key,
						"bytes", (json_int_t)manifest->packs[i].bytes));
	return packs;
}

json_t *manifest_encode_entries(const struct manifest *manifest)
{
	json_t *entries = json_array();

	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		json_array_append_new(entries,
				      manifest_entry_encode_part(entry, whole_entry(entry)));
	}
	return entries;
}

static json_t *encode_pieces(const struct manifest *manifest)
{
	json_t *pieces = json_array();

	for (size_t i = 0; i < manifest->piece_count; i++)
		json_array_append_new(pieces,
				      json_pack("{s:I, s:o}", "size",
						(json_int_t)manifest->pieces[i].size, "chunk",
						manifest_chunk_encode(&manifest->pieces[i].chunk)));
	return pieces;
}

static json_t *encode_parts(const struct manifest *manifest)
{
	json_t *parts = json_array(), *item;

	for (size_t i = 0; i < manifest->part_count; i++) {
		const struct manifest_part *part = &manifest->parts[i];

		item = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "member",
				 (json_int_t)part->member, "nonce", part->nonce, "host", part->host,
				 "pieces", (json_int_t)part->pieces, "files",
				 (json_int_t)part->files, "left_out", (json_int_t)part->left_out,
				 "bytes", (json_int_t)part->bytes, "directory_mode",
				 (json_int_t)part->directory_mode, "checkpoint",
				 !part->without_checkpoint, "about",
				 part->about ? json_incref(part->about) : json_object());
		if (part->kept)
			json_object_set_new(item, "keeper", json_integer(part->keeper));
		if (part->gone)
			json_object_set_new(item, "gone", json_true());
		json_array_append_new(parts, item);
	}
	return parts;
}

json_t *manifest_encode(const struct manifest *manifest, struct err *err)
{
	bool apart = manifest->piece_count > 0;
	json_t *about = manifest->about ? json_incref(manifest->about) : json_object();
	json_t *body;

	body = json_pack("{s:o, s:s, s:I, s:I, s:s, s:s, s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:I, "
			 "s:I, s:o, s:o, s:o}",
			 "id", encode_id(manifest->id), "job", manifest->job, "attempt",
			 (json_int_t)manifest->id.attempt, "sequence",
			 (json_int_t)manifest->id.sequence, "nonce", manifest->nonce, "created",
			 manifest->created, "host", manifest->host, "parent",
			 encode_id(manifest->parent), "reason", manifest->reason, "step",
			 manifest->step < 0 ? json_null() : json_integer(manifest->step),
			 "directory_mode", (json_int_t)manifest->directory_mode, "files",
			 (json_int_t)manifest->files, "left_out", (json_int_t)manifest->left_out,
			 "bytes", (json_int_t)manifest->bytes, "bytes_stored",
			 (json_int_t)manifest->bytes_stored, "about", about, "packs",
			 encode_packs(manifest), apart ? "pieces" : "entries",
			 apart ? encode_pieces(manifest) : manifest_encode_entries(manifest));
	if (!body)
		err_set(err, ERR_FAILED, "cannot write the manifest as JSON");
	else if (manifest->part_count > 0)
		json_object_set_new(body, "parts", encode_parts(manifest));
	return body;
}

/* --- decode --- */

static bool pack_key_is_safe(const char *key)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";

	return text_starts(key, "packs/") && text_ends(key, ".pack") && strlen(key) < 512 &&
	       key[strspn(key, allowed)] == '\0' && safe_path_is_valid(key);
}

static int decode_packs(json_t *body, struct manifest *manifest, struct err *err)
{
	json_t *packs, *item;
	size_t i;

	if (json_get_array(body, "packs", &packs, err) < 0)
		return -1;
	manifest->packs = memory_new(json_array_size(packs) * sizeof(*manifest->packs));
	json_array_foreach(packs, i, item)
	{
		struct manifest_pack *pack = &manifest->packs[i];
		const char *key;

		if (json_get_text(item, "key", &key, err) < 0 ||
		    json_get_u64(item, "bytes", UINT32_MAX, &pack->bytes, err) < 0)
			return err_wrap(err, "pack %zu", i);
		if (!pack_key_is_safe(key))
			return err_set(err, ERR_CORRUPT, "pack %zu: \"%s\" is not a pack's key", i,
				       key);
		pack->key = text_copy(key);
		manifest->pack_count = i + 1;
	}
	return 0;
}

static int decode_id(json_t *body, const char *name, struct snapshot_id *id, struct err *err)
{
	json_t *member = json_object_get(body, name);

	*id = (struct snapshot_id){0};
	if (json_is_null(member))
		return 0;
	if (!json_is_string(member) || !snapshot_id_parse(json_string_value(member), id))
		return err_set(err, ERR_CORRUPT, "\"%s\" is not a snapshot id", name);
	return 0;
}

static int decode_header(json_t *body, const char *job, struct snapshot_id id,
			 struct manifest *manifest, struct err *err)
{
	const char *name, *nonce;
	uint32_t attempt, sequence;

	if (decode_id(body, "id", &manifest->id, err) < 0 ||
	    decode_id(body, "parent", &manifest->parent, err) < 0 ||
	    json_get_text(body, "job", &name, err) < 0 ||
	    json_get_text(body, "nonce", &nonce, err) < 0 ||
	    get_number(body, "attempt", UINT32_MAX, &attempt, err) < 0 ||
	    get_number(body, "sequence", UINT32_MAX, &sequence, err) < 0 ||
	    get_number(body, "files", UINT32_MAX, &manifest->files, err) < 0 ||
	    get_number(body, "left_out", UINT32_MAX, &manifest->left_out, err) < 0 ||
	    get_number(body, "directory_mode", 07777, &manifest->directory_mode, err) < 0 ||
	    json_get_u64(body, "bytes", SIZE_MOST, &manifest->bytes, err) < 0 ||
	    json_get_u64(body, "bytes_stored", SIZE_MOST, &manifest->bytes_stored, err) < 0)
		return -1;
	if (snapshot_id_compare(manifest->id, id) != 0 || attempt != id.attempt ||
	    sequence != id.sequence)
		return err_set(err, ERR_CORRUPT, "its id is that of another snapshot");
	if (strcmp(name, job) != 0)
		return err_set(err, ERR_CORRUPT, "it belongs to another job");
	manifest->job = text_copy(name);
	text_set(manifest->nonce, sizeof(manifest->nonce), nonce);
	text_set(manifest->created, sizeof(manifest->created), json_text_or(body, "created", ""));
	text_set(manifest->host, sizeof(manifest->host), json_text_or(body, "host", ""));
	text_set(manifest->reason, sizeof(manifest->reason), json_text_or(body, "reason", ""));
	manifest->step = json_number_or(body, "step", -1);
	manifest->about = json_incref(json_object_get(body, "about"));
	return 0;
}

/* Every parent of an entry that the manifest names must be a directory. */
static int check_parents(const struct manifest *manifest, const struct entry *entry,
			 struct err *err)
{
	auto_free char *path = text_copy(entry->path);

	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		const struct entry *parent;

		*slash = '\0';
		parent = manifest_find(manifest, path);
		if (parent && parent->type != ENTRY_DIRECTORY)
			return err_set(err, ERR_CORRUPT, "its parent \"%s\" is not a directory",
				       path);
	}
	return 0;
}

static int check_hardlink(const struct manifest *manifest, const struct entry *entry,
			  struct err *err)
{
	const struct entry *file = manifest_find(manifest, entry->target);

	if (!file || file->type != ENTRY_FILE || strcmp(file->path, entry->path) >= 0)
		return err_set(err, ERR_CORRUPT,
			       "a hard link to \"%s\", which is not an earlier file",
			       entry->target);
	return 0;
}

/* Once the order is known to hold, manifest_find() works. */
static int check_order(const struct manifest *manifest, struct err *err)
{
	for (size_t i = 1; i < manifest->entry_count; i++)
		if (compare_paths(&manifest->entries[i - 1], &manifest->entries[i]) >= 0)
			return err_set(err, ERR_CORRUPT,
				       "entry %zu: \"%s\" is repeated or out of order", i,
				       manifest->entries[i].path);
	return 0;
}

int manifest_check_entries(const struct manifest *manifest, struct err *err)
{
	uint64_t bytes = 0;
	uint32_t files = 0;

	if (check_order(manifest, err) < 0)
		return -1;
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		if (check_parents(manifest, entry, err) < 0 ||
		    (entry->type == ENTRY_HARDLINK && check_hardlink(manifest, entry, err) < 0))
			return err_wrap(err, "\"%s\"", entry->path);
		if (entry->type != ENTRY_FILE)
			continue;
		files++;
		if (entry->size > SIZE_MOST - bytes)
			return err_set(err, ERR_CORRUPT, "the files' sizes are impossible");
		bytes += entry->size;
	}
	if (files != manifest->files || bytes != manifest->bytes)
		return err_set(err, ERR_CORRUPT, "the number or size of the files is wrong");
	return 0;
}

static int decode_entries(json_t *body, struct manifest *manifest, struct err *err)
{
	json_t *entries, *item;
	size_t i;

	if (json_get_array(body, "entries", &entries, err) < 0)
		return -1;
	manifest->entries = memory_new(json_array_size(entries) * sizeof(*manifest->entries));
	json_array_foreach(entries, i, item)
	{
		manifest->entry_count = i + 1;
		if (manifest_entry_decode(item, manifest->packs, manifest->pack_count,
					  &manifest->entries[i], err) < 0)
			return err_wrap(err, "entry %zu", i);
	}
	return manifest_check_entries(manifest, err);
}

static int compare_places(const void *a, const void *b)
{
	const struct chunk *first = &((const struct manifest_piece *)a)->chunk;
	const struct chunk *second = &((const struct manifest_piece *)b)->chunk;

	if (first->pack != second->pack)
		return first->pack < second->pack ? -1 : 1;
	return (first->offset > second->offset) - (first->offset < second->offset);
}

/* A small manifest that names one piece a million times would fill any memory. */
static int check_pieces_distinct(const struct manifest *manifest, struct err *err)
{
	size_t size = manifest->piece_count * sizeof(*manifest->pieces);
	auto_free struct manifest_piece *sorted = memory_new(size);

	memcpy(sorted, manifest->pieces, size);
	qsort(sorted, manifest->piece_count, sizeof(*sorted), compare_places);
	for (size_t i = 1; i < manifest->piece_count; i++)
		if (compare_places(&sorted[i - 1], &sorted[i]) == 0)
			return err_set(err, ERR_CORRUPT, "a piece is named twice");
	return 0;
}

static int decode_piece(json_t *item, struct manifest *manifest, struct manifest_piece *piece,
			struct err *err)
{
	json_t *chunk;

	if (get_number(item, "size", CHUNK_SIZE, &piece->size, err) < 0 ||
	    json_get_array(item, "chunk", &chunk, err) < 0 ||
	    manifest_chunk_decode(chunk, piece->size, manifest->packs, manifest->pack_count,
				  &piece->chunk, err) < 0)
		return -1;
	if (piece->chunk.codec == CHUNK_ZERO)
		return err_set(err, ERR_CORRUPT, "it is empty");
	return 0;
}

static int decode_pieces(json_t *body, struct manifest *manifest, struct err *err)
{
	json_t *pieces, *item;
	size_t i;

	if (json_get_array(body, "pieces", &pieces, err) < 0)
		return -1;
	if (json_object_get(body, "entries") || json_array_size(pieces) == 0)
		return err_set(err, ERR_CORRUPT, "both entries and pieces, or neither");
	/* The pieces name packs by their keys, which are looked up. */
	for (i = 1; i < manifest->pack_count; i++)
		if (strcmp(manifest->packs[i - 1].key, manifest->packs[i].key) >= 0)
			return err_set(err, ERR_CORRUPT, "pack %zu: it is repeated or out of order",
				       i);
	manifest->pieces = memory_new(json_array_size(pieces) * sizeof(*manifest->pieces));
	json_array_foreach(pieces, i, item)
	{
		manifest->piece_count = i + 1;
		if (decode_piece(item, manifest, &manifest->pieces[i], err) < 0)
			return err_wrap(err, "piece %zu", i);
	}
	return check_pieces_distinct(manifest, err);
}

static int decode_part(json_t *item, struct manifest_part *part, struct err *err)
{
	const char *nonce;

	if (get_number(item, "member", UINT32_MAX, &part->member, err) < 0 ||
	    json_get_text(item, "nonce", &nonce, err) < 0 ||
	    get_number(item, "pieces", UINT32_MAX, &part->pieces, err) < 0 ||
	    get_number(item, "files", UINT32_MAX, &part->files, err) < 0 ||
	    get_number(item, "left_out", UINT32_MAX, &part->left_out, err) < 0 ||
	    json_get_u64(item, "bytes", SIZE_MOST, &part->bytes, err) < 0 ||
	    get_number(item, "directory_mode", 07777, &part->directory_mode, err) < 0)
		return -1;
	text_set(part->nonce, sizeof(part->nonce), nonce);
	text_set(part->host, sizeof(part->host), json_text_or(item, "host", ""));
	part->about = json_incref(json_object_get(item, "about"));
	part->kept = json_object_get(item, "keeper") != NULL;
	if (part->kept && get_number(item, "keeper", UINT32_MAX, &part->keeper, err) < 0)
		return -1;
	part->gone = json_true_or(item, "gone", false);
	if (part->gone && (part->pieces > 0 || part->kept))
		return err_set(err, ERR_CORRUPT, "a member that had gone has a part");
	part->without_checkpoint =
		(part->pieces == 0 && !part->kept) || !json_true_or(item, "checkpoint", true);
	return 0;
}

/* Only what is in no other part is in that of its keeper. */
static int check_keepers(const struct manifest *manifest, struct err *err)
{
	for (size_t i = 0; i < manifest->part_count; i++) {
		const struct manifest_part *part = &manifest->parts[i];

		if (part->kept &&
		    (part->pieces > 0 || part->keeper >= manifest->part_count ||
		     manifest->parts[part->keeper].kept || manifest->parts[part->keeper].gone))
			return err_set(err, ERR_CORRUPT, "the keeper of part %zu makes no sense",
				       i);
	}
	return 0;
}

/* One for each member, in their order; together they have all pieces, and all files. */
static int decode_parts(json_t *body, struct manifest *manifest, struct err *err)
{
	uint64_t pieces = 0, files = 0, bytes = 0;
	json_t *parts, *item;
	size_t i;

	if (!json_object_get(body, "parts"))
		return 0;
	if (json_get_array(body, "parts", &parts, err) < 0)
		return -1;
	manifest->parts = memory_new((json_array_size(parts) + 1) * sizeof(*manifest->parts));
	json_array_foreach(parts, i, item)
	{
		struct manifest_part *part = &manifest->parts[i];

		manifest->part_count = i + 1;
		if (decode_part(item, part, err) < 0)
			return err_wrap(err, "part %zu", i);
		if (part->member != i)
			return err_set(err, ERR_CORRUPT, "part %zu is not the one of member %zu", i,
				       i);
		if (part->pieces == 0 && (part->files > 0 || part->bytes > 0))
			return err_set(err, ERR_CORRUPT, "part %zu has files, and no list of them",
				       i);
		if (part->bytes > SIZE_MOST - bytes)
			return err_set(err, ERR_CORRUPT, "the files' sizes are impossible");
		pieces += part->pieces;
		files += part->files;
		bytes += part->bytes;
	}
	if (manifest->part_count < 2 || pieces != manifest->piece_count ||
	    files != manifest->files || bytes != manifest->bytes)
		return err_set(err, ERR_CORRUPT, "the parts do not add up to the whole");
	return check_keepers(manifest, err);
}

int manifest_decode(json_t *body, const char *job, struct snapshot_id id, struct manifest *manifest,
		    struct err *err)
{
	*manifest = (struct manifest){0};
	if (decode_header(body, job, id, manifest, err) == 0 &&
	    decode_packs(body, manifest, err) == 0 &&
	    (json_object_get(body, "pieces") ? decode_pieces(body, manifest, err)
					     : decode_entries(body, manifest, err)) == 0 &&
	    decode_parts(body, manifest, err) == 0)
		return 0;
	manifest_release(manifest);
	return -1;
}
