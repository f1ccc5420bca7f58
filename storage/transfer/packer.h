/* PRIVATE: fills packs with the chunks of a save or an early upload, on one thread, and hands them
 * to the uploader. */
#ifndef PACKER_H
#define PACKER_H

#include "pack_uploader.h"
#include "storage/format/format.h"

#include <stdatomic.h>

/* Shared by the packers of one save. */
struct packing {
	struct transfer *transfer;
	struct pack_uploader *uploader;
	struct snapshot_id id;
	char nonce[33];
	struct cancel *cancel;
	atomic_uint packs; /* packs begun so far, for their names */
	atomic_uint chunks_sent, chunks_kept;
	/* Read for packs that are not full yet, which no uploader knows of. */
	_Atomic uint64_t bytes_held;
};

struct packer {
	struct packing *packing;
	struct pack_builder builder;
	struct pack_upload *upload; /* the buffer being filled, or NULL */
	uint8_t *scratch;           /* a compressed chunk; or what is only looked at */
	uint8_t *room;              /* where the next chunk is read to */
	uint32_t pack;              /* number of the pack in the index, once it has a chunk */
	uint64_t held;              /* raw bytes of its chunks: of bytes_held */
	/* What is known so far of the bytes that are being looked at. */
	struct {
		struct checksum_stream *checksum;
		size_t size;
		bool zero;
	} look;
};

int packer_init(struct packer *packer, struct packing *packing, struct err *err);
/* Frees the packer; a pack that has not been handed over is lost. */
void packer_release(struct packer *packer);

/* *room is where to put the next `size` raw bytes (at most CHUNK_SIZE), aligned. Hands a full pack
 * over first, and then blocks until a buffer is free. Errors of pack_uploader_borrow_buffer(). */
int packer_reserve(struct packer *packer, size_t size, uint8_t **room, struct err *err);
/* Packs the bytes put at packer_reserve() unless the index has them, and fills in where they
 * are. */
void packer_add(struct packer *packer, size_t size, struct chunk *chunk);

/*
 * The same while they are being read: what has just come is in the processor's cache. The bytes
 * come in order, in pieces of PACKER_PIECE or so. What is known need not be at packer_reserve().
 */
#define PACKER_PIECE ((size_t)256 << 10)
void packer_look_begin(struct packer *packer);
void packer_look_add(struct packer *packer, const void *data, size_t size);
/* True: they are known, and `chunk` says where. */
bool packer_look_end(struct packer *packer, struct chunk *chunk);
/* Packs what was looked at to its end, and is at packer_reserve(). */
void packer_add_looked(struct packer *packer, struct chunk *chunk);
/* Hands over the last pack. */
void packer_finish(struct packer *packer);

#endif
