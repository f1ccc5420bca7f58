#include "left_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "completion/completion.h"

#include <stdlib.h>
#include <string.h>

/* Sizes vary a little from save to save; an object that is missing is more. */
static bool is_shorter(uint64_t size, uint64_t before)
{
	uint64_t least = before / 2 < 256 ? before / 2 : 256;
	uint64_t tolerance = before / 64 > least ? before / 64 : least;

	return size + tolerance < before;
}

bool left_file_stays(const struct left_file *file)
{
	if (text_equal(file->front, UNDER_WAY_CLOSED))
		return (file->content & CONTENT_VALID) || !file->rebooted;
	if (file->lacks)
		return false;
	if (file->content & CONTENT_END_OF_ALL)
		return true;
	if (is_shorter(file->size, file->before))
		return false;
	return (file->content & CONTENT_END_OF_ONE) ||
	       (text_equal(file->front, UNDER_WAY_UNSEEN) && !file->rebooted);
}

/* The key of the newest checkpoint of its kind before it; NULL: there is none. The caller frees. */
static char *key_before_of(const struct snapshot_files *files, const char *path)
{
	auto_free char *kind = checkpoint_name_family(path);
	int64_t step = step_of_path(path), newest = -1;
	const char *found = NULL;

	for (size_t i = 0; files && i < files->count; i++) {
		auto_free char *other = checkpoint_name_family(files->items[i].path);
		int64_t of_other = step_of_path(files->items[i].path);

		if (of_other < step && of_other > newest && text_equal(kind, other)) {
			newest = of_other;
			found = files->items[i].path;
		}
	}
	return found ? checkpoint_name_key(found) : NULL;
}

/* Of the file that the job wrote before this one under its name, numbers aside: the same fixed
 * name, or the number before. 0: there is none. */
static uint64_t size_before(const struct snapshot_files *files, const char *path)
{
	auto_free char *name = checkpoint_name_template(path);
	int64_t step = step_of_path(path), newest = -1;
	uint64_t size = 0;

	for (size_t i = 0; files && i < files->count; i++) {
		auto_free char *other = checkpoint_name_template(files->items[i].path);
		int64_t of_other = step_of_path(files->items[i].path);

		if (!text_equal(name, other) || (step >= 0 && of_other >= step) ||
		    of_other < newest)
			continue;
		newest = of_other;
		size = files->items[i].size;
	}
	return size;
}

/* A file of a checkpoint, with what its name and that of another one have in common. */
struct named {
	char *name;
	uint64_t size;
};

/* Those of the checkpoint with this key. The caller releases them. */
static struct named *list_named(const struct snapshot_files *files, const char *key, size_t *count)
{
	struct named *named = memory_new((files->count + 1) * sizeof(*named));

	*count = 0;
	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->items[i].path;
		auto_free char *other = checkpoint_name_key(path);

		if (text_equal(key, other))
			named[(*count)++] = (struct named){checkpoint_name_template(path),
							   files->items[i].size};
	}
	return named;
}

static void named_release(struct named *named, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(named[i].name);
	free(named);
}

static bool is_all_of(const struct named *own, size_t own_count, const struct named *before)
{
	for (size_t i = 0; i < own_count; i++)
		if (text_equal(own[i].name, before->name))
			return !is_shorter(own[i].size, before->size);
	return companion_file_is(before->name) || companion_file_is_result(before->name);
}

/* What is measured of a checkpoint may come later. */
static bool lacks_of_number(const struct left_files *files, const struct snapshot_files *known,
			    const char *path)
{
	auto_free char *key = checkpoint_name_key(path), *key_before = key_before_of(known, path);
	size_t own_count, count;
	struct named *own, *before;
	bool lacks = false;

	if (!key_before)
		return false;
	own = list_named(files->here, key, &own_count);
	before = list_named(known, key_before, &count);
	for (size_t i = 0; i < count && !lacks; i++)
		lacks = !is_all_of(own, own_count, &before[i]);
	named_release(own, own_count);
	named_release(before, count);
	return lacks;
}

/* Is another name of its set still what it was before this save, or half of that? */
static bool lacks_of_set(const struct left_files *files, const struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *path = list->paths[i];
		const struct snapshot_file *here, *known;

		if (!text_starts(path, UNDER_WAY_REST))
			continue;
		path += strlen(UNDER_WAY_REST);
		here = file_list_find(files->here, path);
		known = files->record ? file_list_find(files->record, path) : NULL;
		if (!here || !known || file_list_same_file(here, known) ||
		    is_shorter(here->size, known->size))
			return true;
	}
	return false;
}

struct settling {
	const struct left_files *files;
	const struct path_list *list;
	/* by the key of a save */
	struct path_set lack;
};

enum lack_mark {
	LACK_ASKED = 1,
	LACK_FOUND = 2,
};

/* The same for each file of a save, of which there may be many. */
static bool lacks(struct settling *settling, const struct snapshot_files *known, const char *path)
{
	auto_free char *key = checkpoint_name_key(path);
	auto_free char *save = text_format("=%s", key);

	if (path_set_marks(&settling->lack, save) == 0 &&
	    (*key ? lacks_of_number(settling->files, known, path)
		  : lacks_of_set(settling->files, settling->list)))
		path_set_mark(&settling->lack, save, LACK_FOUND);
	path_set_mark(&settling->lack, save, LACK_ASKED);
	return path_set_marks(&settling->lack, save) & LACK_FOUND;
}

static bool stays(void *arg, const char *path, const char *front)
{
	struct settling *settling = arg;
	const struct left_files *files = settling->files;
	const struct snapshot_file *here = file_list_find(files->here, path);
	struct left_file file = {
		.front = front,
		.rebooted = files->rebooted,
		.content = path_set_marks(files->whole, path),
		.size = here ? here->size : 0,
		.before = size_before(files->record, path),
	};
	const struct snapshot_files *known = file.before > 0 ? files->record : files->snapshot;

	/* Torn by its content: with it goes the rest of its save. */
	for (char *const *moved = files->moved; moved && *moved; moved++)
		if (text_equal(*moved, path))
			return false;
	if (file.before == 0)
		file.before = size_before(files->snapshot, path);
	file.lacks = text_equal(front, UNDER_WAY_UNSEEN) && lacks(settling, known, path);
	return left_file_stays(&file);
}

void left_files_settle(struct path_list *list, const struct left_files *files)
{
	struct settling settling = {.files = files, .list = list};

	under_way_settle(list, stays, &settling);
	path_set_release(&settling.lack);
}
