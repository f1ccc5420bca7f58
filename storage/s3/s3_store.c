/*
 * s3://: Amazon S3 and what speaks its protocol. An object is one PUT; the if-absent is
 * "If-None-Match: *".
 */
#include "s3_store.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "s3_bucket.h"
#include "storage/backend/backend.h"
#include "storage/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct s3_store {
	struct http_store http;
	struct s3_bucket bucket;
};

static struct s3_store *s3_of(struct store *store)
{
	return (struct s3_store *)store;
}

/* --- the operations --- */

static int s3_perform(struct store *store, const struct store_call *call,
		      struct http_response *response, struct cancel *cancel, struct err *err)
{
	return s3_bucket_perform(&s3_of(store)->bucket, call, response, cancel, err);
}

/* For a store without if-absent, when the user has accepted that: whoever looks and puts at the
 * same instant as another also wins. */
static int put_after_looking(struct store *store, const char *key, const void *data, size_t size,
			     bool once, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes there = {0};
	struct err seen = {0};

	if (http_store_get(store, key, 0, STORE_TO_END, &there, cancel, &seen) == 0)
		return err_set(err, ERR_EXISTS, "%s: it is there already", key);
	if (seen.kind == ERR_NOT_FOUND)
		return http_store_put_object(store, key, data, size, ASKED_PUT, once, cancel, err);
	if (err)
		*err = seen;
	return -1;
}

static int s3_put(struct store *store, const char *key, const void *data, size_t size,
		  enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	bool look = mode != STORE_UNIQUE && !s3_of(store)->bucket.settings.conditional;
	int result;

	fault_point("before_s3_put");
	if (look)
		result = put_after_looking(store, key, data, size, mode == STORE_IF_ABSENT_ONCE,
					   cancel, err);
	else
		result = http_store_put(store, key, data, size, mode, cancel, err);
	fault_point("after_s3_put");
	return result;
}

/* In sorted order, which is how it is signed. */
static void s3_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			      const char *token)
{
	if (token)
		uri_add(query, "continuation-token", token);
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	uri_add(query, "encoding-type", "url");
	uri_add(query, "list-type", "2");
	uri_add(query, "prefix", prefix);
}

/* --- opening --- */

static void s3_close(struct store *store)
{
	struct s3_store *s3 = s3_of(store);

	s3_bucket_release(&s3->bucket);
	free(s3);
}

static int s3_open(const char *url, bool create, bool read_only, struct store **store,
		   struct cancel *cancel, struct err *err)
{
	static const struct http_store_ops ops = {s3_perform, s3_add_page_query,
						  bucket_listing_read};
	struct s3_store *s3;

	if (cancel_check(cancel, err) < 0)
		return -1;
	s3 = memory_new(sizeof(*s3));
	if (s3_bucket_init(&s3->bucket, url, err) < 0) {
		free(s3);
		return err_wrap(err, "store %s", url);
	}
	s3->http = (struct http_store){{.ops = &s3_store_ops},
				       &ops,
				       s3->bucket.address.prefix,
				       s3->bucket.client};
	*store = &s3->http.store;
	if (create && !read_only && s3->bucket.settings.conditional &&
	    http_store_prove_if_absent(*store, url, "\"If-None-Match: *\"",
				       "use another store, or accept that with "
				       "REPRIEVE_S3_CONDITIONAL=off",
				       cancel, err) < 0) {
		s3_close(*store);
		*store = NULL;
		return -1;
	}
	return 0;
}

/* --- for people --- */

static void s3_describe(struct store *store, char *text, size_t capacity)
{
	struct s3_bucket *bucket = &s3_of(store)->bucket;
	char source[256];

	s3_bucket_describe(bucket, text, capacity);
	aws_chain_source(bucket->chain, source, sizeof(source));
	text_set(text + strlen(text), capacity - strlen(text), ", credentials: ");
	text_set(text + strlen(text), capacity - strlen(text), source);
}

static void s3_read_health(struct store *store, struct store_health *health)
{
	http_store_read_health(store, health);
	health->in_the_clear = s3_address_is_in_the_clear(&s3_of(store)->bucket.address);
	health->if_absent_guessed = !s3_of(store)->bucket.settings.conditional;
}

const struct store_ops s3_store_ops = {
	.scheme = "s3",
	.open = s3_open,
	.close = s3_close,
	.put = s3_put,
	.get = http_store_get,
	.read = http_store_read,
	.list = http_store_list,
	.remove = http_store_remove,
	.describe = s3_describe,
	.read_health = s3_read_health,
};
