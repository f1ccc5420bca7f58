#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Smaller files are not worth a request of their own: the snapshot sends them. */
#define LARGE_FILE_SIZE ((off_t)4 << 20)

static void release_paths(struct early_upload_paths *paths)
{
	path_list_free(paths->closed);
	path_list_free(paths->open);
	*paths = (struct early_upload_paths){0};
}

void early_upload_release(struct early_upload *early)
{
	release_paths(&early->now);
	release_paths(&early->next);
	cancel_release(&early->cancel);
}

static size_t keep_large(const struct early_upload *early, char **paths)
{
	auto_close int directory =
		held_directory_open(early->owner->options.workspace->directory, NULL);
	size_t kept = 0;

	for (char **path = paths; *path; path++) {
		struct stat status;
		bool large = directory >= 0 && beneath_status(directory, *path, &status) == 0 &&
			     S_ISREG(status.st_mode) && status.st_size >= LARGE_FILE_SIZE;

		if (large)
			paths[kept++] = *path;
		else
			free(*path);
	}
	paths[kept] = NULL;
	return kept;
}

static bool is_to_yield(void *arg)
{
	const struct early_upload *early = arg;

	return atomic_load(&early->enough);
}

/* New paths end the watch on the growing files, not the reading of what they have grown by. */
static bool goes_on(void *arg)
{
	const struct early_upload *early = arg;

	return !is_to_yield(arg) && !atomic_load(&early->renewed);
}

static void send_paths(struct early_upload *early, char **paths, bool growing)
{
	struct presave_request request = {
		.id = early->now.id,
		.parent = early->now.parent,
		.directory = early->owner->options.workspace->directory,
		.path_count = keep_large(early, paths),
		.paths = (const char *const *)paths,
		.growing = growing,
		.go_on = goes_on,
		.enough = is_to_yield,
		.arg = early,
	};
	struct presave_result result;
	struct err err;

	if (request.path_count == 0 || is_to_yield(early))
		return;
	/* A failure loses nothing: the snapshot sends the file again, and reports the store's
	 * error. */
	if (storage_presave(early->owner->options.storage, &request, &result, &early->cancel,
			    &err) < 0)
		log_debug("%s", err.text);
	else if (result.chunks_sent > 0)
		log_debug("early upload: sent %u chunks, %u whole files", result.chunks_sent,
			  result.files);
}

static void early_upload_worker(void *arg)
{
	struct early_upload *early = arg;

	send_paths(early, early->now.closed, false);
	send_paths(early, early->now.open, true);
}

static void on_early_upload_done(void *arg);

static void start_upload(struct early_upload *early)
{
	early->busy = true;
	early->now = early->next;
	early->next = (struct early_upload_paths){0};
	atomic_store(&early->renewed, false);
	workers_run(early->owner->options.workers, early_upload_worker, on_early_upload_done,
		    early);
}

static void on_early_upload_done(void *arg)
{
	struct early_upload *early = arg;

	release_paths(&early->now);
	early->busy = false;
	if (!is_to_yield(early) && atomic_load(&early->renewed))
		start_upload(early);
	else
		snapshot_queue_start_waiting(early->owner);
}

void snapshot_queue_upload_early(struct snapshot_queue *queue, char **closed, char **open)
{
	struct early_upload *early = &queue->early_upload;

	release_paths(&early->next);
	early->next = (struct early_upload_paths){
		.id = {queue->options.attempt, queue->sequence + 1},
		.parent =
			snapshot_id_is_none(queue->newest) ? queue->options.parent : queue->newest,
		.closed = closed,
		.open = open,
	};
	atomic_store(&early->renewed, true);
	if (early->busy)
		return;
	atomic_store(&early->enough, false);
	start_upload(early);
}

void early_upload_yield(struct early_upload *early)
{
	atomic_store(&early->enough, true);
}

void snapshot_queue_stop_early(struct snapshot_queue *queue)
{
	early_upload_yield(&queue->early_upload);
	cancel_raise(&queue->early_upload.cancel);
}
