/*
 * Reports the kernel's events (inotify) below the checkpoint directory, in new subdirectories too.
 * One watch at a time in a process. Lives on the loop.
 */
#ifndef INOTIFY_WATCH_H
#define INOTIFY_WATCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"

#include <stdbool.h>
#include <stdint.h>

enum dir_change {
	/* a file, link or the like was created, or found in a directory that has just appeared */
	DIR_CREATED,
	/* written or truncated; writes through mmap cause no event */
	DIR_MODIFIED,
	/* a descriptor open for writing was closed, by the process or by its death */
	DIR_CLOSED_WRITE,
	/* a file or directory was renamed to this path */
	DIR_MOVED_TO,
	/* a file or directory was deleted, or has left the directory by a rename */
	DIR_DELETED,
	/* a directory was created, or found in a directory that has just appeared */
	DIR_DIRECTORY_CREATED,
	/* only from a scan (directory_poller.h): the file is new or differs from the scan before */
	DIR_CHANGED,
	/* events were lost, or the directory itself was replaced: anything may have changed */
	DIR_RESCAN,
};

struct dir_event {
	enum dir_change change;
	bool directory; /* the path is a directory */
	bool symlink;   /* the path is a symbolic link: it has no content that could be torn */
	/* MOVED_TO: its path before; NULL: it came from outside, or that is not known */
	const char *from;
	const char *path; /* relative to the directory, valid during the call; "" for RESCAN */
	/* CHANGED: when the scan before began, in ms of CLOCK_MONOTONIC: it has seen the file
	 * otherwise, or not at all; 0: there was none */
	int64_t since_ms;
};

typedef void dir_event_fn(void *argument, const struct dir_event *event);

struct inotify_watch;

/* `directory` is canonical. Files that exist already cause no events. If it does not exist, the
 * directory that it is in is watched until it does, and all that is found in it then is told; so
 * too when it was removed. ERR_NO_SPACE and ERR_FAILED name the kernel limit that was hit. */
int inotify_watch_open(struct loop *loop, const char *directory, dir_event_fn *changed,
		       void *argument, struct inotify_watch **watch, struct err *err);
void inotify_watch_close(struct inotify_watch *watch);
AUTO_POINTER(struct inotify_watch, inotify_watch_close);

/* Reports all queued events. The loop does it within 20 ms; call it before a decision. */
void inotify_watch_drain(struct inotify_watch *watch);

/* False: a subdirectory could not be watched (max_user_watches). RESCAN was reported then. */
bool inotify_watch_is_complete(const struct inotify_watch *watch);

#endif
