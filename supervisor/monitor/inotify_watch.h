/*
 * What the kernel sees happening below the checkpoint directory, new subdirectories included. One
 * at a time in a process. One thread: the loop's.
 */
#ifndef INOTIFY_WATCH_H
#define INOTIFY_WATCH_H

#include "base/err.h"
#include "base/loop.h"

#include <stdbool.h>
#include <stdint.h>

enum dir_change {
	/* a file, link or the like; also one found in a directory that has just appeared */
	DIR_CREATED,
	/* written or cut off; not by mmap */
	DIR_MODIFIED,
	/* the last descriptor that could write is gone: closed, or its process died */
	DIR_CLOSED_WRITE,
	/* renamed away; file or directory */
	DIR_MOVED_FROM,
	/* renamed to here; the same cookie as the MOVED_FROM, if that was below as well */
	DIR_MOVED_TO,
	/* file or directory */
	DIR_DELETED,
	/* or found in a directory that has just appeared */
	DIR_DIRECTORY_CREATED,
	/* never from here, but from a look (directory_poller.h): the file is new or another than
	 * at the look before */
	DIR_CHANGED,
	/* events were lost, or the directory itself was replaced: anything may have changed */
	DIR_RESCAN,
};

struct dir_event {
	enum dir_change change;
	bool directory;   /* path is one */
	uint32_t cookie;  /* MOVED_*; else 0 */
	const char *path; /* relative to the directory, valid during the call; "" for RESCAN */
};

typedef void dir_event_fn(void *argument, const struct dir_event *event);

struct inotify_watch;

/* `directory` is canonical and exists. What lies in it already causes no events. ERR_NO_SPACE or
 * ERR_FAILED name the limit of the kernel that was hit. */
int inotify_watch_open(struct loop *loop, const char *directory, dir_event_fn *changed,
		       void *argument, struct inotify_watch **watch, struct err *err);
void inotify_watch_close(struct inotify_watch *watch);

/* Hands out all that is pending now. The loop does it within 20 ms; call it before
 * deciding anything. */
void inotify_watch_drain(struct inotify_watch *watch);

/* False when a subdirectory could not be watched (max_user_watches). RESCAN was handed out then. */
bool inotify_watch_is_complete(const struct inotify_watch *watch);

#endif
