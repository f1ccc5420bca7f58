/*
 * supervisor/scheduler/: the contract with whoever runs us. In: the name of the job. Out: the
 * outcome, the exit code, the termination message, the requeue. The decisions are PURE.
 * slurm_deadline_query() and slurm_requeue_run() run scontrol; termination_message_tell() writes a
 * file.
 *
 *	outcome.c	how the run ended, and the exit code that says so; read it first. What that
 *			code is for one scheduler (--exit-policy), and which signals of its announce
 *			the end of this job. Why it ended, for Kubernetes and SageMaker
 *	job_name.c	which job this is, so that the next machine finds its snapshots
 *	slurm.c		asks scontrol about the job that this process is in, and on a thread when
 *			it ends; should a preempted job requeue itself? does it
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "base/err.h"
#include "slurm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- outcome.c --- */

/*
 * PURE. How the run ended, and the exit code that says so: computed once, from facts. It is the
 * contract with schedulers, documented in README and reprieve(1), "Exit status".
 */

struct outcome_facts {
	bool launched;
	/* of the job, as from waitpid(2); valid if it was launched */
	int wait_status;
	int refusal;       /* the exit code of a start that was refused or failed; else 0 */
	bool noticed;      /* a stop was announced and not withdrawn */
	bool noticed_late; /* it was announced first after the job had exited */
	/* because of the notice, the job was asked for a checkpoint or got a SIGTERM */
	bool told_to_end;
	bool by_signal_only; /* the only notice was a SIGTERM to us */
	/* the user chose a store or checkpoints, or the job has written a checkpoint */
	bool managed;
	/* What the job saved last is durable: all that is known to be complete is committed, or,
	 * before the launch, what this start restores was seen in the store. */
	bool all_durable;
	bool strict_failed;  /* --strict, and something of ours failed */
	bool asked_to_save;  /* it was asked in its own way, not by a forwarded SIGTERM */
	bool saved;          /* a checkpoint that answers a request is complete */
	bool asked;          /* it was asked in any way, for any reason */
	int64_t lived_on_ms; /* from the first save after that to its exit; 0: no save */
	bool went_on;        /* it answered more than one request: it does not leave when asked */
	bool stopped;        /* we sent SIGTERM after the save, or SIGKILL */
	bool resumes;        /* its profile says that this exit code means "run me again" */
	/* The ranks of several machines agree to save and end when one of them is asked: those of
	 * this one may do so before it has heard of the notice. */
	bool of_gang;
	/* its profile says that it continues after a save, so that exit 0 means finished */
	bool goes_on;
};

enum outcome_kind {
	OUTCOME_FINISHED,
	OUTCOME_FAILED,
	/* by somebody: a command that saves no checkpoints by a plain SIGTERM, any job by Ctrl-C */
	OUTCOME_STOPPED,
	OUTCOME_PREEMPTED,
	OUTCOME_NOT_DURABLE,
	OUTCOME_REFUSED,
	OUTCOMES,
};

struct outcome {
	enum outcome_kind kind;
	int exit_code;
};

/* "finished", "not_durable": as in events and end records. */
const char *outcome_name(const struct outcome *outcome);

struct outcome outcome_of(const struct outcome_facts *facts);

/* The job was asked for a checkpoint, and exited so soon after the save that this may be why. */
bool outcome_may_be_leaving(const struct outcome_facts *facts);

/* Did the job fail by itself? A signal that asks it to end is no crash, nor is an exit code that is
 * known to mean "run me again". */
bool outcome_is_crash(int wait_status);

/* Did it end of SIGINT, as at Ctrl-C? A shell reports the signal of its child as 128 + n. */
bool outcome_is_interrupt(int wait_status);

/* --- exit policies --- */

/*
 * PURE. Schedulers disagree on what an exit code means. A policy says which codes one scheduler
 * gets, and how to configure it to act on them. outcome.c names the source of each row.
 */

struct exit_policy {
	const char *name;  /* for --exit-policy and `reprieve explain exit --for` */
	const char *title; /* of the scheduler */
	int preempted;     /* replaces EXIT_PREEMPTED; 0: not replaced */
	int not_durable;   /* replaces EXIT_NOT_DURABLE; 0: not replaced */
	const char *setup; /* its configuration, to copy */
	const char *why;   /* how the scheduler reads exit codes: a sentence or two */
};

extern const struct exit_policy exit_policy_table[];
extern const size_t exit_policy_count;

/* NULL: no policy has this name. */
const struct exit_policy *exit_policy_find(const char *name);

/* The exit code for `outcome` under `policy` (NULL: nothing is mapped). Only our own codes are
 * mapped: a code that the job exited with by itself stays. */
int exit_policy_code(const struct exit_policy *policy, const struct outcome *outcome);

/* "posix, k8s, ..."; the caller frees. */
char *exit_policy_names(void);

/* --- signals of schedulers --- */

/*
 * PURE. Schedulers that announce the end of a job by a signal of their own, beside SIGTERM: which,
 * and to whom. In a job of theirs it is a notice, and no wish for a checkpoint.
 */

