/* PRIVATE to storage/. How content is fetched, and where it goes. */
#ifndef FETCHING_H
#define FETCHING_H

#include "base/cancel.h"
#include "job_transfer.h"
#include "storage/format/format.h"

/* Reads chunks from their packs and checks their digests. One struct per thread: the buffers are
 * reused. */

struct chunk_fetch {
	struct transfer *transfer;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space; /* CHUNK_SIZE */
	struct checksum_stream *checksum;
	uint64_t bytes_fetched;
	/* the pack in which a chunk did not match its digest, as the manifest names it; NULL: none
	 */
	const char *damaged;
};

/* `manifest` is borrowed. -1: no memory. chunk_fetch_release() may be called after a failure
 * too. */
int chunk_fetch_init(struct chunk_fetch *fetch, struct transfer *transfer,
		     const struct manifest *manifest, struct err *err);
void chunk_fetch_release(struct chunk_fetch *fetch);

/*
 * Fetches and unpacks one chunk, which may be a zero chunk, and checks its digest; blocks. *raw is
 * valid until the next call. A chunk that does not match is fetched once more, because a bit can
 * flip on the way. After that, ERR_CORRUPT names the pack and the offset in it; so it does for a
 * pack that is missing or too short.
 */
int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err);

/* Returns -1; a manifest names the pack of that key, so that a missing one is ERR_CORRUPT. */
int chunk_fetch_failed(const char *key, struct err *err);

/* A range of bytes in a pack. */
struct pack_range {
	uint32_t pack, offset, size;
};

/* A gap of up to this many bytes is fetched and thrown away: that is cheaper than a second
 * request. */
#define RANGE_GAP_MOST ((uint32_t)128 << 10)

/*
 * How many of the `count` ranges, from the first on, one request covers; at least 1. They are in
 * one pack, with no gap above RANGE_GAP_MOST, and span at most `most` bytes. The ranges are sorted
 * by pack and offset; equal ones may repeat.
 */
size_t range_coalesce_count(const struct pack_range *extents, size_t count, size_t most);

/* Bytes from the start of the first range to the end of the last. */
size_t range_coalesce_size(const struct pack_range *extents, size_t count);

struct streamed_chunk {
	const struct chunk *chunk;
	size_t raw_size;
	/* Set: all of it was handed on, and is what the manifest says. */
	bool good;
};

struct chunk_writer {
	/* Raw bytes of chunk `number` from `at` on, in order; they may begin again from 0. Until
	 * the chunk is good, what was handed on may be wrong. */
	int (*write)(void *arg, size_t number, size_t at, const void *data, size_t size,
		     struct err *err);
	void *arg;
};

/*
 * `chunks` are those wanted of the range, by offset; none is a zero chunk. What the range brings
 * and does not match is left to the caller, not good: chunk_fetch_one() looks again. ERR_CORRUPT:
 * the pack is missing or too short. Blocks.
 */
int chunk_stream_range(struct chunk_fetch *fetch, const struct pack_range *span,
		       struct streamed_chunk *chunks, size_t count,
		       const struct chunk_writer *writer, struct cancel *cancel, struct err *err);

/*
 * The directory that is restored into. Directories and empty files are made first; links, modes and
 * times last. So while content is written, the directory has no symbolic link that could lead
 * elsewhere.
 */

struct tree {
	const struct manifest *manifest;
	int root_fd;
	/* One per entry of the manifest: the entry whose content it gets, itself or, for a hard
	 * link to a file that is not selected, that file. NULL: no content. */
	const struct entry **content;
	/* One per entry: it is restored. */
	bool *selected;
	/* One per entry: it is a file of the seed. */
	bool *linked;
};

/*
 * Makes `directory`, a name in the directory `within` that is held open, or, if that is 0, a path;
 * and the directories in it. Everything below goes by descriptor (base/beneath.h). `include` (may
 * be NULL: all) selects files. ERR_EXISTS: `directory` is not empty.
 */
int restore_tree_create(struct tree *tree, const struct manifest *manifest, int within,
			const char *directory, bool (*include)(void *arg, const char *path),
			void *arg, struct err *err);
/* Then, where wanted: makes the file of entry `i` a second name of the file of that path in
 * `seed_fd`. False: that cannot be done, and nothing is there. From any thread. */
bool restore_tree_link(struct tree *tree, size_t i, int seed_fd);
/* Then: makes all other files at their full size, on `threads` threads. */
int restore_tree_make_files(struct tree *tree, unsigned threads, struct cancel *cancel,
			    struct err *err);
/* Then, beside those who write: allocates space for all but the holes if the file system can, so
 * that ERR_NO_SPACE comes at the start. Some file systems fill what they allocate (a tmpfs takes as
 * long as for writing it), so that nobody waits for this. */
int restore_tree_allocate(struct tree *tree, struct cancel *cancel, struct err *err);
void restore_tree_release(struct tree *tree);

/* Opens a file for writing; from any thread. The caller closes it. */
int restore_tree_open_file(const struct tree *tree, const char *path, struct err *err);

/* Makes the links, sets attributes, modes and times on `threads` threads, and, with `sync`, waits
 * until the disk has everything. */
int restore_tree_finish(struct tree *tree, unsigned threads, bool sync, struct cancel *cancel,
			struct err *err);

#endif
