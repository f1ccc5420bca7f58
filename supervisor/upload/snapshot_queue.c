#include "snapshot_queue.h"

#include "early_upload.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "workspace/workspace.h"
#include "base/progress_bar.h"
#include "completion/completion.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One take. Owned by the worker while it runs. */
struct run {
	struct snapshots *owner;
	struct snapshot_report report;
	int64_t began_ms;
	char **torn;
	struct snapshot_files files; /* as they were when the descriptors were opened */
	struct progress progress;
	_Atomic uint64_t bytes_done, bytes_total;

	/* The worker asks the loop one question, in frozen(). */
	pthread_mutex_t mutex;
	pthread_cond_t answered;
	struct {
		bool answered, complete;
	} locked;
};

struct snapshots {
	struct snapshots_options options;
	struct cancel cancel;
	uint32_t sequence;
	struct snapshot_id newest;
	struct run *running;
	struct ahead *ahead;
	bool waiting;
	struct sealed next;        /* while waiting */
	uint64_t generation;       /* that was tried last, */
	_Atomic uint64_t furthest; /* and how far that has come, over all tries */
	_Atomic int64_t moved_ms;
};

static void begin_waiting(struct snapshots *snapshots);

static void ahead_finished(void *arg)
{
	begin_waiting(arg);
}

int snapshots_new(
	const struct snapshots_options *options, struct snapshots **result, struct err *err)
{
	struct snapshots *snapshots = memory_new(sizeof(*snapshots));
	struct ahead_options ahead = {
		.workers = options->workers,
		.storage = options->storage,
		.directory = options->workspace->directory,
		.finished = ahead_finished,
		.arg = snapshots,
	};

	snapshots->options = *options;
	snapshots->newest = options->parent;
	if (cancel_init(&snapshots->cancel, err) < 0) {
		free(snapshots);
		return -1;
	}
	if (ahead_new(&ahead, &snapshots->ahead, err) < 0) {
		snapshots_free(snapshots);
		return -1;
	}
	*result = snapshots;
	return 0;
}

static void run_free(struct run *run)
{
	path_list_free(run->torn);
	snapshot_files_release(&run->files);
	pthread_mutex_destroy(&run->mutex);
	pthread_cond_destroy(&run->answered);
	free(run);
}

void snapshots_free(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	if (snapshots->running)
		run_free(snapshots->running);
	ahead_free(snapshots->ahead);
	cancel_release(&snapshots->cancel);
	free(snapshots);
}

static bool is_torn(void *arg, const char *path)
{
	struct run *run = arg;

	for (char **torn = run->torn; torn && *torn; torn++)
		if (text_starts(path, *torn) &&
			(path[strlen(*torn)] == '\0' || path[strlen(*torn)] == '/'))
			return true;
	return text_equal(path, ".reprieve") || run_log_matches(path) ||
	       profile_is_temporary(run->owner->options.profile, path);
}

/* Of the take alone: notes a log as well. */
static bool exclude(void *arg, const char *path)
{
	struct run *run = arg;

	if (run_log_matches(path) && !run->report.log[0])
		text_set(run->report.log, sizeof(run->report.log), path);
	return is_torn(arg, path);
}

static void answer(void *arg)
{
	struct run *run = arg;
	struct snapshots *snapshots = run->owner;
	bool complete = snapshots->options.still_complete(
		snapshots->options.arg, run->report.sealed.generation);

	pthread_mutex_lock(&run->mutex);
	run->locked.answered = true;
	run->locked.complete = complete;
	pthread_cond_signal(&run->answered);
	pthread_mutex_unlock(&run->mutex);
}

static void remember_what_is_complete(struct run *run)
{
	const struct snapshots_options *options = &run->owner->options;
	struct seal_record record = {.id = run->report.id, .files = run->files};
	struct snapshot_files kept = {
		.items = memory_new(run->files.count * sizeof(kept.items[0]))};
	struct err err;

	for (size_t i = 0; i < run->files.count; i++)
		if (!is_torn(run, run->files.items[i].path))
			kept.items[kept.count++] = run->files.items[i];
	record.files = kept;
	record.job = text_copy(options->job);
	if (workspace_write_record(options->workspace, &record, &err) < 0)
		log_debug("no record of what is complete here: %s", err.text);
	free(record.job);
	free(kept.items);
}

/*
 * Every file is open now. Only the loop knows whether anything was written since the seal; it first reads what the kernel and the
 * shim have queued. Waits in slices, because the loop may be gone for good when everything is being cancelled.
 */
static bool frozen(void *arg)
{
	struct run *run = arg;
	struct snapshots *snapshots = run->owner;
	bool complete;

	if (directory_files(snapshots->options.workspace->directory, &run->files, NULL) < 0)
		return false;
	workers_post(snapshots->options.workers, answer, run);
	pthread_mutex_lock(&run->mutex);
	while (!run->locked.answered && !cancel_raised(&snapshots->cancel)) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&run->answered, &run->mutex, &until);
	}
	complete = run->locked.answered && run->locked.complete;
	pthread_mutex_unlock(&run->mutex);
	if (complete)
		remember_what_is_complete(run);
	return complete;
}

