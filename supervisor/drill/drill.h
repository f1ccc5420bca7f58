/*
 * supervisor/drill/: `reprieve drill` proves on this computer that a job survives preemptions. It
 * runs the user's job on simulated machines, one after another, preempts each through a mock
 * metadata server, and judges what survived.
 *
 * For other folders, through this header alone; read scenario.h first:
 *
 *	scenario.h		plays the drill: machine after machine, each with a notice
 *	drilled_command.h	may this command be drilled?
 *	report.h		prints the verdict, for people or as JSON
 *	machine_directory.h	a machine's working directory: its own copy of the user's
 *	sandbox.h		what all machines share: scratch directory, store, options
 *	round_verdict.h		PURE: did the preemption of one machine cost work?
 *	verdict.h		PURE: did the drill pass? VERDICTS.md has the table
 *	console.h		prints the drill as it happens
 *	gang_scenario.h		the same of a gang: all members start, one machine is taken away
 *	gang_report.h		its verdict, for people or as JSON
 *	junit.h			PURE: the verdict as JUnit's XML
 *
 * Of this folder only:
 *
 *	instance.h		one simulated machine: `reprieve run` in its own directory
 *	event_log_reader.h	PURE: reads the events of one run
 *	job_log.h		PURE: what a job counts in its output and in its files' names
 *	printed_lines.h		PURE: do its lines go on where the machine before saved?
 *	opened_files.h		PURE: which of the restored files did it open?
 *	continuation.h		PURE: did its count go on where the checkpoint was made?
 *	resumption.h		PURE: is it proven that it went on from the checkpoint?
 *	notice_time.h		PURE: when the notice comes
 *	evidence.h		collects these facts of one machine and the next
 *	file_copy.h		a copy of one file
 *	git_directory.h		a machine's own .git
 *	shared_directories.h	what machines share with the user, and only read
 *	tree_look.h		what lies in a directory, and PURE: what differs between two looks
 *	written_files.h		what a machine wrote beside its checkpoints, or in the user's own
 *	comparison.h		compares two result files byte for byte
 *	gang_machines.h		the machines of a gang in one start
 *	gang_verdict.h		PURE: have all members gone on from one snapshot?
 *	report_parts.h		what both reports share
 */
#ifndef DRILL_H
#define DRILL_H

#include "drilled_command.h"
#include "gang_report.h"
#include "gang_scenario.h"
#include "junit.h"
#include "machine_directory.h"
#include "report.h"
#include "scenario.h"

#endif
