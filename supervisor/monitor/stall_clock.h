/*
 * Time that counts only while we are there to see what happens in it. A machine that is paused, a
 * disk that hangs or a SIGSTOP make minutes pass in which nobody has looked; the kernel's clocks go
 * on.
 */
#ifndef SUPERVISOR_AWAKE_H
#define SUPERVISOR_AWAKE_H

#include "base/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct stall_clock {
	struct loop *loop;
	struct timer timer;
	int64_t slice_ms; /* of a longer pause no more than this counts */
	int64_t seen_ms;  /* when we were last seen to be awake; CLOCK_NEVER: nothing is counted */
	int64_t stalled_ms; /* since, and not taken yet */
};

/* For times of `whole_ms`: it may be wrong by a quarter of that, or by 60 ms. */
void stall_clock_init(struct stall_clock *stall_clock, struct loop *loop, int64_t whole_ms);
void stall_clock_release(struct stall_clock *stall_clock);

/* Begins to count, or ends. While it counts, the loop wakes up some thirty times a second. */
void stall_clock_enable(struct stall_clock *stall_clock, bool counts);

/* How long we have stood still since this was asked the last time: 0 while nothing is counted. To
 * be asked before anything is handed in that was queued meanwhile. Does not block. */
int64_t stall_clock_read_and_reset(struct stall_clock *stall_clock);

#endif
