/*
 * reprieve watch: prints each change of the merged notice, and runs a command on it, without a job.
 *
 * A source says its notice on a thread of its own. There the command runs, to its end, before the
 * thread may go on, and one thread at a time: so commands run one after the other, and what the
 * source has to say next waits for them. The main thread waits for signals, the time limit and the
 * end.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/program.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "cloud/cloud.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "verbs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CODE_TIMED_OUT = 1,
	CODE_NONE = -1
};

struct watch_line {
	const char *sources, *deadline; /* as cloud.h takes them */
	int64_t deadline_notice_ms, timeout_ms;
	bool json, once;
	const char *shell; /* of --exec */
};

struct watching {
	const struct watch_line *line;
	char **command;        /* NULL: none */
	pthread_mutex_t turn;  /* held while one notice is handled */
	pthread_mutex_t state; /* holds what follows */
	struct notices notices;
	pid_t pid;          /* of the command and of its group; 0: none runs */
	int code;           /* CODE_NONE: it is to go on */
	bool output_failed; /* what is printed goes nowhere, which was said */
};

// clang-format off
static const struct option_row notice_rows[] = {
	{"notice", 0, "LIST", "REPRIEVE_NOTICE",
		"who announces a preemption: auto (default), or some, with commas between, of "
		"aws, gcp, azure, alibaba, tencent, slurm, file:PATH",
		OPTION_TEXT(struct watch_line, sources),
		.choices = "auto aws gcp azure alibaba tencent slurm"},
	{"deadline", 0, "TIME", "REPRIEVE_DEADLINE",
		"when the machine will be gone, if that is known",
		OPTION_TEXT(struct watch_line, deadline)},
	{"deadline-notice", 0, "DURATION", "REPRIEVE_DEADLINE_NOTICE",
		"how long before a known end it is told (default: 120s)",
		OPTION_DURATION(struct watch_line, deadline_notice_ms)},
	{0},
};

static const struct option_row own_rows[] = {
	{"exec", 0, "COMMAND", NULL, "a shell command to run on each notice, instead of -- COMMAND",
		OPTION_TEXT(struct watch_line, shell)},
	{"once", 0, NULL, NULL, "end after the first stop, and after its command",
		OPTION_FLAG(struct watch_line, once)},
	{"timeout", 0, "DURATION", NULL, "end with 1 when no stop came within that time",
		OPTION_DURATION(struct watch_line, timeout_ms), .least = 1},
	{0},
};

static const struct option_row other_rows[] = {
	{"json", 0, NULL, NULL, "lines of JSON, also about the sources",
		OPTION_FLAG(struct watch_line, json)},
	{0},
};

static const struct help_row exits[] = {
	{"0", "at SIGTERM or Ctrl-C, and with --once after a stop"},
	{"1", "--timeout is over"},
	{"64", "wrong usage"},
	{"69", "there is no source to watch"},
	{"70", "a failure of ours"},
	{"any other", "with --once the command's own, if it failed"},
	{0},
};

const struct verb verb_watch = {
	.name = "watch",
	.summary = "print preemption notices, or run a command on each, without a job",
	.examples = "reprieve watch\n"
		"reprieve watch --once -- ./save_and_leave.sh\n"
		"reprieve watch --notice aws,file:/run/preempt --json | logger\n"
		"reprieve watch --once --timeout 10s             # is there one now?",
	.arguments = "[-- COMMAND [ARG...]]",
	.takes_command = true,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Notice", notice_rows, 0),
		OPTION_GROUP("Watching", own_rows, 0),
		OPTION_GROUP("Other", other_rows, 0),
		{0},
	},
	.notes = "The command sees REPRIEVE_NOTICE_KIND (stop, advice, cancelled), _SOURCE, "
		"_IDENTITY, _REASON, _DEADLINE and _SECONDS_LEFT. One runs at a time.",
	.exits = exits,
};
// clang-format on

/* The main thread looks again at the state. */
static void wake_main(void)
{
	kill(getpid(), SIGCHLD);
}

/* The first reason to end counts. */
static void end_watching(struct watching *watching, int code)
{
	pthread_mutex_lock(&watching->state);
	if (watching->code == CODE_NONE)
		watching->code = code;
	pthread_mutex_unlock(&watching->state);
	wake_main();
}

/* --- telling --- */

static void print_line(struct watching *watching, const char *text)
{
	clearerr(stdout);
	terminal_line_print("%s", text);
	if (!ferror(stdout) && fflush(stdout) == 0) {
		watching->output_failed = false;
		return;
	}
	/* The command is what a watch with one is for: it needs no reader. */
	if (watching->command) {
		if (!watching->output_failed)
			log_warn("watch: standard output cannot be written: %s; the command is run "
				 "all the same",
				 strerror(errno));
		watching->output_failed = true;
		return;
	}
	/* Nobody reads any more: that is how `| head -1` ends us. */
	if (errno != EPIPE)
		log_error("watch: standard output cannot be written: %s", strerror(errno));
	end_watching(watching, errno == EPIPE ? 0 : EXIT_OWN_FAILURE);
}

