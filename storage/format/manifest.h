/*
 * PURE. A manifest: what a snapshot consists of. A manifest in the store is a commit. It is checked
 * as hostile input when read, because whoever can write to a bucket must not be able to write
 * outside the restored directory.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "chunk.h"
#include "snapshot_id.h"

#include <jansson.h>

enum entry_type {
	ENTRY_FILE,
	ENTRY_DIRECTORY,
	ENTRY_SYMLINK,
	ENTRY_HARDLINK
};

struct entry_xattr {
	char *name;
	struct bytes value;
};

struct entry {
	char *path; /* relative, any bytes but NUL */
	enum entry_type type;
	uint32_t mode; /* permission bits, 07777 */
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint64_t size; /* files */
	bool running;  /* files: written as long as the job lives; what is here is a prefix */
	/* files: as long as it is the same on the same boot of the same machine, the file has not
	 * changed; 0: not known */
	uint64_t stamp;
	/* files: chunk_count(size) chunks; `pack` in them is a position in the manifest's packs */
	struct chunk *chunks;
	char *target; /* symlinks: as readlink() returns it; hard links: path of the file */
	struct entry_xattr *xattrs;
	size_t xattr_count;
};

struct manifest_pack {
	char *key; /* below jobs/<job>/, so that a job can be copied elsewhere */
	uint64_t bytes;
};

/* A part of the list of entries, in a pack like the content of a file: see entry_pieces.h. */
struct manifest_piece {
	struct chunk chunk; /* never CHUNK_ZERO */
	uint32_t size;      /* raw bytes, at most CHUNK_SIZE */
};

/* The part of one member in the snapshot of a gang: see gang_manifest.h. */
struct manifest_part {
	uint32_t member;
	/* so many of the manifest's, behind those of the parts before it; 0: it is empty */
	uint32_t pieces;
	uint32_t files, left_out, directory_mode;
	uint64_t bytes;
	char nonce[33], host[65];
	bool without_checkpoint; /* its files are beside one: the member saves none */
	bool kept;               /* they are in the part of `keeper`: both have one directory */
	bool gone;               /* the member had left the gang before: it has no part */
	uint32_t keeper;
	json_t *about; /* owned; may be NULL */
};

struct manifest {
	struct snapshot_id id, parent;
	char *job;
	char nonce[33];
	char created[32], host[65], reason[32];
	int64_t step;            /* -1: unknown */
	uint32_t directory_mode; /* of the checkpoint directory itself */
	uint32_t files;
	uint32_t left_out; /* skipped: sockets, devices, links that lead out */
	uint64_t bytes, bytes_stored;
	json_t *about;               /* owned; may be NULL */
	struct manifest_pack *packs; /* with pieces: sorted by key */
	size_t pack_count;
	/* where the entries are; none: in the manifest itself */
	struct manifest_piece *pieces;
	size_t piece_count;
	/* of a gang: one per member; none: of one machine */
	struct manifest_part *parts;
	size_t part_count;
	/* Of a member's part, while it is not yet one of `parts`; see gang_records.h. */
	bool without_checkpoint, final, kept, gone;
	uint32_t keeper;
	/* sorted by path, byte by byte, so that a directory comes before what is in it */
	struct entry *entries;
	size_t entry_count;
};

void entry_release(struct entry *entry);
/* All but the path, which is the one of `to`. */
void entry_copy(const struct entry *from, struct entry *to);
void manifest_release(struct manifest *manifest);
AUTO(struct manifest, manifest_release);

/* The body of the record, with the pieces if there are any, else with the entries. NULL:
 * ERR_FAILED. The caller decrefs. */
json_t *manifest_encode(const struct manifest *manifest, struct err *err);
/* The entries as they would be in a manifest without pieces. The caller decrefs. */
json_t *manifest_encode_entries(const struct manifest *manifest);

/*
 * Decodes and checks everything. `job` and `id` are those of the key it was read from. With pieces
 * there are no entries yet: entry_pieces_join() adds them. ERR_CORRUPT names what is wrong and
 * where. The caller frees with manifest_release(); after a failure there is nothing to free.
 */
int manifest_decode(json_t *body, const char *job, struct snapshot_id id, struct manifest *manifest,
		    struct err *err);

/* Checks the whole list: order, parents, hard links, counts and sums. ERR_CORRUPT. */
int manifest_check_entries(const struct manifest *manifest, struct err *err);

/* The entry at `path`, or NULL. Borrowed. */
const struct entry *manifest_find(const struct manifest *manifest, const char *path);

/* The chunks of a file that an item has: all of them, or, in a piece of the list, a part. */
struct entry_part {
	size_t first, count;
};
/* An item with that part of the chunks of a file; entry->chunks[0] is the first of them. A later
 * part has only path, `from`, its own size and its chunks. The caller decrefs. */
json_t *manifest_entry_encode_part(const struct entry *entry, struct entry_part part);
/* The same for an item that may be a part; *part tells which. The first has the file's size and so
 * many chunks at most; of a later part, entry->size is its own, and it has all chunks of that. */
int manifest_entry_decode_part(json_t *item, const struct manifest_pack *packs, size_t pack_count,
			       struct entry *entry, struct entry_part *part, struct err *err);

#endif
