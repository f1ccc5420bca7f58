/* PURE. The record of an event in the log of a gang's attempt (storage_gang.h, FORMAT.md). */
#ifndef GANG_EVENT_H
#define GANG_EVENT_H

#include "storage/storage.h"

#include <jansson.h>

/* Keys have six digits. */
#define GANG_EVENTS_MOST 999999

/* The body of its record; the caller decrefs it. What its kind does not need is left out. */
json_t *gang_event_encode(const struct gang_event *event, uint32_t attempt, const char *created,
			  struct err *err);
/* ERR_CORRUPT: it is of another number or attempt, or makes no sense. ERR_VERSION: a newer version
 * of this program knows its kind. What its kind does not need is 0 or "". */
int gang_event_decode(json_t *body, uint32_t attempt, uint32_t number, struct gang_event *event,
		      struct err *err);
/* The same event: equal nonces, and all else too. */
bool gang_event_equal(const struct gang_event *a, const struct gang_event *b);

#endif
