/*
 * supervisor/completion/: decides when a checkpoint is complete, and which files are torn.
 *
 * How evidence becomes a verdict:
 *
 * 1. Evidence. Four kinds arrive on the loop, and tracker.c hands each to the detector:
 *	- the shim's reports: which process opened, closed or renamed which file (shim_channel);
 *	- the kernel's events, or repeated scans if events do not cover the directory
 *	  (directory_monitor);
 *	- how each writing process ended: by exit, by a signal, or unknown (writer_monitor.h);
 *	- the job's own statement: it calls its checkpoint complete (shim/reprieve.h), or writes
 *	  the marker that ends a save of its framework (completion_marker.h).
 * 2. Write burst. Writes that follow each other without a pause are one burst, because a
 *    checkpoint is rarely one file. A burst holds its paths with marks (created, written, torn,
 *    unchecked, ...) and its writers with their descriptors (write_burst.h, writer_table.h).
 * 3. End of a burst. It is over when no file is open for writing and nothing was written for the
 *    quiet time (--quiet-time). A framework's marker shortens that to a quarter; if all writers
 *    have called the checkpoint complete, there is no wait at all.
 * 4. Verdict. BUSY while the burst is not over. TORN if a writer died in it: a killed process
 *    closes its files too, and to the kernel that looks like completion. Else COMPLETE. If the
 *    torn writer had finished an earlier numbered checkpoint, that one is COMPLETE and only the
 *    last is torn (detector.h).
 * 5. Content check. Before COMPLETE counts, the first and last bytes of the written files and the
 *    framework's layout rules are checked (content_check.h). A finding postpones the verdict,
 *    because the missing part may still come: 30 s for a file, 10 min for a marker. After that
 *    the finding's path is rejected, and the rest is COMPLETE (content_verdict.h).
 * 6. Result. tracker.c calls `on_complete`, the job takes a snapshot, and the next write begins a
 *new burst. Torn and rejected paths stay marked until they are rewritten, replaced or deleted: no
 *    snapshot contains them.
 *
 * Read first: tracker.h (what the job uses), then detector.h (the rules, PURE).
 *
 * For other folders:
 *
 *	tracker.h		collects the evidence on the loop, asks the detector, calls back
 *	latest_checkpoint.h	PURE: number, time and signature of the newest checkpoint
 *	detector.h		PURE: events and time in, verdict out
 *	content_check.h		checks a directory's files by format and by layout rules; blocks
 *
 * Of this folder only:
 *
 *	detector_shim.c		the detector's part for the shim's reports
 *	write_burst.h		PURE: a run of writes: its paths; is it over, is it torn
 *	writer_table.h		PURE: writing processes and the descriptors that they have open
 *	completion_marker.h	PURE: is this event the last one of a framework's save?
 *	content_check_worker.h	runs content checks for the loop; many files on a thread
 *	content_verdict.h	PURE: what findings mean for the burst
 *	save_signature.h	PURE: the names of a save's files without their numbers, as a hash
 *	writer_monitor.h	which processes write, and how each of them ends
 *	untracked_writers.h	writers without the shim, found by /proc
 *	tracker_timing.h	PURE: when the tracker polls again
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "content_check.h"
#include "tracker.h"

#endif
