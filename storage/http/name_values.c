#include "name_values.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void name_values_add(struct name_values *list, char *name, char *value)
{
	list->items = memory_grow(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count] = (struct name_value){name, value, list->count};
	list->count++;
}

static int compare_names(const void *a, const void *b)
{
	const struct name_value *first = a, *second = b;
	int order = strcmp(first->name, second->name);

	return order ? order : (first->order > second->order) - (first->order < second->order);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct name_value *first = a, *second = b;
	int order = strcmp(first->name, second->name);

	return order ? order : strcmp(first->value, second->value);
}

static void sort_list(struct name_values *list, int (*compare)(const void *, const void *))
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare);
}

void name_values_sort_by_name(struct name_values *list)
{
	sort_list(list, compare_names);
}

void name_values_sort(struct name_values *list)
{
	sort_list(list, compare_pairs);
}

void name_values_release(struct name_values *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].value);
	}
	free(list->items);
}
