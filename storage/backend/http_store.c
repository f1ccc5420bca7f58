#include "http_store.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/http.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests a part of an object over HTTP, and checks the reply. */

char *range_request_header(uint64_t offset, size_t size)
{
	if (size != STORE_TO_END)
		return text_format("bytes=%llu-%llu", (unsigned long long)offset,
				   (unsigned long long)(offset + size - 1));
	return offset ? text_format("bytes=%llu-", (unsigned long long)offset) : NULL;
}

/* "bytes 100-199/4096": whether that is what was asked for, and what came. */
static bool content_range_fits(const char *content_range, uint64_t offset, size_t size)
{
	unsigned long long first, last;

	return content_range && sscanf(content_range, "bytes %llu-%llu", &first, &last) == 2 &&
	       first == offset && last >= first && last - first + 1 == size;
}

bool range_request_fits(const struct http_response *response, uint64_t offset, size_t size)
{
	return response->status == 206 &&
	       content_range_fits(http_header(response, "Content-Range"), offset, size);
}

int range_request_check(const struct http_response *response, uint64_t offset, size_t size,
			struct err *err)
{
	const char *range = http_header(response, "Content-Range");

	if (offset == 0 && size == STORE_TO_END)
		return 0;
	if (response->status != 206)
		return err_set(err, ERR_FAILED,
			       "the store answers a part with %d: it knows no ranges",
			       response->status);
	if (!content_range_fits(range, offset, response->body.size))
		return err_set(err, ERR_FAILED, "another part than was asked for: %.100s",
			       range ? range : "no Content-Range");
	if (size != STORE_TO_END && response->body.size < size)
		return err_set(err, ERR_CORRUPT, "too short: %zu bytes from %llu on, not %zu",
			       response->body.size, (unsigned long long)offset, size);
	if (size != STORE_TO_END && response->body.size > size)
		return err_set(err, ERR_FAILED, "the answer is longer than asked for");
	return 0;
}

enum {
	/* A page has 5000 names of 1 KiB at most. */
	PAGE_LIMIT = 64 << 20,
	/* An error has a few hundred bytes. */
	SMALL_LIMIT = 1 << 20,
	ERROR_BODY_SIZE = 64 * 1024,
	/* Of answers that make no sense. */
	GET_TRIES = 3,
	GET_PAUSE_MS = 200,
};

static struct http_store *http_store_of(struct store *store)
{
	return (struct http_store *)store;
}

void http_store_release(struct http_store *http)
{
	retrying_client_free(http->client);
	free(http->place);
}

/* --- one call --- */

static int renew_credential(struct call_attempt *attempt, struct cancel *cancel, struct err *err)
{
	struct credential_cache *cache = attempt->http->credentials;

	if (attempt->refused &&
	    credential_cache_invalidate(cache, attempt->credential, cancel, err) < 0)
		return -1;
	attempt->refused = false;
	credential_release(steal(&attempt->credential));
	attempt->credential = credential_cache_get(cache, cancel, err);
	return attempt->credential ? 0 : -1;
}

static int prepare_try(void *arg, int64_t now_ms, struct call_request *request,
		       struct cancel *cancel, struct err *err)
{
	struct call_attempt *attempt = arg;

	if (attempt->http->credentials && renew_credential(attempt, cancel, err) < 0)
		return -1;
	attempt->now_ms = now_ms;
	attempt->http->ops->prepare(attempt, request);
	return 0;
}

static enum call_verdict judge_reply(void *arg, const struct http_response *response,
				     struct err *err)
{
	struct call_attempt *attempt = arg;
	enum call_verdict verdict = attempt->http->ops->judge(attempt, response, err);

	attempt->refused = attempt->refused || verdict == CALL_REFRESH;
	return verdict;
}

