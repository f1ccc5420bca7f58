#include "manifest.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "manifest_entry.h"
#include "safe_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST ((uint64_t)1 << 62)

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

	for (size_t i = 0; i < manifest->entry_count; i++)
		json_array_append_new(entries, manifest_entry_encode(&manifest->entries[i]));
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

		item = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:o}",
				 "member", (json_int_t)part->member, "nonce", part->nonce, "host",
				 part->host, "pieces", (json_int_t)part->pieces, "files",
				 (json_int_t)part->files, "left_out", (json_int_t)part->left_out,
				 "bytes", (json_int_t)part->bytes, "directory_mode",
				 (json_int_t)part->directory_mode, "checkpoint",
				 !part->without_checkpoint, "saw", (json_int_t)part->saw, "about",
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
	uint64_t attempt, sequence, files, left_out, mode;

	if (decode_id(body, "id", &manifest->id, err) < 0 ||
	    decode_id(body, "parent", &manifest->parent, err) < 0 ||
	    json_get_text(body, "job", &name, err) < 0 ||
	    json_get_text(body, "nonce", &nonce, err) < 0 ||
	    json_get_u64(body, "attempt", UINT32_MAX, &attempt, err) < 0 ||
	    json_get_u64(body, "sequence", UINT32_MAX, &sequence, err) < 0 ||
	    json_get_u64(body, "files", UINT32_MAX, &files, err) < 0 ||
	    json_get_u64(body, "left_out", UINT32_MAX, &left_out, err) < 0 ||
	    json_get_u64(body, "directory_mode", 07777, &mode, err) < 0 ||
	    json_get_u64(body, "bytes", SIZE_MOST, &manifest->bytes, err) < 0 ||
	    json_get_u64(body, "bytes_stored", SIZE_MOST, &manifest->bytes_stored, err) < 0)
		return -1;
	if (snapshot_id_compare(manifest->id, id) != 0 || attempt != id.attempt ||
	    sequence != id.sequence)
		return err_set(err, ERR_CORRUPT, "its id is that of another snapshot");
	if (strcmp(name, job) != 0)
		return err_set(err, ERR_CORRUPT, "it belongs to another job");
	manifest->job = text_copy(name);
	manifest->files = (uint32_t)files;
	manifest->left_out = (uint32_t)left_out;
	manifest->directory_mode = (uint32_t)mode;
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
	uint64_t size;

	if (json_get_u64(item, "size", CHUNK_SIZE, &size, err) < 0 ||
	    json_get_array(item, "chunk", &chunk, err) < 0 ||
	    manifest_chunk_decode(chunk, (size_t)size, manifest->packs, manifest->pack_count,
				  &piece->chunk, err) < 0)
		return -1;
	if (piece->chunk.codec == CHUNK_ZERO)
		return err_set(err, ERR_CORRUPT, "it is empty");
	piece->size = (uint32_t)size;
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
	uint64_t member, keeper = 0, pieces, files, left_out, mode, saw;
	const char *nonce;

	if (json_get_u64(item, "member", UINT32_MAX, &member, err) < 0 ||
	    json_get_text(item, "nonce", &nonce, err) < 0 ||
	    json_get_u64(item, "pieces", UINT32_MAX, &pieces, err) < 0 ||
	    json_get_u64(item, "files", UINT32_MAX, &files, err) < 0 ||
	    json_get_u64(item, "left_out", UINT32_MAX, &left_out, err) < 0 ||
	    json_get_u64(item, "bytes", SIZE_MOST, &part->bytes, err) < 0 ||
	    json_get_u64(item, "directory_mode", 07777, &mode, err) < 0 ||
	    json_get_u64(item, "saw", UINT32_MAX, &saw, err) < 0)
		return -1;
	part->saw = (uint32_t)saw;
	part->member = (uint32_t)member;
	part->pieces = (uint32_t)pieces;
	part->files = (uint32_t)files;
	part->left_out = (uint32_t)left_out;
	part->directory_mode = (uint32_t)mode;
	text_set(part->nonce, sizeof(part->nonce), nonce);
	text_set(part->host, sizeof(part->host), json_text_or(item, "host", ""));
	part->about = json_incref(json_object_get(item, "about"));
	part->kept = json_object_get(item, "keeper") != NULL;
	if (part->kept && json_get_u64(item, "keeper", UINT32_MAX, &keeper, err) < 0)
		return -1;
	part->keeper = (uint32_t)keeper;
	part->gone = json_true_or(item, "gone", false);
	if (part->gone && (pieces > 0 || part->kept))
		return err_set(err, ERR_CORRUPT, "a member that had gone has a part");
	part->without_checkpoint =
		(pieces == 0 && !part->kept) || !json_true_or(item, "checkpoint", true);
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
