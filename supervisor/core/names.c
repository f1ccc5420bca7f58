#include "effect.h"
#include "event.h"

const char *job_event_name(enum job_event_kind kind)
{
	static const char *const names[JOB_EVENTS + 1] = {
		[JOB_EV_RESTORED] = "restored",
		[JOB_EV_RESTORE_FAILED] = "restore_failed",
		[JOB_EV_CLAIMED] = "claimed",
		[JOB_EV_LAUNCHED] = "launched",
		[JOB_EV_LAUNCH_FAILED] = "launch_failed",
		[JOB_EV_SIGNAL] = "signal",
		[JOB_EV_STOP_ANNOUNCED] = "stop_announced",
		[JOB_EV_STOP_CANCELLED] = "stop_cancelled",
		[JOB_EV_ADVICE] = "advice",
		[JOB_EV_CLIENT] = "client",
		[JOB_EV_CLIENT_GONE] = "client_gone",
		[JOB_EV_SENDING] = "sending",
		[JOB_EV_ASKED] = "asked",
		[JOB_EV_CANNOT_ASK] = "cannot_ask",
		[JOB_EV_SAVE_STARTED] = "save_started",
		[JOB_EV_RUNNING_WRITTEN] = "running_written",
		[JOB_EV_COMPLETE] = "complete",
		[JOB_EV_CHILD_EXITED] = "child_exited",
		[JOB_EV_PLANNED] = "planned",
		[JOB_EV_SNAPSHOT_DONE] = "snapshot_done",
		[JOB_EV_RETENTION_DONE] = "retention_done",
		[JOB_EV_GANG_ROUND] = "gang_round",
		[JOB_EV_GANG_ASKS] = "gang_asks",
		[JOB_EV_GANG_TOLD] = "gang_told",
		[JOB_EV_GANG_ANSWERED] = "gang_answered",
		[JOB_EV_GANG_LEFT] = "gang_left",
		[JOB_EV_TIMER] = "timer",
		[JOB_EVENTS] = "nothing",
	};

	return names[kind];
}

const char *job_effect_name(enum job_effect_kind kind)
{
	static const char *const names[JOB_EFFECTS] = {
		[JOB_DO_LAUNCH] = "launch",
		[JOB_DO_CANCEL_RESTORE] = "cancel_restore",
		[JOB_DO_KEEP_SIGNAL] = "keep_signal",
		[JOB_DO_CLAIM] = "claim",
		[JOB_DO_PASS_SIGNAL] = "pass_signal",
		[JOB_DO_TAKE_FOR_NOTICE] = "take_for_notice",
		[JOB_DO_TELL_NEXT_ATTEMPT] = "tell_next_attempt",
		[JOB_DO_ASK] = "ask",
		[JOB_DO_STOP_TRYING] = "stop_trying",
		[JOB_DO_STOP_ASKING] = "stop_asking",
		[JOB_DO_CONFIRM_FLAG] = "confirm_flag",
		[JOB_DO_REPLY] = "reply",
		[JOB_DO_REFUSE] = "refuse",
		[JOB_DO_SHARE_REQUEST] = "share_request",
		[JOB_DO_FORWARD_SIGTERM] = "forward_sigterm",
		[JOB_DO_TERMINATE] = "terminate",
		[JOB_DO_KILL] = "kill",
		[JOB_DO_HOLD_SIGTERM] = "hold_sigterm",
		[JOB_DO_UNHOLD_SIGTERM] = "unhold_sigterm",
		[JOB_DO_RELEASE_SIGTERM] = "release_sigterm",
		[JOB_DO_TAKE_SNAPSHOT] = "take_snapshot",
		[JOB_DO_CANCEL_SNAPSHOTS] = "cancel_snapshots",
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
