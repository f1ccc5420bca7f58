/*
 * supervisor/planning/: what to do with the time that there is. Everything here is PURE: plain
 * values in, plain values out, no clock. The files of core/ supply the facts.
 *
 * For other folders, through this header alone; read deadline_budget.h first:
 *
 *	deadline_budget.h	divides the time of a notice: until when to wait, save, commit
 *	preemption_forecast.h	what a preemption would cost now; the plan at a notice
 *	checkpoint_interval.h	how often to ask for a checkpoint (--every auto)
 *	recovery_point.h	how far durability is behind the work, and when to warn
 *	save_rhythm.h		how often the job saves by itself
 *	snapshot_pacing.h	when the next snapshot is begun
 */
#ifndef PLANNING_H
#define PLANNING_H

#include "checkpoint_interval.h"
#include "deadline_budget.h"
#include "preemption_forecast.h"
#include "recovery_point.h"
#include "save_rhythm.h"
#include "snapshot_pacing.h"

#endif
