/* The tracker's own files only: tracker.c hands in what happens and polls, tracker_verdicts.c
 * decides, and tracker_reports.c tells what is not a verdict. */
#ifndef TRACKER_STATE_H
#define TRACKER_STATE_H

#include "base/loop.h"
#include "detector.h"
#include "monitor/monitor.h"
#include "tracker.h"

#include <stdbool.h>
#include <stdint.h>

/* Polling period for changes that cause no event: the directory appears, an unobserved writer
 * dies. */
#define TRACKER_POLL_MS 1000
/* Shortest time between two reports of closed files. */
#define TRACKER_REPORT_MS 200

struct writer_monitor;

/* --- content_check_worker.c: runs content checks for the loop, on a thread. A disk that hangs, or
 * files that are not in the page cache, delay no notice. --- */

struct checker;

struct checker_options {
	struct loop *loop;
	/* of what it points to, all is borrowed; `fresh` and `valid` are set by the checker */
	struct check check;
	/* Called on the loop when a check has finished: poll again. */
	void (*ready)(void *arg);
	void *arg;
};

int content_check_worker_new(const struct checker_options *options, struct checker **checker,
			     struct err *err);
/* Waits so long at most for a running check. False: it goes on (workers_end_within()). */
bool content_check_worker_end_within(struct checker *checker, int64_t milliseconds);
/* Waits for a running check. */
void content_check_worker_free(struct checker *checker);

/*
 * Checks what was written of a checkpoint whose verdict is COMPLETE, and with it the others that
 * are as far. False: the thread is checking, and `ready` will be called. True: it has, and the
 * findings are noted (detector_note_findings()). What is written meanwhile is checked again.
 */
bool content_check_worker_run(struct checker *checker, struct detector *detector,
			      struct checkpoint *checkpoint);
bool content_check_worker_is_busy(const struct checker *checker);
/* Logs why the checkpoint is not saved, or not yet. `final`: the verdict is TORN. */
void content_check_worker_log(struct checker *checker, const struct checkpoint *checkpoint,
			      bool final);

/* --- the tracker --- */

/* When a checkpoint was begun. */
struct save_begin {
	int64_t ms;
	uint64_t save; /* struct checkpoint */
};

struct tracker {
	struct tracker_options options;
	struct directory_monitor *directory;
	struct shim_channel *shim_channel; /* NULL: no shim */
	struct writer_monitor *writers;
	struct detector detector;
	struct checker *checker; /* NULL: contents are not checked */
	struct latest_checkpoint latest;
	/* key of the newest complete checkpoint */
	char *latest_key;
	/* of that one, and of the newest one that has a step */
	struct save_begin latest_begin, step_begin;
	/* the kind of the latter, and its number; NULL: there is none */
	const struct family *step_family;
	int64_t step_number;
	struct timer timer;
	struct stall_clock stall_clock;
	/* everything written up to this generation has been reported, the last time at */
	uint64_t reported_generation;
	int64_t reported_ms;
	uint64_t reported_running;
	/* What is under way, as the next start was told last; NULL: not yet. When it may be told
	 * the next time; and if there is something to tell, else INT64_MAX. */
	char **listed;
	int64_t listed_next_ms, listed_wakes_ms;
	/* something became complete or torn since the next start was last told what is known */
	bool knows_more;
	/* a save that was under way at the request: it is the answer if nothing follows until then;
	 * 0: there is none */
	int64_t answered_ms;
	/* since when saves are under way without a verdict; 0: none is */
	int64_t busy_since_ms;
	bool warned_stuck, warned_fewer;
	/* of a write that failed, since the newest complete checkpoint */
	bool warned_failed;
	/* why there is no shim */
	char missing_evidence[400];
	/* `saving` was called, and no verdict came since */
	bool saving;
	/* the job may be writing */
	bool started;
	/* the job has ended, and its last files are being judged */
	bool ending;
	/* kernel events were lost */
	bool lost;
};

/* Hands in all queued events of the shim and the kernel. */
void tracker_drain(void *arg);

/* --- tracker_verdicts.c --- */

/* Acts on all verdicts. Returns when to judge again. */
int64_t tracker_apply_verdicts(struct tracker *tracker);
/* The job has ended by itself, with settings only: calls back for them. */
void tracker_note_settings(struct tracker *tracker);
/* Calls back for a save that was under way when it was asked for, and after which nothing came. */
void tracker_note_late_answer(struct tracker *tracker);

/* --- tracker_reports.c: each calls back if there is something new --- */

void tracker_report_closed_files(struct tracker *tracker);
void tracker_report_running_files(struct tracker *tracker);
/* `at_once`: there may be no later time. */
void tracker_report_under_way(struct tracker *tracker, bool at_once);
/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. Warns once. */
void tracker_warn_if_stuck(struct tracker *tracker);
/* The job has closed the file, and a write to it had failed. Warns once, and again after the next
 * complete checkpoint. */
void tracker_warn_of_failed_write(struct tracker *tracker, const char *path);

#endif
