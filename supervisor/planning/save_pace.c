#include "planning.h"

#include "base/clock.h"

#include <math.h>

/* --- checkpoint_interval --- */

/* Even if all losses so far were announced, some machines just die. */
#define ANNOUNCED_MOST 0.95

/* One more interruption is assumed, after the default time, so that few data do not decide alone.
 */
static int64_t mean_time_to_loss(const struct checkpoint_interval_facts *facts)
{
	if (facts->mtbf_ms > 0)
		return facts->mtbf_ms;
	return (facts->past.ran_ms + CHECKPOINT_INTERVAL_MTBF_MS) /
	       ((int64_t)facts->past.interruptions + 1);
}

/* Laplace's rule of succession: one half until something has happened. */
static double announced_share(const struct checkpoint_interval_facts *facts)
{
	double total = (double)facts->past.announced + facts->past.unannounced;
	double share = (facts->past.announced + 1.0) / (total + 2.0);

	if (!facts->fits)
		return 0;
	return share < ANNOUNCED_MOST ? share : ANNOUNCED_MOST;
}

static int64_t clamp(double value, int64_t least, int64_t most)
{
	if (value < (double)least)
		return least;
	return value > (double)most ? most : (int64_t)value;
}

struct checkpoint_interval checkpoint_interval_choose(const struct checkpoint_interval_facts *facts)
{
	struct checkpoint_interval interval = {
		.save_ms = facts->save_ms >= 0 ? facts->save_ms : facts->past.save_ms,
		.mtbf_ms = mean_time_to_loss(facts),
		.announced = announced_share(facts),
	};
	double cost = (double)interval.save_ms, mean = (double)interval.mtbf_ms;
	double best;

	if (interval.save_ms < 0) {
		interval.every_ms = CHECKPOINT_INTERVAL_FIRST_MS;
		return interval;
	}
	/* Daly, FGCS 22(3), 2006: if a save costs more than twice the mean time, the best interval
	 * is the mean time. */
	best = cost < 2 * mean ? sqrt(2 * cost * mean / (1 - interval.announced)) : mean;
	/* A job that saves for more than half of the time gets nothing done. */
	interval.every_ms = clamp(best > 2 * cost ? best : 2 * cost, CHECKPOINT_INTERVAL_LEAST_MS,
				  CHECKPOINT_INTERVAL_MOST_MS);
	return interval;
}

bool checkpoint_interval_differs(const struct checkpoint_interval *old,
				 const struct checkpoint_interval *now)
{
	return 2 * now->every_ms > 3 * old->every_ms || 3 * now->every_ms < 2 * old->every_ms;
}

int64_t checkpoint_interval_smooth(int64_t known_ms, int64_t newest_ms)
{
	return known_ms < 0 ? newest_ms : (3 * known_ms + newest_ms) / 4;
}

/* --- save_rhythm --- */

/* Checkpoints that follow each other within this time, or within this share of the usual gap, are
 * one save. */
#define SAME_SAVE_MS 250
#define SAME_SAVE_SHARE 4
/* One long pause, such as an evaluation, says little about the next gap. */
#define LONG_GAPS 4

void save_rhythm_note(struct save_rhythm *rhythm, int64_t now_ms)
{
	int64_t gap_ms = now_ms - rhythm->last_ms;
	int64_t most_ms = LONG_GAPS * rhythm->gap_ms;

	if (rhythm->last_ms == 0) {
		rhythm->last_ms = now_ms;
		return;
	}
	if (gap_ms < SAME_SAVE_MS || gap_ms < rhythm->gap_ms / SAME_SAVE_SHARE)
		return;
	rhythm->last_ms = now_ms;
	if (rhythm->gap_ms == 0)
		rhythm->gap_ms = gap_ms;
	else
		rhythm->gap_ms = (3 * rhythm->gap_ms + (gap_ms < most_ms ? gap_ms : most_ms)) / 4;
}

/* --- snapshot_pacing --- */

/* A checkpoint is often followed by a small file that names it: it is waited for until nothing was
 * written for SETTLE_MS, or for SETTLE_MOST_MS if the writes go on. */
#define SETTLE_MS 50
#define SETTLE_MOST_MS 200
/* Fixed names that belong to the checkpoint are waited for at most so long. */
#define PARTNERS_MOST_MS 30000
/* Running files alone are saved once in each interval, and in 1/RUNNING_SHARE of the run's time. */
#define RUNNING_SHARE 100
/* ... and once a second when it is urgent. */
#define RUNNING_URGENT_MS 1000
/* Once the few that may follow each other are used up, urgent ones are begun so far apart. */
#define URGENT_MS 500

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Until the directory has settled. */
static int64_t settled_at_ms(const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms =
		earlier_of(facts->last_write_ms + SETTLE_MS, facts->pending_ms + SETTLE_MOST_MS);

	at_ms = later_of(at_ms, facts->replacing_most_ms > 0
					? facts->pending_ms + facts->replacing_most_ms
					: 0);
	return later_of(at_ms,
			earlier_of(facts->partners_until_ms, facts->pending_ms + PARTNERS_MOST_MS));
}

static int64_t running_at_ms(const struct snapshot_pacing_facts *facts)
{
	int64_t since_ms = facts->begun_ms > 0 ? facts->begun_ms : facts->launched_ms;
	int64_t every_ms =
		later_of(facts->interval_ms, (facts->now_ms - facts->launched_ms) / RUNNING_SHARE);

	return since_ms + (facts->urgent ? earlier_of(every_ms, RUNNING_URGENT_MS) : every_ms);
}

/* As far as the cost goes. */
static int64_t allowed_at_ms(const struct snapshot_pacer *pacer,
			     const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms = pacer->paid_until_ms - (SNAPSHOT_PACING_BURST - 1) * facts->interval_ms;

	return facts->urgent ? earlier_of(at_ms, facts->begun_ms + URGENT_MS) : at_ms;
}

int64_t snapshot_pacing_wait_ms(const struct snapshot_pacer *pacer,
				const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms;

	if (facts->pending_ms == 0 && !facts->only_running)
		return SNAPSHOT_PACING_NEVER;
	at_ms = facts->pending_ms > 0 ? settled_at_ms(facts) : running_at_ms(facts);
	if (facts->interval_ms > 0 && !facts->last)
		at_ms = later_of(at_ms, allowed_at_ms(pacer, facts));
	return later_of(at_ms - facts->now_ms, 0);
}

void snapshot_pacing_note_begun(struct snapshot_pacer *pacer, int64_t now_ms, int64_t interval_ms)
{
	int64_t until_ms = later_of(pacer->paid_until_ms, now_ms) + interval_ms;

	/* However many urgent ones there were: the next one waits for one interval at most. */
	pacer->paid_until_ms = earlier_of(until_ms, now_ms + SNAPSHOT_PACING_BURST * interval_ms);
}

/* --- what is lost --- */

int64_t recovery_point_kept_ms(const struct attempt_work *work)
{
	return work->written_ms > work->launched_ms ? work->written_ms - work->launched_ms : 0;
}

int64_t recovery_point_lost_ms(const struct attempt_work *work)
{
	bool kept = work->written_ms >= work->launched_ms;
	bool obeyed = work->told_ms > 0 && (!work->killed || work->answered);
	int64_t from_ms = kept ? work->written_ms : work->launched_ms;
	int64_t end_ms =
		obeyed && work->told_ms < work->exited_ms ? work->told_ms : work->exited_ms;

	if (kept && work->lost_steps == 0)
		return 0;
	return end_ms > from_ms ? end_ms - from_ms : 0;
}
