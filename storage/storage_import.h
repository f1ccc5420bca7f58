/* PUBLIC, through storage.h. What others have written becomes a directory, which can be saved. */
#ifndef STORAGE_IMPORT_H
#define STORAGE_IMPORT_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdint.h>

struct import_result {
	uint32_t files;
	uint64_t bytes;
	/* Devices, links that lead out, and what else has no place in a snapshot. */
	uint32_t left_out;
};

/*
 * Unpacks a tar, compressed by whatever libarchive reads, into an empty directory. Nothing is ever
 * written outside of it. `most`: bytes that it may become, holes of sparse files and a block for
 * each name included, because few bytes of an archive can become any number. ERR_CORRUPT: no
 * archive, damaged, cut short, or with names that lead out. ERR_NO_SPACE: more than `most`.
 */
int storage_import_archive(int fd, const char *directory, uint64_t most,
			   struct import_result *result, struct cancel *cancel, struct err *err);

/* Copies the objects below a URL, as plain files, into an empty directory.
 * ERR_NOT_FOUND: there is none. ERR_NO_SPACE: they are more than `most` bytes. */
int storage_import_objects(const char *url, const char *directory, uint64_t most,
			   void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			   void *arg, struct import_result *result, struct cancel *cancel,
			   struct err *err);

#endif
