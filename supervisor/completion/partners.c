#include "partners.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Saves in a row that make sure of one. */
#define SURE 2
/* A manifest may come from anywhere. */
#define KEPT_MOST 100
#define LAG_MOST_MS 3600000

void partners_release(struct partners *partners)
{
	free(partners->items);
	*partners = (struct partners){0};
}

static const struct partner *find_known(const struct partners *partners, const struct partner *like)
{
	for (size_t i = 0; i < partners->count; i++)
		if (partners->items[i].name == like->name &&
		    partners->items[i].before == like->before)
			return &partners->items[i];
	return NULL;
}

void partners_learn(struct partners *partners, const struct partner *seen, size_t count)
{
	struct partner *items = memory_new((count + 1) * sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		const struct partner *known = find_known(partners, &seen[i]);
		/* An unusual lag counts less from save to save. */
		int64_t lag_ms = known ? known->lag_ms - known->lag_ms / 4 : 0;

		items[i] = seen[i];
		items[i].times = known ? known->times + 1 : 1;
		if (lag_ms > items[i].lag_ms)
			items[i].lag_ms = lag_ms;
	}
	free(partners->items);
	partners->items = items;
	partners->count = count;
	partners->saves++;
}

bool partners_expects(const struct partners *partners, const struct partner *partner)
{
	return partner->times >= SURE || partners->saves == 1;
}

json_t *partners_to_json(const struct partners *partners)
{
	json_t *list = json_array();

	for (size_t i = 0; i < partners->count && json_array_size(list) < KEPT_MOST; i++) {
		const struct partner *partner = &partners->items[i];
		char text[17];

		if (!partners_expects(partners, partner))
			continue;
		snprintf(text, sizeof(text), "%016" PRIx64, partner->name);
		json_array_append_new(list, json_pack("[s, s, I]", text,
						      partner->before ? "before" : "behind",
						      (json_int_t)partner->lag_ms));
	}
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return NULL;
}

void partners_from_json(struct partners *partners, const json_t *json)
{
	size_t count = json_array_size(json), i;
	json_t *known;

	if (partners->saves > 0 || count == 0 || count > KEPT_MOST)
		return;
	partners->items = memory_new(count * sizeof(*partners->items));
	json_array_foreach((json_t *)json, i, known)
	{
		const char *text, *place;
		json_int_t lag_ms;
		uint64_t name;

		if (json_unpack(known, "[s, s, I]", &text, &place, &lag_ms) < 0 || lag_ms < 0 ||
		    lag_ms > LAG_MOST_MS || sscanf(text, "%16" SCNx64, &name) != 1)
			continue;
		partners->items[partners->count++] =
			(struct partner){name, text_equal(place, "before"), lag_ms, SURE};
	}
	partners->saves = SURE;
}
