#include "file_piece.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Reads `size` bytes of the piece from `at` on. */
static int read_piece(const struct file_piece *piece, size_t at, size_t size, uint8_t *room,
		      bool *torn, struct err *err)
{
	off_t offset = (off_t)(piece->number * CHUNK_SIZE + at);
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(piece->fd, room + done, size - done, offset + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		/* On NFS, a running file may be deleted by another machine. */
		if (got < 0 && !(errno == ESTALE && piece->entry->running))
			return err_os(err, errno, "%s", piece->entry->path);
		if (got <= 0) {
			*torn = true;
			memset(room + done, 0, size - done);
			return 0;
		}
		done += (size_t)got;
	}
	return 0;
}

/* Into `room`, or, if that is NULL, piece by piece into the packer's scratch. */
static int look_at_piece(const struct file_piece *piece, struct packer *packer, uint8_t *room,
			 bool *torn, struct err *err)
{
	packer_look_begin(packer, !room);
	for (size_t at = 0; at < piece->size; at += PACKER_PIECE) {
		size_t left = piece->size - at, size = left < PACKER_PIECE ? left : PACKER_PIECE;
		uint8_t *target = room ? room + at : packer->scratch;

		if (read_piece(piece, at, size, target, torn, err) < 0)
			return -1;
		packer_look_add(packer, target, size);
	}
	return 0;
}

int file_piece_pack(struct file_piece *piece, struct packer *packer, bool *torn, struct err *err)
{
	struct chunk *chunk = &piece->entry->chunks[piece->number];
	uint8_t *room;

	if (piece->expected && look_at_piece(piece, packer, NULL, torn, err) < 0)
		return -1;
	if (piece->expected && packer_look_end(packer, chunk))
		return 0;
	piece->changed = piece->expected;
	if (packer_reserve(packer, piece->size, &room, err) < 0 ||
	    look_at_piece(piece, packer, room, torn, err) < 0)
		return -1;
	packer_add_looked(packer, chunk);
	return 0;
}
