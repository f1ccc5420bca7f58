/* reprieve probe: for the liveness, readiness and start-up probes of a scheduler. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "telemetry/telemetry.h"
#include "scheduler/scheduler.h"
#include "control/control.h"
#include "cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_MS 5000

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

struct probing {
	const char *job; /* NULL: all that run here */
	enum liveness_kind kind;
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

static void judge(struct probing *probing, const char *job, json_t *status)
{
	struct liveness_facts facts = {.state = json_text_or(status, "state", ""),
		.sending = json_is_object(json_object_get(status, "saving")),
		.at_risk_ms = milliseconds_of(status, "at_risk_seconds")};
	struct liveness_answer answer = liveness_judge(probing->kind, probing->fresh_ms, &facts);
	char age[32];

	probing->failed |= !answer.passed;
	if (probing->json) {
		json_print(
			json_pack("{s:s, s:b, s:s, s:o}", "job", job, "ok", answer.passed, "phase",
				answer.phase, "at_risk_seconds",
				facts.at_risk_ms < 0 ? json_null()
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

static bool consider(void *arg, const struct session_info *info)
{
	struct probing *probing = arg;
	auto_json json_t *answer = NULL;
	struct err err;
	int result;

	if (probing->job && !text_equal(probing->job, info->job))
		return true;
	probing->found++;
	result = session_ask(info->directory, "status", PATIENCE_MS, &answer, &err);
	/* One that refuses is alive: nobody shall kill it for the clients that it has. */
	if (result < 0 && (err.kind != ERR_RETRY || probing->kind != LIVENESS_LIVE)) {
		log_error("probe: %s (pid %d): %s", info->job, (int)info->pid, err.text);
		probing->failed = true;
	} else {
		judge(probing, info->job, answer);
	}
	return true;
}

/* -1 to go on. Of two questions the answer to one would be taken for that to both. */
static int choose(struct probing *probing, enum liveness_kind kind)
{
	if (probing->chosen && probing->kind != kind) {
		log_error("probe: --live, --ready and --fresh: ask for one of them at a time");
		return EXIT_USAGE;
	}
	probing->chosen = true;
	probing->kind = kind;
	return -1;
}

static int set_fresh(struct probing *probing, const char *value)
{
	if (text_to_duration_ms(value, &probing->fresh_ms))
		return choose(probing, LIVENESS_FRESH);
	log_error("probe: --fresh: '%s' is no duration: write 90s, 30m or 2h", value);
	return EXIT_USAGE;
}

static int parse(int argc, char **argv, struct probing *probing)
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
			code = choose(probing, option == 'l' ? LIVENESS_LIVE : LIVENESS_READY);
			if (code >= 0)
				return code;
			break;
		case 'f':
			code = set_fresh(probing, optarg);
			if (code >= 0)
				return code;
			break;
		case 'j':
			probing->job = optarg;
			break;
		case 'J':
			probing->json = true;
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
	struct probing probing = {.kind = LIVENESS_LIVE};
	int code = parse(argc, argv, &probing);

	if (code >= 0)
		return code;
	session_each(consider, &probing);
	if (probing.found == 0) {
		log_error("probe: no %s running under this user here",
			probing.job ? "such job is" : "`reprieve run` is");
		return EXIT_UNAVAILABLE;
	}
	return probing.failed ? EXIT_FAILURE : 0;
}
