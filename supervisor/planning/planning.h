/*
 * supervisor/planning/: MAP
 *
 * For other folders, through this header alone:
 *
 *	checkpoint_interval.h	* PURE
 *	deadline_budget.h	* PURE
 *	preemption_forecast.h   PURE: What a preemption would cost now, and what can be done with
 *	                        the notice that it comes with
 *	recovery_point.h        PURE: How much work is at risk because checkpoints that are complete
 *	                        are not durable yet
 */
#ifndef PLANNING_H
#define PLANNING_H

#include "checkpoint_interval.h"
#include "deadline_budget.h"
#include "preemption_forecast.h"
#include "recovery_point.h"

#endif
