/*
 * reprieve watch: prints each change of the merged notice, and runs a command on it, without a job.
 *
 * A source says its notice on a thread of its own, which writes it to a pipe. The main thread
 * prints it, runs the command, and reads the next one when that has ended.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "cloud/cloud.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CODE_TIMED_OUT = 1,
	CODE_NONE = -1,
	POLL_MOST_MS = 60000
};

struct watch_line {
	const char *sources, *deadline; /* as cloud.h takes them */
	int64_t deadline_notice_ms, timeout_ms;
	bool json, once;
	const char *shell; /* of --exec */
};

/* What a source says; less than PIPE_BUF, so that it is written as a whole. */
struct word {
	bool of_health;
	struct notice notice;
	struct source_state state;
};

struct watching {
	const struct watch_line *line;
	char **command; /* NULL: none */
	int words[2];   /* a pipe of words */
	int signals;
	struct notices notices;
	pid_t pid;          /* the command that runs; 0: none */
	bool ending;        /* it was told to end */
	int64_t end_ms;     /* with --timeout */
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
		OPTION_GROUP("Other", json_rows, offsetof(struct watch_line, json)),
		{0},
	},
	.notes = "The command sees REPRIEVE_NOTICE_KIND (stop, advice, cancelled), _SOURCE, "
		"_IDENTITY, _REASON, _DEADLINE and _SECONDS_LEFT. One runs at a time.",
	.exits = (const struct help_row[]){
		{"0", "at SIGTERM or Ctrl-C, and with --once after a stop"},
		{"1", "--timeout is over"},
		{"69", "there is no source to watch"},
		{"70", "a failure of ours"},
		{"any other", "with --once the command's own, if it failed"},
		{0},
	},
};
// clang-format on

/* The first reason to end counts. */
static void end_watching(struct watching *watching, int code)
{
	if (watching->code == CODE_NONE)
		watching->code = code;
}

/* The command is what a watch with one is for: it needs no reader. Without one `| head -1` ends us.
 */
static void print_line(struct watching *watching, const char *text)
{
	int failed;

	clearerr(stdout);
	terminal_line_print("%s", text);
	if (!ferror(stdout) && fflush(stdout) == 0)
		return;
	failed = errno;
	if (!watching->output_failed && (watching->command || failed != EPIPE))
		log_warn("watch: standard output cannot be written: %s", strerror(failed));
	watching->output_failed = true;
	if (!watching->command)
		end_watching(watching, failed == EPIPE ? 0 : EXIT_OWN_FAILURE);
}

/* A line of JSON, or of text. Takes over `about`. */
static void print_event(struct watching *watching, const char *event, json_t *about,
			const char *text)
{
	char time[32];
	auto_json json_t *more = about;
	auto_json json_t *line =
		json_pack("{s:s, s:s}", "time", clock_format(clock_wall_ms(), time, sizeof(time)),
			  "event", event);
	auto_free char *words = NULL;

	json_object_update(line, more);
	words = watching->line->json ? json_line(line) : text_format("%s %s", time, text);
	if (words)
		print_line(watching, words);
}

/* --- the command --- */

/* 0, or an errno value. */
static int start_command(const struct watching *watching, const struct notice *notice, pid_t *pid)
{
	static const char *const members[][2] = {
		{"KIND", "kind"},     {"SOURCE", "source"},     {"IDENTITY", "identity"},
		{"REASON", "reason"}, {"DEADLINE", "deadline"}, {"SECONDS_LEFT", "seconds_left"},
	};
	enum {
		COUNT = sizeof(members) / sizeof(members[0])
	};
	auto_json json_t *about = notice_format_json(notice);
	auto_free char **environment = NULL;
	char *texts[COUNT + 1] = {NULL};
	int failed;

	for (size_t i = 0; i < COUNT; i++) {
		json_t *value = json_object_get(about, members[i][1]);

		texts[i] = json_is_number(value)
				   ? text_format("REPRIEVE_NOTICE_%s=%.3f", members[i][0],
						 json_number_value(value))
				   : text_format("REPRIEVE_NOTICE_%s=%s", members[i][0],
						 json_text_or(about, members[i][1], ""));
	}
	environment = child_variables((const char *const *)texts, NULL);
	failed = program_start(watching->command, environment, NULL, 0, pid);
	for (size_t i = 0; i < COUNT; i++)
		free(texts[i]);
	return failed;
}

/* Until --timeout is over; without end where a stop is known. */
static int poll_ms(const struct watching *watching)
{
	bool timed = watching->line->timeout_ms && !notices_stop(&watching->notices);
	int64_t left_ms = timed ? clock_left_ms(watching->end_ms) : POLL_MOST_MS;

	return left_ms <= 0 ? 0 : left_ms < POLL_MOST_MS ? (int)left_ms : POLL_MOST_MS;
}

/* --- what comes in, on the sources' threads --- */

static void handle_notice(void *arg, const struct notice *notice)
{
	const struct watching *watching = arg;
	const struct word word = {.notice = *notice};

	(void)!write(watching->words[1], &word, sizeof(word));
}

