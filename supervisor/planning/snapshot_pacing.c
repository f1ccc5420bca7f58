#include "planning.h"

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
