#include "upload.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "completion/completion.h"
#include "snapshot_run.h"
#include "workspace/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* How often the wait checks for a cancel. */
	ANSWER_SLICE_MS = 20,
	/* Of one save. */
	ROOM_TRIES_MOST = 3,
};

int snapshot_queue_new(const struct snapshot_queue_options *options, struct snapshot_queue **result,
		       struct err *err)
{
	struct snapshot_queue *queue = memory_new(sizeof(*queue));

	queue->options = *options;
	queue->newest = options->parent;
	queue->held_number = -1;
	queue->databases.workspace = options->workspace;
	queue->early_upload.owner = queue;
	queue->early_upload.cancel.fd = -1;
	if (cancel_init(&queue->cancel, err) < 0 ||
	    cancel_init(&queue->early_upload.cancel, err) < 0) {
		snapshot_queue_free(queue);
		return -1;
	}
	*result = queue;
	return 0;
}

static void run_free(struct snapshot_run *run)
{
	snapshot_plan_release(&run->plan);
	json_decref(run->about);
	json_decref(run->kept);
	path_list_free(run->matched.paths);
	path_set_release(&run->walked.paths);
	path_list_free(run->read.paths.paths);
	path_list_free(run->read.texts.paths);
	path_set_release(&run->walked.numbers);
	path_set_release(&run->deleted);
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
	early_upload_release(&queue->early_upload);
	database_copies_release(&queue->databases);
	cancel_release(&queue->cancel);
	free(queue);
}

/* --- of a gang: a snapshot is a part in a round --- */

/* A part of a gang's snapshot is of one checkpoint, whole, and holds nothing newer: the members
 * would resume from different steps. Unless it has no checkpoint, or no other one comes. */
static bool snapshot_round_refuse(struct snapshot_run *run)
{
	struct snapshot_outcome *report = &run->report;
	const struct snapshot_round *round = &report->round;
	bool gone = round->older && report->never;
	bool part = run->owner->options.of_gang && !round->older && !round->beside &&
		    !round->final && (report->lacks_newest || run->moved);

	if (!gone && !part)
		return false;
	err_set(&report->err, ERR_RETRY, "the checkpoint of step %lld is not %s",
		(long long)report->checkpoint.step, gone ? "there any more" : "whole");
	report->result.id = report->id;
	report->not_whole = true;
	report->result.changed = part && run->moved;
	report->never = gone || !run->moved;
	return true;
}

/* If the round is about an older checkpoint than the newest: what is later is left out. */
static void snapshot_round_go_back(struct snapshot_run *run)
{
	struct snapshot_outcome *report = &run->report;
	char *directory = run->owner->options.workspace->directory;
	struct path_list older = {.paths = NULL};

	if (!report->round.older)
		return;
	report->never = true;
	for (char **path = run->plan.complete; path && *path; path++) {
		int64_t number = checkpoint_name_parse(*path).number;

		path_list_add(number > report->round.step ? &run->plan.excluded : &older, *path);
		if (number == report->round.step && file_list_path_exists(directory, *path))
			report->never = false;
	}
	path_list_free(run->plan.complete);
	run->plan.complete = older.paths;
	report->lacks_newest = true;
	report->checkpoint.step = report->round.step;
	report->checkpoint.reported_step = -1;
	report->checkpoint.written_ms = report->round.written_ms;
}

/* --- one directory for several members --- */

/* Of the checkpoint that the plan is about: what was seen to be closed here. */
static json_t *list_own_files(const struct snapshot_run *run)
{
	int64_t newest = run->plan.key ? checkpoint_name_parse(run->plan.key).number : -1;
	json_t *paths = json_array();

	for (char **path = run->plan.complete; path && *path && newest >= 0; path++)
		if (checkpoint_name_parse(*path).number == newest)
			json_array_append_new(paths, json_string(*path));
	return paths;
}

/* What this member, or those whose files it saves as well, have written of the checkpoint. Blocks;
 * false: the report says why it is not known. */
static bool snapshot_round_find_kept(struct snapshot_run *run)
{
	const struct snapshot_queue_options *options = &run->owner->options;
	struct snapshot_outcome *report = &run->report;

	if (options->kept_by_other && !report->round.beside)
		run->kept = list_own_files(run);
	if (!options->sharers)
		return true;
	run->kept = json_array();
	for (uint32_t i = 0; i < options->members; i++) {
		auto_json json_t *paths = NULL;

		if (!options->sharers[i])
			continue;
		if (storage_gang_read_kept(options->storage, report->id, i, &paths,
					   &run->owner->cancel, &report->err) < 0)
			return false;
		json_array_extend(run->kept, paths);
	}
	return true;
}

