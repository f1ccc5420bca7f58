#include "gangs.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "storage/format/format.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

/* PRIVATE to storage/, and PURE. Whose parts of a gang's snapshot are put into one directory. */

static size_t keeper_of(const struct manifest_part *parts, size_t member)
{
	return parts[member].kept ? parts[member].keeper : member;
}

/* Much less than another one has: nothing, or its random state alone, as where rank 0 saves the
 * weights for all. */
static bool has_little(const struct manifest_part *parts, size_t count, const bool *takes)
{
	uint64_t most = 0, own = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].bytes > most)
			most = parts[i].bytes;
		if (!takes[i])
			continue;
		own += parts[i].bytes;
		any |= parts[i].pieces > 0 && !parts[i].without_checkpoint;
	}
	return !any || own < most / 2;
}

static size_t take_all(size_t count, bool *takes)
{
	for (size_t i = 0; i < count; i++)
		takes[i] = true;
	return count;
}

size_t gang_pick(const struct manifest_part *parts, size_t count, const struct gang_taker *taker,
		 bool *takes)
{
	size_t taken = 0;

	for (size_t i = 0; i < count; i++)
		takes[i] = false;
	if (taker->choice == GANG_PARTS_ALL && taker->members > 0)
		return take_all(count, takes);
	if (taker->members <= 1 || !gang_manifest_is_of(parts, count, taker->members))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (i == taker->member || (taker->sharers && taker->sharers[i]))
			takes[keeper_of(parts, i)] = true;
	if (taker->choice == GANG_PARTS_AUTO && has_little(parts, count, takes))
		return take_all(count, takes);
	for (size_t i = 0; i < count; i++)
		taken += takes[i];
	return taken;
}

/* What the last snapshots hold of a member. */

static bool holds_checkpoint(const struct storage *storage, const struct manifest *manifest)
{
	uint32_t member = storage->gang.member;

	return !gang_manifest_is_of(manifest->parts, manifest->part_count, storage->gang.members) ||
	       !manifest->parts[member].without_checkpoint;
}

#define RECALL_TRIES_MOST 3
#define RECALL_PAUSE_MS 1000

/* What passes by itself is tried again: a wrong answer counts until the next two snapshots. */
static int read_head(struct storage *storage, struct snapshot_id id, struct manifest *manifest,
		     struct cancel *cancel)
{
	struct err err = {0};

	for (unsigned tries = 1;; tries++) {
		if (job_record_get_manifest_head(storage, id, manifest, cancel, &err) == 0)
			return 0;
		if ((err.kind != ERR_RETRY && err.kind != ERR_FAILED) ||
		    tries == RECALL_TRIES_MOST || cancel_sleep(cancel, RECALL_PAUSE_MS, NULL) < 0)
			return -1;
	}
}

unsigned storage_gang_recall(struct storage *storage, struct snapshot_id from, unsigned most,
			     struct cancel *cancel)
{
	unsigned without = 0;

	while (!snapshot_id_is_none(from) && without < most) {
		auto_(manifest_release) struct manifest manifest = {0};

		if (read_head(storage, from, &manifest, cancel) < 0 ||
		    holds_checkpoint(storage, &manifest))
			break;
		without++;
		from = manifest.parent;
	}
	return without;
}

void storage_gang_choose_parts(struct storage *storage, enum gang_parts_choice choice)
{
	storage->gang.parts = choice;
}

void storage_gang_share_directory(struct storage *storage, const bool *sharers)
{
	size_t size = storage->gang.members * sizeof(*sharers);

	free(steal(&storage->gang.sharers));
	if (!sharers)
		return;
	storage->gang.sharers = memory_new(size);
	memcpy(storage->gang.sharers, sharers, size);
}

void storage_gang_look_at(struct storage *storage, uint32_t member)
{
	storage->gang.members = 0;
	storage->gang.member = member;
	storage->gang.looks_at_one = true;
}

/* Whether the parts of several members are put into one directory, and of which; the caller frees
 * `takes`. Of one machine it is all there is. */
static bool joins_parts(const struct storage *storage, const struct manifest *manifest,
			bool **takes)
{
	struct gang_taker taker = {
		.choice = storage->gang.parts,
		.members = storage->gang.members,
		.member = storage->gang.member,
		.sharers = storage->gang.sharers,
	};

	*takes = memory_new((manifest->part_count + 1) * sizeof(**takes));
	if (manifest->part_count == 0)
		return taker.choice == GANG_PARTS_ALL && taker.members > 0;
	return gang_pick(manifest->parts, manifest->part_count, &taker, *takes) > 1 ||
	       (taker.choice == GANG_PARTS_ALL && taker.members > 0);
}

