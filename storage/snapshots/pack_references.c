#include "pack_references.h"

#include <stdlib.h>
#include <string.h>

const struct chunk *pack_reference_chunk(const struct pack_reference *reference)
{
	if (reference->piece)
		return &reference->piece->chunk;
	return reference->entry ? &reference->entry->chunks[reference->number] : NULL;
}

bool pack_reference_is_of_pack(const struct pack_reference *reference)
{
	return !reference->entry && !reference->piece;
}

static int compare_references(const void *a, const void *b)
{
	const struct pack_reference *first = a, *second = b;
	const struct chunk *x = pack_reference_chunk(first), *y = pack_reference_chunk(second);
	int by_key = strcmp(first->key, second->key);

	if (by_key != 0 || !x || !y)
		return by_key != 0 ? by_key : (x != NULL) - (y != NULL);
	return (x->offset > y->offset) - (x->offset < y->offset);
}

void pack_references_sort(struct pack_references *references)
{
	if (references->count > 0)
		qsort(references->items, references->count, sizeof(*references->items),
		      compare_references);
}

static void add_reference(struct pack_references *references, struct pack_reference reference)
{
	size_t count = references->count;

	if ((count & (count - 1)) == 0)
		references->items = memory_grow(references->items, count ? 2 * count : 1,
						sizeof(*references->items));
	reference.key = reference.manifest->packs[reference.pack].key;
	references->items[references->count++] = reference;
}

void pack_references_add(struct pack_references *references, const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->pack_count; i++)
		add_reference(references, (struct pack_reference){.manifest = manifest, .pack = i});
	for (size_t i = 0; i < manifest->piece_count; i++)
		add_reference(references,
			      (struct pack_reference){.manifest = manifest,
						      .pack = manifest->pieces[i].chunk.pack,
						      .piece = &manifest->pieces[i]});
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		for (size_t j = 0; entry->type == ENTRY_FILE && j < chunk_count(entry->size); j++)
			if (entry->chunks[j].codec != CHUNK_ZERO)
				add_reference(references,
					      (struct pack_reference){.manifest = manifest,
								      .pack = entry->chunks[j].pack,
								      .entry = entry,
								      .number = j});
	}
}

size_t pack_references_of_one(const struct pack_reference *first, size_t left)
{
	size_t count = 0;

	while (count < left && strcmp(first->key, first[count].key) == 0)
		count++;
	return count;
}

void pack_references_release(struct pack_references *references)
{
	free(references->items);
	*references = (struct pack_references){0};
}
