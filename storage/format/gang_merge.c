#include "gang_merge.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
	return entry->type == ENTRY_HARDLINK ? manifest_find(manifest, entry->target) : entry;
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

static const struct merge_item *find_kept(const struct merging *merging, const char *path)
{
	size_t low = 0, high = merging->kept;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(merging->items[middle].path, path);

		if (order == 0)
			return &merging->items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* What it would lie below, and is no directory; NULL: nothing. A directory sorts before all that is
 * in it. */
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

static void copy_chunks(const struct entry *from, struct entry *to)
{
	size_t count = chunk_count(from->size);

	to->chunks = memory_new((count + 1) * sizeof(*to->chunks));
	if (count > 0)
		memcpy(to->chunks, from->chunks, count * sizeof(*to->chunks));
}

/* All but the path. */
static void copy_entry(const struct entry *from, struct entry *to)
{
	to->type = from->type;
	to->mode = from->mode;
	to->mtime_s = from->mtime_s;
	to->mtime_ns = from->mtime_ns;
	to->size = from->size;
	to->running = from->running;
	to->target = from->target ? text_copy(from->target) : NULL;
	if (from->type == ENTRY_FILE)
		copy_chunks(from, to);
	to->xattrs = memory_new((from->xattr_count + 1) * sizeof(*to->xattrs));
	for (; to->xattr_count < from->xattr_count; to->xattr_count++) {
		const struct entry_xattr *xattr = &from->xattrs[to->xattr_count];
		struct entry_xattr *copy = &to->xattrs[to->xattr_count];

		copy->name = text_copy(xattr->name);
		(void)bytes_append(&copy->value, xattr->value.data, xattr->value.size, NULL);
	}
}

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
	copy_entry(file, made);
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

static void add_name(const struct merging *merging, const struct merge_item *item,
		     struct gang_name *names, size_t *count)
{
	const struct entry *file = resolve_link(merging->manifest, item->entry);
	struct gang_name *last = *count > 0 ? &names[*count - 1] : NULL;

	if (!file || file->type != ENTRY_FILE)
		return;
	if (!last || !text_equal(last->path, item->path)) {
		names[(*count)++] = (struct gang_name){item->path, file, item->member, 1, false};
		return;
	}
	last->members++;
	last->differs |= !has_same_content(merging->manifest, last->file, file);
}

int gang_merge_names(struct manifest *manifest, struct gang_name **names, size_t *count,
		     struct err *err)
{
	auto_free struct merge_item *items =
		memory_new((manifest->entry_count + 1) * sizeof(*items));
	struct merging merging = {.manifest = manifest, .items = items};

	*count = 0;
	*names = NULL;
	if (find_items(&merging, manifest, UINT32_MAX, err) < 0)
		return -1;
	*names = memory_new((merging.count + 1) * sizeof(**names));
	for (size_t i = 0; i < merging.count; i++)
		add_name(&merging, &items[i], *names, count);
	return 0;
}
