/* reprieve checkpoint: asks a running supervisor for a checkpoint, and
 * waits until it is durable. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "control/control.h"
#include "terminal_line.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define STATUS_TIMEOUT_MS 5000

static const char usage[] =
	"Ask a running job for a checkpoint, and wait until it is durable.\n\n"
	"  reprieve checkpoint\n"
	"  reprieve checkpoint --job train-7 --timeout 10m\n\n"
	"Usage: reprieve checkpoint [--job NAME | --pid PID] [--timeout DURATION] [--json] "
	"[--no-wait]\n\n"
	"  -j, --job NAME          which job, where several run under this user\n"
	"      --pid PID           the same, by either pid that `reprieve status` shows: the "
	"job's, or its supervisor's\n"
	"      --timeout DURATION  give up after this long (the checkpoint goes on); default: "
	"never\n"
	"      --no-wait           return once the job has been asked\n"
	"      --json              one JSON object per line for each thing that happens\n\n"
	"Exit code: 0 durable (with --no-wait: asked), 1 not, 64 usage, 69 no such job is running "
	"here.\n";

struct options {
	const char *job;
	pid_t pid; /* 0: any */
	int64_t timeout_ms;
	bool json, wait, help;
};

enum {
	OPTION_PID = 256,
	OPTION_TIMEOUT,
	OPTION_JSON,
	OPTION_NO_WAIT
};

static int set_option(struct options *options, int option, struct err *err)
{
	uint64_t number;

	switch (option) {
	case 'j':
		options->job = optarg;
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case OPTION_PID:
		if (!text_to_u64(optarg, INT32_MAX, &number) || number == 0)
			return err_set(err, ERR_INVALID, "--pid: '%s' is no process id", optarg);
		options->pid = (pid_t)number;
		return 0;
	case OPTION_TIMEOUT:
		if (!text_to_duration_ms(optarg, &options->timeout_ms))
			return err_set(err, ERR_INVALID,
				       "--timeout: '%s' is no duration: write 30s, 10m, ...",
				       optarg);
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_NO_WAIT:
		options->wait = false;
		return 0;
	default:
		return err_set(err, ERR_INVALID, "see `reprieve checkpoint --help`");
	}
}

static int parse_arguments(int argc, char **argv, struct options *options, struct err *err)
{
	static const struct option known[] = {
		{"job", required_argument, NULL, 'j'},
		{"pid", required_argument, NULL, OPTION_PID},
		{"timeout", required_argument, NULL, OPTION_TIMEOUT},
		{"json", no_argument, NULL, OPTION_JSON},
		{"no-wait", no_argument, NULL, OPTION_NO_WAIT},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":j:h", known, NULL)) != -1) {
		if (option == '?')
			return err_set(err, ERR_INVALID,
				       "there is no option '%s'; see `reprieve checkpoint --help`",
				       argv[optind - 1]);
		if (option == ':')
			return err_set(err, ERR_INVALID, "%s needs a value", argv[optind - 1]);
		if (set_option(options, option, err) < 0)
			return -1;
	}
	if (optind < argc)
		return err_set(err, ERR_INVALID, "'%s' is not expected here", argv[optind]);
	return 0;
}

/* Which of the live sessions is meant. */
struct session_search {
	const struct options *options;
	bool by_job;     /* `pid` is the job's own: its supervisor is asked */
	char *directory; /* of the last one that fits */
	struct bytes names;
	size_t count;
};

static bool matches_pid(const struct session_search *session_search,
			const struct session_info *info)
{
	auto_json json_t *answer = NULL;

	if (!session_search->by_job)
		return session_search->options->pid == info->pid;
	return control_client_query(info->directory, "status", STATUS_TIMEOUT_MS, &answer, NULL) ==
		       0 &&
	       json_number_or(answer, "pid", 0) == session_search->options->pid;
}

static bool consider_session(void *arg, const struct session_info *info)
{
	struct session_search *session_search = arg;
	const struct options *options = session_search->options;

	if (options->job && !text_equal(options->job, info->job))
		return true;
	if (options->pid && !matches_pid(session_search, info))
		return true;
	session_search->count++;
	free(session_search->directory);
	session_search->directory = text_copy(info->directory);
	bytes_format(&session_search->names, NULL, "%s%s (pid %d)",
		     session_search->count > 1 ? ", " : "", info->job, (int)info->pid);
	return true;
}

