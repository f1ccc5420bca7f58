#include "object_store.h"

void store_close(struct store *store)
{
	if (store)
		store->ops->close(store);
}

const char *store_describe(struct store *store, char *text, size_t capacity)
{
	text_set(text, capacity, "");
	if (store->ops->describe)
		store->ops->describe(store, text, capacity);
	return text;
}
