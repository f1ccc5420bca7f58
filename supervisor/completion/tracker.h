/*
 * Knows which checkpoints in the checkpoint directory are complete. It collects the shim's reports
 * (shim_channel), the events of the directory (directory_monitor) and the ends of the writers
 * (tracker_writers.c), feeds them to the PURE detector, and calls back with its verdicts. Lives on
 * the loop. If the directory does not exist yet, it is looked for once a second.
 */
#ifndef TRACKER_H
#define TRACKER_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "directory_view.h"
#include "frameworks/frameworks.h"
#include "monitor/monitor.h"
#include "shim/shim.h"
#include "snapshot_plan.h"
#include "verdict.h"
#include "workspace/workspace.h"

#include <jansson.h>
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
	/* of a gang: another member has the files that the one with rank 0 alone writes */
	bool marker_elsewhere;
	/* of a gang: other members write into the directory, too, and each judges its own writers.
	 * What is seen after the job has finished is theirs: for the keeper of the directory it
	 * does not make a checkpoint a new one under way, and the others take no notice of it. */
	bool others_write;
	/* borrowed; NULL: only the names of running files that are known */
	const struct file_patterns *patterns;
	/* what earlier attempts learned of this job's checkpoints (tracker_signatures()); borrowed
	 * during tracker_new(); NULL: nothing */
	const json_t *signatures;
	/* what a supervisor knew that was killed in this directory (detector_known_json()), and the
	 * files that lie there, ending in NULL; as above; NULL: nothing */
	const json_t *left;
	char *const *existing;
	/* scan the directory repeatedly even if the kernel reports all changes */
	bool polls;
	/* check the files' contents before a checkpoint counts as complete */
	bool looks;
	/* The first file of a save was opened for writing. */
	void (*saving)(void *arg, const char *path);
	/*
	 * A checkpoint is being written, and some of its files may be closed or have grown:
	 * tracker_list_files(). Called a few times a second at most, until it returns
	 * true, and again after the next write. NULL: not wanted.
	 */
	bool (*closed)(void *arg);
	/*
	 * `pid` holds back a SIGTERM from `sender` (0: unknown) until
	 * tracker_set_sigterm_hold(SHIM_HOLD_RELEASED). It got the last one that we sent at
	 * `had_ms` of CLOCK_MONOTONIC (0: never). May be NULL.
	 */
	void (*held)(void *arg, pid_t pid, pid_t sender, int64_t had_ms);
	/* The job saves what looks like a checkpoint at this absolute path, outside the directory.
	 * Said a few times by each process, and only with the shim. May be NULL. */
	void (*saved_elsewhere)(void *arg, const char *path);
	/* The process writes to a file that is not a running one; or (`anew`) another program runs
	 * in it. Said by the shim alone. May be NULL. */
	void (*writer)(void *arg, pid_t pid, bool anew);
	/* A checkpoint is complete. tracker_latest_checkpoint() describes it until the next
	 * call. */
	void (*on_complete)(void *arg);
	/* A running file was written, for one: at most once for each poll. May be NULL. */
	void (*on_running)(void *arg, const char *path);
	/* After tracker_job_ended(): everything is judged. */
	void (*ended)(void *arg);
	void *arg;
};

struct latest_checkpoint {
	/* how many checkpoints were complete so far: another number for each */
	uint64_t generation;
	/* its last write, in ms of CLOCK_MONOTONIC; 0: no checkpoint yet. When its first one was
	 * seen, or that of the one that `step` is of, if that was earlier. */
	int64_t written_ms, begun_ms;
	/* the step that its writer reported, or that its names have, or those of the newest one
	 * before it that has one; -1: unknown */
	int64_t step;
	/* the same, but of one that has all that is expected behind its number (struct family):
	 * what the job resumes from */
	int64_t resume_step;
	/* it answers the last request: it was begun after it; or, `late`, it was under way then,
	 * and nothing followed it for the quiet time: its state may be older than the request */
	bool fresh, late;
	/* what became complete last are files beside checkpoints (file_patterns.h) */
	bool of_companions;
	/* the job itself called it complete */
	bool by_word;
};

/* Works with whatever evidence there is: tracker_missing_evidence() names what is missing. */
void tracker_new(const struct tracker_options *options, struct tracker **tracker);
/* Waits so long at most for a file that is being looked into. False: that goes on, as on a disk
 * that hangs; then nothing may be freed (workers_end_within()). */
bool tracker_end_within(struct tracker *tracker, int64_t milliseconds);
void tracker_free(struct tracker *tracker);

/* Path of the shim's channel, for the job's environment; NULL: no shim. Borrowed. */
const char *tracker_channel(const struct tracker *tracker);
/* The page that jobs poll and report through (progress_page.c): the checkpoint flag, the polling
 * processes, steps and their duration, at most a second old. NULL: no session. Borrowed. */
struct progress_page *tracker_page(const struct tracker *tracker);
/* Sets what the job's processes do with a SIGTERM (shim.h). Does nothing without a session. */
void tracker_set_sigterm_hold(struct tracker *tracker, enum shim_hold state);
/* Sets which signals they ignore while they have no handler (shim.h). Call it before the job is
 * started. Does nothing without a session. */
