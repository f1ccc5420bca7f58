#include "slurm.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "storage/storage.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the tasks of one step --- */

/* A marker is not worth more of the notice. */
#define MARKER_PUT_MS 5000
#define BARRIER_POLL_MS 1000
/* Slurm signals all tasks at once, and each needs one PUT to arrive. Until then, no marker does not
 * mean that there is no task. */
#define ARRIVAL_MS 3000

struct task {
	uint64_t number; /* from 0 */
	char step[96];   /* this start of this step, for storage_barrier_arrive() */
};

/* False: this is not one of several tasks. A batch script has no SLURM_STEP_NUM_TASKS, and a first
 * start no SLURM_RESTART_COUNT. */
static bool read_task(struct task *task)
{
	static const char *const names[] = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_JOB_ID",
					    "SLURM_STEP_ID", "SLURM_RESTART_COUNT"};
	uint64_t values[5] = {0};

	for (size_t i = 0; i < 5; i++) {
		const char *text = getenv(names[i]);

		if (!text_to_u64(text ? text : i == 4 ? "0" : "", UINT_MAX, &values[i]))
			return false;
	}
	task->number = values[1];
	snprintf(task->step, sizeof(task->step), "slurm-%u.%u.%u", (unsigned)values[2],
		 (unsigned)values[3], (unsigned)values[4]);
	return values[0] > 1 && task->number < values[0];
}

/* The first task waits; nobody waits for it. */
static void put_marker(struct storage *storage, const char *state)
{
	struct cancel cancel = CANCEL_AT(clock_monotonic_ms() + MARKER_PUT_MS);
	auto_free char *name = NULL;
	struct task task;
	struct err err;

	if (!storage || !read_task(&task) || task.number == 0)
		return;
	name = text_format("%u-%s", (unsigned)task.number, state);
	if (storage_barrier_arrive(storage, task.step, name, &cancel, &err) < 0)
		log_debug("cannot put this task's marker for the first task: %s", err.text);
}

void slurm_task_barrier_join(struct storage *storage)
{
	put_marker(storage, "here");
}

void slurm_task_barrier_leave(struct storage *storage)
{
	put_marker(storage, "through");
}

/* How many tasks have started to save and have not finished; -1: the store cannot be read. */
static int count_missing(struct storage *storage, const struct task *task, struct cancel *cancel)
{
	auto_(storage_barrier_release) struct storage_barrier_arrivals found = {0};
	int missing = 0;
	struct err err;

	if (storage_barrier_read(storage, task->step, &found, cancel, &err) < 0) {
		log_debug("the other tasks of the job: %s", err.text);
		return -1;
	}
	for (size_t i = 0; i < found.count; i++) {
		size_t number = strcspn(found.names[i], "-");
		auto_free char *last = text_format("%.*s-through", (int)number, found.names[i]);
		bool finished = false;

		for (size_t j = 0; j < found.count; j++)
			finished |= text_equal(found.names[j], last);
		missing += text_ends(found.names[i], "-here") && !finished;
	}
	return missing;
}

void slurm_task_barrier_await(struct storage *storage, int64_t seen_ms, int64_t deadline_ms)
{
	struct cancel cancel = CANCEL_AT(CLOCK_NEVER);
	int64_t reserve_ms = (deadline_ms - clock_monotonic_ms()) / 3;
	struct task task;
	bool said = false;
	int missing;
	struct err err;

	if (!storage || !read_task(&task))
		return;
	reserve_ms = reserve_ms < 5000 ? 5000 : reserve_ms > 20000 ? 20000 : reserve_ms;
	cancel_set_deadline(&cancel, deadline_ms - reserve_ms);
	while ((missing = count_missing(storage, &task, &cancel)) > 0 ||
	       (missing == 0 && clock_monotonic_ms() < seen_ms + ARRIVAL_MS)) {
		if (missing > 0 && !said)
			log_note("waiting for the other tasks of this job to finish saving, until "
				 "shortly before the deadline: a requeue will kill them");
		said |= missing > 0;
		if (cancel_sleep(&cancel, BARRIER_POLL_MS, &err) < 0)
			break;
	}
	if (missing > 0)
		log_warn("%d other task%s not finished saving; requeue will kill %s", missing,
			 missing == 1 ? " has" : "s have", missing == 1 ? "it" : "them");
}

/* --- the requeue --- */

/* A controller that preempts many jobs at once is slow, and nothing else is left to do. */
#define SCONTROL_MS 20000
#define SETTLE_MS 15000

static bool is_first_task(const struct slurm_requeue_facts *facts)
{
	return !facts->task || text_equal(facts->task, "0");
}

/* But for its time limit. */
static bool may_requeue(const struct slurm_requeue_facts *facts)
{
	return facts->wanted && (facts->preempted || (facts->lost && facts->durable)) &&
	       is_first_task(facts);
}

static bool is_meant_to_end(const struct slurm_requeue_facts *facts)
{
	return facts->at_limit && !facts->signalled;
}

