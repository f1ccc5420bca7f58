/*
 * PURE. What a health probe answers, from what a supervisor says of itself. A probe that fails gets
 * the container killed, so it fails only where that would help: never while a checkpoint is being
 * restored, saved or sent, however long that takes.
 */
#ifndef HEALTH_PROBE_H
#define HEALTH_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum health_probe_kind {
	HEALTH_PROBE_LIVE,  /* the supervisor answers */
	HEALTH_PROBE_READY, /* the job is running, and no end is announced */
	HEALTH_PROBE_FRESH, /* what is durable is no older than that */
};

struct health_probe_facts {
	/* job_state_name(); "" unknown: the supervisor lives, but has too many clients to say */
	const char *state;
	/* a snapshot is on its way to the store */
	bool sending;
	/* age of the work that is not durable; -1: there is no store, or the job has not begun */
	int64_t at_risk_ms;
};

struct health_probe_result {
	bool passed;
	const char *phase; /* "restoring", "training", "saving", "draining", "ended", "unknown" */
};

struct health_probe_result health_probe_decide(enum health_probe_kind kind, int64_t fresh_ms,
					       const struct health_probe_facts *facts);

#endif
