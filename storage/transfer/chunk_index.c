#include "chunk_index.h"

#include "base/cleanup.h"
#include "chunk_index_files.h"
#include "storage/format/format.h"

#include <stdlib.h>
#include <string.h>

void chunk_index_init(struct chunk_index *index)
{
	*index = (struct chunk_index){0};
	pthread_mutex_init(&index->mutex, NULL);
}

static void clear_chunks(struct chunk_index *index)
{
	free(index->chunks);
	free(index->slots);
	free(index->seen_slots);
	index->chunks = NULL;
	index->slots = index->seen_slots = NULL;
	index->chunk_count = index->slot_count = 0;
}

static void clear_index(struct chunk_index *index)
{
	chunk_index_files_clear(index);
	clear_chunks(index);
	free(index->worn);
	index->worn = NULL;
	index->worn_count = 0;
	free(index->pieces);
	index->pieces = NULL;
	index->piece_count = 0;
	index->judged = false;
	index->bytes_given_up = 0;
	for (size_t i = 0; i < index->pack_count; i++)
		free(index->packs[i].key);
	free(index->packs);
	index->packs = NULL;
	index->pack_count = 0;
}

void chunk_index_release(struct chunk_index *index)
{
	clear_index(index);
	pthread_mutex_destroy(&index->mutex);
}

bool chunk_index_is_empty(const struct chunk_index *index)
{
	return index->pack_count == 0;
}

static struct chunk_index_pack *add_pack(struct chunk_index *index, const char *key, uint64_t bytes,
					 enum chunk_index_pack_state state)
{
	if ((index->pack_count & (index->pack_count - 1)) == 0)
		index->packs =
			memory_grow(index->packs, index->pack_count ? 2 * index->pack_count : 1,
				    sizeof(*index->packs));
	index->packs[index->pack_count] =
		(struct chunk_index_pack){.key = text_copy(key), .bytes = bytes, .state = state};
	return &index->packs[index->pack_count++];
}

uint32_t chunk_index_open_pack(struct chunk_index *index, const char *key)
{
	uint32_t number;

	pthread_mutex_lock(&index->mutex);
	number = (uint32_t)(add_pack(index, key, 0, CHUNK_INDEX_PACK_SENDING) - index->packs);
	pthread_mutex_unlock(&index->mutex);
	return number;
}

/* A pack number stays valid until chunk_index_apply_listing() or chunk_index_replace(); both run
 * only while nothing is sent. */
