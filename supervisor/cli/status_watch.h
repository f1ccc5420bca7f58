/*
 * `reprieve status --watch`: looks each second, until no such job runs any more. A terminal shows
 * one picture, which is drawn over; it stays below what was there, and nothing of the terminal has
 * to be restored after Ctrl-C. A pipe gets one line for each change. As JSON, each look is a line.
 */
#ifndef STATUS_WATCH_H
#define STATUS_WATCH_H

#include <stdbool.h>

/* `job`: NULL: all. Returns the exit code: that of `reprieve run` of the first job that did not end
 * with 0, and 0 if all did. Blocks until they have ended. */
int status_watch_run(const char *job, bool checkpoints, bool json);

#endif
