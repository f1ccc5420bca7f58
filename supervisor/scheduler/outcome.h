/*
 * PURE. How the run ended and the exit code that says so, computed once from facts. The contract
 * with schedulers: README and reprieve(1), "Exit status".
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "base/exit_code.h"

#include <stdbool.h>
#include <stdint.h>

struct outcome_facts {
	bool launched;
	/* of the job, as from waitpid(2); only if it was launched and not `start_failed` */
	int wait_status;
	int start_failed;  /* 126 or 127 when the command could not be executed, else 0 */
	bool noticed;      /* a stop was announced and not withdrawn */
	bool noticed_late; /* and for the first time when the job had ended already */
	/* we asked for a checkpoint or told the job to end because of it, before it ended */
	bool told_to_end;
	bool by_signal_only; /* the only notice was a SIGTERM to us */
	/* the user chose a store or checkpoints, or the job has written a checkpoint */
	bool managed;
	bool all_durable;    /* every checkpoint known to be complete is committed */
	bool torn;           /* what it wrote last still lies there, and is in no snapshot */
	bool strict_failed;  /* --strict, and something of ours failed */
	bool asked_to_save;  /* by its own way to be asked, not by a forwarded SIGTERM */
	bool saved;          /* and a checkpoint that answers that is complete */
	bool asked;          /* in whatever way, and for whatever reason */
	int64_t lived_on_ms; /* from the first save after that to its end; 0: there was none */
	bool stopped;        /* we have told it to end, or killed it */
	bool resumes;        /* its profile says that this exit code means: run me again */
	/* its profile says that after saving it trains on, so that 0 means what it always does */
	bool goes_on;
};

struct outcome {
	const char *name; /* "finished", "failed", "preempted", "not_durable", "refused" */
	int exit_code;
};

struct outcome outcome_of(const struct outcome_facts *facts);

/*
 * The done marker: it ended with 0 without having been asked to, or its profile says that 0 means
 * it all the same; and what it saved last is durable, so that no machine will be missed that still
 * has it.
 */
bool outcome_is_done(const struct outcome_facts *facts, const struct outcome *outcome);

/* It was asked for a checkpoint, and ended so soon after it had saved that it may have done so
 * because of that. */
bool outcome_may_be_leaving(const struct outcome_facts *facts);

/* Did it end of an error of its own? Not by a signal that asks to end, nor with a code that is
 * known to mean "run me again". */
bool outcome_is_crash(int wait_status);

#endif
