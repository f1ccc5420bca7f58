/* What happens to the run from outside: notices, signals, and the end of the child. It is reaped,
 * another process may take its place, what it has started may still write a checkpoint (the rule is
 * outlived_is_waited_for() in process/detached_process.c), and its last files are judged. */
#include "job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a notice arrives --- */

static void announce_notice(struct job *job, const struct notice *notice)
{
	auto_free char *path = session_path(&job->session, SESSION_NOTICE);
	char text[320];

	log_note("%s%s", notice_format(notice, text, sizeof(text)),
		 notice->kind == NOTICE_ADVICE && !notices_stop(&job->notices)
			 ? "; an early checkpoint is taken, the job continues"
			 : "");
	event_log_add(&job->events, "notice", "o", notice_format_json(notice));
	notice_format_write_file(path, notices_stop(&job->notices));
}

int64_t job_deadline_ms(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	return stop ? stop->deadline_ms : CLOCK_NEVER;
}

static void post_stop(struct job *job)
{
	struct stop_event stop = {
		.deadline_ms = job_deadline_ms(job),
		.by_sigterm = notice_origin(notices_stop(&job->notices)) == NOTICE_BY_SIGTERM,
		.alone = job->notices.count == 1,
	};

	job_post(job, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED, .stop = stop});
}

void job_tell_why(struct job *job, const struct outcome *outcome)
{
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	const struct notice *stop = run.stop;
	char durable[RESUME_POINT_TEXT];
	struct termination_facts facts = {
		.durable = run_facts_resume_point(&run, durable),
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL,
		.outcome = outcome ? outcome_name(outcome) : NULL,
		.exit_code = outcome ? outcome->exit_code : 0,
	};

	if (outcome && outcome->exit_code == 0)
		termination_message_withdraw(&job->message);
	else
		termination_message_tell(&job->message, &facts);
}

void job_add_notice(struct job *job, const struct notice *notice)
{
	const struct notice *stop = notices_stop(&job->notices);
	struct notice before = stop ? *stop : (struct notice){0};
	enum notice_change change = notices_add(&job->notices, notice);

	if (change == NOTICE_NOTHING_NEW)
		return;
	announce_notice(job, notice);
	if (change == NOTICE_NEW_ADVICE) {
		job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
	} else if (change == NOTICE_ALL_CANCELLED) {
		if (job_keep_told_notice(job, &before))
			return;
		termination_message_withdraw(&job->message);
		job_post(job, (struct job_event){.kind = JOB_EV_STOP_CANCELLED});
	} else if (change != NOTICE_WITHDRAWN) {
		job_tell_why(job, NULL);
		job_tell_gang(job, notices_stop(&job->notices));
		post_stop(job);
	}
}

/* --- notice sources: they call on their own threads, which post to the loop --- */

struct source_report {
	struct job *job;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct source_report *posted = arg;

	job_add_notice(posted->job, &posted->notice);
}

static void post_notice(void *arg, const struct notice *notice)
{
	struct job *job = arg;
	struct source_report *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->notice = *notice;
	workers_post_owned(job->workers, deliver_notice, posted);
}

void job_say_unsaid(struct job *job)
{
	if (*job->unsaid)
		log_note("%s", job->unsaid);
	job->unsaid[0] = '\0';
}

static void deliver_health(void *arg)
{
	struct source_report *posted = arg;
	struct job *job = posted->job;
	const struct source_state *state = &posted->state;
	/* Of a command that nobody expects to save, and that has not: it has nothing to lose yet.
	 */
	bool has_nothing = job->resume_request.if_known && job->model.attempt != ATTEMPT_CLAIMED;
	char text[480];

	event_log_add(&job->events, "source", "{s:s, s:s, s:s}", "name", state->name, "health",
		      source_health_name(state->health), "why", state->why);
	if (state->health == SOURCE_ARMED && preemption_forecast_window_of(state->name) > 0)
		text_set(job->cloud, sizeof(job->cloud), state->name);
	notice_format_source(state, text, sizeof(text));
	if (state->optional && state->health == SOURCE_UNAVAILABLE)
		log_debug("%s", text);
	/* An armed source may lack something, which `why` says. */
	else if (state->health == SOURCE_UNKNOWN ||
		 (state->health == SOURCE_ARMED && state->why[0]))
		log_warn("%s", text);
	else if (state->health == SOURCE_UNAVAILABLE && has_nothing)
		text_set(job->unsaid, sizeof(job->unsaid), text);
	else if (state->health != SOURCE_STARTING)
		log_note("%s", text);
}

