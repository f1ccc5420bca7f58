/* What the sink keeps: objects of pieces, sorted by name; and S3's answers. */
#include "sink.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHEN_HTTP "Wed, 01 Jan 2025 00:00:00 GMT"
#define WHEN_ISO "2025-01-01T00:00:00.000Z"
#define ETAG "\"00000000000000000000000000000000-1\""

struct piece {
	unsigned number;
	uint64_t size;  /* of the content */
	uint64_t space; /* of the memory */
	uint8_t *data;
};

struct object {
	char *key;
	struct piece *pieces;
	size_t count;
	uint64_t size;
	unsigned users; /* under the mutex: the table, and each answer that is being sent */
};

/* Objects, and uploads in parts under their number. */
struct table {
	struct object **items; /* sorted by key */
	size_t count, capacity;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table objects, uploads; /* under it */
static unsigned last_upload;

/* --- tables, under the mutex --- */

static size_t position(const struct table *table, const char *key)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(table->items[middle]->key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct object *find(const struct table *table, const char *key)
{
	size_t at = position(table, key);

	return at < table->count && strcmp(table->items[at]->key, key) == 0
		       ? table->items[at]
		       : NULL;
}

static void let_go(struct object *object)
{
	if (--object->users > 0)
		return;
	for (size_t i = 0; i < object->count; i++)
		body_free(object->pieces[i].data, object->pieces[i].space);
	free(object->pieces);
	free(object->key);
	free(object);
}

static struct object *take_out(struct table *table, const char *key)
{
	size_t at = position(table, key);
	struct object *object = find(table, key);

	if (object)
		memmove(&table->items[at], &table->items[at + 1],
			(--table->count - at) * sizeof(struct object *));
	return object;
}

static void put_in(struct table *table, struct object *object, const char *key)
{
	struct object *old = take_out(table, key);
	size_t at = position(table, key);

	if (old)
		let_go(old);
	if (table->count == table->capacity) {
		table->capacity = table->capacity ? 2 * table->capacity : 1024;
		table->items = realloc(table->items, table->capacity * sizeof(struct object *));
	}
	free(object->key);
	object->key = strdup(key);
	memmove(&table->items[at + 1], &table->items[at],
		(table->count++ - at) * sizeof(struct object *));
	table->items[at] = object;
}

static void add_piece(struct object *object, unsigned number, uint8_t *data, uint64_t size,
		      uint64_t space)
{
	size_t at = object->count;

	object->pieces = realloc(object->pieces, ++object->count * sizeof(struct piece));
	for (; at > 0 && object->pieces[at - 1].number > number; at--)
		object->pieces[at] = object->pieces[at - 1];
	object->pieces[at] = (struct piece){number, size, space, data};
	object->size += size;
}

static struct object *new_object(void)
{
	struct object *object = calloc(1, sizeof(*object));

	object->users = 1;
	return object;
}

/* --- answers --- */

static bool answer(struct peer *peer, const char *status, const char *fields, const char *body,
		   uint64_t length)
{
	char head[1024];
	int size = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Length: %llu\r\n%s\r\n",
			    status, (unsigned long long)length, fields);

	return peer_send(peer, head, (size_t)size) &&
	       (!body || peer_send(peer, body, (size_t)length));
}

static bool say(struct peer *peer, const char *status, const char *body)
{
	return answer(peer, status, "Content-Type: application/xml\r\n", body, strlen(body));
}

static bool refuse(struct peer *peer, const struct request *request, const char *status,
		   const char *code)
{
	char body[256];

	if (strcmp(request->method, "HEAD") == 0)
		return answer(peer, status, "", NULL, 0);
	snprintf(body, sizeof(body), "<Error><Code>%s</Code><Message>%s</Message></Error>", code,
		 code);
	return say(peer, status, body);
}

/* "" where it is not there, or has no value. */
static const char *parameter(const struct request *request, const char *name, char *value)
{
	size_t length = strlen(name);

	*value = '\0';
	for (const char *at = request->query; *at; at += strcspn(at, "&"), at += *at == '&')
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			decode(at + length + 1, strcspn(at + length + 1, "&"), value, KEY_MOST);
	return value;
}

static bool asks(const struct request *request, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = request->query; *at; at += strcspn(at, "&"), at += *at == '&')
		if (strncmp(at, name, length) == 0 && strchr("=&", at[length]))
			return true;
	return false;
}

/* --- putting --- */

