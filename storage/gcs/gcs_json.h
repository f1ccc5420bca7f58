/*
 * PURE. Cloud Storage's JSON API, which its emulators speak too. An object that nobody else names
 * is put as it is ("media"). One that is put if-absent is wrapped with its checksum ("multipart"):
 * so the service refuses it if it is damaged on the way, and emulators check the condition of no
 * other upload.
 */
#ifndef GCS_JSON_H
#define GCS_JSON_H

#include "gcs_address.h"
#include "storage/backend/backend.h"

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
 * Fills `reply` for the table of gcs_reply.h from a reply to a call with these facts, which was
 * sent at that time by our clock. `checksum`: of what was put. CAME_UNMARKED: no object was
 * described in answer to a put. `emulated`: 404 to a get or a removal means that the object is
 * missing, whatever its words are.
 */
void gcs_json_read_reply(struct store_reply *reply, const struct http_response *response,
			 unsigned facts, int64_t sent_ms, const char *checksum, bool emulated);

#endif
