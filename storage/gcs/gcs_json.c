#include "gcs_json.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* --- requests --- */

static void add_put_query(struct bytes *query, unsigned asked, const char *key)
{
	uri_add(query, "uploadType", asked == ASKED_PUT_IF_ABSENT ? "multipart" : "media");
	uri_add(query, "name", key);
	if (asked == ASKED_PUT_IF_ABSENT)
		uri_add(query, "ifGenerationMatch", "0");
}

char *gcs_json_url(const struct gcs_address *address, unsigned asked, const char *key,
		   const char *query)
{
	auto_(bytes_release) struct bytes own = {0};
	auto_free char *name = key ? uri_encode(key, false) : NULL;

	if (asked & ASKED_PUT) {
		add_put_query(&own, asked, key ? key : "");
		return text_format("%s/upload/storage/v1/b/%s/o?%s", address->endpoint,
				   address->bucket, uri_text(&own));
	}
	return text_format("%s/storage/v1/b/%s/o%s%s%s%s", address->endpoint, address->bucket,
			   name ? "/" : "", name ? name : "",
			   asked & ASKED_GET ? "?alt=media"
			   : query[0]        ? "?"
					     : "",
			   query);
}

static void add_text(struct bytes *body, const char *text)
{
	bytes_append(body, text, strlen(text), NULL);
}

void gcs_json_add_body(struct bytes *body, const char *boundary, const char *checksum,
		       const void *data, size_t size)
{
	auto_free char *head =
		text_format("--%s\r\n"
			    "Content-Type: application/json; charset=UTF-8\r\n\r\n"
			    "{\"crc32c\": \"%s\"}\r\n"
			    "--%s\r\n"
			    "Content-Type: application/octet-stream\r\n\r\n",
			    boundary, checksum, boundary);
	auto_free char *tail = text_format("\r\n--%s--\r\n", boundary);

	add_text(body, head);
	bytes_append(body, data, size, NULL);
	add_text(body, tail);
}

void gcs_json_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
			     const char *token)
{
	uri_add(query, "prefix", prefix);
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	if (token)
		uri_add(query, "pageToken", token);
}

/* --- listings --- */

/* The part of the name behind the prefix; NULL: it has another one. */
static const char *key_of(const char *name, const char *prefix)
{
	return text_starts(name, prefix) ? name + strlen(prefix) : NULL;
}

/* By the API it is a number as text, and some emulators send a number. */
static bool read_size(json_t *value, uint64_t *size)
{
	if (json_is_string(value))
		return text_to_u64(json_string_value(value), INT64_MAX, size);
	*size = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static int read_object(json_t *item, const char *prefix, struct store_listing *listing,
		       struct err *err)
{
	const char *name, *key;
	int64_t modified_ms;
	uint64_t size;

	if (json_get_text(item, "name", &name, err) < 0)
		return -1;
	if (!read_size(json_object_get(item, "size"), &size))
		return err_set(err, ERR_CORRUPT, "the list has an object without a size: %.200s",
			       name);
	key = key_of(name, prefix);
	if (!key)
		return err_set(err, ERR_CORRUPT,
			       "the list has a key that was not asked for: %.200s", name);
	if (!datetime_parse(json_text_or(item, "updated", ""), &modified_ms))
		modified_ms = 0;
	if (key[0] && !text_ends(key, "/"))
		store_listing_add_dated(listing, key, size, modified_ms);
	return 0;
}

static int read_page(json_t *page, const char *prefix, struct store_listing *listing,
		     struct err *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(page, "items"), i, item)
	{
		if (read_object(item, prefix, listing, err) < 0)
			return -1;
	}
	json_array_foreach(json_object_get(page, "prefixes"), i, item)
	{
		const char *folded = json_is_string(item) ? json_string_value(item) : "";
		const char *key = key_of(folded, prefix);

		if (!key || !text_ends(key, "/"))
			return err_set(err, ERR_CORRUPT,
				       "the list has a prefix that was not asked for: %.200s",
				       folded);
		store_listing_add(listing, key, 0);
	}
	return 0;
}

static void move_objects(struct store_listing *from, struct store_listing *to)
{
	for (size_t i = 0; i < from->count; i++)
		store_listing_add_dated(to, from->items[i].key, from->items[i].size,
					from->items[i].modified_ms);
}

int gcs_json_read_page(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err)
{
	auto_json json_t *page = json_parse(body, size, err);
	auto_(store_listing_release) struct store_listing found = {0};
	const char *token;

	*next = NULL;
	if (!page)
		return -1;
	if (!text_equal(json_text_or(page, "kind", ""), "storage#objects"))
		return err_set(err, ERR_CORRUPT, "the answer is no list of objects");
	if (read_page(page, prefix, &found, err) < 0)
		return -1;
	move_objects(&found, listing);
	token = json_text_or(page, "nextPageToken", "");
	if (token[0])
		*next = text_copy(token);
	return 0;
}

/* --- replies --- */

/* {"error": {"message": ..., "errors": [{"reason": ...}]}} */
static void read_error(json_t *body, struct store_reply *reply)
{
	json_t *error = json_object_get(body, "error");
	json_t *first = json_array_get(json_object_get(error, "errors"), 0);

	text_set(reply->code, sizeof(reply->code), json_text_or(first, "reason", ""));
	text_set(reply->message, sizeof(reply->message), json_text_or(error, "message", ""));
	text_to_line(reply->code);
	text_to_line(reply->message);
}

/* "notFound" is both the object and the bucket, and a get is answered with the message alone. Who
 * asks for a list, or to put, names no object that must be there. */
static void read_missing(struct store_reply *reply, const struct bytes *body, bool emulated)
{
	auto_free char *text = text_copy_n(body->size ? (const char *)body->data : "", body->size);
	bool of_bucket = strstr(text, "bucket does not exist") != NULL;

	if (!(reply->facts & (ASKED_GET | ASKED_REMOVE)))
		of_bucket = emulated || text_equal(reply->code, "notFound");
	else if (!of_bucket && (emulated || strstr(text, "No such object")))
		text_set(reply->code, sizeof(reply->code), "NoSuchKey");
	if (of_bucket)
		text_set(reply->code, sizeof(reply->code), "NoSuchBucket");
	if (emulated && !reply->message[0] && reply->facts & ASKED_PUT)
		text_set(reply->message, sizeof(reply->message),
			 "an emulator must speak the JSON API, and have the bucket");
}

void gcs_json_read_reply(struct store_reply *reply, const struct http_response *response,
			 unsigned facts, int64_t sent_ms, const char *checksum, bool emulated)
{
	bool good = response->status >= 200 && response->status < 300;
	bool is_marked = emulated || http_header(response, "x-goog-generation") ||
			 http_header(response, "ETag");
	auto_json json_t *body = NULL;

	*reply = (struct store_reply){
		.status = response->status,
		.facts = facts,
		.skew_ms = store_reply_skew_ms(response, sent_ms),
	};
	if (good && facts & ASKED_GET) {
		reply->facts |= is_marked ? 0 : CAME_UNMARKED;
		return;
	}
	body = json_parse(response->body.data, response->body.size, NULL);
	if (good && facts & ASKED_PUT && !json_text_or(body, "name", "")[0])
		reply->facts |= CAME_UNMARKED;
	else if (good && facts & ASKED_PUT &&
		 !text_equal(json_text_or(body, "crc32c", checksum), checksum))
		text_set(reply->code, sizeof(reply->code), "BadDigest");
	else if (!good)
		read_error(body, reply);
	if (reply->status == 404)
		read_missing(reply, &response->body, emulated);
}
