/* PRIVATE. What a source is, and what its thread may tell. One file and one row in
 * source_table.c each. */
#ifndef CLOUD_PROVIDER_H
#define CLOUD_PROVIDER_H

#include "cloud.h"
#include "detect.h"

#include "base/cancel.h"

#include <stdbool.h>
#include <stdint.h>

struct watcher;

struct provider {
	const char *name;
	/* Straight blocking code on the source's own thread, until watcher_cancel() is raised. */
	void (*run)(struct watcher *watcher);
	/* Does this cloud's metadata service answer at `endpoint`? Told by its headers and shape,
	 * not by being reachable. NULL: never. */
	bool (*probe)(const char *endpoint, struct cancel *cancel);
	/* Is what stands behind the colon ("" for nothing) all right? ERR_INVALID says what to
	 * write. NULL: nothing may stand there. */
	int (*check)(const char *argument, struct err *err);
	/* cloud_watch_approve(), with what is known of the surroundings. NULL:
	 * there is no such thing. */
	int (*approve)(const struct environment *environment, const char *identity,
		       struct cancel *cancel, struct err *err);
};

extern const struct provider provider_aws, provider_gcp, provider_azure, provider_alibaba,
	provider_tencent, provider_slurm, provider_deadline, provider_file, provider_command;

struct cancel *watcher_cancel(struct watcher *watcher);
const struct environment *watcher_environment(struct watcher *watcher);
/* What stood behind the colon: the path of a file source; else "". */
const char *watcher_argument(struct watcher *watcher);
int64_t watcher_deadline_notice_ms(struct watcher *watcher);
/* NULL: nothing is shared. */
const char *watcher_shared_directory(struct watcher *watcher);
void watcher_set_endpoint(struct watcher *watcher, const char *endpoint);

/* One of these after each poll: they count, and tell a change of health. */
void watcher_known(struct watcher *watcher);
void watcher_unknown(struct watcher *watcher, const char *why);
/* An armed source lacks something: said once, and again when it is something else. */
void watcher_set_note(struct watcher *watcher, const char *text);
void watcher_unavailable(struct watcher *watcher, const char *why);
/* Tells why it will take a while until the first answer. */
void watcher_starting(struct watcher *watcher, const char *why);

/*
 * May be called with the same notice at each poll: only what is new is told (a new identity or
 * kind, a deadline more than a second earlier). CANCELLED needs source and identity alone, and is
 * told when that notice was.
 */
void watcher_notice(struct watcher *watcher, const struct notice *notice);

/* Sleeps; false when it is time to end. */
bool watcher_sleep(struct watcher *watcher, int64_t milliseconds);
bool watcher_stopping(struct watcher *watcher);

#endif
