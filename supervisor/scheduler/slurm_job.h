/*
 * Parses what scontrol prints about a job (scontrol(1), tested with 22.05). PURE except for
 * the local time zone, in which Slurm prints times, and for slurm_job_query().
 */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* The value of KEY, in the form "KEY=VALUE" between blanks or, as `scontrol show config` prints it,
 * "KEY   = VALUE" up to the end of the line. False, and "": there is none. */
bool slurm_value(const char *text, const char *key, char *value, size_t capacity);
/* The number at the start of it; -1: there is none. */
long slurm_number(const char *text, const char *key);

/* What Slurm does by itself with a batch job whose script ends with an exit code (slurm.conf(5):
 * RequeueExit, RequeueExitHold). */
enum slurm_exit_rule {
	SLURM_EXIT_UNKNOWN, /* nobody has told the configuration */
	SLURM_EXIT_NOTHING,
	SLURM_EXIT_REQUEUES,
	SLURM_EXIT_HOLDS, /* it requeues the job, and holds it until somebody releases it */
};
/* `config`: the output of `scontrol show config`; NULL: there is none. */
enum slurm_exit_rule slurm_exit_rule(const char *config, int code);

/* What the configuration says of the time from a SIGTERM to SIGKILL, in milliseconds; -1: not known
 * or not asked for. */
struct slurm_times {
	int64_t kill_wait_ms; /* KillWait: after the SIGTERM of a job that Slurm ends */
	int64_t grace_ms;     /* GraceTime of the partition: after that of a preemption */
};

/* SIGNALING is a flag of a job that runs, while a signal is on its way to its nodes:
 * --signal, or the SIGTERM at the begin of a grace time (job_state_string() in Slurm's
 * src/common/slurm_protocol_defs.c names the flag in place of the state). */
bool slurm_job_is_running(const struct slurm_job *job);
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
 * (job_name.h), `element`: of whatever scheduler's array (job_name_element()); NULL: not set. */
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

#define SLURM_JOB_ID_SIZE 48
/* Asks scontrol for what slurm_job_end() needs of them. Blocks for at most `timeout_ms` a call. */
void slurm_times_query(const struct slurm_job *job, int64_t timeout_ms, struct slurm_times *times);

/* Runs `scontrol show job` for the job that this process is in, and parses its output. Blocks for
 * at most `timeout_ms`. `id` gets the id of the job; "": the environment has none. */
enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					struct slurm_job *job);

/* slurm_script_asks_for_notice() of this job, or SBATCH_SIGNAL in its environment. scontrol is
 * asked for the script. False also where nobody tells, as of an option on sbatch's command line.
 * Blocks for at most `timeout_ms`. */
bool slurm_signal_query(int64_t timeout_ms);

#endif
