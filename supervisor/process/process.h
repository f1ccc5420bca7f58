/*
 * supervisor/process/: MAP
 *
 * For other folders, through this header alone:
 *
 *	child.h * The job's main process: started as if nobody stood between, told of signals, and
 *	waited for together with every orphan that falls to us as PID 1 or subreaper
 *	exit_watch.h    * How processes end that are not our children: through a descriptor of the
 *	                process (pidfd), which tells when; and how, where the kernel remembers it
 *	                (Linux 6.15), or where nobody has waited for the process yet
 *	kill_tree.h
 *	ld_preload.h	How the shim gets into the job: where it is, and what LD_PRELOAD becomes
 *	proc_file.h     The files of /proc/PID, proc(5): the one place that knows where they are and
 *	                how their lines are built
 *	process_role.h	* PURE
 *	process_tree.h	* A look at the processes below one process, as /proc shows them
 *	signal_name.h	PURE: signals by name
 *	signal_rules.h	* PURE
 *	signals.h	* Signals as data
 *	wait_status.h	PURE: What waitpid(2) says of a process that has ended
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "child.h"
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
