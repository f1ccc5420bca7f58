/* reprieve mock: a metadata server of one cloud in the foreground. */
#include "cloud/mock/mock.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "process/process.h"
#include "scheduler/scheduler.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	OPTION_ACTION = 256,
	OPTION_NAME,
	OPTION_FAULT,
	OPTION_SET,
	OPTION_LIMIT,
	OPTION_GKE,
	OPTION_HARDENED,
};

enum {
	SETTINGS_MOST = 8
};

/* What is done to the mock once it runs. */
struct mock_settings {
	struct mock_fault faults[SETTINGS_MOST];
	char *values[SETTINGS_MOST]; /* "PATH=BODY" */
	size_t fault_count, value_count;
};

struct mock_line {
	struct mock_options options;
	struct mock_settings mock_settings;
};

static char **command_line;

static const char help_text[] =
	"Examples:\n"
	"  reprieve mock aws --port 1338                 fire with: curl -X POST "
	"http://127.0.0.1:1338/mock/fire\n"
	"  reprieve mock gcp --notice-after 20s          fires by itself\n"
	"  reprieve mock azure --name myvmss_4           kill -USR1 PID fires too\n"
	"  reprieve mock gcp --fault 503x3@fire          and is away just when it matters\n"
	"\n"
	"Usage: reprieve mock aws|gcp|azure|alibaba|tencent [options]\n"
	"Serves that cloud's metadata on loopback until SIGTERM or Ctrl-C. Prints its URL and the "
	"line that points programs at it.\n"
	"\n"
	"  -p, --port PORT            default: any that is free\n"
	"  -a, --notice-after TIME    announce the preemption so long after the start (20s, 2m); "
	"default: on demand\n"
	"  -n, --notice TIME          from the notice to the end; default 120s on aws and tencent, "
	"30s on gcp and azure, 5m on alibaba\n"
	"      --action ACTION        aws: terminate (default), stop or hibernate\n"
	"      --name VM              the machine's own name; default reprieve-mock_0\n"
	"      --fault FAULT          a status such as 503, hang, reset, slow, html, truncate, "
	"hop-limit, "
	"delay:TIME, as:CLOUD\n"
	"                             (another cloud's answers); x3 for how often, @10s or @fire "
	"for when; "
	"several times\n"
	"      --set PATH=BODY        answer that at PATH; several times\n"
	"      --limit N              429 for more than N requests a second\n"
	"      --gke                  gcp: as GKE's metadata server, which hides the notice\n"
	"      --hardened             alibaba: nothing without a token\n"
	"  -h, --help\n"
	"\n"
	"Controls, each a POST: /mock/fire, /mock/advice (aws: also /mock/rebalance), "
	"/mock/foreign and /mock/cancel (azure),\n"
	"/mock/expire (aws: all tokens), /mock/set with {\"path\": P, \"body\": B}, /mock/fault "
	"with JSON such as {\"status\": 503, "
	"\"count\": 3}, {\"hang\": true},\n"
	"{\"reset\": true}, {\"html\": true}, {\"truncate\": true}, {\"slow_ms\": 100}, each also "
	"with \"method\" and \"path\"; {} ends it.\n"
	"GET /mock/state tells what is on.\n";

static bool read_port(const char *text, uint16_t *port)
{
	uint64_t number;

	if (!text_to_u64(text, UINT16_MAX, &number)) {
		log_error("mock: --port \"%s\" is no port: use 0 (any) to 65535", text);
		return false;
	}
	*port = (uint16_t)number;
	return true;
}

static bool read_time(const char *option, const char *text, int64_t *milliseconds)
{
	if (text_to_duration_ms(text, milliseconds) && *milliseconds > 0)
		return true;
	log_error("mock: %s \"%s\" is no time: use for example 20s or 2m", option, text);
	return false;
}

static bool read_fault(const char *text, struct mock_settings *mock_settings)
{
	struct err err;

	if (mock_settings->fault_count == SETTINGS_MOST) {
		log_error("mock: more than %d --fault", SETTINGS_MOST);
		return false;
	}
	if (mock_fault_parse(text, &mock_settings->faults[mock_settings->fault_count++], &err) == 0)
		return true;
	log_error("mock: --fault: %s", err.text);
	return false;
}

static bool read_value(char *text, struct mock_settings *mock_settings)
{
	if (mock_settings->value_count == SETTINGS_MOST || text[0] != '/' || !strchr(text, '=')) {
		log_error("mock: --set \"%s\": write PATH=BODY, at most %d times", text,
			  SETTINGS_MOST);
		return false;
	}
	mock_settings->values[mock_settings->value_count++] = text;
	return true;
}

static bool read_limit(const char *text, unsigned *limit)
{
	uint64_t number;

	if (!text_to_u64(text, 1000000, &number)) {
		log_error("mock: --limit \"%s\" is no number of requests", text);
		return false;
	}
	*limit = (unsigned)number;
	return true;
}

