#include "request.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

/* Shortest time between two lines, so that ranks which begin to save one by one fill one line. */
#define LINE_EVERY_MS 1000
/* Whose main thread has not run for so long is in one call: between steps it would have. */
#define STILL_MS 3000

void rank_progress_begin(struct rank_progress *rank_progress, int64_t patience_ms, int64_t now_ms)
{
	free(rank_progress->items);
	*rank_progress = (struct rank_progress){
		.begun_ms = now_ms,
		.asked_ms = now_ms,
		.patience_ms = patience_ms,
	};
}

void rank_progress_release(struct rank_progress *rank_progress)
{
	free(rank_progress->items);
	*rank_progress = (struct rank_progress){0};
}

void rank_progress_add(struct rank_progress *rank_progress, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms)
{
	rank_progress->items = memory_grow(rank_progress->items, rank_progress->count + count + 1,
					   sizeof(*rank_progress->items));
	for (size_t i = 0; i < count; i++)
		rank_progress->items[rank_progress->count++] =
			(struct rank_progress_item){.rank = ranks[i], .asked_ms = now_ms};
	rank_progress->expected = expected < rank_progress->count ? rank_progress->count : expected;
	rank_progress->asked_ms = now_ms;
}

void rank_progress_observe(struct rank_progress *rank_progress, size_t index,
			   const struct rank_observation *look, int64_t now_ms)
{
	struct rank_progress_item *item = &rank_progress->items[index];

	item->gone = look->gone;
	item->saving |= look->wrote;
	item->writes = look->writes;
	if (look->gone)
		return;
	item->delivered |= !look->pending;
	if (!item->observed || look->cpu_ticks != item->cpu_ticks ||
	    look->switches != item->switches)
		item->moved_ms = now_ms;
	item->cpu_ticks = look->cpu_ticks;
	item->switches = look->switches;
	item->state = look->state;
	item->observed = true;
}

size_t rank_progress_saving(const struct rank_progress *rank_progress)
{
	size_t count = 0;

	for (size_t i = 0; i < rank_progress->count; i++)
		count += rank_progress->items[i].saving;
	return count;
}

static size_t count_gone(const struct rank_progress *rank_progress)
{
	size_t count = 0;

	for (size_t i = 0; i < rank_progress->count; i++)
		count += rank_progress->items[i].gone && !rank_progress->items[i].saving;
	return count;
}

/* Has this rank not begun to save for longer than the patience? */
static bool rank_progress_is_late(const struct rank_progress *rank_progress, size_t index,
				  int64_t now_ms)
{
	const struct rank_progress_item *item = &rank_progress->items[index];
	size_t saving = rank_progress_saving(rank_progress);

	if (item->saving || item->gone || now_ms - item->asked_ms < rank_progress->patience_ms)
		return false;
	/* In most jobs rank 0 writes for all. Once a rank saves, the others count as late only if
	 * they have written before, or if most ranks are saving. */
	return saving == 0 || item->writes || saving * 2 > rank_progress->count;
}

static size_t count_late(const struct rank_progress *rank_progress, int64_t now_ms, size_t *first)
{
	size_t count = 0;

	for (size_t i = rank_progress->count; i-- > 0;) {
		if (!rank_progress_is_late(rank_progress, i, now_ms))
			continue;
		count++;
		*first = i;
	}
	return count;
}

/* Why, as far as /proc shows: "it waits in one long call". A constant. */
static const char *rank_progress_late_reason(const struct rank_progress_item *item, int64_t now_ms)
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

static bool all_have_ranks(const struct rank_progress *rank_progress)
{
	for (size_t i = 0; i < rank_progress->count; i++)
		if (rank_progress->items[i].rank.number == PROCESS_NO_RANK)
			return false;
	return rank_progress->count > 0;
}

static void format_rank_name(const struct rank_progress_item *item, char *name, size_t capacity)
{
	if (item->rank.number != PROCESS_NO_RANK)
		snprintf(name, capacity, "rank %lld", (long long)item->rank.number);
	else
		snprintf(name, capacity, "process %d", (int)item->rank.pid);
}

static void format_late(const struct rank_progress *rank_progress, int64_t now_ms, char *text,
			size_t capacity)
{
	size_t first = 0, late = count_late(rank_progress, now_ms, &first);
	const struct rank_progress_item *item;
	long long seconds;
	char name[40];

	text[0] = '\0';
	if (late == 0)
		return;
	item = &rank_progress->items[first];
	format_rank_name(item, name, sizeof(name));
	seconds = (long long)(now_ms - item->asked_ms) / 1000;
	if (late == 1)
		snprintf(text, capacity, "%s has not begun to save for %lld s (%s)", name, seconds,
			 rank_progress_late_reason(item, now_ms));
	else
		snprintf(text, capacity, "%zu have not begun to save for %lld s (%s: %s)", late,
			 seconds, name, rank_progress_late_reason(item, now_ms));
}

