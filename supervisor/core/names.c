#include "core.h"

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
