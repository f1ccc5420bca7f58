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

struct azure_store {
	struct http_store http;
	struct azure_container container;
};

static struct azure_container *container_of(struct store *store)
{
	return &((struct azure_store *)store)->container;
}

static int azure_perform(struct store *store, const struct store_call *call,
			 struct http_response *response, struct cancel *cancel, struct err *err)
{
	return azure_container_perform(container_of(store), call, response, cancel, err);
}

static void azure_add_page_query(struct bytes *query, const char *prefix, enum store_depth depth,
				 const char *token)
{
	uri_add(query, "restype", "container");
	uri_add(query, "comp", "list");
	uri_add(query, "prefix", prefix);
	if (depth == STORE_LEVEL)
		uri_add(query, "delimiter", "/");
	if (token)
		uri_add(query, "marker", token);
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
	static const struct http_store_ops ops = {azure_perform, azure_add_page_query,
						  azure_listing_read};
	struct azure_store *azure;

	(void)create, (void)read_only;
	if (cancel_check(cancel, err) < 0)
		return -1;
	azure = memory_new(sizeof(*azure));
	if (azure_container_init(&azure->container, url, err) < 0) {
		free(azure);
		return -1;
	}
	azure->http = (struct http_store){{.ops = &azure_store_ops},
					  &ops,
					  azure->container.account.prefix,
					  azure->container.client};
	*store = &azure->http.store;
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

/* Without a key or a signature there is a token, for which http is refused. */
static void azure_read_health(struct store *store, struct store_health *health)
{
	http_store_read_health(store, health);
	health->in_the_clear = !uri_is_confidential(container_of(store)->account.endpoint);
}

const struct store_ops azure_store_ops = {
	.scheme = "az",
	.open = azure_open,
	.close = azure_close,
	.put = http_store_put,
	.get = http_store_get,
	.read = http_store_read,
	.list = http_store_list,
	.remove = http_store_remove,
	.describe = azure_describe,
	.read_health = azure_read_health,
};
