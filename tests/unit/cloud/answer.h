/* A canned answer of a metadata service, which arrives at 2026-04-11T22:00:00Z, and at 50000 on the
 * monotonic clock. */
#ifndef ANSWER_H
#define ANSWER_H

#include "cloud/watcher.h"

#include <string.h>

#define NOW_MS 50000
#define NOW_WALL_MS 1775944800000

static inline struct reply answer_of(int status, const char *body)
{
	return (struct reply){
		.status = status,
		.body = body,
		.size = strlen(body),
		.arrived_ms = NOW_MS,
		.arrived_wall_ms = NOW_WALL_MS,
	};
}

#endif