static bool read_option(int option, struct mock_line *line)
{
	struct mock_options *options = &line->options;

	switch (option) {
	case OPTION_FAULT:
		return read_fault(optarg, &line->mock_settings);
	case OPTION_SET:
		return read_value(optarg, &line->mock_settings);
	case OPTION_LIMIT:
		return read_limit(optarg, &options->limit);
	case OPTION_GKE:
		options->is_gke = true;
		return true;
	case OPTION_HARDENED:
		options->is_hardened = true;
		return true;
	case 'p':
		return read_port(optarg, &options->port);
	case 'a':
		return read_time("--notice-after", optarg, &options->notice_after_ms);
	case 'n':
		return read_time("--notice", optarg, &options->notice_ms);
	case OPTION_ACTION:
		options->action = optarg;
		return true;
	case OPTION_NAME:
		options->vm_name = optarg;
		return true;
	case ':':
		log_error("mock: %s needs a value: see reprieve mock --help",
			  command_line[optind - 1]);
		return false;
	default:
		log_error("mock: option \"%s\" is not known: see reprieve mock --help",
			  command_line[optind - 1]);
		return false;
	}
}

/* 0, or -1 after one line, or 1 after the help. */
static int read_command_line(int argc, char **argv, struct mock_line *line)
{
	static const struct option names[] = {
		{"port", required_argument, NULL, 'p'},
		{"notice-after", required_argument, NULL, 'a'},
		{"notice", required_argument, NULL, 'n'},
		{"action", required_argument, NULL, OPTION_ACTION},
		{"name", required_argument, NULL, OPTION_NAME},
		{"fault", required_argument, NULL, OPTION_FAULT},
		{"set", required_argument, NULL, OPTION_SET},
		{"limit", required_argument, NULL, OPTION_LIMIT},
		{"gke", no_argument, NULL, OPTION_GKE},
		{"hardened", no_argument, NULL, OPTION_HARDENED},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	command_line = argv;
	opterr = 0;
	optind = 0; /* glibc: start anew, also after another verb's parse */
	while ((option = getopt_long(argc, argv, ":p:a:n:h", names, NULL)) != -1) {
		if (option == 'h') {
			fputs(help_text, stdout);
			return 1;
		}
		if (!read_option(option, line))
			return -1;
	}
	if (optind + 1 != argc) {
		log_error("mock: %s: say reprieve mock aws, gcp, azure, alibaba or tencent",
			  optind == argc ? "no cloud is named" : "more than one cloud is named");
		return -1;
	}
	if (!mock_cloud_by_name(argv[optind], &line->options.cloud)) {
		log_error("mock: cloud \"%s\" is not known: use aws, gcp, azure, alibaba or "
			  "tencent",
			  argv[optind]);
		return -1;
	}
	return 0;
}

static int apply_settings(struct mock *mock, const struct mock_settings *mock_settings,
			  struct err *err)
{
	for (size_t i = 0; i < mock_settings->fault_count; i++)
		if (mock_add_fault(mock, &mock_settings->faults[i], err) < 0)
			return -1;
	for (size_t i = 0; i < mock_settings->value_count; i++) {
		char *body = strchr(mock_settings->values[i], '=');

		*body++ = '\0';
		if (mock_set_value(mock, mock_settings->values[i], body, err) < 0)
			return err_wrap(err, "--set %s", mock_settings->values[i]);
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
			mock_fire(mock, MOCK_STOP, NULL);
		else if (signal > 0)
			return;
		if (!said && mock_fired_ms(mock) != CLOCK_NEVER) {
			log_note("mock: the notice is out, the end is in %s",
				 text_duration(clock_left_ms(mock_deadline_ms(mock)), left,
					       sizeof(left)));
			said = true;
		}
	}
}

/* SIGUSR1 fires; of those that end it not the ones that were ignored at its start, such as SIGHUP
 * under nohup: the kernel drops these as long as nobody blocks them. */
static void fill_awaited_signals(sigset_t *signals)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};

	sigemptyset(signals);
	sigaddset(signals, SIGUSR1);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction action;

		if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(signals, ends[i]);
	}
}

int cmd_mock(int argc, char **argv)
{
	struct mock_line line = {.options = {.cloud = MOCK_AWS}};
	struct mock *mock;
	struct err err;
	sigset_t signals;
	int read = read_command_line(argc, argv, &line);

	if (read != 0)
		return read > 0 ? 0 : EXIT_USAGE;
	child_fill_standard_descriptors();
	/* Before the server's threads exist. */
	fill_awaited_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (mock_start(&line.options, &mock, &err) < 0) {
		log_error("mock: %s", err.text);
		return err.kind == ERR_INVALID || err.kind == ERR_EXISTS
			       ? EXIT_USAGE
			       : EXIT_OWN_FAILURE;
	}
	if (apply_settings(mock, &line.mock_settings, &err) < 0) {
		log_error("mock: %s", err.text);
		mock_stop(mock);
		return EXIT_USAGE;
	}
	print_address(mock);
	serve_until_signal(mock, &signals);
	mock_stop(mock);
	return 0;
}
