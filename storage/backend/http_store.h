/*
 * What the stores over HTTP have in common: putting, reading a part, listing page by page and
 * removing, each as calls that the store itself sends, and what the clock of the other side says.
 * The functions named http_store_... stand in the store's `struct store_ops`.
 */
#ifndef HTTP_STORE_H
#define HTTP_STORE_H

#include "object_store.h"
#include "storage/http/http.h"

/* One request, however often it is tried. */
struct store_call {
	/* ASKED_... of store_reply.h; the method follows from it. */
	unsigned asked;
	/* Below the store's prefix; NULL: the bucket itself. */
	const char *key;
	/* Encoded; "" for none. */
	const char *query;
	/* "bytes=5-9"; NULL: all. */
	const char *range;
	/* NULL: none. It stays the caller's. */
	const void *body;
	size_t body_size;
	/* As in struct retried_call; NULL: nothing to read. */
	int (*read)(void *arg, const struct http_response *response, struct err *err);
	void *read_arg;
	bool once;
};

/* A call with what its tries have to remember. */
struct call_attempt {
	struct http_store *http;
	const struct store_call *call;
	/* "PUT", "GET" or "DELETE", unless the store changes it */
	const char *method;
	/* of the body, where the store wants one; "" for none */
	char checksum[CRC32C_TEXT];
	/* of the parts of a body; for the store */
	char boundary[33];
	/* of the last try: NULL where none is needed */
	struct credential *credential;
	/* the other side refused it: the next try has another */
	bool refused;
	/* by the clock of the store */
	int64_t now_ms;
};

/* What each store brings. */
struct http_store_ops {
	/* May be NULL. Before the first try: changes the method, and the body, which is put into
	 * `body` then. */
	void (*wrap)(struct call_attempt *attempt, struct bytes *body);
	/* Adds URL and headers of a try; signs. */
	void (*prepare)(const struct call_attempt *attempt, struct call_request *request);
	/* As call_judge_fn. */
	enum call_verdict (*judge)(struct call_attempt *attempt,
				   const struct http_response *response, struct err *err);
	/* The query for a page; `token` NULL: the first. */
	void (*add_page_query)(struct bytes *query, const char *prefix, enum store_depth depth,
			       const char *token);
	/* Reads a page: as bucket_listing_read(). */
	int (*read_page)(const void *body, size_t size, const char *prefix,
			 struct store_listing *listing, char **next, struct err *err);
};

/* The first member of a store over HTTP. */
struct http_store {
	struct store store;
	const struct http_store_ops *ops;
	/* In front of every key; borrowed from the store's address. */
	const char *prefix;
	/* "s3://bucket/", for errors. Owned, like the client. */
	char *place;
	struct retrying_client *client;
	/* NULL: none are needed. Borrowed. */
	struct credential_cache *credentials;
	/* What is put has a checksum. */
	bool checksums;
};
/* Frees what it owns. */
void http_store_release(struct http_store *http);

/* `asked` is ASKED_PUT or ASKED_PUT_IF_ABSENT; `once` as in struct retried_call. */
int http_store_put_object(struct store *store, const char *key, const void *data, size_t size,
			  unsigned asked, bool once, struct cancel *cancel, struct err *err);

/* As in struct store_ops. */
int http_store_put(struct store *store, const char *key, const void *data, size_t size,
		   enum store_put_mode mode, struct cancel *cancel, struct err *err);
int http_store_get(struct store *store, const char *key, uint64_t offset, size_t size,
		   struct bytes *out, struct cancel *cancel, struct err *err);
int http_store_read(struct store *store, const char *key, uint64_t offset, size_t size,
		    const struct store_taker *taker, struct cancel *cancel, struct err *err);
int http_store_list(struct store *store, const char *prefix, enum store_depth depth,
		    struct store_listing *listing, struct cancel *cancel, struct err *err);
int http_store_remove(struct store *store, const char *key, struct cancel *cancel, struct err *err);
void http_store_read_health(struct store *store, struct store_health *health);

/* The value of the Range header, "bytes=0-99"; NULL for the whole object. `size` may be
 * STORE_TO_END, but not 0. The caller frees. */
char *range_request_header(uint64_t offset, size_t size);

/* Whether a reply, of which the status and the fields are there, brings just that part. `size` is
 * not STORE_TO_END. */
bool range_request_fits(const struct http_response *response, uint64_t offset, size_t size);

/* Whether the reply, with its body, is the part. ERR_CORRUPT: shorter than requested. ERR_FAILED:
 * another range. */
int range_request_check(const struct http_response *response, uint64_t offset, size_t size,
			struct err *err);

#endif
