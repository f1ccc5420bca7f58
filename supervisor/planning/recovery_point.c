#include "recovery_point.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

#define BEHIND_LEAST_MS 60000
#define BEHIND_TIMES_USUAL 3

void recovery_point_note_complete(struct recovery_point *point, int64_t now_ms)
{
	if (point->waiting_ms == 0)
		point->waiting_ms = now_ms;
	else if (point->next_ms == 0)
		point->next_ms = now_ms;
}

void recovery_point_note_durable(struct recovery_point *point, int64_t completed_ms, bool newest,
				 int64_t now_ms)
{
	int64_t took_ms = now_ms - completed_ms;

	point->usual_ms = point->usual_ms < 0 ? took_ms : (3 * point->usual_ms + took_ms) / 4;
	point->waiting_ms = newest ? 0 : point->next_ms ? point->next_ms : now_ms;
	point->next_ms = 0;
	if (!recovery_point_is_behind(point, now_ms))
		point->said = false;
}

int64_t recovery_point_due_ms(const struct recovery_point *point)
{
	int64_t patience = BEHIND_TIMES_USUAL * (point->usual_ms > 0 ? point->usual_ms : 0);

	if (point->waiting_ms == 0)
		return CLOCK_NEVER;
	return point->waiting_ms + (patience > BEHIND_LEAST_MS ? patience : BEHIND_LEAST_MS) + 1;
}

bool recovery_point_is_behind(const struct recovery_point *point, int64_t now_ms)
{
	return now_ms >= recovery_point_due_ms(point);
}

const char *recovery_point_format(const struct recovery_point *point, int64_t step,
				  int64_t durable_ms, int64_t now_ms, char *buffer, size_t capacity)
{
	char what[40] = "a checkpoint", ago[32];

	if (step >= 0)
		snprintf(what, sizeof(what), "step %lld", (long long)step);
	if (durable_ms > 0)
		snprintf(buffer, capacity, "durable: %s, %s ago; the upload has fallen behind",
			 what, text_duration(now_ms - durable_ms, ago, sizeof(ago)));
	else
		snprintf(buffer, capacity,
			 "durable: nothing yet, a checkpoint has been complete for %s; the upload "
			 "has fallen behind",
			 text_duration(now_ms - point->waiting_ms, ago, sizeof(ago)));
	return buffer;
}
