/* PURE. A bandwidth limit: a bucket of tokens that may go into debt, because a pack is sent whole.
 * What it owes is waited for by the next one. */
#ifndef RATE_LIMIT_H
#define RATE_LIMIT_H

#include <stdint.h>

struct rate_limit {
	/* 0: no limit */
	uint64_t bytes_per_second;
	/* when all that was taken so far is paid for; zero-initialised is "long ago" */
	int64_t paid_ms;
};

/* Takes `bytes`: how many ms to wait before they are sent. What was not used is
 * kept for one second at most. */
int64_t rate_limit_consume(struct rate_limit *rate, uint64_t bytes, int64_t now_ms);

#endif
