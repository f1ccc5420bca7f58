/* PRIVATE. PURE. What a metadata service answered, and what it means. Each *_reply.c turns the
 * first into the second. */
#ifndef CLOUD_REPLY_H
#define CLOUD_REPLY_H

#include "cloud.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
	int status;
	const char *body; /* not zero-terminated; may be NULL where size is 0 */
	size_t size;
	const char *flavor;      /* Metadata-Flavor, or NULL */
	const char *etag;        /* or NULL */
	const char *server;      /* or NULL */
	int64_t arrived_ms;      /* monotonic */
	int64_t arrived_wall_ms; /* by the service's clock where that is known to differ, else by
				    ours */
};

enum verdict_kind {
	VERDICT_UNKNOWN,  /* one cannot tell: `why` */
	VERDICT_NEGATIVE, /* a well-formed no */
	VERDICT_POSITIVE, /* a well-formed notice */
	VERDICT_ABSENT,   /* a well-formed "I do not have that here": `why` says the fix */
};

struct verdict {
	enum verdict_kind kind;
	struct notice notice; /* where positive */
	char why[200];
};

void verdict_set(struct verdict *verdict, enum verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* UNKNOWN, with words for an answer that is none of what was expected. */
void verdict_unexpected(struct verdict *verdict, const struct reply *reply);
/* POSITIVE; source and identity as given, reason by format. */
void verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
		    const char *identity, int64_t deadline_ms, int64_t seen_ms, const char *format,
		    ...) __attribute__((format(printf, 7, 8)));

/* The body without surrounding white space; false where it is longer than the
 * buffer or holds a zero byte. */
bool reply_text(const struct reply *reply, char *buffer, size_t capacity);
/* First character that is not white space, or 0. */
char reply_first_char(const struct reply *reply);

/* The clock to believe: ours when the service's Date agrees within its precision, else the
 * service's. `date` may be NULL. */
int64_t reply_wall_clock(const char *date, int64_t our_wall_ms);

#endif
