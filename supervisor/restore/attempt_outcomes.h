/* Reads how earlier attempts of the job went, and rules on the next one (restart_rules.h).
 * Blocks; logs nothing. */
#ifndef ATTEMPT_OUTCOMES_H
#define ATTEMPT_OUTCOMES_H

#include "base/cancel.h"
#include "base/err.h"
#include "planning/planning.h"
#include "restart_rules.h"
#include "storage/storage.h"

#include <jansson.h>

#define RUN_IDENTITY_TEXT 20

struct attempt_outcomes {
	struct restart_decision decision;
	struct interruption_history past;
	uint32_t newest;  /* number of the newest attempt; 0: there is none */
	char outcome[48]; /* of that, for people: "failed with exit 1", "ended without a word" */
	/* one for all attempts of a job until it has finished or begins
	 * afresh by the user's wish */
	char run[RUN_IDENTITY_TEXT];
	char ended_at[32]; /* RFC 3339, "" unknown */
};

/* `about` is what the new attempt's record will say; what has to be carried over is added to it. */
int attempt_outcomes_read(struct storage *storage, const struct restart_rules *rules, json_t *about,
			  struct attempt_outcomes *attempt_outcomes, struct cancel *cancel,
			  struct err *err);

#endif
