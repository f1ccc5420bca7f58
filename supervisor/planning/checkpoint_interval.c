#include "planning.h"

#include <math.h>

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
