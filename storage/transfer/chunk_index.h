/*
 * PRIVATE: which chunk lies where, so that nothing is sent twice. Holds what the newest committed snapshot of this process names
 * (or its parent, when this is the first one), whatever has been sent since, be it by a presend or by a take that failed, and in the
 * first take of an attempt the leftovers of those before it. Warm between takes; thread-safe.
 *
 * Nothing older stays in it: what only a forgotten snapshot named may be swept at any time.
 */
#ifndef CHUNK_INDEX_H
#define CHUNK_INDEX_H

#include "storage/format/format.h"
#include "storage/backend/backend.h"

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

enum index_pack_state {
	INDEX_PACK_SENDING, /* being filled or on its way: a take that relies on it waits for it */
	INDEX_PACK_STORED,  /* durable in the store, as far as we know */
	INDEX_PACK_LOST,    /* not there, or never got there */
};

struct index_pack {
	char *key;
	uint64_t bytes;
	enum index_pack_state state;
	bool named;    /* by the manifest of index_replace() */
	bool leftover; /* of an earlier attempt, and named by no manifest of ours */
	bool listed; /* was stored when index_expect() was called: so a listing made since then has it */
};

struct index_file {
	char *path;
	struct file_stamp stamp;
	struct chunk *chunks;
	size_t chunk_count;
};

struct index {
	pthread_mutex_t mutex;
	struct index_pack *packs;
	size_t pack_count;
	struct chunk *chunks; /* `pack` counts in `packs` */
	size_t chunk_count;
	uint32_t *slots; /* open addressing by digest: number in `chunks` plus one */
	size_t slot_count;
	struct index_file *files; /* sorted by path */
	size_t file_count;
};

void index_init(struct index *index);
void index_release(struct index *index);
bool index_is_empty(const struct index *index);

/* A pack that is being filled; returns its number. Its chunks count as there. */
uint32_t index_open_pack(struct index *index, const char *key);
void index_pack_stored(struct index *index, uint32_t pack, uint64_t bytes);
/* It did not get there. Its chunks go at the next index_settle(); until then no take may succeed that relies on it. */
void index_pack_lost(struct index *index, uint32_t pack);
/* One that an earlier attempt has left in the store. */
uint32_t index_add_leftover(struct index *index, const char *key, uint64_t bytes);

/* Copies where it lies. */
bool index_find(struct index *index, const uint8_t digest[DIGEST_SIZE], struct chunk *chunk);
void index_add(struct index *index, const struct chunk *chunk);

/* Copies the chunks of this very file (`count` of them), if they all are in the store or on their way. */
bool index_find_file(struct index *index, const char *path, const struct file_stamp *stamp,
	struct chunk *chunks, size_t count);

/* For files that were read outside of a take: one stamp, one entry each; those with another type or without chunks are passed over.
 * Replaces what was known under those paths. Not while others look for files. */
void index_note_files(struct index *index, const struct entry *const *entries,
	const struct file_stamp *const *stamps, size_t count);

/* Before the listing is asked for that index_settle() gets. */
void index_expect(struct index *index);
/* Drops packs that are not in the listing with the right size (NULL: no listing was made), and those that are lost. What is still on
 * its way, or was stored after index_expect(), stays. Not while others look for chunks. */
void index_settle(struct index *index, const char *prefix, const struct store_listing *packs);

/* Holds what this manifest names and nothing else. `stamps`: one per entry, or NULL. */
void index_replace(
	struct index *index, const struct manifest *manifest, const struct file_stamp *stamps);

#endif
