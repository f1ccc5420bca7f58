/*
 * PURE. The job's life as a table: (state, event) -> (action, next state). No I/O, no clock; job.c
 * feeds it and carries the actions out. Snapshots are a second, small machine beside it
 * (snapshot_queue.c), because a checkpoint that the job takes by itself while it is running is
 * shipped without any change of the job's state.
 *
 * Finished, preempted and requeued are no states but an outcome, computed once from facts
 * (outcome.h).
 */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdbool.h>

enum job_state {
	JOB_RESTORING, /* the newest good snapshot is being put back; the job has not begun */
	JOB_RUNNING,
	/* a stop is announced, the job has been asked, its checkpoint is awaited */
	JOB_CHECKPOINTING,
	JOB_STOPPING,  /* the job has been told to end, or is being killed */
	JOB_UPLOADING, /* the job is gone; what is complete is being made durable */
	JOB_OVER,
	JOB_STATES,
};

enum job_event {
	EV_RESTORED,            /* or there was nothing to restore */
	EV_RESTORE_FAILED,      /* and the job must not begin without it */
	EV_NOTICE,              /* a stop is announced, or a known one comes sooner */
	EV_CANCELLED,           /* the last announced stop was withdrawn */
	EV_CHECKPOINT_COMPLETE, /* a checkpoint that began after the request is complete */
	EV_CHILD_EXITED,
	EV_UPLOADED,     /* no snapshot is running or waiting */
	EV_BUDGET_SPENT, /* the time given to this state is over */
	JOB_EVENTS,
};

enum job_action {
	DO_NOTHING,
	DO_LAUNCH_CHILD,
	DO_CANCEL_RESTORE,
	DO_REQUEST_CHECKPOINT,
	DO_REPLAN,           /* the deadline moved: set this state's timer anew */
	DO_WITHDRAW_REQUEST, /* what has been asked for is still shipped when it comes */
	DO_STOP_CHILD,       /* ask it to end */
	DO_KILL_CHILD,
	DO_FLUSH_SNAPSHOTS, /* ship what is complete and not yet durable */
	DO_CANCEL_SNAPSHOTS,
};

struct lifecycle_transition {
	enum job_action action;
	enum job_state next;
};

/* Total: a pair that is not in the table means "do nothing, stay". */
struct lifecycle_transition lifecycle_step(enum job_state state, enum job_event event);

const char *job_state_name(enum job_state state); /* "restoring" */
/* All of them, by enum job_state; ends with NULL. */
extern const char *const job_state_names[JOB_STATES + 1];

#endif
