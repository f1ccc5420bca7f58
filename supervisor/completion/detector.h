/*
 * PURE. Is the checkpoint that was written last complete? No I/O and no clock: events and the time
 * go in, a verdict comes out.
 *
 * Writes that follow each other without a pause are one burst, because a checkpoint is rarely one
 * file. A burst is complete when no file is open for writing, nothing has happened for the quiet
 * time, and no writer died in it. If a writer died, every path of the burst is torn: a killed
 * process closes its files too, and to the kernel that looks like completion. A torn path stays
 * torn until it is rewritten from empty up to its close, replaced by a rename, or deleted.
 *
 * There is one exception. If one process wrote several numbered checkpoints, with too short a pause
 * between them to end the burst, only the last of them is torn and the others are complete.
 *
 * Evidence comes from two sources: the shim in the processes (which process opened and closed
 * which file), and the kernel's events. For processes without the shim there is only the kernel:
 * their file is complete once it was written, closed and quiet, and no writer is known to have
 * died.
 *
 * The files' contents are evidence as well. After detector_poll() returned COMPLETE, the caller
 * checks the written files (content_check.h) and passes the findings to detector_apply_findings(),
 * which returns the final verdict.
 *
 * Before it calls detector_poll(), detector_process_ended() or detector_job_ended(), the caller
 * hands in all queued events of both sources. A process queues its last events before its parent
 * can reap it, so that no event of a dead process is missing then.
 */
#ifndef DETECTOR_H
#define DETECTOR_H

#include "content_check.h"
#include "monitor/monitor.h"
#include "write_burst.h"

#include <stdbool.h>
#include <stdint.h>

#define DETECTOR_QUIET_MS 1000
#define DETECTOR_NEVER WRITE_BURST_NEVER

enum detector_verdict {
	/* nothing was written since the last acknowledged verdict */
	DETECTOR_NOTHING,
	/* a checkpoint is being written: poll again at the time given, or after the next event */
	DETECTOR_BUSY,
	/* complete: save it */
	DETECTOR_COMPLETE,
	/* the burst is over, but a writer died in it, or all of its paths were rejected */
	DETECTOR_TORN,
};

enum writer_end {
	WRITER_END_EXITED,  /* by exit, code 0 */
	WRITER_END_KILLED,  /* by a signal */
	WRITER_END_FAILED,  /* by exit, another code than 0 */
	WRITER_END_UNKNOWN, /* the process is gone; its exit status is not known */
};

struct detector {
	struct write_burst burst;
	char **ignored;
	size_t ignored_count;
	/* reports may have been lost: see detector_verify() */
	bool needs_verify;
	/* kernel events were lost: files that a scan has found since may still be open */
	bool events_lost;
	/* the last verdict that was returned, and the generation that it was about */
	enum detector_verdict reported_verdict;
	uint64_t reported_generation;
	/* a path that was renamed away (MOVED_FROM); a MOVED_TO with this cookie may follow */
	uint32_t moved_cookie;
	char *moved_path;
};

void detector_init(struct detector *detector, int64_t quiet_ms);
void detector_release(struct detector *detector);

/* Ignores files whose path or name matches this fnmatch(3) pattern: they neither begin a burst nor
 * keep one from ending. For logs that stay open for the whole run. `pattern` is copied. */
void detector_ignore(struct detector *detector, const char *pattern);
bool detector_ignores(const struct detector *detector, const char *path);

/* Hands in one event. The events of each source come in their own order. Times are ms of
 * CLOCK_MONOTONIC, here and below. */
void detector_handle_shim(struct detector *detector, const struct shim_message *message,
			  int64_t now_ms);
void detector_handle_kernel(struct detector *detector, const struct dir_event *event,
			    int64_t now_ms);

/* This process was stalled for `ms` milliseconds, which do not count as quiet time. Call it before
 * the events that were queued meanwhile are handed in. */
void detector_add_stall(struct detector *detector, int64_t ms);

/* Is a file being written that only the kernel has reported, so that its writer is unknown? */
bool detector_has_untracked(const struct detector *detector);
/* A search has found this writer; there may be others. */
void detector_writer_seen(struct detector *detector, int pid);
/* Is such a file the only reason to wait: the quiet time is over, and no shim reports an open file?
 * Then find out whether anybody still has it open, and call detector_all_closed() if not. */
bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms);
void detector_each_untracked(const struct detector *detector, path_set_fn *act, void *argument);
void detector_all_closed(struct detector *detector);
/* Time of the last write, from either source. */
int64_t detector_last_ms(const struct detector *detector);

/* A process has ended; `pid` as the shim reports it. A process that wrote nothing has no effect. */
void detector_process_ended(struct detector *detector, int pid, enum writer_end end,
			    int64_t now_ms);

/* The job and all its processes have ended. `clean`: by themselves and with success, so that the
 * burst is complete at once. Otherwise a burst that is not over is torn. */
void detector_job_ended(struct detector *detector, bool clean, int64_t now_ms);

/* Returns the verdict at `now_ms`. *at_ms: when to poll again at the latest; DETECTOR_NEVER: only
 * an event can change the verdict. */
enum detector_verdict detector_poll(struct detector *detector, int64_t now_ms, int64_t *at_ms);

/* The last event handed in was the commit of a save, by the profile: it need not
 * be quiet for so long. */
void detector_note_completion_marker(struct detector *detector);

/*
 * `pid` has called its checkpoint complete (shim/reprieve.h). Hand in the queued events of both
 * sources before. It takes effect once all writers have done so: the burst then ends without quiet
 * time. Files that are still open, torn or rejected do not become complete by it.
 */
void detector_note_saved(struct detector *detector, int pid, int64_t now_ms);

/* Calls `act` for each path that was written and not content-checked since, in this burst or
 * earlier. */
void detector_each_unchecked(const struct detector *detector, path_set_fn *act, void *argument);

/*
 * Applies the findings about the paths of detector_each_unchecked(). Call it after COMPLETE, if
 * nothing was written since (detector_generation()). Returns BUSY: the incomplete files may still
 * be finished, so poll again at *at_ms or after the next event. COMPLETE: all paths but the
 * rejected ones. TORN: all paths are rejected or torn.
 */
enum detector_verdict detector_apply_findings(
	struct detector *detector, const struct findings *findings, int64_t now_ms, int64_t *at_ms);
/* Is the verdict BUSY only because findings have postponed it? */
bool detector_is_postponed(const struct detector *detector);

/* The caller has acted upon the last COMPLETE or TORN: ends the burst. Does nothing if something
 * was written since that verdict. */
void detector_acknowledge(struct detector *detector);

/* A number that changes with every write. If it is the same before and after files are read, they
 * did not change in between. */
uint64_t detector_generation(const struct detector *detector);

/* COMPLETE refers to an earlier checkpoint of the burst, because the newest one is torn. */
bool detector_accepted_previous(const struct detector *detector);

/* Is the path, or a directory above it, torn or rejected? */
bool detector_is_torn(const struct detector *detector, const char *path);
/* Calls `act` for each torn or rejected path. */
void detector_each_torn(const struct detector *detector, path_set_fn *act, void *argument);

/* Calls `act` for each path that is open for writing, once for each descriptor. For messages. */
void detector_each_open(const struct detector *detector, path_set_fn *act, void *argument);

/* Calls `act` for each path of this burst that all its writers have closed and that is not torn.
 * Each file is finished as far as is known; the checkpoint may not be. */
void detector_each_closed(const struct detector *detector, path_set_fn *act, void *argument);

/* A checkpoint was requested at `now_ms`. */
void detector_requested(struct detector *detector, int64_t now_ms);
/* Time of the first open or write after that request; DETECTOR_NEVER: none yet. */
int64_t detector_first_open_ms(const struct detector *detector);

/*
 * Corrects the table of open descriptors, because reports can be lost and processes can die
 * unobserved. Asks `held` about every descriptor in it and drops the closed ones. Call it about
 * once a second while BUSY with open files, and when detector_needs_verify() is true.
 *
 * A process that is gone counts as ended only at the second call, after the queued events of both
 * sources have been handed in again: it may have reported its exit a moment ago.
 */
typedef enum shim_channel_fd detector_query_fd_fn(void *argument, int pid, int descriptor);
void detector_verify(struct detector *detector, detector_query_fd_fn *held, void *argument,
		     int64_t now_ms);
bool detector_needs_verify(const struct detector *detector);

#endif