void chunk_index_pack_stored(struct chunk_index *index, uint32_t pack, uint64_t bytes)
{
	pthread_mutex_lock(&index->mutex);
	index->packs[pack].bytes = bytes;
	index->packs[pack].state = CHUNK_INDEX_PACK_STORED;
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_pack_lost(struct chunk_index *index, uint32_t pack)
{
	pthread_mutex_lock(&index->mutex);
	index->packs[pack].state = CHUNK_INDEX_PACK_LOST;
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_key_lost(struct chunk_index *index, const char *key)
{
	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < index->pack_count; i++)
		if (strcmp(index->packs[i].key, key) == 0)
			index->packs[i].state = CHUNK_INDEX_PACK_LOST;
	pthread_mutex_unlock(&index->mutex);
}

uint32_t chunk_index_add_orphan(struct chunk_index *index, const char *key, uint64_t bytes)
{
	struct chunk_index_pack *pack;
	uint32_t number;

	pthread_mutex_lock(&index->mutex);
	pack = add_pack(index, key, bytes, CHUNK_INDEX_PACK_STORED);
	pack->orphan = true;
	number = (uint32_t)(pack - index->packs);
	pthread_mutex_unlock(&index->mutex);
	return number;
}

/* The slot that holds the digest, or the free one where it belongs. A digest is as good as a random
 * number, so it needs no further hashing. */
static uint32_t *slot_of(struct chunk_index *index, const uint8_t digest[DIGEST_SIZE])
{
	size_t at;

	memcpy(&at, digest, sizeof(at));
	for (at &= index->slot_count - 1;; at = (at + 1) & (index->slot_count - 1)) {
		uint32_t *slot = &index->slots[at];

		if (*slot == 0 || memcmp(index->chunks[*slot - 1].digest, digest, DIGEST_SIZE) == 0)
			return slot;
	}
}

/* The same for a fingerprint. */
static uint32_t *seen_slot_of(struct chunk_index *index, const struct fingerprint *fingerprint)
{
	size_t at = (size_t)fingerprint->low;

	for (at &= index->slot_count - 1;; at = (at + 1) & (index->slot_count - 1)) {
		uint32_t *slot = &index->seen_slots[at];

		if (*slot == 0 ||
		    fingerprint_equal(&index->chunks[*slot - 1].fingerprint, fingerprint))
			return slot;
	}
}

static void note_seen(struct chunk_index *index, size_t at)
{
	if (fingerprint_is_known(&index->chunks[at].fingerprint))
		*seen_slot_of(index, &index->chunks[at].fingerprint) = (uint32_t)at + 1;
}

static void grow_slots(struct chunk_index *index)
{
	if (2 * (index->chunk_count + 1) <= index->slot_count)
		return;
	index->slot_count = index->slot_count ? 2 * index->slot_count : 256;
	free(index->slots);
	free(index->seen_slots);
	index->slots = memory_new(index->slot_count * sizeof(*index->slots));
	index->seen_slots = memory_new(index->slot_count * sizeof(*index->seen_slots));
	index->chunks = memory_grow(index->chunks, index->slot_count / 2, sizeof(*index->chunks));
	for (size_t i = 0; i < index->chunk_count; i++) {
		*slot_of(index, index->chunks[i].digest) = (uint32_t)i + 1;
		note_seen(index, i);
	}
}

static void add_chunk(struct chunk_index *index, const struct chunk *chunk)
{
	uint32_t *slot;

	grow_slots(index);
	slot = slot_of(index, chunk->digest);
	if (*slot == 0) {
		index->chunks[index->chunk_count++] = *chunk;
		*slot = (uint32_t)index->chunk_count;
	} else if (!fingerprint_is_known(&index->chunks[*slot - 1].fingerprint)) {
		index->chunks[*slot - 1].fingerprint = chunk->fingerprint;
		index->chunks[*slot - 1].checksum = chunk->checksum;
	}
	note_seen(index, *slot - 1);
}

bool chunk_index_find(struct chunk_index *index, const uint8_t digest[DIGEST_SIZE],
		      struct chunk *chunk)
{
	uint32_t slot = 0;

	pthread_mutex_lock(&index->mutex);
	if (index->slot_count)
		slot = *slot_of(index, digest);
	if (slot)
		*chunk = index->chunks[slot - 1];
	pthread_mutex_unlock(&index->mutex);
	return slot != 0;
}

bool chunk_index_find_seen(struct chunk_index *index, const struct fingerprint *fingerprint,
			   struct chunk *chunk)
{
	uint32_t slot = 0;

	pthread_mutex_lock(&index->mutex);
	if (index->slot_count)
		slot = *seen_slot_of(index, fingerprint);
	if (slot)
		*chunk = index->chunks[slot - 1];
	pthread_mutex_unlock(&index->mutex);
	return slot != 0;
}

static int compare_digests(const void *a, const void *b)
{
	const struct chunk *first = a, *second = b;

	return memcmp(first->digest, second->digest, DIGEST_SIZE);
}

bool chunk_index_find_anywhere(struct chunk_index *index, const uint8_t digest[DIGEST_SIZE],
			       struct chunk *chunk)
{
	struct chunk wanted = {0};
	const struct chunk *worn = NULL;

	if (chunk_index_find(index, digest, chunk))
		return true;
	memcpy(wanted.digest, digest, DIGEST_SIZE);
	pthread_mutex_lock(&index->mutex);
	if (index->worn_count)
		worn = bsearch(&wanted, index->worn, index->worn_count, sizeof(wanted),
			       compare_digests);
	if (worn && index->packs[worn->pack].state == CHUNK_INDEX_PACK_LOST)
		worn = NULL;
	if (worn)
		*chunk = *worn;
	pthread_mutex_unlock(&index->mutex);
	return worn != NULL;
}

void chunk_index_add(struct chunk_index *index, const struct chunk *chunk)
{
	pthread_mutex_lock(&index->mutex);
	add_chunk(index, chunk);
	pthread_mutex_unlock(&index->mutex);
}

bool chunk_index_is_base(const struct chunk_index_pack *pack)
{
	return pack->state != CHUNK_INDEX_PACK_LOST && !pack->worn;
}

bool chunk_index_has_all(struct chunk_index *index, const struct chunk *chunks, size_t count)
{
	bool there = true;

	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < count && there; i++)
		there = chunks[i].codec == CHUNK_ZERO ||
			chunk_index_is_base(&index->packs[chunks[i].pack]);
	pthread_mutex_unlock(&index->mutex);
	return there;
}

void chunk_index_begin_listing(struct chunk_index *index)
{
	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < index->pack_count; i++)
		index->packs[i].listed = index->packs[i].state == CHUNK_INDEX_PACK_STORED;
	pthread_mutex_unlock(&index->mutex);
}

