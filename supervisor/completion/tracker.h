/*
 * Knows when a checkpoint in the checkpoint directory is complete: brings the shim's word
 * (shim_channel), what happens in the directory (directory_monitor) and the ends of those who write
 * (writer_monitor) together and feeds them to the pure decision (sealing). Lives on the loop. A
 * directory that is not there yet is looked for once a second.
 */
#ifndef TRACKER_H
#define TRACKER_H

#include "base/err.h"
#include "base/loop.h"
#include "frameworks/frameworks.h"
#include "latest_checkpoint.h"
#include "monitor/monitor.h"
#include "shim/shim.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tracker;

struct tracker_options {
	struct loop *loop;
	struct workspace *workspace;
	const char *session_directory; /* for the shim's channel; NULL: no shim */
	int64_t quiet_ms;
	const struct profile *profile; /* borrowed; NULL: none was recognised */
	/* looks at the directory all the time, also where the kernel tells of everything */
	bool polls;
	bool looks; /* into the files, before anything counts as complete */
	/* The first file of a save is open for writing. */
	void (*saving)(void *arg, const char *path);
	/*
	 * A checkpoint is being written, and by now there may be closed files in it:
	 * tracker_closed(). A few times a second at most, until it returns true and then after the
	 * next write. NULL: not wanted.
	 */
	bool (*closed)(void *arg);
	/*
	 * `pid` keeps a SIGTERM from `sender` (0: unknown) until it is let go: tracker_page() and
	 * shim_channel_set_sigterm_hold(). It last had one from us at `had_ms` (0: never). May be
	 * NULL.
	 */
	void (*held)(void *arg, pid_t pid, pid_t sender, int64_t had_ms);
	/* A checkpoint is complete: tracker_latest_checkpoint() tells about it
	 * until the next call. */
	void (*sealed)(void *arg);
	void *arg;
};

/* Never fails for want of a witness: what is missing is said in tracker_missing_evidence(). */
void tracker_new(const struct tracker_options *options, struct tracker **tracker);
void tracker_free(struct tracker *tracker);

/* For the job's environment; NULL without the shim. Borrowed. */
const char *tracker_channel(const struct tracker *tracker);
/* The page that jobs poll and report through: the flag, who polls, steps and their length
 * (progress_page.h), by its last look, at most a second ago. NULL without a session. Borrowed. */
struct progress_page *tracker_page(const struct tracker *tracker);
/* What becomes of SIGTERM in the processes (shim.h); does nothing without a session. */
void tracker_set_sigterm_hold(struct tracker *tracker, enum shim_hold state);
/* What cannot be seen, and why, in a sentence; "" when all witnesses are there. */
const char *tracker_missing_evidence(const struct tracker *tracker);

/* A checkpoint was asked for: from now on tracker_latest_checkpoint()->fresh tells
 * whether one answers it. */
void tracker_requested(struct tracker *tracker);

/* Any process that we reaped. */
void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status);
enum tracker_end {
	/* what it wrote last counts as complete */
	TRACKER_ENDED_CLEAN,
	/* only if it looks like the checkpoint before: as many files, of the same
	 * names but for their numbers */
	TRACKER_ENDED_AMBIGUOUS,
	TRACKER_ENDED_CRASHED,
};
/* The main process has ended. May call `sealed` before it returns. */
void tracker_job_ended(struct tracker *tracker, enum tracker_end end);

/* Reads all that is queued, and decides. May call `sealed`. */
void tracker_poll(struct tracker *tracker);

/* Borrowed; changes with the next seal. */
const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker);

/* Reads what is queued: has nothing been written since that generation? */
bool tracker_still_complete(struct tracker *tracker, uint64_t generation);
/*
 * Reads what is queued: true when no save is under way. Then *generation is the one of now: files
 * may have been deleted since the seal, which takes nothing away from the checkpoint that was
 * sealed.
 */
bool tracker_is_settled(struct tracker *tracker, uint64_t *generation);

/* Paths that are torn, NULL-terminated. The caller frees each and the array. */
char **tracker_torn(struct tracker *tracker);
/* Files of the burst under way that nobody has open for writing any more, likewise. */
char **tracker_closed(struct tracker *tracker);
/* What is open for writing, likewise; a path may come twice. */
char **tracker_open(struct tracker *tracker);
/* Reads what is queued: is a save under way? */
bool tracker_is_saving(struct tracker *tracker);

/* Borrowed. */
const struct recent_writers *tracker_writers(const struct tracker *tracker);

#endif