struct batch_scheduler {
	const char *name;     /* of the notice's source, and of the exit policy: "sge" */
	const char *title;    /* for people */
	const char *variable; /* is set in its jobs, and nowhere else */
	const char *option;   /* has it announce the end: "-notify" */
	uint64_t signals;     /* bit n - 1: it announces the end by signal n */
	/* The signals go to every process of the job, also to one of another session; false: to its
	 * first process, or to what the user says. */
	bool to_all;
	/* It is asked to start the job again, by a program; false: by the exit code. */
	bool asked_to_requeue;
};

/* Whose job this process is in; NULL: none of theirs. `get` as getenv(3). Static. */
const struct batch_scheduler *batch_scheduler_find(char *(*get)(const char *name));

/* --- job_name.c --- */

/*
 * PURE. Which job this is, so that the next machine finds its snapshots: the user's name, else a
 * scheduler's id that stays the same over restarts, else a fingerprint of directory and command.
 * Inside the job of another run (base/inside.h) the scheduler's id is of that one, and so is a name
 * that it has handed on: there it is a fingerprint of the outer job's name, directory and command,
 * and of which machine, task and element of an array this is.
 * The element of an array is part of every name, as "sweep_3" of --job sweep.
 * What a launcher starts several times, and is no gang, has a name each: whatever the name is, the
 * index is in it, once (gang_identity.h says when).
 * Host names and process ids are not used, because they change with the machine.
 */

#define JOB_NAME_MOST 128

struct job_name {
	/* [A-Za-z0-9._-], beginning with a letter, digit or underscore */
	char text[JOB_NAME_MOST + 1];
	/* for people: "--job", "SLURM_JOB_ID", "directory and command"; static */
	const char *origin;
	/* by the user or a scheduler; false: a fingerprint */
	bool given;
	/* by a scheduler: another submission of the same command has another one */
	bool of_scheduler;
	/* of_scheduler: the length of the text without the element of an array, which is its end;
	 * 0: there is none. With that --job the element of another array has this name. */
	size_t stem;
};

typedef const char *(*job_name_getenv_fn)(void *arg, const char *name);

/* What tells this process from others that the same launcher has started. */
struct job_place {
	/* They are one job, and what tells them apart is no part of the name. */
	bool of_gang;
	/* "3": they are jobs of their own; NULL or "": nothing tells them apart, or there are none.
	 */
	const char *index;
	/* The variable that says so ("SLURM_PROCID"): a scheduler's id that has it in it has it
	 * once. */
	const char *index_from;
	/* --member is given: the elements of an array may be the members, and are no part. */
	bool element_is_member;
};

/*
 * `chosen` is --job, or NULL. `directory` and `argv` (ends with NULL) go into the fingerprint. A
 * scheduler's id is mapped to the allowed characters; if that changes it, a digest is appended.
 * ERR_INVALID only for a name that the user gave (--job, REPRIEVE_JOB).
 */
int job_name_find(const char *chosen, const struct job_place *place, job_name_getenv_fn get,
		  void *arg, const char *directory, const char *const *argv, struct job_name *name,
		  struct err *err);

/* Which element of an array this is: "3"; NULL: of none. *advice (unless NULL) is then ": ...":
 * what to do where another element has the same checkpoint directory; static. */
const char *job_name_element(job_name_getenv_fn get, void *arg, const char **advice);

/* ERR_INVALID: no job can have that name. */
int job_name_check(const char *name, struct err *err);

/* --- the termination message --- */

/*
 * The message that a scheduler shows for an ended container: Kubernetes' terminationMessagePath
 * (/dev/termination-log, of which 4096 bytes are read:
 * kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure), and SageMaker's
 * /opt/ml/output/failure (its first 1024 characters: DescribeTrainingJob, FailureReason). Our line
 * comes first; text that the job has written there follows it and is kept.
 */

#define TERMINATION_LINE_SIZE 512
#define TERMINATION_TEXT_MOST 4096

struct termination_facts {
	const char *outcome; /* outcome_name(); NULL: the job has not ended yet */
	int exit_code;
	const char *source, *reason; /* of the notice; NULL: there was none */
	const char *durable;         /* "3-12, step 1200"; "": nothing */
};

/* PURE. "preempted: spot interruption (aws); durable: 3-12, step 1200; exit 75". Returns `line`. */
const char *termination_line(const struct termination_facts *facts,
			     char line[TERMINATION_LINE_SIZE]);

/*
 * PURE. The new text of the file: `line` (may be ""), then the text that it `held`, without our
 * earlier line, which is `before`. At most TERMINATION_TEXT_MOST bytes; the end of the job's text
 * is kept. The caller frees.
 */
char *termination_text(const char *line, const char *before, const char *held);

/*
 * The message of one run. The functions that write block for one small file each, and only log what
 * fails. Rewritten in place, because the path may be a mount point, which rename(2) cannot replace.
 */
struct termination_message {
	const char *path; /* --termination-log: "": none; NULL: Kubernetes' file, if it is there */
	char line[TERMINATION_LINE_SIZE]; /* ours, in the file; "": none */
};

/* A stop is announced, or (with `facts->outcome`) the job has ended; SageMaker's file is written at
 * the end only. Without a notice and an outcome there is nothing to tell. */
void termination_message_tell(struct termination_message *message,
			      const struct termination_facts *facts);
/* Removes our line, but no line of the job's: the notice was withdrawn, or the job finished in
 * spite of it. */
void termination_message_withdraw(struct termination_message *message);

#endif