/* What others have written of it is in what was walked. */
static bool snapshot_round_has_kept(const struct snapshot_run *run)
{
	json_t *item;
	size_t i;

	json_array_foreach(run->kept, i, item)
	{
		const char *path = json_string_value(item);

		if (path && !path_set_marks(&run->walked.paths, path)) {
			log_debug("%s, which another member has written, is not seen yet", path);
			return false;
		}
	}
	return true;
}

/* For struct save_request: `arg` is the struct snapshot_run. */
static bool snapshot_round_is_settled(void *arg)
{
	struct snapshot_run *run = arg;
	const struct snapshot_queue_options *options = &run->owner->options;

	atomic_store(&run->awaits_others, true);
	return options->round_is_settled(options->arg, run->report.id.sequence);
}

/* --- one snapshot --- */

static void answer_still_complete(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	bool complete = queue->options.confirm(queue->options.arg, &run->plan, queue->tries);

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
		if (!snapshot_leaves_out(run, run->files.items[i].path))
			kept.items[kept.count++] = run->files.items[i];
	record.files = kept;
	record.job = text_copy(options->job);
	if (workspace_write_record(options->workspace, &record, &err) < 0)
		log_debug("cannot record the complete files: %s", err.text);
	free(record.job);
	free(kept.items);
}

static void note_empty_files(struct snapshot_run *run)
{
	struct path_list empty = {.paths = NULL};

	for (size_t i = 0; i < run->files.count; i++)
		if (run->files.items[i].size == 0)
			path_list_add(&empty, run->files.items[i].path);
	run->plan.empty = empty.paths;
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

	run->confirmed = true;
	if (!snapshot_note_deleted(run) || !snapshot_round_has_kept(run) ||
	    file_list_read(queue->options.workspace->directory, &run->files, NULL) < 0)
		return false;
	note_empty_files(run);
	snapshot_read_pointers(run);
	workers_post(queue->options.workers, answer_still_complete, run);
	pthread_mutex_lock(&run->mutex);
	while (!run->locked.answered && !cancel_raised(&queue->cancel))
		condition_wait(&run->answered, &run->mutex, ANSWER_SLICE_MS);
	complete = run->locked.answered && run->locked.complete;
	pthread_mutex_unlock(&run->mutex);
	if (complete) {
		snapshot_drop_pointers(run);
		/* It would say nothing of the checkpoints of others that are there. */
		if (!run->report.round.beside && !run->report.round.older)
			write_completion_record(run);
		database_copies_make(&queue->databases, &queue->cancel);
	}
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
		.reason = save_reason_name(run->report.checkpoint.reason),
		.step = run->report.round.beside ? -1 : run->report.checkpoint.step,
		.about = run->about,
		.progress = on_save_progress,
		.exclude = snapshot_excludes,
		.running = snapshot_is_running_path,
		.source = snapshot_database_copy,
		.source_directory = snapshot_database_directory,
		.carried = snapshot_carries,
		.carries = snapshot_carries_any,
		.wanted = snapshot_is_wanted,
		.bare = snapshot_is_of_next,
		.frozen = confirm_still_complete,
		.gang_beside = run->report.round.beside,
		.gang_final = run->report.round.final,
		.gang_over = options->of_gang ? snapshot_round_is_settled : NULL,
		.arg = run,
	};
	int64_t began = clock_monotonic_ms();

	if (snapshot_round_refuse(run) || !snapshot_round_find_kept(run))
		return;
	if (options->kept_by_other) {
		request.gang_is_kept = true;
		request.gang_keeper = options->keeper;
		request.gang_kept = run->kept;
	}
	database_copies_find(&queue->databases, snapshot_has_no_live_database, run, &queue->cancel);
	run->report.durable = storage_save(options->storage, &request, &run->report.result,
					   &queue->cancel, &run->report.err) == 0;
	database_copies_remove(&queue->databases);
	/* What an earlier end has left torn is of no use any more. */
	if (run->report.durable)
		(void)workspace_drop_torn(options->workspace);
	if (!run->report.durable && run->report.err.kind == ERR_NO_SPACE)
		run->made_room =
			storage_make_room(options->storage, options->attempt, options->retention,
					  &run->forgotten, &queue->cancel, &run->report.err);
	run->report.never = run->report.result.gang_fate == GANG_FATE_UNFIT;
	run->report.took_ms = clock_monotonic_ms() - began;
}

