/*
 * supervisor/drill/: MAP
 *
 * For other folders, through this header alone:
 *
 *	linked_directory.h      * A fresh machine's working directory: the user's own, shown by
 *	                        links, without what the job makes
 *	report.h	The verdict of a drill, for people or as one JSON object, on stdout
 *	scenario.h      * The order of play: an undisturbed run to compare with (if asked for), then
 *	                machine after machine, each taken away after a notice, and a last one that
 *	                is left alone to the end of the job
 *
 * Of this folder only:
 *
 *	comparison.h	Are two results the same, byte for byte? Blocks
 *	console.h       The drill as it happens, for people: one line on stdout for each thing worth
 *	                telling, with the seconds since the beginning
 *	event_log_reader.h	* PURE
 *	instance.h      * A machine of the drill: a directory of its own, `reprieve run` in it, a
 *	                log and an event ledger
 *	job_log.h       PURE: The first and the last training step that a job printed: "step 120
 *	                loss 0.3", "Step: 120", "steps=120"
 *	sandbox.h       What the machines of one drill share: where they lie, what they run, and the
 *	                store between them
 *	verdict.h	* PURE
 */
#ifndef DRILL_H
#define DRILL_H

#include "linked_directory.h"
#include "report.h"
#include "scenario.h"

#endif
