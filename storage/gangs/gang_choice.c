#include "gangs.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "storage/format/format.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

/* --- whose parts of a gang's snapshot are put into one directory: PURE --- */

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

/*
 * One directory out of the parts of all members of a gang, for a member that needs the files
 * of the others too: because it has none of its own, or because there are more or fewer members
 * now.
 */

/* "member-00003" */
#define DIRECTORY_LENGTH 12

struct merge_item {
	struct entry *entry;
	const char *path; /* without the directory of the member */
	uint32_t member;
	uint32_t rank; /* the lowest of one name stays */
};

struct merging {
	const struct manifest *manifest; /* as it was: with all entries */
	struct merge_item *items;
	size_t count, kept;
	struct gang_clashes *clashes;
};

/* --- which entry is whose --- */

static int parse_item(const struct manifest *manifest, struct entry *entry, uint32_t own,
		      struct merge_item *item, struct err *err)
{
	uint64_t member = UINT64_MAX;
	auto_free char *name = text_copy_n(entry->path, DIRECTORY_LENGTH);
	char after = strlen(entry->path) > DIRECTORY_LENGTH ? entry->path[DIRECTORY_LENGTH] : '\0';

	if (!text_starts(name, "member-") ||
	    !text_to_u64(name + strlen("member-"), UINT32_MAX, &member) ||
	    member >= manifest->part_count || (after != '\0' && after != '/'))
		return err_set(err, ERR_CORRUPT, "\"%s\" is below no member's directory",
			       entry->path);
	*item = (struct merge_item){
		.entry = entry,
		.path = after ? entry->path + DIRECTORY_LENGTH + 1 : "",
		.member = (uint32_t)member,
		.rank = member == own ? 0 : (uint32_t)member + 1,
	};
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct merge_item *first = a, *second = b;
	int order = strcmp(first->path, second->path);

	return order ? order : (first->rank > second->rank) - (first->rank < second->rank);
}

static int find_items(struct merging *merging, struct manifest *manifest, uint32_t own,
		      struct err *err)
{
	for (size_t i = 0; i < manifest->entry_count; i++) {
		struct merge_item *item = &merging->items[merging->count];

		if (parse_item(manifest, &manifest->entries[i], own, item, err) < 0)
			return -1;
		/* The directory itself is that of the checkpoint. */
		merging->count += item->path[0] != '\0';
	}
	if (merging->count > 0)
		qsort(merging->items, merging->count, sizeof(*merging->items), compare_items);
	return 0;
}

/* --- what is the same --- */

/* The file that a name stands for, in the list as it was. */
static const struct entry *resolve_link(const struct manifest *manifest, const struct entry *entry)
{
	return entry && entry->type == ENTRY_HARDLINK ? manifest_find(manifest, entry->target)
						      : entry;
}

static bool has_same_chunks(const struct entry *a, const struct entry *b)
{
	if (a->size != b->size)
		return false;
	for (size_t i = 0; i < chunk_count(a->size); i++) {
		const struct chunk *first = &a->chunks[i], *second = &b->chunks[i];

		if ((first->codec == CHUNK_ZERO) != (second->codec == CHUNK_ZERO) ||
		    (first->codec != CHUNK_ZERO &&
		     memcmp(first->digest, second->digest, DIGEST_SIZE) != 0))
			return false;
	}
	return true;
}

static bool has_same_content(const struct manifest *manifest, const struct entry *one,
			     const struct entry *other)
{
	const struct entry *a = resolve_link(manifest, one), *b = resolve_link(manifest, other);

	if (!a || !b || a->type != b->type)
		return false;
	if (a->type == ENTRY_SYMLINK)
		return text_equal(a->target, b->target);
	return a->type != ENTRY_FILE || has_same_chunks(a, b);
}

static void note_clash(struct merging *merging, const struct merge_item *kept,
		       const struct merge_item *left)
{
	struct gang_clashes *clashes = merging->clashes;

	if (clashes->count++ > 0)
		return;
	text_elide(clashes->path, sizeof(clashes->path), left->path);
	clashes->kept = kept->member;
	clashes->left = left->member;
}

/* --- one of each name --- */

static int compare_paths(const void *a, const void *b)
{
	const struct merge_item *first = a, *second = b;

	return strcmp(first->path, second->path);
}

static const struct merge_item *find_kept(const struct merging *merging, const char *path)
{
	const struct merge_item wanted = {.path = path};

	return bsearch(&wanted, merging->items, merging->kept, sizeof(wanted), compare_paths);
}

/* Returns the entry above `path` that is no directory; NULL: there is none. A directory sorts
 * before its content. */
static const struct merge_item *find_obstacle(const struct merging *merging, const char *path)
{
	auto_free char *above = text_copy(path);

	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		const struct merge_item *item;

		*slash = '\0';
		item = find_kept(merging, above);
		if (item && item->entry->type != ENTRY_DIRECTORY)
			return item;
	}
	return NULL;
}

