/* PRIVATE. What the thread of one source is handed, and through which it tells what it sees. */
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

/* May be called with the same notice at each poll: only what is new is told (a new identity or
 * kind, a deadline more than a second earlier). CANCELLED needs source and identity alone, and is
 * told when that notice was. */
void watcher_notice(struct watcher *watcher, const struct notice *notice);

/* Sleeps; false when it is time to end. */
bool watcher_sleep(struct watcher *watcher, int64_t milliseconds);
bool watcher_stopping(struct watcher *watcher);

/* --- for the watch --- */

/* What the watchers of one watch have in common. */
struct watcher_shared {
	/* Without its texts. */
	struct cloud_options options;
	/* NULL: none */
	char *shared_directory;
	struct environment environment;
	struct cancel cancel;
	/* Holds what changes in all watchers. Free during a callback, which may ask for states. */
	pthread_mutex_t mutex;
};

struct watcher {
	struct watcher_shared *shared;
	const char *argument;
	/* Under shared->mutex. */
	struct health health;
	struct source_state state;
	struct notices announced;
};

/* `argument` stays the caller's. There is nothing to release. */
void watcher_init(struct watcher *watcher, struct watcher_shared *shared, const char *name,
		  const char *argument);
void watcher_set_name(struct watcher *watcher, const char *name);
struct source_state watcher_state(struct watcher *watcher);

#endif