/* Sends the call, again where the reply asks for it. */
static int perform_call(struct store *store, const struct store_call *call,
			struct http_response *response, struct cancel *cancel, struct err *err)
{
	struct http_store *http = http_store_of(store);
	auto_(bytes_release) struct bytes body = {0};
	struct call_attempt attempt = {
		.http = http,
		.call = call,
		.method = call->asked & ASKED_REMOVE ? "DELETE"
			  : call->asked & ASKED_PUT  ? "PUT"
						     : "GET",
	};
	struct retried_call retried = {
		.body = call->body,
		.body_size = call->body_size,
		.arg = &attempt,
		.prepare = prepare_try,
		.judge = judge_reply,
		.read = call->read,
		.read_arg = call->read_arg,
		.once = call->once,
	};
	int result;

	if (call->asked & ASKED_PUT && http->checksums)
		crc32c_text(crc32c(call->body, call->body_size), attempt.checksum);
	if (http->ops->wrap)
		http->ops->wrap(&attempt, &body);
	retried.method = attempt.method;
	if (body.size) {
		retried.body = body.data;
		retried.body_size = body.size;
	}
	result = retrying_client_perform(http->client, &retried, response, cancel, err);
	credential_release(attempt.credential);
	return result == 0 ? 0
			   : err_wrap(err, "%s %s%s%s", retried.method, http->place,
				      call->key ? http->prefix : "", call->key ? call->key : "");
}

int http_store_put_object(struct store *store, const char *key, const void *data, size_t size,
			  unsigned asked, bool once, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	const struct store_call call = {
		.asked = asked,
		.key = key,
		.query = "",
		.body = data,
		.body_size = size,
		.once = once,
	};

	return perform_call(store, &call, &response, cancel, err);
}

int http_store_put(struct store *store, const char *key, const void *data, size_t size,
		   enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	return http_store_put_object(store, key, data, size,
				     mode == STORE_UNIQUE ? ASKED_PUT : ASKED_PUT_IF_ABSENT,
				     mode == STORE_IF_ABSENT_ONCE, cancel, err);
}

/* --- reading a part --- */

struct part_read {
	uint64_t offset;
	size_t size, most; /* of the part; of a body, where `size` is STORE_TO_END */
	const struct store_taker *taker;
};

static int take_part(void *arg, const struct http_response *response, const void *data, size_t size,
		     struct err *err)
{
	const struct part_read *part = arg;

	if (response->sunk == 0 && !range_request_fits(response, part->offset, part->size))
		return 0;
	if (response->sunk + size > part->size)
		return err_set(err, ERR_RETRY, "the answer is longer than asked for");
	return part->taker->take(part->taker->arg, (size_t)response->sunk, data, size, err) < 0
		       ? -1
		       : 1;
}

/* What is just the part that was asked for is taken while it arrives. *other: the answer is that of
 * a success, and not that part. */
static int ask_once(struct store *store, const char *key, struct part_read *part, bool *other,
		    struct cancel *cancel, struct err *err)
{
	bool to_end = part->size == STORE_TO_END;
	const struct http_sink sink = {take_part, part};
	auto_(http_response_release) struct http_response response = {
		.sink = to_end ? NULL : &sink,
		/* An error's body must find room too. */
		.body.limit = to_end ? part->most : part->size + ERROR_BODY_SIZE,
	};
	auto_free char *range = range_request_header(part->offset, part->size);
	const struct store_call call = {
		.asked = to_end ? ASKED_GET_REST : ASKED_GET,
		.key = key,
		.query = "",
		.range = range,
	};
	struct err own = {0};

	/* A store that knows no ranges sends the whole object, which does not find room: below that
	 * is said. */
	if (perform_call(store, &call, &response, cancel, &own) < 0 &&
	    !(range && response.status == 200 && own.kind == ERR_FAILED))
		return err_pass(err, &own);
	/* From behind the end there is nothing to get. */
	if (response.status == 416 || response.sunk == part->size)
		return 0;
	if (range_request_check(&response, part->offset, part->size, &own) == 0)
		return part->taker->take(part->taker->arg, 0, response.body.data,
					 response.body.size, err);
	*other = own.kind == ERR_FAILED;
	return err_set(err, own.kind, "%s%s: %s", http_store_of(store)->prefix, key, own.text);
}

