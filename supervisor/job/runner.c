/* Feeds the core: takes what the parts have posted, one event after the other, and performs what
 * the core says. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- posting --- */

static struct posted_event *post(struct job *job, const struct job_event *event)
{
	struct runner *runner = &job->runner;
	struct posted_event *posted = memory_new(sizeof(*posted));

	posted->event = *event;
	*runner->last = posted;
	runner->last = &posted->next;
	/* Before all other timers: what has happened comes before what is due. */
	loop_arm(&job->loop, &runner->steps, 0);
	return posted;
}

void job_post(struct job *job, struct job_event event)
{
	post(job, &event);
}

void job_post_with(struct job *job, struct job_event event, char *text, json_t *reply)
{
	struct posted_event *posted = post(job, &event);

	posted->text = text;
	posted->reply = reply;
}

void job_post_signal(struct job *job, struct job_event event, const struct signalfd_siginfo *info)
{
	post(job, &event)->signal = *info;
}

void job_post_snapshot(struct job *job, const struct snapshot_outcome *outcome, json_t *reply)
{
	struct job_event event = {
		.kind = JOB_EV_SNAPSHOT_DONE,
		.snapshot =
			{
				.durable = outcome->durable,
				.empty = outcome->result.empty,
				.changed = outcome->result.changed,
				.lacks_newest = outcome->lacks_newest,
				.not_whole = outcome->not_whole,
				.error = outcome->err.kind,
				.checkpoint = outcome->checkpoint,
				.running_generation = outcome->running_generation,
				.took_ms = outcome->took_ms,
			},
	};
	struct posted_event *posted = post(job, &event);
	struct path_list matched = {0};

	for (char **path = outcome->matched; path && *path; path++)
		path_list_add(&matched, *path);
	posted->reply = reply;
	posted->snapshot = memory_new(sizeof(*posted->snapshot));
	*posted->snapshot = *outcome;
	posted->snapshot->matched = matched.paths;
}

static void free_posted(struct posted_event *posted)
{
	if (posted->snapshot)
		path_list_free(posted->snapshot->matched);
	free(posted->snapshot);
	json_decref(posted->reply);
	free(posted->text);
	free(posted);
}

void job_forget_client(struct job *job, void *client)
{
	struct job_event event = {.kind = JOB_EV_CLIENT_GONE, .client = client};
	auto_(job_effects_release) struct job_effects none = {0};
	struct job_view view = {0};

	for (struct posted_event *posted = job->runner.first; posted; posted = posted->next)
		if (posted->event.kind == JOB_EV_CLIENT && posted->event.client == client)
			posted->event.kind = JOB_EVENTS;
	job_step(&job->model, &job->rules, &view, &event, &none);
}

/* --- what the parts say --- */

struct job_view job_look(const struct job *job, bool about_stop)
{
	struct job_view view = {
		.now_ms = clock_monotonic_ms(),
		.child_running = job->child.running || job->outlived.waits,
		.directory = {.reported_step = -1},
		.any_rank = job->ranks.count > 0,
		.rank_saving = rank_progress_saving(&job->ranks) > 0,
		.usual_window_ms = preemption_forecast_window_of(job->cloud),
		.saves_elsewhere = save_place_is_elsewhere(&job->reports),
	};

	if (job->tracker)
		view.directory = tracker_look(job->tracker, job->model.stop.stands,
					      job->model.state == JOB_STOPPING);
	if (job->snapshots) {
		snapshot_queue_look(job->snapshots, &view);
		view.gang_heard_ms = job->in_gang.feed.heard_ms;
		view.gang_needs_job = gang_feed_needs_job(&job->in_gang.feed);
		view.gang_has_saved = job->in_gang.feed.view.committed > 0;
		view.awaits_final = job->in_gang.feed.view.round.final &&
				    gang_view_is_open(&job->in_gang.feed.view);
	}
	if (!about_stop || job->rules.ask != REQUEST_AUTO || !job->ask.loop)
		return view;
	view.has_target = job->ask.asked_count > 0 ||
			  checkpoint_request_finds(&job->ask, job->child.pid, job->ask.signal);
	view.could_use_usr1 =
		!view.has_target && checkpoint_request_finds(&job->ask, job->child.pid, SIGUSR1);
	return view;
}

/* For these it matters who handles SIGTERM: they may make a plan for a stop, or are answered by it.
 */
static bool is_about_stop(enum job_event_kind kind)
{
	return kind == JOB_EV_CLIENT || kind == JOB_EV_STOP_ANNOUNCED ||
	       kind == JOB_EV_STOP_CANCELLED || kind == JOB_EV_SNAPSHOT_DONE;
}

/* --- what the core says is done --- */

/* The main process may have ended. */
static void send_sigterm(struct job *job, const char *what)
{
	if (job->profile.profile && job->profile.profile->ends_by_kill) {
		log_note("SIGTERM does not end such a job: killing it (SIGKILL)");
		child_signal(&job->child, SIGKILL);
		kill_tree();
		return;
	}
	log_note("%s", what);
	child_forward_signal(&job->child, SIGTERM);
	if (job->outlived.waits)
		job_terminate_rest(job);
}