void tracker_set_notice_signals(struct tracker *tracker, uint32_t signals);
/* A sentence: what is not observed, and why; "": nothing is missing. Borrowed. */
const char *tracker_missing_evidence(const struct tracker *tracker);

/* A checkpoint was requested: from now on tracker_latest_checkpoint()->fresh says whether one
 * answers. */
void tracker_requested(struct tracker *tracker);

/* A process was reaped, whether or not it wrote. */
void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status);
/*
 * The main process has ended: its last files are judged. Calls `on_complete` for what is complete,
 * and then `ended`, at once or once the contents are checked.
 */
void tracker_job_ended(struct tracker *tracker, enum job_end end);

/* Reads all queued events and decides. May call `on_complete`. */
void tracker_poll(struct tracker *tracker);

/* Borrowed; changes with the next verdict. */
const struct latest_checkpoint *tracker_latest_checkpoint(const struct tracker *tracker);

/* Reads all queued events. `stop_stands`: what may come to a save of a kind that was never complete
 * before is awaited, too. `told_to_end`: closed_ms is wanted; the contents of what is closed are
 * looked at before it is known. */
struct directory_view tracker_look(struct tracker *tracker, bool stop_stands, bool told_to_end);
/* Reads all queued events. Has the job begun to write a checkpoint, and not only files that lie
 * beside one? */
bool tracker_has_begun_checkpoint(struct tracker *tracker);
/* Reads all queued events. What was seen to be begun after the returned time was begun after
 * `since_ms` in truth, both in ms of CLOCK_MONOTONIC. INT64_MAX: that is not known yet, since the
 * directory is polled: ask again. */
int64_t tracker_seen_since(struct tracker *tracker, int64_t since_ms);
/* From now on a snapshot holds no numbered checkpoint that was begun up to this time, or whose
 * number is this one or below, but for the newest one. -1: whatever its number. */
void tracker_leave_out(struct tracker *tracker, int64_t until_ms, int64_t number);

/* --- a snapshot --- */

/* Reads all queued events. The caller releases the plan (snapshot_plan.h). */
void tracker_plan(struct tracker *tracker, struct snapshot_plan *plan);
/* Reads all queued events. Would a plan lack the newest complete checkpoint, or was none
 * complete although fixed names were written often? */
bool tracker_lacks_newest(struct tracker *tracker);
/* Is a numbered checkpoint behind that step (-1: any) torn? */
bool tracker_lacks_step_after(struct tracker *tracker, int64_t step);
/* Is the numbered checkpoint of that step complete, and still there? */
bool tracker_has_step(const struct tracker *tracker, int64_t step);
/* The step of the numbered checkpoint that was begun last, whatever has become of it; -1: none. */
int64_t tracker_begun_step(const struct tracker *tracker);
/*
 * Every file that the plan allows is open now. Reads all queued events: may what was opened be
 * saved as it is? What the job has begun meanwhile (events tell of it, and `empty`) is added to
 * `dropped`. False: a checkpoint that the plan allows was written to; make another plan.
 * `last_try`: fixed names that are written again and again are dropped instead.
 */
bool tracker_confirm(struct tracker *tracker, struct snapshot_plan *plan, bool last_try);
/* What was learned of this job's checkpoints, for the manifest; NULL: nothing. The caller owns
 * it. */
json_t *tracker_signatures(const struct tracker *tracker);

/* Files that are in no snapshot because their save was not complete. */
struct torn_files {
	/* the newest that is still there, and why; NULL: none is */
	char *first;
	const char *why; /* static */
	size_t count;
	/* after one of these saves, the job went on (detector_each_unsaved()) */
	bool went_on;
};

/* Blocks for the disk. No tracker: none. */
void tracker_find_torn(const struct tracker *tracker, struct torn_files *found);
void torn_files_release(struct torn_files *files);
AUTO(struct torn_files, torn_files_release);
/* Files of checkpoints under way: those that no process has open for writing, and those that are; a
 * path may occur twice. */
void tracker_list_files(const struct tracker *tracker, char ***closed, char ***open);
/*
 * For people: what is known of each checkpoint, the newest first. The caller owns the list. Each
 *object has:
 *
 *	checkpoint	its directory "run/checkpoint-500/", or "run/#160" for the files in run/
 *			that have this number, the path of a file that was added to a
 *			complete one, or "(fixed names)"
 *	verdict		"under way", "complete" or "torn"
 *	reason, why	verdict_reason_name() and verdict_reason_text()
 *	step		null: unknown
 *	files		how many it has
 *	missing		files that the complete ones before had and it has not; of one that is not
 *			complete
 *	open		paths that are open for writing; of many, some
 *	incomplete	paths whose content or layout lacks something, or whose writer died; of
 *			many, some
 */
json_t *tracker_checkpoints_json(struct tracker *tracker);

/* The processes that wrote last. Borrowed. */
const struct recent_writers *tracker_writers(const struct tracker *tracker);

#endif
