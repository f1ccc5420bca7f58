/*
 * supervisor/monitor/: the evidence of what the job does: events of the checkpoint directory, the
 * shim's reports, open files, and the job's own reports. completion/ judges it.
 *
 * Read first: directory_monitor.h and shim_channel.h, the two sources of events.
 *
 * For other folders:
 *
 *	directory_monitor.h	changes below the checkpoint directory, by events or by scans
 *	inotify_watch.h		the kernel's events; has struct dir_event
 *	shim_channel.h		the supervisor's end of the shim's channel (shim/PROTOCOL.md)
 *	left_channel.h		what a killed supervisor has not read of it
 *	progress_page.h		the page through which jobs poll for requests and report steps
 *	recent_writers.h	the processes that wrote checkpoints last
 *	open_files.h		who has files open for writing: /proc and leases
 *	stall_clock.h		how long this process was stalled, which is not quiet time
 *
 * Of this folder only:
 *
 *	shim_record.h		PURE: one record of the channel
 *	shared_file.h		a file that the job maps too, and may truncate
 *	inotify_table.h		watch descriptors and their paths; the only user of libinotifytools
 *	directory_poller.h	repeated scans on a thread, if events do not cover everything
 *	directory_scan.h	PURE: the difference between two scans
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "directory_monitor.h"
#include "inotify_watch.h"
#include "left_channel.h"
#include "open_files.h"
#include "progress_page.h"
#include "recent_writers.h"
#include "shim_channel.h"
#include "stall_clock.h"

#endif
