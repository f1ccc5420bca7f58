/* Lists a job's snapshots with their states, the body of a manifest, and the files of a
 * snapshot. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "forget.h"
#include "snapshots.h"
#include "storage/gangs/gangs.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

const char *snapshot_state_name(const struct snapshot_info *info)
{
	static const char *const names[] = {
		[SNAPSHOT_GOOD] = "good",
		[SNAPSHOT_FENCED] = "late",
		[SNAPSHOT_SUPERSEDED_BY_RESTORE] = "superseded",
		[SNAPSHOT_SUSPECT] = "suspect",
		[SNAPSHOT_DAMAGED] = "damaged",
	};

	return info->newer ? "newer" : names[info->state];
}

int storage_list_snapshots(struct storage *storage, struct snapshot_list *list,
			   struct cancel *cancel, struct err *err)
{
	auto_(inventory_release) struct inventory inventory = {0};

	*list = (struct snapshot_list){0};
	if (inventory_read(storage, &inventory, cancel, err) < 0)
		return -1;
	*list = inventory.list;
	inventory.list = (struct snapshot_list){0};
	return 0;
}

void snapshot_list_release(struct snapshot_list *list)
{
	free(list->items);
	*list = (struct snapshot_list){0};
}

bool storage_is_forgotten(struct storage *storage, struct snapshot_id id, struct cancel *cancel)
{
	return job_record_is_forgotten(storage, id, cancel);
}

int storage_size(struct storage *storage, uint64_t *bytes, struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};

	*bytes = 0;
	if (pack_listing_get_all(storage, &packs, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < packs.count; i++)
		*bytes += packs.items[i].size;
	return 0;
}

int storage_read_manifest(struct storage *storage, struct snapshot_id id, json_t **body,
			  struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_json json_t *read = NULL;

	if (job_record_get(storage->transfer.store, key, RECORD_SNAPSHOT, &read, cancel, err) < 0)
		return -1;
	if (manifest_decode(read, storage->transfer.job, id, &manifest, err) < 0)
		return err_wrap(err, "%s", key);
	if (manifest.piece_count) {
		if (entry_list_load(storage, &manifest, cancel, err) < 0)
			return err_wrap(err, "%s", key);
		json_object_del(read, "pieces");
		json_object_set_new(read, "entries", manifest_encode_entries(&manifest));
	}
	*body = steal(&read);
	return 0;
}

static int64_t total_nanoseconds(int64_t seconds, uint32_t rest)
{
	int64_t result;

	/* Clamped: 64 bits of nanoseconds end in the year 2262. */
	if (__builtin_mul_overflow(seconds, (int64_t)1000000000, &result) ||
	    __builtin_add_overflow(result, (int64_t)rest, &result))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

void listing_add_files(const struct manifest *manifest, struct snapshot_files *files)
{
	files->items = memory_new(manifest->entry_count * sizeof(*files->items));
	for (size_t i = 0; i < manifest->entry_count; i++) {
		const struct entry *entry = &manifest->entries[i], *file = entry;

		/* In a directory, a hard link looks like any other file. */
		if (entry->type == ENTRY_HARDLINK)
			file = manifest_find(manifest, entry->target);
		if (!file || file->type != ENTRY_FILE)
			continue;
		files->items[files->count++] = (struct snapshot_file){
			.path = text_copy(entry->path),
			.size = file->size,
			.mtime_ns = total_nanoseconds(file->mtime_s, file->mtime_ns),
			.running = file->running,
		};
	}
}

int storage_list_files(struct storage *storage, struct snapshot_id id, struct snapshot_files *files,
		       struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct gang_clashes clashes;

	*files = (struct snapshot_files){0};
	if (gang_choice_get_manifest(storage, id, &manifest, &clashes, cancel, err) < 0)
		return -1;
	listing_add_files(&manifest, files);
	return 0;
}

json_t *storage_read_about(struct storage *storage, struct snapshot_id id, int64_t *step,
			   struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	json_t *about;

	*err = (struct err){0};
	*step = -1;
	if (job_record_get_known_head(storage, id, &manifest, cancel, err) < 0)
		return NULL;
	about = json_incref(gang_choice_about(storage, &manifest, err));
	if (err->kind == ERR_NONE)
		*step = manifest.step;
	return about;
}

void snapshot_files_release(struct snapshot_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (struct snapshot_files){0};
}
