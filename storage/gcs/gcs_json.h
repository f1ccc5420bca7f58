/*
 * PURE. Cloud Storage's JSON API, which is what its emulators speak (Google's storage-testbench,
 * fake-gcs-server and others). The real service is asked by the XML API: there a put is its body
 * alone, while the only JSON upload for which all emulators check a condition wraps the body and
 * so needs a copy of it.
 */
#ifndef GCS_JSON_H
#define GCS_JSON_H

#include "gcs_address.h"
#include "storage/backend/backend.h"

/* The URL of a call. `key` has the prefix, and is not encoded; NULL: the bucket. `query` is that of
 * a page. The caller frees. */
char *gcs_json_url(const struct gcs_address *address, unsigned asked, const char *key,
		   const char *query);

/* The body of a put: an upload of type "multipart", of the object's checksum and its content. The
 * boundary must not be in the content. */
void gcs_json_add_body(struct bytes *body, const char *boundary, const char *checksum,
		       const void *data, size_t size);

void gcs_json_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			     const char *token);
/* As bucket_listing_read(). */
int gcs_json_read_page(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err);

/* Fills `reply` for the table of gcs_reply.h. CAME_UNMARKED: no object was described in answer to
 * a put. */
void gcs_json_read_reply(struct store_reply *reply, const struct http_response *response,
			 unsigned facts);

#endif
