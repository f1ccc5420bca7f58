/*
 * PURE. How often a job should save (--every auto). Saving too often wastes the time of the saves;
 * saving too seldom wastes the work since the last one. Let C be the time for which a save stops
 * the job, M the mean time between two losses of the machine, and p the share of losses that are
 * announced early enough for a save. Then an interval of T wastes C/T + (1-p)T/2M of the time,
 * which is least at T = sqrt(2CM/(1-p)). For p = 0 this is Young's interval (CACM 17(9), 1974).
 * Like it, it assumes that C is small against M, and that losses come at random.
 */
#ifndef CHECKPOINT_INTERVAL_H
#define CHECKPOINT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* the assumed mean time between losses, until some are known */
#define CHECKPOINT_INTERVAL_MTBF_MS (4 * 3600 * 1000)
/* the first save is requested after this time, to measure what one costs */
#define CHECKPOINT_INTERVAL_FIRST_MS 300000
#define CHECKPOINT_INTERVAL_LEAST_MS 10000
#define CHECKPOINT_INTERVAL_MOST_MS (6 * 3600 * 1000)

/* How earlier attempts of the job ended. */
struct interruption_history {
	int64_t ran_ms;         /* running time of the interrupted ones, summed, if recorded */
	int64_t save_ms;        /* time of a save in the newest that recorded it; -1: none did */
	uint32_t interruptions; /* attempts that are in ran_ms */
	uint32_t announced;     /* attempts that ended preempted, with the work durable */
	uint32_t unannounced;   /* attempts without an end record, or with work lost */
};

struct checkpoint_interval_facts {
	struct interruption_history past;
	int64_t save_ms; /* measured in this attempt; -1: not yet */
	int64_t mtbf_ms; /* given by the user; 0: not given, so the history is used */
	bool fits;       /* a save and its upload fit into a notice */
};

struct checkpoint_interval {
	int64_t every_ms;
	/* the time of a save that it was computed from; -1: unknown until the first save */
	int64_t save_ms;
	int64_t mtbf_ms;
	/* p above, 0 to 0.95 */
	double announced;
};

/* Between CHECKPOINT_INTERVAL_LEAST_MS and _MOST_MS. */
struct checkpoint_interval checkpoint_interval_choose(
	const struct checkpoint_interval_facts *facts);

/* The two differ by more than half, which is worth a log line. */
bool checkpoint_interval_differs(const struct checkpoint_interval *old,
				 const struct checkpoint_interval *now);

/* The smoothed time of a save: the newest has a weight of one quarter. `known_ms` -1: it is the
 * first. */
int64_t checkpoint_interval_smooth(int64_t known_ms, int64_t newest_ms);

#endif