bool slurm_requeue_needs_signal(const struct slurm_requeue_facts *facts)
{
	return may_requeue(facts) && facts->at_limit;
}

bool slurm_requeue_needs_job(const struct slurm_requeue_facts *facts)
{
	return may_requeue(facts) && !is_meant_to_end(facts);
}

/*
 * The batch script got the signal in our place (--signal=B:TERM, without exec), and died of it. For
 * Slurm the job has failed then, and nobody else requeues it, or can cancel it any more. SIGKILL is
 * no notice, but somebody's wish to end it.
 */
static bool script_died_of_signal(const struct slurm_requeue_facts *facts)
{
	int signal = facts->job.script_signal;

	return facts->script_ended && text_equal(facts->job.state, "FAILED") && signal > 0 &&
	       signal != SIGKILL;
}

/* The rules: the first that fits decides. LEAVE: Slurm is asked to requeue it by nobody, and
 * slurm.conf decides. */
#define SAY(verdict, why) ((struct slurm_requeue){verdict, why, false})
#define NOTE(why) SAY(SLURM_SKIP_NOTE, why)
#define WARN(why) SAY(SLURM_SKIP_WARN, why)
#define LEAVE(verdict, why) ((struct slurm_requeue){verdict, why, true})
// clang-format off
static struct slurm_requeue decide_by_job(const struct slurm_requeue_facts *facts)
{
	const struct slurm_job *job = &facts->job;

	return !job->batch ? NOTE("not requeued: no batch script started this job (srun, salloc)")
		/* Somebody else has requeued it: this process belongs to an earlier start. */
		: job->restarts > facts->restarts || text_equal(job->state, "PENDING") || text_equal(job->state, "REQUEUED")
			? NOTE("Slurm has requeued this job already")
		: facts->script_ended && text_equal(job->state, "COMPLETED")
			? WARN("not requeued: the batch script has ended before the training: it has to wait for it")
		/* Cancelled, timed out, or preempted with no grace time left: scontrol says COMPLETING for all of them. Slurm requeues preempted
		 * jobs by itself; the others are meant to end. */
		: !slurm_job_is_running(job) && !script_died_of_signal(facts)
			? NOTE("not requeued: Slurm has ended this job (scancel, the time limit without --signal), or requeues it itself (preemption)")
		: !job->requeueable ? LEAVE(SLURM_SKIP_WARN, "not requeued: the job does not allow it: submit it with sbatch --requeue")
		: SAY(SLURM_REQUEUE, facts->lost ? "the newest work is not durable: the job will resume from an earlier checkpoint" : NULL);
}

struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts)
{
	return !facts->wanted || (!facts->preempted && !facts->lost) ? SAY(SLURM_SKIP_SILENTLY, NULL)
		: !is_first_task(facts) ? NOTE("whether the job is requeued is for its first task to say")
		: is_meant_to_end(facts) ? LEAVE(SLURM_SKIP_NOTE, "not requeued: this is the job's own time limit; submit it again to continue, or write "
			"#SBATCH --signal=B:TERM@120 into the script, which requeues it")
		: facts->lost && !facts->durable ? LEAVE(SLURM_SKIP_WARN, "not requeued: nothing is durable, so the job would start from scratch; find out why, "
			"then run `scontrol requeue`")
		: facts->asked == SLURM_QUERY_NO_PROGRAM ? WARN("not requeued: scontrol is not installed here; with RequeueExit=75 in slurm.conf, Slurm requeues a "
			"batch script that exits with this code")
		: facts->asked == SLURM_QUERY_FAILED ? WARN("not requeued: scontrol does not tell the state of this job, which may have been cancelled; requeue it "
			"by hand")
		: decide_by_job(facts);
}
// clang-format on

char *slurm_requeue_say(const struct slurm_requeue *decision, enum slurm_exit_rule rule,
			int exit_code)
{
	switch (decision->code_may_requeue ? rule : SLURM_EXIT_NOTHING) {
	case SLURM_EXIT_REQUEUES:
	case SLURM_EXIT_HOLDS:
		return text_format("requeued by Slurm itself, if the batch script ends with this "
				   "exit code: slurm.conf has %d in %s",
				   exit_code,
				   rule == SLURM_EXIT_HOLDS
					   ? "RequeueExitHold, so it is held until `scontrol "
					     "release`"
					   : "RequeueExit. Do not submit it again");
	case SLURM_EXIT_UNKNOWN:
		return text_format("%s. But where slurm.conf has %d in RequeueExit, Slurm requeues "
				   "it: look at squeue first",
				   decision->why, exit_code);
	case SLURM_EXIT_NOTHING:
		break;
	}
	return text_copy(decision->why);
}

static void say_decision(const struct slurm_requeue *decision, int exit_code)
{
	struct err err;
	auto_free char *config =
		decision->code_may_requeue ? slurm_scontrol(SCONTROL_MS, &err, "show config")
					   : NULL;
	auto_free char *said =
		slurm_requeue_say(decision, slurm_exit_rule(config, exit_code), exit_code);

	if (decision->verdict == SLURM_SKIP_NOTE)
		log_note("%s", said);
	else
		log_warn("%s", said);
}

