/*
 * PURE. Decides whether to try again, and when. Pauses grow exponentially with full jitter (each is
 * between 0 and the bound), so that a thousand ranks that were refused together do not return
 * together. In the last window before a deadline pauses are short, and only the deadline ends the
 * tries.
 */
#ifndef RETRY_POLICY_H
#define RETRY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum retry_cause {
	RETRY_FAULT,     /* connection, 5xx */
	RETRY_THROTTLED, /* 503 SlowDown, 429 */
};

struct retry_policy_facts {
	enum retry_cause cause;
	unsigned tries;      /* done so far, at least 1 */
	int64_t spent_ms;    /* since the first try began */
	int64_t patience_ms; /* give up after this time, unless the deadline is near */
	int64_t left_ms;     /* to the deadline; CLOCK_NEVER: none */
	int64_t asked_ms;    /* Retry-After; -1: none */
	uint32_t random;     /* any 32 bits */
};

struct retry_policy_decision {
	bool again;
	int64_t after_ms;
};

/* The last try comes at the end of the patience: a longer pause is cut, unless the server asked for
 * it (Retry-After). */
struct retry_policy_decision retry_policy_decide(const struct retry_policy_facts *facts);

/* How long a transfer may go without a byte before it counts as dead, in ms. */
int64_t retry_policy_stall_ms(int64_t left_ms);

#endif
