/*
 * supervisor/completion/: MAP
 *
 * For other folders, through this header alone:
 *
 *	content_check.h * Looks into the checkpoint directory for what is not complete: reads the
 *	first and last bytes of files for file_format.h, and the names and pointers for
 *	layout_rules.h
 *	tracker.h       * Knows when a checkpoint in the checkpoint directory is complete: brings
 *	                the shim's word (shim_channel), what happens in the directory
 *	                (directory_monitor) and the ends of those who write (writer_monitor)
 *	                together and feeds them to the pure decision (sealing)
 *
 * Of this folder only:
 *
 *	completion_marker.h     PURE: Was an event the last thing that a save of this framework
 *	                        does? The marker closed or renamed, the sentinel removed
 *	content_check_worker.h  * Runs inspections for the loop: a few files at once, because they
 *	                        are in the page cache, a lot of them on a thread of its own
 *	content_verdict.h       PURE: What follows for a burst from what its files themselves say
 *	                        (content_check.h)
 *	detector.h	* PURE
 *	latest_checkpoint.h     PURE: What is known of the newest checkpoint by its names and
 *	                        numbers, and of the one that is being written
 *	save_signature.h	* PURE
 *	tracker_timing.h        PURE: When the tracker looks again, and when it tells of closed
 *	                        files of a checkpoint that is still being written
 *	untracked_writers.h     * Writers that the shim does not report on: static programs, raw
 *	                        system calls, processes without LD_PRELOAD, forked ones that write
 *	                        through what they inherited
 *	write_burst.h	* PURE
 *	writer_monitor.h        * Who writes to the checkpoint directory, and how each of them ends:
 *	                        by the shim's word, by a look at who holds the files where nobody
 *	                        has spoken (untracked_writers.h), and by /proc for those whom nobody
 *	                        waits for
 *	writer_table.h  PURE: Which processes write, and which descriptors they hold: the shim's
 *	                view, by the numbers that it reports
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "content_check.h"
#include "tracker.h"

#endif
