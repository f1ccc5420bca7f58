#include "chunk_index.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The files that a chunk index knows by their stamps; what others use
 * of it is in chunk_index.h. */

bool file_stamp_same_content(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return file_stamp_same_content(a, b) && a->ctime.tv_sec == b->ctime.tv_sec &&
	       a->ctime.tv_nsec == b->ctime.tv_nsec;
}

uint64_t file_stamp_mark(const struct file_stamp *stamp, uint64_t boot)
{
	const uint64_t all[] = {
		boot,
		stamp->device,
		stamp->inode,
		stamp->size,
		(uint64_t)stamp->mtime.tv_sec,
		(uint64_t)stamp->mtime.tv_nsec,
		(uint64_t)stamp->ctime.tv_sec,
		(uint64_t)stamp->ctime.tv_nsec,
	};

	return checksum_bytes(all, sizeof(all));
}

static void free_file(struct chunk_index_file *file)
{
	free(file->path);
	free(file->chunks);
}

static int compare_files(const void *a, const void *b)
{
	const struct chunk_index_file *first = a, *second = b;

	return strcmp(first->path, second->path);
}

static struct chunk_index_file *find_file(struct chunk_index *index, const char *path)
{
	struct chunk_index_file wanted = {.path = (char *)path};

	return index->file_count ? bsearch(&wanted, index->files, index->file_count, sizeof(wanted),
					   compare_files)
				 : NULL;
}

bool chunk_index_find_file(struct chunk_index *index, const char *path, uint64_t stamp,
			   struct chunk *chunks, size_t count)
{
	const struct chunk_index_file *file = find_file(index, path);
	bool there;

	if (!file || file->chunk_count != count || file->stamp == 0 || file->stamp != stamp)
		return false;
	there = chunk_index_has_all(index, file->chunks, count);
	if (there && count)
		memcpy(chunks, file->chunks, count * sizeof(*chunks));
	return there;
}

/* There must be room for it. */
static void add_file(struct chunk_index *index, const struct entry *entry)
{
	size_t count = chunk_count(entry->size);
	struct chunk_index_file *file = &index->files[index->file_count];

	if (entry->type != ENTRY_FILE || !entry->chunks || entry->stamp == 0)
		return;
	index->file_count++;
	*file = (struct chunk_index_file){
		.path = text_copy(entry->path),
		.stamp = entry->stamp,
		.chunks = memory_new((count + 1) * sizeof(struct chunk)),
		.chunk_count = count,
	};
	memcpy(file->chunks, entry->chunks, count * sizeof(struct chunk));
}

void chunk_index_add_files(struct chunk_index *index, const struct entry *const *entries,
			   size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct chunk_index_file *file = find_file(index, entries[i]->path);

		/* The item stays for now, so that the order holds. */
		if (file)
			file->stamp = 0;
	}
	for (size_t i = 0; i < index->file_count; i++)
		if (index->files[i].stamp != 0)
			index->files[kept++] = index->files[i];
		else
			free_file(&index->files[i]);
	index->file_count = kept;
	index->files = memory_grow(index->files, kept + count + 1, sizeof(*index->files));
	for (size_t i = 0; i < count; i++)
		add_file(index, entries[i]);
	qsort(index->files, index->file_count, sizeof(*index->files), compare_files);
}

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
	for (size_t i = 0; i < index->file_count; i++)
		free_file(&index->files[i]);
	free(index->files);
	index->files = NULL;
	index->file_count = 0;
	clear_chunks(index);
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
		const struct chunk *chunk = &index->chunks[*slot - 1];

		if (*slot == 0 ||
		    (chunk->checksum == fingerprint->low && chunk->seen == fingerprint->high))
			return slot;
	}
}

static void note_seen(struct chunk_index *index, size_t at)
{
	const struct fingerprint fingerprint = {index->chunks[at].checksum, index->chunks[at].seen};

	if (fingerprint.high)
		*seen_slot_of(index, &fingerprint) = (uint32_t)at + 1;
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
	} else if (index->chunks[*slot - 1].seen == 0) {
		index->chunks[*slot - 1].seen = chunk->seen;
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

void chunk_index_add(struct chunk_index *index, const struct chunk *chunk)
{
	pthread_mutex_lock(&index->mutex);
	add_chunk(index, chunk);
	pthread_mutex_unlock(&index->mutex);
}

bool chunk_index_has_all(struct chunk_index *index, const struct chunk *chunks, size_t count)
{
	bool there = true;

	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < count && there; i++)
		there = chunks[i].codec == CHUNK_ZERO ||
			index->packs[chunks[i].pack].state != CHUNK_INDEX_PACK_LOST;
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

static void drop_lost_chunks(struct chunk_index *index)
{
	struct chunk *old = index->chunks;
	size_t count = index->chunk_count;

	index->chunks = NULL;
	clear_chunks(index);
	for (size_t i = 0; i < count; i++)
		if (index->packs[old[i].pack].state != CHUNK_INDEX_PACK_LOST)
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
	drop_lost_chunks(index);
	pthread_mutex_unlock(&index->mutex);
}

void chunk_index_replace(struct chunk_index *index, const struct manifest *manifest)
{
	clear_index(index);
	index->files = memory_new((manifest->entry_count + 1) * sizeof(*index->files));
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
		add_file(index, entry);
	}
	for (size_t i = 0; i < manifest->piece_count; i++)
		add_chunk(index, &manifest->pieces[i].chunk);
}

/* --- files that grow --- */

/* The file's place in the ring, or APPEND_PROGRESS_FILES. */
static size_t find_file_slot(const struct append_progress *append_progress,
			     const struct file_stamp *stamp)
{
	size_t i = 0;

	while (i < APPEND_PROGRESS_FILES && (append_progress->files[i].chunks == 0 ||
					     append_progress->files[i].device != stamp->device ||
					     append_progress->files[i].inode != stamp->inode))
		i++;
	return i;
}

size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp)
{
	size_t at = find_file_slot(append_progress, stamp);

	return at < APPEND_PROGRESS_FILES ? append_progress->files[at].chunks : 0;
}

bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end)
{
	*first = append_progress_sent(append_progress, stamp);
	*end = (size_t)(stamp->size / CHUNK_SIZE);
	/* The file was truncated, or another file has its inode number. */
	if (*end < *first)
		*first = 0;
	return *end > *first;
}

bool append_progress_is_due(size_t chunks)
{
	return chunks >= APPEND_PROGRESS_STEP;
}

void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end)
{
	size_t at = find_file_slot(append_progress, stamp);

	if (at == APPEND_PROGRESS_FILES && end == 0)
		return;
	if (at == APPEND_PROGRESS_FILES)
		at = append_progress->next++ % APPEND_PROGRESS_FILES;
	append_progress->files[at] = (struct append_progress_file){
		.device = stamp->device,
		.inode = stamp->inode,
		.chunks = end,
		.settled = append_progress_sent(append_progress, stamp),
	};
	if (append_progress->files[at].settled > end)
		append_progress->files[at].settled = 0;
}

size_t append_progress_settled(const struct append_progress *append_progress,
			       const struct file_stamp *stamp)
{
	size_t at = find_file_slot(append_progress, stamp);

	if (at == APPEND_PROGRESS_FILES)
		return 0;
	return append_progress->calm < APPEND_PROGRESS_CALM ? append_progress->files[at].settled
							    : append_progress->files[at].chunks;
}

void append_progress_note(struct append_progress *append_progress, bool same)
{
	append_progress->calm = same ? append_progress->calm + 1 : 0;
}
