/* PURE. A bandwidth limit: a token bucket that may go into debt, because a pack is sent whole. The
 * next pack waits until the debt is paid. */
#ifndef RATE_LIMIT_H
#define RATE_LIMIT_H

#include <stdint.h>

struct rate_limit {
	/* 0: no limit */
	uint64_t bytes_per_second;
	/* when the debt is paid; zero-initialised is long ago */
	int64_t paid_ms;
};

/* Takes `bytes` from the bucket; returns the ms to wait before sending them. Unused bandwidth
 * counts for one second at most. `now_ms` is monotonic. */
int64_t rate_limit_consume(struct rate_limit *rate, uint64_t bytes, int64_t now_ms);

#endif
