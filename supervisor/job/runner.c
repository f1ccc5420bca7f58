/* Feeds the core: takes what the parts have posted, one event after the other, and performs what
 * the core says. What a client is told, and how the job is asked, is here too. */
#include "job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <signal.h>
#include <stdlib.h>

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

/* --- what the parts say --- */

struct job_view job_look(const struct job *job, bool about_stop)
{
	struct job_view view = {
		.now_ms = clock_monotonic_ms(),
		.child_running = job->child.running || job->outlived.waits,
		.directory = {.reported_step = -1},
		.any_rank = job->ask.asked_count > 0,
		.rank_saving = rank_progress_saving(&job->ask) > 0,
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

/* What the job tells of itself: as facts for supervisor/reporting/, and to telemetry/observers.c.
 */
struct run_facts job_facts(const struct job *job, enum run_look look)
{
	struct run_facts run = {
		.model = &job->model,
		.rules = &job->rules,
		.view = {.now_ms = clock_monotonic_ms(), .child_running = job->child.running},
		.job = job->name.text,
		.of_scheduler = job->name.of_scheduler,
		.stem = job->name.stem,
		.directory = job->workspace.directory,
		.store = job->store,
		.runtime = job->session.directory,
		.command = job->options->command,
		.attempt = job->resume.attempt.number,
		.pid = job->child.pid,
		.fresh = job->resume.kind == RESUME_FRESH,
		.restored = job->resume.kind == RESUME_RESTORED,
		.goes_back = job->options->restore != RESTORE_LATEST,
		.expected = job->expected != EXPECT_NOTHING,
		.ask_chosen = job->options->ask_chosen,
		.handler_unseen = job->profile.handler_unseen,
		.from = job->resume.from,
		.stop = notices_stop(&job->notices),
	};

	if (job->snapshots)
		run.durable = snapshot_queue_newest(job->snapshots);
	else
		run.durable = job->resume.from;
	if (look != LOOK_AT_MODEL)
		run.view = job_look(job, look == LOOK_AT_PROCESSES);
	return run;
}

static struct run_facts look_at_run(void *arg, enum run_look look)
{
	return job_facts(arg, look);
}

/* --- the clients of the control socket: `reprieve checkpoint` and `reprieve status` --- */

static void tell_clients(struct job *job, json_t *reply)
{
	const struct request_table *table = &job->model.requests;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].client && table->items[i].phase == REQUEST_ASKED)
			control_request_reply(table->items[i].client, json_incref(reply));
	json_decref(reply);
}

static json_t *status_json(const struct job *job, enum run_look look)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct training_progress progress;
	bool trains = page && progress_page_read_progress(page, &progress);
	json_t *status = status_report(&job->reports, look, trains ? &progress : NULL);

	json_object_set(status, "counters", job->observers.counters);
	json_object_set(status, "labels", job->options->labels);
	json_object_set_new(status, "sources", notice_format_sources_json(job->watch));
	if (job->ask.asked_count > 0)
		json_object_set_new(status, "rank_progress", rank_progress_json(&job->ask));
	if (gang_feed_is_running(&job->in_gang.feed))
		json_object_set_new(status, "gang", gang_feed_status(&job->in_gang.feed));
	return status;
}

/* From within the log of events. */
static json_t *status_of_model(void *arg)
{
	return status_json(arg, LOOK_AT_MODEL);
}

int job_open_observers(struct job *job, struct err *err)
{
	const struct job_config *options = job->options;
	struct observed_job observed = {
		.loop = &job->loop,
		.events = &job->events,
		.name = job->name.text,
		.labels = options->labels,
		.states = job_state_names,
		.has_store = job->store != NULL,
		.metrics = options->metrics,
		.metrics_file = options->metrics_file,
		.notify = options->notify,
		.log = options->log,
		.status = status_of_model,
		.arg = job,
	};

	job->reports.loop = &job->loop;
	job->reports.events = &job->events;
	job->reports.look = look_at_run;
	job->reports.arg = job;
	return observers_open(&observed, &job->observers, err);
}

void job_reply_to_client(const struct job_effect *effect, json_t *reply)
{
	control_request_reply(effect->client, json_incref(reply));
	if (effect->last)
		control_request_finish(effect->client);
}

