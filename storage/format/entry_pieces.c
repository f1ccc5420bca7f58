#include "entry_pieces.h"

#include "base/json.h"
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

/* A piece has at least so much, and then ends at the next path whose hash says so, after so much
 * more in the mean. Twice as large ones would halve the manifest of a list that has not changed,
 * and double what one file more costs. */
#define PIECE_LEAST (64 << 10)
#define PIECE_MORE (128 << 10)
#define PIECE_MOST ((size_t)1 << 20)
/* Of a file: 16 GiB, and less than half a megabyte of text. */
#define PART_CHUNKS 4096
/* Of one entry, and of one chunk in it, about. */
#define ENTRY_WEIGHT 100
#define CHUNK_WEIGHT 100

/* --- writing --- */

void entry_piece_writer_init(struct entry_piece_writer *writer, const char *const *keys,
			     size_t key_count)
{
	*writer = (struct entry_piece_writer){
		.keys = keys,
		.numbers = memory_new(key_count * sizeof(*writer->numbers)),
		.used = memory_new(key_count * sizeof(*writer->used)),
	};
}

void entry_piece_writer_release(struct entry_piece_writer *writer)
{
	free(writer->numbers);
	free(writer->used);
	bytes_release(&writer->text);
	*writer = (struct entry_piece_writer){0};
}

static size_t entry_chunk_count(const struct entry *entry)
{
	return entry->type == ENTRY_FILE ? chunk_count(entry->size) : 0;
}

size_t entry_part_length(const struct entry *entry, size_t first)
{
	size_t left = entry_chunk_count(entry) - first;

	return left < PART_CHUNKS ? left : PART_CHUNKS;
}

static uint64_t part_weight(const struct entry *entry, size_t first)
{
	return strlen(entry->path) + ENTRY_WEIGHT + entry_part_length(entry, first) * CHUNK_WEIGHT;
}

/* FNV-1a; its upper bits hardly know of the last characters, so they are mixed once more. */
static uint64_t path_hash(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * 0x100000001b3;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
	return hash ^ hash >> 33;
}

bool entry_piece_ends(const struct entry_piece_writer *writer, const struct entry *next,
		      size_t first)
{
	if (writer->text.size >= PIECE_MOST)
		return true;
	/* A heavy entry is a border more often, so that pieces of large files are no larger. */
	return writer->weight >= PIECE_LEAST &&
	       path_hash(next->path) % PIECE_MORE < part_weight(next, first);
}

/* The pack's place in the table of this piece. */
static uint32_t local_number(struct entry_piece_writer *writer, uint32_t pack)
{
	if (writer->numbers[pack] == 0) {
		writer->used[writer->used_count++] = pack;
		writer->numbers[pack] = (uint32_t)writer->used_count;
	}
	return writer->numbers[pack] - 1;
}

int entry_piece_add(struct entry_piece_writer *writer, const struct entry *entry, size_t first,
		    struct err *err)
{
	size_t count = entry_part_length(entry, first);
	auto_free struct chunk *chunks = memory_new(count * sizeof(*chunks));
	struct entry local = *entry;
	auto_json json_t *item = NULL;
	auto_free char *text = NULL;

	for (size_t i = 0; i < count; i++) {
		chunks[i] = entry->chunks[first + i];
		if (chunks[i].codec != CHUNK_ZERO)
			chunks[i].pack = local_number(writer, chunks[i].pack);
	}
	local.chunks = chunks;
	item = manifest_entry_encode_part(&local, (struct entry_part){first, count});
	text = json_dumps(item, JSON_COMPACT);
	if (!text)
		return err_set(err, ERR_FAILED, "cannot write \"%s\" as JSON", entry->path);
	writer->weight += part_weight(entry, first);
	return bytes_format(&writer->text, err, "%s%s",
			    writer->text.size ? ",\n" : "{\"entries\":[\n", text);
}

int entry_piece_finish(struct entry_piece_writer *writer, struct bytes *out, struct err *err)
{
	int result;

	out->size = 0;
	result = bytes_append(out, writer->text.data, writer->text.size, err);
	for (size_t i = 0; i < writer->used_count && result == 0; i++)
		result = bytes_format(out, err, "%s\"%s\"", i ? ",\n" : "],\"packs\":[\n",
				      writer->keys[writer->used[i]]);
	if (result == 0)
		result =
			bytes_format(out, err, "%s", writer->used_count ? "]}" : "],\"packs\":[]}");
	for (size_t i = 0; i < writer->used_count; i++)
		writer->numbers[writer->used[i]] = 0;
	writer->used_count = 0;
	writer->weight = 0;
	writer->text.size = 0;
	return result;
}

/* --- reading --- */

void entry_piece_release(struct entry_piece *piece)
{
	for (size_t i = 0; i < piece->count; i++)
		entry_release(&piece->entries[i]);
	free(piece->entries);
	free(piece->parts);
	*piece = (struct entry_piece){0};
}

/* The packs that a piece names, as the manifest has them. */
struct piece_packs {
	struct manifest_pack *packs; /* the keys are borrowed */
	uint32_t *numbers;           /* of each in the manifest */
	size_t count;
};

static void piece_packs_release(struct piece_packs *table)
{
	free(table->packs);
	free(table->numbers);
}
AUTO(struct piece_packs, piece_packs_release);

static int compare_keys(const void *a, const void *b)
{
	const struct manifest_pack *first = a, *second = b;

	return strcmp(first->key, second->key);
}

static int decode_piece_packs(json_t *body, const struct manifest *manifest,
			      struct piece_packs *table, struct err *err)
{
	json_t *packs, *item;
	size_t i;

