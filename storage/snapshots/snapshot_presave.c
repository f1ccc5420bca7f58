/* Sends what is complete for itself of a checkpoint that is still being written. Nothing is committed. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "storage/transfer/transfer.h"
#include "index_warmup.h"

#include <stdlib.h>
#include <string.h>

AUTO(struct tree, tree_release);

struct presending {
	const struct presend_request *request;
	const char **paths; /* sorted */
	struct storage *storage;
	struct packing packing;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first of the wanted paths that is not before `path`. */
static size_t position_of(const struct presending *presending, const char *path)
{
	size_t low = 0, high = presending->request->path_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(presending->paths[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool begins_at(const struct presending *presending, const char *text, bool whole)
{
	size_t i = position_of(presending, text);

	if (i == presending->request->path_count)
		return false;
	return whole ? text_equal(presending->paths[i], text)
		     : text_starts(presending->paths[i], text);
}

/* For the walk: all but the wanted files and the directories that lead to them. */
static bool is_unwanted(void *arg, const char *path)
{
	const struct presending *presending = arg;
	auto_free char *below = text_format("%s/", path);

	return !begins_at(presending, path, true) && !begins_at(presending, below, false);
}

static bool is_enough(void *arg)
{
	const struct presending *presending = arg;

	return presending->request->enough && presending->request->enough(presending->request->arg);
}

static void ignore(void *arg, uint64_t bytes_done)
{
	(void)arg;
	(void)bytes_done;
}

/* So that the take need not even read what it finds unchanged. */
static void note(
	struct presending *presending, const struct tree *tree, struct presend_result *result)
{
	auto_free const struct entry **entries = memory_new((tree->count + 1) * sizeof(*entries));
	auto_free const struct file_stamp **stamps =
		memory_new((tree->count + 1) * sizeof(*stamps));
	size_t count = 0;

	for (size_t i = 0; i < tree->count; i++) {
		if (!tree->items[i].read)
			continue;
		entries[count] = &tree->items[i].entry;
		stamps[count++] = &tree->items[i].stamp;
		result->bytes += tree->items[i].entry.size;
	}
	result->files = (uint32_t)count;
	index_note_files(&presending->storage->transfer.index, entries, stamps, count);
}

static int presend(struct presending *presending, struct presend_result *result, struct err *err)
{
	const struct presend_request *request = presending->request;
	struct packing *packing = &presending->packing;
	int (*open_tree)(const char *directory, bool (*exclude)(void *arg, const char *path),
		void *arg, struct tree *tree, struct cancel *cancel, struct err *err) =
		request->growing ? tree_glance : tree_freeze;
	auto_(tree_release) struct tree tree = {.root_fd = -1};
	struct reader_request reading = {
		.tree = &tree,
		.packing = packing,
		.lenient = true,
		.growth = request->growing ? &presending->storage->transfer.growth : NULL,
		.enough = is_enough,
		.told = ignore,
		.arg = presending,
	};

	if (open_tree(request->directory, is_unwanted, presending, &tree, packing->cancel, err) <
			0 ||
		warm_index(presending->storage, request->parent, false, packing->cancel, err) < 0)
		return -1;
	/* Interrupted, because it is enough: what was read counts all the same. */
	if (reader_run(&reading, err) < 0 &&
		(!is_enough(presending) || uploader_check(packing->uploader, NULL) < 0))
		return -1;
	note(presending, &tree, result);
	result->chunks_sent = atomic_load(&packing->chunks_sent);
	result->chunks_kept = atomic_load(&packing->chunks_kept);
	return 0;
}

int storage_presend(struct storage *storage, const struct presend_request *request,
	struct presend_result *result, struct cancel *cancel, struct err *err)
{
	auto_free const char **paths = memory_new((request->path_count + 1) * sizeof(*paths));
	struct presending presending = {
		.request = request,
		.paths = paths,
		.storage = storage,
		.packing = {.transfer = &storage->transfer, .id = request->id, .cancel = cancel},
	};
	int failed;

	*result = (struct presend_result){0};
	if (request->path_count == 0)
		return 0;
	memcpy(paths, request->paths, request->path_count * sizeof(*paths));
	qsort(paths, request->path_count, sizeof(*paths), compare_texts);
	file_nonce(presending.packing.nonce);
	presending.packing.uploader = uploader_of(&storage->transfer);
	failed = presend(&presending, result, err);
	/* A cancelled one is given up; what an unlucky one has handed over goes on. */
	if (cancel_raised(cancel) || uploader_check(storage->transfer.uploader, NULL) < 0)
		uploader_free(take(&storage->transfer.uploader));
	else
		uploader_rest(storage->transfer.uploader);
	return failed ? err_wrap(err, "sending ahead") : 0;
}
