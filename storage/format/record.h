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

/* Of the format of FORMAT.md. Version 1 was never released; nothing reads it. */
#define RECORD_VERSION 2

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
	RECORD_CATALOGUE
};

/* Appends the record to `out`; `body` is borrowed. ERR_FAILED: it would exceed the limit of
 * `out`. */
int record_encode(enum record_kind kind, json_t *body, struct bytes *out, struct err *err);

/* Checks and decodes a record; the caller decrefs *body. ERR_CORRUPT: truncated, changed, or of
 * another kind. ERR_VERSION: written by another version. */
int record_decode(enum record_kind kind, const void *data, size_t size, json_t **body,
		  struct err *err);

#endif
