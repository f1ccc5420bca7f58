#include "request.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

/* Shortest time between two lines, so that ranks which begin to save one by one fill one line. */
#define LINE_EVERY_MS 1000
/* Whose main thread has not run for so long is in one call: between steps it would have. */
#define STILL_MS 3000
#define OBSERVE_EVERY_MS 250

void rank_progress_begin(struct rank_progress *progress, int64_t patience_ms, int64_t now_ms)
{
	free(progress->items);
	progress->items = NULL;
	progress->count = progress->expected = 0;
	progress->begun_ms = progress->asked_ms = now_ms;
	progress->patience_ms = patience_ms;
	progress->said_ms = 0;
}

void rank_progress_release(struct rank_progress *progress)
{
	free(progress->items);
	*progress = (struct rank_progress){0};
}

void rank_progress_add(struct rank_progress *progress, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms)
{
	progress->items =
		memory_grow(progress->items, progress->count + count + 1, sizeof(*progress->items));
	for (size_t i = 0; i < count; i++)
		progress->items[progress->count++] =
			(struct rank_progress_item){.rank = ranks[i], .asked_ms = now_ms};
	progress->expected = expected < progress->count ? progress->count : expected;
	progress->asked_ms = now_ms;
}

void rank_progress_observe(struct rank_progress *progress, struct rank_progress_item *item,
			   const struct process_sample *sample, bool wrote, bool writes,
			   int64_t now_ms)
{
	item->gone = !sample;
	item->saving |= wrote;
	item->writes |= writes;
	if (!sample)
		return;
	item->delivered |= !(sample->pending & process_signal_bit(progress->signal));
	if (item->moved_ms == 0 || sample->cpu_ticks != item->cpu_ticks ||
	    sample->switches != item->switches)
		item->moved_ms = now_ms;
	item->cpu_ticks = sample->cpu_ticks;
	item->switches = sample->switches;
	item->state = sample->state;
}

size_t rank_progress_saving(const struct rank_progress *progress)
{
	size_t count = 0;

	for (size_t i = 0; i < progress->count; i++)
		count += progress->items[i].saving;
	return count;
}

/* Has this rank not begun to save for longer than the patience? In most jobs rank 0 writes for all:
 * once a rank saves, the others count as late only if they have written before, or if most save. */
static bool is_late(const struct rank_progress *progress, const struct rank_progress_item *item,
		    size_t saving, int64_t now_ms)
{
	return !item->saving && !item->gone && now_ms - item->asked_ms >= progress->patience_ms &&
	       (saving == 0 || item->writes || saving * 2 > progress->count);
}

/* `late`: the first one. */
static struct rank_counts count_ranks(const struct rank_progress *progress, int64_t now_ms,
				      const struct rank_progress_item **late)
{
	struct rank_counts counts = {
		.asked = progress->count,
		.expected = progress->expected,
		.saving = rank_progress_saving(progress),
	};

	for (size_t i = 0; i < progress->count; i++) {
		const struct rank_progress_item *item = &progress->items[i];

		counts.gone += item->gone && !item->saving;
		if (is_late(progress, item, counts.saving, now_ms) && counts.late++ == 0)
			*late = item;
	}
	return counts;
}

/* Why, as far as /proc shows. A constant. */
static const char *late_reason(const struct rank_progress_item *item, int64_t now_ms)
{
	if (item->state == 'T' || item->state == 't')
		return "it is stopped";
	if (item->state == 'D')
		return "it hangs in the kernel, as for a disk";
	if (!item->delivered)
		return "it blocks the signal";
	return now_ms - item->moved_ms >= STILL_MS ? "it waits in one long call"
						   : "it has got the signal, and goes on";
}

static bool all_have_numbers(const struct rank_progress *progress)
{
	for (size_t i = 0; i < progress->count; i++)
		if (progress->items[i].rank.number == PROCESS_NO_RANK)
			return false;
	return progress->count > 0;
}

/* "rank 3 has not begun to save for 12 s (it waits in one long call)", for the first of `count`. */
static void format_late(const struct rank_progress_item *item, size_t count, int64_t now_ms,
			char *text, size_t capacity)
{
	bool numbered = item->rank.number != PROCESS_NO_RANK;
	char name[40], all[40];

	snprintf(name, sizeof(name), "%s %lld", numbered ? "rank" : "process",
		 numbered ? (long long)item->rank.number : (long long)item->rank.pid);
	snprintf(all, sizeof(all), "%zu have", count);
	snprintf(text, capacity, "%s%s not begun to save for %lld s (%s%s%s)",
		 count == 1 ? name : all, count == 1 ? " has" : "",
		 (long long)(now_ms - item->asked_ms) / 1000, count == 1 ? "" : name,
		 count == 1 ? "" : ": ", late_reason(item, now_ms));
}

