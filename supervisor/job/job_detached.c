/* The main process has ended, and has left the work to others: they become the job
 * (process/detached_process.h). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS_MOST 64

static size_t list_writers(const struct job *job, pid_t pids[WRITERS_MOST])
{
	const struct recent_writers *writers = job->tracker ? tracker_writers(job->tracker) : NULL;
	size_t count = 0;

	for (size_t i = 0; writers && i < writers->count && count < WRITERS_MOST; i++)
		pids[count++] = writers->items[i].pid;
	return count;
}

/* A command of which nothing is known detaches as under any init; if it is a Python script, that is
 * worth a word. */
static void say_left_alone(const struct job *job, const struct detachment *detachment,
			   const struct process_tree *tree)
{
	struct detachment if_expected = *detachment;
	const struct process *left;
	char text[160];

	if_expected.expected = true;
	left = detached_process_choose(&if_expected, tree, getpid());
	if (!left || job->expected != EXPECT_NOTHING ||
	    !strstr(process_describe(left, text, sizeof(text)), "python"))
		return;
	log_note("the command has exited and left process %d (%s) running, which is neither "
		 "waited for nor saved: run it without \"&\", or with --job NAME to have it "
		 "waited for",
		 (int)left->pid, text);
}

static void adopt(struct job *job, const struct process *process)
{
	char text[160];

	log_note("the command has exited and left process %d (%s) running: it is waited for as "
		 "the job",
		 (int)process->pid, process_describe(process, text, sizeof(text)));
	event_log_add(&job->events, "detached", "{s:i, s:s}", "pid", (int)process->pid, "command",
		      text);
	job->detached.since_ms = clock_monotonic_ms();
	child_adopt(&job->child, process->pid);
	job_write_child_to_lock(job);
}

bool job_adopt_detached(struct job *job)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	int64_t since_ms = job->detached.since_ms ? job->detached.since_ms : job->model.launched_ms;
	pid_t writers[WRITERS_MOST], ended = job->child.pid;
	struct detachment detachment = {
		.expected = job->expected != EXPECT_NOTHING,
		.wrote = job->reports.save_place.saved_here,
		.succeeded = job->child.status == 0,
		.ran_ms = clock_monotonic_ms() - since_ms,
		.left_until = job->detached.left_until,
		.writers = writers,
		.writer_count = list_writers(job, writers),
	};
	const struct process *next;

	if (job->child.status != 0 && job->detached.status == 0)
		job->detached.status = job->child.status;
	/* A command that was told to end has ended; what is left of it is ended too. A failure of
	 * the main process itself is the end of the job. */
	if (!job_may_be_left(&job->model) ||
	    (!detachment.succeeded && job->detached.left_until == 0))
		return false;
	next = detached_process_find(&detachment, &tree);
	if (!next) {
		say_left_alone(job, &detachment, &tree);
		return false;
	}
	if (job->detached.left_until == 0)
		job->detached.left_until = process_tree_latest_start(&tree);
	if (job->tracker)
		tracker_process_ended(job->tracker, ended, job->child.status);
	adopt(job, next);
	return true;
}
