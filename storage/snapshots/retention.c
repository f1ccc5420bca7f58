#include "forget.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS (24LL * 3600 * 1000)

const char *keep_reason_name(enum keep_reason reason)
{
	static const char *const names[KEEP_REASONS] = {
		[KEEP_NEWEST] = "newest",
		[KEEP_NEWER] = "newer than the newest good one",
		[KEEP_START] = "an attempt started from it",
		[KEEP_PINNED] = "pinned",
		[KEEP_UNKNOWN] = "written by another version",
		[KEEP_LAST] = "last",
		[KEEP_DAILY] = "last of its day",
		[KEEP_WITHIN] = "within",
		[KEEP_EVERY] = "every",
		[KEEP_TAG] = "tag",
	};

	return names[reason];
}

static void add_reason(unsigned *reasons, enum keep_reason reason)
{
	*reasons |= 1u << reason;
}

/* --- what is kept whatever the policy says --- */

static void apply_always(const struct snapshot_info *items, size_t count, unsigned *reasons)
{
	bool seen_newest = false, seen_step = false;

	for (size_t i = 0; i < count; i++) {
		bool has_step = items[i].state == SNAPSHOT_GOOD && items[i].step >= 0;

		if (items[i].newest || (has_step && !seen_step))
			add_reason(&reasons[i], KEEP_NEWEST);
		seen_step = seen_step || has_step;
		seen_newest = seen_newest || items[i].newest;
		/* Damage may be temporary (a listing that lags, a mount that is gone), so nothing
		 * newer than the newest good snapshot is removed. */
		if (!seen_newest)
			add_reason(&reasons[i], KEEP_NEWER);
		if (items[i].started_from)
			add_reason(&reasons[i], KEEP_START);
		if (items[i].pinned)
			add_reason(&reasons[i], KEEP_PINNED);
		if (items[i].newer)
			add_reason(&reasons[i], KEEP_UNKNOWN);
	}
}

/* --- the rules --- */

/* Damage may be of the moment (a pack that comes back from an archive), and so may what made a
 * snapshot suspect: one of these does not count, and is kept for as long as a good one in its place
 * would be. */
static bool may_be_of_line(const struct snapshot_info *item, enum snapshot_state line)
{
	return item->state == line ||
	       (line == SNAPSHOT_GOOD && !item->newer &&
		(item->state == SNAPSHOT_DAMAGED || item->state == SNAPSHOT_SUSPECT));
}

/* Late snapshots play no part. */
static void apply_last(uint32_t most, enum snapshot_state line, const struct snapshot_info *items,
		       size_t count, unsigned *reasons)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < count && kept < most; i++) {
		if (may_be_of_line(&items[i], line))
			add_reason(&reasons[i], KEEP_LAST);
		kept += items[i].state == line;
	}
}

/* The damaged ones behind the last good one of a day stay with it, and those of an unknown day. */
static void apply_daily(enum snapshot_state line, const struct snapshot_info *items, size_t count,
			unsigned *reasons)
{
	int64_t kept_day = INT64_MIN, created_ms;

	for (size_t i = 0; i < count; i++) {
		bool known = datetime_parse(items[i].created, &created_ms);

		if (!may_be_of_line(&items[i], line) || (known && created_ms / DAY_MS == kept_day))
			continue;
		if (known && items[i].state == line)
			kept_day = created_ms / DAY_MS;
		add_reason(&reasons[i], KEEP_DAILY);
	}
}

/*
 * Measured from the newest snapshot, so that a job that rested for a month does not lose its
 * history at its next start. Measured from now if the newest is in the future, so that one wrong
 * clock does not make all others old.
 */
static void apply_within(int64_t within_ms, int64_t now_ms, const struct snapshot_info *items,
			 size_t count, unsigned *reasons)
{
	int64_t newest_ms = 0, created_ms;

	for (size_t i = 0; i < count; i++)
		if (datetime_parse(items[i].created, &created_ms) && created_ms > newest_ms)
			newest_ms = created_ms;
	if (newest_ms == 0 || newest_ms > now_ms)
		newest_ms = now_ms;
	for (size_t i = 0; i < count; i++)
		if (!datetime_parse(items[i].created, &created_ms) ||
		    created_ms >= newest_ms - within_ms)
			add_reason(&reasons[i], KEEP_WITHIN);
}

/* The first snapshot of each range of `steps` steps: the same one is chosen at every run. Until
 * then the damaged ones of that range stay, too. */
static void apply_every(int64_t steps, enum snapshot_state line, const struct snapshot_info *items,
			size_t count, unsigned *reasons)
{
	int64_t stretch = -1;

	for (size_t i = count; i > 0; i--) {
		const struct snapshot_info *item = &items[i - 1];

		if (!may_be_of_line(item, line) || item->step < 0 || item->step / steps <= stretch)
			continue;
		if (item->state == line)
			stretch = item->step / steps;
		add_reason(&reasons[i - 1], KEEP_EVERY);
	}
}

static void apply_tags(const struct forget_policy *policy, const struct snapshot_info *items,
		       size_t count, unsigned *reasons)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < policy->keep_tag_count; j++)
			if (items[i].tag[0] && strcmp(items[i].tag, policy->keep_tags[j]) == 0)
				add_reason(&reasons[i], KEEP_TAG);
}

void retention_decide(const struct forget_policy *policy, const struct snapshot_info *items,
		      size_t count, int64_t now_ms, unsigned *reasons)
{
	/* Snapshots superseded by a restore are counted separately: the first commit after the
	 * restore must not remove all of them. */
	static const enum snapshot_state lines[] = {SNAPSHOT_GOOD, SNAPSHOT_SUPERSEDED_BY_RESTORE};

	memset(reasons, 0, count * sizeof(*reasons));
	apply_always(items, count, reasons);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (policy->keep_last > 0)
			apply_last(policy->keep_last, lines[i], items, count, reasons);
		if (policy->keep_daily)
			apply_daily(lines[i], items, count, reasons);
		if (policy->keep_every > 0)
			apply_every(policy->keep_every, lines[i], items, count, reasons);
	}
	if (policy->keep_within_ms > 0)
		apply_within(policy->keep_within_ms, now_ms, items, count, reasons);
	apply_tags(policy, items, count, reasons);
}

/* --- packs --- */

enum pack_verdict retention_judge_pack(const struct retention_pack *pack,
				       struct snapshot_id newest_good, int64_t now_ms,
				       int64_t age_ms)
{
	if (pack->named || snapshot_id_is_none(pack->written_for))
		return PACK_NEEDED;
	if (snapshot_id_compare(pack->written_for, newest_good) > 0)
		return PACK_DEFER;
	if (age_ms == RETENTION_ANY_AGE)
		return PACK_COLLECT;
	return pack->modified_ms > 0 && now_ms > 0 && pack->modified_ms <= now_ms - age_ms
		       ? PACK_COLLECT
		       : PACK_DEFER;
}

struct snapshot_id retention_pack_id(const char *key)
{
	uint64_t attempt, sequence;
	char numbers[2][16];
	int end = 0;

	if (sscanf(key, "packs/%15[0-9]/%15[0-9]-%n", numbers[0], numbers[1], &end) != 2 ||
	    end == 0 || !text_ends(key, ".pack") ||
	    !text_to_u64(numbers[0], UINT32_MAX, &attempt) ||
	    !text_to_u64(numbers[1], UINT32_MAX, &sequence) || attempt == 0 || sequence == 0)
		return (struct snapshot_id){0};
	return (struct snapshot_id){(uint32_t)attempt, (uint32_t)sequence};
}