static void handle_health(void *arg, const struct source_state *state)
{
	const struct watching *watching = arg;
	const struct word word = {.of_health = true, .state = *state};

	(void)!write(watching->words[1], &word, sizeof(word));
}

/* --- the main thread --- */

/* The command has ended, or there is none. */
static void end_command(struct watching *watching, int code)
{
	watching->pid = 0;
	watching->ending = false;
	if (watching->line->once && notices_stop(&watching->notices))
		end_watching(watching, code);
}

static void hear_notice(struct watching *watching, const struct notice *notice)
{
	char text[320];
	int failed = 0;

	if (notices_add(&watching->notices, notice) == NOTICE_NOTHING_NEW)
		return;
	/* First of all: it saves, and printing may fail, or hang on a reader that sleeps. */
	if (watching->command)
		failed = start_command(watching, notice, &watching->pid);
	print_event(watching, "notice", notice_format_json(notice),
		    notice_format(notice, text, sizeof(text)));
	if (failed)
		log_error("watch: %s: %s", watching->command[0], strerror(failed));
	if (failed || !watching->command)
		end_command(watching, failed == ENOENT ? 127 : failed ? 126 : 0);
}

static void hear_health(struct watching *watching, const struct source_state *state)
{
	char text[480];

	notice_format_source(state, text, sizeof(text));
	if (watching->line->json)
		print_event(watching, "source", notice_format_source_json(state), text);
	else if (state->health == SOURCE_ARMED && !state->why[0])
		log_note("%s", text);
	else if (state->health != SOURCE_STARTING)
		log_warn("%s", text);
}

/* A signal that ends us is handed on to a command that runs, which is in a group of its own; at the
 * second one it does not get to end in its own way. */
static void hear_signal(struct watching *watching)
{
	struct signalfd_siginfo info;
	int status;

	if (read(watching->signals, &info, sizeof(info)) == sizeof(info) &&
	    info.ssi_signo != SIGCHLD) {
		if (watching->pid)
			kill(-watching->pid, watching->ending ? SIGKILL : SIGTERM);
		watching->ending = true;
		end_watching(watching, 0);
	}
	if (watching->pid && waitpid(watching->pid, &status, WNOHANG) == watching->pid) {
		int code = wait_status_exit_code(status);

		if (code != 0)
			log_warn("watch: the command ended with %d", code);
		end_command(watching, code);
	}
}

/* The next notice is read when the command of the one before it has ended. */
static int wait_for_end(struct watching *watching)
{
	struct word word;

	watching->end_ms = clock_monotonic_ms() + watching->line->timeout_ms;
	while (watching->code == CODE_NONE || watching->pid) {
		struct pollfd fds[] = {
			{.fd = watching->signals, .events = POLLIN},
			{.fd = watching->pid ? -1 : watching->words[0], .events = POLLIN},
		};
		int wait_ms = watching->pid && watching->ending ? -1 : poll_ms(watching);
		int ready = poll(fds, 2, wait_ms);

		if (ready > 0 && fds[0].revents) {
			hear_signal(watching);
		} else if (ready > 0 && read(fds[1].fd, &word, sizeof(word)) == sizeof(word)) {
			word.of_health ? hear_health(watching, &word.state)
				       : hear_notice(watching, &word.notice);
		} else if (ready == 0 && wait_ms == 0 && watching->pid) {
			kill(-watching->pid, SIGTERM);
			watching->ending = true;
		} else if (ready == 0 && wait_ms == 0) {
			/* What came in time, while a command ran, was read before. */
			end_watching(watching, CODE_TIMED_OUT);
		}
	}
	return watching->code;
}

static int watch(struct watching *watching, struct err *err)
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

	if (pipe2(watching->words, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	if (cloud_watch_start(&sources, &cloud_watch, err) < 0)
		return -1;
	if (cloud_watch_states(cloud_watch, NULL, 0) > 0)
		code = wait_for_end(watching);
	else
		code = err_set(err, ERR_NOT_FOUND,
			       "there is no source to watch: %s; name one with --notice, or give "
			       "--deadline",
			       text_equal(line->sources, "none")
				       ? "notice sources are disabled by --notice none or "
					 "REPRIEVE_NOTICE=none"
				       : "this machine is on no known cloud");
	cloud_watch_stop(cloud_watch);
	return code;
}

int cmd_watch(int argc, char **argv)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	struct signals_inherited inherited;
	struct watch_line line = {0};
	struct watching watching = {.line = &line, .code = CODE_NONE};
	char *by_shell[] = {(char *)"/bin/sh", (char *)"-c", NULL, NULL}, **command;
	struct err err = {0};
	sigset_t signals, stop;
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
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigismember(&inherited.ignored, ends[i]) != 1)
			sigaddset(&signals, ends[i]);
	watching.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	/* Ctrl-Z does what it does to others; a command that runs goes on. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	code = watch(&watching, &err);
	if (code >= 0)
		return code;
	log_error("watch: %s", err.text);
	return err.kind == ERR_INVALID     ? EXIT_USAGE
	       : err.kind == ERR_NOT_FOUND ? EXIT_UNAVAILABLE
					   : EXIT_OWN_FAILURE;
}
