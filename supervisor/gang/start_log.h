/* What the start of a gang reads in, and appends to, the log of an attempt. All of it blocks. */
#ifndef START_LOG_H
#define START_LOG_H

#include "start_rules.h"

/* Event 1: one request. `event`: what it is, if there is one. */
int start_log_first(struct storage *storage, uint32_t attempt, enum gang_first_event *first,
		    struct gang_event *event, struct cancel *cancel, struct err *err);
/* *over: there is a rejoin behind event 1. Reads all. */
int start_log_is_over(struct storage *storage, uint32_t attempt, bool *over, struct cancel *cancel,
		      struct err *err);
/* Appends GANG_EVENT_GO as event 1, or does nothing if there is one. */
int start_log_go(struct storage *storage, uint32_t attempt, struct cancel *cancel, struct err *err);
/* Appends GANG_EVENT_REJOIN, unless it is the last one; with a `code` as event 1, or not at all
 * (*taken: it has). A log of a thousand events costs some twenty requests. */
int start_log_rejoin(struct storage *storage, uint32_t attempt, const struct gang_join *own,
		     const char *reason, int code, bool *taken, struct cancel *cancel,
		     struct err *err);

#endif
