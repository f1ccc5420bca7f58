/* Up to the launch: opens the parts, restores the newest checkpoint, starts the child. And the end:
 * leaves no process behind, decides the outcome and the exit code, and tells everybody who needs to
 * know. */
#include "job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- job_directory --- */

/* Before an attempt is claimed: can the command be run, and may the job start in this checkpoint
 * directory, and with the parts that could be set up? */

static int check_directory(struct job *job, const char **advice, struct err *err)
{
	const struct directory_check own = {
		.directory = job->options->checkpoint_dir,
		.store = job->store,
		.runtime = job->session.directory,
		.command = job->options->command,
	};

	if (directory_check_run(&own, advice, err) < 0)
		return -1;
	*advice = DIRECTORY_CHECK_CHOOSE;
	if (job->store && directory_check_is_working_directory(job->options->checkpoint_dir))
		log_warn("the checkpoint directory is the working directory: all of %s is saved, "
			 "and replaced by a restore",
			 job->workspace.directory);
	return job->options->directory_chosen ? workspace_prepare(&job->workspace, err) : 0;
}

static int refuse_directory(struct job *job)
{
	const char *advice;
	struct err err;

	if (check_directory(job, &advice, &err) == 0)
		return 0;
	if (!job->options->directory_chosen && !job->store_is_needed && !job->options->strict) {
		report_our_failure(&job->reports, "checkpoints will not be saved", &err);
		job->store = NULL;
		return 0;
	}
	err_set(&job->refusal, err.kind, "%s: %s", err.text, advice);
	return err.kind == ERR_NO_SPACE ? EXIT_OWN_FAILURE : EXIT_CONFIGURATION;
}

/* 0, or the exit code with which the job is not started, for the reason in job->refusal: this
 * command, which is to leave no job in the store where it is mistyped; this directory; or, under
 * --strict, a part that could not be set up, as was logged. */
static int check_start(struct job *job)
{
	int refused =
		command_check(job->options->command[0], job->workspace.directory, &job->refusal);

	if (!refused)
		refused = refuse_directory(job);
	if (refused || !job->options->strict || !job->reports.failed)
		return refused;
	err_set(&job->refusal, ERR_FAILED,
		"not started: --strict turns the failure above into an error");
	return EXIT_CONFIGURATION;
}

char *job_explain_restart_decision(const struct job *job, struct storage *storage)
{
	auto_json json_t *about =
		json_pack("{s:o}", "command", redact_command(job->options->command));
	struct attempt_outcomes attempt_outcomes;
	char *living = NULL;

	if (attempt_outcomes_read(storage, job->options, job->gang.member, about, &attempt_outcomes,
				  NULL, NULL) < 0)
		return NULL;
	if (!job->options->take_over && job->gang.members == 1)
		living = attempt_outcomes_living(&attempt_outcomes, job->name.text);
	return living ? living : attempt_outcomes_refusal(&attempt_outcomes, job->name.text);
}

/* --- the parts --- */

static int open_parts(struct job *job, struct err *err)
{
	const char *refused = detached_process_refuse_command(job->options->command);
	struct err why;

	if (refused)
		return err_set(err, ERR_INVALID, "not started: %s", refused);

	job->message.path = job->options->termination_log;
	if (loop_init(&job->loop, err) < 0 || cancel_init(&job->cancel, err) < 0 ||
	    signals_open(&job->signals, &job->loop, job_on_signal, job, err) < 0 ||
	    workers_new(&job->loop, 1, &job->workers, err) < 0 || job_open_observers(job, err) < 0)
		return -1;
	if (event_log_open(&job->events, job->options->events, &why) < 0)
		report_our_failure(&job->reports, "no event log is written", &why);
	if (session_open(job->name.text, job->gang.member, job->store, &job->session, &why) < 0)
		report_our_failure(&job->reports,
				   "no runtime directory, so no shim and no `reprieve checkpoint`",
				   &why);
	job_open_control(job);
	if (observers_open_metrics(&job->observers, job->session.directory, &why) < 0)
		report_our_failure(&job->reports, "no metrics are served", &why);
	/* Before the restore, because a big one takes long enough for a notice to come. */
	return job_start_notice_watch(job, err);
}

