/*
 * az://ACCOUNT/CONTAINER[/PREFIX]: block blobs, each put by one request; "if absent" is
 * If-None-Match: *. The container is there already: to make one is for whoever owns the account.
 */
#include "azure_store.h"

#include "azure_container.h"
#include "azure_listing.h"
#include "base/cleanup.h"
#include "storage/backend/backend.h"
#include "storage/http/http.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	PAGE_LIMIT = 64 << 20,
	SMALL_LIMIT = 1 << 20,
};

struct azure_store {
	struct store store;
	struct azure_container container;
};

AUTO(struct page_cycle, page_cycle_release);

static struct azure_container *container_of(struct store *store)
{
	return &((struct azure_store *)store)->container;
}

/* --- the operations --- */

static int azure_put(struct store *store, const char *key, const void *data, size_t size,
		     enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	bool if_absent = mode == STORE_IF_ABSENT;
	const struct azure_call call = {
		.method = "PUT",
		.key = key,
		.headers = {"x-ms-blob-type: BlockBlob", if_absent ? "If-None-Match: *" : NULL},
		.body = data,
		.body_size = size,
		.if_absent = if_absent,
	};

	return azure_container_perform(container_of(store), &call, &response, cancel, err);
}

static int azure_get(struct store *store, const char *key, uint64_t offset, size_t size,
		     struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = out->limit};
	auto_free char *range = NULL, *header = NULL;
	struct azure_call call = {
		.method = "GET",
		.key = key,
		.past_end_is_empty = size == STORE_TO_END,
	};

	if (size == 0)
		return cancel_check(cancel, err);
	range = range_request_header(offset, size);
	if (range) {
		header = text_format("x-ms-range: %s", range);
		call.headers[0] = header;
	}
	if (size != STORE_TO_END && bytes_reserve(&response.body, size, err) < 0)
		return err_wrap(err, "%s", key);
	if (azure_container_perform(container_of(store), &call, &response, cancel, err) < 0)
		return -1;
	if (response.status == 416)
		return 0;
	if (range_request_read(&response, offset, size, out, err) < 0)
		return err_wrap(err, "%s", key);
	return 0;
}

static int azure_remove(struct store *store, const char *key, struct cancel *cancel,
			struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = SMALL_LIMIT};
	const struct azure_call call = {.method = "DELETE", .key = key};
	struct err own = {0};

	if (azure_container_perform(container_of(store), &call, &response, cancel, &own) == 0 ||
	    own.kind == ERR_NOT_FOUND)
		return 0;
	if (err)
		*err = own;
	return -1;
}

/* --- listing --- */

struct page {
	const char *prefix; /* of the store */
	struct store_listing *listing;
	char **next;
};

static int read_page(void *arg, const struct http_response *response, struct err *err)
{
	const struct page *page = arg;

	return azure_listing_read(response->body.data, response->body.size, page->prefix,
				  page->listing, page->next, err);
}

/* One page; `marker` becomes that of the next, NULL after the last. */
static int list_page(struct azure_container *container, const char *prefix, enum store_depth depth,
		     char **marker, struct store_listing *listing, struct cancel *cancel,
		     struct err *err)
{
	auto_(http_response_release) struct http_response response = {.body.limit = PAGE_LIMIT};
	auto_(bytes_release) struct bytes query = {0};
	auto_free char *whole = text_format("%s%s", container->account.prefix, prefix);
	struct page page = {container->account.prefix, listing, marker};
	struct azure_call call = {.method = "GET", .read = read_page, .arg = &page};

	uri_add(&query, "restype", "container");
	uri_add(&query, "comp", "list");
	uri_add(&query, "prefix", whole);
	if (depth == STORE_LEVEL)
		uri_add(&query, "delimiter", "/");
	if (*marker)
		uri_add(&query, "marker", *marker);
	call.query = uri_text(&query);
	free(steal(marker));
	return azure_container_perform(container, &call, &response, cancel, err);
}

static int azure_list(struct store *store, const char *prefix, enum store_depth depth,
		      struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	auto_(page_cycle_release) struct page_cycle pages = {0};
	auto_free char *marker = NULL;

	do {
		if (list_page(container_of(store), prefix, depth, &marker, listing, cancel, err) <
			    0 ||
		    (marker && page_cycle_check(&pages, marker, err) < 0)) {
			store_listing_release(listing);
			return err_wrap(err, "list of %s", prefix);
		}
	} while (marker);
	store_listing_sort(listing);
	return 0;
}

/* --- opening --- */

static void azure_close(struct store *store)
{
	azure_container_release(container_of(store));
	free(store);
}

static int azure_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *err)
{
	struct azure_store *azure;

	(void)create, (void)read_only;
	if (cancel_check(cancel, err) < 0)
		return -1;
	azure = memory_new(sizeof(*azure));
	azure->store.ops = &azure_store_ops;
	if (azure_container_init(&azure->container, url, err) < 0) {
		free(azure);
		return -1;
	}
	*store = &azure->store;
	return 0;
}

/* --- for people --- */

static void azure_describe(struct store *store, char *text, size_t capacity)
{
	const struct azure_container *container = container_of(store);

	snprintf(text, capacity, "%s, credentials: %s", container->account.endpoint,
		 container->credentials ? azure_credentials_source(container->credentials)
					: container->account.source);
}

static void azure_read_health(struct store *store, struct store_health *health)
{
	struct retrying_client_statistics statistics;

	retrying_client_statistics(container_of(store)->remote, &statistics);
	health->skew_known = statistics.clock_seen;
	health->skew_ms = statistics.clock_ms;
}

const struct store_ops azure_store_ops = {
	.scheme = "az",
	.open = azure_open,
	.close = azure_close,
	.put = azure_put,
	.get = azure_get,
	.list = azure_list,
	.remove = azure_remove,
	.describe = azure_describe,
	.read_health = azure_read_health,
};
