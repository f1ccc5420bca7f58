/* PRIVATE. PURE. The reply of a metadata service, and the verdict on it. The *_reply.c files turn
 * one into the other. */
#ifndef CLOUD_REPLY_H
#define CLOUD_REPLY_H

#include "cloud.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
	int status;
	const char *body; /* not NUL-terminated; may be NULL if size is 0 */
	size_t size;
	const char *flavor; /* Metadata-Flavor, or NULL */
	const char *etag;   /* or NULL */
	const char *server; /* or NULL */
	int64_t arrived_ms; /* monotonic */
	/* by the service's clock if that is known to differ from ours, else by ours */
	int64_t arrived_wall_ms;
};

enum verdict_kind {
	VERDICT_UNKNOWN,  /* unusable: `why` */
	VERDICT_NEGATIVE, /* a well-formed no */
	VERDICT_POSITIVE, /* a well-formed notice */
	VERDICT_ABSENT,   /* a well-formed "not available here": `why` has the fix */
};

struct verdict {
	enum verdict_kind kind;
	struct notice notice; /* valid if POSITIVE */
	char why[200];        /* the reason; with a notice file, what of it is not understood */
};

void verdict_set(struct verdict *verdict, enum verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets UNKNOWN with a text for an unexpected reply. */
void verdict_unexpected(struct verdict *verdict, const struct reply *reply);
/* Sets POSITIVE with this source and identity; the reason is formatted. */
void verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
		    const char *identity, int64_t deadline_ms, int64_t seen_ms, const char *format,
		    ...) __attribute__((format(printf, 7, 8)));

/* Copies the body without surrounding white space. False: it is longer than the buffer, or has a
 * NUL byte. */
bool reply_text(const struct reply *reply, char *buffer, size_t capacity);
/* The first character that is not white space, or 0. */
char reply_first_char(const struct reply *reply);

/* The wall clock to use: ours if the service's Date agrees within its precision, else the
 * service's. `date` may be NULL. */
int64_t reply_wall_clock(const char *date, int64_t our_wall_ms);

#endif