static void say(struct job *job, enum job_sentence sentence, const struct posted_event *posted)
{
	report_sentence(&job->reports, sentence, posted->text, posted->snapshot);
	if (sentence == SAY_SUPERSEDED)
		next_attempt_release(&job->next_attempt);
	if (sentence == SAY_SAVING || sentence == SAY_SAVING_QUIETLY)
		job_tell_clients(job,
				 json_pack("{s:s, s:s}", "event", "saving", "path", posted->text));
}

/* One case for each kind of effect: what takes one call or two stands in it. The snapshot queue is
 * there once an attempt is claimed. */
static void perform(struct job *job, const struct job_effect *effect,
		    const struct posted_event *posted)
{
	switch (effect->kind) {
	case JOB_DO_LAUNCH:
		return job_launch_child(job);
	case JOB_DO_KEEP_SIGNAL:
		sigaddset(&job->early_signals, posted->event.signal);
		return;
	case JOB_DO_CLAIM:
		return job_claim_attempt_late(job);
	case JOB_DO_PASS_SIGNAL:
		child_forward(&job->child, &posted->signal);
		/* Its terminal is ours again, and nobody else hears it. */
		job->outlived.cut |= job->outlived.waits;
		return job_look_at_outlived(job);
	case JOB_DO_TAKE_FOR_NOTICE:
		return job_add_signal_notice(job, &posted->signal);
	case JOB_DO_TELL_NEXT_ATTEMPT:
		return next_attempt_tell(&job->next_attempt, &job->loop, job->resume.storage,
					 job->resume.attempt.number, effect->at_ms);
	case JOB_DO_ASK:
		checkpoint_request_stop(&job->ask);
		return checkpoint_request_start(&job->ask, job->child.pid);
	case JOB_DO_STOP_ASKING:
		checkpoint_request_stop(&job->ask);
		rank_progress_end(&job->ranks);
		return job_end_flag(job, false);
	case JOB_DO_CONFIRM_FLAG:
		return job_end_flag(job, true);
	case JOB_DO_REPLY:
		return job_reply_to_client(effect, posted->reply);
	case JOB_DO_REFUSE:
		return job_refuse_client(effect);
	case JOB_DO_SHARE_REQUEST:
		return job_share_request(job, effect->request);
	case JOB_DO_FORWARD_SIGTERM:
		job->ask.by_flag = false;
		if (job->tracker)
			tracker_requested(job->tracker);
		return send_sigterm(job, "forwarding SIGTERM to the job");
	case JOB_DO_TERMINATE:
		event_log_add(&job->events, "stopping", "{s:s}", "signal", "TERM");
		return send_sigterm(job, "stopping the job (SIGTERM)");
	case JOB_DO_TERMINATE_REST:
		return job_terminate_rest(job);
	case JOB_DO_KILL:
		job_name_writers(job);
		child_signal(&job->child, SIGKILL);
		kill_tree();
		return job_post_child_exit(job);
	case JOB_DO_HOLD_SIGTERM:
	case JOB_DO_UNHOLD_SIGTERM:
		return sigterm_hold_set_notice(&job->sigterm_hold,
					       effect->kind == JOB_DO_HOLD_SIGTERM);
	case JOB_DO_RELEASE_SIGTERM:
		return sigterm_hold_end(&job->sigterm_hold);
	case JOB_DO_TAKE_SNAPSHOT:
		snapshot_queue_submit(job->snapshots, &job->model.newest);
		return;
	case JOB_DO_CANCEL:
		if (job->snapshots)
			snapshot_queue_cancel(job->snapshots);
		cancel_raise(&job->cancel);
		return;
	case JOB_DO_SET_COMMIT_DEADLINE:
		if (job->snapshots)
			snapshot_queue_set_deadline(job->snapshots, effect->at_ms);
		return;
	case JOB_DO_HURRY_STORE:
		if (job->snapshots)
			storage_set_urgent(job->resume.storage);
		return;
	case JOB_DO_CALM_STORE:
		if (job->snapshots)
			storage_clear_urgent(job->resume.storage);
		return;
	case JOB_DO_START_RETENTION:
		if (!retention_worker_start(job->retention_worker))
			job_post(job, (struct job_event){.kind = JOB_EV_RETENTION_DONE});
		return;
	case JOB_DO_STOP_RETENTION:
		return retention_worker_stop(job->retention_worker);
	case JOB_DO_LIMIT_RETENTION:
		return retention_worker_limit_time(job->retention_worker, effect->at_ms);
	case JOB_DO_LEAVE_GANG:
		return job_leave_gang(job);
	case JOB_DO_SAY:
		return say(job, effect->sentence, posted);
	case JOB_DO_END:
		return job_begin_shutdown(job);
	case JOB_EFFECTS:
		return;
	}
}

/* --- stepping --- */

