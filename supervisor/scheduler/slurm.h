/* What is Slurm's alone; scheduler.h brings it with it. */
#ifndef SLURM_H
#define SLURM_H

#include "base/loop.h"
#include "base/workers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- what is asked of scontrol --- */

/*
 * Parses what scontrol prints about a job (scontrol(1), tested with 22.05). PURE except for
 * the local time zone, in which Slurm prints times, and for slurm_requeue_run() and
 * slurm_deadline_query().
 */

/* The fields of `scontrol --oneliner show job ID`. */
struct slurm_job {
	char state[32];     /* "RUNNING", "COMPLETING", ...; "": missing */
	bool requeueable;   /* Requeue=1: --requeue, or JobRequeue of the cluster */
	bool batch;         /* started by sbatch: there is a script to start again */
	bool preempted;     /* PreemptTime is set: the grace time has begun */
	int64_t preempt_ms; /* PreemptTime, milliseconds since 1970; valid if preempted */
	char partition[64];
	int script_signal; /* ExitCode: the signal that ended the batch script; 0: none has */
	long restarts;     /* -1: missing */
	/* EndTime, milliseconds since 1970: the end of the grace time or of the time limit; 0:
	 * missing */
	int64_t end_ms;
};

/* False: the text does not describe a job. */
bool slurm_job_parse(const char *text, struct slurm_job *job);

/*
 * The id of this job for scontrol. An element of an array is named by both numbers, because the
 * number of the array alone means all of its elements. False: it does not fit, or has other
 * characters than digits.
 */
bool slurm_job_id(const char *job, const char *array_job, const char *array_task, char *id,
		  size_t capacity);

/* The number at the start of the value of KEY, in the form "KEY=VALUE" between blanks or, as
 * `scontrol show config` prints it, "KEY   = VALUE"; -1: there is none. */
long slurm_number(const char *text, const char *key);

/* What the configuration says of the time from a SIGTERM to SIGKILL, in milliseconds; -1: not known
 * or not asked for. */
struct slurm_times {
	int64_t kill_wait_ms; /* KillWait: after the SIGTERM of a job that Slurm ends */
	int64_t grace_ms;     /* GraceTime of the partition: after that of a preemption */
};

struct slurm_job_end {
	int64_t at_ms;   /* milliseconds since 1970 */
	const char *why; /* for people; NULL: `deadline_ms` stands */
};

/*
 * When the job will end after a SIGTERM that came at `now_ms`, `deadline_ms` at the latest. A job
 * that Slurm is ending already (scancel, requeue, preemption without a grace time, the time limit)
 * has KillWait, and its EndTime is when that began. One that runs has until EndTime, which is the
 * end of the grace time if it is preempted; where it has no time limit, Slurm shows no EndTime, and
 * the grace time counts from PreemptTime.
 */
struct slurm_job_end slurm_job_end(const struct slurm_job *job, const struct slurm_times *times,
				   int64_t now_ms, int64_t deadline_ms);

/*
 * Whose death is a notice: our parent `parent`, if it is the process that Slurm itself has started
 * (`task`: SLURM_TASK_PID), as the shell of a batch script that does not start us by exec. When it
 * ends, the job is over for Slurm, and what it has left behind runs outside of the allocation. 0:
 * Slurm has started us, or somebody else has.
 */
pid_t slurm_job_script(const char *task, pid_t parent);

/* --signal=[{R|B}[R|B]:]NAME[@SECONDS] in a line of a batch script. */
struct slurm_signal_option {
	bool given;
	bool to_shell;  /* B: to the batch shell alone */
	bool is_notice; /* SIGTERM or SIGUSR1: Reprieve takes them for the announcement of the end
			 */
};
struct slurm_signal_option slurm_signal_option(const char *line);

/* Does a batch script ask by that for a notice ahead of its time limit? sbatch(1) reads the lines
 * before the first command; of several, the last counts. */
bool slurm_script_asks_for_notice(const char *script);

/* What a run of the job `holder` is to ours, of the job `own`, in whose checkpoint directory it is
 * or was. */
enum slurm_neighbour {
	SLURM_STRANGER,
	SLURM_TASK,    /* another task of the same step, which has several */
	SLURM_ELEMENT, /* another element of the same array */
};
/* `tasks`: SLURM_STEP_NUM_TASKS, `task`: SLURM_PROCID, which may stand behind the name
 * (job_name.c), `element`: of whatever scheduler's array (job_name_element()); NULL: not set. */
enum slurm_neighbour slurm_job_neighbour(const char *holder, const char *own, const char *tasks,
					 const char *task, const char *element);

/* ": ...": what to do about such a run that uses the checkpoint directory; of an element
 * job_name_element() says it. */
const char *slurm_neighbour_advice(enum slurm_neighbour neighbour);

