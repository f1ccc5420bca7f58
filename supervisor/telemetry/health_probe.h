/*
 * PURE. What a health probe answers, given the supervisor's status. Kubernetes kills a container
 * whose probe fails, so a probe fails only if a kill would help: never while a checkpoint is being
 * restored, saved or uploaded, however long that takes.
 */
#ifndef HEALTH_PROBE_H
#define HEALTH_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum health_probe_kind {
	HEALTH_PROBE_LIVE,  /* the supervisor replies */
	HEALTH_PROBE_READY, /* the job is running, and no stop is announced */
	HEALTH_PROBE_FRESH, /* the durable checkpoint is at most `fresh_ms` old */
};

struct health_probe_facts {
	/* job_state_name(); "": unknown, because the supervisor runs but has too many clients */
	const char *state;
	/* a snapshot is being uploaded */
	bool sending;
	/* age of the work that is not durable; -1: there is no store, or the job has not started */
	int64_t at_risk_ms;
};

struct health_probe_result {
	bool passed;
	const char *phase; /* "restoring", "training", "saving", "draining", "ended", "unknown" */
};

struct health_probe_result health_probe_decide(enum health_probe_kind kind, int64_t fresh_ms,
					       const struct health_probe_facts *facts);

#endif
