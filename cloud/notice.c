/* Merges notices (cloud.h). */
#include "base/text.h"
#include "cloud.h"

#include <string.h>

static size_t find_notice(const struct notices *notices, const struct notice *notice)
{
	size_t at = 0;

	while (at < notices->count && (!text_equal(notices->items[at].source, notice->source) ||
				       !text_equal(notices->items[at].identity, notice->identity)))
		at++;
	return at;
}

static void drop_notice(struct notices *notices, size_t at)
{
	notices->count--;
	memmove(&notices->items[at], &notices->items[at + 1],
		(notices->count - at) * sizeof(notices->items[0]));
}

enum notice_origin notice_origin(const struct notice *notice)
{
	if (text_equal(notice->source, "sigterm"))
		return NOTICE_BY_SIGTERM;
	if (!text_equal(notice->source, "slurm"))
		return NOTICE_BY_OTHERS;
	return text_equal(notice->identity, "end") ? NOTICE_AT_SLURM_LIMIT : NOTICE_BY_SLURM_SIGNAL;
}

const struct notice *notices_stop(const struct notices *notices)
{
	const struct notice *soonest = NULL;

	for (size_t i = 0; i < notices->count; i++) {
		const struct notice *item = &notices->items[i];

		if (item->kind == NOTICE_STOP &&
		    (!soonest || item->deadline_ms < soonest->deadline_ms))
			soonest = item;
	}
	return soonest;
}

bool notices_are_slurm_limit(const struct notices *notices)
{
	bool any = false;

	for (size_t i = 0; i < notices->count; i++) {
		const struct notice *item = &notices->items[i];

		if (item->kind != NOTICE_STOP || text_equal(item->source, "gang"))
			continue;
		if (notice_origin(item) != NOTICE_AT_SLURM_LIMIT)
			return false;
		any = true;
	}
	return any;
}

/* The one to drop when the table is full: the latest, as which advice counts. */
static size_t find_latest(const struct notices *notices)
{
	size_t last = 0;

	for (size_t i = 0; i < notices->count; i++)
		if (notices->items[i].deadline_ms > notices->items[last].deadline_ms)
			last = i;
	return last;
}

static bool merge_notice(struct notices *notices, size_t at, const struct notice *notice)
{
	struct notice merged = *notice;

	if (at < notices->count) {
		const struct notice *old = &notices->items[at];

		/* A stop never becomes advice, and repeating it does not postpone it. */
		if (old->kind == NOTICE_STOP && notice->kind == NOTICE_ADVICE)
			return false;
		if (old->kind == NOTICE_STOP && old->deadline_ms < merged.deadline_ms)
			merged.deadline_ms = old->deadline_ms;
		notices->items[at] = merged;
		return true;
	}
	if (notices->count == NOTICES_MOST) {
		size_t victim = find_latest(notices);

		if (notices->items[victim].deadline_ms <= notice->deadline_ms)
			return false;
		drop_notice(notices, victim);
	}
	notices->items[notices->count++] = merged;
	return true;
}

/* The service's clock and ours are read at each poll, so a smaller difference of deadlines is
 * noise. */
bool notices_is_news(const struct notices *announced, const struct notice *notice)
{
	size_t at = find_notice(announced, notice);
	const struct notice *old = at < announced->count ? &announced->items[at] : NULL;

	if (notice->kind == NOTICE_CANCELLED || !old)
		return (old != NULL) == (notice->kind == NOTICE_CANCELLED);
	if (old->kind != notice->kind)
		return old->kind == NOTICE_ADVICE;
	return notice->kind == NOTICE_STOP &&
	       notice->deadline_ms < old->deadline_ms - NOTICE_EARLIER_MS;
}

static enum notice_change withdraw_notice(struct notices *notices, size_t at)
{
	const struct notice *stop = notices_stop(notices);
	bool had_stop = stop != NULL;
	int64_t deadline = had_stop ? stop->deadline_ms : 0;

	if (at == notices->count)
		return NOTICE_NOTHING_NEW;
	drop_notice(notices, at);
	stop = notices_stop(notices);
	if (had_stop && !stop)
		return NOTICE_ALL_CANCELLED;
	return had_stop && stop->deadline_ms > deadline ? NOTICE_LATER_DEADLINE : NOTICE_WITHDRAWN;
}

enum notice_change notices_add(struct notices *notices, const struct notice *notice)
{
	const struct notice *before = notices_stop(notices);
	bool had_stop = before != NULL;
	int64_t deadline = had_stop ? before->deadline_ms : 0;
	size_t at = find_notice(notices, notice);
	bool known = at < notices->count;

	if (notice->kind == NOTICE_NONE)
		return NOTICE_NOTHING_NEW;
	if (notice->kind == NOTICE_CANCELLED)
		return withdraw_notice(notices, at);
	if (!merge_notice(notices, at, notice))
		return NOTICE_NOTHING_NEW;
	if (notice->kind == NOTICE_ADVICE)
		return known ? NOTICE_NOTHING_NEW : NOTICE_NEW_ADVICE;
	if (!had_stop)
		return NOTICE_FIRST_STOP;
	return notices_stop(notices)->deadline_ms < deadline ? NOTICE_EARLIER_DEADLINE
							     : NOTICE_NOTHING_NEW;
}
