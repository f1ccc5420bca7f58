/* reprieve probe: for the liveness, readiness and start-up probes of a scheduler. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "control/control.h"
#include "options/options.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

#define STATUS_TIMEOUT_MS 5000

struct probe_run {
	const char *job; /* NULL: all that run here */
	enum health_probe_kind kind;
	int64_t fresh_ms;
	bool chosen; /* `kind` is the user's */
	bool json;
	size_t found;
	bool failed;
};

static void print_probe_result(struct probe_run *probe_run, const char *job, json_t *status)
{
	int64_t at_risk_ms = json_seconds_or(status, "at_risk_seconds", -1);
	struct health_probe_result answer =
		health_probe_decide(probe_run->kind, probe_run->fresh_ms, status);
	char age[32];

	probe_run->failed |= !answer.passed;
	if (probe_run->json) {
		json_print(json_pack("{s:s, s:b, s:s, s:o}", "job", job, "ok", answer.passed,
				     "phase", answer.phase, "at_risk_seconds",
				     at_risk_ms < 0 ? json_null()
						    : json_real((double)at_risk_ms / 1000)),
			   false);
		return;
	}
	terminal_print("%s %s: %s", answer.passed ? "ok" : "fail", job, answer.phase);
	if (at_risk_ms >= 0)
		printf(", %s of work not durable", text_duration(at_risk_ms, age, sizeof(age)));
	printf("\n");
}

static bool probe_session(void *arg, const struct session_info *info)
{
	struct probe_run *probe_run = arg;
	auto_json json_t *answer = NULL;
	struct err err;
	int result;

	if (probe_run->job && !text_equal(probe_run->job, info->job))
		return true;
	probe_run->found++;
	result = control_client_query(info->directory, "status", STATUS_TIMEOUT_MS, &answer, &err);
	/* One that refuses is alive: nobody shall kill it for the clients that it has. */
	if (result < 0 && (err.kind != ERR_RETRY || probe_run->kind != HEALTH_PROBE_LIVE)) {
		log_error("probe: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		probe_run->failed = true;
	} else {
		print_probe_result(probe_run, info->job, answer);
	}
	return true;
}

/* Of two questions the answer to one would be taken for that to both. */
static int choose_probe(struct probe_run *probe_run, enum health_probe_kind kind, struct err *err)
{
	if (probe_run->chosen && probe_run->kind != kind)
		return err_set(err, ERR_INVALID,
			       "ask for one of --live, --ready and --fresh, one of them at a time");
	probe_run->chosen = true;
	probe_run->kind = kind;
	return 0;
}

static int set_live(void *probe_run, const char *value, struct err *err)
{
	(void)value;
	return choose_probe(probe_run, HEALTH_PROBE_LIVE, err);
}

static int set_ready(void *probe_run, const char *value, struct err *err)
{
	(void)value;
	return choose_probe(probe_run, HEALTH_PROBE_READY, err);
}

static int set_fresh(void *probe_run, const char *value, struct err *err)
{
	static const struct option_row duration = {OPTION_DURATION(struct probe_run, fresh_ms)};

	if (option_row_set(&duration, probe_run, value, err) < 0)
		return -1;
	return choose_probe(probe_run, HEALTH_PROBE_FRESH, err);
}

// clang-format off
static const struct option_row own_rows[] = {
	{"live", 0, NULL, NULL, "the supervisor answers (default)", .set = set_live},
	{"ready", 0, NULL, NULL, "the job is running, and no end is announced", .set = set_ready},
	{"fresh", 0, "DURATION", NULL, "at most so much work would be lost", .set = set_fresh},
	{0},
};

static const struct help_row exits[] = {
	{"0", "well"},
	{"1", "not well, or the supervisor does not say"},
	{"64", "wrong usage"},
	{"69", "no such job runs here under this user"},
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
	.exits = exits,
};
// clang-format on

int cmd_probe(int argc, char **argv)
{
	struct probe_run probe_run = {.kind = HEALTH_PROBE_LIVE};
	int code = option_table_parse(&verb_probe, argc, argv, &probe_run, NULL);

	if (code >= 0)
		return code;
	session_each(probe_session, &probe_run);
	if (probe_run.found == 0) {
		log_error("probe: no %s running under this user here",
			  probe_run.job ? "such job is" : "`reprieve run` is");
		return EXIT_UNAVAILABLE;
	}
	return probe_run.failed ? EXIT_FAILURE : 0;
}
