/* PURE. Why a checkpoint was saved: because somebody asked for it, or by the job itself. */
#ifndef SAVE_REASON_H
#define SAVE_REASON_H

enum save_reason {
	SAVED_BY_ITSELF, /* the job saved without being asked */
	SAVED_AT_EXIT,   /* ... and was known to be complete only when the job had exited */
	SAVED_ON_REQUEST,
	SAVED_AT_INTERVAL,
	SAVED_ON_ADVICE,
	SAVED_AT_NOTICE,
	SAVE_REASONS,
};

/* "change", "exit", "request", "interval", "advice", "notice": as in events and manifests. */
const char *save_reason_name(enum save_reason reason);

#endif
