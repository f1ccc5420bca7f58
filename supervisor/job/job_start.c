/* Up to the launch: the parts, the newest checkpoint in place, the child. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "workspace/workspace.h"
#include "job.h"
#include "restore/restore.h"

#include <unistd.h>

/* --- the parts --- */

int job_open(struct job *job, struct err *err)
{
	struct err why;

	if (loop_init(&job->loop, err) < 0 || cancel_init(&job->cancel, err) < 0)
		return -1;
	if (signals_open(&job->signals, &job->loop, job_signal_received, job, err) < 0)
		return err_wrap(err, "signals");
	if (workers_new(&job->loop, 1, &job->workers, err) < 0)
		return err_wrap(err, "worker");
	if (job_open_observers(job, err) < 0)
		return -1;
	if (events_open(&job->events, job->options->events, &why) < 0)
		job_failed(job, "there will be no event ledger", &why);
	if (session_open(job->name.text, &job->session, &why) < 0)
		job_failed(
			job, "no runtime directory, so no shim and no `reprieve checkpoint`", &why);
	job_open_control(job);
	if (job_open_metrics(job, &why) < 0)
		job_failed(job, "no metrics are served", &why);
	/* Now already, because a notice may well come while a big checkpoint is being restored. */
	return job_start_watching(job, err);
}

void job_close(struct job *job)
{
	job_close_observers(job);
	cloud_watch_stop(job->watch);
	workers_free(job->workers);
	workers_free(job->slurm_end.workers);
	job_end_telling_successor(job);
	tending_free(job->tending);
	snapshots_free(job->snapshots);
	json_decref(job->snapshot_about);
	shield_release(&job->shield);
	tracker_free(job->tracker);
	ask_release(&job->ask);
	receipts_release(&job->receipts);
	control_close(job->control);
	session_close(&job->session);
	signals_close(&job->signals, &job->loop);
	resume_result_release(&job->resume);
	json_decref(job->resume_request.about);
	events_close(&job->events);
	workspace_release(&job->workspace);
	cancel_release(&job->cancel);
	loop_release(&job->loop);
	job_free_environment(job);
}

/* --- resuming --- */

static json_t *about_this_attempt(const struct job *job)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	return json_pack("{s:s, s:o, s:s, s:i, s:o}", "host", host, "command",
		job_command_words(job), "directory", job->workspace.directory, "supervisor_pid",
		(int)getpid(), "labels", job_labels(job));
}

static void tell_of_resume(struct job *job)
{
	const struct resume_result *resume = &job->resume;
	char from[SNAPSHOT_ID_TEXT], start[SNAPSHOT_ID_TEXT], size[24], time[32], step[40] = "";
	bool has_start = !snapshot_id_is_none(resume->attempt.start);

	if (resume->attempt.number == 0)
		return;
	if (!job->name.given)
		log_note("job %s: the name is made from this directory and command; --job NAME "
			 "carries a job to another directory",
			job->name.text);
	if (resume->awaited.attempt > 0)
		events_add(&job->events, "waited", "{s:i, s:s, s:b, s:f}", "attempt",
			(int)resume->awaited.attempt, "host", resume->awaited.host, "ended",
			resume->awaited.ended, "seconds", (double)resume->awaited.waited_ms / 1000);
	events_add(&job->events, "claimed", "{s:i, s:s?}", "attempt", (int)resume->attempt.number,
		"start", has_start ? snapshot_id_format(resume->attempt.start, start) : NULL);
	for (size_t i = 0; i < resume->passed_over_count; i++)
		events_add(&job->events, "passed_over", "{s:s, s:s}", "id",
			snapshot_id_format(resume->passed_over[i].id, from), "why",
			resume->passed_over[i].text);
	snapshot_id_format(resume->from, from);
	if (resume->step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)resume->step);
	if (resume->kind == RESUME_FRESH)
		log_note("job %s, attempt %u: %s (store %s)", job->name.text,
			resume->attempt.number,
			job->options->restore == RESTORE_NONE
				? "it begins afresh, as --restore none says"
				: "nothing to resume from, it begins afresh",
			job->store);
	else if (resume->kind == RESUME_KEPT && job->options->restore == RESTORE_NONE)
		log_warn(
			"job %s, attempt %u: --restore none takes nothing from the store, but what "
			"lies in %s stays%s: empty it to begin afresh",
			job->name.text, resume->attempt.number, job->workspace.directory, step);
	else if (resume->kind == RESUME_KEPT)
		log_note("job %s, attempt %u: goes on from what lies in %s%s", job->name.text,
			resume->attempt.number, job->workspace.directory, step);
	else
		log_note("job %s, attempt %u: restored %s%s, %s in %s", job->name.text,
			resume->attempt.number, from, step,
			text_bytes(resume->restored.bytes, size, sizeof(size)),
			text_duration(resume->milliseconds, time, sizeof(time)));
	if (!job->options->store && network_fs_is_own_disk(job->store))
		log_note("this store is on this machine's own disk, and may go with the machine: "
			 "--store names another");
	if (resume->kind == RESUME_RESTORED)
		events_add(&job->events, "restored", "{s:s, s:o, s:i, s:I, s:I, s:f}", "id", from,
			"step", resume->step >= 0 ? json_integer(resume->step) : json_null(),
			"files", (int)resume->restored.files, "bytes",
			(json_int_t)resume->restored.bytes, "bytes_fetched",
			(json_int_t)resume->restored.bytes_fetched, "seconds",
			(double)resume->milliseconds / 1000);
}

