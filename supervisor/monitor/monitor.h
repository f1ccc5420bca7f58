/*
 * supervisor/monitor/: MAP
 *
 * For other folders, through this header alone:
 *
 *	directory_monitor.h     * What happens below the checkpoint directory, by whatever tells of
 *	                        it: the kernel's events (inotify_watch.h), and a look again and
 *	                        again where those do not tell all (directory_poller.h): network file
 *	                        systems, directories that cannot be watched
 *	inotify_watch.h * What the kernel sees happening below the checkpoint directory, new
 *	subdirectories included
 *	open_files.h    * Who has files of a directory open for writing, or mapped for it: by /proc,
 *	                for processes that do not say so themselves
 *	progress_page.h * The page that jobs poll and report through (shim/reprieve.h, reprieve.py):
 *	raises the flag, and reads what processes say about their steps and checkpoints
 *	recent_writers.h	The processes that wrote checkpoints last, by the shim's word
 *	shim_channel.h  * The supervisor's end of the shim's channel (shim/PROTOCOL.md): makes the
 *	                channel file and the doorbell, and hands out what the processes of the job
 *	                report
 *	stall_clock.h	* Time that counts only while we are there to see what happens in it
 *
 * Of this folder only:
 *
 *	directory_poller.h      * Looks at the checkpoint directory again and again, where the
 *	                        kernel's events do not tell all: network file systems, and
 *	                        directories that could not be watched
 *	directory_scan.h        PURE: What a directory looked like at one time, and what is
 *	                        different at another
 *	inotify_table.h * The kernel's watches on a directory and those below it, by the path that
 *	each stands for: the numbers that the kernel's events carry, and what becomes of them when
 *	directories are renamed or go away
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "directory_monitor.h"
#include "inotify_watch.h"
#include "open_files.h"
#include "progress_page.h"
#include "recent_writers.h"
#include "shim_channel.h"
#include "stall_clock.h"

#endif
