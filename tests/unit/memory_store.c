#include "memory_store.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* 2027, in ms since 1970. */
#define BEGAN_MS 1800000000000LL

/* FNV-1a over words, mixed at the end: fast, and good enough to tell stores apart. */
uint64_t memory_hash(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (; size >= 8; size -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	hash ^= hash >> 32;
	return hash * 0xd6e8feb86659fd93u;
}

static struct memory_content *content_new(const void *data, size_t size)
{
	struct memory_content *content = memory_new(sizeof(*content) + size);

	content->references = 1;
	content->size = size;
	content->hash = memory_hash(1, data, size);
	if (size > 0)
		memcpy(content->data, data, size);
	return content;
}

static void content_release(struct memory_content *content)
{
	if (--content->references == 0)
		free(content);
}

/* The position of the first object that does not sort before `key`. */
static size_t position_of(const struct memory_objects *objects, const char *key)
{
	size_t low = 0, high = objects->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(objects->items[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct memory_object *memory_objects_find(const struct memory_objects *objects, const char *key)
{
	size_t at = position_of(objects, key);

	return at < objects->count && text_equal(objects->items[at].key, key)
		       ? &objects->items[at]
		       : NULL;
}

static struct memory_object *insert_object(struct memory_objects *objects, const char *key)
{
	size_t at = position_of(objects, key);

	if (objects->count == objects->capacity) {
		objects->capacity = objects->capacity ? 2 * objects->capacity : 64;
		objects->items =
			memory_grow(objects->items, objects->capacity, sizeof(*objects->items));
	}
	memmove(&objects->items[at + 1], &objects->items[at],
		(objects->count - at) * sizeof(*objects->items));
	objects->count++;
	objects->items[at] = (struct memory_object){
		.key = text_copy(key),
		.key_hash = memory_hash(2, key, strlen(key)),
	};
	return &objects->items[at];
}

void memory_objects_put(struct memory_objects *objects, const char *key, const void *data,
			size_t size)
{
	struct memory_object *object = memory_objects_find(objects, key);

	if (object)
		content_release(object->content);
	else
		object = insert_object(objects, key);
	object->content = content_new(data, size);
	if (objects->now_ms == 0)
		objects->now_ms = BEGAN_MS;
	object->put_ms = objects->now_ms++;
}

void memory_objects_remove(struct memory_objects *objects, const char *key)
{
	struct memory_object *object = memory_objects_find(objects, key);

	if (!object)
		return;
	free(object->key);
	content_release(object->content);
	memmove(object, object + 1,
		(size_t)(objects->items + objects->count - object - 1) * sizeof(*object));
	objects->count--;
}

void memory_objects_list(const struct memory_objects *objects, const char *prefix,
			 enum store_depth depth, struct store_listing *listing)
{
	size_t length = strlen(prefix);

	for (size_t i = position_of(objects, prefix);
	     i < objects->count && text_starts(objects->items[i].key, prefix); i++) {
		const struct memory_object *object = &objects->items[i];
		const char *slash = strchr(object->key + length, '/');

		if (depth == STORE_ALL || !slash) {
			store_listing_add_dated(listing, object->key, object->content->size,
						object->put_ms);
			continue;
		}
		auto_free char *folded =
			text_copy_n(object->key, (size_t)(slash + 1 - object->key));

		if (listing->count == 0 ||
		    !text_equal(listing->items[listing->count - 1].key, folded))
			store_listing_add(listing, folded, 0);
	}
}

uint64_t memory_objects_hash(const struct memory_objects *objects)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < objects->count; i++) {
		const struct memory_object *object = &objects->items[i];
		bool young = object->put_ms > objects->now_ms - MEMORY_DAY_MS;
		uint64_t facts[] = {object->key_hash, object->content->hash, young};

		hash += memory_hash(3, facts, sizeof(facts));
	}
	return hash;
}

void memory_objects_copy(struct memory_objects *target, const struct memory_objects *source)
{
	memory_objects_release(target);
	target->now_ms = source->now_ms;
	target->count = target->capacity = source->count;
	target->items = memory_new((source->count + 1) * sizeof(*target->items));
	for (size_t i = 0; i < source->count; i++) {
		target->items[i] = source->items[i];
		target->items[i].key = text_copy(source->items[i].key);
		target->items[i].content->references++;
	}
}

void memory_objects_release(struct memory_objects *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		free(objects->items[i].key);
		content_release(objects->items[i].content);
	}
	free(objects->items);
	*objects = (struct memory_objects){0};
}
