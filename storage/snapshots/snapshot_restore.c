/* Restores a snapshot: makes its directories and files, takes whole files from the local seed where
 * they are the same, has restore_content.c fill the others, and sets times and modes at the end. */
#include "storage/storage.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/workers.h"
#include "restore_content.h"
#include "storage/gangs/gangs.h"
#include "storage/transfer/transfer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* --- files of the seed --- */

/* Is what the file has at this place what the manifest says? */
static bool has_chunk(int fd, const struct entry *content, size_t number, uint8_t *space)
{
	const struct chunk *chunk = &content->chunks[number];
	size_t size = chunk_length(content->size, number);

	if (file_read_at(fd, space, size, (uint64_t)number * CHUNK_SIZE) != size)
		return false;
	return chunk->codec == CHUNK_ZERO ? chunk_is_zero(space, size)
					  : chunk_matches(chunk, space, size);
}

/* Is the whole file the same? One with other names is somebody else's too, and what is left of an
 * earlier job may still write to one that it has open: these are not shared. */
static bool seed_has_file(struct restoring *restoring, size_t i, uint8_t *space)
{
	const struct entry *content = restoring->tree.content[i];
	struct stat status;
	auto_close int fd =
		beneath_open(restoring->request->seed, restoring->manifest.entries[i].path,
			     O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1 ||
	    (uint64_t)status.st_size != content->size)
		return false;
	for (size_t j = 0; j < chunk_count(content->size); j++)
		if (cancel_raised(restoring->cancel) || !has_chunk(fd, content, j, space))
			return false;
	return !file_tree_has_writers(fd);
}

static void link_worker(void *arg, size_t index)
{
	struct restoring *restoring = arg;
	auto_free uint8_t *space = malloc(CHUNK_SIZE);
	size_t i;

	(void)index;
	while (space &&
	       (i = atomic_fetch_add(&restoring->next_link, 1)) < restoring->manifest.entry_count) {
		const struct entry *content = restoring->tree.content[i];

		if (!content || !seed_has_file(restoring, i, space) ||
		    !restore_tree_link(&restoring->tree, i, restoring->request->seed))
			continue;
		atomic_fetch_add(&restoring->bytes_seeded, content->size);
		restore_content_progress(restoring, content->size);
	}
}

/* What lies there already needs no second copy, for which there may be no room. */
static void link_from_seed(struct restoring *restoring)
{
	const struct manifest *manifest = &restoring->manifest;

	for (size_t i = 0; i < manifest->entry_count; i++)
		if (restoring->tree.content[i])
			restoring->bytes_total += restoring->tree.content[i]->size;
	if (restoring->request->link_seed && restoring->request->seed > 0)
		parallel_run(restoring->storage->threads, link_worker, restoring);
}

/* --- all of it --- */

static int restore_snapshot(struct restoring *restoring, struct restore_result *result,
			    struct err *err)
{
	const struct restore_request *request = restoring->request;
	struct manifest *manifest = &restoring->manifest;
	struct gang_clashes clashes;

	if (gang_choice_get_manifest(restoring->storage, request->id, manifest, &clashes,
				     restoring->cancel, err) < 0 ||
	    restore_tree_create(&restoring->tree, manifest, request->within, request->directory,
				request->include, request->arg, err) < 0)
		return -1;
	link_from_seed(restoring);
	if (restore_tree_make_files(&restoring->tree, restoring->storage->threads,
				    restoring->cancel, err) < 0 ||
	    restore_content(restoring, err) < 0 ||
	    restore_tree_finish(&restoring->tree, restoring->storage->threads, !request->unsynced,
				restoring->cancel, err) < 0)
		return -1;
	*result = (struct restore_result){
		.bytes = restoring->bytes_total,
		.bytes_fetched = atomic_load(&restoring->bytes_fetched),
		.bytes_seeded = atomic_load(&restoring->bytes_seeded),
		.step = manifest->step,
		.clashes = clashes.count,
		.clash_kept = clashes.kept,
		.clash_left = clashes.left,
	};
	text_set(result->clash_path, sizeof(result->clash_path), clashes.path);
	for (size_t i = 0; i < manifest->entry_count; i++)
		result->files += restoring->tree.content[i] != NULL;
	if (request->files)
		listing_add_files(manifest, request->files);
	return 0;
}

int storage_restore(struct storage *storage, const struct restore_request *request,
		    struct restore_result *result, struct cancel *cancel, struct err *err)
{
	struct restoring restoring = {
		.storage = storage,
		.request = request,
		.cancel = cancel,
		.tree = {.root_fd = -1},
	};
	char text[SNAPSHOT_ID_TEXT];
	struct err own = {0};
	int failed;

	*result = (struct restore_result){.step = -1};
	pthread_mutex_init(&restoring.mutex, NULL);
	failed = restore_snapshot(&restoring, result, &own);
	pthread_mutex_destroy(&restoring.mutex);
	free(restoring.pieces);
	free(restoring.extents);
	restore_tree_release(&restoring.tree);
	manifest_release(&restoring.manifest);
	job_records_trim_memory();
	if (failed == 0)
		return 0;
	if (own.kind == ERR_CORRUPT && job_record_is_forgotten(storage, request->id, cancel))
		err_set(&own, ERR_NOT_FOUND, "it was forgotten while it was read");
	if (err)
		*err = own;
	return err_wrap(err, "snapshot %s", snapshot_id_format(request->id, text));
}