static void close_parts(struct job *job)
{
	if (job->hung) {
		session_close(&job->session);
		event_log_close(&job->events);
		return;
	}
	observers_close(&job->observers);
	cloud_watch_stop(job->watch);
	workers_free(job->workers);
	slurm_deadline_release(&job->slurm_deadline);
	next_attempt_release(&job->next_attempt);
	gang_feed_release(&job->in_gang.feed);
	retention_worker_free(job->retention_worker);
	snapshot_queue_free(job->snapshots);
	json_decref(job->snapshot_about);
	sigterm_hold_release(&job->sigterm_hold);
	tracker_free(job->tracker);
	checkpoint_request_release(&job->ask);
	control_socket_close(job->control);
	session_close(&job->session);
	signals_close(&job->signals, &job->loop);
	resume_result_release(&job->resume);
	json_decref(job->left_known);
	json_decref(job->resume_request.about);
	event_log_close(&job->events);
	workspace_remove_unused(&job->workspace);
	workspace_release(&job->workspace);
	cancel_release(&job->cancel);
	loop_release(&job->loop);
	job_release_runner(job);
	child_environment_release(&job->environment);
	reports_release(&job->reports);
}

/* --- resuming --- */

/* As a JSON text can have it: without this, a name that is not UTF-8 takes the whole record along,
 * and with it all that later attempts are to learn. The caller frees. */
static char *directory_text(const struct job *job)
{
	char *text = text_copy(job->workspace.directory);

	text_to_utf8(text);
	return text;
}

static json_t *attempt_record_json(const struct job *job)
{
	char host[65] = "";
	json_t *command = redact_command(job->options->command);
	auto_free char *directory = directory_text(job);

	gethostname(host, sizeof(host) - 1);
	if (job->gang.members > 1)
		gang_identity_blank(command);
	return json_pack("{s:s, s:o, s:s, s:i, s:o}", "host", host, "command", command, "directory",
			 directory, "supervisor_pid", (int)getpid(), "labels",
			 json_incref(job->options->labels));
}

#define SOURCES_MOST_MS 30000
#define SOURCES_POLL_MS 20

/* Under --strict, before anything is claimed: why a notice source that was named cannot work here.
 * Blocks until each has been heard of. NULL: none is unavailable. The caller frees. */
static char *find_unavailable_source(struct job *job)
{
	struct source_state states[CLOUD_SOURCES_MOST];
	int64_t until_ms = clock_monotonic_ms() + SOURCES_MOST_MS;
	bool starting = job->watch && job->options->notice;

	while (starting && clock_monotonic_ms() < until_ms &&
	       cancel_sleep(&job->cancel, SOURCES_POLL_MS, NULL) == 0) {
		size_t count = cloud_watch_states(job->watch, states, CLOUD_SOURCES_MOST);

		starting = false;
		for (size_t i = 0; i < count && i < CLOUD_SOURCES_MOST; i++) {
			/* "aws" is in "file:/run/notice,aws". */
			auto_free char *named = text_format("(^|,)%s(,|:|$)", states[i].name);

			if (!text_matches(job->options->notice, named))
				continue;
			starting |= states[i].health == SOURCE_STARTING;
			if (states[i].health == SOURCE_UNAVAILABLE)
				return text_format("notices from %s: %s (--strict)", states[i].name,
						   states[i].why);
		}
	}
	return NULL;
}

static void resume_worker(void *arg)
{
	struct job *job = arg;
	struct resume_request *request = &job->resume_request;
	auto_free char *unavailable =
		job->options->strict && !request->claim_only ? find_unavailable_source(job) : NULL;

	if (unavailable)
		text_set(request->refused, sizeof(request->refused), unavailable);
	job->resume_failed =
		unavailable && job->gang.members == 1
			? err_set(&job->resume_err, ERR_INVALID, "not started: %s", unavailable) < 0
			: resume_run(request, &job->resume, &job->cancel, &job->resume_err) < 0;
	if (!job->resume_failed && !request->claim_only)
		quarantine_make_room(&job->workspace);
}

