#include "console.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/terminal_line.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the saves after the notice. */
#define SAVES_SHOWN 2

bool console_wants_colour(void)
{
	const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */

	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
	       !text_equal(getenv("TERM"), "dumb");
}

__attribute__((format(printf, 4, 0))) static void print_line(
	const struct console *console, const struct instance *instance, const char *colour,
	const char *format, va_list args)
{
	auto_free char *text = NULL, *line = NULL;

	if (console->silent)
		return;
	text = text_format_list(format, args);
	text_to_printable(text);
	line = text_format("%6.1f s  %s  %s",
			   (double)(clock_monotonic_ms() - console->began_ms) / 1000,
			   instance->label, text);
	fputs(console->colour ? colour : "", stdout);
	puts(line);
	fputs(console->colour && *colour ? "\033[0m" : "", stdout);
	fflush(stdout);
}

void console_print(const struct console *console, const struct instance *instance,
		   const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(console, instance, "", format, args);
	va_end(args);
}

void console_warn(const struct console *console, const struct instance *instance,
		  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(console, instance, "\033[1;33m", format, args);
	va_end(args);
}

/* " of step 120" */
static const char *format_step(int64_t step, char text[48])
{
	snprintf(text, 48, " of step %" PRId64, step);
	return step < 0 ? "" : text;
}

static void print_commit(const struct console *console, const struct instance *instance)
{
	const struct run_commit *commit = &instance->events.commit;
	char id[SNAPSHOT_ID_TEXT], step[48], bytes[32];

	console_print(console, instance,
		      "the checkpoint%s is durable in the store: snapshot %s, %s",
		      format_step(commit->step, step), snapshot_id_format(commit->id, id),
		      text_bytes(commit->bytes, bytes, sizeof(bytes)));
}

void console_print_event(const struct console *console, const struct instance *instance,
			 enum run_event event)
{
	const struct run_events *events = &instance->events;
	bool noticed = events->noticed_ms >= 0;
	char id[SNAPSHOT_ID_TEXT], step[48];

	if (event == RUN_LAUNCHED)
		console_print(console, instance, "the job starts %s%s%s",
			      snapshot_id_is_none(events->restored) ? "from scratch"
								    : "with snapshot ",
			      snapshot_id_is_none(events->restored)
				      ? ""
				      : snapshot_id_format(events->restored, id),
			      format_step(events->restored_step, step));
	else if (event == RUN_SNAPSHOT_SKIPPED)
		console_warn(console, instance, "a snapshot is skipped: %s", events->passed_over);
	else if (event == RUN_NOTICED && events->noticed_ms == events->at_ms)
		console_print(console, instance, "reprieve has seen the notice");
	else if (event == RUN_ASKED && events->asked_ms == events->at_ms)
		console_print(console, instance, "the job is asked to save (%s)",
			      events->asked_how);
	else if (event == RUN_DURABLE && noticed && events->durable_after_notice <= SAVES_SHOWN)
		print_commit(console, instance);
	else if (event == RUN_SNAPSHOT_FAILED)
		console_warn(console, instance, "a snapshot failed: %s", events->failed);
	else if (event == RUN_SAVES_ELSEWHERE && events->elsewhere_ms == events->at_ms)
		console_warn(console, instance,
			     "the job saves outside its checkpoint directory: %s",
			     events->elsewhere);
	else if (event == RUN_CHILD_EXITED && noticed)
		console_print(console, instance,
			      events->finished ? "the job has ended by itself"
					       : "the job is stopped");
	else if (event == RUN_UNREADABLE)
		console_warn(console, instance, "a line of the event log cannot be read");
}

void console_print_other_saves(const struct console *console, const struct instance *instance)
{
	unsigned durable = instance->events.durable_after_notice;

	if (durable <= SAVES_SHOWN)
		return;
	console_print(console, instance, "%u more were saved; the last:", durable - SAVES_SHOWN);
	print_commit(console, instance);
}