static void told(void *arg, const struct take_progress *now)
{
	struct run *run = arg;
	struct snapshots *snapshots = run->owner;

	if (now->bytes_done > atomic_load(&snapshots->furthest)) {
		atomic_store(&snapshots->furthest, now->bytes_done);
		atomic_store(&snapshots->moved_ms, clock_monotonic_ms());
	}
	atomic_store(&run->bytes_total, now->bytes_total);
	atomic_store(&run->bytes_done, now->bytes_done);
	progress_tell(&run->progress, now->bytes_done, now->bytes_total);
}

static void work(void *arg)
{
	struct run *run = arg;
	struct snapshots *snapshots = run->owner;
	const struct snapshots_options *options = &snapshots->options;
	struct take_request request = {
		.id = run->report.id,
		.parent = snapshots->newest,
		.directory = options->workspace->directory,
		.reason = run->report.sealed.reason,
		.step = run->report.sealed.step,
		.about = options->about,
		.progress = told,
		.exclude = exclude,
		.frozen = frozen,
		.arg = run,
	};
	int64_t began = clock_monotonic_ms();

	progress_start(&run->progress, "saving", false);
	run->report.durable = storage_take(options->storage, &request, &run->report.result,
				      &snapshots->cancel, &run->report.err) == 0;
	progress_stop(&run->progress);
	run->report.took_ms = clock_monotonic_ms() - began;
}

static void start(struct snapshots *snapshots, const struct sealed *sealed);

static void done(void *arg)
{
	struct run *run = arg;
	struct snapshots *snapshots = run->owner;
	struct snapshot_report report = run->report;

	snapshots->running = NULL;
	run_free(run);
	if (report.durable) {
		snapshots->newest = report.id;
		atomic_store(&snapshots->moved_ms, clock_monotonic_ms());
	}
	begin_waiting(snapshots);
	snapshots->options.finished(snapshots->options.arg, &report);
}

static void start(struct snapshots *snapshots, const struct sealed *sealed)
{
	struct run *run = memory_new(sizeof(*run));

	if (snapshots->generation != sealed->generation)
		atomic_store(&snapshots->furthest, 0);
	snapshots->generation = sealed->generation;
	run->owner = snapshots;
	run->report.sealed = *sealed;
	run->began_ms = clock_monotonic_ms();
	run->report.id = (struct snapshot_id){snapshots->options.attempt, ++snapshots->sequence};
	run->torn = snapshots->options.torn(snapshots->options.arg);
	pthread_mutex_init(&run->mutex, NULL);
	pthread_cond_init(&run->answered, NULL);
	snapshots->running = run;
	workers_run(snapshots->options.workers, work, done, run);
}

static void begin_waiting(struct snapshots *snapshots)
{
	if (!snapshots->waiting)
		return;
	snapshots->waiting = false;
	start(snapshots, &snapshots->next);
}

void snapshots_want(struct snapshots *snapshots, const struct sealed *sealed)
{
	if (!snapshots->running && !ahead_busy(snapshots->ahead)) {
		start(snapshots, sealed);
		return;
	}
	ahead_enough(snapshots->ahead);
	snapshots->waiting = true;
	snapshots->next = *sealed;
}

bool snapshots_idle(const struct snapshots *snapshots)
{
	return !snapshots_busy(snapshots) && !ahead_busy(snapshots->ahead);
}

void snapshots_send_ahead(struct snapshots *snapshots, char **closed, char **open)
{
	struct snapshot_id next = {snapshots->options.attempt, snapshots->sequence + 1};
	bool none = snapshot_id_is_none(snapshots->newest);

	ahead_send(snapshots->ahead, next, none ? snapshots->options.parent : snapshots->newest,
		closed, open);
}

void snapshots_stop_ahead(struct snapshots *snapshots)
{
	ahead_stop(snapshots->ahead);
}

bool snapshots_busy(const struct snapshots *snapshots)
{
	return snapshots->running || snapshots->waiting;
}

bool snapshots_progress(
	const struct snapshots *snapshots, uint64_t *bytes_done, uint64_t *bytes_total)
{
	if (!snapshots->running)
		return false;
	*bytes_done = atomic_load(&snapshots->running->bytes_done);
	*bytes_total = atomic_load(&snapshots->running->bytes_total);
	return true;
}

int64_t snapshots_began_ms(const struct snapshots *snapshots)
{
	return snapshots->running ? snapshots->running->began_ms : 0;
}

int64_t snapshots_moved_ms(const struct snapshots *snapshots)
{
	return atomic_load(&snapshots->moved_ms);
}

void snapshots_cancel(struct snapshots *snapshots)
{
	snapshots->waiting = false;
	ahead_stop(snapshots->ahead);
	cancel_raise(&snapshots->cancel);
}

void snapshots_set_deadline(struct snapshots *snapshots, int64_t deadline_ms)
{
	cancel_set_deadline(&snapshots->cancel, deadline_ms);
}

struct snapshot_id snapshots_newest(const struct snapshots *snapshots)
{
	return snapshots->newest;
}
