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

enum {
	/* a page of a list has 1000 keys of 1 KiB at most; an error a few hundred bytes */
	ANSWER_MOST = 16 << 20,
	ERROR_BODY_SIZE = 64 * 1024,
};

#define PROBE_KEY ".probe"

AUTO(struct page_cycle, page_cycle_release);

struct s3_store {
	struct store store;
	struct s3_bucket bucket;
};

static struct s3_store *s3_of(struct store *store)
{
	return (struct s3_store *)store;
}

/* --- the operations --- */

static int put_object(struct s3_store *s3, const char *key, const void *data, size_t size,
		      enum s3_operation operation, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = ANSWER_MOST};
	struct s3_call call = {
		.operation = operation,
		.method = "PUT",
		.key = key,
		.query = "",
		.body = data,
		.body_size = size,
	};

	char checksum[CRC32C_TEXT];

	if (s3->bucket.settings.checksums)
		call.checksum = crc32c_text(crc32c(data, size), checksum);
	return s3_bucket_perform(&s3->bucket, &call, &response, cancel, err);
}

static int set_no_ranges_error(const struct http_response *response, const struct s3_bucket *bucket,
			       const struct s3_call *call, struct err *err)
{
	return err_set(err, ERR_FAILED,
		       "s3://%s/%s%s: the store answers a part with %d: it knows no ranges",
		       bucket->address.bucket, bucket->address.prefix, call->key, response->status);
}

/* "bytes 5-9/100": whether that is what was asked for. A server that knows no ranges sends the
 * whole object with 200. */
static int check_range(const struct http_response *response, const struct s3_bucket *bucket,
		       const struct s3_call *call, uint64_t offset, size_t size, struct err *err)
{
	const char *range = http_header(response, "content-range");
	unsigned long long first, last;

	if (call->range && response->status != 206)
		return set_no_ranges_error(response, bucket, call, err);
	if (!call->range)
		return 0;
	if (!range || sscanf(range, "bytes %llu-%llu/", &first, &last) != 2 || first != offset ||
	    last < first || last - first + 1 != response->body.size)
		return err_set(err, ERR_FAILED, "s3://%s/%s%s: another part than was asked for: %s",
			       bucket->address.bucket, bucket->address.prefix, call->key,
			       range ? range : "no Content-Range");
	if (size != STORE_TO_END && response->body.size != size)
		return err_set(err, ERR_CORRUPT, "s3://%s/%s%s is too short: %llu bytes",
			       bucket->address.bucket, bucket->address.prefix, call->key,
			       (unsigned long long)last + 1);
	return 0;
}

static int get_object(struct s3_store *s3, const char *key, uint64_t offset, size_t size,
		      struct http_response *response, struct cancel *cancel, struct err *err)
{
	auto_free char *range = NULL;
	struct s3_call call = {.operation = S3_GET, .method = "GET", .key = key, .query = ""};
	struct err own = {0};

	if (size != STORE_TO_END)
		range = text_format("bytes=%llu-%llu", (unsigned long long)offset,
				    (unsigned long long)(offset + size - 1));
	else if (offset > 0)
		range = text_format("bytes=%llu-", (unsigned long long)offset);
	call.range = range;
	if (s3_bucket_perform(&s3->bucket, &call, response, cancel, &own) < 0) {
		/* From behind the end there is nothing to get. */
		if (response->status == 416 && size == STORE_TO_END) {
			response->body.size = 0;
			return 0;
		}
		/* The whole of it does not find room. */
		if (range && response->status == 200 && own.kind == ERR_FAILED)
			return set_no_ranges_error(response, &s3->bucket, &call, err);
		if (err)
			*err = own;
		return -1;
	}
	return check_range(response, &s3->bucket, &call, offset, size, err);
}

/* Empty `out` lends its space to the answer, so that a chunk is received where it is wanted. */
static int s3_get(struct store *store, const char *key, uint64_t offset, size_t size,
		  struct bytes *out, struct cancel *cancel, struct err *err)
{
	bool lent = out->size == 0;
	auto_(http_response_release) struct http_response response = {0};
	size_t limit = out->limit;
	int result;

	if (size == 0)
		return cancel_check(cancel, err);
	if (lent) {
		response.body = *out;
		*out = (struct bytes){.limit = limit};
	}
	/* An error's body must find room too. */
	if (size != STORE_TO_END)
		response.body.limit = size + ERROR_BODY_SIZE;
	if (size == STORE_TO_END || bytes_reserve(&response.body, size, err) == 0)
		result = get_object(s3_of(store), key, offset, size, &response, cancel, err);
	else
		result = err_wrap(err, "%s", key);
	if (!lent)
		return result < 0 ? -1
				  : bytes_append(out, response.body.data, response.body.size, err);
	*out = response.body;
	response.body = (struct bytes){0};
	out->limit = limit;
	if (result < 0)
		out->size = 0;
	return result;
}

/* For a store without if-absent, when the user has accepted that: whoever looks and puts at the
 * same instant as another also wins. */
static int put_after_looking(struct s3_store *s3, const char *key, const void *data, size_t size,
			     struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes there = {0};
	struct err seen = {0};

	if (s3_get(&s3->store, key, 0, STORE_TO_END, &there, cancel, &seen) == 0)
		return err_set(err, ERR_EXISTS, "%s: it is there already", key);
	if (seen.kind == ERR_NOT_FOUND)
		return put_object(s3, key, data, size, S3_PUT, cancel, err);
	if (err)
		*err = seen;
	return -1;
}

