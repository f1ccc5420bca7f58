/*
 * PRIVATE to storage/. Which chunk is in which pack, so that nothing is sent twice. Has the chunks
 * of the newest snapshot that this process committed (or of its parent, before the first commit),
 * everything sent since, by an early upload or by a save that failed, and in the first save of an
 * attempt the orphaned packs of earlier attempts. Kept from save to save; thread-safe.
 *
 * Older snapshots are not in it: a pack that only a removed snapshot names may be collected at any
 * time.
 */
#ifndef CHUNK_INDEX_H
#define CHUNK_INDEX_H

#include "storage/backend/backend.h"
#include "storage/format/format.h"

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

/* Identifies the content of a file: equal stamps mean that it has not changed. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	uint64_t size;
	struct timespec mtime, ctime;
};
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);
/* Compares all but the ctime, which also changes when a name is deleted, renamed or linked. */
bool file_stamp_same_content(const struct file_stamp *a, const struct file_stamp *b);
/* The stamp as an entry has it, where file times mean what `boot` says; never 0. */
uint64_t file_stamp_mark(const struct file_stamp *stamp, uint64_t boot);

enum chunk_index_pack_state {
	/* being filled or sent: a save that relies on it waits for it */
	CHUNK_INDEX_PACK_SENDING,
	/* durable in the store when it was last looked at */
	CHUNK_INDEX_PACK_STORED,
	/* missing in the store, or never stored */
	CHUNK_INDEX_PACK_LOST,
};

struct chunk_index_pack {
	char *key;
	uint64_t bytes;
	enum chunk_index_pack_state state;
	/* the manifest of chunk_index_replace() names it */
	bool named;
	/* left by an earlier attempt, and named by no manifest that we know */
	bool orphan;
	/* was stored when chunk_index_begin_listing() was called, so a listing made since then
	 * shows it */
	bool listed;
};

struct chunk_index_file {
	char *path;
	uint64_t stamp; /* as in its entry; 0: it has been read anew */
	struct chunk *chunks;
	size_t chunk_count;
};

struct chunk_index {
	pthread_mutex_t mutex;
	struct chunk_index_pack *packs;
	size_t pack_count;
	struct chunk *chunks; /* `pack` is a position in `packs` */
	size_t chunk_count;
	/* Open addressing, by digest and by fingerprint: position in `chunks` plus one. */
	uint32_t *slots, *seen_slots;
	size_t slot_count;              /* of each */
	struct chunk_index_file *files; /* sorted by path */
	size_t file_count;
};

void chunk_index_init(struct chunk_index *index);
void chunk_index_release(struct chunk_index *index);

/* Adds a pack that is being filled; returns its number. Its chunks can be relied on from then
 * on. */
uint32_t chunk_index_open_pack(struct chunk_index *index, const char *key);
/* The pack is durable, with this size. */
void chunk_index_pack_stored(struct chunk_index *index, uint32_t pack, uint64_t bytes);
/* The pack was not stored, or has been removed. Its chunks are dropped by the next
 * chunk_index_apply_listing(); until then no save that relies on it may succeed. */
void chunk_index_pack_lost(struct chunk_index *index, uint32_t pack);
/* The same for the pack of that key, if it is in the index. */
void chunk_index_key_lost(struct chunk_index *index, const char *key);
/* Adds a pack that an earlier attempt has left in the store; returns its number. */
uint32_t chunk_index_add_orphan(struct chunk_index *index, const char *key, uint64_t bytes);

/* Finds a chunk by its digest and copies where it is. */
bool chunk_index_find(struct chunk_index *index, const uint8_t digest[DIGEST_SIZE],
		      struct chunk *chunk);
/* The same by the fingerprint of its bytes: what this process has read before need not be digested
 * again. */
bool chunk_index_find_seen(struct chunk_index *index, const struct fingerprint *fingerprint,
			   struct chunk *chunk);
/* Adds a chunk, or the fingerprint to the one that has its digest. */
void chunk_index_add(struct chunk_index *index, const struct chunk *chunk);

/* Copies the `count` chunks of an unchanged file (same path and stamp), if all of them are in the
 * store or being sent. */
bool chunk_index_find_file(struct chunk_index *index, const char *path, uint64_t stamp,
			   struct chunk *chunks, size_t count);

/*
 * Adds files that an early upload has read; replaces what was known of those paths. Entries of
 * another type, without chunks or without a stamp are skipped. Must not run while other threads
 * look for files.
 */
void chunk_index_add_files(struct chunk_index *index, const struct entry *const *entries,
			   size_t count);

/* Whether none of the chunks is in a pack that is lost. */
bool chunk_index_has_all(struct chunk_index *index, const struct chunk *chunks, size_t count);

/* Call this before listing the packs for chunk_index_apply_listing(). */
void chunk_index_begin_listing(struct chunk_index *index);
/*
 * Drops the lost packs, and those that the listing does not show with the right size (NULL: no
 * listing was made). A pack that is being sent, or was stored after chunk_index_begin_listing(),
 * stays. Must not run while other threads look for chunks.
 */
void chunk_index_apply_listing(struct chunk_index *index, const char *prefix,
			       const struct store_listing *packs);

/* Replaces the whole content by what this manifest names. */
void chunk_index_replace(struct chunk_index *index, const struct manifest *manifest);

/*
 * PURE. How far a growing file has been uploaded early. Only a hint: the save reads the whole file
 * again and skips the chunks that it finds in the index.
 *
 * A writer may go back, as to the header of a record once the record is written, and what was sent
 * of that chunk is no use. So what was sent is looked at once more in the next round, and sent anew
 * then, not after the last byte. A writer that does not go back is believed after a while.
 */

/* Chunks to send at a time, of all files together: they fill a pack. */
#define APPEND_PROGRESS_STEP ((size_t)4)
/* The files that are remembered: the most recent ones. No more grow at a time: the others would be
 * begun anew each time. */
#define APPEND_PROGRESS_FILES 64
/* So many chunks in a row that were as they had been sent: none is looked at again. */
#define APPEND_PROGRESS_CALM 16

struct append_progress {
	struct append_progress_file {
		dev_t device;
		ino_t inode;
		size_t chunks;
		size_t settled; /* the chunks before it were looked at again, or need not be */
	} files[APPEND_PROGRESS_FILES]; /* a ring */
	size_t next;
	size_t calm; /* chunks in a row, of all files, that were as they had been sent */
};

/* The chunks of the file that have become whole, from *first up to *end. False: none. */
bool append_progress_next(const struct append_progress *append_progress,
			  const struct file_stamp *stamp, size_t *first, size_t *end);
/* Whether so many chunks, of all growing files, are worth sending. */
bool append_progress_is_due(size_t chunks);
/* How many chunks of the file have been sent. */
size_t append_progress_sent(const struct append_progress *append_progress,
			    const struct file_stamp *stamp);
/* From which of the chunks that have been sent on it is to be looked again. */
size_t append_progress_settled(const struct append_progress *append_progress,
			       const struct file_stamp *stamp);
/* A chunk was looked at again: it was as it had been sent, or not. */
void append_progress_note(struct append_progress *append_progress, bool same);
/* Records that the chunks before `end` have been sent, and those that had been sent before have
 * been looked at again; 0 drops the file. */
void append_progress_set(struct append_progress *append_progress, const struct file_stamp *stamp,
			 size_t end);

#endif
