/*
 * PURE. The envelope of every small object: one header line of JSON with kind, version, size and
 * digest, then the JSON body. The header's form never changes, so that every version can tell what
 * it cannot read.
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
	RECORD_DRAIN
};

/* Appends to `out`; `body` is borrowed. ERR_FAILED past the limit of `out`. */
int record_encode(enum record_kind kind, json_t *body, struct bytes *out, struct err *err);

/* ERR_CORRUPT: truncated, flipped, of another kind. ERR_VERSION: of a higher
 * version. The caller decrefs *body. */
int record_decode(enum record_kind kind, const void *data, size_t size, json_t **body,
		  struct err *err);

#endif