static void resume_work(void *arg)
{
	struct job *job = arg;

	job->resume_failed =
		resume_run(&job->resume_request, &job->resume, &job->cancel, &job->resume_err) < 0;
	if (!job->resume_failed && !job->resume_request.claim_only)
		quarantine_tell(&job->workspace);
}

static bool is_configuration(enum err_kind kind)
{
	return kind == ERR_INVALID || kind == ERR_DENIED || kind == ERR_NOT_FOUND ||
	       kind == ERR_NEWER;
}

/* True when the job must not begin: the user named the store, or there is a checkpoint that could not be put back. */
static bool refuse_without_resume(struct job *job)
{
	if (job->resume.in_use)
		err_wrap(&job->resume_err, "not started");
	else if (!job->store_is_needed && job->resume.attempt.number == 0 &&
		 !job->options->strict) {
		job_failed(job, "checkpoints will not be saved", &job->resume_err);
		job->store = NULL;
		return false;
	}
	log_error("%s%s", job->resume_err.text,
		job->resume.in_use ? ": end that one, or choose another with --checkpoint-dir"
				   : "");
	/* A full disk or a directory in use is a matter of this machine and of now: another start may well succeed. */
	job->refusal =
		is_configuration(job->resume_err.kind) ? EXIT_CONFIGURATION : EXIT_OWN_FAILURE;
	return true;
}

/* The work of an attempt that is claimed: what lies here may have to be saved at once. */
static void begin_attempt(struct job *job)
{
	struct err err;

	if (job->resume.kind != RESUME_FRESH)
		job->facts.managed = true;
	if (job->resume.attempt.number == 0)
		return;
	if (job_start_snapshots(job, &err) < 0)
		job_failed(job, "checkpoints will not be saved", &err);
	/* One that was claimed late may have a notice already. */
	job_tell_successor(job);
}

static void resume_done(void *arg)
{
	struct job *job = arg;

	job->resuming = false;
	if (job->state == JOB_OVER)
		return;
	if (job->resume_failed && refuse_without_resume(job)) {
		job_feed(job, EV_RESTORE_FAILED);
		return;
	}
	if (job_obey_precedent(job))
		return;
	tell_of_resume(job);
	begin_attempt(job);
	job_feed(job, EV_RESTORED);
}

/* Should we be killed alone, the job keeps the next run out of its directory. */
static void name_job_in_lock(const struct job *job)
{
	if (job->workspace.lock_fd > 0 && job->child.running)
		directory_lock_tell(job->workspace.lock_fd, job->child.pid);
}

static void claim_done(void *arg)
{
	struct job *job = arg;

	job->resuming = false;
	name_job_in_lock(job);
	if (job->resume_failed) {
		job_failed(job, "checkpoints will not be saved", &job->resume_err);
		job->store = NULL;
	} else {
		tell_of_resume(job);
		begin_attempt(job);
		if (job->snapshots && job->any_sealed)
			job_ship(job);
	}
	if (job->state == JOB_UPLOADING)
		job_flush(job);
}

void job_claim_late(struct job *job)
{
	job->resume_request.if_known = false;
	job->resume_request.claim_only = true;
	job->resuming = true;
	workers_run(job->workers, resume_work, claim_done, job);
}

