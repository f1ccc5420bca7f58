/*
 * Measures how long this process was stalled: by a paused machine, a disk that hangs, or a SIGSTOP.
 * The kernel's clocks run on meanwhile, but nothing was observed, so that time must not count as
 * quiet time.
 */
#ifndef STALL_CLOCK_H
#define STALL_CLOCK_H

#include "base/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct stall_clock {
	struct loop *loop;
	struct timer timer;
	int64_t slice_ms;   /* longest pause between two samples that is not a stall */
	int64_t seen_ms;    /* time of the last sample; CLOCK_NEVER: disabled */
	int64_t stalled_ms; /* stalled since the last read */
};

/* `whole_ms`: the duration to be measured against. The error is at most a quarter of it, or 60
 * ms. */
void stall_clock_init(struct stall_clock *stall_clock, struct loop *loop, int64_t whole_ms);
void stall_clock_release(struct stall_clock *stall_clock);

/* Begins or ends the measuring. While it runs, the loop wakes up some thirty times a second. */
void stall_clock_enable(struct stall_clock *stall_clock, bool counts);

/* Milliseconds stalled since the last call; 0 while disabled. Call it before events that were
 * queued meanwhile are handed in. Does not block. */
int64_t stall_clock_read_and_reset(struct stall_clock *stall_clock);

#endif