/* "SIZE;chunk-signature=...\r\n" before each piece, "\r\n" behind it: the pieces move together. */
static uint64_t strip_chunks(uint8_t *body, uint64_t size)
{
	uint8_t *from = body, *to = body, *end = body + size;

	while (from < end) {
		uint8_t *line = memchr(from, '\n', (size_t)(end - from));
		uint64_t length = strtoull((const char *)from, NULL, 16);

		if (!line || length == 0 || length > (uint64_t)(end - line - 1))
			break;
		memmove(to, line + 1, length);
		to += length;
		from = line + 1 + length + 2;
	}
	return (uint64_t)(to - body);
}

static bool put(struct peer *peer, struct request *request)
{
	char upload[KEY_MOST], number[KEY_MOST];
	uint64_t size = request->streaming ? strip_chunks(request->body, request->body_size)
					   : request->body_size;
	uint8_t *body = request->body ? request->body : body_room(0);
	bool part = *parameter(request, "uploadId", upload) != '\0', there = true;
	struct object *object;

	parameter(request, "partNumber", number);
	pthread_mutex_lock(&mutex);
	object = find(part ? &uploads : &objects, part ? upload : request->path);
	there = object && (part || request->if_absent);
	if (part && there) {
		add_piece(object, (unsigned)atoi(number), body, size, request->body_size);
	} else if (!part && !there) {
		object = new_object();
		add_piece(object, 1, body, size, request->body_size);
		put_in(&objects, object, request->path);
	} else {
		body_free(body, request->body_size);
	}
	pthread_mutex_unlock(&mutex);
	if (part != there)
		return part ? refuse(peer, request, "404 Not Found", "NoSuchUpload")
			    : refuse(peer, request, "412 Precondition Failed",
				     "PreconditionFailed");
	return answer(peer, "200 OK", "ETag: " ETAG "\r\n", "", 0);
}

static bool begin_upload(struct peer *peer)
{
	char name[32], body[256];

	pthread_mutex_lock(&mutex);
	snprintf(name, sizeof(name), "u%u", ++last_upload);
	put_in(&uploads, new_object(), name);
	pthread_mutex_unlock(&mutex);
	snprintf(body, sizeof(body),
		 "<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
		 "</InitiateMultipartUploadResult>",
		 name);
	return say(peer, "200 OK", body);
}

static bool end_upload(struct peer *peer, const struct request *request)
{
	char upload[KEY_MOST];
	struct object *object;

	pthread_mutex_lock(&mutex);
	object = take_out(&uploads, parameter(request, "uploadId", upload));
	if (object)
		put_in(&objects, object, request->path);
	pthread_mutex_unlock(&mutex);
	if (!object)
		return refuse(peer, request, "404 Not Found", "NoSuchUpload");
	return say(peer, "200 OK",
		   "<CompleteMultipartUploadResult><ETag>" ETAG
		   "</ETag></CompleteMultipartUploadResult>");
}

/* --- getting --- */

static bool send_content(struct peer *peer, const struct object *object, uint64_t first,
			 uint64_t end)
{
	uint64_t at = 0;

	for (size_t i = 0; i < object->count && at < end; at += object->pieces[i++].size) {
		const struct piece *piece = &object->pieces[i];
		uint64_t from = first > at ? first - at : 0;
		uint64_t to = end - at < piece->size ? end - at : piece->size;

		if (from < to && !peer_send(peer, piece->data + from, to - from))
			return false;
	}
	return true;
}

static bool get(struct peer *peer, const struct request *request)
{
	static const char common[] =
		"ETag: " ETAG "\r\nLast-Modified: " WHEN_HTTP "\r\nAccept-Ranges: bytes\r\n";
	uint64_t first = request->ranged ? request->range_first : 0, end;
	bool sent;
	char fields[512];
	struct object *object;

	pthread_mutex_lock(&mutex);
	object = find(&objects, request->path);
	if (object)
		object->users++;
	pthread_mutex_unlock(&mutex);
	if (!object)
		return refuse(peer, request, "404 Not Found", "NoSuchKey");
	end = object->size;
	if (request->ranged && request->range_last < end)
		end = request->range_last + 1;
	snprintf(fields, sizeof(fields), "%s", common);
	if (request->ranged)
		snprintf(fields, sizeof(fields), "%sContent-Range: bytes %llu-%llu/%llu\r\n",
			 common, (unsigned long long)first, (unsigned long long)end - 1,
			 (unsigned long long)object->size);
	if (first > end || (request->ranged && first == end))
		sent = refuse(peer, request, "416 Range Not Satisfiable", "InvalidRange");
	else
		sent = answer(peer, request->ranged ? "206 Partial Content" : "200 OK", fields,
			      NULL, end - first) &&
		       (strcmp(request->method, "HEAD") == 0 ||
			send_content(peer, object, first, end));
	pthread_mutex_lock(&mutex);
	let_go(object);
	pthread_mutex_unlock(&mutex);
	return sent;
}