/* The first time. From then on, each save in a store that is just large enough needs it. */
static void log_made_room(struct snapshot_queue *queue, const struct snapshot_run *run)
{
	const struct forget_result *made = &run->forgotten;
	char freed[24];

	log_debug("%s", run->report.err.text);
	if (queue->said_made_room || made->collected.packs_removed == 0)
		return;
	queue->said_made_room = true;
	text_bytes(made->collected.bytes_removed, freed, sizeof(freed));
	if (made->forgotten > 0)
		log_note("the store is full: %u snapshot%s %s %s removed, which frees %s; saving "
			 "again",
			 made->forgotten, made->forgotten == 1 ? "" : "s",
			 retention_words(queue->options.retention),
			 made->forgotten == 1 ? "is" : "are", freed);
	else
		log_note("the store is full: %s that no snapshot needs any more are removed; "
			 "saving again",
			 freed);
}

/* What the store has lost is sent anew, and what had no room is sent once there is, by a snapshot
 * that is made anew, with a plan and a freeze of its own. Once: a store that goes on losing is one
 * that fails. In one that is full, less and less stays: so often it has made room. */
static bool take_again(struct snapshot_queue *queue, struct snapshot_run *run)
{
	struct checkpoint checkpoint = run->report.checkpoint;
	struct snapshot_round round = run->report.round;
	bool unasked = run->report.unasked;
	unsigned again = run->again, most = run->made_room ? ROOM_TRIES_MOST : 1;

	if ((!run->report.result.store_lacks && !run->made_room) || again >= most ||
	    cancel_raised(&queue->cancel))
		return false;
	if (run->made_room)
		log_made_room(queue, run);
	else
		log_warn("%s", run->report.err.text);
	run_free(run);
	snapshot_queue_start(queue, &checkpoint, queue->options.of_gang ? &round : NULL);
	queue->running->again = again + 1;
	queue->running->report.unasked = unasked;
	return true;
}

/* Which checkpoint the newest snapshot has, for the next one. */
static void note_held(struct snapshot_queue *queue, const struct snapshot_run *run)
{
	bool gone = run->plan.gone == GONE_NEWEST;

	if (run->report.durable && !run->report.lacks_newest && !gone)
		queue->held_number = checkpoint_name_parse(run->plan.key).number;
	if (!gone || !run->report.result.empty || queue->said_removed)
		return;
	queue->said_removed = true;
	log_note("%s: the one before it stays the newest", run->report.err.text);
}

static void on_snapshot_done(void *arg)
{
	struct snapshot_run *run = arg;
	struct snapshot_queue *queue = run->owner;
	struct snapshot_outcome report = run->report;

	if (take_again(queue, run))
		return;
	note_held(queue, run);
	report.id = report.result.id;
	report.matched = steal(&run->matched.paths);
	queue->running = NULL;
	queue->tries = report.result.changed ? queue->tries + 1 : 0;
	run_free(run);
	if (report.durable) {
		queue->newest = report.id;
		atomic_store(&queue->advanced_ms, clock_monotonic_ms());
	}
	snapshot_queue_start_waiting(queue);
	queue->options.finished(queue->options.arg, &report);
	path_list_free(report.matched);
}

/* What the user wants to be kept with it, and what was learned of the checkpoints so far. */
static json_t *describe_run(const struct snapshot_queue *queue)
{
	json_t *about = queue->options.about ? json_copy(queue->options.about) : json_object();
	json_t *signatures = queue->options.signatures(queue->options.arg);

	if (signatures)
		json_object_set_new(about, "signatures", signatures);
	return about;
}

static struct snapshot_run *run_new(struct snapshot_queue *queue,
				    const struct snapshot_round *round)
{
	struct snapshot_run *run = memory_new(sizeof(*run));
	uint32_t number = round ? round->number : ++queue->sequence;

	run->owner = queue;
	run->began_ms = clock_monotonic_ms();
	run->report.id = (struct snapshot_id){queue->options.attempt, number};
	if (round)
		run->report.round = *round;
	pthread_mutex_init(&run->mutex, NULL);
	pthread_cond_init(&run->answered, NULL);
	return run;
}

/* It is not the newest checkpoint that it makes durable, but the newest that it holds. */
static void name_by_held(struct snapshot_run *run)
{
	struct checkpoint *checkpoint = &run->report.checkpoint;

	checkpoint->written_ms = run->plan.held_ms;
	if (run->plan.held_ms == 0 || run->owner->options.of_gang)
		return;
	checkpoint->step = run->plan.held_step;
	checkpoint->reported_step = -1;
}

void snapshot_run_lacks_newest(struct snapshot_run *run)
{
	run->report.lacks_newest = true;
	name_by_held(run);
}

