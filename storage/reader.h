/*
 * PRIVATE: reads the files of a frozen tree on all threads and packs them. A file that changes while it is read is read again.
 */
#ifndef READER_H
#define READER_H

#include "packer.h"
#include "tree.h"

/* Fills entry.chunks of every file; `pack` in them counts in the storage's index. bytes_done is told as it goes, from any thread. */
int reader_run(struct tree *tree, struct packing *packing, unsigned threads,
	void (*told)(void *arg, uint64_t bytes_done), void *arg, struct err *err);

#endif
