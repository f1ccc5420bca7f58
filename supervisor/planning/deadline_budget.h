/*
 * PURE. Divides the time that a notice leaves: wait for a checkpoint, finish a save, upload, exit.
 * The deadline itself is job_deadline_ms() of the job. All times are milliseconds of the monotonic
 * clock.
 */
#ifndef DEADLINE_BUDGET_H
#define DEADLINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct deadline_budget_facts {
	int64_t now_ms;
	/* the end of the machine */
	int64_t deadline_ms;
	/* how long the last snapshot took from complete to committed; -1: none measured yet */
	int64_t upload_ms;
};

struct deadline_budget {
	/* latest moment to wait for a save that has not begun */
	int64_t ask_until_ms;
	/* latest moment to wait for a running save before SIGTERM */
	int64_t stop_until_ms;
	/* latest moment for the commit; an upload is cancelled then, to leave time for an orderly
	 * exit */
	int64_t commit_until_ms;
};

/* now <= ask <= stop <= commit <= deadline. If the deadline has passed, all are now. */
struct deadline_budget deadline_budget_split(const struct deadline_budget_facts *facts);

/* A job that was told to end and goes on. */
struct kill_facts {
	int64_t told_ms; /* when it got its SIGTERM */
	bool pending;    /* a complete checkpoint is not durable */
	/*
	 * All that it was writing is closed since then, and its end would prove that complete; 0:
	 * not so. Whether it handles SIGTERM says nothing more: it may be between two files all the
	 * same.
	 */
	int64_t closed_ms;
};

/*
 * When to tell the other processes of a job that has not ended, of which `since_ms` its main
 * process knows and which is killed at `kill_ms`: SIGTERM ends a save under way if nobody handles
 * it, so that waits, but there has to be time left to end in.
 */
int64_t deadline_budget_rest_ms(int64_t since_ms, int64_t kill_ms, bool saving);

/*
 * When to kill it: at commit_until_ms. Killing it earlier helps only the upload, of what is
 * complete or of what its end proves complete, and may tear what the job still writes. So even then
 * it has the time that the upload does not need, at least half of the time since it was told, and
 * half of the time since it closed its last file: it is killed once it has been still for as long
 * as there is left.
 */
int64_t deadline_budget_kill_ms(const struct deadline_budget *budget,
				const struct kill_facts *facts);

#endif
