/*
 * Knows when a checkpoint in the checkpoint directory is complete. It collects the shim's reports
 * (shim_channel), the events of the directory (directory_monitor) and the ends of the writers
 * (writer_monitor), feeds them to the PURE detector, and calls back with the verdict. Lives on the
 * loop. If the directory does not exist yet, it is looked for once a second.
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
	/* for the shim's channel; NULL: no shim */
	const char *session_directory;
	int64_t quiet_ms;
	/* borrowed; NULL: no framework was recognised */
	const struct profile *profile;
	/* scan the directory repeatedly even if the kernel reports all changes */
	bool polls;
	/* check the files' contents before a checkpoint counts as complete */
	bool looks;
	/* The first file of a save was opened for writing. */
	void (*saving)(void *arg, const char *path);
	/*
	 * A checkpoint is being written, and some of its files may be closed: tracker_closed().
	 * Called a few times a second at most, until it returns true, and again after the next
	 * write. NULL: not wanted.
	 */
	bool (*closed)(void *arg);
	/*
	 * `pid` holds back a SIGTERM from `sender` (0: unknown) until
	 * tracker_set_sigterm_hold(SHIM_HOLD_RELEASED). It got the last one that we sent at
	 * `had_ms` of CLOCK_MONOTONIC (0: never). May be NULL.
	 */
	void (*held)(void *arg, pid_t pid, pid_t sender, int64_t had_ms);
	/* A checkpoint is complete. tracker_latest_checkpoint() describes it until the next
	 * call. */
	void (*on_complete)(void *arg);
	void *arg;
};

/* Works with whatever evidence there is: tracker_missing_evidence() names what is missing. */
void tracker_new(const struct tracker_options *options, struct tracker **tracker);
void tracker_free(struct tracker *tracker);

/* Path of the shim's channel, for the job's environment; NULL: no shim. Borrowed. */
const char *tracker_channel(const struct tracker *tracker);
/* The page that jobs poll and report through (progress_page.h): the checkpoint flag, the polling
 * processes, steps and their duration, at most a second old. NULL: no session. Borrowed. */
struct progress_page *tracker_page(const struct tracker *tracker);
/* Sets what the job's processes do with a SIGTERM (shim.h). Does nothing without a session. */
void tracker_set_sigterm_hold(struct tracker *tracker, enum shim_hold state);
/* A sentence: what is not observed, and why; "": nothing is missing. Borrowed. */
const char *tracker_missing_evidence(const struct tracker *tracker);

/* A checkpoint was requested: from now on tracker_latest_checkpoint()->fresh says whether one was
 * written since. */
void tracker_requested(struct tracker *tracker);

/* A process was reaped, whether or not it wrote. */
void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status);
enum tracker_end {
	/* the last burst counts as complete */
	TRACKER_ENDED_CLEAN,
	/* it counts as complete only if it has the signature of the checkpoint before: as many
	 * files, with the same names apart from their numbers */
	TRACKER_ENDED_AMBIGUOUS,
	/* it is torn unless it was over */
	TRACKER_ENDED_CRASHED,
};
/* The main process has ended. Blocks for the content check. May call `on_complete`. */
void tracker_job_ended(struct tracker *tracker, enum tracker_end end);

/* Reads all queued events and decides. May call `on_complete`. */
void tracker_poll(struct tracker *tracker);

/* Borrowed; changes with the next verdict. */
const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker);

/* Reads all queued events. Was nothing written since that generation? */
bool tracker_still_complete(struct tracker *tracker, uint64_t generation);
/*
 * Reads all queued events. True: no save is under way, and *generation is the current one. It may
 * be newer than that of the latest checkpoint, because files were deleted since; the checkpoint is
 * still complete.
 */
bool tracker_is_settled(struct tracker *tracker, uint64_t *generation);

/* Torn and rejected paths, NULL-terminated. The caller frees each and the array. */
char **tracker_torn(struct tracker *tracker);
/* The same for files of the burst that no process has open for writing. */
char **tracker_closed(struct tracker *tracker);
/* The same for files that are open for writing; a path may occur twice. */
char **tracker_open(struct tracker *tracker);
/* Reads all queued events. Is a save under way? */
bool tracker_is_saving(struct tracker *tracker);

/* The processes that wrote last. Borrowed. */
const struct recent_writers *tracker_writers(const struct tracker *tracker);

#endif
