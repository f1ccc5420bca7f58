/*
 * PURE. The envelope of every small object: a header line of JSON with kind, version, size and
 * digest, then a JSON body. The form of the header never changes, so that every version recognises
 * what it cannot read.
 */
#ifndef RECORD_H
#define RECORD_H

#include "base/err.h"
#include "base/text.h"

#include <jansson.h>

/* The version that FORMAT.md describes: the store has it, and every record. Versions 1 and 2 were
 * never released, and nothing reads them. */
#define RECORD_VERSION 3

enum record_kind {
	RECORD_FORMAT,
	RECORD_ATTEMPT,
	RECORD_END,
	RECORD_SNAPSHOT,
	RECORD_PIN,
	RECORD_DRAIN,
	RECORD_SWEPT,
	RECORD_CONFIRMED,
	RECORD_JOIN,
	RECORD_PART,
	RECORD_EVENT
};

/* The bytes that a record of that kind may have: whoever can write to the store could otherwise
 * have its readers run out of memory. `manifest_most` is for those that grow with the checkpoint;
 * 0: the default. */
size_t record_size_most(enum record_kind kind, size_t manifest_most);
/* The same for those by what --memory gives for buffers (0: its default). */
size_t record_manifest_most(uint64_t memory_bytes);

/* Appends the record to `out`; `body` is borrowed. ERR_FAILED: it would exceed the limit of
 * `out`. */
int record_encode(enum record_kind kind, json_t *body, struct bytes *out, struct err *err);

/* Checks and decodes a record; the caller decrefs *body. ERR_CORRUPT: truncated, changed, or of
 * another kind. ERR_VERSION: written by a version that this one cannot read. */
int record_decode(enum record_kind kind, const void *data, size_t size, json_t **body,
		  struct err *err);

#endif
