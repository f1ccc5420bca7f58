/* reprieve mock: a metadata server of one cloud in the foreground. */
#include "cloud/mock/mock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "verbs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SETTINGS_MOST = 8
};

struct mock_line {
	struct mock_options options;
	const char *faults[SETTINGS_MOST + 1]; /* of --fault; NULL behind the last */
	const char *values[SETTINGS_MOST + 1]; /* of --set: "PATH=BODY" */
};

static int add_text(void *texts, const char *value, struct err *err)
{
	const char **place = texts;
	size_t count = 0;

	while (place[count])
		count++;
	if (count == SETTINGS_MOST)
		return err_set(err, ERR_INVALID, "more than %d", SETTINGS_MOST);
	place[count] = value;
	return 0;
}

// clang-format off
static const struct option_row notice_rows[] = {
	{"notice-after", 'a', "DURATION", NULL,
		"announce the preemption so long after the start (default: on demand)",
		OPTION_DURATION(struct mock_options, notice_after_ms), .least = 1},
	{"notice", 'n', "DURATION", NULL,
		"from the notice to the end (default: 120s on aws and tencent, 30s on gcp and "
		"azure, 5m on alibaba)",
		OPTION_DURATION(struct mock_options, notice_ms), .least = 1},
	{"action", 0, "ACTION", NULL, "what is announced (aws): terminate (default), stop or "
		"hibernate",
		OPTION_CHOICE(struct mock_options, action), .choices = "terminate stop hibernate"},
	{0},
};

static const struct option_row server_rows[] = {
	{"port", 'p', "PORT", NULL, "where it listens on loopback (default: any that is free)",
		OPTION_NUMBER(struct mock_options, port), .most = UINT16_MAX},
	{"name", 0, "VM", NULL, "the machine's own name (default: reprieve-mock_0)",
		OPTION_TEXT(struct mock_options, vm_name)},
	{"gke", 0, NULL, NULL, "as GKE's metadata server, which hides the notice (gcp)",
		OPTION_FLAG(struct mock_options, is_gke)},
	{"hardened", 0, NULL, NULL, "nothing without a token (alibaba)",
		OPTION_FLAG(struct mock_options, is_hardened)},
	{"limit", 0, "N", NULL, "429 for more than N requests a second",
		OPTION_NUMBER(struct mock_options, limit), .most = 1000000},
	{0},
};

static const struct option_row given_rows[] = {
	{"fault", 0, "FAULT", NULL,
		"a status such as 503, hang, reset, slow, html, truncate, hop-limit, delay:TIME, "
		"as:CLOUD (another cloud's answers); x3 for how often, @10s or @fire for when; "
		"may be given several times",
		.set = add_text, .at = offsetof(struct mock_line, faults)},
	{"set", 0, "PATH=BODY", NULL, "answer that at PATH; may be given several times",
		.set = add_text, .at = offsetof(struct mock_line, values)},
	{0},
};

static const struct option_row other_rows[] = {{0}};

const struct verb verb_mock = {
	.name = "mock",
	.summary = "be the metadata server of a cloud, and announce a preemption on demand",
	.examples = "reprieve mock aws --port 1338\n"
		"curl -X POST http://127.0.0.1:1338/mock/fire   # now the notice is out\n"
		"reprieve mock gcp --notice-after 20s           # fires by itself\n"
		"reprieve mock azure --name myvmss_4            # kill -USR1 PID fires too\n"
		"reprieve mock gcp --fault 503x3@fire           # away just when it matters",
	.arguments = "aws|gcp|azure|alibaba|tencent",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Notice", notice_rows, offsetof(struct mock_line, options)),
		OPTION_GROUP("Server", server_rows, offsetof(struct mock_line, options)),
		OPTION_GROUP("Faults", given_rows, 0),
		OPTION_GROUP("Other", other_rows, 0),
		{0},
	},
	.notes = "Serves on loopback until SIGTERM or Ctrl-C. Prints its URL and the line that points programs "
		"at it. POST /mock/fire, advice, foreign, cancel, expire, set and fault control it, and GET "
		"/mock/state tells what is on: `man reprieve-drill`",
	.exits = (const struct help_row[]){
		{"0", "ended by a signal"},
		{"70", "a failure of ours"},
		{0},
	},
};
// clang-format on

static int read_command_line(int argc, char **argv, struct mock_line *line)
{
	char **cloud;
	int code = option_table_parse(&verb_mock, argc, argv, line, &cloud);

	if (code >= 0)
		return code;
	if (mock_cloud_by_name(cloud[0], &line->options.cloud))
		return -1;
	log_error("mock: unknown cloud '%s': write aws, gcp, azure, alibaba or tencent", cloud[0]);
	return EXIT_USAGE;
}

static int apply_settings(struct mock *mock, const struct mock_line *line, struct err *err)
{
	for (const char *const *text = line->faults; *text; text++)
		if (mock_add_fault(mock, *text, NULL, err) < 0)
			return err_wrap(err, "--fault");
	for (const char *const *text = line->values; *text; text++) {
		const char *body = strchr(*text, '=');
		auto_free char *path = text_copy_n(*text, strcspn(*text, "="));

		if (!body)
			return err_set(err, ERR_INVALID, "--set %s: write PATH=BODY", *text);
		if (mock_set_value(mock, path, body + 1, err) < 0)
			return err_wrap(err, "--set %s", path);
	}
	return 0;
}

static void print_address(struct mock *mock)
{
	const char *name, *value;

	mock_environment(mock, &name, &value);
	printf("%s\nexport %s=%s\n", mock_url(mock), name, value);
	fflush(stdout);
	log_note("mock: fire with: kill -USR1 %d  or  curl -X POST %s/mock/fire", (int)getpid(),
		 mock_url(mock));
}

/* Until a signal that ends it. Says once that the notice is out, whoever fired it. */
static void serve_until_signal(struct mock *mock, const sigset_t *signals)
{
	const struct timespec glance = {.tv_nsec = 200 * 1000 * 1000};
	bool said = false;
	char left[32];

	for (;;) {
		int signal = sigtimedwait(signals, NULL, &glance);

		if (signal == SIGUSR1)
			mock_control(mock, "fire", NULL, NULL);
		else if (signal > 0)
			return;
		if (!said && mock_deadline_ms(mock) != CLOCK_NEVER) {
			log_note("mock: the notice is out, the end is in %s",
				 text_duration(clock_left_ms(mock_deadline_ms(mock)), left,
					       sizeof(left)));
			said = true;
		}
	}
}

int cmd_mock(int argc, char **argv)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	struct mock_line line = {.options = {.cloud = MOCK_AWS}};
	auto_(mock_stop) struct mock *mock = NULL;
	struct signals_inherited inherited;
	struct err err;
	sigset_t signals;
	int code = read_command_line(argc, argv, &line);

	if (code >= 0)
		return code;
	child_fill_standard_descriptors();
	/* Before the server's threads exist. Not those that were ignored at its start, such as
	 * SIGHUP under nohup: the kernel drops these as long as nobody blocks them. */
	signals_block(&inherited);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigismember(&inherited.ignored, ends[i]) != 1)
			sigaddset(&signals, ends[i]);
	if (mock_start(&line.options, &mock, &err) < 0 || apply_settings(mock, &line, &err) < 0) {
		log_error("mock: %s", err.text);
		return err.kind == ERR_INVALID || err.kind == ERR_EXISTS
			       ? EXIT_USAGE
			       : EXIT_OWN_FAILURE;
	}
	print_address(mock);
	serve_until_signal(mock, &signals);
	return 0;
}