/* The directory of the one; NULL with a sentence and an exit code in `*code`. The caller frees. */
static char *find_session(const struct options *options, int *code, struct err *err)
{
	struct session_search session_search = {.options = options};
	char *found = NULL;

	session_each(consider_session, &session_search);
	if (session_search.count == 0 && options->pid) {
		session_search.by_job = true;
		session_each(consider_session, &session_search);
	}
	if (session_search.count == 1) {
		found = steal(&session_search.directory);
	} else if (session_search.count > 1) {
		*code = EX_USAGE;
		err_set(err, ERR_INVALID,
			"several jobs are running: %.*s; choose with --job or --pid",
			(int)session_search.names.size, (char *)session_search.names.data);
	} else {
		*code = EX_UNAVAILABLE;
		err_set(err, ERR_NOT_FOUND, "no %s running under this user here",
			options->job || options->pid ? "such job is" : "`reprieve run` is");
	}
	free(session_search.directory);
	bytes_release(&session_search.names);
	return found;
}

struct request_result {
	const struct options *options;
	bool settled, failed;
};

static void print_durable(json_t *reply)
{
	json_t *seconds = json_object_get(reply, "seconds");
	char text[24];

	printf("saved: %s, %s", json_text_or(reply, "id", "?"),
	       text_bytes((uint64_t)json_number_or(reply, "bytes", 0), text, sizeof(text)));
	if (json_number_or(reply, "step", -1) >= 0)
		printf(", step %lld", (long long)json_number_or(reply, "step", -1));
	printf(", durable");
	if (json_is_number(seconds))
		printf(" in %s", text_duration((int64_t)(json_number_value(seconds) * 1000), text,
					       sizeof(text)));
	putchar('\n');
}

static void print_requested(json_t *reply)
{
	size_t i;
	json_t *pid;

	printf("asked");
	json_array_foreach(json_object_get(reply, "pids"), i, pid)
		printf("%s %lld",
		       i                                                     ? ","
		       : json_array_size(json_object_get(reply, "pids")) > 1 ? " pids"
									     : " pid",
		       (long long)json_integer_value(pid));
	putchar('\n');
}

static void print_reply(void *arg, json_t *reply)
{
	struct request_result *request_result = arg;
	const struct options *options = request_result->options;
	const char *event = json_text_or(reply, "event", "");

	if (options->json)
		json_print(json_incref(reply), false);
	if (text_equal(event, "failed")) {
		request_result->settled = request_result->failed = true;
		if (!options->json)
			log_error("no checkpoint: %s",
				  json_text_or(reply, "error", "no reason given"));
	} else if (text_equal(event, "durable")) {
		request_result->settled = true;
		if (!options->json)
			print_durable(reply);
	} else if (text_equal(event, "asked")) {
		request_result->settled = !options->wait;
		if (!options->json)
			print_requested(reply);
	} else if (text_equal(event, "rank_progress") && !options->json) {
		terminal_line_print("%s", json_text_or(reply, "text", ""));
	}
	fflush(stdout);
}

static int request_checkpoint(const struct options *options, const char *directory, struct err *err)
{
	auto_free char *path = text_format("%s/%s", directory, SESSION_CONTROL);
	auto_json json_t *request =
		json_pack("{s:s, s:b}", "do", "checkpoint", "wait", (int)options->wait);
	struct request_result request_result = {.options = options};
	struct cancel cancel;
	int result;

	if (cancel_init(&cancel, err) < 0)
		return -1;
	if (options->timeout_ms >= 0)
		cancel_set_deadline(&cancel, clock_monotonic_ms() + options->timeout_ms);
	result = control_socket_call(path, request, print_reply, &request_result, &cancel, err);
	cancel_release(&cancel);
	if (result < 0)
		return -1;
	if (!request_result.settled)
		return err_set(err, ERR_FAILED, "the supervisor went away before it was done");
	return request_result.failed ? 1 : 0;
}

int cmd_checkpoint(int argc, char **argv)
{
	struct options options = {.timeout_ms = -1, .wait = true};
	struct err err;
	int code = EX_USAGE;

	if (parse_arguments(argc, argv, &options, &err) < 0) {
		log_error("checkpoint: %s", err.text);
		return EX_USAGE;
	}
	if (options.help) {
		fputs(usage, stdout);
		return 0;
	}
	auto_free char *directory = find_session(&options, &code, &err);
	if (!directory) {
		log_error("checkpoint: %s", err.text);
		return code;
	}
	code = request_checkpoint(&options, directory, &err);
	if (code < 0) {
		log_error("checkpoint: %s", err.text);
		return err.kind == ERR_NOT_FOUND ? EX_UNAVAILABLE : 1;
	}
	return code;
}
