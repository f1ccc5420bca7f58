/* PURE. Where a bucket is: URL, endpoint and region -> host and path of a request. */
#ifndef S3_ADDRESS_H
#define S3_ADDRESS_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>

enum s3_style {
	/* virtual host at AWS unless the bucket's name has dots; path
	 * style at any other endpoint */
	S3_STYLE_AUTO,
	/* https://HOST/BUCKET/KEY */
	S3_STYLE_PATH,
	/* https://BUCKET.HOST/KEY */
	S3_STYLE_VIRTUAL,
};

struct s3_address {
	char *bucket;
	char *prefix; /* in front of every key: "" or "some/where/" */
	/* Of a custom endpoint; NULL: AWS itself, by region. */
	char *endpoint_host; /* "127.0.0.1:9000" */
	char *endpoint_path; /* "" or "/some/where" */
	bool tls;
	enum s3_style style;
	char *region;
};

/*
 * From "s3://bucket/pre fix", an endpoint ("https://host:port", NULL for AWS) and a region. The
 * prefix may hold any characters but control characters; slashes at both ends are dropped.
 * ERR_INVALID says what is wrong with which of them.
 */
int s3_address_init(struct s3_address *address, const char *url, const char *endpoint,
		    const char *region, enum s3_style style, struct err *err);
/* Requests go to another machine over plain http. */
bool s3_address_is_in_the_clear(const struct s3_address *address);
void s3_address_release(struct s3_address *address);
AUTO(struct s3_address, s3_address_release);

/* "bucket.s3.eu-west-1.amazonaws.com": what Host says. The caller frees. */
char *s3_address_host(const struct s3_address *address);
/* The encoded path of a key below the prefix; NULL: of the bucket itself. The caller frees. */
char *s3_address_path(const struct s3_address *address, const char *key);

/* A region as it stands in a header or an answer: letters, digits, '-', at most 63 of them. */
bool s3_address_is_region(const char *region);

#endif
