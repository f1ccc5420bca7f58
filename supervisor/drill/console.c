#include "console.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool story_wants_colour(void)
{
	const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
	       !text_equal(getenv("TERM"), "dumb");
}

__attribute__((format(printf, 4, 0))) static void print(const struct story *story,
	const struct machine *machine, const char *colour, const char *format, va_list args)
{
	if (story->silent)
		return;
	printf("%6.1f s  machine %u  %s", (double)(clock_monotonic_ms() - story->began_ms) / 1000,
		machine->number, story->colour ? colour : "");
	vprintf(format, args);
	printf("%s\n", story->colour && *colour ? "\033[0m" : "");
	fflush(stdout);
}

void story_tell(const struct story *story, const struct machine *machine, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(story, machine, "", format, args);
	va_end(args);
}

void story_warn(const struct story *story, const struct machine *machine, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(story, machine, "\033[1;33m", format, args);
	va_end(args);
}

static const char *of_step(int64_t step, char *buffer, size_t capacity)
{
	if (step < 0)
		return "";
	snprintf(buffer, capacity, " of step %" PRId64, step);
	return buffer;
}

static void tell_launched(const struct story *story, const struct machine *machine)
{
	const struct run_events *events = &machine->events;
	char id[SNAPSHOT_ID_TEXT];

	if (snapshot_id_is_none(events->restored))
		story_tell(story, machine, "the job begins from nothing");
	else
		story_tell(story, machine, "the job goes on from snapshot %s",
			snapshot_id_format(events->restored, id));
}

static void tell_commit(const struct story *story, const struct machine *machine)
{
	const struct run_commit *commit = &machine->events.commit;
	char id[SNAPSHOT_ID_TEXT], step[48], bytes[32];

	story_tell(story, machine, "the checkpoint%s is durable in the store: snapshot %s, %s",
		of_step(commit->step, step, sizeof(step)), snapshot_id_format(commit->id, id),
		text_bytes(commit->bytes, bytes, sizeof(bytes)));
}

void story_event(const struct story *story, const struct machine *machine, enum run_event event)
{
	const struct run_events *events = &machine->events;
	char step[48];

	switch (event) {
	case RUN_LAUNCHED:
		tell_launched(story, machine);
		return;
	case RUN_PASSED_OVER:
		story_warn(story, machine, "a snapshot is passed over: %s", events->passed_over);
		return;
	case RUN_RESTORED:
		story_tell(story, machine, "the checkpoint%s is back from the store",
			of_step(events->restored_step, step, sizeof(step)));
		return;
	case RUN_NOTICED:
		if (events->noticed_ms == events->at_ms)
			story_tell(story, machine, "the notice is noticed");
		return;
	case RUN_ASKED:
		if (events->asked_ms == events->at_ms)
			story_tell(
				story, machine, "the job is asked to save (%s)", events->asked_how);
		return;
	case RUN_SEALED:
		/* A job may save often by itself: what counts is told from the notice on. */
		if (events->noticed_ms >= 0)
			story_tell(story, machine, "its checkpoint%s is complete on the disk",
				of_step(events->seals[events->seal_count - 1].step, step,
					sizeof(step)));
		return;
	case RUN_DURABLE:
		if (events->noticed_ms >= 0)
			tell_commit(story, machine);
		return;
	case RUN_SNAPSHOT_FAILED:
		story_warn(story, machine, "a snapshot failed: %s", events->failed);
		return;
	case RUN_CHILD_EXITED:
		if (events->noticed_ms >= 0)
			story_tell(story, machine, "the job is stopped");
		return;
	case RUN_UNREADABLE:
		story_warn(story, machine, "a line of the event ledger cannot be read");
		return;
	case RUN_OTHER:
	case RUN_SAVING:
	case RUN_OVER:
		return;
	}
}
