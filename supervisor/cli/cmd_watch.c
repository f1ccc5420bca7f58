/* reprieve watch: notices alone, for scripts and for jobs that another supervisor runs. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "notice_runner.h"
#include "process/process.h"
#include "run_options.h"
#include "scheduler/scheduler.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	OPTION_NOTICE = 256,
	OPTION_DEADLINE,
	OPTION_DEADLINE_NOTICE,
	OPTION_JSON,
	OPTION_ONCE,
	OPTION_TIMEOUT,
	OPTION_EXEC,
};

static const char usage[] =
	"Print preemption notices, or run a command on each, without a job.\n\n"
	"  reprieve watch\n"
	"  reprieve watch --once -- ./save_and_leave.sh\n"
	"  reprieve watch --notice aws,file:/run/preempt --json | logger\n"
	"  reprieve watch --once --timeout 10s             is there one now?\n\n"
	"Usage: reprieve watch [options] [-- COMMAND [ARG...]]\n\n"
	"      --notice LIST            as for reprieve run: auto (default), aws, gcp, azure, "
	"alibaba, "
	"tencent, slurm, file:PATH, command:COMMAND\n"
	"      --deadline TIME          when the machine will be gone, if that is known\n"
	"      --deadline-notice TIME   so long before a known end it is told (default: 120s)\n"
	"      --exec COMMAND           a shell command to run on each notice, instead of -- "
	"COMMAND\n"
	"      --once                   end after the first stop, and after its command\n"
	"      --timeout TIME           end with 1 when no stop came within that time\n"
	"      --json                   lines of JSON, also about the sources\n"
	"  -h, --help\n\n"
	"The command sees REPRIEVE_NOTICE_KIND (stop, advice, cancelled), _SOURCE, _IDENTITY, "
	"_REASON, "
	"_DEADLINE and _SECONDS_LEFT.\n"
	"One runs at a time. Exit status: 0 at SIGTERM or Ctrl-C, and with --once after a stop; "
	"then the "
	"command's own if it failed;\n"
	"1 --timeout is over; 64 usage; 69 there is no source to watch; 70 a failure of ours.\n";

struct watch_line {
	struct notice_runner_options options;
	char *shell[4]; /* of --exec */
};

static int invalid_value(const char *option, const char *value)
{
	log_error("watch: %s '%s' is no duration: write 30, 90s, 15m or 2h", option, value);
	return EXIT_USAGE;
}

/* -1 to go on, else the exit code. */
static int set_option(int option, struct watch_line *line)
{
	struct notice_runner_options *options = &line->options;

	switch (option) {
	case 'h':
		fputs(usage, stdout);
		return 0;
	case OPTION_NOTICE:
		options->sources = optarg;
		return -1;
	case OPTION_DEADLINE:
		options->deadline = optarg;
		return -1;
	case OPTION_DEADLINE_NOTICE:
		return text_to_duration_ms(optarg, &options->deadline_notice_ms)
			       ? -1
			       : invalid_value("--deadline-notice", optarg);
	case OPTION_TIMEOUT:
		return text_to_duration_ms(optarg, &options->timeout_ms) && options->timeout_ms > 0
			       ? -1
			       : invalid_value("--timeout", optarg);
	case OPTION_JSON:
		options->json = true;
		return -1;
	case OPTION_ONCE:
		options->once = true;
		return -1;
	case OPTION_EXEC:
		line->shell[2] = optarg;
		return -1;
	default:
		return EXIT_USAGE;
	}
}

static int parse_arguments(int argc, char **argv, struct watch_line *line)
{
	static const struct option known[] = {
		{"notice", required_argument, NULL, OPTION_NOTICE},
		{"deadline", required_argument, NULL, OPTION_DEADLINE},
		{"deadline-notice", required_argument, NULL, OPTION_DEADLINE_NOTICE},
		{"exec", required_argument, NULL, OPTION_EXEC},
		{"once", no_argument, NULL, OPTION_ONCE},
		{"timeout", required_argument, NULL, OPTION_TIMEOUT},
		{"json", no_argument, NULL, OPTION_JSON},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *lacking;
	int option, code;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:h", known, NULL)) != -1) {
		lacking = run_options_missing_value(option, argv);
		if (option == '?' || lacking) {
			log_error("watch: %s '%s': see `reprieve watch --help`",
				  lacking ? "a value is missing for" : "unknown option",
				  lacking ? lacking : argv[optind - 1]);
			return EXIT_USAGE;
		}
		code = set_option(option, line);
		if (code >= 0)
			return code;
	}
	if (line->shell[2] && argv[optind]) {
		log_error("watch: --exec and -- COMMAND: leave one of them out");
		return EXIT_USAGE;
	}
	line->options.command = line->shell[2] ? line->shell : argv[optind] ? argv + optind : NULL;
	return -1;
}

/* Set to nothing is not set, as for `run`. */
static const char *environment_value(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

int cmd_watch(int argc, char **argv)
{
	char shell[] = "/bin/sh", flag[] = "-c";
	struct signals_inherited inherited;
	struct watch_line line = {
		.options =
			{
				.sources = environment_value("REPRIEVE_NOTICE"),
				.deadline = environment_value("REPRIEVE_DEADLINE"),
				.inherited = &inherited,
			},
		.shell = {shell, flag},
	};
	const char *notice = environment_value("REPRIEVE_DEADLINE_NOTICE");
	struct err err = {0};
	int code;

	signals_block(&inherited);
	child_fill_standard_descriptors(); /* else the lines would go into what is opened next */
	if (notice && !text_to_duration_ms(notice, &line.options.deadline_notice_ms))
		return invalid_value("REPRIEVE_DEADLINE_NOTICE", notice);
	code = parse_arguments(argc, argv, &line);
	if (code >= 0)
		return code;
	code = notice_runner_run(&line.options, &err);
	if (code >= 0)
		return code;
	log_error("watch: %s", err.text);
	return err.kind == ERR_INVALID     ? EXIT_USAGE
	       : err.kind == ERR_NOT_FOUND ? EXIT_UNAVAILABLE
					   : EXIT_OWN_FAILURE;
}
