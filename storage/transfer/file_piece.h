/* PRIVATE to file_reader.c: one chunk of an open file, read to where it is packed. */
#ifndef FILE_PIECE_H
#define FILE_PIECE_H

#include "packer.h"

struct file_piece {
	struct entry *entry; /* its file, with room for all chunks */
	size_t number;       /* of the chunk */
	int fd;
	size_t size;
	bool expected; /* read before, by this process: it is most likely known */
	bool changed;  /* it was expected, and is another now: filled in */
};

/*
 * Reads the piece and packs it, and fills in its chunk. What was read before needs no buffer of a
 * pack, for which it might wait; if it is not what it was, it is read again and packed. *torn: the
 * file is shorter by now; the rest counts as zero bytes. Errors of packer_reserve(), or of reading.
 */
int file_piece_pack(struct file_piece *piece, struct packer *packer, bool *torn, struct err *err);

#endif