/* "Incomplete": Slurm itself refuses a job that was cancelled after slurm_job_query(). One that has
 * failed cannot be. */
static void requeue(const struct slurm_requeue_run *run, const char *id, bool failed)
{
	auto_free char *said = NULL;
	struct err err;

	log_note("requeueing Slurm's job %s", id);
	run->requeueing(run->arg, id);
	said = slurm_scontrol(SCONTROL_MS, &err, "requeue %s%s", failed ? "" : "Incomplete ", id);
	if (!said)
		log_warn("cannot requeue the job: %s; try `scontrol requeue %s`", err.text, id);
}

/* After its script's end a job is COMPLETING, whatever comes of it, for a moment. */
static void query_job(struct slurm_requeue_facts *facts, char id[SLURM_JOB_ID_SIZE])
{
	int64_t until_ms = clock_monotonic_ms() + SETTLE_MS;
	const struct timespec moment = {.tv_nsec = 500 * 1000 * 1000};

	facts->asked = slurm_job_query(SCONTROL_MS, id, &facts->job);
	while (facts->script_ended && facts->asked == SLURM_QUERY_OK &&
	       (text_equal(facts->job.state, "COMPLETING") || slurm_job_is_running(&facts->job)) &&
	       clock_monotonic_ms() < until_ms) {
		nanosleep(&moment, NULL);
		facts->asked = slurm_job_query(SCONTROL_MS, id, &facts->job);
	}
}

void slurm_requeue_run(const struct slurm_requeue_run *run)
{
	const char *restarts = getenv("SLURM_RESTART_COUNT");
	struct slurm_requeue_facts facts = run->facts;
	char id[SLURM_JOB_ID_SIZE] = "";
	struct slurm_requeue decision;

	facts.task = getenv("SLURM_PROCID");
	facts.restarts = restarts ? strtol(restarts, NULL, 10) : 0;
	if (slurm_requeue_needs_signal(&facts))
		facts.signalled = slurm_signal_query(SCONTROL_MS);
	if (slurm_requeue_needs_job(&facts))
		query_job(&facts, id);
	decision = slurm_requeue_decide(&facts);
	if (decision.why)
		say_decision(&decision, facts.exit_code);
	if (decision.verdict != SLURM_REQUEUE)
		return;
	if (run->seen_ms > 0)
		slurm_task_barrier_await(run->storage, run->seen_ms, run->deadline_ms);
	requeue(run, id, script_died_of_signal(&facts));
}

/* --- the deadline of a signal --- */

/* scontrol is slow when many jobs are preempted at once. A later answer would help little. */
#define SIGNAL_SCONTROL_MS 5000

static void query_worker(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	char id[SLURM_JOB_ID_SIZE];

	slurm_deadline->asked = slurm_job_query(SIGNAL_SCONTROL_MS, id, &slurm_deadline->answer);
	if (slurm_deadline->asked == SLURM_QUERY_OK)
		slurm_times_query(&slurm_deadline->answer, SIGNAL_SCONTROL_MS,
				  &slurm_deadline->times);
}

static void join_worker(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;

	slurm_task_barrier_join(slurm_deadline->storage);
}

static void on_joined(void *arg)
{
	(void)arg;
}

static void on_answered(void *arg)
{
	struct slurm_deadline *slurm_deadline = arg;
	int64_t ahead_ms = clock_monotonic_ms() - clock_wall_ms();
	struct slurm_job_end end;

	slurm_deadline->asking = false;
	if (slurm_deadline->asked != SLURM_QUERY_OK)
		return;
	end = slurm_job_end(&slurm_deadline->answer, &slurm_deadline->times,
			    slurm_deadline->signal_wall_ms, slurm_deadline->deadline_ms - ahead_ms);
	if (end.why)
		slurm_deadline->earlier(slurm_deadline->arg, ahead_ms + end.at_ms, end.why);
}

void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms,
			  struct storage *storage)
{
	const char *id = getenv("SLURM_JOB_ID");
	struct err err;

	if (!id || !*id || slurm_deadline->asking)
		return;
	/* Own workers: an upload, a busy controller and a slow store must not wait for each other.
	 */
	if (!slurm_deadline->workers &&
	    workers_new(slurm_deadline->loop, 2, &slurm_deadline->workers, &err) < 0) {
		log_debug("cannot ask Slurm when the job ends: %s", err.text);
		return;
	}
	slurm_deadline->asking = true;
	slurm_deadline->signal_wall_ms = clock_wall_ms();
	slurm_deadline->deadline_ms = deadline_ms;
	slurm_deadline->storage = storage;
	workers_run(slurm_deadline->workers, query_worker, on_answered, slurm_deadline);
	workers_run(slurm_deadline->workers, join_worker, on_joined, slurm_deadline);
}

void slurm_deadline_release(struct slurm_deadline *slurm_deadline)
{
	workers_free(slurm_deadline->workers);
	slurm_deadline->workers = NULL;
}
