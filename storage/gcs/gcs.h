/*
 * storage/gcs/: Google Cloud Storage (gs://BUCKET/PREFIX), and the credentials of Google
 * (google_credentials.h, of this folder only). What each operation promises is said in
 * object_store.h. For the rest of storage/: gcs_store_ops.
 */
#ifndef STORAGE_GCS_H
#define STORAGE_GCS_H

#include "storage/backend/backend.h"

extern const struct store_ops gcs_store_ops;

/* NULL where not set. */
struct gcs_environment {
	const char *emulator; /* STORAGE_EMULATOR_HOST: no token */
	const char *endpoint; /* CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE, as gcloud has it */
};

struct gcs_address {
	char *bucket;
	char *prefix;   /* "" or "a/b/" */
	char *endpoint; /* without a slash at its end */
	bool anonymous;
};

/* ERR_INVALID says what is wrong. Release it in any case. */
int gcs_address_read(const char *url, const struct gcs_environment *environment,
		     struct gcs_address *address, struct err *err);
void gcs_address_release(struct gcs_address *address);
AUTO(struct gcs_address, gcs_address_release);

/*
 * ERR_EXISTS only for ASKED_PUT_IF_ABSENT. CAME_UNMARKED: a good status without what the service
 * adds is somebody else's (a login page's), and ERR_RETRY.
 */
extern const struct reply_table gcs_replies;

/* The URL of a call. `key` has the prefix, and is not encoded; NULL: the bucket. `query` is that of
 * a page. The caller frees. */
char *gcs_json_url(const struct gcs_address *address, unsigned asked, const char *key,
		   const char *query);

/* The body of a put if-absent: the object's checksum and its content. The boundary must not be in
 * the content. */
void gcs_json_add_body(struct bytes *body, const char *boundary, const char *checksum,
		       const void *data, size_t size);

void gcs_json_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			     const char *token);
/* As bucket_listing_read(). */
int gcs_json_read_page(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err);

/*
 * Fills `reply` for the table gcs_replies from a reply to a call with these facts, which was
 * sent at that time by our clock. `checksum`: of what was put. CAME_UNMARKED: no object was
 * described in answer to a put. `emulated`: 404 to a get or a removal means that the object is
 * missing, whatever its words are.
 */
void gcs_json_read_reply(struct store_reply *reply, const struct http_response *response,
			 unsigned facts, int64_t sent_ms, const char *checksum, bool emulated);

#endif