int job_refusal_code(enum err_kind kind)
{
	bool configuration = kind == ERR_INVALID || kind == ERR_UNFIT || kind == ERR_DENIED ||
			     kind == ERR_NOT_FOUND || kind == ERR_VERSION;

	return configuration ? EXIT_CONFIGURATION : EXIT_OWN_FAILURE;
}

/* The exit code with which the job is not started: because the user named the store, because there
 * is a checkpoint that could not be restored, or because the directory is not safe to work in. 0:
 * it starts without. */
static int refuse_start_without_resume(struct job *job)
{
	if (job->resume.in_use || job->resume.runs_here || job->resume.directory_refused)
		err_wrap(&job->resume_err, "not started");
	else if (!job->store_is_needed && job->resume.attempt.number == 0 &&
		 !job->options->strict) {
		report_our_failure(&job->reports, "checkpoints will not be saved",
				   &job->resume_err);
		job->store = NULL;
		return 0;
	}
	if (job->resume.waited_in_vain) {
		log_error("%s. Nothing is lost: start all members again (exit %d)",
			  job->resume_err.text, EXIT_PREEMPTED);
		return EXIT_PREEMPTED;
	}
	log_error("%s%s", job->resume_err.text,
		  job->resume.in_use ? resume_way_out_of_use(&job->resume_request) : "");
	/* A full disk or a directory in use may be different at the next start, or on the next
	 * machine. A wrong configuration, or what is damaged, will not; and --strict refuses a
	 * store that cannot be reached for good. */
	return job->resume.all_damaged || (job->options->strict && !job->resume.storage)
		       ? EXIT_CONFIGURATION
		       : job_refusal_code(job->resume_err.kind);
}

/* What came of taking an attempt. From then on, uploads are possible. */
static struct claim_event begin_attempt(struct job *job)
{
	struct claim_event claim = {
		.phase = job->store ? ATTEMPT_UNCLAIMED : ATTEMPT_NONE,
		.managed = job->resume.kind != RESUME_FRESH,
		.restored = job->resume.kind == RESUME_RESTORED,
		.any_checkpoint = job->resume.any_checkpoint && !job->resume.newer_than_store,
		.any_durable = !snapshot_id_is_none(job->resume.from),
		.step = job->resume.step,
		.past = job->resume.attempt_outcomes.past,
	};
	struct err err;

	if (job->resume.attempt.number == 0)
		return claim;
	if (job_start_snapshot_queue(job, &err) < 0) {
		report_our_failure(&job->reports, "checkpoints will not be saved", &err);
		claim.phase = ATTEMPT_NONE;
	} else {
		claim.phase = ATTEMPT_CLAIMED;
		job_start_gang_feed(job);
		/* The records of an attempt are one machine's to write. */
		if (job->gang.member == 0)
			observers_set_store(&job->observers, job->resume.storage,
					    job->resume.attempt.number);
	}
	return claim;
}

/* `why`: NULL: it is logged already. */
static void refuse_start(struct job *job, int code, const struct err *why)
{
	if (why)
		log_error("%s", why->text);
	job_post(job, (struct job_event){.kind = JOB_EV_START_FAILED, .code = code});
}

static void say_no_room(struct job *job, const struct err *err)
{
	if (job->said_no_room)
		return;
	job->said_no_room = true;
	report_our_failure(&job->reports,
			   err->kind == ERR_NO_SPACE
				   ? "nothing of this run is saved until there is room"
				   : "nothing of this run is saved until the store answers",
			   err);
}

static void on_resume_done(void *arg)
{
	struct job *job = arg;
	int code = job->refused;

	if (job->loop.stopped)
		return;
	/* Where it was refused before, the other members have been told. */
	if (code)
		return refuse_start(job, code, &job->refusal);
	if (job->resume_failed)
		code = refuse_start_without_resume(job);
	else if (resume_log_decision(&job->resume_request, &job->resume, &job->events))
		code = EXIT_NO_PROGRESS;
	if (code)
		return refuse_start(job, code, NULL);
	resume_log(&job->resume_request, &job->resume, &job->events);
	if (job->resume.no_room || job->resume.no_answer)
		say_no_room(job, &job->resume.full);
	if (job->resume.attempt.number > 0)
		job_say_unsaid(job);
	job_post(job, (struct job_event){.kind = JOB_EV_RESTORED, .claim = begin_attempt(job)});
}

