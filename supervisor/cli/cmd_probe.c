/* reprieve probe: for the liveness, readiness and start-up probes of a scheduler. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "control/control.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "telemetry/telemetry.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

#define STATUS_TIMEOUT_MS 5000

struct probe_run {
	const char *job; /* NULL: all that run here */
	bool live, ready;
	int64_t fresh_ms; /* -1: not asked for */
	enum health_probe_kind kind;
	bool json;
	bool failed;
};

static void print_probe_result(struct probe_run *probe_run, const char *job, json_t *status)
{
	int64_t at_risk_ms = json_seconds_or(status, "at_risk_seconds", -1);
	struct health_probe_result answer =
		health_probe_decide(probe_run->kind, probe_run->fresh_ms, status);
	auto_json json_t *line =
		json_pack("{s:s, s:b, s:s, s:o}", "job", job, "ok", answer.passed, "phase",
			  answer.phase, "at_risk_seconds", json_seconds(at_risk_ms));

	probe_run->failed |= !answer.passed;
	if (probe_run->json)
		json_print(steal(&line), false);
	else
		json_say("[{ok:?}ok|fail] {job}: {phase}[, {at_risk_seconds:time} of work not "
			 "durable]",
			 line);
}

static void probe_session(struct probe_run *probe_run, const struct session_info *info)
{
	auto_json json_t *answer = NULL;
	struct err err;
	int result;

	result = control_client_query(info->directory, "status", STATUS_TIMEOUT_MS, &answer, &err);
	/* One that refuses is alive: nobody shall kill it for the clients that it has. */
	if (result < 0 && (err.kind != ERR_RETRY || probe_run->kind != HEALTH_PROBE_LIVE)) {
		log_error("probe: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		probe_run->failed = true;
	} else {
		print_probe_result(probe_run, info->job, answer);
	}
}

// clang-format off
static const struct option_row own_rows[] = {
	{"live", 0, NULL, NULL, "the supervisor answers (default)", OPTION_FLAG(struct probe_run, live)},
	{"ready", 0, NULL, NULL, "the job is running, and no end is announced", 
		OPTION_FLAG(struct probe_run, ready)},
	{"fresh", 0, "DURATION", NULL, "at most so much work would be lost", 
		OPTION_DURATION(struct probe_run, fresh_ms)},
	{0},
};

const struct verb verb_probe = {
	.name = "probe",
	.summary = "say by the exit status whether the job that runs here is well",
	.examples = "reprieve probe\n"
		"reprieve probe --ready\n"
		"reprieve probe --fresh 30m",
	.groups = (const struct option_group[]){
		OPTION_GROUP("Probe", own_rows, 0),
		OPTION_GROUP("Job", running_job_rows, offsetof(struct probe_run, job)),
		OPTION_GROUP("Other", json_rows, offsetof(struct probe_run, json)),
		{0},
	},
	.notes = "A slow restore, save or upload never fails --live and --fresh: ending the job "
		"then would cost its work.",
	.exits = (const struct help_row[]){
		{"0", "well"},
		{"1", "not well, or the supervisor does not say"},
		{"69", "no such job runs here under this user"},
		{0},
	},
};
// clang-format on

int cmd_probe(int argc, char **argv)
{
	auto_(session_list_release) struct session_list sessions = {0};
	struct probe_run probe_run = {.fresh_ms = -1};
	int code = option_table_parse(&verb_probe, argc, argv, &probe_run, NULL);

	if (code >= 0)
		return code;
	probe_run.kind = probe_run.ready           ? HEALTH_PROBE_READY
			 : probe_run.fresh_ms >= 0 ? HEALTH_PROBE_FRESH
						   : HEALTH_PROBE_LIVE;
	/* Of two questions the answer to one would be taken for that to both. */
	if (probe_run.live + probe_run.ready + (probe_run.fresh_ms >= 0) > 1) {
		log_error(
			"probe: ask for one of --live, --ready and --fresh, one of them at a time");
		return EXIT_USAGE;
	}
	session_find(&sessions, false, probe_run.job);
	for (size_t i = 0; i < sessions.count; i++)
		probe_session(&probe_run, &sessions.items[i]);
	if (sessions.count == 0) {
		log_error("probe: no %s running under this user here",
			  probe_run.job ? "such job is" : "`reprieve run` is");
		return EXIT_UNAVAILABLE;
	}
	return probe_run.failed ? EXIT_FAILURE : 0;
}
