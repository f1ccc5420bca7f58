/* PRIVATE: fills packs with the chunks of a take, on one thread, and puts them into the store. */
#ifndef PACKER_H
#define PACKER_H

#include "pack.h"
#include "record_store.h"

#include <stdatomic.h>

/* What the packers of one take have in common. */
struct packing {
	struct storage *storage;
	struct snapshot_id id;
	char nonce[33];
	struct cancel *cancel;
	atomic_uint packs; /* so far, for their names */
	_Atomic uint64_t bytes_sent;
	atomic_uint chunks_sent, chunks_kept;
};

struct packer {
	struct packing *packing;
	struct pack_builder builder;
	uint8_t *buffer;  /* PACK_CAPACITY */
	uint8_t *scratch; /* a compressed chunk */
	uint32_t pack;    /* its number in the index, while there is something in it */
};

int packer_init(struct packer *packer, struct packing *packing, struct err *err);
void packer_release(struct packer *packer);

/* Where to put the next `size` raw bytes (at most CHUNK_SIZE). Puts the pack first if it is full. */
int packer_room(struct packer *packer, size_t size, uint8_t **room, struct err *err);
/* Takes the bytes put at packer_room() and says where they will lie. */
void packer_add(struct packer *packer, size_t size, struct chunk *chunk);
/* Puts what is left. */
int packer_finish(struct packer *packer, struct err *err);

#endif
