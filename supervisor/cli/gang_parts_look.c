#include "gang_parts_look.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/storage.h"

#include <stdlib.h>

#define LOOK_MOST_MS 5000

static int list_given(json_t *answer, struct snapshot_id id, uint32_t members, bool *given,
		      struct err *err)
{
	struct storage_options options = {
		.url = json_text_or(answer, "store", ""),
		.job = json_text_or(answer, "job", ""),
		.read_only = true,
	};
	auto_(cancel_release) struct cancel cancel = {0};
	struct storage *storage = NULL;
	int status;

	if (cancel_init(&cancel, err) < 0)
		return -1;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + LOOK_MOST_MS);
	status = storage_open(&options, &storage, &cancel, err);
	if (status == 0)
		status = storage_gang_given(storage, id.attempt, id.sequence, members, given,
					    &cancel, err);
	storage_close(storage);
	return status;
}

void gang_parts_look(json_t *answer)
{
	json_t *gang = json_object_get(answer, "gang");
	json_t *round = json_object_get(gang, "round");
	int64_t members = json_number_or(gang, "members", 0);
	auto_free bool *given = NULL, *without = NULL;
	struct snapshot_id id;
	struct err err = {0};
	json_t *lists[2], *item;
	size_t at;

	if (!text_equal(json_text_or(round, "state", ""), "open") || members < 1 ||
	    members > STORAGE_GANG_MOST || !snapshot_id_parse(json_text_or(round, "id", ""), &id))
		return;
	given = memory_new((size_t)members * sizeof(*given));
	without = memory_new((size_t)members * sizeof(*without));
	if (list_given(answer, id, (uint32_t)members, given, &err) < 0) {
		json_object_set_new(round, "unknown", json_string(err.text));
		return;
	}
	lists[0] = json_array();
	lists[1] = json_array();
	/* Who had gone before the round gives none. */
	json_array_foreach(json_object_get(round, "without"), at,
			   item) if (json_integer_value(item) >= 0 &&
				     json_integer_value(item) < members)
		without[json_integer_value(item)] = true;
	for (int64_t i = 0; i < members; i++)
		if (!without[i])
			json_array_append_new(lists[!given[i]], json_integer(i));
	json_object_set_new(round, "given", lists[0]);
	json_object_set_new(round, "missing", lists[1]);
}