	if (json_get_array(body, "packs", &packs, err) < 0)
		return -1;
	table->packs = memory_new(json_array_size(packs) * sizeof(*table->packs));
	table->numbers = memory_new(json_array_size(packs) * sizeof(*table->numbers));
	json_array_foreach(packs, i, item)
	{
		struct manifest_pack wanted = {.key = (char *)json_string_value(item)}, *found;

		found = wanted.key && manifest->pack_count
				? bsearch(&wanted, manifest->packs, manifest->pack_count,
					  sizeof(wanted), compare_keys)
				: NULL;
		if (!found)
			return err_set(err, ERR_CORRUPT,
				       "pack %zu is none of those that the manifest names", i);
		table->packs[i] = *found;
		table->numbers[i] = (uint32_t)(found - manifest->packs);
	}
	table->count = i;
	return 0;
}

int entry_piece_decode(const void *text, size_t size, const struct manifest *manifest,
		       struct entry_piece *piece, struct err *err)
{
	auto_(piece_packs_release) struct piece_packs table = {0};
	auto_json json_t *body = json_parse(text, size, err);
	json_t *entries, *item;
	size_t i;

	*piece = (struct entry_piece){0};
	if (!body || decode_piece_packs(body, manifest, &table, err) < 0 ||
	    json_get_array(body, "entries", &entries, err) < 0)
		return -1;
	piece->entries = memory_new(json_array_size(entries) * sizeof(*piece->entries));
	piece->parts = memory_new(json_array_size(entries) * sizeof(*piece->parts));
	json_array_foreach(entries, i, item)
	{
		struct entry *entry = &piece->entries[i];

		piece->count = i + 1;
		if (manifest_entry_decode_part(item, table.packs, table.count, entry,
					       &piece->parts[i], err) < 0)
			return err_wrap(err, "entry %zu", i);
		for (size_t j = 0; j < piece->parts[i].count; j++)
			if (entry->chunks[j].codec != CHUNK_ZERO)
				entry->chunks[j].pack = table.numbers[entry->chunks[j].pack];
	}
	return 0;
}

/* The list as it is put together. */
struct joined_list {
	struct manifest *manifest;
	uint64_t bytes; /* of the last entry's chunks, so far */
};

static int check_last_whole(const struct joined_list *list, struct err *err)
{
	const struct manifest *manifest = list->manifest;
	const struct entry *last = manifest->entries + manifest->entry_count - 1;

	if (manifest->entry_count == 0 || last->type != ENTRY_FILE || list->bytes == last->size)
		return 0;
	return err_set(err, ERR_CORRUPT, "\"%s\": its chunks have %llu of %llu bytes", last->path,
		       (unsigned long long)list->bytes, (unsigned long long)last->size);
}

static int join_later_part(struct joined_list *list, const struct entry *later,
			   const struct entry_part *part, struct err *err)
{
	const struct manifest *manifest = list->manifest;
	struct entry *last = manifest->entries + manifest->entry_count - 1;
	size_t before = (size_t)(list->bytes / CHUNK_SIZE);

	/* So far there are whole chunks: only the last part can end with another. */
	if (manifest->entry_count == 0 || last->type != ENTRY_FILE ||
	    strcmp(last->path, later->path) != 0 || list->bytes % CHUNK_SIZE != 0 ||
	    before != part->first || later->size > last->size - list->bytes)
		return err_set(err, ERR_CORRUPT,
			       "\"%s\": a part from chunk %zu on does not belong there",
			       later->path, part->first);
	last->chunks = memory_grow(last->chunks, before + part->count + 1, sizeof(*last->chunks));
	if (part->count)
		memcpy(last->chunks + before, later->chunks, part->count * sizeof(*last->chunks));
	list->bytes += later->size;
	return 0;
}

/* Moves the entry out of the piece. */
static int join_entry(struct joined_list *list, struct entry *entry, const struct entry_part *part,
		      struct err *err)
{
	if (part->first > 0)
		return join_later_part(list, entry, part, err);
	if (check_last_whole(list, err) < 0)
		return -1;
	list->bytes = part->count < entry_chunk_count(entry) ? (uint64_t)part->count * CHUNK_SIZE
							     : entry->size;
	list->manifest->entries[list->manifest->entry_count++] = *entry;
	*entry = (struct entry){0};
	return 0;
}

static int join_pieces(struct manifest *manifest, struct entry_piece *pieces, struct err *err)
{
	struct joined_list list = {.manifest = manifest};
	size_t count = 0;

	for (size_t i = 0; i < manifest->piece_count; i++)
		count += pieces[i].count;
	manifest->entries = memory_new(count * sizeof(*manifest->entries));
	for (size_t i = 0; i < manifest->piece_count; i++) {
		for (size_t j = 0; j < pieces[i].count; j++)
			if (join_entry(&list, &pieces[i].entries[j], &pieces[i].parts[j], err) < 0)
				return err_wrap(err, "piece %zu", i);
		entry_piece_release(&pieces[i]);
	}
	if (check_last_whole(&list, err) < 0)
		return -1;
	return manifest_check_entries(manifest, err);
}

int entry_pieces_join(struct manifest *manifest, struct entry_piece *pieces, struct err *err)
{
	if (join_pieces(manifest, pieces, err) == 0)
		return 0;
	for (size_t i = 0; i < manifest->entry_count; i++)
		entry_release(&manifest->entries[i]);
	free(steal(&manifest->entries));
	manifest->entry_count = 0;
	return -1;
}
