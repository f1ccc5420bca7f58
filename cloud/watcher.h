/* PRIVATE. What the thread of one source gets, and the functions by which it reports. */
#ifndef CLOUD_WATCHER_H
#define CLOUD_WATCHER_H

#include "cloud.h"
#include "detect.h"
#include "health.h"

#include "base/cancel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct watcher;

/* --- for providers --- */

struct cancel *watcher_cancel(struct watcher *watcher);
const struct environment *watcher_environment(struct watcher *watcher);
/* The text after the colon: the path of a file source; "" without. */
const char *watcher_argument(struct watcher *watcher);
int64_t watcher_deadline_notice_ms(struct watcher *watcher);
void watcher_set_endpoint(struct watcher *watcher, const char *endpoint);

/* Call one of these after each poll. They count polls and report a change of health. */
void watcher_known(struct watcher *watcher);
void watcher_unknown(struct watcher *watcher, const char *why);
/* Reports what an armed source lacks: once, and again when it is something else. "": nothing, which
 * is no news. */
void watcher_set_note(struct watcher *watcher, const char *text);
void watcher_unavailable(struct watcher *watcher, const char *why);
/* Reports why the first reply will take a while. */
void watcher_starting(struct watcher *watcher, const char *why);

/*
 * Reports a notice. May be called with the same one at each poll: only news is passed on (a new
 * identity or kind, a deadline more than a second earlier). CANCELLED needs only source and
 * identity, and is passed on if that notice was.
 */
void watcher_notice(struct watcher *watcher, const struct notice *notice);

/* Sleeps; false: the thread must end. */
bool watcher_sleep(struct watcher *watcher, int64_t milliseconds);
bool watcher_stopping(struct watcher *watcher);

/* --- for the watch --- */

/* Shared by the watchers of one watch. */
struct watcher_shared {
	/* without its texts */
	struct cloud_options options;
	struct environment environment;
	struct cancel cancel;
	/* Guards what changes in all watchers. Not held during a callback, which may ask for
	 * states. */
	pthread_mutex_t mutex;
};

struct watcher {
	struct watcher_shared *shared;
	const char *argument;
	/* guarded by shared->mutex */
	struct health health;
	struct source_state state;
	struct notices announced;
};

/* `argument` is borrowed. Nothing needs to be released. */
void watcher_init(struct watcher *watcher, struct watcher_shared *shared, const char *name,
		  const char *argument);
void watcher_set_name(struct watcher *watcher, const char *name);
struct source_state watcher_state(struct watcher *watcher);

#endif