void job_begin_resume(struct job *job)
{
	const struct job_config *options = job->options;
	bool chosen = job->store_is_needed || options->directory_chosen || options->job ||
		      options->ask != ASK_AUTO || options->restore != RESTORE_LATEST;

	workspace_init(&job->workspace, options->checkpoint_dir);
	events_add(&job->events, "started", "{s:s, s:s?, s:s, s:i}", "job", job->name.text, "store",
		job->store, "checkpoint_dir", job->workspace.directory, "supervisor_pid",
		(int)getpid());
	if (!job_take_directory(job)) {
		job_feed(job, EV_RESTORE_FAILED);
		return;
	}
	job->facts.managed = chosen;
	if (!job->store) {
		job_feed(job, EV_RESTORED);
		return;
	}
	job->resume_request = (struct resume_request){
		.store = job->store,
		.job = job->name.text,
		.policy = options->restore,
		.this_one = options->restore_id,
		.about = about_this_attempt(job),
		.rules = job_precedent_rules(job),
		.workspace = &job->workspace,
		.profile = job->profile.profile,
		.looks = !text_equal(options->profile, "none"),
		.transfer = options->transfer,
		.strict = options->strict,
		.if_known = !chosen && file_directory_is_empty(job->workspace.directory),
	};
	job->resuming = true;
	workers_run(job->workers, resume_work, resume_done, job);
}

/* --- launching --- */

static void process_kept(void *arg, pid_t pid, pid_t sender, int64_t had_ms)
{
	struct job *job = arg;

	shield_kept(&job->shield, pid, sender, job_has_sent_sigterm(job, pid, had_ms));
}

static void start_tracking(struct job *job)
{
	struct tracker_options options = {
		.loop = &job->loop,
		.workspace = &job->workspace,
		.session_directory = job->session.directory,
		.quiet_ms = job->options->quiet_ms,
		.polls = job->options->polls,
		.profile = job->profile.profile,
		.looks = !text_equal(job->options->profile, "none"),
		.saving = job_checkpoint_saving,
		.closed = job_files_closed,
		.held = process_kept,
		.sealed = job_checkpoint_sealed,
		.arg = job,
	};

	tracker_new(&options, &job->tracker);
}

static void refuse(struct job *job, int code, const struct err *err)
{
	log_error("%s", err->text);
	job->refusal = code;
	job->facts.start_failed = code;
	job->state = JOB_OVER;
	loop_stop(&job->loop);
}

static void save_what_lies_here(struct job *job)
{
	if (!job->resume.newer_than_store || !job->snapshots || !job->tracker)
		return;
	job->any_sealed = true;
	job->newest_sealed =
		(struct sealed){.generation = tracker_latest_seal(job->tracker)->generation,
			.step = job->resume.step,
			.reason = "change",
			.sealed_ms = clock_monotonic_ms(),
			.written_ms = clock_monotonic_ms()};
	job->durable_generation =
		job->newest_sealed.generation + 1; /* any other: not durable yet */
	job_note_sealed(job);
	job_ship(job);
}

void job_launch(struct job *job)
{
	struct child_options options = {.argv = job->options->command,
		.inherited = job->inherited,
		.to_group = job->options->relay.to_group};
	struct err err;

	start_tracking(job);
	job_build_environment(job);
	if (job->options->shim != SHIM_USE_OFF && job_add_shim(job, &err) < 0) {
		if (job->options->shim == SHIM_USE_ON) {
			err_wrap(&err, "--shim on");
			refuse(job, EXIT_CONFIGURATION, &err);
			return;
		}
		log_note("without the shim (%s): completeness is judged from the directory alone",
			err.text);
	}
	if (job->options->shield && job->options->shim != SHIM_USE_OFF)
		shield_raise(&job->shield, &job->loop, job->tracker);
	options.set = (const char *const *)job->environment;
	if (child_spawn(&options, &job->child, &err) < 0) {
		refuse(job, job->child.exit_code, &err);
		return;
	}
	job->facts.launched = true;
	job->launched_ms = clock_monotonic_ms();
	name_job_in_lock(job);
	events_add(&job->events, "launched", "{s:i}", "pid", (int)job->child.pid);
	if (job->tracker && tracker_blindness(job->tracker)[0])
		log_note("%s", tracker_blindness(job->tracker));
	job_prepare_asking(job);
	save_what_lies_here(job);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&job->early_signals, signal) == 1)
			child_signal(&job->child, signal);
}
