// clang-format off
/*
 * supervisor/reporting/: what a run tells of itself, to people and to those who observe it. It
 * subscribes to what the core says is said, and to the end; it decides nothing of the job, and
 * knows no part of it but by the plain values of run_facts.
 *
 * For other folders, through this header alone; read run_facts.h first:
 *
 *	run_facts.h		what is known of the run just now
 *	reports.h		what was said already, and where it is said: one for a run
 *	sentences.c		a row for each sentence of the core: for the log, an event, or both
 *	progress_display.c	how far an upload is, and what time a notice leaves
 *	save_place.c	that the job saves elsewhere, or nothing at all
 *	status_report.c		PURE: what `reprieve status` tells
 *	end_report.c		how it has ended, and what is durable
 */
// clang-format on
#ifndef REPORTING_H
#define REPORTING_H

#include "reports.h"
#include "run_facts.h"

#endif
