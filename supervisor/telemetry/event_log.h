/*
 * What happened, as JSON lines: --events FILE. Each line is one write(2) of {"time",
 * "monotonic_ms", "event", ...}. A file that cannot be written is said once and then left alone.
 * Nobody is waited for: of a pipe (/dev/fd/3, a FIFO) that its reader lets run full, lines are left
 * out, which is said once as well.
 */
#ifndef EVENT_LOG_H
#define EVENT_LOG_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct event_log {
	int fd;      /* -1: no file is wanted */
	bool behind; /* its reader was, and that is said */
	bool cut;    /* the last line has no end */
	/* Hears every event; NULL: nobody does. `line` is the object, `text` the same without its
	 * newline; both borrowed. */
	void (*on_event)(void *arg, const char *event, json_t *line, const char *text);
	void *arg;
};

int event_log_open(struct event_log *event_log, const char *path, struct err *err);
void event_log_close(struct event_log *event_log);

/* `format` and the rest as json_pack(3) takes them for an object; NULL format for
 * none. Main thread only. */
void event_log_add(struct event_log *event_log, const char *event, const char *format, ...);

#endif