/* --- listing and removing --- */

static bool list(struct peer *peer, const struct request *request, const char *bucket)
{
	char prefix[KEY_MOST], delimiter[KEY_MOST], full[2 * KEY_MOST], *body = NULL;
	size_t size = 0, start = strlen(bucket) + 1, length;
	FILE *text = open_memstream(&body, &size);
	bool sent;

	parameter(request, "prefix", prefix);
	parameter(request, "delimiter", delimiter);
	length = (size_t)snprintf(full, sizeof(full), "%s/%s", bucket, prefix);
	fputs("<ListBucketResult><IsTruncated>false</IsTruncated>", text);
	pthread_mutex_lock(&mutex);
	for (size_t i = position(&objects, full); i < objects.count; i++) {
		const struct object *object = objects.items[i];
		const char *fold = *delimiter ? strchr(object->key + length, *delimiter) : NULL;
		size_t folded = fold ? (size_t)(fold + 1 - object->key) : 0;

		if (strncmp(object->key, full, length) != 0)
			break;
		if (!fold)
			fprintf(text,
				"<Contents><Key>%s</Key><LastModified>" WHEN_ISO
				"</LastModified><ETag>" ETAG "</ETag><Size>%llu</Size>"
				"<StorageClass>STANDARD</StorageClass></Contents>",
				object->key + start, (unsigned long long)object->size);
		else
			fprintf(text, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>",
				(int)(folded - start), object->key + start);
		while (fold && i + 1 < objects.count &&
		       strncmp(objects.items[i + 1]->key, object->key, folded) == 0)
			i++;
	}
	pthread_mutex_unlock(&mutex);
	fputs("</ListBucketResult>", text);
	fclose(text);
	sent = answer(peer, "200 OK", "Content-Type: application/xml\r\n", body, size);
	free(body);
	return sent;
}

static bool remove_object(struct peer *peer, const struct request *request)
{
	struct object *object;

	pthread_mutex_lock(&mutex);
	while (request->path[0] == '\0' && objects.count > 0)
		let_go(objects.items[--objects.count]);
	object = take_out(&objects, request->path);
	if (object)
		let_go(object);
	pthread_mutex_unlock(&mutex);
	return answer(peer, "204 No Content", "", NULL, 0);
}

static bool answer_bucket(struct peer *peer, const struct request *request)
{
	char bucket[KEY_MOST];

	snprintf(bucket, sizeof(bucket), "%.*s", (int)strcspn(request->path, "/"), request->path);
	if (strcmp(request->method, "GET") != 0)
		return answer(peer, "200 OK", "", NULL, 0);
	if (asks(request, "location"))
		return say(peer, "200 OK", "<LocationConstraint></LocationConstraint>");
	return list(peer, request, bucket);
}

static _Atomic uint64_t requests, bytes;

static bool tell_counts(struct peer *peer)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)requests,
		 (unsigned long long)bytes);
	return answer(peer, "200 OK", "", text, strlen(text));
}

bool objects_answer(struct peer *peer, struct request *request)
{
	const char *slash = strchr(request->path, '/');
	bool inside = slash && slash[1] != '\0', sent;

	if (strcmp(request->path, ".counts") == 0)
		return tell_counts(peer);
	atomic_fetch_add(&requests, 1);
	atomic_fetch_add(&bytes, request->body_size);
	if (inside && strcmp(request->method, "PUT") == 0)
		return put(peer, request);
	if (strcmp(request->method, "DELETE") == 0)
		sent = remove_object(peer, request);
	else if (!inside)
		sent = answer_bucket(peer, request);
	else if (strcmp(request->method, "POST") != 0)
		sent = get(peer, request);
	else
		sent = asks(request, "uploads") ? begin_upload(peer) : end_upload(peer, request);
	if (request->body)
		body_free(request->body, request->body_size);
	return sent;
}
