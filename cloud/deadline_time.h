/* PRIVATE. PURE. An end that is known beforehand: --deadline, a walltime. */
#ifndef CLOUD_END_REPLY_H
#define CLOUD_END_REPLY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* An end that has been over for longer is left over from an earlier start: it must not end every new one. */
	END_STALE_MS = 60 * 1000,
};

/* "2h", "90" (from now), "2026-04-11T22:05:00Z", "Sat, 11 Apr 2026 22:05:00 GMT", or seconds since 1970 (from 1000000000 on). *is_span:
 * it is a duration, so that a clock that is set does not move it. False for anything else. */
bool end_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span);

enum end_phase {
	END_AHEAD, /* *wait_ms until it is to be told */
	END_NEAR,  /* to be told now */
	END_STALE,
};
/* How long before a job's own limit it is told: as wanted, but a job that is no longer than that keeps three quarters of its time. */
int64_t end_notice_ms(int64_t left_ms, int64_t wanted_ms);

enum end_phase end_decide(int64_t left_ms, int64_t notice_ms, int64_t *wait_ms);

#endif
