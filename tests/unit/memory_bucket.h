/*
 * A bucket in memory with the dialect of one store, behind a server of this process that also hands
 * out bearer tokens and can be told to misbehave; and what every store must do with it.
 */
#ifndef MEMORY_BUCKET_H
#define MEMORY_BUCKET_H

#include "storage/backend/object_store.h"
#include "storage/scheme_table.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/httpd.h"
#include "err_kind.h"
#include "storage/http/uri.h"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEMORY_OBJECTS_MOST = 32,
	MEMORY_PAGE = 2,
};

/* What differs from store to store. */
struct bucket_dialect {
	const char *root; /* "/bucket/", before each key */
	const char *mark; /* a header of each answer, by which the store is known */
	const char *range, *condition, *condition_value;
	int taken_status;
	const char *taken_code, *missing_code;
	const char *marker; /* of the next page, in the query */
	void (*list_object)(struct bytes *out, const char *key, size_t size);
	void (*list_folded)(struct bytes *out, const char *key);
	void (*list_end)(struct bytes *out, const char *next);
	const char *list_begin;
	/* Google's: a put is a POST to "/upload...", with name and condition in the query, and a
	 * body in parts. */
	bool is_json;
	int put_status; /* 0: 201 */
	/* What is refused besides; true where the answer is made. May be NULL. */
	bool (*refuse)(const struct httpd_request *request, struct httpd_reply *reply);
};

static struct {
	struct httpd *httpd;
	const struct bucket_dialect *dialect;
	pthread_mutex_t mutex;
	struct {
		char *key;
		struct bytes data;
	} objects[MEMORY_OBJECTS_MOST];
	size_t count;
	/* Each for one request, in their order, "" for none: an error code, with its status before
	 * it: "503 SlowDown"; "reset"; "lost": it is done, and the answer does not arrive;
	 * "page": somebody else's; "whole": the range is ignored. */
	const char *faults[8];
	size_t fault;
	bool whole;
	/* The only token that is taken; "": none is needed. */
	char token[32];
	unsigned tokens, requests;
	/* Of the last request but those for tokens; of the last put; all for tokens. */
	char last[2048], last_put[2048], asked[4096];
} memory = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static inline void memory_error(struct httpd_reply *reply, int status, const char *code)
{
	auto_free char *body = text_format(
		memory.dialect->is_json
			? "{\"error\":{\"message\":\"m\",\"errors\":[{\"reason\":\"%s\"}]}}"
			: "<Error><Code>%s</Code><Message>m</Message></Error>",
		code);

	httpd_reply_text(reply, status, body);
}

static inline size_t memory_find(const char *key)
{
	size_t i = 0;

	while (i < memory.count && strcmp(memory.objects[i].key, key) != 0)
		i++;
	return i;
}

static inline void memory_put(const struct httpd_request *request, const char *key,
			      struct httpd_reply *reply)
{
	const char *condition =
		memory.dialect->is_json ? httpd_request_query(request, memory.dialect->condition)
					: httpd_request_header(request, memory.dialect->condition);
	auto_free char *told = text_format("{\"name\":\"%s\"}", key);
	const char *body = request->body;
	size_t i = memory_find(key), size = request->body_size;

	if (condition && strcmp(condition, memory.dialect->condition_value) == 0 &&
	    i < memory.count) {
		memory_error(reply, memory.dialect->taken_status, memory.dialect->taken_code);
		return;
	}
	if (i == memory.count) {
		assert_true(memory.count < MEMORY_OBJECTS_MOST);
		memory.objects[memory.count++].key = text_copy(key);
	}
	if (memory.dialect->is_json && condition) {
		/* Behind the second head; before "\r\n--" and the boundary, which the body begins
		 * with, and "--\r\n". */
		size_t boundary = (size_t)((const char *)memchr(body, '\r', size) - body) - 2;
		const char *head = (const char *)memmem(body, size, "\r\n\r\n", 4) + 4;
		const char *start =
			(const char *)memmem(head, size - (size_t)(head - body), "\r\n\r\n", 4) + 4;

		size -= (size_t)(start - body) + boundary + 8;
		body = start;
	}
	memory.objects[i].data.size = 0;
	bytes_append(&memory.objects[i].data, body, size, NULL);
	httpd_reply_text(reply, memory.dialect->put_status ? memory.dialect->put_status : 201,
			 memory.dialect->is_json ? told : "");
}

static inline void memory_get(const struct httpd_request *request, const char *key,
			      struct httpd_reply *reply)
{
	const char *range = httpd_request_header(request, memory.dialect->range);
	size_t i = memory_find(key), size;
	unsigned long long first = 0, last;

