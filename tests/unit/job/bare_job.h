/*
 * A job with no part behind it: what it asks of a part is written down, in the order of the calls
 * ("checkpoint_request_stop; child_signal 9; "), by functions that the linker puts in place of the
 * real ones (--wrap).
 */
#ifndef BARE_JOB_H
#define BARE_JOB_H

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static char calls[4096];

__attribute__((format(printf, 1, 2), unused)) static void note_call(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list args;

	va_start(args, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, args);
	va_end(args);
	used = strlen(calls);
	snprintf(calls + used, sizeof(calls) - used, "; ");
}

#define assert_calls(expected)                        \
	do {                                          \
		assert_string_equal(calls, expected); \
		calls[0] = '\0';                      \
	} while (0)

/* What went to the event log, likewise: "launched {"pid":7}; ", without the times. */
static char events[4096];

static void note_event(void *arg, const char *event, json_t *line, const char *text)
{
	static const char *const common[] = {"time", "monotonic_ms", "event"};
	size_t used = strlen(events);
	auto_json json_t *rest = json_copy(line);
	auto_free char *fields = NULL;

	(void)arg, (void)text;
	for (size_t i = 0; i < 3; i++)
		json_object_del(rest, common[i]);
	fields = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
	snprintf(events + used, sizeof(events) - used, "%s %s; ", event, fields);
}

#define assert_events(expected)                        \
	do {                                           \
		assert_string_equal(events, expected); \
		events[0] = '\0';                      \
	} while (0)

/* A function that takes only what a test does not look at. */
#define NOTED(name)                     \
	void __wrap_##name(void);       \
	void __wrap_##name(void)        \
	{                               \
		note_call("%s", #name); \
	}

#define NOTED_WITH(name, parameters, ...)         \
	void __wrap_##name parameters;            \
	void __wrap_##name parameters             \
	{                                         \
		note_call(#name " " __VA_ARGS__); \
	}

/* Never looked into: only handed on. */
#define SOME(type) ((struct type *)(void *)some_place)
__attribute__((unused)) static char some_place[16];

static struct job_config bare_config;

static void bare_job_init(struct job *job)
{
	memset(job, 0, sizeof(*job));
	bare_config = (struct job_config){0};
	job->options = &bare_config;
	job->events.fd = -1;
	job->events.on_event = note_event;
	job->reports.events = &job->events;
	job->gang.members = 1;
	job->runner.last = &job->runner.first;
	job->model = job_model_new(&job->rules);
	calls[0] = events[0] = '\0';
}

#endif
