/* What the core and this folder know of each other as values: how the job ended, and what the core
 * needs to know of the checkpoint directory just now (tracker_look() fills that). */
#ifndef DIRECTORY_VIEW_H
#define DIRECTORY_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* How the job ended; it is not over for most of the time. */
enum job_end {
	JOB_END_NOT_YET,
	/* by itself: what it closed, it meant to leave like that, and it counts as complete */
	JOB_END_CLEAN,
	/* it was asked, and ended in a way that says nothing: what it closed since counts as
	 * complete, unless it lacks something, and else what has its signature */
	JOB_END_ASKED,
	/* what was not complete before is torn */
	JOB_END_CRASHED,
};

struct directory_view {
	bool saving;   /* a save is under way, or goes on beside its number */
	bool own_word; /* the job itself has called its newest complete checkpoint so */
	/* all that is under way is closed since then, and the job's end would prove it complete; 0:
	 * not so, or nobody has told it to end */
	int64_t closed_ms;
	bool replacing; /* fixed names are being written */
	/* until when those are awaited that belong to the newest number; 0: none is */
	int64_t partners_until_ms;
	/* until when the job is not told to end, because more may come to a save of a kind that was
	 * never complete before; 0: not so */
	int64_t unknown_until_ms;
	bool only_running; /* only running files were written so far */
	bool running_work; /* and they are more than curves */
	/* a snapshot now would hold only a part of the newest checkpoint, and nothing new */
	bool holds_less;
	int64_t last_write_ms;       /* to a file that is not a running one; 0: none yet */
	int64_t reported_step;       /* the newest that the job has reported; -1: none */
	uint64_t running_generation; /* changes with every write to a running file */
	bool polled;                 /* a process polls the flag */
};

#endif
