#include "planning.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
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

/* The name of a checkpoint may count epochs where the job reports steps. */
static bool counts_the_same(const struct durable_age *durable)
{
	return durable->step >= 0 && durable->step <= durable->reported + 1 &&
	       2 * durable->step >= durable->reported;
}

int64_t recovery_point_lost_steps(const struct durable_age *durable)
{
	int64_t kept = counts_the_same(durable) ? durable->step : durable->reported;

	if (durable->reported >= 0 && durable->last >= 0)
		return durable->last > kept ? durable->last - kept : 0;
	/* What came after the newest checkpoint is not known. */
	if (durable->step >= 0 && durable->newest > durable->step)
		return durable->newest - durable->step;
	return -1;
}

int64_t recovery_point_kept_ms(const struct attempt_work *work)
{
	return work->written_ms > work->launched_ms ? work->written_ms - work->launched_ms : 0;
}

int64_t recovery_point_lost_ms(const struct attempt_work *work)
{
	bool kept = work->written_ms >= work->launched_ms;
	bool obeyed = work->told_ms > 0 && (!work->killed || work->answered);
	int64_t from_ms = kept ? work->written_ms : work->launched_ms;
	int64_t end_ms =
		obeyed && work->told_ms < work->exited_ms ? work->told_ms : work->exited_ms;

	if (kept && work->lost_steps == 0)
		return 0;
	return end_ms > from_ms ? end_ms - from_ms : 0;
}

const char *recovery_point_format_age(const struct durable_age *durable, char *buffer,
				      size_t capacity)
{
	int64_t lost = recovery_point_lost_steps(durable);
	char step[40] = "", steps[64] = "", age[32];

	if (durable->step >= 0)
		snprintf(step, sizeof(step), "step %" PRId64 ", ", durable->step);
	if (lost > 0)
		snprintf(steps, sizeof(steps), "; %" PRId64 " step%s later %s %s", lost,
			 lost == 1 ? "" : "s", lost == 1 ? "is" : "are",
			 durable->local ? "not durable" : "lost");
	else if (lost == 0)
		snprintf(steps, sizeof(steps), "; no step is lost");
	snprintf(buffer, capacity, "%s%s%s before the end%s", step,
		 durable->restored ? "as of the start, " : "",
		 text_duration(durable->age_ms, age, sizeof(age)), steps);
	return buffer;
}