/* If the supervisor alone is killed, the job goes on: its pid in the lock keeps the next run out of
 * the directory, and in the session it is found by a run elsewhere. */
void job_note_child(struct job *job)
{
	if (job->workspace.lock_fd > 0 && job->child.running)
		directory_lock_note_job(job->workspace.lock_fd, job->child.pid);
	session_note(&job->session, SESSION_PROCESS, process_identity(job->child.pid));
}

/* By the text: one that is written in two ways is warned of once too seldom. */
static bool is_same_store(const char *a, const char *b)
{
	auto_free char *first = storage_directory(a), *second = storage_directory(b);

	return first && second ? text_equal(first, second) : text_equal(a, b);
}

/* It concerns the runs of the same job in the same store: they would go on from less than it has
 * saved. One of another job has to do with none of it, and a directory that it holds is locked. */
static void warn_of_orphans(const struct job *job)
{
	auto_(session_list_release) struct session_list orphans = {0};

	session_find(&orphans, true, job->name.text);
	for (size_t i = 0; i < orphans.count; i++) {
		const struct session_info *orphan = &orphans.items[i];

		if (!*orphan->store || !job->store || is_same_store(orphan->store, job->store))
			log_warn("an earlier run of job %s, whose supervisor was killed, still "
				 "runs here (process %d), and is not saved: end it",
				 orphan->job, (int)orphan->job_pid);
	}
}

/* The command was started before anybody knew that it saves: it goes on, but this must be seen. */
static void report_late_refusal(struct job *job)
{
	const char *help =
		job->resume.in_use ? ", and both write there: end one, and start it with "
				     "its own --checkpoint-dir"
				   : "";

	if (!job->resume.in_use && !job->resume.runs_here) {
		report_our_failure(&job->reports, "checkpoints will not be saved",
				   &job->resume_err);
	} else if (expectation_starts_another_run(job->options->command)) {
		log_note("checkpoints are saved by the run that this command has started");
	} else {
		job->reports.failed = true;
		log_error("nothing of this run is saved: %s%s", job->resume_err.text, help);
	}
	event_log_add(&job->events, "claim_failed", "{s:s}", "why", job->resume_err.text);
	job->store = NULL;
}

static void on_late_claim_done(void *arg)
{
	struct job *job = arg;
	struct job_event event = {.kind = JOB_EV_CLAIMED};

	job_note_child(job);
	if (!job->resume_failed) {
		resume_log(&job->resume_request, &job->resume, &job->events);
		event.claim = begin_attempt(job);
	} else if (job->resume_err.kind == ERR_NO_SPACE ||
		   (job->resume.no_answer && resume_may_answer_later(&job->resume_err))) {
		/* Each complete checkpoint tries again. */
		say_no_room(job, &job->resume_err);
		event.claim = (struct claim_event){.phase = ATTEMPT_UNCLAIMED, .step = -1};
	} else {
		report_late_refusal(job);
		event.claim.phase = ATTEMPT_NONE;
	}
	if (event.claim.phase != ATTEMPT_UNCLAIMED)
		job_say_unsaid(job);
	job_post(job, event);
}

void job_claim_attempt_late(struct job *job)
{
	job->resume_request.if_known = false;
	job->resume_request.claim_only = true;
	workers_run(job->workers, resume_worker, on_late_claim_done, job);
}

static bool zero_is_finished(const struct profile *profile)
{
	return profile && !profile->zero_is_asked && profile->ask == PROFILE_ASK_SIGNAL &&
	       profile->after == PROFILE_AFTER_CONTINUES;
}

