#include "stall_clock.h"

#include "base/clock.h"

#define SLICE_MOST_MS 60

static void look(struct awake *awake)
{
	int64_t now = clock_monotonic_ms();

	if (awake->seen_ms == CLOCK_NEVER)
		return;
	if (now - awake->seen_ms > awake->slice_ms)
		awake->stalled_ms += now - awake->seen_ms - awake->slice_ms;
	awake->seen_ms = now;
}

static void look_again(struct timer *timer)
{
	struct awake *awake = container_of(timer, struct awake, timer);

	look(awake);
	loop_arm(awake->loop, timer, awake->seen_ms + awake->slice_ms / 2);
}

void awake_init(struct awake *awake, struct loop *loop, int64_t whole_ms)
{
	int64_t slice_ms = whole_ms / 4 < SLICE_MOST_MS ? whole_ms / 4 : SLICE_MOST_MS;

	*awake = (struct awake){.loop = loop,
		.timer = {.fired = look_again},
		.slice_ms = slice_ms > 2 ? slice_ms : 2,
		.seen_ms = CLOCK_NEVER};
}

void awake_release(struct awake *awake)
{
	loop_disarm(awake->loop, &awake->timer);
}

void awake_count(struct awake *awake, bool counts)
{
	if (!counts) {
		loop_disarm(awake->loop, &awake->timer);
		awake->seen_ms = CLOCK_NEVER;
		awake->stalled_ms = 0;
	} else if (awake->seen_ms == CLOCK_NEVER) {
		awake->seen_ms = clock_monotonic_ms();
		look_again(&awake->timer);
	}
}

int64_t awake_take_stall(struct awake *awake)
{
	int64_t stalled_ms;

	look(awake);
	stalled_ms = awake->stalled_ms;
	awake->stalled_ms = 0;
	return stalled_ms;
}
