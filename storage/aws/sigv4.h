/*
 * PURE. AWS Signature Version 4, by header, as S3 wants it: the path is signed exactly as it is
 * sent (encoded once, never normalised), and so is the query, whose names are in sorted order. A
 * session token is a header like any other: add it before signing. The rules: "Signature Version 4
 * signing process" in the AWS General Reference.
 */
#ifndef SIGV4_H
#define SIGV4_H

#include "base/text.h"

#include <stdint.h>

struct sigv4_header {
	const char *name;  /* in lower case; each name once */
	const char *value; /* is trimmed, and blanks within become one */
};

struct sigv4_request {
	const char *method;
	const char *path;         /* encoded; begins with '/' */
	const char *query;        /* encoded and sorted, "a=1&b=2"; "" for none */
	const char *payload_hash; /* hex SHA-256, or "UNSIGNED-PAYLOAD" */
	/* All are signed. "host" must be among them; "x-amz-date" must not: it is added. */
	const struct sigv4_header *headers;
	size_t header_count;
};

struct sigv4_identity {
	const char *access_key;
	const char *secret_key;
	const char *region;
	const char *service; /* "s3", "sts" */
};

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"
/* SHA-256 of nothing */
#define SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct sigv4_signed {
	/* the value of x-amz-date, to be sent along */
	char date[32];
	/* the value of Authorization; no secret, but as good as one for minutes */
	char *authorization;
	char signature[65];
	/* How it came about, for tests and for comparing with what a server says it expected. */
	struct bytes canonical, to_sign;
};

/* Fills `result`; the caller releases it. */
void sigv4_sign(const struct sigv4_request *request, const struct sigv4_identity *identity,
		int64_t now_ms, struct sigv4_signed *result);
void sigv4_signed_release(struct sigv4_signed *result);

#endif
