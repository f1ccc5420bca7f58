#include "slurm_requeue.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "slurm_task_barrier.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

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

static enum slurm_exit_rule query_exit_rule(int exit_code)
{
	char *const argv[] = {"scontrol", "show", "config", NULL};
	auto_free char *said = NULL;

	return program_output(argv, SCONTROL_MS, &said, NULL) < 0
		       ? SLURM_EXIT_UNKNOWN
		       : slurm_exit_rule(said, exit_code);
}

static void say_decision(const struct slurm_requeue *decision, int exit_code)
{
	enum slurm_exit_rule rule =
		decision->code_may_requeue ? query_exit_rule(exit_code) : SLURM_EXIT_NOTHING;
	auto_free char *said = slurm_requeue_say(decision, rule, exit_code);

	if (decision->verdict == SLURM_SKIP_NOTE)
		log_note("%s", said);
	else
		log_warn("%s", said);
}

/* "Incomplete": Slurm itself refuses a job that was cancelled after slurm_job_query(). One that has
 * failed cannot be. */
static void requeue(const struct slurm_requeue_run *run, char *id, bool failed)
{
	char *const argv[] = {"scontrol", "requeue", failed ? id : "Incomplete", failed ? NULL : id,
			      NULL};
	auto_free char *said = NULL;
	struct err err;

	log_note("requeueing Slurm's job %s", id);
	run->requeueing(run->arg, id);
	if (program_output(argv, SCONTROL_MS, &said, &err) < 0)
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
