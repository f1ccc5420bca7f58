/* PURE. What an S3 answer means: status, headers and body -> verdict, kind of
 * error and a sentence. */
#ifndef S3_REPLY_H
#define S3_REPLY_H

#include "base/err.h"
#include "storage/http/http.h"

enum s3_operation {
	S3_PUT,
	S3_PUT_IF_ABSENT,
	S3_GET,
	S3_LIST,
	S3_REMOVE,
};

struct s3_reply {
	int status;
	const char *region;   /* x-amz-bucket-region; NULL: not there */
	const char *location; /* Location */
	const char *etag;     /* ETag */
	const void *body;
	size_t size;
};

/* With CALL_MOVED, where to: one or both are not empty. */
struct s3_move {
	char region[64];
	char host[256];
};

/*
 * ERR_NOT_FOUND only for S3's own NoSuchKey; ERR_EXISTS only for S3_PUT_IF_ABSENT. A missing bucket
 * is ERR_INVALID, and a 403 always ERR_DENIED: without s3:ListBucket S3 says 403 where an object is
 * missing, and that must never pass for "nothing there". A 200 without what S3's own has (an ETag
 * with an object, and to what is put or removed no page) is ERR_RETRY, to be tried again.
 */
enum call_verdict s3_reply_judge(enum s3_operation operation, const struct s3_reply *answer,
				 struct s3_move *move, struct err *err);

#endif
