/* Sends the closed files of a checkpoint that is still being written, or the parts that files have
 * grown by. Commits nothing: the next save finds the chunks in the store. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "snapshots.h"
#include "storage/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

/* How often it is looked whether a file has grown, and for how long in vain. */
#define LOOK_EVERY_MS 10
#define LOOKS_MOST 100

struct presaving {
	const struct presave_request *request;
	const char **paths; /* sorted */
	struct storage *storage;
	struct packing packing;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The position of the first wanted path that does not sort before `path`. */
static size_t path_position(const struct presaving *presaving, const char *path)
{
	size_t low = 0, high = presaving->request->path_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(presaving->paths[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_selected(const struct presaving *presaving, const char *text, bool whole)
{
	size_t i = path_position(presaving, text);

	if (i == presaving->request->path_count)
		return false;
	return whole ? text_equal(presaving->paths[i], text)
		     : text_starts(presaving->paths[i], text);
}

/* Tells the walk to skip everything but the wanted files and the directories that lead to them. */
static bool is_excluded(void *arg, const char *path)
{
	const struct presaving *presaving = arg;
	auto_free char *below = text_format("%s/", path);

	return !is_selected(presaving, path, true) && !is_selected(presaving, below, false);
}

static bool is_interrupted(void *arg)
{
	const struct presaving *presaving = arg;

	return presaving->request->enough && presaving->request->enough(presaving->request->arg);
}

static void ignore_progress(void *arg, uint64_t bytes_done)
{
	(void)arg;
	(void)bytes_done;
}

/* Records the files in the index, so that the save need not even read those that are unchanged. */
static void add_read_files(struct presaving *presaving, struct file_tree *tree,
			   struct presave_result *result)
{
	auto_free const struct entry **entries = memory_new((tree->count + 1) * sizeof(*entries));
	size_t count = 0;

	for (size_t i = 0; i < tree->count; i++) {
		if (!tree->items[i].read)
			continue;
		file_tree_mark(&tree->items[i], presaving->storage->transfer.boot);
		entries[count++] = &tree->items[i].entry;
		result->bytes += tree->items[i].entry.size;
	}
	result->files = (uint32_t)count;
	chunk_index_add_files(&presaving->storage->transfer.index, entries, count);
}

/* Takes the sizes that the files have now. */
static bool has_grown(const struct presaving *presaving, struct file_tree *tree)
{
	const struct append_progress *sent = &presaving->storage->transfer.append_progress;
	size_t chunks = 0, files = 0;

	for (size_t i = 0; i < tree->count && files < APPEND_PROGRESS_FILES; i++) {
		struct file_tree_item *item = &tree->items[i];
		size_t first, end;

		files += item->entry.type == ENTRY_FILE;
		if (item->entry.type != ENTRY_FILE || item->fd < 0 ||
		    file_tree_stamp(item->fd, false, &item->stamp, NULL, NULL) < 0)
			continue;
		item->entry.size = item->stamp.size;
		if (append_progress_next(sent, &item->stamp, &first, &end))
			chunks += end - first;
	}
	return append_progress_is_due(chunks);
}

/* The files stay open: their names need not be looked for each time. */
static bool wait_for_growth(struct presaving *presaving, struct file_tree *tree)
{
	const struct presave_request *request = presaving->request;
	const struct packing *packing = &presaving->packing;

	for (int i = 0; i < LOOKS_MOST && request->go_on && request->go_on(request->arg); i++) {
		if (is_interrupted(presaving))
			return false;
		if (has_grown(presaving, tree))
			return true;
		pack_uploader_poll(packing->uploader, packing->cancel);
		if (cancel_sleep(packing->cancel, LOOK_EVERY_MS, NULL) < 0)
			return false;
	}
	return false;
}

static int presave_files(struct presaving *presaving, struct presave_result *result,
			 struct err *err)
{
	const struct presave_request *request = presaving->request;
	struct packing *packing = &presaving->packing;
	struct file_tree_choice choice = {
		.exclude = is_excluded,
		.changing = request->growing,
		.arg = presaving,
	};
	auto_(file_tree_release) struct file_tree tree = {.root_fd = -1};
	struct file_reader_request reading = {
		.tree = &tree,
		.packing = packing,
		.lenient = true,
		.append_progress =
			request->growing ? &presaving->storage->transfer.append_progress : NULL,
		.enough = is_interrupted,
		.on_progress = ignore_progress,
		.arg = presaving,
	};

	if (file_tree_open(request->directory, &choice, &tree, packing->cancel, err) < 0)
		return -1;
	file_tree_find_hardlinks(&tree);
	if (index_warmup(presaving->storage, request->parent, request->id.attempt, packing->cancel,
			 err) < 0)
		return -1;
	do {
		/* An interruption by `enough` is no failure: what was read counts. */
		if (file_reader_run(&reading, err) < 0 &&
		    (!is_interrupted(presaving) ||
		     pack_uploader_check(packing->uploader, NULL) < 0))
			return -1;
	} while (request->growing && wait_for_growth(presaving, &tree));
	add_read_files(presaving, &tree, result);
	result->chunks_sent = atomic_load(&packing->chunks_sent);
	result->chunks_kept = atomic_load(&packing->chunks_kept);
	return 0;
}

int storage_presave(struct storage *storage, const struct presave_request *request,
		    struct presave_result *result, struct cancel *cancel, struct err *err)
{
	auto_free const char **paths = memory_new((request->path_count + 1) * sizeof(*paths));
	struct presaving presaving = {
		.request = request,
		.paths = paths,
		.storage = storage,
		.packing = {.transfer = &storage->transfer, .id = request->id, .cancel = cancel},
	};
	int failed;

	*result = (struct presave_result){0};
	if (request->path_count == 0)
		return 0;
	memcpy(paths, request->paths, request->path_count * sizeof(*paths));
	qsort(paths, request->path_count, sizeof(*paths), compare_texts);
	random_hex(presaving.packing.nonce);
	presaving.packing.uploader = pack_uploader_get(&storage->transfer);
	failed = presave_files(&presaving, result, err);
	/* After a cancellation or a failed upload the queue is given up; after any other failure
	 * the packs in it are still sent. */
	if (cancel_raised(cancel) || pack_uploader_check(storage->transfer.uploader, NULL) < 0)
		pack_uploader_free(steal(&storage->transfer.uploader));
	else
		pack_uploader_trim(storage->transfer.uploader);
	return failed ? err_wrap(err, "early upload") : 0;
}
