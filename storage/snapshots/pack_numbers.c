#include "pack_numbers.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The packs of the index that the manifest needs. */
struct named_packs {
	const struct chunk_index *index;
	uint32_t *numbers; /* by number in the index: its number in the manifest, once it has one */
	uint32_t *used;    /* numbers in the index */
	size_t count;
};

static void name_pack(struct named_packs *named, struct chunk *chunk)
{
	if (chunk->codec == CHUNK_ZERO || named->numbers[chunk->pack])
		return;
	named->numbers[chunk->pack] = 1;
	named->used[named->count++] = chunk->pack;
}

static int compare_pack_keys(const void *a, const void *b, void *arg)
{
	const struct chunk_index *index = arg;

	return strcmp(index->packs[*(const uint32_t *)a].key,
		      index->packs[*(const uint32_t *)b].key);
}

/* In the order of their keys, in which readers look them up. */
static void fill_pack_table(struct named_packs *named, struct manifest *manifest)
{
	manifest->packs = memory_new(named->count * sizeof(*manifest->packs));
	manifest->pack_count = named->count;
	if (named->count)
		qsort_r(named->used, named->count, sizeof(*named->used), compare_pack_keys,
			(void *)named->index);
	for (size_t i = 0; i < named->count; i++) {
		const struct chunk_index_pack *pack = &named->index->packs[named->used[i]];

		manifest->packs[i] = (struct manifest_pack){text_copy(pack->key), pack->bytes};
		manifest->bytes_stored += pack->named ? 0 : pack->bytes;
		named->numbers[named->used[i]] = (uint32_t)i;
	}
}

/* Calls `visit` for each chunk of the files, and of the pieces of the list. */
static void visit_chunks(struct named_packs *named, struct manifest *manifest,
			 void (*visit)(struct named_packs *named, struct chunk *chunk))
{
	for (size_t i = 0; i < manifest->entry_count; i++) {
		struct entry *entry = &manifest->entries[i];
		size_t count = entry->type == ENTRY_FILE ? chunk_count(entry->size) : 0;

		for (size_t j = 0; j < count; j++)
			visit(named, &entry->chunks[j]);
	}
	for (size_t i = 0; i < manifest->piece_count; i++)
		visit(named, &manifest->pieces[i].chunk);
}

static void renumber_pack(struct named_packs *named, struct chunk *chunk)
{
	if (chunk->codec != CHUNK_ZERO)
		chunk->pack = named->numbers[chunk->pack];
}

void pack_numbers_assign(const struct chunk_index *index, struct manifest *manifest)
{
	auto_free uint32_t *numbers = memory_new(index->pack_count * sizeof(*numbers));
	auto_free uint32_t *used = memory_new(index->pack_count * sizeof(*used));
	struct named_packs named = {.index = index, .numbers = numbers, .used = used};

	visit_chunks(&named, manifest, name_pack);
	fill_pack_table(&named, manifest);
	visit_chunks(&named, manifest, renumber_pack);
}
