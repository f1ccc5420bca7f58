/* reprieve mock: a metadata server of one cloud in the foreground. */
#include "cloud/mock/mock.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "outcome.h"
#include "verbs.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
	OPTION_ACTION = 256,
	OPTION_NAME
};

static char **command_line;

static const char help[] =
	"Examples:\n"
	"  reprieve mock aws --port 1338                 fire with: curl -X POST "
	"http://127.0.0.1:1338/mock/fire\n"
	"  reprieve mock gcp --notice-after 20s          fires by itself\n"
	"  reprieve mock azure --name myvmss_4           kill -USR1 PID fires too\n"
	"\n"
	"Usage: reprieve mock aws|gcp|azure [options]\n"
	"Serves that cloud's metadata on loopback until SIGTERM or Ctrl-C. Prints its URL and the "
	"line that points programs at it.\n"
	"\n"
	"  -p, --port PORT            default: any that is free\n"
	"  -a, --notice-after TIME    announce the preemption so long after the start (20s, 2m); "
	"default: on demand\n"
	"  -n, --notice TIME          from the notice to the end; default 120s on aws, 30s on gcp "
	"and azure\n"
	"      --action ACTION        aws: terminate (default), stop or hibernate\n"
	"      --name VM              the machine's own name; default reprieve-mock_0\n"
	"  -h, --help\n"
	"\n"
	"Controls, each a POST: /mock/fire, /mock/advice (aws: also /mock/rebalance), "
	"/mock/foreign and /mock/cancel (azure),\n"
	"/mock/expire (aws: all tokens), /mock/fault with JSON such as {\"status\": 503, "
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

static bool read_option(int option, struct mock_options *options)
{
	switch (option) {
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
static int read_command_line(int argc, char **argv, struct mock_options *options)
{
	static const struct option names[] = {
		{"port", required_argument, NULL, 'p'},
		{"notice-after", required_argument, NULL, 'a'},
		{"notice", required_argument, NULL, 'n'},
		{"action", required_argument, NULL, OPTION_ACTION},
		{"name", required_argument, NULL, OPTION_NAME},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	command_line = argv;
	opterr = 0;
	optind = 0; /* glibc: start anew, also after another verb's parse */
	while ((option = getopt_long(argc, argv, ":p:a:n:h", names, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return 1;
		}
		if (!read_option(option, options))
			return -1;
	}
	if (optind + 1 != argc) {
		log_error("mock: %s: say reprieve mock aws, gcp or azure",
			optind == argc ? "no cloud is named" : "more than one cloud is named");
		return -1;
	}
	if (!mock_cloud_named(argv[optind], &options->cloud)) {
		log_error("mock: cloud \"%s\" is not known: use aws, gcp or azure", argv[optind]);
		return -1;
	}
	return 0;
}

static void introduce(struct mock *mock)
{
	const char *name, *value;

	mock_environment(mock, &name, &value);
	printf("%s\nexport %s=%s\n", mock_url(mock), name, value);
	fflush(stdout);
	log_note("mock: fire with: kill -USR1 %d  or  curl -X POST %s/mock/fire", (int)getpid(),
		mock_url(mock));
}

/* Until a signal that ends it. Says once that the notice is out, whoever fired it. */
static void serve(struct mock *mock, const sigset_t *signals)
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
				text_duration(
					clock_left_ms(mock_deadline_ms(mock)), left, sizeof(left)));
			said = true;
		}
	}
}

int cmd_mock(int argc, char **argv)
{
	struct mock_options options = {.cloud = MOCK_AWS};
	struct mock *mock;
	struct err err;
	sigset_t signals;
	int read = read_command_line(argc, argv, &options);

	if (read != 0)
		return read > 0 ? 0 : EXIT_USAGE;
	/* Before the server's threads exist. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (mock_start(&options, &mock, &err) < 0) {
		log_error("mock: %s", err.text);
		return err.kind == ERR_INVALID || err.kind == ERR_EXISTS ? EXIT_USAGE
									 : EXIT_OWN_FAILURE;
	}
	introduce(mock);
	serve(mock, &signals);
	mock_stop(mock);
	return 0;
}
