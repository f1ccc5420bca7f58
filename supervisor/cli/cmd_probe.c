/* reprieve probe: for the liveness, readiness and start-up probes of a scheduler. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "control/control.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define STATUS_TIMEOUT_MS 5000

static const char usage[] =
	"Say by the exit status whether the job that runs here is well.\n\n"
	"  reprieve probe                # alive: the supervisor answers\n"
	"  reprieve probe --ready        # the job is running, and no end is announced\n"
	"  reprieve probe --fresh 30m    # at most 30 minutes of work would be lost\n\n"
	"Usage: reprieve probe [--live | --ready | --fresh DURATION] [--job NAME] [--json]\n\n"
	"A slow restore, save or upload never fails --live and --fresh: ending the job then would "
	"cost "
	"its work.\n\n"
	"Exit status: 0 well; 1 not, or the supervisor does not say; 69 no such job runs here "
	"under this user.\n";

struct probe_run {
	const char *job; /* NULL: all that run here */
	enum health_probe_kind kind;
	int64_t fresh_ms;
	bool chosen; /* `kind` is the user's */
	bool json;
	size_t found;
	bool failed;
};

static int64_t milliseconds_of(json_t *answer, const char *name)
{
	json_t *seconds = json_object_get(answer, name);

	return json_is_number(seconds) ? (int64_t)(json_number_value(seconds) * 1000) : -1;
}

static void print_probe_result(struct probe_run *probe_run, const char *job, json_t *status)
{
	struct health_probe_facts facts = {
		.state = json_text_or(status, "state", ""),
		.sending = json_is_object(json_object_get(status, "saving")),
		.at_risk_ms = milliseconds_of(status, "at_risk_seconds"),
	};
	struct health_probe_result answer =
		health_probe_decide(probe_run->kind, probe_run->fresh_ms, &facts);
	char age[32];

	probe_run->failed |= !answer.passed;
	if (probe_run->json) {
		json_print(json_pack("{s:s, s:b, s:s, s:o}", "job", job, "ok", answer.passed,
				     "phase", answer.phase, "at_risk_seconds",
				     facts.at_risk_ms < 0
					     ? json_null()
					     : json_real((double)facts.at_risk_ms / 1000)),
			   false);
		return;
	}
	printf("%s %s: %s", answer.passed ? "ok" : "fail", job, answer.phase);
	if (facts.at_risk_ms >= 0)
		printf(", %s of work not durable",
		       text_duration(facts.at_risk_ms, age, sizeof(age)));
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

/* -1 to go on. Of two questions the answer to one would be taken for that to both. */
static int choose_kind(struct probe_run *probe_run, enum health_probe_kind kind)
{
	if (probe_run->chosen && probe_run->kind != kind) {
		log_error("probe: --live, --ready and --fresh: ask for one of them at a time");
		return EXIT_USAGE;
	}
	probe_run->chosen = true;
	probe_run->kind = kind;
	return -1;
}

static int set_fresh(struct probe_run *probe_run, const char *value)
{
	if (text_to_duration_ms(value, &probe_run->fresh_ms))
		return choose_kind(probe_run, HEALTH_PROBE_FRESH);
	log_error("probe: --fresh: '%s' is no duration: write 90s, 30m or 2h", value);
	return EXIT_USAGE;
}

static int parse_arguments(int argc, char **argv, struct probe_run *probe_run)
{
	static const struct option known[] = {
		{"live", no_argument, NULL, 'l'},
		{"ready", no_argument, NULL, 'r'},
		{"fresh", required_argument, NULL, 'f'},
		{"job", required_argument, NULL, 'j'},
		{"json", no_argument, NULL, 'J'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, code;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":j:h", known, NULL)) != -1) {
		switch (option) {
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'l':
		case 'r':
			code = choose_kind(probe_run,
					   option == 'l' ? HEALTH_PROBE_LIVE : HEALTH_PROBE_READY);
			if (code >= 0)
				return code;
			break;
		case 'f':
			code = set_fresh(probe_run, optarg);
			if (code >= 0)
				return code;
			break;
		case 'j':
			probe_run->job = optarg;
			break;
		case 'J':
			probe_run->json = true;
			break;
		default:
			log_error("probe: %s '%s': see `reprieve probe --help`",
				  option == '?' ? "unknown option" : "a value is missing for",
				  argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	log_error("probe: one word too many: '%s': see `reprieve probe --help`", argv[optind]);
	return EXIT_USAGE;
}

int cmd_probe(int argc, char **argv)
{
	struct probe_run probe_run = {.kind = HEALTH_PROBE_LIVE};
	int code = parse_arguments(argc, argv, &probe_run);

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