static int s3_put(struct store *store, const char *key, const void *data, size_t size,
		  enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	struct s3_store *s3 = s3_of(store);
	int result;

	fault_point("before_s3_put");
	if (mode == STORE_UNIQUE)
		result = put_object(s3, key, data, size, S3_PUT, cancel, err);
	else if (s3->bucket.settings.conditional)
		result = put_object(s3, key, data, size, S3_PUT_IF_ABSENT, cancel, err);
	else
		result = put_after_looking(s3, key, data, size, cancel, err);
	fault_point("after_s3_put");
	return result;
}

struct page {
	const char *prefix; /* of the store */
	struct store_listing *listing;
	char **next;
};

static int read_page(void *arg, const struct http_response *response, struct err *err)
{
	const struct page *page = arg;

	return bucket_listing_read(response->body.data, response->body.size, page->prefix,
				   page->listing, page->next, err);
}

static int list_page(struct s3_store *s3, const char *prefix, enum store_depth depth, char **token,
		     struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = ANSWER_MOST};
	auto_(bytes_release) struct bytes query = {0};
	auto_free char *full = text_format("%s%s", s3->bucket.address.prefix, prefix);
	struct page page = {s3->bucket.address.prefix, listing, token};
	struct s3_call call = {
		.operation = S3_LIST,
		.method = "GET",
		.read = read_page,
		.arg = &page,
	};

	/* In sorted order, which is how it is signed. */
	if (*token)
		uri_add(&query, "continuation-token", *token);
	if (depth == STORE_LEVEL)
		uri_add(&query, "delimiter", "/");
	uri_add(&query, "encoding-type", "url");
	uri_add(&query, "list-type", "2");
	uri_add(&query, "prefix", full);
	call.query = uri_text(&query);
	free(steal(token));
	return s3_bucket_perform(&s3->bucket, &call, &response, cancel, err);
}

static int s3_list(struct store *store, const char *prefix, enum store_depth depth,
		   struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	struct s3_store *s3 = s3_of(store);
	auto_(page_cycle_release) struct page_cycle pages = {0};
	auto_free char *token = NULL;

	do {
		if (list_page(s3, prefix, depth, &token, listing, cancel, err) < 0 ||
		    (token && page_cycle_check(&pages, token, err) < 0)) {
			store_listing_release(listing);
			return err_wrap(err, "list of s3://%s/%s%s", s3->bucket.address.bucket,
					s3->bucket.address.prefix, prefix);
		}
	} while (token);
	store_listing_sort(listing);
	return 0;
}

static int s3_remove(struct store *store, const char *key, struct cancel *cancel, struct err *err)
{
	struct s3_store *s3 = s3_of(store);
	auto_(http_response_release) struct http_response response = {.body.limit = ANSWER_MOST};
	struct s3_call call = {.operation = S3_REMOVE, .method = "DELETE", .key = key, .query = ""};

	return s3_bucket_perform(&s3->bucket, &call, &response, cancel, err);
}

/* --- opening --- */

/* The same name each time: from the second start on it is one request, and nothing is left behind
 * that would have to be removed. */
static int check_if_absent_works(struct s3_store *s3, const char *url, struct cancel *cancel,
				 struct err *err)
{
	static const char text[] = "Shows that this store keeps an object from being put twice.\n";

	for (int i = 0; i < 2; i++) {
		struct err own = {0};

		if (put_object(s3, PROBE_KEY, text, sizeof(text) - 1, S3_PUT_IF_ABSENT, cancel,
			       &own) == 0)
			continue;
		if (own.kind == ERR_EXISTS)
			return 0;
		if (err)
			*err = own;
		return err_wrap(err, "store %s: cannot write to it", url);
	}
	return err_set(
		err, ERR_INVALID,
		"store %s: it ignores \"If-None-Match: *\": two machines that run the same job at "
		"the same time could overwrite each other's claims and snapshots. Use another "
		"store, or accept that with REPRIEVE_S3_CONDITIONAL=off",
		url);
}

static void s3_close(struct store *store)
{
	struct s3_store *s3 = s3_of(store);

	s3_bucket_release(&s3->bucket);
	free(s3);
}

static int s3_open(const char *url, bool create, bool read_only, struct store **store,
		   struct cancel *cancel, struct err *err)
{
	struct s3_store *s3;

	if (cancel_check(cancel, err) < 0)
		return -1;
	s3 = memory_new(sizeof(*s3));
	s3->store.ops = &s3_store_ops;
	if (s3_bucket_init(&s3->bucket, url, err) < 0) {
		free(s3);
		return err_wrap(err, "store %s", url);
	}
	if (create && !read_only && s3->bucket.settings.conditional &&
	    check_if_absent_works(s3, url, cancel, err) < 0) {
		s3_close(&s3->store);
		return -1;
	}
	*store = &s3->store;
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
	struct s3_bucket *bucket = &s3_of(store)->bucket;
	struct retrying_client_statistics statistics;

	retrying_client_statistics(bucket->remote, &statistics);
	health->if_absent_guessed = !bucket->settings.conditional;
	health->skew_known = statistics.clock_seen;
	health->skew_ms = statistics.clock_ms;
}

const struct store_ops s3_store_ops = {
	.scheme = "s3",
	.open = s3_open,
	.close = s3_close,
	.put = s3_put,
	.get = s3_get,
	.list = s3_list,
	.remove = s3_remove,
	.describe = s3_describe,
	.read_health = s3_read_health,
};
