/*
 * supervisor/process/: processes and signals of this machine: start, wait, forward, /proc.
 *
 * Read first: child.h and signals.h.
 *
 * For other folders:
 *
 *	child.h		starts the job's main process, forwards signals to it, reaps all orphans
 *	signals.h	blocked signals, read from a signalfd by the loop
 *	signal_rules.h	PURE: which signals are rewritten, dropped, or sent to the group; signals by
 *			name; the exit code of a wait status
 *	process_tree.h	the descendants of a process, and how to end them; /proc/PID, proc(5)
 *	detached_process.h	PURE: does the job go on when the main process has ended?
 *	process_role.h	PURE: is a process the job, a wrapper, a launcher or a DataLoader worker?
 *	exit_watch.h	how processes end that are not our children (pidfd)
 *	ld_preload.h	where the shim is, and the new value of LD_PRELOAD
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "child.h"
#include "detached_process.h"
#include "exit_watch.h"
#include "ld_preload.h"
#include "process_role.h"
#include "process_tree.h"
#include "signal_rules.h"
#include "signals.h"

#endif