/* The newest was removed before it was saved. */
static bool is_of_others(const struct snapshot_run *run)
{
	int64_t before = run->owner->held_number;

	return run->plan.gone == GONE_NEWEST && run->plan.held_ms > 0 && before >= 0 &&
	       run->plan.gone_number >= 0 && run->plan.gone_number != before &&
	       !run->owner->options.of_gang;
}

void snapshot_queue_start(struct snapshot_queue *queue, const struct checkpoint *checkpoint,
			  const struct snapshot_round *round)
{
	struct snapshot_run *run = run_new(queue, round);

	run->report.checkpoint = *checkpoint;
	run->expected = checkpoint->generation;
	queue->options.plan(queue->options.arg, &run->plan, &run->report.checkpoint);
	run->report.running_generation = run->plan.running_generation;
	if (run->plan.lacks_newest)
		snapshot_run_lacks_newest(run);
	else if (is_of_others(run))
		name_by_held(run);
	/* What lay there at the start may be newer than the parent. */
	if (run->plan.gone == GONE_ANY && !run->report.checkpoint.as_of_start)
		run->plan.gone = GONE_NOTHING;
	/* Each of its files stands for itself. */
	run->plan.holds_less &= !run->report.round.beside;
	snapshot_round_go_back(run);
	run->about = describe_run(queue);
	checkpoint = &run->report.checkpoint;
	run->moved = run->expected != checkpoint->generation;
	if (queue->generation != checkpoint->generation) {
		atomic_store(&queue->furthest, 0);
		queue->tries = 0;
	}
	queue->generation = checkpoint->generation;
	queue->running = run;
	workers_run(queue->options.workers, take_snapshot_worker, on_snapshot_done, run);
}

void snapshot_queue_start_waiting(struct snapshot_queue *queue)
{
	if (!queue->waiting)
		return;
	if (queue->options.of_gang) {
		queue->options.wants_round(queue->options.arg);
		return;
	}
	queue->waiting = false;
	snapshot_queue_start(queue, &queue->next, NULL);
}

void snapshot_queue_submit(struct snapshot_queue *queue, const struct checkpoint *checkpoint)
{
	bool busy = queue->options.kept_by_other || queue->running || queue->early_upload.busy;

	if (!busy && !queue->options.of_gang) {
		snapshot_queue_start(queue, checkpoint, NULL);
		return;
	}
	early_upload_yield(&queue->early_upload);
	queue->waiting = true;
	queue->next = *checkpoint;
	if (!busy)
		snapshot_queue_start_waiting(queue);
}

bool snapshot_queue_is_busy(const struct snapshot_queue *queue)
{
	return queue->running || queue->waiting;
}

void snapshot_queue_look(const struct snapshot_queue *queue, struct job_view *view)
{
	const struct snapshot_run *run = queue->running;

	view->uploading = run;
	view->awaits_gang =
		snapshot_queue_wants_round(queue) || (run && atomic_load(&run->awaits_others));
	/* A try that only repeats the bytes of an earlier one does not count. */
	view->accepted_ms = atomic_load(&queue->advanced_ms);
	view->upload_began_ms = snapshot_queue_began_ms(queue);
	if (!run)
		return;
	view->bytes_done = atomic_load(&run->bytes_done);
	view->bytes_total = atomic_load(&run->bytes_total);
}

int64_t snapshot_queue_began_ms(const struct snapshot_queue *queue)
{
	return queue->running ? queue->running->began_ms : 0;
}

void snapshot_queue_cancel(struct snapshot_queue *queue)
{
	queue->waiting = false;
	snapshot_queue_stop_early(queue);
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
	log_warn("%s in %s is %s and is NOT in the snapshot%s: it holds files, directories and "
		 "links between them",
		 result->left_out_path, directory, result->left_out_what, more);
}

/* --- the rounds of a gang --- */

bool snapshot_queue_wants_round(const struct snapshot_queue *queue)
{
	return queue->options.of_gang && queue->waiting && !queue->running;
}

void snapshot_queue_take_round(struct snapshot_queue *queue, const struct snapshot_round *round)
{
	const struct checkpoint none = {.step = -1};
	bool asked = snapshot_queue_wants_round(queue);

	if (queue->running)
		return;
	queue->waiting = false;
	queue->next.generation = round->generation;
	snapshot_queue_start(queue, asked ? &queue->next : &none, round);
	queue->running->report.unasked = !asked;
}

void snapshot_queue_note_committed(struct snapshot_queue *queue, uint32_t round)
{
	queue->newest = (struct snapshot_id){queue->options.attempt, round};
}

bool snapshot_queue_is_running(const struct snapshot_queue *queue)
{
	return queue->running;
}
