/*
 * supervisor/drill/: `reprieve drill` proves on this computer that a job survives preemptions. It
 * runs the user's job on simulated machines, one after another, preempts each through a mock
 * metadata server, and judges what survived.
 *
 * For other folders, through this header alone; read scenario.h first:
 *
 *	scenario.h		plays the drill: start after start, each with a notice
 *	drilled_command.h	may this command be drilled?
 *	report.h		prints the verdict: for people, as JSON, as JUnit's XML
 *	sandbox.h		what all machines share, and their copies of the user's directory
 *	verdict.h		PURE: did the job survive? VERDICTS.md has the table
 *
 * Of this folder only:
 *
 *	instance.h		one simulated machine: `reprieve run` in its own directory
 *	event_log_reader.h	PURE: reads the events of one run
 *	steps.h			PURE: which steps does the job print, and do they go on?
 */
#ifndef DRILL_H
#define DRILL_H

#include "drilled_command.h"
#include "report.h"
#include "scenario.h"

#endif
