/*
 * PURE. The job's life as a table: (state, event) -> (action, next state). No I/O, no clock. live()
 * in stopping.c feeds it and does what it says. Uploads are a second, small machine beside it
 * (saving.c), because a checkpoint that the job saves by itself is uploaded without
 * any change of the job's state.
 *
 * Finished, preempted and requeued are not states. They are outcomes, which outcome.h computes
 * once, at the end, from facts.
 */
#ifndef LIFECYCLE_H
#define LIFECYCLE_H

#include <stdbool.h>

enum job_state {
	JOB_RESTORING, /* the newest good snapshot is being restored; the job has not started */
	JOB_RUNNING,
	/* a stop is announced, the job has been asked, its checkpoint is not complete yet */
	JOB_CHECKPOINTING,
	JOB_STOPPING,  /* the job has got a SIGTERM, or is being killed */
	JOB_UPLOADING, /* the job has exited; its complete checkpoints are being uploaded */
	JOB_OVER,
	JOB_STATES,
};

enum life_event {
	EV_RESTORED,            /* or there was nothing to restore */
	EV_RESTORE_FAILED,      /* and the job must not start without it */
	EV_LAUNCH_FAILED,       /* the command cannot be executed */
	EV_NOTICE,              /* a stop is announced, or its deadline has changed */
	EV_CANCELLED,           /* the last announced stop was withdrawn */
	EV_CHECKPOINT_COMPLETE, /* a checkpoint that began after the request is complete */
	EV_CHILD_EXITED,
	EV_UPLOADED,     /* no snapshot is running or waiting */
	EV_BUDGET_SPENT, /* the time for this state is over */
	LIFE_EVENTS,
};

enum life_action {
	DO_NOTHING,
	DO_LAUNCH_CHILD,
	DO_CANCEL_RESTORE,
	DO_REQUEST_CHECKPOINT,
	DO_REPLAN,           /* the deadline has moved: divide the time again, re-arm the timer */
	DO_WITHDRAW_REQUEST, /* a checkpoint that comes all the same is still uploaded */
	DO_STOP_CHILD,       /* SIGTERM */
	DO_KILL_CHILD,       /* SIGKILL */
	DO_FLUSH_SNAPSHOTS,  /* upload the newest complete checkpoint if it is not durable */
	DO_CANCEL_SNAPSHOTS,
};

struct lifecycle_transition {
	enum life_action action;
	enum job_state next;
};

/* Defined for every pair: one that is not in the table means "do nothing, stay". */
struct lifecycle_transition lifecycle_step(enum job_state state, enum life_event event);

const char *job_state_name(enum job_state state); /* "restoring" */
/* Indexed by enum job_state; ends with NULL. */
extern const char *const job_state_names[JOB_STATES + 1];

#endif