	if (i == memory.count) {
		memory_error(reply, 404, memory.dialect->missing_code);
		return;
	}
	size = memory.objects[i].data.size;
	last = size - 1;
	if (range && !memory.whole) {
		sscanf(range, "bytes=%llu-%llu", &first, &last);
		if (first >= size) {
			memory_error(reply, 416, "InvalidRange");
			return;
		}
		if (last >= size)
			last = size - 1;
		reply->status = 206;
		httpd_reply_header(reply, "Content-Range", "bytes %llu-%llu/%zu", first, last,
				   size);
	}
	if (size)
		bytes_append(&reply->body, memory.objects[i].data.data + first,
			     (size_t)(last - first + 1), NULL);
}

static inline void memory_remove(const char *key, struct httpd_reply *reply)
{
	size_t i = memory_find(key);

	if (i == memory.count) {
		memory_error(reply, 404, memory.dialect->missing_code);
		return;
	}
	free(memory.objects[i].key);
	bytes_release(&memory.objects[i].data);
	memory.objects[i] = memory.objects[--memory.count];
	memset(&memory.objects[memory.count], 0, sizeof(memory.objects[0]));
	reply->status = 204;
}

static inline int memory_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void memory_list(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *prefix = httpd_request_query(request, "prefix");
	const char *after = httpd_request_query(request, memory.dialect->marker);
	bool level = httpd_request_query(request, "delimiter") != NULL;
	auto_free char *said = text_copy(after ? after : "");
	auto_free char *next = NULL;
	size_t used = 0;

	assert_non_null(prefix);
	qsort(memory.objects, memory.count, sizeof(memory.objects[0]), memory_compare);
	bytes_format(&reply->body, NULL, "%s", memory.dialect->list_begin);
	for (size_t i = 0; i < memory.count && !next; i++) {
		const char *key = memory.objects[i].key, *slash;
		auto_free char *name = NULL;

		if (!text_starts(key, prefix))
			continue;
		slash = level ? strchr(key + strlen(prefix), '/') : NULL;
		name = slash ? text_copy_n(key, (size_t)(slash - key) + 1) : text_copy(key);
		if (strcmp(name, said) <= 0)
			continue;
		if (used++ == MEMORY_PAGE) {
			next = text_copy(said);
			continue;
		}
		if (slash)
			memory.dialect->list_folded(&reply->body, name);
		else
			memory.dialect->list_object(&reply->body, name,
						    memory.objects[i].data.size);
		free(said);
		said = text_copy(name);
	}
	memory.dialect->list_end(&reply->body, next ? next : "");
}

static inline void memory_note(const struct httpd_request *request, char *text, size_t capacity)
{
	static const char *const headers[] =
		{"Authorization",
		 "Content-Type",
		 "Metadata",
		 "X-IDENTITY-HEADER",
		 "x-ms-version",
		 "x-ms-blob-type",
		 "x-goog-user-project",
		 "If-None-Match",
		 "x-amz-checksum-crc32c",
		 "x-amz-request-payer",
		 "x-amz-server-side-encryption",
		 "sig"};
	size_t used = strlen(text);

	used += (size_t)snprintf(text + used, capacity - used, "%s %s", request->method,
				 request->path);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const char *value = i + 1 < sizeof(headers) / sizeof(headers[0])
					    ? httpd_request_header(request, headers[i])
					    : httpd_request_query(request, headers[i]);

		if (value)
			used += (size_t)snprintf(text + used, capacity - used, "|%s: %s",
						 headers[i], value);
	}
	snprintf(text + used, capacity - used, "\n");
}

static inline void memory_hand_out(const struct httpd_request *request, struct httpd_reply *reply)
{
	auto_free char *body = NULL;
	size_t used;

	memory_note(request, memory.asked, sizeof(memory.asked));
	used = strlen(memory.asked);
	snprintf(memory.asked + used, sizeof(memory.asked) - used, "%.*s\n",
		 (int)request->body_size, (const char *)request->body);
	snprintf(memory.token, sizeof(memory.token), "token%u", ++memory.tokens);
	body = text_format("{\"access_token\":\"%s\",\"expires_in\":3600}", memory.token);
	httpd_reply_text(reply, 200, body);
}

