/*
 * supervisor/process/: processes and signals of this machine: start, wait, forward, /proc.
 *
 * Read first: child.h and signals.h.
 *
 * For other folders:
 *
 *	child.h		starts the job's main process, forwards signals to it, reaps all orphans
 *	signals.h	blocked signals, read from a signalfd by the loop
 *	signal_rules.h	PURE: which signals are rewritten, dropped, or sent to the group
 *	signal_name.h	PURE: signal names and numbers
 *	wait_status.h	PURE: exit code of a wait status, as shells have it
 *	process_tree.h	the descendants of a process, read from /proc
 *	proc_file.h	the files of /proc/PID and the fields in them, proc(5)
 *	detached_process.h	PURE: does the job go on when the main process has ended?
 *	process_role.h	PURE: is a process the job, a wrapper, a launcher or a DataLoader worker?
 *	exit_watch.h	how processes end that are not our children (pidfd)
 *	kill_tree.h	SIGTERM and SIGKILL for all descendants
 *	ld_preload.h	where the shim is, and the new value of LD_PRELOAD
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "child.h"
#include "detached_process.h"
#include "exit_watch.h"
#include "kill_tree.h"
#include "ld_preload.h"
#include "proc_file.h"
#include "process_role.h"
#include "process_tree.h"
#include "signal_name.h"
#include "signal_rules.h"
#include "signals.h"
#include "wait_status.h"

#endif
