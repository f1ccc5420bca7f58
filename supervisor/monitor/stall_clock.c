/* A timer samples the clock in short slices: time beyond one slice between two samples is a
 * stall. */
#include "monitor.h"

#include "base/clock.h"

#define SLICE_MOST_MS 60

static void sample_clock(struct stall_clock *stall_clock)
{
	int64_t now = clock_monotonic_ms();

	if (stall_clock->seen_ms == CLOCK_NEVER)
		return;
	if (now - stall_clock->seen_ms > stall_clock->slice_ms)
		stall_clock->stalled_ms += now - stall_clock->seen_ms - stall_clock->slice_ms;
	stall_clock->seen_ms = now;
}

static void slice_timer_fired(struct timer *timer)
{
	struct stall_clock *stall_clock = container_of(timer, struct stall_clock, timer);

	sample_clock(stall_clock);
	loop_arm(stall_clock->loop, timer, stall_clock->seen_ms + stall_clock->slice_ms / 2);
}

void stall_clock_init(struct stall_clock *stall_clock, struct loop *loop, int64_t whole_ms)
{
	int64_t slice_ms = whole_ms / 4 < SLICE_MOST_MS ? whole_ms / 4 : SLICE_MOST_MS;

	*stall_clock = (struct stall_clock){
		.loop = loop,
		.timer = {.fired = slice_timer_fired},
		.slice_ms = slice_ms > 2 ? slice_ms : 2,
		.seen_ms = CLOCK_NEVER,
	};
}

void stall_clock_release(struct stall_clock *stall_clock)
{
	loop_disarm(stall_clock->loop, &stall_clock->timer);
}

void stall_clock_enable(struct stall_clock *stall_clock, bool counts)
{
	if (!counts) {
		loop_disarm(stall_clock->loop, &stall_clock->timer);
		stall_clock->seen_ms = CLOCK_NEVER;
		stall_clock->stalled_ms = 0;
	} else if (stall_clock->seen_ms == CLOCK_NEVER) {
		stall_clock->seen_ms = clock_monotonic_ms();
		slice_timer_fired(&stall_clock->timer);
	}
}

int64_t stall_clock_read_and_reset(struct stall_clock *stall_clock)
{
	int64_t stalled_ms;

	sample_clock(stall_clock);
	stalled_ms = stall_clock->stalled_ms;
	stall_clock->stalled_ms = 0;
	return stalled_ms;
}
