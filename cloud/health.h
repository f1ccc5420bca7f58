/* PRIVATE. PURE. When does a source without usable replies become news? */
#ifndef CLOUD_HEALTH_H
#define CLOUD_HEALTH_H

#include "cloud.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HEALTH_START_PATIENCE_MS = 3000, /* for a source that never worked */
	/* for one that did: a 503 or a renewed token is no news */
	HEALTH_ARMED_PATIENCE_MS = 30000,
};

struct health {
	enum source_health state;
	int64_t started_ms;
	int64_t unknown_since_ms; /* CLOCK_NEVER: the last reply was usable */
};

void health_init(struct health *health, int64_t now_ms);
/* Each returns whether the state has changed and is to be reported. */
bool health_known(struct health *health);
bool health_unknown(struct health *health, int64_t now_ms);
bool health_unavailable(struct health *health);

#endif