static void post_health(void *arg, const struct source_state *state)
{
	struct job *job = arg;
	struct source_report *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->state = *state;
	workers_post_owned(job->workers, deliver_health, posted);
}

int job_start_notice_watch(struct job *job, struct err *err)
{
	struct cloud_options options = {
		.sources = job->options->notice,
		.deadline = job->options->deadline,
		.deadline_notice_ms = job->options->deadline_notice_ms,
		.notice = post_notice,
		.health = post_health,
		.arg = job,
	};
	struct err why;

	if (cloud_watch_start(&options, &job->watch, &why) == 0)
		return 0;
	if (why.kind == ERR_INVALID)
		return err_set(err, why.kind, "--notice or --deadline: %s", why.text);
	report_our_failure(&job->reports, "no preemption notice except SIGTERM will be seen", &why);
	return 0;
}

#define ACKNOWLEDGE_MS 2000

void job_acknowledge_notice(struct job *job, const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	/* An approved event starts at once, so it is approved only after the last commit. */
	if (!job->options->acknowledge || !stop || !job->watch ||
	    outcome->kind != OUTCOME_PREEMPTED || !job->model.facts.all_durable)
		return;
	if (!stop->approvable)
		log_note("the notice of %s is not acknowledged: it affects other machines too, has "
			 "already started, or cannot be acknowledged",
			 stop->source);
	else if (cloud_watch_approve(job->watch, stop, clock_monotonic_ms() + ACKNOWLEDGE_MS,
				     &err) < 0)
		log_warn("cannot acknowledge the notice of %s: %s", stop->source, err.text);
	else
		log_note("acknowledged: %s may take this machine now", stop->source);
	event_log_add(&job->events, "acknowledged", "{s:s, s:b}", "source", stop->source,
		      "approvable", stop->approvable);
}

#define LOOK_MS 100
#define NAMED_MOST 8

/* --- the end of the child: its last files --- */

static void on_process_reaped(void *arg, pid_t pid, int status)
{
	struct job *job = arg;

	if (checkpoint_request_reaped(&job->ask, pid, status))
		return;
	if (job->tracker && pid != job->child.pid)
		tracker_process_ended(job->tracker, pid, status);
}

void job_post_child_exit(void *arg)
{
	struct job *job = arg;

	if (!job->exit.judged_later)
		return;
	job->exit.judged_later = false;
	loop_disarm(&job->loop, &job->exit.limit);
	job_post(job, job->exit.event);
}

static void on_judgement_late(struct timer *timer)
{
	job_post_child_exit(container_of(timer, struct job, exit.limit));
}

/* Its last files are judged first, but a disk that hangs does not outlive the deadline. */
static void judge_last_files(struct job *job, const struct job_event *event)
{
	job->exit.event = *event;
	job->exit.judged_later = true;
	job->exit.limit.fired = on_judgement_late;
	if (job_deadline_ms(job) != CLOCK_NEVER)
		loop_arm(&job->loop, &job->exit.limit, job_deadline_ms(job));
	tracker_job_ended(job->tracker, job_child_end(&job->model, &job->rules, &event->child));
}

#define WRITERS_MOST 64

/* Of those that have saved here: who is between two saves. In the midst of one it may be a writer
 * of the last checkpoint alone, or a daemon with a file open. */
static size_t list_idle_writers(struct job *job, pid_t pids[WRITERS_MOST])
{
	const struct recent_writers *known = job->tracker ? tracker_writers(job->tracker) : NULL;
	size_t kept = 0;

	for (size_t i = 0; known && i < known->count && kept < WRITERS_MOST; i++)
		if (!open_files_is_holder(job->workspace.directory, known->items[i].pid))
			pids[kept++] = known->items[i].pid;
	return kept;
}

static bool adopt_detached(struct job *job)
{
	pid_t writers[WRITERS_MOST], ended = job->child.pid;
	struct detachment detachment = {
		/* A command that was told to end has ended; what is left of it is ended too. */
		.told_to_end = job->model.state != JOB_RUNNING,
		.expected = job->expected != EXPECT_NOTHING,
		.wrote = job->reports.save_place.saved_here,
		.writers = writers,
		.writer_count = list_idle_writers(job, writers),
	};
	char text[DETACHED_TEXT_SIZE];
	int status = job->child.status;

	if (!detached_process_follow(&job->detached, &detachment, job->model.launched_ms,
				     &job->child, text))
		return false;
	if (job->tracker)
		tracker_process_ended(job->tracker, ended, status);
	event_log_add(&job->events, "detached", "{s:i, s:s}", "pid", (int)job->child.pid, "command",
		      text);
	job_note_child(job);
	return true;
}

