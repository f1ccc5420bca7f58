/*
 * A bucket as calls see it: address, credentials, connections. A call is signed anew at each try,
 * and follows where the bucket turns out to be: region and host are then remembered for all later
 * ones. Without a region anywhere it begins with us-east-1, whose answer names the right one.
 */
#ifndef S3_BUCKET_H
#define S3_BUCKET_H

#include "s3_reply.h"
#include "storage/aws/aws.h"
#include "storage/http/http.h"

#include <pthread.h>

struct s3_bucket {
	struct aws_settings settings;
	struct aws_chain *chain;
	struct retrying_client *remote;
	pthread_mutex_t mutex;     /* holds address.region and `host`, which an answer may change */
	struct s3_address address; /* bucket and prefix never change */
	char *host;                /* NULL: the address's own */
};

struct s3_call {
	enum s3_operation operation;
	const char *method;
	const char *key;      /* below the prefix; NULL: the bucket itself */
	const char *query;    /* encoded; "" for none */
	const char *range;    /* "bytes=5-9"; NULL: all */
	const char *checksum; /* of the body, for x-amz-checksum-crc32c; NULL: none */
	const void *body;     /* NULL: none */
	size_t body_size;
	/* Reads a good answer; when it fails, the call is made again. NULL: nothing to read. */
	int (*read)(void *arg, const struct http_response *response, struct err *err);
	void *arg;
};

/* ERR_INVALID: URL or settings. */
int s3_bucket_init(struct s3_bucket *bucket, const char *url, struct err *err);
void s3_bucket_release(struct s3_bucket *bucket); /* when no call is under way */

/* Thread-safe. The kinds of errors are those of s3_reply.h; the sentence begins
 * with method and object. */
int s3_bucket_perform(struct s3_bucket *bucket, const struct s3_call *call,
		      struct http_response *response, struct cancel *cancel, struct err *err);

/* "https://bucket.s3.eu-west-1.amazonaws.com, region eu-west-1": where requests go now. */
void s3_bucket_describe(struct s3_bucket *bucket, char *text, size_t capacity);

#endif
