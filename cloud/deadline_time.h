/* PRIVATE. PURE. An end that is known beforehand: --deadline, a walltime. */
#ifndef CLOUD_DEADLINE_TIME_H
#define CLOUD_DEADLINE_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* An end that has been over for longer is left over from an earlier start: it must not
	 * end every new one. */
	DEADLINE_STALE_MS = 60 * 1000,
};

/*
 * "2h", "90" (from now), "2026-04-11T22:05:00Z", "Sat, 11 Apr 2026 22:05:00 GMT", or seconds since
 * 1970 (from 1000000000 on). *is_span: it is a duration, so that a clock that is set does not move
 * it. False for anything else.
 */
bool deadline_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span);

enum deadline_phase {
	DEADLINE_AHEAD, /* *wait_ms until it is to be told */
	DEADLINE_NEAR,  /* to be told now */
	DEADLINE_STALE,
};
/* How long before a job's own limit it is told: as wanted, but a job that is no longer than that
 * keeps three quarters of its time. */
int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms);

enum deadline_phase deadline_decide(int64_t left_ms, int64_t notice_ms, int64_t *wait_ms);

#endif
