/* The machines of a gang in one start, all of which live at the same time. */
#ifndef GANG_MACHINES_H
#define GANG_MACHINES_H

#include "drill/gang_scenario.h"

/* Starts all members, each on the machine that it had, or on a new one. The start must be released,
 * also after an error. */
int gang_machines_start(struct gang_scenario *scenario, unsigned number, bool undisturbed,
			struct err *err);
/* The files stay. No process may be left. */
void gang_machines_release(struct gang_scenario *scenario);

uint32_t gang_machines_running(const struct gang_scenario *scenario);
/* One turn: waits, reaps, prints. -1, also of the next two: a signal ends the drill. */
int gang_machines_turn(struct gang_scenario *scenario, struct err *err);
/* Until no more than `running` run, or that time. */
int gang_machines_wait(struct gang_scenario *scenario, int64_t until_ms, uint32_t running,
		       struct err *err);
/* Until all have ended, or nothing happens any more (scenario->idle). */
int gang_machines_leave_alone(struct gang_scenario *scenario, struct err *err);
/* Kills everything, and reads the rest of the event logs. */
int gang_machines_end(struct gang_scenario *scenario, struct err *err);

/* Of the first member that it is called for. */
void gang_machines_keep_last_lines(struct gang_scenario *scenario, uint32_t member);

#endif
