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

static void remove_entry(struct path_set *set, struct path_entry **link)
{
	struct path_entry *entry = *link;

	*link = entry->next;
	free(entry->path);
	free(entry);
	set->count--;
}

void path_set_release(struct path_set *set)
{
	path_set_change_all(set, ~0u, ~0u, 0);
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

void path_set_unmark(struct path_set *set, const char *path, unsigned marks)
{
	struct path_entry **link = find_entry_link(set, path);

	if (!link || !*link)
		return;
	(*link)->marks &= ~marks;
	if ((*link)->marks == 0)
		remove_entry(set, link);
}

void path_set_change_all(struct path_set *set, unsigned which, unsigned drop, unsigned give)
{
	for (size_t i = 0; i < set->bucket_count; i++) {
		for (struct path_entry **link = &set->buckets[i]; *link;) {
			struct path_entry *entry = *link;

			if (entry->marks & which)
				entry->marks = (entry->marks & ~drop) | give;
			if (entry->marks == 0)
				remove_entry(set, link);
			else
				link = &entry->next;
		}
	}
}

bool path_set_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 0)
		return true;
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

void path_set_remove_below(struct path_set *set, const char *path)
{
	for (size_t i = 0; i < set->bucket_count; i++) {
		for (struct path_entry **link = &set->buckets[i]; *link;) {
			if (path_set_is_below((*link)->path, path))
				remove_entry(set, link);
			else
				link = &(*link)->next;
		}
	}
}

void path_set_rename(struct path_set *set, const char *from, const char *to)
{
	struct path_entry *all;

	if (strcmp(from, to) == 0)
		return;
	path_set_remove_below(set, to);
	all = take_all_entries(set);
	while (all) {
		struct path_entry *entry = all;

		all = entry->next;
		if (path_set_is_below(entry->path, from)) {
			char *renamed = text_format("%s%s", to, entry->path + strlen(from));
			free(entry->path);
			entry->path = renamed;
		}
		insert_entry(set, entry);
	}
}

bool path_set_any(const struct path_set *set, unsigned marks)
{
	for (size_t i = 0; i < set->bucket_count; i++) {
		for (const struct path_entry *entry = set->buckets[i]; entry; entry = entry->next) {
			if (entry->marks & marks)
				return true;
		}
	}
	return false;
}

void path_set_each(const struct path_set *set, unsigned marks, path_set_fn *act, void *argument)
{
	for (size_t i = 0; i < set->bucket_count; i++) {
		for (const struct path_entry *entry = set->buckets[i]; entry; entry = entry->next) {
			if (entry->marks & marks)
				act(argument, entry->path);
		}
	}
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