static struct job_rules rules_from(const struct job *job)
{
	const struct job_config *options = job->options;
	bool by_signal = options->ask == REQUEST_SIGNAL;
	const struct batch_scheduler *batch = batch_scheduler_find(getenv);
	bool requeues = options->requeue && batch && batch->asked_to_requeue;

	return (struct job_rules){
		.ask = options->ask,
		/* A job that polls reprieve_requested() expects the flag, unless the user has
		 * chosen another way. */
		.may_flag = options->ask == REQUEST_AUTO || !options->ask_chosen,
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

enum expectation job_expects_checkpoints(const struct job *job)
{
	const struct job_config *options = job->options;
	bool by_option =
		job->gang.members > 1 || job->store_is_needed || options->directory_chosen ||
		options->job || options->ask != REQUEST_AUTO || options->restore != RESTORE_LATEST;

	return by_option ? EXPECT_BY_OPTION
			 : expectation_of(options->command, job->profile.profile);
}

static void begin_resume(struct job *job)
{
	const struct job_config *options = job->options;
	auto_free char *directory = NULL;

	job->expected = job_expects_checkpoints(job);
	job->rules = rules_from(job);
	job->model = job_model_new(&job->rules);
	workspace_init(&job->workspace, options->checkpoint_dir);
	workspace_follow_link(&job->workspace);
	job->workspace.unnamed = !job->name.given;
	job_read_what_was_left(job);
	directory = directory_text(job);
	event_log_add(&job->events, "started", "{s:s, s:s?, s:s, s:i}", "job", job->name.text,
		      "store", job->store, "checkpoint_dir", directory, "supervisor_pid",
		      (int)getpid());
	job->refused = check_start(job);
	if (job->refused && (!job->store || job->gang.members == 1)) {
		return refuse_start(job, job->refused, &job->refusal);
	}
	if (!job->store) {
		/* A command that saves nothing needs none: then it is said at the first checkpoint.
		 */
		if (job->expected != EXPECT_NOTHING)
			report_no_store(&job->reports, "checkpoints will not be saved");
		job_post(job, (struct job_event){.kind = JOB_EV_RESTORED,
						 .claim = {.phase = ATTEMPT_NONE, .step = -1}});
		return;
	}
	job->retention = retention_policy(&options->retention);
	job->resume_request = (struct resume_request){
		.options = options,
		.store = job->store,
		.job = job->name.text,
		.named = job->name.given,
		.about = attempt_record_json(job),
		.workspace = &job->workspace,
		.profile = job->profile.profile,
		.gang = job->gang,
		.if_known = job->expected == EXPECT_NOTHING &&
			    file_directory_is_empty(job->workspace.directory),
	};
	job->resume_request.says_place =
		job->resume_request.if_known && expectation_is_called_training(options->command);
	if (job->refused)
		text_set(job->resume_request.refused, sizeof(job->resume_request.refused),
			 job->refusal.text);
	workers_run(job->workers, resume_worker, on_resume_done, job);
}

/* --- launching --- */

/* A checkpoint that lies there already, and is not in the store, is saved at once. */
static void post_launched(struct job *job)
{
	struct job_event event = {.kind = JOB_EV_LAUNCHED};

	event.fresh = job->resume.newer_than_store && job->tracker;
	if (event.fresh)
		event.checkpoint = (struct checkpoint){
			.generation = tracker_latest_checkpoint(job->tracker)->generation,
			.step = job->resume.step,
			.written_ms = clock_monotonic_ms(),
			.reported_step = -1,
		};
	job_post(job, event);
}

static void build_environment(struct job *job, const char *channel)
{
	auto_free char *notice = session_path(&job->session, SESSION_NOTICE);
	auto_free char *bin = session_path(&job->session, "bin");
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct child_facts facts = {
		.job = job->name.text,
		.attempt = job->resume.attempt.number,
		.resuming = job->resume.kind != RESUME_FRESH,
		.step = job->resume.step,
		.workspace = &job->workspace,
		.members = job->gang.members,
		.member = job->gang.member,
		.notice = notice,
		.channel = channel,
		.page = page ? progress_page_path(page) : NULL,
		.run = job->options->run_identity ? job->resume.attempt_outcomes.run : NULL,
		.profile = job->profile.profile,
		.like_slurm = job->options->ask_like_slurm,
		.slurm_directory = bin,
	};

	child_environment_build(&job->environment, &facts);
}

/* A script that did not exec us: its shell hears the notice as well, and the scheduler ends the job
 * with it. What starts the script is in another session. */
static void warn_of_shell(const struct batch_scheduler *batch)
{
	pid_t parent = getppid();
	char status[4096];
	uint64_t kept;

	if (getsid(parent) != getsid(0) || proc_read(parent, "status", status, sizeof(status)) <= 0)
		return;
	kept = proc_parse_signals(status, "SigIgn") | proc_parse_signals(status, "SigCgt");
	if (batch->signals & ~kept)
		log_warn("%s's notice, if it gives one, ends the script's shell and the job: start "
			 "reprieve by exec, or `trap : USR1 USR2`",
			 batch->title);
}

/* What the scheduler sends to every process would end those that do not know it. */
static void shield_from_notices(struct job *job)
{
	const struct batch_scheduler *batch = batch_scheduler_find(getenv);

	if (batch && batch->to_all)
		warn_of_shell(batch);
	if (batch && batch->to_all && job->tracker)
		tracker_set_notice_signals(job->tracker, (uint32_t)batch->signals);
}

void job_launch_child(struct job *job)
{
	struct child_options options = {
		.argv = job->options->command,
		.inherited = job->inherited,
		.to_group = job->options->signal_rules.to_group,
	};
	bool has_shim = job->options->shim != SHIM_USE_OFF;
	const char *channel;
	struct err err;

	job_start_tracker(job);
	channel = has_shim && job->tracker ? tracker_channel(job->tracker) : NULL;
	build_environment(job, channel);
	if (has_shim && child_environment_add_shim(&job->environment, channel, &err) < 0) {
		if (job->options->shim == SHIM_USE_ON) {
			err_wrap(&err, "--shim on");
			return refuse_start(job, EXIT_CONFIGURATION, &err);
		}
		log_note("without the shim (%s): completeness is judged from the directory alone",
			 err.text);
	}
	if (job->options->sigterm_hold && has_shim) {
		sigterm_hold_start(&job->sigterm_hold, &job->loop, job->tracker);
		shield_from_notices(job);
	}
	options.set = (const char *const *)job->environment.pairs;
	status_line_share();
	warn_of_orphans(job);
	if (child_spawn(&options, &job->child, &err) < 0) {
		return refuse_start(job, job->child.exit_code, &err);
	}
	job_note_child(job);
	event_log_add(&job->events, "launched", "{s:i}", "pid", (int)job->child.pid);
	if (job->tracker && tracker_missing_evidence(job->tracker)[0])
		log_note("%s", tracker_missing_evidence(job->tracker));
	job_prepare_requests(job);
	save_place_expect(&job->reports);
	post_launched(job);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&job->early_signals, signal) == 1)
			child_signal(&job->child, signal);
}

