/*
 * supervisor/completion/: decides which checkpoints are complete, and which files are torn.
 * COMPLETENESS.md explains the rule, the evidence and the outcomes on two pages.
 *
 * How evidence becomes a verdict:
 *
 * 1. Evidence. Four kinds arrive on the loop, and tracker.c hands each to the detector:
 *	- the shim's reports: which process opened, closed or renamed which file (shim_channel);
 *	- the kernel's events, or repeated scans if events do not cover the directory
 *	  (directory_monitor);
 *	- how each writing process ended: by exit, by a signal, or unknown (tracker_writers.c);
 *	- the job's own word (shim/reprieve.h), or the last write of its framework (profile.h).
 * 2. Checkpoints. A file belongs to one by its name: a numbered directory, a shared number, or the
 *    fixed names (checkpoint_table.h). Running files and excluded files belong to none.
 * 3. Verdict. verdict.h looks at what is known of one checkpoint: UNDER_WAY, COMPLETE or TORN, with
 *    the reason. The strongest evidence decides; what others write beside it changes nothing.
 * 4. Content. Before COMPLETE counts, the first and last bytes of its files and the framework's
 *    layout rules are checked (content_check.h). What is missing may still come for a while.
 * 5. Result. tracker_verdicts.c calls `on_complete`. The job makes a snapshot when it sees fit:
 *    tracker_plan() says what it may hold, tracker_confirm() whether that is still so once all
 *    files are open.
 *
 * Read first: verdict.h (the rule, PURE), then detector.h, then tracker.h (what the job uses).
 *
 * For other folders:
 *
 *	tracker.h		collects the evidence on the loop, asks the detector, calls back
 *	snapshot_plan.h		PURE: what a snapshot may hold, as of one moment
 *	directory_view.h	what the core needs to know of the directory, as of one moment
 *	content_check.h		checks a directory's files by format and by layout rules; blocks
 *
 * Of this folder only:
 *
 *	verdict.h		PURE: what is known of one checkpoint -> its verdict, and why
 *	signature.h		PURE: the names that earlier complete checkpoints had
 *	checkpoint_table.h	PURE: files grouped into checkpoints, and what is remembered of each
 *	detector.h		PURE: events and time in, verdicts out
 *	detector_parts.h	PURE: the files of the detector, by subject
 *	tracker_state.h		the files of the tracker, by subject
 *	writer_table.h		PURE: writing processes and the descriptors that they have open
 *	left_reports.h		PURE: the list of what is under way, with what nobody had read yet
 *	file_look.h		what the detector asks about one file; blocks
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "content_check.h"
#include "left_reports.h"
#include "tracker.h"

#endif
