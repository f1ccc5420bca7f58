#include "snapshot_queue.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "completion/completion.h"
#include "early_upload.h"
#include "workspace/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* How often the wait checks for a cancel. */
	ANSWER_SLICE_MS = 20
};

/* One snapshot. Owned by the worker while it runs. */
struct snapshot_run {
	struct snapshot_queue *owner;
	struct snapshot_outcome report;
	int64_t began_ms;
	char **torn;
	struct snapshot_files files; /* as they were when the descriptors were opened */
	struct progress_bar progress;
	_Atomic uint64_t bytes_done, bytes_total;

	/* The worker asks the loop one question, in confirm_still_complete(). */
	pthread_mutex_t mutex;
	pthread_cond_t answered;
	struct {
		bool answered, complete;
	} locked;
};

struct snapshot_queue {
	struct snapshot_queue_options options;
	struct cancel cancel;
	uint32_t sequence;
	struct snapshot_id newest;
	struct snapshot_run *running;
	struct early_upload *early_upload;
	bool waiting;
	struct checkpoint next;    /* while waiting */
	uint64_t generation;       /* of the last snapshot that was tried */
	_Atomic uint64_t furthest; /* the most bytes that any try of it has sent */
	_Atomic int64_t advanced_ms;
};

static void start_waiting_snapshot(struct snapshot_queue *queue);

static void on_early_upload_finished(void *arg)
{
	start_waiting_snapshot(arg);
}

int snapshot_queue_new(const struct snapshot_queue_options *options, struct snapshot_queue **result,
		       struct err *err)
{
	struct snapshot_queue *queue = memory_new(sizeof(*queue));
	struct early_upload_options early_upload = {
		.workers = options->workers,
		.storage = options->storage,
		.directory = options->workspace->directory,
		.finished = on_early_upload_finished,
		.arg = queue,
	};

	queue->options = *options;
	queue->newest = options->parent;
	if (cancel_init(&queue->cancel, err) < 0) {
		free(queue);
		return -1;
	}
	if (early_upload_new(&early_upload, &queue->early_upload, err) < 0) {
		snapshot_queue_free(queue);
		return -1;
	}
	*result = queue;
	return 0;
}

static void run_free(struct snapshot_run *run)
{
	path_list_free(run->torn);
	snapshot_files_release(&run->files);
	pthread_mutex_destroy(&run->mutex);
	pthread_cond_destroy(&run->answered);
	free(run);
}

void snapshot_queue_free(struct snapshot_queue *queue)
{
	if (!queue)
		return;
	if (queue->running)
		run_free(queue->running);
	early_upload_free(queue->early_upload);
	cancel_release(&queue->cancel);
	free(queue);
}

static bool is_torn_path(void *arg, const char *path)
{
	struct snapshot_run *run = arg;

	for (char **torn = run->torn; torn && *torn; torn++)
		if (text_starts(path, *torn) &&
		    (path[strlen(*torn)] == '\0' || path[strlen(*torn)] == '/'))
			return true;
	return text_equal(path, ".reprieve") || log_files_match(path) ||
	       profile_is_temporary_path(run->owner->options.profile, path);
}

/* Called once per file of the snapshot: also remembers the first log file, for the report. */
static bool is_excluded_path(void *arg, const char *path)
{
	struct snapshot_run *run = arg;

	if (log_files_match(path) && !run->report.log[0])
		text_set(run->report.log, sizeof(run->report.log), path);
	return is_torn_path(arg, path);
}

static void answer_still_complete(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	bool complete = queue->options.still_complete(queue->options.arg,
						      run->report.checkpoint.generation);

	pthread_mutex_lock(&run->mutex);
	run->locked.answered = true;
	run->locked.complete = complete;
	pthread_cond_signal(&run->answered);
	pthread_mutex_unlock(&run->mutex);
}

static void write_completion_record(struct snapshot_run *run)
{
	const struct snapshot_queue_options *options = &run->owner->options;
	struct completion_record record = {.id = run->report.id, .files = run->files};
	struct snapshot_files kept = {
		.items = memory_new(run->files.count * sizeof(kept.items[0])),
	};
	struct err err;

	for (size_t i = 0; i < run->files.count; i++)
		if (!is_torn_path(run, run->files.items[i].path))
			kept.items[kept.count++] = run->files.items[i];
	record.files = kept;
	record.job = text_copy(options->job);
	if (workspace_write_record(options->workspace, &record, &err) < 0)
		log_debug("cannot record the complete files: %s", err.text);
	free(record.job);
	free(kept.items);
}

/*
 * Every file is open now. Only the loop knows whether anything was written since the checkpoint was
 * complete, because it first reads the events that the kernel and the shim have queued. The wait is
 * in slices, because after a cancel the loop may have ended and never answers.
 */
static bool confirm_still_complete(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	bool complete;

	if (file_list_read(queue->options.workspace->directory, &run->files, NULL) < 0)
		return false;
	workers_post(queue->options.workers, answer_still_complete, run);
	pthread_mutex_lock(&run->mutex);
	while (!run->locked.answered && !cancel_raised(&queue->cancel))
		condition_wait(&run->answered, &run->mutex, ANSWER_SLICE_MS);
	complete = run->locked.answered && run->locked.complete;
	pthread_mutex_unlock(&run->mutex);
	if (complete)
		write_completion_record(run);
	return complete;
}

