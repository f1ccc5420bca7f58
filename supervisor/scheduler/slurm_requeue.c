#include "slurm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* By the exit code alone Slurm may start it again, if the batch script ends with it as well. */
static void say_decision(const struct slurm_requeue *decision, int exit_code)
{
	auto_free char *said =
		decision->code_may_requeue
			? text_format("%s (where slurm.conf has %d in RequeueExit, Slurm requeues "
				      "it all the same: look at squeue)",
				      decision->why, exit_code)
			: text_copy(decision->why);

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

/* A requeue kills all tasks of the step, KillWait after SIGTERM. They had the notice at the same
 * time, so a third of what is left does for them. SIGTERM and SIGINT, which main() blocks, end the
 * wait. False: nobody was waited for. */
static bool wait_for_other_tasks(int64_t deadline_ms)
{
	const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
	int64_t wait_ms = (deadline_ms - clock_monotonic_ms()) / 3;
	struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
	sigset_t ends;
	uint64_t count;

	if (deadline_ms == 0 || deadline_ms == CLOCK_NEVER || wait_ms <= 0 || !tasks ||
	    !text_to_u64(tasks, UINT_MAX, &count) || count < 2)
		return false;
	log_note("the other tasks of this job may save for %.0f s more: a requeue will kill them",
		 (double)wait_ms / 1000);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigtimedwait(&ends, NULL, &wait);
	return true;
}

void slurm_requeue_run(const struct slurm_requeue_run *run)
{
	const char *restarts = getenv("SLURM_RESTART_COUNT");
	struct slurm_requeue_facts facts = run->facts;
	char id[SLURM_JOB_ID_SIZE] = "";
	struct slurm_requeue decision;

	facts.task = getenv("SLURM_PROCID");
	facts.restarts = restarts ? strtol(restarts, NULL, 10) : 0;
	if (may_requeue(&facts) && facts.at_limit)
		facts.signalled = slurm_signal_query(SCONTROL_MS);
	if (may_requeue(&facts) && !is_meant_to_end(&facts))
		query_job(&facts, id);
	decision = slurm_requeue_decide(&facts);
	/* Meanwhile its user may cancel it. */
	if (decision.verdict == SLURM_REQUEUE && wait_for_other_tasks(run->deadline_ms)) {
		query_job(&facts, id);
		decision = slurm_requeue_decide(&facts);
	}
	if (decision.why)
		say_decision(&decision, facts.exit_code);
	if (decision.verdict != SLURM_REQUEUE)
		return;
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

void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms)
{
	const char *id = getenv("SLURM_JOB_ID");
	struct err err;

	if (!id || !*id || slurm_deadline->asking)
		return;
	/* A worker of its own: an upload and a busy controller must not wait for each other. */
	if (!slurm_deadline->workers &&
	    workers_new(slurm_deadline->loop, 1, &slurm_deadline->workers, &err) < 0) {
		log_debug("cannot ask Slurm when the job ends: %s", err.text);
		return;
	}
	slurm_deadline->asking = true;
	slurm_deadline->signal_wall_ms = clock_wall_ms();
	slurm_deadline->deadline_ms = deadline_ms;
	workers_run(slurm_deadline->workers, query_worker, on_answered, slurm_deadline);
}

void slurm_deadline_release(struct slurm_deadline *slurm_deadline)
{
	workers_free(slurm_deadline->workers);
	slurm_deadline->workers = NULL;
}
