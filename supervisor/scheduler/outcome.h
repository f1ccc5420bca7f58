/*
 * PURE. How the run ended, and the exit code that says so: computed once, from facts. It is the
 * contract with schedulers, documented in README and reprieve(1), "Exit status".
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "base/exit_code.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
