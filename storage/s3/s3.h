/*
 * storage/s3/: Amazon S3 and what speaks its protocol (s3://BUCKET/PREFIX). What each operation
 * promises is said in object_store.h. For the rest of storage/: s3_store_ops.
 */
#ifndef STORAGE_S3_H
#define STORAGE_S3_H

#include "storage/backend/backend.h"

extern const struct store_ops s3_store_ops;

/*
 * ERR_NOT_FOUND only for S3's own NoSuchKey; ERR_EXISTS only for ASKED_PUT_IF_ABSENT. A missing
 * bucket is ERR_INVALID, and a 403 always ERR_DENIED: without s3:ListBucket S3 says 403 where an
 * object is missing, and that must never pass for "nothing there". CAME_UNMARKED is a reply without
 * an ETag. S3 sends one with each object, and no page for people: a good status without the one or
 * with the other is ERR_RETRY, to be tried again.
 */
extern const struct reply_table s3_replies;

struct s3_reply {
	int status;
	/* The headers x-amz-bucket-region, Location and ETag; NULL: not there. */
	const char *region;
	const char *location;
	const char *etag;
	const void *body;
	size_t size;
};

/* With CALL_MOVED, where to: one or both are not empty. */
struct s3_move {
	char region[64];
	char host[256];
};

/* `asked` is one of ASKED_... of store_reply.h. CALL_MOVED only where the reply says where to. */
enum call_verdict s3_reply_judge(unsigned asked, const struct s3_reply *reply, struct s3_move *move,
				 struct err *err);

/* PURE. Is this one of the servers that are known to decide "If-None-Match: *" and put in one step?
 * By the headers Server and x-amz-request-id of an answer; NULL: not there. Another one may look,
 * and then put. */
bool s3_server_is_atomic(const char *server, const char *request_id);

#endif
