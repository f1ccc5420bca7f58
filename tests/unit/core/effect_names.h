/* The names of effects, for what a test says of them. */
#ifndef EFFECT_NAMES_H
#define EFFECT_NAMES_H

#include "core/core.h"

/* "take_snapshot" */
static const char *job_effect_name(enum job_effect_kind kind)
{
	static const char *const names[JOB_EFFECTS] = {
		[JOB_DO_LAUNCH] = "launch",
		[JOB_DO_KEEP_SIGNAL] = "keep_signal",
		[JOB_DO_CLAIM] = "claim",
		[JOB_DO_PASS_SIGNAL] = "pass_signal",
		[JOB_DO_TAKE_FOR_NOTICE] = "take_for_notice",
		[JOB_DO_TELL_NEXT_ATTEMPT] = "tell_next_attempt",
		[JOB_DO_ASK] = "ask",
		[JOB_DO_STOP_ASKING] = "stop_asking",
		[JOB_DO_CONFIRM_FLAG] = "confirm_flag",
		[JOB_DO_REPLY] = "reply",
		[JOB_DO_REFUSE] = "refuse",
		[JOB_DO_SHARE_REQUEST] = "share_request",
		[JOB_DO_FORWARD_SIGTERM] = "forward_sigterm",
		[JOB_DO_TERMINATE] = "terminate",
		[JOB_DO_TERMINATE_REST] = "terminate_rest",
		[JOB_DO_KILL] = "kill",
		[JOB_DO_HOLD_SIGTERM] = "hold_sigterm",
		[JOB_DO_UNHOLD_SIGTERM] = "unhold_sigterm",
		[JOB_DO_RELEASE_SIGTERM] = "release_sigterm",
		[JOB_DO_TAKE_SNAPSHOT] = "take_snapshot",
		[JOB_DO_CANCEL] = "cancel",
		[JOB_DO_SET_COMMIT_DEADLINE] = "set_commit_deadline",
		[JOB_DO_HURRY_STORE] = "hurry_store",
		[JOB_DO_CALM_STORE] = "calm_store",
		[JOB_DO_START_RETENTION] = "start_retention",
		[JOB_DO_STOP_RETENTION] = "stop_retention",
		[JOB_DO_LIMIT_RETENTION] = "limit_retention",
		[JOB_DO_LEAVE_GANG] = "leave_gang",
		[JOB_DO_SAY] = "say",
		[JOB_DO_END] = "end",
	};

	return names[kind];
}

#endif
