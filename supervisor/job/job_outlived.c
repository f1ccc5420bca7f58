/* Waits for the processes that outlive the job's main process and still write a checkpoint. The
 * rule is outlived_is_waited_for() in process/detached_process.c. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "process/process.h"

#define LOOK_MS 100
#define NAMED_MOST 8

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
	if (waits && !(wrote && !job->outlived.writing && job_adopt_detached(job)))
		return;
	job->outlived.waits = false;
	loop_disarm(&job->loop, &job->outlived.look);
	if (!waits)
		job_judge_end(job);
}

static void on_look_due(struct timer *timer)
{
	job_look_at_outlived(container_of(timer, struct job, outlived.look));
}

bool job_is_outlived(struct job *job)
{
	if (!job->tracker || !job->model.facts.managed)
		return false;
	job->outlived.look.fired = on_look_due;
	job->outlived.since_ms = clock_monotonic_ms();
	job->outlived.waits = still_waits(job);
	return job->outlived.waits;
}
