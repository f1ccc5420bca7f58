#include "pack_table.h"

#include "base/text.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_packs(const void *a, const void *b)
{
	const struct pack_table_item *first = a, *second = b;
	int result = strcmp(first->key, second->key);

	return result != 0 ? result
			   : (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

uint32_t pack_table_number(struct pack_table *table, const char *key, uint64_t bytes)
{
	struct pack_table_item wanted = {.key = (char *)key, .bytes = bytes}, *added;
	struct pack_table_item **found = tfind(&wanted, &table->by_key, compare_packs);

	if (found)
		return (*found)->number;
	added = memory_new(sizeof(*added));
	*added = (struct pack_table_item){text_copy(key), bytes, (uint32_t)table->count};
	/* Grows whenever the count is a power of two. */
	if ((table->count & (table->count - 1)) == 0)
		table->items = memory_grow(table->items, table->count ? 2 * table->count : 1,
					   sizeof(struct pack_table_item *));
	table->items[table->count++] = added;
	/* No memory, as in memory_new(). */
	if (!tsearch(added, &table->by_key, compare_packs))
		abort();
	return added->number;
}

/* The items are freed by the table. */
static void keep_item(void *item)
{
	(void)item;
}

void pack_table_release(struct pack_table *table)
{
	tdestroy(table->by_key, keep_item);
	for (size_t i = 0; i < table->count; i++) {
		free(table->items[i]->key);
		free(table->items[i]);
	}
	free(table->items);
	*table = (struct pack_table){0};
}
