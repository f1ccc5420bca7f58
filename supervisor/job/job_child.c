/* The end of the child: it is reaped, another process may take its place, what it has started may
 * still write a checkpoint (the rule is outlived_is_waited_for() in process/detached_process.c),
 * and its last files are judged. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#include <sys/wait.h>

#define LOOK_MS 100
#define NAMED_MOST 8

/* --- its last files --- */

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
	size_t savers, kept = 0, count = job_list_writers(job, pids, WRITERS_MOST, &savers);

	for (size_t i = 0; i < count; i++)
		if (!open_files_is_holder(job->workspace.directory, pids[i]))
			pids[kept++] = pids[i];
	return kept;
}

static bool adopt_detached(struct job *job)
{
	pid_t writers[WRITERS_MOST], ended = job->child.pid;
	struct detachment detachment = {
		.told_to_end = !job_may_be_left(&job->model),
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
void job_reap_children(struct job *job)
{
	job_take_steps(job);
	if (!child_reap(&job->child, on_process_reaped, job))
		job_look_at_outlived(job);
	else if (!adopt_detached(job) && !is_outlived(job))
		judge_end(job);
}