static void on_save_progress(void *arg, const struct save_progress *now)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;

	if (now->bytes_done > atomic_load(&queue->furthest)) {
		atomic_store(&queue->furthest, now->bytes_done);
		atomic_store(&queue->advanced_ms, clock_monotonic_ms());
	}
	atomic_store(&run->bytes_total, now->bytes_total);
	atomic_store(&run->bytes_done, now->bytes_done);
	progress_bar_update(&run->progress, now->bytes_done, now->bytes_total);
}

static void take_snapshot_worker(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	const struct snapshot_queue_options *options = &queue->options;
	struct save_request request = {
		.id = run->report.id,
		.parent = queue->newest,
		.directory = options->workspace->directory,
		.reason = run->report.checkpoint.reason,
		.step = run->report.checkpoint.step,
		.about = options->about,
		.progress = on_save_progress,
		.exclude = is_excluded_path,
		.frozen = confirm_still_complete,
		.arg = run,
	};
	int64_t began = clock_monotonic_ms();

	progress_bar_start(&run->progress, "saving", false);
	run->report.durable = storage_save(options->storage, &request, &run->report.result,
					   &queue->cancel, &run->report.err) == 0;
	progress_bar_stop(&run->progress);
	run->report.took_ms = clock_monotonic_ms() - began;
}

static void start_snapshot(struct snapshot_queue *queue, const struct checkpoint *checkpoint);

static void on_snapshot_done(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	struct snapshot_outcome report = run->report;

	queue->running = NULL;
	run_free(run);
	if (report.durable) {
		queue->newest = report.id;
		atomic_store(&queue->advanced_ms, clock_monotonic_ms());
	}
	start_waiting_snapshot(queue);
	queue->options.finished(queue->options.arg, &report);
}

static void start_snapshot(struct snapshot_queue *queue, const struct checkpoint *checkpoint)
{
	struct snapshot_run *run = memory_new(sizeof(*run));

	if (queue->generation != checkpoint->generation)
		atomic_store(&queue->furthest, 0);
	queue->generation = checkpoint->generation;
	run->owner = queue;
	run->report.checkpoint = *checkpoint;
	run->began_ms = clock_monotonic_ms();
	run->report.id = (struct snapshot_id){queue->options.attempt, ++queue->sequence};
	run->torn = queue->options.torn(queue->options.arg);
	pthread_mutex_init(&run->mutex, NULL);
	condition_init(&run->answered);
	queue->running = run;
	workers_run(queue->options.workers, take_snapshot_worker, on_snapshot_done, run);
}

static void start_waiting_snapshot(struct snapshot_queue *queue)
{
	if (!queue->waiting)
		return;
	queue->waiting = false;
	start_snapshot(queue, &queue->next);
}

void snapshot_queue_submit(struct snapshot_queue *queue, const struct checkpoint *checkpoint)
{
	if (!queue->running && !early_upload_is_busy(queue->early_upload)) {
		start_snapshot(queue, checkpoint);
		return;
	}
	early_upload_yield(queue->early_upload);
	queue->waiting = true;
	queue->next = *checkpoint;
}

bool snapshot_queue_is_idle(const struct snapshot_queue *queue)
{
	return !snapshot_queue_is_busy(queue) && !early_upload_is_busy(queue->early_upload);
}

void snapshot_queue_upload_early(struct snapshot_queue *queue, char **closed, char **open)
{
	struct snapshot_id next = {queue->options.attempt, queue->sequence + 1};
	bool none = snapshot_id_is_none(queue->newest);

	early_upload_start(queue->early_upload, next, none ? queue->options.parent : queue->newest,
			   closed, open);
}

void snapshot_queue_stop_early(struct snapshot_queue *queue)
{
	early_upload_stop(queue->early_upload);
}

bool snapshot_queue_is_busy(const struct snapshot_queue *queue)
{
	return queue->running || queue->waiting;
}

bool snapshot_queue_progress(const struct snapshot_queue *queue, uint64_t *bytes_done,
			     uint64_t *bytes_total)
{
	if (!queue->running)
		return false;
	*bytes_done = atomic_load(&queue->running->bytes_done);
	*bytes_total = atomic_load(&queue->running->bytes_total);
	return true;
}

int64_t snapshot_queue_began_ms(const struct snapshot_queue *queue)
{
	return queue->running ? queue->running->began_ms : 0;
}

int64_t snapshot_queue_advanced_ms(const struct snapshot_queue *queue)
{
	return atomic_load(&queue->advanced_ms);
}

void snapshot_queue_cancel(struct snapshot_queue *queue)
{
	queue->waiting = false;
	early_upload_stop(queue->early_upload);
	cancel_raise(&queue->cancel);
}

void snapshot_queue_set_deadline(struct snapshot_queue *queue, int64_t deadline_ms)
{
	cancel_set_deadline(&queue->cancel, deadline_ms);
}

struct snapshot_id snapshot_queue_newest(const struct snapshot_queue *queue)
{
	return queue->newest;
}

void skipped_files_report(const struct save_result *result, const char *directory)
{
	char more[40] = "";

	if (result->left_out == 0)
		return;
	if (result->left_out > 1)
		snprintf(more, sizeof(more), " (and %u more)", result->left_out - 1);
	log_warn("%s in %s is %s and is NOT in the snapshot%s: a snapshot holds files, directories "
		 "and links between them; put the data there if it is to be saved",
		 result->left_out_path, directory, result->left_out_what, more);
}
