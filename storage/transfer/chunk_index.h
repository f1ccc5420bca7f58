/*
 * PRIVATE: which chunk lies where, so that nothing is sent twice. Holds what the newest committed
 * snapshot of this process names (or its parent, when this is the first one), whatever has been
 * sent since, be it by a presend or by a take that failed, and in the first take of an attempt the
 * leftovers of those before it. Warm between takes; thread-safe.
 *
 * Nothing older stays in it: what only a forgotten snapshot named may be swept at any time.
 */
#ifndef CHUNK_INDEX_H
#define CHUNK_INDEX_H

#include "storage/backend/backend.h"
#include "storage/format/format.h"

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

/* Tells whether a file is the one that was read before. All zero: no stamp. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	uint64_t size;
	struct timespec mtime, ctime;
};
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);
/* All but the ctime, which also moves when a name is deleted, renamed or linked. */
bool file_stamp_same_content(const struct file_stamp *a, const struct file_stamp *b);

enum chunk_index_pack_state {
	/* being filled or on its way: a take that relies on it waits for it */
	CHUNK_INDEX_PACK_SENDING,
	/* durable in the store, as far as we know */
	CHUNK_INDEX_PACK_STORED,
	/* not there, or never got there */
	CHUNK_INDEX_PACK_LOST,
};

struct chunk_index_pack {
	char *key;
	uint64_t bytes;
	enum chunk_index_pack_state state;
	/* by the manifest of chunk_index_replace() */
	bool named;
	/* of an earlier attempt, and named by no manifest of ours */
	bool orphan;
	/* was stored when chunk_index_begin_listing() was called: so a listing
	 * made since then has it */
	bool listed;
};

struct chunk_index_file {
	char *path;
	struct file_stamp stamp;
	struct chunk *chunks;
	size_t chunk_count;
};

struct chunk_index {
	pthread_mutex_t mutex;
	struct chunk_index_pack *packs;
	size_t pack_count;
	struct chunk *chunks; /* `pack` counts in `packs` */
	size_t chunk_count;
	uint32_t *slots; /* open addressing by digest: number in `chunks` plus one */
	size_t slot_count;
	struct chunk_index_file *files; /* sorted by path */
	size_t file_count;
};

void chunk_index_init(struct chunk_index *index);
void chunk_index_release(struct chunk_index *index);
bool chunk_index_is_empty(const struct chunk_index *index);

/* A pack that is being filled; returns its number. Its chunks count as there. */
uint32_t chunk_index_open_pack(struct chunk_index *index, const char *key);
void chunk_index_pack_stored(struct chunk_index *index, uint32_t pack, uint64_t bytes);
/* It did not get there. Its chunks go at the next chunk_index_apply_listing(); until then no take
 * may succeed that relies on it. */
void chunk_index_pack_lost(struct chunk_index *index, uint32_t pack);
/* One that an earlier attempt has left in the store. */
uint32_t chunk_index_add_orphan(struct chunk_index *index, const char *key, uint64_t bytes);

/* Copies where it lies. */
bool chunk_index_find(struct chunk_index *index, const uint8_t digest[DIGEST_SIZE],
		      struct chunk *chunk);
void chunk_index_add(struct chunk_index *index, const struct chunk *chunk);

/* Copies the chunks of this very file (`count` of them), if they all are in the
 * store or on their way. */
bool chunk_index_find_file(struct chunk_index *index, const char *path,
			   const struct file_stamp *stamp, struct chunk *chunks, size_t count);

/*
 * For files that were read outside of a take: one stamp, one entry each; those with another type or
 * without chunks are passed over. Replaces what was known under those paths. Not while others look
 * for files.
 */
void chunk_index_add_files(struct chunk_index *index, const struct entry *const *entries,
			   const struct file_stamp *const *stamps, size_t count);

/* Before the listing is asked for that chunk_index_apply_listing() gets. */
void chunk_index_begin_listing(struct chunk_index *index);
/*
 * Drops packs that are not in the listing with the right size (NULL: no listing was made), and
 * those that are lost. What is still on its way, or was stored after chunk_index_begin_listing(),
 * stays. Not while others look for chunks.
 */
void chunk_index_apply_listing(struct chunk_index *index, const char *prefix,
			       const struct store_listing *packs);

/* Holds what this manifest names and nothing else. `stamps`: one per entry, or NULL. */
void chunk_index_replace(struct chunk_index *index, const struct manifest *manifest,
			 const struct file_stamp *stamps);

#endif
