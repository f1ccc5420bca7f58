/* A run as plain values, and what is told of it: the names of its events, and its lines of log. */
#ifndef TOLD_H
#define TOLD_H

#include "reporting/reporting.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "heard.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told_run {
	struct job_model model;
	struct job_rules rules;
	struct run_facts facts;
	struct loop loop;
	struct event_log events;
	struct reports reports;
	char said[2048]; /* "plan saving " */
	json_t *line;    /* of the newest event */
};

static struct run_facts look(void *arg, enum run_look look)
{
	struct told_run *run = arg;

	(void)look;
	return run->facts;
}

static void on_event(void *arg, const char *event, json_t *line, const char *text)
{
	struct told_run *run = arg;
	size_t used = strlen(run->said);

	(void)text;
	snprintf(run->said + used, sizeof(run->said) - used, "%s ", event);
	json_decref(run->line);
	run->line = json_deep_copy(line);
}

static void told_start(struct told_run *run)
{
	*run = (struct told_run){.events = {.fd = -1, .on_event = on_event, .arg = run}};
	run->model = job_model_new(&run->rules);
	run->facts = (struct run_facts){
		.model = &run->model,
		.rules = &run->rules,
		.view = {.now_ms = clock_monotonic_ms(), .directory = {.reported_step = -1}},
		.job = "digits",
		.directory = "/checkpoints",
		.fresh = true,
	};
	run->reports = (struct reports){.loop = &run->loop,
					.events = &run->events,
					.look = look,
					.arg = run};
}

static void told_stop(struct told_run *run)
{
	reports_release(&run->reports);
	request_table_release(&run->model.requests);
	json_decref(run->line);
}

#endif