/* True where the answer is made. */
static inline bool memory_misbehave(const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *fault = memory.fault < 8 ? memory.faults[memory.fault] : NULL;
	const char *authorization = httpd_request_header(request, "Authorization");
	auto_free char *wanted = text_format("Bearer %s", memory.token);

	memory.fault += fault != NULL;
	memory.whole = fault && strcmp(fault, "whole") == 0;
	if (fault && (strcmp(fault, "reset") == 0 || strcmp(fault, "lost") == 0))
		reply->delivery = HTTPD_RESET;
	if (fault && strcmp(fault, "reset") == 0)
		;
	else if (fault && strcmp(fault, "page") == 0)
		httpd_reply_text(reply, 200, "<html>not what you think");
	else if (memory.whole || reply->delivery == HTTPD_RESET)
		return false;
	else if (memory.dialect->refuse && memory.dialect->refuse(request, reply))
		;
	else if (fault && fault[0])
		memory_error(reply, atoi(fault), fault + 4);
	else if (memory.token[0] && (!authorization || strcmp(authorization, wanted) != 0))
		memory_error(reply, 401, "AuthenticationRequired");
	else
		return false;
	return true;
}

static inline void memory_answer(void *arg, const struct httpd_request *request,
				 struct httpd_reply *reply)
{
	const char *root = memory.dialect->root;
	size_t length = strlen(root);

	(void)arg;
	pthread_mutex_lock(&memory.mutex);
	if (strstr(request->path, "/token")) {
		memory_hand_out(request, reply);
		pthread_mutex_unlock(&memory.mutex);
		return;
	}
	memory.requests++;
	memory.last[0] = '\0';
	memory_note(request, memory.last, sizeof(memory.last));
	if (request->method[0] == 'P')
		memcpy(memory.last_put, memory.last, sizeof(memory.last));
	httpd_reply_header(reply, memory.dialect->mark, "1");
	if (memory_misbehave(request, reply))
		;
	else if (strcmp(request->method, "POST") == 0)
		memory_put(request, httpd_request_query(request, "name"), reply);
	else if (strncmp(request->path, root, length - 1) != 0)
		memory_error(reply, 404, "NoSuchBucket");
	else if (!request->path[length - 1] || !request->path[length])
		memory_list(request, reply);
	else if (strcmp(request->method, "PUT") == 0)
		memory_put(request, request->path + length, reply);
	else if (strcmp(request->method, "GET") == 0)
		memory_get(request, request->path + length, reply);
	else
		memory_remove(request->path + length, reply);
	pthread_mutex_unlock(&memory.mutex);
}

static inline void memory_clear(void)
{
	while (memory.count) {
		free(memory.objects[--memory.count].key);
		bytes_release(&memory.objects[memory.count].data);
		memset(&memory.objects[memory.count], 0, sizeof(memory.objects[0]));
	}
	memset(memory.faults, 0, sizeof(memory.faults));
	memory.fault = 0;
	memory.tokens = memory.requests = 0;
	memory.token[0] = memory.last[0] = memory.last_put[0] = memory.asked[0] = '\0';
}

static inline int memory_start(const struct bucket_dialect *dialect)
{
	struct err err = {0};

	memory.dialect = dialect;
	return httpd_start(&(struct httpd_options){.handler = memory_answer}, &memory.httpd, &err);
}

static inline char *memory_url(const char *path)
{
	return text_format("http://127.0.0.1:%u%s", httpd_port(memory.httpd), path);
}

