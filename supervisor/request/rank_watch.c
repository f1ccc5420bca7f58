#include "rank_watch.h"

#include "base/clock.h"
#include "base/log.h"

#define OBSERVE_EVERY_MS 250

/* Asynchronous savers write from a child process, whose writes count for the rank above it. */
static void observe_files(const struct rank_watch *watch, const struct rank_progress_item *item,
			  const struct recent_writers *writers, struct rank_observation *look)
{
	for (size_t i = 0; i < writers->count; i++) {
		bool since = writers->items[i].ms >= item->asked_ms;

		if (writers->items[i].pid != item->rank.pid &&
		    (!since || !process_is_below(writers->items[i].pid, item->rank.pid)))
			continue;
		look->wrote |= since;
		look->writes |= writers->items[i].ms < watch->progress.begun_ms;
	}
}

static void observe_ranks(struct rank_watch *watch)
{
	static const struct recent_writers none;
	const struct recent_writers *writers =
		watch->tracker ? tracker_writers(watch->tracker) : &none;

	for (size_t i = 0; i < watch->progress.count; i++) {
		const struct rank_progress_item *item = &watch->progress.items[i];
		struct rank_observation look = {.writes = item->writes};
		struct process_sample sample;

		look.gone = !process_read_sample(item->rank.pid, &sample) ||
			    sample.start_time != item->rank.start_time;
		if (!look.gone) {
			look.cpu_ticks = sample.cpu_ticks;
			look.switches = sample.switches;
			look.state = sample.state;
			look.pending = sample.pending & process_signal_bit(watch->signal);
		}
		observe_files(watch, item, writers, &look);
		rank_progress_observe(&watch->progress, i, &look, clock_monotonic_ms());
	}
}

static void publish_rank_progress(struct rank_watch *watch)
{
	char line[RANK_PROGRESS_LINE_SIZE];

	if (!rank_progress_report(&watch->progress, clock_monotonic_ms(), line, sizeof(line)))
		return;
	log_note("%s", line);
	watch->news(watch->arg, line);
}

static void on_observation_due(struct timer *timer)
{
	struct rank_watch *watch = container_of(timer, struct rank_watch, timer);

	observe_ranks(watch);
	publish_rank_progress(watch);
	loop_arm(watch->loop, timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void rank_watch_begin(struct rank_watch *watch, int64_t patience_ms)
{
	rank_progress_begin(&watch->progress, patience_ms, clock_monotonic_ms());
}

void rank_watch_add(struct rank_watch *watch, const struct rank *ranks, size_t count,
		    size_t expected)
{
	if (count == 0)
		return;
	rank_progress_add(&watch->progress, ranks, count, expected, clock_monotonic_ms());
	publish_rank_progress(watch);
	watch->timer.fired = on_observation_due;
	loop_arm(watch->loop, &watch->timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void rank_watch_end(struct rank_watch *watch)
{
	if (!watch->timer.armed)
		return;
	observe_ranks(watch);
	loop_disarm(watch->loop, &watch->timer);
}