static void judge_end(struct job *job)
{
	const struct signal_rules *rules = &job->options->signal_rules;
	struct job_event event = {.kind = JOB_EV_CHILD_EXITED};
	int status = job->child.status;
	bool killed = WIFSIGNALED(status);
	char name[SIGNAL_NAME_SIZE];

	event_log_add(&job->events, "child_exited", "{s:o, s:o}", "code",
		      killed ? json_null() : json_integer(WEXITSTATUS(status)), "signal",
		      killed ? json_string(signal_name_format(WTERMSIG(status), name))
			     : json_null());
	event.child.wait_status = status;
	event.child.mapped_status = signal_rules_map_wait_status(rules, status);
	event.child.resumes =
		profile_is_resume_code(job->profile.profile,
				       wait_status_exit_code(event.child.mapped_status));
	if (job->tracker)
		judge_last_files(job, &event);
	else
		job_post(job, event);
}

/* --- what outlives it --- */

static bool was_told(void *arg, pid_t pid)
{
	const struct job *job = arg;

	return (job->child.running && pid == job->child.pid) || job_has_sent_sigterm(job, pid, 0);
}

void job_terminate_rest(struct job *job)
{
	size_t count = terminate_tree(was_told, job);

	job->outlived.told = true;
	job->outlived.since_ms = clock_monotonic_ms();
	if (count > 0)
		log_note("stopping what the job has started (SIGTERM to %zu of its processes)",
			 count);
}

static void name_writer(void *arg, pid_t pid, const char *path)
{
	struct job *job = arg;
	auto_(process_tree_release) struct process_tree tree = {0};
	char text[DETACHED_TEXT_SIZE] = "?";

	if (job->outlived.named++ >= NAMED_MOST)
		return;
	if (process_tree_read(pid, PROCESS_TREE_FULL, &tree, NULL) == 0 && tree.count > 0)
		(void)process_describe(&tree.processes[0], text, sizeof(text));
	log_warn("process %d (%s) still had %s open for writing when the job was ended", (int)pid,
		 text, path);
	event_log_add(&job->events, "cut", "{s:i, s:s, s:s}", "pid", (int)pid, "command", text,
		      "path", path);
}

void job_name_writers(struct job *job)
{
	unsigned before = job->outlived.named;

	if (job->tracker && tracker_look(job->tracker, false, false).saving)
		open_files_find_holders(job->workspace.directory, name_writer, job);
	job->outlived.lost |= job->outlived.waits && job->outlived.named > before;
}

static void note_holder(void *arg, pid_t pid, const char *path)
{
	(void)pid, (void)path;
	*(bool *)arg = true;
}

static struct outlived_facts look(struct job *job)
{
	struct outlived_facts facts = {
		.now_ms = clock_monotonic_ms(),
		.cut = job->model.killed || job->outlived.cut,
	};
	bool shared = job->resume.sharers || job->resume.kept_by_other;
	struct directory_view seen = tracker_look(job->tracker, false, false);
	int64_t last_ms;

	if (seen.saving)
		open_files_find_holders(job->workspace.directory, note_holder, &facts.writing);
	facts.may_begin = facts.writing || detached_process_may_write();
	/* In a shared directory, the last write may be another member's. */
	last_ms = facts.writing || !shared ? seen.last_write_ms : 0;
	if (last_ms > job->outlived.since_ms)
		job->outlived.since_ms = last_ms;
	facts.since_ms = job->outlived.since_ms;
	job->outlived.writing = facts.writing;
	return facts;
}

static bool still_waits(struct job *job)
{
	bool told = job->model.facts.told_to_end;
	struct outlived_facts facts = look(job);

	/* A stop was sent to the main process alone, which has ended: the others get SIGTERM now.
	 */
	if (told && !job->outlived.told && facts.may_begin && !facts.writing && !facts.cut) {
		job_terminate_rest(job);
		facts.since_ms = facts.now_ms;
	}
	if (facts.writing && !job->outlived.said && outlived_is_waited_for(&facts)) {
		log_note("the main process has ended; what it has started still writes to %s, and "
			 "is waited for",
			 job->workspace.directory);
		job->outlived.said = true;
	}
	if (outlived_is_waited_for(&facts)) {
		loop_arm(&job->loop, &job->outlived.look, facts.now_ms + LOOK_MS);
		return true;
	}
	if (facts.writing && !job->model.killed)
		job_name_writers(job);
	return false;
}

