/*
 * A bucket as calls see it: address, credentials, connections. A call is signed anew at each try,
 * and follows where the bucket turns out to be: region and host are then remembered for all later
 * ones. Without a region anywhere it begins with us-east-1, whose answer names the right one.
 */
#ifndef S3_BUCKET_H
#define S3_BUCKET_H

#include "s3_reply.h"
#include "storage/aws/aws.h"
#include "storage/backend/backend.h"
#include "storage/http/http.h"

#include <pthread.h>

struct s3_bucket {
	struct aws_settings settings;
	struct aws_chain *chain;
	struct retrying_client *client;
	pthread_mutex_t mutex;     /* holds address.region and `host`, which an answer may change */
	struct s3_address address; /* bucket and prefix never change */
	char *host;                /* NULL: the address's own */
};

/* ERR_INVALID: URL or settings. */
int s3_bucket_init(struct s3_bucket *bucket, const char *url, struct err *err);
void s3_bucket_release(struct s3_bucket *bucket); /* when no call is under way */

/* Thread-safe. The kinds of errors are those of s3_reply.h; the sentence begins with method and
 * object. */
int s3_bucket_perform(struct s3_bucket *bucket, const struct store_call *call,
		      struct http_response *response, struct cancel *cancel, struct err *err);

/* "https://bucket.s3.eu-west-1.amazonaws.com, region eu-west-1": where requests go now. */
void s3_bucket_describe(struct s3_bucket *bucket, char *text, size_t capacity);

#endif