json_t *gang_choice_about(struct storage *storage, struct manifest *manifest, struct err *err)
{
	uint32_t member = storage->gang.member;
	auto_free bool *takes = NULL;

	if (!joins_parts(storage, manifest, &takes))
		return member_view_cut(storage, manifest, err) < 0 ? NULL : manifest->about;
	if (manifest->part_count == 0)
		return manifest->about;
	if (!gang_manifest_is_of(manifest->parts, manifest->part_count, storage->gang.members) ||
	    manifest->parts[member].files == 0)
		return NULL;
	return manifest->parts[member].about;
}

/* The lists of these parts are read, and made that of one directory. */
static int load_parts(struct storage *storage, struct manifest *manifest, const bool *takes,
		      struct gang_clashes *clashes, struct cancel *cancel, struct err *err)
{
	uint32_t own = storage->gang.member;

	/* Of one machine: it has them as they are. */
	if (manifest->part_count == 0)
		return entry_list_load(storage, manifest, cancel, err);
	if (!gang_manifest_is_of(manifest->parts, manifest->part_count, storage->gang.members))
		own = UINT32_MAX;
	else if (manifest->parts[own].kept)
		own = manifest->parts[own].keeper;
	gang_manifest_keep(manifest, takes);
	return entry_list_load(storage, manifest, cancel, err) == 0
		       ? gang_merge(manifest, own, clashes, err)
		       : -1;
}

int gang_choice_get_manifest(struct storage *storage, struct snapshot_id id,
			     struct manifest *manifest, struct gang_clashes *clashes,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_free bool *takes = NULL;

	*clashes = (struct gang_clashes){0};
	/* One machine has a part only if it asks for all. */
	if (storage->gang.members == 0 ||
	    (storage->gang.parts == GANG_PARTS_OWN && !storage->gang.sharers) ||
	    (storage->gang.members == 1 && storage->gang.parts == GANG_PARTS_AUTO))
		return job_record_get_manifest(storage, id, manifest, cancel, err);
	if (job_record_get_known_head(storage, id, manifest, cancel, err) < 0)
		return -1;
	if (!joins_parts(storage, manifest, &takes))
		return job_record_finish_manifest(storage, manifest, cancel, err);
	if (load_parts(storage, manifest, takes, clashes, cancel, err) == 0)
		return 0;
	manifest_release(manifest);
	return err_wrap(err, "%s", key);
}

/* --- what all have --- */

static void add_file(struct gang_files *files, const char *path, const struct gang_name *name)
{
	files->items[files->count++] = (struct gang_file){
		.path = text_copy(path),
		.member = name->member,
		.having = name->members,
		.differs = name->differs,
		.running = name->file->running,
	};
}

static void add_files_of_one(const struct manifest *manifest, struct gang_files *files)
{
	files->items = memory_new((manifest->entry_count + 1) * sizeof(*files->items));
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i];
		struct gang_name name = {.file = entry, .members = 1};

		if (entry->type == ENTRY_HARDLINK)
			name.file = manifest_find(manifest, entry->target);
		if (name.file && name.file->type == ENTRY_FILE)
			add_file(files, entry->path, &name);
	}
}

int storage_gang_list_files(struct storage *storage, struct snapshot_id id,
			    struct gang_files *files, struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_free struct gang_name *names = NULL;
	size_t count;

	*files = (struct gang_files){0};
	if (job_record_get_manifest_head(storage, id, &manifest, cancel, err) < 0 ||
	    entry_list_load(storage, &manifest, cancel, err) < 0)
		return err_wrap(err, "%s", key);
	files->members = gang_manifest_present(&manifest);
	if (manifest.part_count == 0) {
		add_files_of_one(&manifest, files);
		return 0;
	}
	if (gang_merge_names(&manifest, &names, &count, err) < 0)
		return err_wrap(err, "%s", key);
	files->items = memory_new((count + 1) * sizeof(*files->items));
	for (size_t i = 0; i < count; i++)
		add_file(files, names[i].path, &names[i]);
	return 0;
}

void gang_files_release(struct gang_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (struct gang_files){0};
}