/* The result of running scontrol. */
enum slurm_query_result {
	SLURM_QUERY_OK,
	SLURM_QUERY_NO_PROGRAM, /* scontrol is not installed, as in a container */
	SLURM_QUERY_FAILED,     /* it failed or timed out */
};

/* The output of scontrol with these words; NULL: it failed, which is logged for -v. The caller
 * frees. Blocks for at most `timeout_ms`. ERR_NOT_FOUND: it is not installed. */
char *slurm_scontrol(int64_t timeout_ms, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define SLURM_JOB_ID_SIZE 48
/* --- the deadline --- */

/*
 * Slurm's SIGTERM does not say how much time is left: KillWait, unless --signal or the partition's
 * GraceTime gives more (slurm_job_end()). scontrol knows, and is asked on a thread.
 */

/* Zeroed, but for the first three members, which the caller sets. */
struct slurm_deadline {
	struct loop *loop;
	/* On the loop: the job ends at `deadline_ms` of CLOCK_MONOTONIC, before what was asked
	 * about; `reason`: why. */
	void (*earlier)(void *arg, int64_t deadline_ms, const char *reason);
	void *arg;

	/* this file's own */
	struct workers *workers; /* NULL: never asked yet */
	bool asking;             /* while true, the worker owns the members below */
	int64_t deadline_ms;
	enum slurm_query_result asked;
	struct slurm_job answer;
	struct slurm_times times;
	int64_t signal_wall_ms; /* when the signal came, milliseconds since 1970 */
};

/* Asks for a deadline before `deadline_ms`. Nothing happens outside of a Slurm job, or while it is
 * asked. Does not block. */
void slurm_deadline_query(struct slurm_deadline *slurm_deadline, int64_t deadline_ms);
/* Blocks for the answer: a few seconds at most. */
void slurm_deadline_release(struct slurm_deadline *slurm_deadline);

/* --- the requeue --- */

/*
 * Should a job that was preempted under Slurm requeue itself? Only if nobody else does it, and
 * never if its user has cancelled it.
 *
 * The end of its time, and the signal that it has asked for ahead of it (--signal), announce one
 * thing. Whichever comes first is the notice, and the earlier deadline counts: the limit, or
 * --grace after the signal. A job that asks for the signal asks for its requeue by that, also where
 * it has ended before the signal would have come. One that does not is meant to end at its limit.
 *
 * The facts about Slurm are from scontrol(1), sbatch(1) and
 * slurm.conf(5), tested with 22.05. PURE, except for slurm_requeue_run().
 */

struct slurm_requeue_facts {
	bool wanted;    /* --requeue auto, in a job of Slurm's */
	bool preempted; /* the outcome: there was a notice, and the work is durable */
	bool lost;      /* the outcome: there was a notice, and the newest work is not durable */
	bool durable;   /* some checkpoint is durable, perhaps an older one */
	bool at_limit;  /* the only notice was the job's own time limit */
	bool signalled; /* AT_LIMIT: the job asks for a signal ahead of that, as far as is known */
	const char *task;  /* SLURM_PROCID; NULL: not set */
	long restarts;     /* SLURM_RESTART_COUNT; 0: not set */
	bool script_ended; /* our parent was slurm_job_script(), and has ended */
	enum slurm_query_result asked;
	struct slurm_job job; /* valid if `asked` is SLURM_QUERY_OK */
	int exit_code;        /* that we leave with */
};

enum slurm_requeue_verdict {
	SLURM_REQUEUE,
	SLURM_SKIP_SILENTLY, /* nothing to requeue, or another task does it */
	SLURM_SKIP_NOTE,     /* not requeued, as intended */
	SLURM_SKIP_WARN,     /* not requeued, and the user has to do something */
};

struct slurm_requeue {
	enum slurm_requeue_verdict verdict;
	const char *why; /* a sentence to log; NULL: none; with SLURM_REQUEUE it is a warning */
	bool code_may_requeue; /* skipped, but Slurm may requeue it for its exit code */
};

/* If scontrol does not answer, the job may have been cancelled, so it is not requeued. */
struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts);

/* All borrowed. */
struct slurm_requeue_run {
	/* of `facts`, what is known before the environment and scontrol are asked: the first five,
	 * `script_ended` and `exit_code` */
	struct slurm_requeue_facts facts;
	/* The other tasks of the step may save for a third of the time until then; 0: they need
	 * none. */
	int64_t deadline_ms;
	/* Called just before: Slurm kills this step as soon as it gets the command. */
	void (*requeueing)(void *arg, const char *id);
	void *arg;
};

/* The last step of a job's end. Logs the decision and what fails. Blocks for scontrol, 20 s a call
 * at most, for the other tasks of the step, and after the script's end until Slurm has written down
 * how it has ended, 15 s at most. */
void slurm_requeue_run(const struct slurm_requeue_run *run);

#endif