static void print_event(struct watching *watching, const char *event, json_t *about)
{
	char time[32];
	auto_json json_t *line =
		json_pack("{s:s, s:s}", "time", clock_format(clock_wall_ms(), time, sizeof(time)),
			  "event", event);
	auto_json json_t *more = about;
	auto_free char *text = NULL;

	json_object_update(line, more);
	text = json_dumps(line, JSON_COMPACT);
	if (text)
		print_line(watching, text);
}

static void print_notice(struct watching *watching, const struct notice *notice)
{
	char time[32], text[320];
	auto_free char *line =
		text_format("%s %s", clock_format(clock_wall_ms(), time, sizeof(time)),
			    notice_format(notice, text, sizeof(text)));

	if (watching->line->json)
		print_event(watching, "notice", notice_format_json(notice));
	else
		print_line(watching, line);
}

/* --- the command --- */

extern char **environ;

enum {
	NOTICE_VARIABLES = 6
};

/* The first NOTICE_VARIABLES are the caller's to free: getenv() and shells take the first of two.
 */
static char **command_environment(const struct notice *notice)
{
	static const char *const members[NOTICE_VARIABLES][2] = {
		{"KIND", "kind"},     {"SOURCE", "source"},     {"IDENTITY", "identity"},
		{"REASON", "reason"}, {"DEADLINE", "deadline"}, {"SECONDS_LEFT", "seconds_left"},
	};
	auto_json json_t *about = notice_format_json(notice);
	size_t count = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = memory_new((count + NOTICE_VARIABLES + 1) * sizeof(*environment));
	for (size_t i = 0; i < NOTICE_VARIABLES; i++) {
		json_t *value = json_object_get(about, members[i][1]);

		environment[i] = json_is_number(value)
					 ? text_format("REPRIEVE_NOTICE_%s=%.3f", members[i][0],
						       json_number_value(value))
					 : text_format("REPRIEVE_NOTICE_%s=%s", members[i][0],
						       json_text_or(about, members[i][1], ""));
	}
	memcpy(environment + NOTICE_VARIABLES, environ, count * sizeof(*environment));
	return environment;
}

/* 0, or an errno value; also 0 where the end has come: then no command is started. */
static int start_command(struct watching *watching, const struct notice *notice)
{
	char **environment = command_environment(notice);
	int failed = 0;

	pthread_mutex_lock(&watching->state);
	if (watching->code == CODE_NONE)
		failed = program_start(watching->command, environment, NULL, 0, &watching->pid);
	if (failed)
		watching->pid = 0;
	pthread_mutex_unlock(&watching->state);
	for (size_t i = 0; i < NOTICE_VARIABLES; i++)
		free(environment[i]);
	free(environment);
	return failed;
}

/* As shells have it. */
static int await_command(struct watching *watching, int failed)
{
	int status = 0, code;
	siginfo_t info;

	if (failed)
		log_error("watch: %s: %s", watching->command[0], strerror(failed));
	/* The number stays the command's until nobody can signal it any more. */
	if (watching->pid > 0)
		while (waitid(P_PID, (id_t)watching->pid, &info, WEXITED | WNOWAIT) < 0 &&
		       errno == EINTR)
			;
	pthread_mutex_lock(&watching->state);
	if (watching->pid > 0)
		waitpid(watching->pid, &status, 0);
	watching->pid = 0;
	pthread_mutex_unlock(&watching->state);
	code = failed ? (failed == ENOENT ? 127 : 126) : wait_status_exit_code(status);
	if (code != 0)
		log_warn("watch: the command ended with %d", code);
	wake_main();
	return code;
}

/* --- what comes in, on the sources' threads --- */

/* False: it is no news, or the end has come. */
static bool merge_notice(struct watching *watching, const struct notice *notice, bool *stopped)
{
	bool is_news;

	pthread_mutex_lock(&watching->state);
	is_news = notices_add(&watching->notices, notice) != NOTICE_NOTHING_NEW &&
		  watching->code == CODE_NONE;
	*stopped = notices_stop(&watching->notices) != NULL;
	pthread_mutex_unlock(&watching->state);
	return is_news;
}

static void handle_notice(void *arg, const struct notice *notice)
{
	struct watching *watching = arg;
	bool stopped;
	int failed = 0, code = 0;

	pthread_mutex_lock(&watching->turn);
	if (merge_notice(watching, notice, &stopped)) {
		/* First of all: it saves, and printing may fail, or hang on a reader that sleeps.
		 */
		if (watching->command)
			failed = start_command(watching, notice);
		print_notice(watching, notice);
		if (watching->command)
			code = await_command(watching, failed);
		if (watching->line->once && stopped)
			end_watching(watching, code);
	}
	pthread_mutex_unlock(&watching->turn);
}

