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

/* Of the format of FORMAT.md: of the store as a whole, and of every kind of record but two.
 * Version 1 was never released; nothing reads it. */
#define RECORD_VERSION 2
/* Of claims. Version 2 is still read: its readers do not know summaries, and would take the
 * attempts in one for lost. */
#define RECORD_VERSION_ATTEMPT 3
/* Of manifests. Version 2, which has all entries in the manifest itself, is still read. */
#define RECORD_VERSION_SNAPSHOT 3
/* Of the manifests of gangs, which an older reader would restore as one directory. */
#define RECORD_VERSION_GANG 4
/* Of those in which a member has no part since it had gone, which an older reader would take for
 * one that saves nothing. */
#define RECORD_VERSION_GONE 5

enum record_kind {
	RECORD_FORMAT,
	RECORD_ATTEMPT,
	RECORD_END,
	RECORD_SNAPSHOT,
	RECORD_PIN,
	RECORD_DRAIN,
	RECORD_DAMAGE,
	RECORD_CONFIRMED,
	RECORD_SUMMARY,
	RECORD_ARCHIVE,
	RECORD_LEDGERS,
	RECORD_CATALOGUE,
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