/* Another part than was asked for, or the whole object, may come from something in between, and the
 * next answer from the store. */
static int ask_for_part(struct store *store, const char *key, struct part_read *part,
			struct cancel *cancel, struct err *err)
{
	struct err own = {0};
	bool other = true;
	int result = -1;

	if (part->size == 0)
		return cancel_check(cancel, err);
	for (int i = 0; result < 0 && other && i < GET_TRIES; i++) {
		if (i > 0 && cancel_sleep(cancel, (int64_t)i * GET_PAUSE_MS, err) < 0)
			return -1;
		own = (struct err){0};
		other = false;
		result = ask_once(store, key, part, &other, cancel, &own);
	}
	return result < 0 ? err_pass(err, &own) : 0;
}

int http_store_get(struct store *store, const char *key, uint64_t offset, size_t size,
		   struct bytes *out, struct cancel *cancel, struct err *err)
{
	struct store_gathering gathering = {out, out->size};
	const struct store_taker taker = {store_gather, &gathering};
	struct part_read part = {offset, size, out->limit, &taker};

	if (size != STORE_TO_END && bytes_reserve(out, size, err) < 0)
		return err_wrap(err, "%s", key);
	return ask_for_part(store, key, &part, cancel, err);
}

int http_store_read(struct store *store, const char *key, uint64_t offset, size_t size,
		    const struct store_taker *taker, struct cancel *cancel, struct err *err)
{
	struct part_read part = {offset, size, 0, taker};

	return ask_for_part(store, key, &part, cancel, err);
}

/* --- listing --- */

struct page_read {
	const struct http_store *store;
	struct store_listing *listing;
	char **next;
};

static int read_page(void *arg, const struct http_response *response, struct err *err)
{
	const struct page_read *page = arg;

	return page->store->ops->read_page(response->body.data, response->body.size,
					   page->store->prefix, page->listing, page->next, err);
}

/* One page; `token` becomes that of the next, NULL after the last. */
static int list_page(struct store *store, const char *prefix, enum store_depth depth, char **token,
		     struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	const struct http_store *http = http_store_of(store);
	auto_(http_response_release) struct http_response response = {.body.limit = PAGE_LIMIT};
	auto_(bytes_release) struct bytes query = {0};
	auto_free char *full = text_format("%s%s", http->prefix, prefix);
	struct page_read page = {http, listing, token};
	struct store_call call = {.asked = ASKED_LIST, .read = read_page, .read_arg = &page};

	http->ops->add_page_query(&query, full, depth, *token);
	call.query = uri_text(&query);
	free(steal(token));
	return perform_call(store, &call, &response, cancel, err);
}

int http_store_list(struct store *store, const char *prefix, enum store_depth depth,
		    struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_free char *token = NULL;
	int result;

	do {
		auto_free char *asked = token ? text_copy(token) : NULL;

		result = list_page(store, prefix, depth, &token, listing, cancel, err);
		/* It would send the same page forever. */
		if (result == 0 && asked && text_equal(asked, token))
			result =
				err_set(err, ERR_FAILED,
					"the list does not end: the next page is this one. Is "
					"something (a cache, a proxy) between here and the store?");
	} while (result == 0 && token);
	if (result < 0) {
		store_listing_release(listing);
		return err_wrap(err, "list of %s%s", http_store_of(store)->prefix, prefix);
	}
	store_listing_sort(listing);
	return 0;
}

/* --- the rest --- */

int http_store_remove(struct store *store, const char *key, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	const struct store_call call = {.asked = ASKED_REMOVE, .key = key, .query = ""};

	return perform_call(store, &call, &response, cancel, err);
}

void http_store_read_health(struct store *store, struct store_health *health)
{
	health->skew_known = retrying_client_clock(http_store_of(store)->client, &health->skew_ms);
}
