/*
 * PURE. The list of a snapshot's entries in pieces, which are packed like the content of files. A
 * piece is a text that stands for itself: it names the packs of its chunks by their keys. So the
 * same entries give the same text in the next snapshot, and it is not sent again.
 */
#ifndef ENTRY_PIECES_H
#define ENTRY_PIECES_H

#include "base/cleanup.h"
#include "manifest.h"

/* A list whose text is at most this long stays in the manifest: one request less. */
#define ENTRY_PIECES_APART ((size_t)32 << 10)

/* --- writing --- */

/* A piece that is being filled. */
struct entry_piece_writer {
	/* by the numbers that the entries' chunks have; borrowed */
	const char *const *keys;
	uint32_t *numbers; /* owned; per key: its place in `used`, plus one */
	uint32_t *used;    /* owned; the packs of this piece */
	size_t used_count;
	uint64_t weight; /* of the entries so far, and the text of them */
	struct bytes text;
};

void entry_piece_writer_init(struct entry_piece_writer *writer, const char *const *keys,
			     size_t key_count);
void entry_piece_writer_release(struct entry_piece_writer *writer);
AUTO(struct entry_piece_writer, entry_piece_writer_release);

/* A file with many chunks is written in parts: the one that begins with chunk `first` has so many;
 * 0 behind the last. */
size_t entry_part_length(const struct entry *entry, size_t first);

/* Whether the piece ends before that part of `next`. Decided by the paths and the numbers of
 * chunks, so that a file more or less changes the pieces around it alone. */
bool entry_piece_ends(const struct entry_piece_writer *writer, const struct entry *next,
		      size_t first);
int entry_piece_add(struct entry_piece_writer *writer, const struct entry *entry, size_t first,
		    struct err *err);
/* The text of the piece, in `out`, which is overwritten; the writer is empty again. The text may
 * exceed CHUNK_SIZE, by the attributes of a file: then the list cannot be in pieces. */
int entry_piece_finish(struct entry_piece_writer *writer, struct bytes *out, struct err *err);

/* --- reading --- */

/* The entries of one piece. */
struct entry_piece {
	struct entry *entries;
	struct entry_part *parts; /* one per entry: the chunks that it has */
	size_t count;
};
void entry_piece_release(struct entry_piece *piece);

/* Decodes a piece of `manifest`, and checks what each entry alone can show; `pack` in the chunks is
 * a position in the manifest's packs. Even on failure the caller frees *piece. ERR_CORRUPT. */
int entry_piece_decode(const void *text, size_t size, const struct manifest *manifest,
		       struct entry_piece *piece, struct err *err);

/* Moves the entries of all pieces, manifest->piece_count of them, into the manifest, and checks the
 * whole list. ERR_CORRUPT: the manifest still has no entries. */
int entry_pieces_join(struct manifest *manifest, struct entry_piece *pieces, struct err *err);

#endif
