/*
 * supervisor/drill/: `reprieve drill` proves on this computer that preemptions cost no work. It
 * runs the user's job on simulated machines, one after another, preempts each through a mock
 * metadata server, and judges what survived.
 *
 * For other folders, through this header alone; read scenario.h first:
 *
 *	scenario.h		plays the drill: machine after machine, each with a notice
 *	report.h		prints the verdict, for people or as JSON
 *	linked_directory.h	a machine's working directory: links to the user's files
 *	sandbox.h		what all machines share: scratch directory, store, options
 *	verdict.h		PURE: did each preemption cost work? did the drill pass?
 *	console.h		prints the drill as it happens
 *
 * Of this folder only:
 *
 *	instance.h		one simulated machine: `reprieve run` in its own directory
 *	event_log_reader.h	PURE: reads the events of one run
 *	job_log.h		PURE: the training steps that a job printed
 *	comparison.h		compares two result files byte for byte
 */
#ifndef DRILL_H
#define DRILL_H

#include "linked_directory.h"
#include "report.h"
#include "scenario.h"

#endif
