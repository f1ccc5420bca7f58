/* PURE. How much work is at risk because checkpoints that are complete are not durable yet. Times
 * are monotonic milliseconds. */
#ifndef RECOVERY_POINT_H
#define RECOVERY_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recovery_point {
	/* since when some complete checkpoint is newer than what is durable; 0: none is */
	int64_t waiting_ms;
	int64_t next_ms;  /* since when one newer than the one being sent is; 0: none is */
	int64_t usual_ms; /* from complete to durable, smoothed; -1: not known yet */
	bool said;        /* once per time that it falls behind */
};

void recovery_point_note_complete(struct recovery_point *point, int64_t now_ms);
/* One became durable that had been complete since `completed_ms`; `newest`: there
 * is no newer one. */
void recovery_point_note_durable(struct recovery_point *point, int64_t completed_ms, bool newest,
				 int64_t now_ms);

/* Waiting longer than max(60 s, 3 times the usual). */
bool recovery_point_is_behind(const struct recovery_point *point, int64_t now_ms);
/* When that will be so if nothing happens; CLOCK_NEVER when nothing waits. */
int64_t recovery_point_due_ms(const struct recovery_point *point);

/* "durable: step 1200, 4 min ago; the upload has fallen behind". `step` -1 unknown, `durable_ms`
 * when what is durable was complete, 0: nothing is durable. Returns `buffer`. */
const char *recovery_point_format(const struct recovery_point *point, int64_t step,
				  int64_t durable_ms, int64_t now_ms, char *buffer,
				  size_t capacity);

#endif
