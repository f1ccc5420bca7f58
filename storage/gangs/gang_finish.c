/* The last member of an attempt may have died with all parts in the store, and no commit: the next
 * start finishes that, so that the work is not lost. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "gang_assembly.h"

#include <stdlib.h>
#include <string.h>

/* "<prefix><step>/<member>.json" */
static bool parse_part_key(const char *key, size_t prefix, uint32_t *number, uint32_t *member)
{
	char *rest;
	unsigned long value = strtoul(key + prefix, &rest, 10);

	*number = (uint32_t)value;
	return rest > key + prefix && *rest == '/' && value > 0 && value <= UINT32_MAX &&
	       gang_part_parse_member(rest + 1, member);
}

/* The newest round with the parts of all; 0: there is none. A listing is in the order of the keys:
 * each round's parts follow each other. */
static int find_full_round(struct storage *storage, uint32_t attempt, uint32_t *full,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/parts/%06u/", storage->transfer.job, attempt);
	auto_(store_listing_release) struct store_listing found = {0};
	uint32_t round = 0, there = 0;

	*full = 0;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		uint32_t number, member;

		if (!parse_part_key(found.items[i].key, strlen(prefix), &number, &member) ||
		    member >= storage->gang.members)
			continue;
		there = number == round ? there + 1 : 1;
		round = number;
		if (there == storage->gang.members)
			*full = round;
	}
	return 0;
}

/* *open: the log has neither left it out nor opened one behind it. */
static int find_fate(struct storage *storage, uint32_t attempt, uint32_t round, bool *open,
		     struct cancel *cancel, struct err *err)
{
	struct gang_event event;
	bool there = true;

	*open = true;
	for (uint32_t number = round + 1; there && *open; number++) {
		struct err own = {0};

		if (storage_gang_read(storage, attempt, number, &event, &there, cancel, &own) < 0) {
			/* What nobody here understands is not finished here. */
			*open = false;
			return own.kind == ERR_VERSION || own.kind == ERR_CORRUPT
				       ? 0
				       : err_set(err, own.kind, "%s", own.text);
		}
		*open = !there || (event.kind != GANG_EVENT_ROUND &&
				   (event.kind != GANG_EVENT_LEFT_OUT || event.round != round));
	}
	return 0;
}

int storage_gang_finish(struct storage *storage, uint32_t attempt, uint32_t *round,
			struct cancel *cancel, struct err *err)
{
	struct save_request request = {.id.attempt = attempt};
	struct gang_round finished = {.storage = storage, .request = &request, .cancel = cancel};
	bool open = false, committed = false;
	struct err own = {0};
	uint32_t full;

	*round = 0;
	if (find_full_round(storage, attempt, &full, cancel, err) < 0 ||
	    (full > 0 && find_fate(storage, attempt, full, &open, cancel, err) < 0) ||
	    (open &&
	     storage_gang_is_committed(storage, attempt, full, &committed, cancel, err) < 0))
		return -1;
	if (!open || committed)
		return 0;
	request.id.sequence = full;
	if (gang_assembly_commit(&finished, &own) == 0) {
		*round = full;
		return 0;
	}
	/* It never will be a snapshot; or another attempt was claimed meanwhile; or a member of
	 * this one, which is not over yet, has committed it, and the parts are removed. */
	return own.kind == ERR_UNFIT || own.kind == ERR_EXISTS || own.kind == ERR_NOT_FOUND
		       ? 0
		       : err_set(err, own.kind, "%s", own.text);
}
