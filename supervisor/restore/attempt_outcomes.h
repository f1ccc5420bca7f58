/* Reads from the store how earlier attempts of the job ended, and decides about the next one
 * (restart_rules.h). Blocks; logs nothing. */
#ifndef ATTEMPT_OUTCOMES_H
#define ATTEMPT_OUTCOMES_H

#include "base/cancel.h"
#include "base/err.h"
#include "planning/planning.h"
#include "restart_rules.h"
#include "storage/storage.h"

#include <jansson.h>
#include <stdbool.h>

#define RUN_IDENTITY_TEXT 20

struct attempt_outcomes {
	struct restart_decision decision;
	struct interruption_history past;
	uint32_t newest;          /* number of the newest attempt; 0: there is none */
	struct snapshot_id saved; /* the newest one that an attempt has added; may be none */
	/* of the newest attempt, for people: "failed with exit 1", "left no end record" */
	char outcome[48];
	/* the same for all attempts of a job, until the user starts it from scratch */
	char run[RUN_IDENTITY_TEXT];
	/* The newest attempt was begun by a supervisor, and has left no end record: it runs, or its
	 * machine is gone. */
	struct open_attempt {
		bool is_open;
		char host[65], created[32]; /* "": unknown */
		int supervisor_pid;
		char directory[256]; /* of its checkpoints; "": unknown */
	} open;
};

/* `about` will be the new attempt's record: facts that are carried over are added to it. -1: the
 * store cannot be read. */
int attempt_outcomes_read(struct storage *storage, const struct restart_rules *rules, json_t *about,
			  struct attempt_outcomes *attempt_outcomes, struct cancel *cancel,
			  struct err *err);

/* PURE. Why this job is not started again, in the words of the log; NULL: it is. The caller frees.
 */
char *attempt_outcomes_refusal(const struct attempt_outcomes *attempt_outcomes, const char *job);

/* PURE. Whom this start takes over from: of an attempt that `runs_here` for certain, or that may
 * still run elsewhere; NULL: from nobody. The caller frees. */
char *attempt_outcomes_takeover(const struct attempt_outcomes *attempt_outcomes, const char *job,
				bool runs_here);

/* PURE. Returns the refusal of a start whose newest attempt still runs on this machine. The caller
 * frees. */
char *attempt_outcomes_living(const struct attempt_outcomes *attempt_outcomes, const char *job);

#endif
