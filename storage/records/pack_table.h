/* PURE. Packs by number: each key and size is kept once, however many snapshots name it. */
#ifndef PACK_TABLE_H
#define PACK_TABLE_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct pack_table_item {
	char *key;
	uint64_t bytes;
	uint32_t number;
};

struct pack_table {
	struct pack_table_item **items; /* by number */
	size_t count;
	void *by_key; /* of tsearch(3) */
};

/* The number of the pack, which is added if it is not there. */
uint32_t pack_table_number(struct pack_table *table, const char *key, uint64_t bytes);
void pack_table_release(struct pack_table *table);
AUTO(struct pack_table, pack_table_release);

#endif