void job_look_at_outlived(struct job *job)
{
	bool wrote = job->outlived.writing, waits;

	if (!job->outlived.waits)
		return;
	waits = still_waits(job);
	/* A process that has finished a save and continues takes the main process's place. */
	if (waits && !(wrote && !job->outlived.writing && adopt_detached(job)))
		return;
	job->outlived.waits = false;
	loop_disarm(&job->loop, &job->outlived.look);
	if (!waits)
		judge_end(job);
}

static void on_look_due(struct timer *timer)
{
	job_look_at_outlived(container_of(timer, struct job, outlived.look));
}

static bool is_outlived(struct job *job)
{
	if (!job->tracker || !job->model.facts.managed)
		return false;
	job->outlived.look.fired = on_look_due;
	job->outlived.since_ms = clock_monotonic_ms();
	job->outlived.waits = still_waits(job);
	return job->outlived.waits;
}

/* What has happened before decides how its end is judged. And nobody may look at its files between
 * the moment when it is reaped and that judgement: its writers would seem to have vanished. */
static void reap_children(struct job *job)
{
	job_take_steps(job);
	if (!child_reap(&job->child, on_process_reaped, job))
		job_look_at_outlived(job);
	else if (!adopt_detached(job) && !is_outlived(job))
		judge_end(job);
}

/* --- signals --- */

bool job_slurm_script_ended(const struct job *job)
{
	return job->slurm_script > 0 && getppid() != job->slurm_script;
}

/* Slurm knows better than its signal. After its script's end, nobody ends us but ourselves. */
static void on_slurm_deadline(void *arg, int64_t deadline_ms, const char *reason)
{
	struct job *job = arg;
	struct notice notice = job->signal_notice;

	if (job->loop.stopped || !notices_stop(&job->notices) || job_slurm_script_ended(job))
		return;
	notice.deadline_ms = deadline_ms;
	text_set(notice.reason, sizeof(notice.reason), reason);
	job_add_notice(job, &notice);
}

static void name_notice(struct notice *notice, const char *source, const char *identity)
{
	text_set(notice->source, sizeof(notice->source), source);
	text_set(notice->identity, sizeof(notice->identity), identity);
}

void job_add_signal_notice(struct job *job, const struct signalfd_siginfo *info)
{
	bool by_script = (pid_t)info->ssi_pid == job->slurm_script && job_slurm_script_ended(job);
	const struct batch_scheduler *batch = batch_scheduler_find(getenv);
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};
	char signal[SIGNAL_NAME_SIZE];

	signal_name_format((int)info->ssi_signo, signal);
	text_set(notice.reason, sizeof(notice.reason), signal);
	if (by_script) {
		name_notice(&notice, "slurm", "script");
		text_set(notice.reason, sizeof(notice.reason),
			 "the script that started reprieve has ended: use exec, or srun and "
			 "--signal without B:");
	} else if (info->ssi_signo == SIGTERM || !batch) {
		name_notice(&notice, "sigterm", "sigterm");
	} else {
		name_notice(&notice, batch->name, signal);
		snprintf(notice.reason, sizeof(notice.reason), "%s (%s)", signal, batch->option);
	}
	notice.deadline_ms = notice.seen_ms + job->options->grace_ms;
	job_add_notice(job, &notice);
	job->signal_notice = notice;
	if (job->loop.stopped)
		return;
	job->slurm_deadline.loop = &job->loop;
	job->slurm_deadline.earlier = on_slurm_deadline;
	job->slurm_deadline.arg = job;
	slurm_deadline_query(&job->slurm_deadline, notice.deadline_ms);
}

void job_on_signal(void *arg, const struct signalfd_siginfo *info)
{
	struct job *job = arg;
	int signal = signal_rules_map(&job->options->signal_rules, (int)info->ssi_signo);
	struct signalfd_siginfo as = *info;

	as.ssi_signo = (uint32_t)signal;
	if (signal == SIGCHLD)
		reap_children(job);
	else if (signal != 0)
		job_post_signal(job,
				(struct job_event){
					.kind = JOB_EV_SIGNAL,
					.signal = signal,
					.ignored =
						sigismember(&job->inherited->ignored, signal) == 1,
				},
				&as);
}