/* "8/8 ranks asked in 0.2 s, 7 saving, rank 3 has not begun to save for 12 s (...)". */
static void format_line(const struct rank_progress *progress, int64_t now_ms,
			char line[RANK_PROGRESS_LINE_SIZE])
{
	const struct rank_progress_item *first = NULL;
	struct rank_counts counts = count_ranks(progress, now_ms, &first);
	char late[192] = "", saving[32] = "", gone[32] = "";

	if (first)
		format_late(first, counts.late, now_ms, late, sizeof(late));
	if (counts.saving > 0)
		snprintf(saving, sizeof(saving), ", %zu saving", counts.saving);
	if (counts.gone > 0)
		snprintf(gone, sizeof(gone), ", %zu gone", counts.gone);
	if (counts.expected == 1 && first)
		snprintf(line, RANK_PROGRESS_LINE_SIZE, "%s", late);
	else
		snprintf(line, RANK_PROGRESS_LINE_SIZE, "%zu/%zu %s asked in %.1f s%s%s%s%s",
			 counts.asked, counts.expected,
			 all_have_numbers(progress) ? "ranks" : "processes",
			 (double)(progress->asked_ms - progress->begun_ms) / 1000, saving, gone,
			 first ? ", " : "", late);
}

static bool has_news(const struct rank_progress *progress, const struct rank_counts *now,
		     int64_t now_ms)
{
	int64_t took_ms = now_ms - progress->begun_ms;

	/* For a single process, "asked" and "saving" are logged elsewhere. */
	if (now->asked == 0 || (now->expected == 1 && now->late == 0))
		return false;
	if (progress->said_ms == 0)
		return now->late > 0 || now->asked == now->expected || took_ms >= LINE_EVERY_MS;
	/* The same news again only after twice the time. */
	return now_ms - progress->said_ms >= LINE_EVERY_MS &&
	       (memcmp(now, &progress->said, sizeof(*now)) != 0 ||
		(now->late > 0 && took_ms >= 2 * (progress->said_ms - progress->begun_ms)));
}

bool rank_progress_report(struct rank_progress *progress, int64_t now_ms,
			  char line[RANK_PROGRESS_LINE_SIZE])
{
	const struct rank_progress_item *first;
	struct rank_counts now = count_ranks(progress, now_ms, &first);

	if (!has_news(progress, &now, now_ms))
		return false;
	format_line(progress, now_ms, line);
	progress->said = now;
	progress->said_ms = now_ms;
	return true;
}

json_t *rank_progress_json(const struct rank_progress *progress, bool asking, bool answered,
			   int64_t now_ms)
{
	size_t saving = rank_progress_saving(progress);
	char line[RANK_PROGRESS_LINE_SIZE];
	json_t *ranks;

	if (progress->count == 0)
		return NULL;
	ranks = json_array();
	for (size_t i = 0; i < progress->count; i++) {
		const struct rank_progress_item *item = &progress->items[i];
		bool numbered = item->rank.number != PROCESS_NO_RANK;
		bool late = asking && is_late(progress, item, saving, now_ms);

		json_array_append_new(ranks,
				      json_pack("{s:o, s:i, s:b, s:b, s:b, s:b, s:f, s:s?}", "rank",
						numbered ? json_integer(item->rank.number)
							 : json_null(),
						"pid", (int)item->rank.pid, "delivered",
						item->delivered, "saving", item->saving, "saved",
						item->saving && answered, "gone", item->gone,
						"seconds", (double)(now_ms - item->asked_ms) / 1000,
						"late", late ? late_reason(item, now_ms) : NULL));
	}
	format_line(progress, now_ms, line);
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:o}", "text", line, "asked",
			 (json_int_t)progress->count, "expected", (json_int_t)progress->expected,
			 "saving", (json_int_t)saving, "active", asking, "ranks", ranks);
}

/* --- observing the ranks --- */

/* Asynchronous savers write from a child process, whose writes count for the rank above it. */
static void observe_rank(struct rank_progress *progress, struct rank_progress_item *item)
{
	static const struct recent_writers none;
	const struct recent_writers *writers =
		progress->tracker ? tracker_writers(progress->tracker) : &none;
	struct process_sample sample;
	bool lives = process_read_sample(item->rank.pid, &sample) &&
		     sample.start_time == item->rank.start_time;
	bool wrote = false, writes = false;

	for (size_t i = 0; i < writers->count; i++) {
		bool since = writers->items[i].ms >= item->asked_ms;

		if (writers->items[i].pid != item->rank.pid &&
		    (!since || !process_is_below(writers->items[i].pid, item->rank.pid)))
			continue;
		wrote |= since;
		writes |= writers->items[i].ms < progress->begun_ms;
	}
	rank_progress_observe(progress, item, lives ? &sample : NULL, wrote, writes,
			      clock_monotonic_ms());
}

static void observe_ranks(struct rank_progress *progress)
{
	for (size_t i = 0; i < progress->count; i++)
		observe_rank(progress, &progress->items[i]);
}

static void publish(struct rank_progress *progress)
{
	char line[RANK_PROGRESS_LINE_SIZE];

	if (!rank_progress_report(progress, clock_monotonic_ms(), line))
		return;
	log_note("%s", line);
	progress->news(progress->arg, line);
}

static void on_observation_due(struct timer *timer)
{
	struct rank_progress *progress = container_of(timer, struct rank_progress, timer);

	observe_ranks(progress);
	publish(progress);
	loop_arm(progress->loop, timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void rank_progress_follow(struct rank_progress *progress, const struct rank *ranks, size_t count,
			  size_t expected)
{
	if (count == 0)
		return;
	rank_progress_add(progress, ranks, count, expected, clock_monotonic_ms());
	publish(progress);
	progress->timer.fired = on_observation_due;
	loop_arm(progress->loop, &progress->timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void rank_progress_end(struct rank_progress *progress)
{
	if (!progress->timer.armed)
		return;
	observe_ranks(progress);
	loop_disarm(progress->loop, &progress->timer);
}