static inline struct store *memory_open(const char *url)
{
	struct store *store = NULL;
	struct err err = {0};

	if (store_open(url, false, false, &store, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static inline int memory_put_text(struct store *store, const char *key, const char *text,
				  enum store_put_mode mode, struct err *err)
{
	return store->ops->put(store, key, text, strlen(text), mode, NULL, err);
}

static inline void memory_check_get(struct store *store, const char *key, uint64_t offset,
				    size_t size, const char *expected)
{
	auto_(bytes_release) struct bytes out = {0};
	struct err err = {0};

	bytes_append(&out, "before:", 7, NULL);
	if (store->ops->get(store, key, offset, size, &out, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.size, 7 + strlen(expected));
	assert_memory_equal(out.data + 7, expected, strlen(expected));
}

static inline void memory_check_get_fails(struct store *store, const char *key, uint64_t offset,
					  size_t size, enum err_kind kind, const char *said)
{
	auto_(bytes_release) struct bytes out = {0};
	struct err err = {0};

	assert_int_equal(store->ops->get(store, key, offset, size, &out, NULL, &err), -1);
	if (err.kind != kind || !strstr(err.text, said))
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_int_equal(out.size, 0);
}

static inline void memory_check_list(struct store *store, const char *prefix,
				     enum store_depth depth, const char *expected)
{
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_(bytes_release) struct bytes keys = {0};
	struct err err = {0};

	if (store->ops->list(store, prefix, depth, &listing, NULL, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < listing.count; i++)
		bytes_format(&keys, NULL, "%s:%llu ", listing.items[i].key,
			     (unsigned long long)listing.items[i].size);
	bytes_append(&keys, "", 1, NULL);
	assert_string_equal((const char *)keys.data, expected);
}

/* `name`: how errors name the place, without the key. */
static inline void memory_check_contract(const char *url, const char *name)
{
	auto_(store_close) struct store *store = memory_open(url);
	struct err err = {0};

	memory_check_list(store, "jobs/", STORE_ALL, "");
	assert_int_equal(memory_put_text(store, "jobs/a/1", "one", STORE_UNIQUE, &err), 0);
	assert_int_equal(memory_put_text(store, "jobs/a/2", "", STORE_UNIQUE, &err), 0);
	assert_int_equal(memory_put_text(store, "jobs/b/3", "0123456789", STORE_IF_ABSENT, &err),
			 0);
	assert_int_equal(memory_put_text(store, "jobs/b/3", "other", STORE_IF_ABSENT, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	assert_int_equal(memory_put_text(store, "jobs/a/1", "one!", STORE_UNIQUE, &err), 0);
	assert_int_equal(memory_put_text(store, "jobs/c", "c", STORE_UNIQUE, &err), 0);
	memory_check_get(store, "jobs/a/1", 0, STORE_TO_END, "one!");
	memory_check_get(store, "jobs/a/2", 0, STORE_TO_END, "");
	memory_check_get(store, "jobs/b/3", 2, 3, "234");
	memory_check_get(store, "jobs/b/3", 8, STORE_TO_END, "89");
	memory_check_get_fails(store, "jobs/b/3", 8, 3, ERR_CORRUPT, "jobs/b/3");
	memory_check_get_fails(store, "jobs/none", 0, STORE_TO_END, ERR_NOT_FOUND, name);
	memory_check_get_fails(store, "jobs/none", 0, STORE_TO_END, ERR_NOT_FOUND, "jobs/none");
	memory_check_list(store, "jobs/", STORE_ALL, "jobs/a/1:4 jobs/a/2:0 jobs/b/3:10 jobs/c:1 ");
	memory_check_list(store, "jobs/", STORE_LEVEL, "jobs/a/:0 jobs/b/:0 jobs/c:1 ");
	memory_check_list(store, "jobs/a", STORE_ALL, "jobs/a/1:4 jobs/a/2:0 ");
	assert_int_equal(store->ops->remove(store, "jobs/a/1", NULL, &err), 0);
	assert_int_equal(store->ops->remove(store, "jobs/a/1", NULL, &err), 0);
	memory_check_list(store, "jobs/a", STORE_ALL, "jobs/a/2:0 ");
	assert_int_equal(store->ops->remove(store, "jobs/a/2", NULL, &err), 0);
	assert_int_equal(store->ops->remove(store, "jobs/b/3", NULL, &err), 0);
	assert_int_equal(store->ops->remove(store, "jobs/c", NULL, &err), 0);
	memory_check_list(store, "jobs/", STORE_ALL, "");
	assert_int_equal(memory.count, 0);
}

/* A token that is refused is replaced once; what is still refused is the user's to know. */
static inline void memory_check_refused_tokens(const char *url, const char *refusal,
					       const char *object)
{
	auto_(store_close) struct store *store = memory_open(url);
	struct err err = {0};

	assert_int_equal(memory_put_text(store, "k", "x", STORE_UNIQUE, &err), 0);
	snprintf(memory.token, sizeof(memory.token), "another");
	assert_int_equal(memory_put_text(store, "k", "y", STORE_UNIQUE, &err), 0);
	assert_int_equal(memory.tokens, 2);
	memory.faults[0] = memory.faults[1] = memory.faults[2] = refusal;
	assert_int_equal(memory_put_text(store, "k", "z", STORE_UNIQUE, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.text, object));
}

struct memory_fault {
	const char *faults[3];
	enum err_kind kind;
	unsigned requests;
};

/* How many requests a put takes, and how it ends. */
static inline void memory_check_faults(const char *url, const struct memory_fault *rows,
				       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		auto_(store_close) struct store *store = memory_open(url);
		struct err err = {0};

		memory.requests = memory.fault = 0;
		memcpy(memory.faults, rows[i].faults, sizeof(rows[i].faults));
		memory_put_text(store, "k", "x", STORE_UNIQUE, &err);
		if (err.kind != rows[i].kind || memory.requests != rows[i].requests)
			fail_msg("row %zu: %s, %u requests: %s", i, err_kind_name(err.kind),
				 memory.requests, err.text);
	}
}

#endif