const char *rank_progress_format(const struct rank_progress *rank_progress, int64_t now_ms,
				 char *line, size_t capacity)
{
	size_t saving = rank_progress_saving(rank_progress), gone = count_gone(rank_progress);
	char late[192], saving_text[32] = "", gone_text[32] = "";

	format_late(rank_progress, now_ms, late, sizeof(late));
	if (saving > 0)
		snprintf(saving_text, sizeof(saving_text), ", %zu saving", saving);
	if (gone > 0)
		snprintf(gone_text, sizeof(gone_text), ", %zu gone", gone);
	if (rank_progress->expected == 1 && late[0])
		snprintf(line, capacity, "%s", late);
	else
		snprintf(line, capacity, "%zu/%zu %s asked in %.1f s%s%s%s%s", rank_progress->count,
			 rank_progress->expected,
			 all_have_ranks(rank_progress) ? "ranks" : "processes",
			 (double)(rank_progress->asked_ms - rank_progress->begun_ms) / 1000,
			 saving_text, gone_text, late[0] ? ", " : "", late);
	return line;
}

static bool has_news(const struct rank_progress *rank_progress, const struct rank_counts *now,
		     int64_t now_ms)
{
	/* For a single process, "asked" and "saving" are logged elsewhere. */
	if (now->count == 0 || (now->expected == 1 && now->late == 0))
		return false;
	if (!rank_progress->said_any)
		return now->late > 0 || now->count == now->expected ||
		       now_ms - rank_progress->begun_ms >= LINE_EVERY_MS;
	if (now_ms - rank_progress->said_ms < LINE_EVERY_MS)
		return false;
	/* The same news again only after twice the time. */
	return memcmp(now, &rank_progress->said, sizeof(*now)) != 0 ||
	       (now->late > 0 &&
		now_ms - rank_progress->begun_ms >= 2 * rank_progress->said_late_ms);
}

bool rank_progress_report(struct rank_progress *rank_progress, int64_t now_ms, char *line,
			  size_t capacity)
{
	size_t first;
	const struct rank_counts now = {
		.count = rank_progress->count,
		.expected = rank_progress->expected,
		.saving = rank_progress_saving(rank_progress),
		.gone = count_gone(rank_progress),
		.late = count_late(rank_progress, now_ms, &first),
	};

	if (!has_news(rank_progress, &now, now_ms))
		return false;
	rank_progress_format(rank_progress, now_ms, line, capacity);
	rank_progress->said = now;
	rank_progress->said_any = true;
	rank_progress->said_ms = now_ms;
	rank_progress->said_late_ms = now_ms - rank_progress->begun_ms;
	return true;
}

json_t *rank_progress_json(const struct rank_progress *rank_progress, bool asking, bool answered,
			   int64_t now_ms)
{
	char line[RANK_PROGRESS_LINE_SIZE];
	json_t *ranks;

	if (rank_progress->count == 0)
		return NULL;
	ranks = json_array();
	for (size_t i = 0; i < rank_progress->count; i++) {
		const struct rank_progress_item *item = &rank_progress->items[i];
		bool numbered = item->rank.number != PROCESS_NO_RANK;
		bool late = asking && rank_progress_is_late(rank_progress, i, now_ms);

		json_array_append_new(ranks,
				      json_pack("{s:o, s:i, s:b, s:b, s:b, s:b, s:f, s:s?}", "rank",
						numbered ? json_integer(item->rank.number)
							 : json_null(),
						"pid", (int)item->rank.pid, "delivered",
						item->delivered, "saving", item->saving, "saved",
						item->saving && answered, "gone", item->gone,
						"seconds", (double)(now_ms - item->asked_ms) / 1000,
						"late",
						late ? rank_progress_late_reason(item, now_ms)
						     : NULL));
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:o}", "text",
			 rank_progress_format(rank_progress, now_ms, line, sizeof(line)), "asked",
			 (json_int_t)rank_progress->count, "expected",
			 (json_int_t)rank_progress->expected, "saving",
			 (json_int_t)rank_progress_saving(rank_progress), "active", asking, "ranks",
			 ranks);
}

/* --- observing the ranks --- */

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
