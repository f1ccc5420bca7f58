/* The parts of all may be in the store, and nobody be left who waits for them: the last member may
 * have died, or the saves of all have failed once their parts were put. The next start, or whoever
 * looks after its part, finishes that, so that the work is not lost. */
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

/* The newest round that anybody has given a part in; 0: there is none. Whatever came before it is
 * committed, or over: nobody opens a round behind one that is not. A listing is in the order of the
 * keys. */
static int find_newest_round(struct storage *storage, uint32_t attempt, uint32_t *round,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/parts/%06u/", storage->transfer.job, attempt);
	auto_(store_listing_release) struct store_listing found = {0};

	*round = 0;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		uint32_t number, member;

		if (parse_part_key(found.items[i].key, strlen(prefix), &number, &member) &&
		    number > *round)
			*round = number;
	}
	return 0;
}

/* Who had gone when it was opened: what its event says. One that is gone itself has opened it for
 * those that are left. */
static int find_members(struct storage *storage, uint32_t attempt, uint32_t round,
			uint32_t *newest_gone, struct cancel *cancel, struct err *err)
{
	struct gang_event event;
	bool there;

	*newest_gone = 0;
	if (storage_gang_read(storage, attempt, round, &event, &there, cancel, err) < 0)
		return -1;
	if (there)
		*newest_gone = event.kind == GANG_EVENT_GONE ? event.number : event.gone;
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
		if (storage_gang_read(storage, attempt, number, &event, &there, cancel, err) < 0)
			return -1;
		*open = !there || (event.kind != GANG_EVENT_ROUND &&
				   (event.kind != GANG_EVENT_LEFT_OUT || event.round != round));
	}
	return 0;
}

/* Whether it has the parts of all that are to give one, and may be committed. */
static int is_unfinished(struct gang_round *round, bool *unfinished, struct err *err)
{
	struct storage *storage = round->storage;
	struct snapshot_id id = round->request->id;
	bool committed;
	uint32_t there, missing;

	*unfinished = false;
	if (gang_round_begin(round, err) < 0 ||
	    storage_gang_missing(storage, id.attempt, id.sequence, round->gone, &there, &missing,
				 round->cancel, err) < 0)
		return -1;
	if (there < round->present)
		return 0;
	if (find_fate(storage, id.attempt, id.sequence, unfinished, round->cancel, err) < 0)
		return -1;
	if (!*unfinished)
		return 0;
	if (storage_gang_is_committed(storage, id.attempt, id.sequence, &committed, round->cancel,
				      err) < 0)
		return -1;
	*unfinished = !committed;
	return 0;
}

int storage_gang_finish(struct storage *storage, uint32_t attempt, uint32_t *round,
			struct cancel *cancel, struct err *err)
{
	struct save_request request = {.id.attempt = attempt};
	auto_(gang_round_release) struct gang_round finished =
		{.storage = storage, .request = &request, .cancel = cancel};
	struct err own = {0};
	uint32_t newest;
	bool unfinished;

	*round = 0;
	if (find_newest_round(storage, attempt, &newest, cancel, err) < 0)
		return -1;
	request.id.sequence = newest;
	if (newest == 0)
		return 0;
	if (find_members(storage, attempt, newest, &request.gang_gone, cancel, &own) < 0 ||
	    is_unfinished(&finished, &unfinished, &own) < 0)
		/* What nobody here understands is not finished here. */
		return own.kind == ERR_VERSION || own.kind == ERR_CORRUPT ||
				       own.kind == ERR_NOT_FOUND
			       ? 0
			       : err_set(err, own.kind, "%s", own.text);
	if (!unfinished)
		return 0;
	if (gang_assembly_commit(&finished, &own) == 0) {
		*round = newest;
		return 0;
	}
	/* It never will be a snapshot; or another attempt was claimed meanwhile; or a member of
	 * this one, which is not over yet, has committed it, and the parts are removed. */
	return own.kind == ERR_UNFIT || own.kind == ERR_EXISTS || own.kind == ERR_NOT_FOUND
		       ? 0
		       : err_set(err, own.kind, "%s", own.text);
}

/* Its part is there. */
static int commit_if_whole(struct gang_round *round, enum gang_part_fate *fate, struct err *err)
{
	struct snapshot_id id = round->request->id;
	uint32_t there, missing;
	struct err own = {0};

	*fate = GANG_FATE_LIES;
	if (storage_gang_missing(round->storage, id.attempt, id.sequence, round->gone, &there,
				 &missing, round->cancel, err) < 0)
		return -1;
	if (there < round->present)
		return 0;
	*fate = GANG_FATE_COMMITTED;
	if (gang_assembly_commit(round, &own) == 0)
		return 0;
	*fate = own.kind == ERR_UNFIT ? GANG_FATE_UNFIT : GANG_FATE_LIES;
	/* One that is gone by now was removed behind a commit, which is seen at the next look. */
	return own.kind == ERR_UNFIT || own.kind == ERR_NOT_FOUND
		       ? 0
		       : err_set(err, own.kind, "%s", own.text);
}

int storage_gang_look_after_part(struct storage *storage, struct snapshot_id id, const bool *gone,
				 uint32_t newest_gone, enum gang_part_fate *fate,
				 struct cancel *cancel, struct err *err)
{
	struct save_request request = {.id = id, .gang_gone = newest_gone};
	auto_free bool *without = memory_new((storage->gang.members + 1) * sizeof(*without));
	struct gang_round round = {
		.storage = storage,
		.request = &request,
		.cancel = cancel,
		.gone = without,
		.present = storage->gang.members,
	};
	bool committed, is_void;

	for (uint32_t i = 0; i < storage->gang.members; i++) {
		without[i] = gone[i];
		round.present -= gone[i];
	}
	*fate = GANG_FATE_COMMITTED;
	if (storage_gang_is_committed(storage, id.attempt, id.sequence, &committed, cancel, err) <
	    0)
		return -1;
	if (committed)
		return 0;
	*fate = GANG_FATE_VOID;
	if (storage_gang_void_part(storage, id.attempt, id.sequence, &is_void, cancel, err) < 0)
		return -1;
	return is_void ? 0 : commit_if_whole(&round, fate, err);
}
