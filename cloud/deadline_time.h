/* PRIVATE. PURE, but for the local time zone. A known end: --deadline, a time limit. */
#ifndef CLOUD_DEADLINE_TIME_H
#define CLOUD_DEADLINE_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Ignore an end that passed longer ago than this: it is from an earlier start, and would
	 * stop every new one. */
	DEADLINE_STALE_MS = 60 * 1000,
};

/*
 * Parses "2h", "90" (seconds from now), "2026-04-11T22:05:00Z", "Sat, 11 Apr 2026 22:05:00 GMT", or
 * seconds since 1970 (from 1000000000 on). *is_span: it is a duration, so setting the clock does
 * not move it. False for anything else.
 */
bool deadline_parse(const char *text, int64_t now_wall_ms, int64_t *wall_ms, bool *is_span);

/* What `scontrol --oneliner show job` says of a job's end: its EndTime, in the local zone. It is
 * "Unknown" where there is no time limit. */
enum slurm_end {
	SLURM_END_KNOWN, /* *wall_ms */
	SLURM_END_NEVER,
	SLURM_END_UNREADABLE,
};
enum slurm_end slurm_end_parse(const char *shown, int64_t *wall_ms);

enum deadline_phase {
	DEADLINE_AHEAD, /* *wait_ms: time until the notice is due */
	DEADLINE_NEAR,  /* the notice is due */
	DEADLINE_STALE,
};
/* How long before a time limit the notice is given, in ms: `wanted_ms`, but a short job keeps three
 * quarters of its time. */
int64_t deadline_fit_notice_ms(int64_t left_ms, int64_t wanted_ms);

enum deadline_phase deadline_decide(int64_t left_ms, int64_t notice_ms, int64_t *wait_ms);

#endif