static void handle_health(void *arg, const struct source_state *state)
{
	struct watching *watching = arg;
	char text[480];

	notice_format_source(state, text, sizeof(text));
	pthread_mutex_lock(&watching->turn);
	if (watching->line->json)
		print_event(watching, "source", notice_format_source_json(state));
	else if (state->health == SOURCE_ARMED && !state->why[0])
		log_note("%s", text);
	else if (state->health != SOURCE_STARTING)
		log_warn("%s", text);
	pthread_mutex_unlock(&watching->turn);
}

/* --- the main thread --- */

/* A command that is asked a second time does not get to end in its own way. */
static void end_command(struct watching *watching, int code)
{
	pthread_mutex_lock(&watching->state);
	if (watching->pid > 0)
		kill(-watching->pid, watching->code == CODE_NONE ? SIGTERM : SIGKILL);
	if (watching->code == CODE_NONE)
		watching->code = code;
	pthread_mutex_unlock(&watching->state);
}

/* How long to wait for the next signal; without end where a stop is known. */
static int64_t time_left(struct watching *watching, int64_t end_ms)
{
	int64_t left = CLOCK_NEVER;

	pthread_mutex_lock(&watching->state);
	if (end_ms != CLOCK_NEVER && watching->code == CODE_NONE &&
	    !notices_stop(&watching->notices))
		left = end_ms - clock_monotonic_ms();
	pthread_mutex_unlock(&watching->state);
	return left;
}

static bool is_over(struct watching *watching)
{
	bool over;

	pthread_mutex_lock(&watching->state);
	over = watching->code != CODE_NONE && watching->pid == 0;
	pthread_mutex_unlock(&watching->state);
	return over;
}

static int wait_for_end(struct watching *watching, const struct signals_inherited *inherited)
{
	int64_t end_ms = watching->line->timeout_ms
				 ? clock_monotonic_ms() + watching->line->timeout_ms
				 : CLOCK_NEVER;
	sigset_t signals;

	sigemptyset(&signals);
	for (const int *at = (const int[]){SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCHLD, 0}; *at; at++)
		sigaddset(&signals, *at);
	while (!is_over(watching)) {
		int64_t left = time_left(watching, end_ms), part = left < 60000 ? left : 60000;
		const struct timespec wait = {part / 1000, part % 1000 * 1000000};
		int signal;

		if (left <= 0) {
			end_command(watching, CODE_TIMED_OUT);
			continue;
		}
		signal = sigtimedwait(&signals, NULL, &wait);
		if (signal < 0 || signal == SIGCHLD ||
		    sigismember(&inherited->ignored, signal) == 1)
			continue;
		/* Ctrl-Z. A command that runs goes on: it saves, and is in a group of its own. */
		if (signal == SIGTSTP)
			signals_stop_self(signal, false);
		else
			end_command(watching, 0);
	}
	return watching->code;
}

static int watch(struct watching *watching, const struct signals_inherited *inherited,
		 struct err *err)
{
	const struct watch_line *line = watching->line;
	const struct cloud_options sources = {
		.sources = line->sources,
		.deadline = line->deadline,
		.deadline_notice_ms = line->deadline_notice_ms,
		.notice = handle_notice,
		.health = handle_health,
		.arg = watching,
	};
	struct cloud_watch *cloud_watch;
	int code;

	if (cloud_watch_start(&sources, &cloud_watch, err) < 0)
		return -1;
	if (cloud_watch_states(cloud_watch, NULL, 0) > 0)
		code = wait_for_end(watching, inherited);
	else
		code = err_set(err, ERR_NOT_FOUND,
			       "there is no source to watch: %s; name one with --notice, or give "
			       "--deadline",
			       line->sources && text_equal(line->sources, "none")
				       ? "notice sources are disabled by --notice none or "
					 "REPRIEVE_NOTICE=none"
				       : "this machine is on no known cloud");
	cloud_watch_stop(cloud_watch);
	return code;
}

int cmd_watch(int argc, char **argv)
{
	struct signals_inherited inherited;
	struct watch_line line = {0};
	struct watching watching = {
		.line = &line,
		.turn = PTHREAD_MUTEX_INITIALIZER,
		.state = PTHREAD_MUTEX_INITIALIZER,
		.code = CODE_NONE,
	};
	char *by_shell[] = {(char *)"/bin/sh", (char *)"-c", NULL, NULL}, **command;
	struct err err = {0};
	int code;

	signals_block(&inherited);
	child_fill_standard_descriptors(); /* else the lines would go into what is opened next */
	code = option_table_parse(&verb_watch, argc, argv, &line, &command);
	if (code >= 0)
		return code;
	if (line.shell && command[0]) {
		log_error("watch: --exec and -- COMMAND: leave one of them out");
		return EXIT_USAGE;
	}
	by_shell[2] = (char *)line.shell;
	watching.command = line.shell ? by_shell : command[0] ? command : NULL;
	code = watch(&watching, &inherited, &err);
	if (code >= 0)
		return code;
	log_error("watch: %s", err.text);
	return err.kind == ERR_INVALID     ? EXIT_USAGE
	       : err.kind == ERR_NOT_FOUND ? EXIT_UNAVAILABLE
					   : EXIT_OWN_FAILURE;
}
