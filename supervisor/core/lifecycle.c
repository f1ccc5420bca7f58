#include "model.h"

#include <stddef.h>

/* `listed` distinguishes an entry from an empty cell, whose action and state would both be 0, which
 * are valid values. */
struct transition_cell {
	bool listed;
	struct lifecycle_transition transition;
};

#define ON(event, action, next) [event] = {true, {action, next}}

// clang-format off
static const struct transition_cell transitions[JOB_STATES][LIFE_EVENTS] = {
	[JOB_RESTORING] = {
		ON(EV_RESTORED,       DO_LAUNCH_CHILD,       JOB_RUNNING),
		ON(EV_RESTORE_FAILED, DO_NOTHING,            JOB_OVER),
		/* The job has not started, so nothing can be lost: leave at once. */
		ON(EV_NOTICE,         DO_CANCEL_RESTORE,     JOB_OVER),
	},
	[JOB_RUNNING] = {
		ON(EV_LAUNCH_FAILED,  DO_NOTHING,            JOB_OVER),
		ON(EV_NOTICE,         DO_REQUEST_CHECKPOINT, JOB_CHECKPOINTING),
		ON(EV_CHILD_EXITED,   DO_FLUSH_SNAPSHOTS,    JOB_UPLOADING),
	},
	[JOB_CHECKPOINTING] = {
		ON(EV_LAUNCH_FAILED,  DO_NOTHING,            JOB_OVER),
		ON(EV_NOTICE,         DO_REPLAN,             JOB_CHECKPOINTING),
		ON(EV_CANCELLED,      DO_WITHDRAW_REQUEST,   JOB_RUNNING),
		ON(EV_CHECKPOINT_COMPLETE,         DO_STOP_CHILD,         JOB_STOPPING),
		ON(EV_BUDGET_SPENT,   DO_STOP_CHILD,         JOB_STOPPING),
		ON(EV_CHILD_EXITED,   DO_FLUSH_SNAPSHOTS,    JOB_UPLOADING),
	},
	[JOB_STOPPING] = {
		ON(EV_LAUNCH_FAILED,  DO_NOTHING,            JOB_OVER),
		ON(EV_NOTICE,         DO_REPLAN,             JOB_STOPPING),
		ON(EV_CANCELLED,      DO_REPLAN,             JOB_STOPPING),
		ON(EV_BUDGET_SPENT,   DO_KILL_CHILD,         JOB_STOPPING),
		ON(EV_CHILD_EXITED,   DO_FLUSH_SNAPSHOTS,    JOB_UPLOADING),
	},
	[JOB_UPLOADING] = {
		ON(EV_NOTICE,         DO_REPLAN,             JOB_UPLOADING),
		ON(EV_CANCELLED,      DO_REPLAN,             JOB_UPLOADING),
		ON(EV_UPLOADED,       DO_NOTHING,            JOB_OVER),
		ON(EV_BUDGET_SPENT,   DO_CANCEL_SNAPSHOTS,   JOB_OVER),
	},
};
// clang-format on

struct lifecycle_transition lifecycle_step(enum job_state state, enum life_event event)
{
	const struct transition_cell *cell = &transitions[state][event];

	if (!cell->listed)
		return (struct lifecycle_transition){DO_NOTHING, state};
	return cell->transition;
}

const char *const job_state_names[JOB_STATES + 1] = {
	[JOB_RESTORING] = "restoring",         [JOB_RUNNING] = "running",
	[JOB_CHECKPOINTING] = "checkpointing", [JOB_STOPPING] = "stopping",
	[JOB_UPLOADING] = "uploading",         [JOB_OVER] = "ended",
};
