/*
 * The event log (--events FILE): every event as a JSON line {"time", "monotonic_ms", "event", ...},
 * written by one write(2). If the file cannot be written, that is logged once and the file is
 * closed. It never blocks: if the reader of a pipe (/dev/fd/3, a FIFO) is too slow, lines are
 * dropped, which is also logged once.
 */
#ifndef EVENT_LOG_H
#define EVENT_LOG_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct event_log {
	int fd;      /* -1: no file is written */
	bool behind; /* lines were dropped, and that is logged */
	bool cut;    /* the last line was written without its end */
	/* Called for every event; may be NULL. `line` is the object, `text` its line without the
	 * newline; both borrowed. */
	void (*on_event)(void *arg, const char *event, json_t *line, const char *text);
	void *arg;
};

/* `path`: NULL for no file. Errors are those of open(2), and ERR_DENIED for a link of another user.
 */
int event_log_open(struct event_log *event_log, const char *path, struct err *err);
void event_log_close(struct event_log *event_log);

/* `format` and the rest are those of json_pack() for an object; NULL: no further fields. Call on
 * the main thread only. */
void event_log_add(struct event_log *event_log, const char *event, const char *format, ...);

#endif
