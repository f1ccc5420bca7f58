/*
 * PURE. The time that a notice leaves, divided among what has to happen in it. Monotonic
 * milliseconds.
 */
#ifndef DEADLINE_BUDGET_H
#define DEADLINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct deadline_budget_facts {
	int64_t now_ms;
	/* when the machine is gone */
	int64_t deadline_ms;
	/* what a snapshot has taken from seal to commit so far; -1: none measured yet */
	int64_t upload_ms;
};

struct deadline_budget {
	/* a fresh checkpoint is worth waiting for until then */
	int64_t ask_until_ms;
	/* so long at most a save under way is waited for, before the job is told to end */
	int64_t stop_until_ms;
	/* what is not committed then is given up, so that we leave in order */
	int64_t commit_until_ms;
};

/* now <= ask <= stop <= commit <= deadline, also for a deadline that has passed. */
struct deadline_budget deadline_budget_split(const struct deadline_budget_facts *facts);

/*
 * When a job that was told to end at `told_ms` is killed. What it would still write is torn by
 * that: time is won only for a complete checkpoint that is not durable yet (`pending`), and then
 * the job gets half of what was left at least.
 */
int64_t deadline_budget_kill_ms(const struct deadline_budget *budget, int64_t told_ms,
				bool pending);

#endif