/* --- the end --- */

#define SWEEP_MS 20
#define END_RECORD_MS 3000

static void kill_remaining_processes(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, sweep_timer);
	size_t left = kill_tree();

	child_reap(&job->child, NULL, NULL);
	if (left == 0 || clock_monotonic_ms() > job->model.budget.commit_until_ms)
		loop_stop(&job->loop);
	else
		loop_arm(&job->loop, &job->sweep_timer, clock_monotonic_ms() + SWEEP_MS);
}

void job_begin_shutdown(struct job *job)
{
	job->sweep_timer.fired = kill_remaining_processes;
	if (job->model.facts.told_to_end && job->model.facts.launched)
		kill_remaining_processes(&job->sweep_timer);
	else
		loop_stop(&job->loop);
}

/* The end record is useful, but no work is lost without it: it gets little time, and none after the
 * deadline. */
static int64_t end_record_deadline(const struct job *job)
{
	int64_t until_ms = clock_monotonic_ms() + END_RECORD_MS, end_ms = job_deadline_ms(job);

	return end_ms < until_ms ? end_ms : until_ms;
}

/* What it had not saved by then is in no snapshot that counts, however it has ended. */
static void add_successor(const struct job *job, json_t *about, struct cancel *cancel)
{
	uint32_t number = job->resume.attempt.number, newest = number;

	if (job->model.snapshots.superseded &&
	    storage_superseded(job->resume.storage, number, &newest, cancel, NULL) == 0 &&
	    newest > number)
		json_object_set_new(about, "superseded_by", json_integer(newest));
}

