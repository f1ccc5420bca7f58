/* PRIVATE: fills packs with the chunks of a take or a presend, on one thread, and
 * hands them to the uploader. */
#ifndef PACKER_H
#define PACKER_H

#include "pack_uploader.h"
#include "storage/format/format.h"

#include <stdatomic.h>

/* What the packers of one take have in common. */
struct packing {
	struct transfer *transfer;
	struct pack_uploader *uploader;
	struct snapshot_id id;
	char nonce[33];
	struct cancel *cancel;
	atomic_uint packs; /* so far, for their names */
	atomic_uint chunks_sent, chunks_kept;
};

struct packer {
	struct packing *packing;
	struct pack_builder builder;
	struct pack_upload *upload; /* the buffer being filled, or NULL */
	uint8_t *scratch;           /* a compressed chunk */
	uint32_t pack;              /* its number in the index, while there is something in it */
};

int packer_init(struct packer *packer, struct packing *packing, struct err *err);
/* What has not been handed over is lost. */
void packer_release(struct packer *packer);

/* Where to put the next `size` raw bytes (at most CHUNK_SIZE). Hands the pack over first if it is
 * full, and may wait for a buffer. */
int packer_reserve(struct packer *packer, size_t size, uint8_t **room, struct err *err);
/* Takes the bytes put at packer_reserve() and says where they will lie. */
void packer_add(struct packer *packer, size_t size, struct chunk *chunk);
/* Hands over what is left. */
void packer_finish(struct packer *packer);

#endif
