#include "path_set.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const struct path_set *set, const char *path)
{
	uint64_t hash = 14695981039346656037u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211u;
	return hash % set->bucket_count;
}

static struct path_entry **find_entry_link(const struct path_set *set, const char *path)
{
	struct path_entry **link;

	if (set->bucket_count == 0)
		return NULL;
	for (link = &set->buckets[bucket_of(set, path)]; *link; link = &(*link)->next) {
		if (strcmp((*link)->path, path) == 0)
			break;
	}
	return link;
}

static void insert_entry(struct path_set *set, struct path_entry *entry)
{
	struct path_entry **bucket = &set->buckets[bucket_of(set, entry->path)];

	entry->next = *bucket;
	*bucket = entry;
}

/* Removes all entries from the table and returns them as a list. */
static struct path_entry *take_all_entries(struct path_set *set)
{
	struct path_entry *all = NULL;

	for (size_t i = 0; i < set->bucket_count; i++) {
		while (set->buckets[i]) {
			struct path_entry *entry = set->buckets[i];
			set->buckets[i] = entry->next;
			entry->next = all;
			all = entry;
		}
	}
	return all;
}

static void grow_buckets(struct path_set *set)
{
	size_t count = set->bucket_count ? 4 * set->bucket_count : 64;
	struct path_entry *all = take_all_entries(set);

	free(set->buckets);
	set->buckets = memory_new(count * sizeof(struct path_entry *));
	set->bucket_count = count;
	while (all) {
		struct path_entry *next = all->next;
		insert_entry(set, all);
		all = next;
	}
}

void path_set_release(struct path_set *set)
{
	for (struct path_entry *entry = take_all_entries(set); entry;) {
		struct path_entry *next = entry->next;

		free(entry->path);
		free(entry);
		entry = next;
	}
	free(set->buckets);
	*set = (struct path_set){0};
}

unsigned path_set_marks(const struct path_set *set, const char *path)
{
	struct path_entry **link = find_entry_link(set, path);

	return link && *link ? (*link)->marks : 0;
}

void path_set_mark(struct path_set *set, const char *path, unsigned marks)
{
	struct path_entry **link = find_entry_link(set, path);
	struct path_entry *entry;

	if (link && *link) {
		(*link)->marks |= marks;
		return;
	}
	if (marks == 0)
		return;
	if (set->count >= set->bucket_count)
		grow_buckets(set);
	entry = memory_new(sizeof(*entry));
	entry->path = text_copy(path);
	entry->marks = marks;
	insert_entry(set, entry);
	set->count++;
}

bool path_set_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 0)
		return true;
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

void path_list_add(void *argument, const char *path)
{
	struct path_list *list = argument;

	list->paths = memory_grow(list->paths, list->count + 2, sizeof(list->paths[0]));
	list->paths[list->count++] = text_copy(path);
	list->paths[list->count] = NULL;
}

void path_list_free(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}
