/*
 * The objects of a store, in memory, for tests. A copy is cheap: content is shared. Not
 * thread-safe; whoever uses it from several threads takes turns.
 */
#ifndef MEMORY_STORE_H
#define MEMORY_STORE_H

#include "storage/backend/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_DAY_MS (24LL * 3600 * 1000)

struct memory_content {
	unsigned references;
	uint64_t hash;
	size_t size;
	uint8_t data[];
};

struct memory_object {
	char *key;
	uint64_t key_hash;
	struct memory_content *content;
	int64_t put_ms;
};

struct memory_objects {
	/* Sorted by key, byte by byte. */
	struct memory_object *items;
	size_t count, capacity;
	/* The store's clock: it moves on by one with each put. */
	int64_t now_ms;
};

uint64_t memory_hash(uint64_t hash, const void *data, size_t size);

/* NULL: there is none. Borrowed, until the next change. */
struct memory_object *memory_objects_find(const struct memory_objects *objects, const char *key);
/* Puts or replaces. */
void memory_objects_put(struct memory_objects *objects, const char *key, const void *data,
			size_t size);
void memory_objects_remove(struct memory_objects *objects, const char *key);
void memory_objects_list(const struct memory_objects *objects, const char *prefix,
			 enum store_depth depth, struct store_listing *listing);
/* Keys, content, and what is younger than a day: equal stores have equal hashes. */
uint64_t memory_objects_hash(const struct memory_objects *objects);
/* `target` is released first. */
void memory_objects_copy(struct memory_objects *target, const struct memory_objects *source);
void memory_objects_release(struct memory_objects *objects);

#endif