static void record_attempt_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	struct cancel cancel = CANCEL_AT(until_ms);
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	struct err err;
	json_t *about;

	/* One member records it for all. An attempt that was preempted during its restore is
	 * recorded too: without a record, the next attempt would take the machine for lost. */
	if (!gang_view_is_first(&job->in_gang.feed.view, job->gang.member) ||
	    (!job->snapshots && (job->model.facts.launched || !job->model.facts.noticed)))
		return;
	if (job->hung || !job->resume.storage || job->resume.attempt.number == 0)
		return;
	about = end_record(&run, outcome);
	add_successor(job, about, &cancel);
	if (storage_end_attempt(job->resume.storage, job->resume.attempt.number,
				outcome_name(outcome), about, &cancel, &err) < 0 &&
	    err.kind != ERR_EXISTS)
		log_debug("cannot record the end of the attempt: %s", err.text);
	json_decref(about);
}

/* A cancelled task ends within milliseconds, unless a disk hangs. */
#define HUNG_MS 3000

/* The facts that are known only now, after job and uploads have ended. */
static void complete_outcome_facts(struct job *job, const struct torn_files *torn)
{
	struct job_view view = job_look(job, false);
	struct outcome_facts *facts = &job->model.facts;
	enum unsaved_work unsaved = UNSAVED_NOTHING;

	if (torn->first)
		unsaved = torn->went_on ? UNSAVED_SAVES : UNSAVED_CUT;
	*facts = job_outcome_facts(&job->model, &job->rules, &view, unsaved);
	if (torn->first && job->outlived.lost)
		facts->all_durable = false;
	/* Whoever starts the job again starts all members, and has what this time was lost. */
	facts->strict_failed =
		(job->options->strict && (job->reports.failed || !facts->all_durable)) ||
		job->model.gang.lost;
}

/* Tells each asker that still waits for a checkpoint that none will come. */
static void answer_last_clients(struct job *job, const struct outcome *outcome)
{
	auto_free char *why = text_format("the job has ended (%s): what it saved after this "
					  "request is not durable",
					  outcome_name(outcome));
	auto_(job_effects_release) struct job_effects effects = {0};
	auto_json json_t *reply = control_failure(why);

	job_end_requests(&job->model, &effects);
	for (size_t i = 0; i < effects.count; i++)
		if (effects.items[i].kind == JOB_DO_REPLY)
			job_reply_to_client(&effects.items[i], reply);
}

static void on_requeueing(void *arg, const char *id)
{
	struct job *job = arg;

	event_log_add(&job->events, "requeue", "{s:s}", "id", id);
}

static void requeue(struct job *job, const struct outcome *outcome)
{
	struct run_facts known = job_facts(job, LOOK_AT_MODEL);
	const struct notice *stop = known.stop;
	char durable[RESUME_POINT_TEXT];
	struct slurm_requeue_run run = {
		.facts =
			{
				.wanted = job->rules.requeues,
				.preempted = outcome->kind == OUTCOME_PREEMPTED ||
					     (outcome->kind == OUTCOME_NOT_DURABLE &&
					      !job->model.facts.launched),
				.lost = outcome->kind == OUTCOME_NOT_DURABLE &&
					job->model.facts.noticed && job->model.facts.launched,
				.durable = run_facts_resume_point(&known, durable)[0] != '\0',
				.at_limit = notices_are_slurm_limit(&job->notices),
				.script_ended = job_slurm_script_ended(job),
				.exit_code = outcome->exit_code,
			},
		/* The members of a gang have saved together. */
		.deadline_ms = stop && job->gang.members == 1 ? stop->deadline_ms : 0,
		.requeueing = on_requeueing,
		.arg = job,
	};

	slurm_requeue_run(&run);
}

