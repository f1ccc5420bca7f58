/* The tracker's own files only: tracker.c hands in what happens and polls, tracker_writers.c
 * follows the processes, tracker_verdicts.c decides, and tracker_reports.c tells what is not a
 * verdict. */
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

/* When a checkpoint was begun. */
struct save_begin {
	int64_t ms;
	uint64_t save; /* struct checkpoint */
};

/* The contents are looked into on a thread: a disk that hangs, or files that are not in the page
 * cache, delay no notice. A check looks at all checkpoints that are decided as far as their files
 * are known, each at one generation: the directory is listed once for all. What is written
 * meanwhile makes the answer about that checkpoint void, and it is looked at again. */
struct content_checks {
	struct workers *workers; /* NULL: contents are not checked */
	/* the user knows that we wait for the rest of a checkpoint */
	bool said_waiting;
	/* lines on files that will not be saved; the last of them: several checkpoints that are
	 * given up may have one defect */
	unsigned said_final;
	char *last_final;
	/* how many there were; what the last one is about: the thread owns it and the results
	 * while it runs */
	uint64_t count;
	bool running;
	struct check check;
	struct path_set fresh, alone, valid;
	struct findings findings;
};

struct tracker {
	struct tracker_options options;
	struct directory_monitor *directory;
	struct shim_channel *shim_channel; /* NULL: no shim */
	/* how the writers end, those that wrote last; no search for others before this time */
	struct exit_watch *exit_watch;
	struct recent_writers recent;
	int64_t next_search_ms;
	/* at this generation an unknown process had a file open, and was searched for */
	uint64_t unknown_holder_generation;
	struct detector detector;
	struct content_checks checks;
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
	bool warned_stuck, warned_fewer, warned_unknown_end;
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
void tracker_drain(struct tracker *tracker);
/* Decides after the whole batch of events was handed in, not after each event. `arg`: the tracker.
 */
void tracker_poll_soon(void *arg);

/* --- tracker_verdicts.c --- */

/* Acts on all verdicts. Returns when to judge again. */
int64_t tracker_apply_verdicts(struct tracker *tracker);
/* The job has ended by itself, with settings only: calls back for them. */
void tracker_note_settings(struct tracker *tracker);
/* Calls back for a save that was under way when it was asked for, and after which nothing came. */
void tracker_note_late_answer(struct tracker *tracker);

void tracker_start_checks(struct tracker *tracker);
/* Waits for a running check. */
void tracker_stop_checks(struct tracker *tracker);
/*
 * Checks what was written of a checkpoint whose verdict is COMPLETE, and with it the others that
 * are as far. False: the thread is checking, and polls when it is done. True: it has, and the
 * findings are noted (detector_note_findings()). What is written meanwhile is checked again.
 */
bool tracker_check_contents(struct tracker *tracker, struct checkpoint *checkpoint);

/* --- tracker_writers.c: who writes, also without the shim, and how each ends --- */

/* The shim reports that `pid` writes here. */
void tracker_note_writer(struct tracker *tracker, pid_t pid);
/* The kernel reports a close after a write. Notes which of the writers without the shim have closed
 * all their files themselves and are still running. */
void tracker_note_file_closed(struct tracker *tracker);
/* `wait_status` -1: it is not known. */
void tracker_writer_ended(void *arg, pid_t pid, int wait_status);
/* Call it before a decision. If a file is being written that no shim reports, searches /proc for
 * its writer, at most every 100 ms and for at most a twentieth of the time. */
void tracker_search_writers(struct tracker *tracker);
/* Call it while saves are under way: finds writers that have ended unobserved. Reads /proc. */
void tracker_find_dead_writers(struct tracker *tracker);

/* --- tracker_reports.c: each calls back if there is something new --- */

void tracker_report_closed_files(struct tracker *tracker);
void tracker_report_running_files(struct tracker *tracker);
/* `at_once`: there may be no later time. */
void tracker_report_under_way(struct tracker *tracker, bool at_once);
/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. Warns once. */
void tracker_warn_if_stuck(struct tracker *tracker);

#endif