static void refuse_client(const struct job_effect *effect)
{
	static const char *const reasons[] = {
		[REFUSED_SUPERSEDED] =
			"superseded by a newer attempt: this one uploads no more checkpoints",
		[REFUSED_NOT_STARTED] = "the job has not started yet",
		[REFUSED_BEING_STOPPED] = "the job is being stopped or has ended: what it saves "
					  "last is made durable without a request",
		[REFUSED_ENDS_WHEN_ASKED] =
			"this job saves and exits when it is asked, so it is asked only at a stop "
			"notice",
		[REFUSED_CANNOT_ASK] = "this job cannot be asked, or not yet: start it with "
				       "--checkpoint-signal or --checkpoint-command",
	};

	control_request_answer(effect->client, control_failure(reasons[effect->refusal]));
}

static void request_checkpoint(struct job *job, struct control_request *request, json_t *message)
{
	bool until_asked = !json_true_or(message, "wait", true);

	job_post_with(job,
		      (struct job_event){.kind = JOB_EV_CLIENT,
					 .client = request,
					 .until_asked = until_asked},
		      NULL, json_pack("{s:s, s:[]}", "event", "asked", "pids"));
}

void job_tell_outcome(struct job *job, const struct outcome *outcome, bool last)
{
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	char durable[RESUME_POINT_TEXT];

	control_socket_hear(job->control, last);
	control_socket_answer_held(job->control,
				   json_pack("{s:s, s:s, s:s, s:i, s:s}", "event", "ended", "job",
					     job->name.text, "outcome", outcome_name(outcome),
					     "exit_code", outcome->exit_code, "durable",
					     run_facts_resume_point(&run, durable)));
}

/* The requests that a client may make. */
static void handle_client_request(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));
	bool checkpoints = text_equal(what, "checkpoints");
	json_t *status;

	if (checkpoints || text_equal(what, "status")) {
		status = status_json(job, LOOK_AT_PROCESSES);
		if (checkpoints)
			json_object_set_new(status, "checkpoints",
					    job->tracker ? tracker_checkpoints_json(job->tracker)
							 : json_array());
		control_request_answer(request, status);
	} else if (text_equal(what, "checkpoint")) {
		request_checkpoint(job, request, message);
	} else if (text_equal(what, "outcome")) {
		control_request_hold(request);
	} else {
		control_request_answer(request, control_failure("unknown request"));
	}
}

/* It has hung up: nothing is sent to it any more, from now on. */
static void remove_client(void *arg, struct control_request *client)
{
	struct job *job = arg;
	struct job_event event = {.kind = JOB_EV_CLIENT_GONE, .client = client};
	auto_(job_effects_release) struct job_effects none = {0};
	struct job_view view = {0};

	for (struct posted_event *posted = job->runner.first; posted; posted = posted->next)
		if (posted->event.kind == JOB_EV_CLIENT && posted->event.client == client)
			posted->event.kind = JOB_EVENTS;
	job_step(&job->model, &job->rules, &view, &event, &none);
}

void job_open_control(struct job *job)
{
	struct control_handler handler = {
		.asked = handle_client_request,
		.gone = remove_client,
		.arg = job,
	};
	auto_free char *path = session_path(&job->session, SESSION_CONTROL);
	struct err err;

	if (path && control_socket_open(&job->loop, path, &handler, &job->control, &err) < 0)
		report_our_failure(&job->reports, "`reprieve checkpoint` cannot reach this job",
				   &err);
}

/* --- asking the job --- */

/* The tracker learns it before the job does, so that what is written from now on may answer. */
static void on_request_sending(void *arg)
{
	struct job *job = arg;

	job_post(job, (struct job_event){.kind = JOB_EV_SENDING, .by_flag = job->ask.by_flag});
	if (job->tracker)
		tracker_requested(job->tracker);
}

static void on_request_sent(void *arg, const struct rank *ranks, size_t count, size_t expected)
{
	struct job *job = arg;
	bool more = job->ask.asked_count > 0;
	bool by_signal = !job->ask.by_flag && job->ask.method != REQUEST_COMMAND;
	const char *how = job->ask.by_flag ? "flag" : by_signal ? "signal" : "command";
	char buffer[SIGNAL_NAME_SIZE];
	const char *name = by_signal ? signal_name_format(job->ask.signal, buffer) : NULL;
	auto_free char *command = job->ask.command ? redact_script(job->ask.command) : NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(ranks[i].pid));
	if (more)
		log_debug("asked %zu more", count);
	else if (job->ask.by_flag)
		log_note("asked for a checkpoint: raised the flag that %zu %s", expected,
			 expected == 1 ? "process polls" : "processes poll");
	else if (!name)
		log_note("asked for a checkpoint (%s)", command);
	else if (count == 1)
		log_note("asked process %d for a checkpoint (%s)", (int)ranks[0].pid, name);
	else
		log_note("asked %zu processes for a checkpoint (%s)", count, name);
	event_log_add(&job->events, "asked", "{s:s, s:s?, s:O, s:s, s:b}", "how", how, "signal",
		      name, "pids", list, "reason",
		      save_reason_name(request_table_cause(&job->model.requests)), "again", more);
	job_post_with(job, (struct job_event){.kind = JOB_EV_ASKED}, NULL,
		      json_pack("{s:s, s:o, s:b}", "event", "asked", "pids", list, "again", more));
}

