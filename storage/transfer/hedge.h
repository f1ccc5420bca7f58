/*
 * PURE. Decides which upload is late compared with the others and is sent a second time. About one
 * in a thousand puts to S3 is acknowledged after 5 s instead of 0.2 s (awslabs/aws-c-s3, its upload
 * straggler timeout), and a notice of 30 s cannot wait for it.
 */
#ifndef HEDGE_H
#define HEDGE_H

#include <stdbool.h>
#include <stdint.h>

#define HEDGE_SAMPLES 64
#define HEDGE_SAMPLES_LEAST 4 /* with fewer samples no upload is late */

/* The durations of the last uploads. Zero-initialised is empty. */
struct hedge {
	int64_t took_ms[HEDGE_SAMPLES];
	unsigned count; /* samples ever added */
};

void hedge_add_sample(struct hedge *hedge, int64_t took_ms);

/* The age in ms from which an upload is late: max(1 s, P90 + 0.7 s). CLOCK_NEVER: too few
 * samples. */
int64_t hedge_late_ms(const struct hedge *hedge);

struct hedge_facts {
	int64_t age_ms;      /* since it was first sent */
	unsigned sent;       /* puts begun for this pack */
	unsigned hedged_now; /* packs that are being sent twice now */
	unsigned connections;
};

/* Whether to send the pack a second time: once per pack, and for at most a quarter of the
 * connections at a time, because sending twice makes it worse when all uploads are slow. */
bool hedge_is_due(const struct hedge *hedge, const struct hedge_facts *facts);

#endif
