/*
 * PURE. How often a job should save (--every auto). What a save costs, and how often the machine is
 * lost, decide: saving too often wastes the first, too seldom the work since. With C the time that
 * a save stops the job for, M the mean time between two losses, and p the share of them that is
 * announced and leaves time for a save, the waste per time is C/T + (1-p)T/2M, least at T =
 * sqrt(2CM/(1-p)). That is Young's interval (CACM 17(9), 1974) where p is 0; like it, it needs C to
 * be small against M, and losses that come at random.
 */
#ifndef CHECKPOINT_INTERVAL_H
#define CHECKPOINT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* until something is known */
#define CHECKPOINT_INTERVAL_MTBF_MS (4 * 3600 * 1000)
/* after so long a first save is made, to see what one costs */
#define CHECKPOINT_INTERVAL_FIRST_MS 300000
#define CHECKPOINT_INTERVAL_LEAST_MS 10000
#define CHECKPOINT_INTERVAL_MOST_MS (6 * 3600 * 1000)

/* What earlier attempts of the job were like. */
struct interruption_history {
	int64_t ran_ms;         /* of those that were interrupted, together; only where known */
	int64_t save_ms;        /* what a save cost in the newest one that knows; -1 */
	uint32_t interruptions; /* with a known duration */
	uint32_t announced;     /* ended preempted, with the work durable */
	uint32_t unannounced;   /* ended without a word, or with work lost */
};

struct checkpoint_interval_facts {
	struct interruption_history past;
	int64_t save_ms; /* measured in this attempt; -1 not yet */
	int64_t mtbf_ms; /* the user's word; 0: none, then the past counts */
	bool fits;       /* a save and its upload fit the notice that would come */
};

struct checkpoint_interval {
	int64_t every_ms;
	/* what it was computed from; -1: nothing is known, and the first save will show */
	int64_t save_ms;
	int64_t mtbf_ms;
	/* p */
	double announced;
};

struct checkpoint_interval checkpoint_interval_choose(
	const struct checkpoint_interval_facts *facts);

/* By more than half: worth a line. */
bool checkpoint_interval_differs(const struct checkpoint_interval *old,
				 const struct checkpoint_interval *now);

/* What a save costs, smoothed: a quarter of the newest. `known_ms` -1: none before. */
int64_t checkpoint_interval_smooth(int64_t known_ms, int64_t newest_ms);

#endif