/* The notice sources still post to these workers, so they are not freed yet. Only one thread may
 * use the storage: a cancelled snapshot has to end before it. */
static void end_workers(struct job *job)
{
	if (job->tracker && !tracker_end_within(job->tracker, HUNG_MS))
		job->hung = true;
	if (!workers_end_within(job->workers, HUNG_MS))
		job->hung = true;
	if (!job->hung)
		return;
	log_warn("%s does not answer: what reads it is left behind", job->workspace.directory);
	observers_set_store(&job->observers, NULL, 0);
}

/* Asked to stop before the launch: the restore was cancelled, and what it had come to is known once
 * its worker has ended. */
static void end_restore(struct job *job)
{
	struct job_model *model = &job->model;

	end_workers(job);
	if (job->hung || snapshot_id_is_none(job->resume.from) || job->resume.newer_than_store)
		return;
	model->attempt = ATTEMPT_CLAIMED;
	model->facts.managed = model->snapshots.any_durable = true;
}

/* Said to a job that has left nothing at all. */
static bool is_directory_empty(const struct job *job)
{
	const char *directory = job->workspace.directory;

	return !job->model.any_complete &&
	       (!file_exists(directory) || file_directory_is_empty(directory));
}

static void say_end(struct job *job, const struct torn_files *torn, const struct outcome *outcome)
{
	struct run_facts run = job_facts(job, LOOK_AT_PARTS);
	struct end_facts end = {
		.outcome = *outcome,
		.torn = torn,
		.lacks_newest = job->tracker && tracker_lacks_newest(job->tracker),
		.directory_is_empty =
			outcome->kind == OUTCOME_NOT_DURABLE && is_directory_empty(job),
	};

	report_end(&job->reports, &run, &end);
}

static int finish(struct job *job)
{
	auto_(torn_files_release) struct torn_files torn = {0};
	struct outcome outcome;
	int64_t now_ms, until_ms;

	display_end(&job->reports);
	job_look_for_last_commit(job);
	tracker_find_torn(job->tracker, &torn);
	if (!job->model.facts.launched)
		end_restore(job);
	complete_outcome_facts(job, &torn);
	outcome = outcome_of(&job->model.facts);
	outcome.exit_code = exit_policy_code(job->options->exit_policy, &outcome);
	retention_worker_stop(job->retention_worker);
	if (job->snapshots)
		snapshot_queue_stop_early(job->snapshots);
	/* Log first: the rest may wait for a store that does not answer. */
	say_end(job, &torn, &outcome);
	answer_last_clients(job, &outcome);
	job_tell_outcome(job, &outcome, false);
	job_tell_why(job, &outcome);
	if (job->model.facts.launched)
		end_workers(job);
	gang_feed_say_last_word(&job->in_gang.feed);
	job_tell_gang_not_started(job);
	now_ms = clock_monotonic_ms();
	/* The webhook comes first, and must leave half of that time for the record. */
	if (job->model.facts.noticed || outcome.exit_code != 0)
		observers_notify_end(&job->observers, outcome_name(&outcome), outcome.exit_code,
				     now_ms + (end_record_deadline(job) - now_ms) / 2);
	until_ms = end_record_deadline(job);
	record_attempt_end(job, &outcome, until_ms);
	observers_record_end(&job->observers, outcome.exit_code, until_ms);
	requeue(job, &outcome);
	job_acknowledge_notice(job, &outcome);
	/* Those that have connected since. */
	job_tell_outcome(job, &outcome, true);
	return outcome.exit_code;
}

/* --- the run --- */

int job_run(struct job *job)
{
	struct err err;
	int code;

	job_start_runner(job);
	if (open_parts(job, &err) < 0) {
		log_error("%s", err.text);
		close_parts(job);
		return err.kind == ERR_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
	}
	begin_resume(job);
	if (loop_run(&job->loop, &err) < 0)
		log_error("%s", err.text);
	code = finish(job);
	close_parts(job);
	if (job->hung) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