static void arm_due(struct job *job)
{
	enum job_timer timer;
	int64_t at_ms = job_next_due_ms(&job->model, &timer);

	if (at_ms == CLOCK_NEVER || job->loop.stopped)
		loop_disarm(&job->loop, &job->runner.due);
	else
		loop_arm(&job->loop, &job->runner.due, at_ms);
}

static void take_step(struct job *job, const struct posted_event *posted)
{
	struct job_effects *effects = &job->runner.effects;
	struct job_view view = job_look(job, is_about_stop(posted->event.kind));
	enum job_state before = job->model.state;

	effects->count = 0;
	job_step(&job->model, &job->rules, &view, &posted->event, effects);
	if (job->model.state != before)
		log_debug("%s -> %s", job_state_names[before], job_state_names[job->model.state]);
	job->observers.hurried = job->model.state != JOB_RUNNING;
	for (size_t i = 0; i < effects->count; i++)
		perform(job, &effects->items[i], posted);
	job->child.ending = job->model.stop.stands;
	/* A stopped job gets the signal only when it continues. */
	if (posted->event.kind == JOB_EV_SIGNAL)
		child_resume(&job->child);
}

/* NULL: none waits. */
static struct posted_event *take_first(struct runner *runner)
{
	struct posted_event *posted = runner->first;

	runner->first = posted ? posted->next : NULL;
	if (!runner->first)
		runner->last = &runner->first;
	return posted;
}

void job_take_steps(struct job *job)
{
	for (struct posted_event *posted; (posted = take_first(&job->runner));) {
		take_step(job, posted);
		free_posted(posted);
	}
	loop_disarm(&job->loop, &job->runner.steps);
	arm_due(job);
	display_follow(&job->reports, &job->model,
		       job->snapshots ? snapshot_queue_began_ms(job->snapshots) : 0);
}

static void on_steps_due(struct timer *timer)
{
	job_take_steps(container_of(timer, struct job, runner.steps));
}

static void on_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, runner.due);
	struct job_event event = {.kind = JOB_EV_TIMER};

	if (job_next_due_ms(&job->model, &event.timer) <= clock_monotonic_ms())
		job_post(job, event);
	else
		arm_due(job);
}

void job_release_runner(struct job *job)
{
	for (struct posted_event *posted; (posted = take_first(&job->runner));)
		free_posted(posted);
	job_effects_release(&job->runner.effects);
	request_table_release(&job->model.requests);
}

/* --- the run --- */

/* A job that polls reprieve_requested() expects the flag, unless the user has chosen another way.
 */
static bool may_use_flag(const struct job_config *options)
{
	return options->ask == REQUEST_AUTO || !options->ask_chosen;
}

static bool zero_is_finished(const struct profile *profile)
{
	return profile && !profile->zero_is_asked && profile->ask == PROFILE_ASK_SIGNAL &&
	       profile->after == PROFILE_AFTER_CONTINUES;
}

struct job_rules job_rules_from(const struct job *job)
{
	const struct job_config *options = job->options;
	bool by_signal = options->ask == REQUEST_SIGNAL;
	const struct batch_scheduler *batch = batch_scheduler_find(getenv);
	bool requeues = options->requeue && batch && batch->asked_to_requeue;

	return (struct job_rules){
		.ask = options->ask,
		.may_flag = may_use_flag(options),
		.request_signal = by_signal ? options->checkpoint_signal : SIGTERM,
		.asks_by_sigterm =
			options->ask != REQUEST_COMMAND && options->ask != REQUEST_FLAG &&
			(!by_signal || options->checkpoint_signal == SIGTERM),
		.ends_when_asked = options->ask_ends_job,
		.zero_is_finished = zero_is_finished(job->profile.profile),
		.expects_saves = job->expected == EXPECT_BY_OPTION,
		.place_chosen = options->directory_chosen,
		.has_store = job->store != NULL,
		.of_gang = job->gang.members > 1,
		.requeues = requeues,
		.notice_signals =
			batch && (requeues || !batch->asked_to_requeue) ? batch->signals : 0,
		.every_auto = options->every_auto,
		.retains = options->retention.keep_last != 0,
		.quiet_ms = options->quiet_ms,
		.snapshot_interval_ms = options->snapshot_interval_ms,
		.flush_ms = options->flush_ms,
		.grace_ms = options->grace_ms,
		.every_ms = options->every_ms,
		.mtbf_ms = options->mtbf_ms,
	};
}

int job_run(struct job *job)
{
	struct err err;
	int code;

	sigemptyset(&job->early_signals);
	job->runner.last = &job->runner.first;
	job->runner.steps.fired = on_steps_due;
	job->runner.due.fired = on_due;
	if (job_open(job, &err) < 0) {
		log_error("%s", err.text);
		job_close(job);
		return err.kind == ERR_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
	}
	job_begin_resume(job);
	if (loop_run(&job->loop, &err) < 0)
		log_error("%s", err.text);
	code = job_finish(job);
	job_close(job);
	if (job->hung) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