static void keep_one_of_each_name(struct merging *merging)
{
	for (size_t i = 0; i < merging->count; i++) {
		struct merge_item *item = &merging->items[i];
		const struct merge_item *last =
			merging->kept > 0 ? &merging->items[merging->kept - 1] : NULL;
		const struct merge_item *obstacle = find_obstacle(merging, item->path);

		if (obstacle)
			note_clash(merging, obstacle, item);
		else if (!last || !text_equal(last->path, item->path))
			merging->items[merging->kept++] = *item;
		else if (!has_same_content(merging->manifest, last->entry, item->entry))
			note_clash(merging, last, item);
	}
}

/* --- the new list --- */

/* A link stays one if its file is there, and is the one that it was a link to. */
static void make_entry(const struct merging *merging, const struct merge_item *item,
		       struct entry *made)
{
	const struct entry *file = resolve_link(merging->manifest, item->entry);
	const struct merge_item *target;

	made->path = text_copy(item->path);
	if (item->entry->type == ENTRY_HARDLINK) {
		target = find_kept(merging, item->entry->target + DIRECTORY_LENGTH + 1);
		if (target && target->entry == file) {
			made->type = ENTRY_HARDLINK;
			made->target = text_copy(target->path);
			return;
		}
	}
	entry_copy(file, made);
}

static void replace_entries(struct merging *merging, struct manifest *manifest)
{
	struct entry *entries = memory_new((merging->kept + 1) * sizeof(*entries));

	manifest->files = 0;
	manifest->bytes = 0;
	for (size_t i = 0; i < merging->kept; i++) {
		make_entry(merging, &merging->items[i], &entries[i]);
		if (entries[i].type != ENTRY_FILE)
			continue;
		manifest->files++;
		manifest->bytes += entries[i].size;
	}
	for (size_t i = 0; i < manifest->entry_count; i++)
		entry_release(&manifest->entries[i]);
	free(manifest->entries);
	manifest->entries = entries;
	manifest->entry_count = merging->kept;
}

/* As the own part has it, or the first that has files. */
static void take_header(struct manifest *manifest, uint32_t own)
{
	size_t first = 0;

	if (own < manifest->part_count && manifest->parts[own].pieces > 0)
		first = own;
	while (first < manifest->part_count && manifest->parts[first].pieces == 0)
		first++;
	if (first == manifest->part_count)
		return;
	manifest->directory_mode = manifest->parts[first].directory_mode;
	json_decref(manifest->about);
	manifest->about = json_incref(manifest->parts[first].about);
}

int gang_merge(struct manifest *manifest, uint32_t own, struct gang_clashes *clashes,
	       struct err *err)
{
	auto_free struct merge_item *items =
		memory_new((manifest->entry_count + 1) * sizeof(*items));
	struct merging merging = {.manifest = manifest, .items = items, .clashes = clashes};

	*clashes = (struct gang_clashes){0};
	if (find_items(&merging, manifest, own, err) < 0)
		return -1;
	keep_one_of_each_name(&merging);
	replace_entries(&merging, manifest);
	take_header(manifest, own);
	return manifest_check_entries(manifest, err);
}

/* --- what the last snapshots hold of a member --- */

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

/* A file, or a link to one; what is neither, or of a member that saves no checkpoint, is left out.
 * The items are sorted by path. `first`: what the last file has at the first member. */
static void add_file(const struct manifest *manifest, const struct merge_item *item,
		     const struct entry **first, struct gang_files *files)
{
	const struct entry *file = resolve_link(manifest, item->entry);
	struct gang_file *last = files->count > 0 ? &files->items[files->count - 1] : NULL;
	bool gang = manifest->part_count > 0;

	if (!files->items || !file || file->type != ENTRY_FILE ||
	    (gang && manifest->parts[item->member].without_checkpoint))
		return;
	if (last && text_equal(last->path, item->path)) {
		last->having++;
		last->differs |= !has_same_content(manifest, *first, file);
		return;
	}
	files->items[files->count++] = (struct gang_file){
		.path = text_copy(item->path),
		.member = item->member,
		.having = 1,
		.running = file->running,
	};
	*first = file;
}

int storage_gang_list_files(struct storage *storage, struct snapshot_id id,
			    struct gang_files *files, struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_free struct merge_item *items = NULL;
	struct merging merging = {.manifest = &manifest};
	const struct entry *first = NULL;

	*files = (struct gang_files){0};
	if (job_record_get_manifest_head(storage, id, &manifest, cancel, err) < 0 ||
	    entry_list_load(storage, &manifest, cancel, err) < 0)
		return err_wrap(err, "%s", key);
	merging.items = items = memory_new((manifest.entry_count + 1) * sizeof(*items));
	files->members = gang_manifest_present(&manifest);
	if (manifest.part_count > 0 && find_items(&merging, &manifest, UINT32_MAX, err) < 0)
		return err_wrap(err, "%s", key);
	for (size_t i = 0; i < manifest.entry_count && manifest.part_count == 0; i++)
		items[merging.count++] = (struct merge_item){
			.entry = &manifest.entries[i],
			.path = manifest.entries[i].path,
		};
	files->items = memory_new((merging.count + 1) * sizeof(*files->items));
	for (size_t i = 0; i < merging.count; i++)
		add_file(&manifest, &merging.items[i], &first, files);
	return 0;
}

void gang_files_release(struct gang_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (struct gang_files){0};
}