static void on_rank_news(void *arg, const char *line)
{
	struct job *job = arg;
	const struct checkpoint_request *asked = &job->ask;
	json_t *reply = rank_progress_json(&job->ask);

	event_log_add(&job->events, "rank_progress", "{s:s, s:I, s:I, s:I}", "text", line, "asked",
		      (json_int_t)asked->asked_count, "expected", (json_int_t)asked->expected,
		      "saving", (json_int_t)rank_progress_saving(asked));
	json_object_set_new(reply, "event", json_string("rank_progress"));
	tell_clients(job, reply);
}

static void on_request_failed(void *arg, const char *why)
{
	job_post_with(arg, (struct job_event){.kind = JOB_EV_CANNOT_ASK}, text_copy(why),
		      control_failure(why));
}

static void end_flag(struct job *job, bool answered)
{
	if (job->ask.page)
		progress_page_end_request(job->ask.page, answered, clock_monotonic_ms());
}

bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms)
{
	if (!job_asked_by_sigterm(&job->model, &job->rules))
		return false;
	/* The core learns a moment after a request that it was sent: its time is too late here. It
	 * decides itself when to forward, so that is no later than the signal. */
	return job->model.asking.forwarded
		       ? job->model.asking.sent_ms > since_ms && child_forwards_to(&job->child, pid)
		       : checkpoint_request_has_signalled(&job->ask, pid, since_ms);
}

/* The profile knows which ranks handle its own signal. For a signal that the user has chosen, all
 * ranks are asked. */
static enum profile_target select_target(const struct job *job)
{
	const struct profile *profile = job->profile.profile;
	bool by_profile = profile && profile->ask == PROFILE_ASK_SIGNAL &&
			  (job->options->ask != REQUEST_SIGNAL ||
			   job->options->checkpoint_signal == profile->signal);

	return by_profile ? profile->whom : PROFILE_TARGET_ALL;
}

void job_prepare_requests(struct job *job)
{
	const struct profile *profile = job->profile.profile;

	job->ask = (struct checkpoint_request){
		.loop = &job->loop,
		.method = job->options->ask == REQUEST_COMMAND || job->options->ask == REQUEST_FLAG
				  ? job->options->ask
				  : REQUEST_SIGNAL,
		.signal = job->rules.request_signal,
		.may_flag = job->rules.may_flag,
		.whom = select_target(job),
		.command = job->options->checkpoint_command,
		.environment = (const char *const *)job->environment.pairs,
		.page = job->tracker ? tracker_page(job->tracker) : NULL,
		.tracker = job->tracker,
		.model = &job->model,
		.patience_ms = RANK_PROGRESS_PATIENCE_MS + (profile ? profile->patience_ms : 0),
		.sending = on_request_sending,
		.sent = on_request_sent,
		.failed = on_request_failed,
		.news = on_rank_news,
		.arg = job,
	};
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
	if (sentence == SAY_SAVING)
		tell_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", posted->text));
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
		return checkpoint_request_start(&job->ask, job->child.pid);
	case JOB_DO_STOP_ASKING:
		checkpoint_request_stop(&job->ask);
		return end_flag(job, false);
	case JOB_DO_CONFIRM_FLAG:
		return end_flag(job, true);
	case JOB_DO_REPLY:
		return job_reply_to_client(effect, posted->reply);
	case JOB_DO_REFUSE:
		return refuse_client(effect);
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

void job_start_runner(struct job *job)
{
	sigemptyset(&job->early_signals);
	job->runner.last = &job->runner.first;
	job->runner.steps.fired = on_steps_due;
	job->runner.due.fired = on_due;
}

void job_release_runner(struct job *job)
{
	for (struct posted_event *posted; (posted = take_first(&job->runner));)
		free_posted(posted);
	job_effects_release(&job->runner.effects);
	request_table_release(&job->model.requests);
}