static void check_pack_listed(struct chunk_index_pack *pack, const char *prefix,
			      const struct store_listing *packs)
{
	auto_free char *key = text_format("%s%s", prefix, pack->key);
	const struct store_object *object = store_listing_find(packs, key);

	if (!object || object->size != pack->bytes)
		pack->state = CHUNK_INDEX_PACK_LOST;
}

/* Drops the chunks of the others. */
static void keep_bases(struct chunk_index *index)
{
	struct chunk *old = index->chunks;
	size_t count = index->chunk_count;

	index->chunks = NULL;
	clear_chunks(index);
	for (size_t i = 0; i < count; i++)
		if (chunk_index_is_base(&index->packs[old[i].pack]))
			add_chunk(index, &old[i]);
	free(old);
}

void chunk_index_apply_listing(struct chunk_index *index, const char *prefix,
			       const struct store_listing *packs)
{
	/* The last packs of an early upload may still be on their way, and change the table. */
	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; packs && i < index->pack_count; i++)
		if (index->packs[i].listed)
			check_pack_listed(&index->packs[i], prefix, packs);
	keep_bases(index);
	pthread_mutex_unlock(&index->mutex);
}

/* --- worn packs --- */

static void fill_wear(const struct chunk_index *index, struct pack_wear *wear)
{
	for (size_t i = 0; i < index->pack_count; i++)
		if (index->packs[i].named)
			wear[i] = (struct pack_wear){
				.bytes = index->packs[i].bytes,
				.used = PACK_MAGIC_SIZE + PACK_FOOTER_SIZE,
			};
	for (size_t i = 0; i < index->chunk_count; i++)
		if (index->packs[index->chunks[i].pack].named)
			wear[index->chunks[i].pack].used +=
				index->chunks[i].stored + PACK_RECORD_SIZE;
}

/* Those that were before stay there. */
static void set_worn_aside(struct chunk_index *index)
{
	index->worn = memory_grow(index->worn, index->worn_count + index->chunk_count + 1,
				  sizeof(*index->worn));
	for (size_t i = 0; i < index->chunk_count; i++)
		if (index->packs[index->chunks[i].pack].worn)
			index->worn[index->worn_count++] = index->chunks[i];
	if (index->worn_count)
		qsort(index->worn, index->worn_count, sizeof(*index->worn), compare_digests);
}

static void give_up(struct chunk_index *index, const struct pack_wear *wear, uint64_t bytes)
{
	index->bytes_given_up += bytes;
	for (size_t i = 0; i < index->pack_count; i++)
		index->packs[i].worn |= wear[i].worn;
	set_worn_aside(index);
	keep_bases(index);
}

void chunk_index_give_up(struct chunk_index *index, const struct pack_wear *wear, uint64_t bytes)
{
	pthread_mutex_lock(&index->mutex);
	give_up(index, wear, bytes);
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_judge_packs(struct chunk_index *index, const struct pack_wear_bounds *bounds)
{
	auto_free struct pack_wear *wear = NULL;

	pthread_mutex_lock(&index->mutex);
	if (!index->judged) {
		index->judged = true;
		wear = memory_new((index->pack_count + 1) * sizeof(*wear));
		fill_wear(index, wear);
		give_up(index, wear, pack_wear_decide(wear, index->pack_count, bounds));
	}
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_spare_packs(struct chunk_index *index)
{
	pthread_mutex_lock(&index->mutex);
	/* What was sent anew, and could not be stored, gives way first. */
	keep_bases(index);
	for (size_t i = 0; i < index->pack_count; i++)
		index->packs[i].worn = false;
	for (size_t i = 0; i < index->worn_count; i++)
		if (chunk_index_is_base(&index->packs[index->worn[i].pack]))
			add_chunk(index, &index->worn[i]);
	index->worn_count = 0;
	index->judged = true;
	index->bytes_given_up = 0;
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_replace(struct chunk_index *index, const struct manifest *manifest,
			 const struct file_stamp *stamps)
{
	clear_index(index);
	for (size_t i = 0; i < manifest->pack_count; i++)
		add_pack(index, manifest->packs[i].key, manifest->packs[i].bytes,
			 CHUNK_INDEX_PACK_STORED)
			->named = true;
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];

		if (entry->type != ENTRY_FILE)
			continue;
		for (size_t j = 0; j < chunk_count(entry->size); j++)
			if (entry->chunks[j].codec != CHUNK_ZERO)
				add_chunk(index, &entry->chunks[j]);
	}
	if (stamps)
		chunk_index_files_set(index, manifest, stamps);
	index->pieces = memory_new((manifest->piece_count + 1) * sizeof(*index->pieces));
	for (size_t i = 0; i < manifest->piece_count; i++) {
		add_chunk(index, &manifest->pieces[i].chunk);
		index->pieces[index->piece_count++] = manifest->pieces[i].chunk;
	}
}
