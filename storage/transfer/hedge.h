/*
 * PURE. Which upload is late compared with the others, so that it is sent a second time: about one
 * in a thousand puts to S3 is acknowledged after 5 s instead of 0.2 s (awslabs/aws-c-s3, its upload
 * straggler timeout), and a window of 30 s cannot wait for it.
 */
#ifndef HEDGE_H
#define HEDGE_H

#include <stdbool.h>
#include <stdint.h>

#define HEDGE_SAMPLES 64
#define HEDGE_SAMPLES_LEAST 4 /* with fewer nothing is called late */

/* How long the last ones took. Zero-initialised is empty. */
struct hedge {
	int64_t took_ms[HEDGE_SAMPLES];
	unsigned count; /* ever */
};

void hedge_add_sample(struct hedge *hedge, int64_t took_ms);

/* From what age on an upload is late: max(1 s, P90 + 0.7 s); CLOCK_NEVER while too
 * little is known. */
int64_t hedge_late_ms(const struct hedge *hedge);

struct hedge_facts {
	int64_t age_ms;      /* since it was first sent */
	unsigned sent;       /* how often it was */
	unsigned hedged_now; /* uploads that are under way twice */
	unsigned connections;
};

/* Only once each, and never for more than a quarter of the connections: when all are slow, sending
 * twice makes it worse. */
bool hedge_is_due(const struct hedge *hedge, const struct hedge_facts *facts);

#endif
