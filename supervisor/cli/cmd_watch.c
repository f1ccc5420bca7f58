/*
 * reprieve watch: prints each change of the merged notice, and runs a command on it, without a job.
 *
 * A source says its notice on a thread of its own, which writes it to a pipe. The main thread reads
 * no more of it while a command runs: so commands run one after the other.
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

#include <ctype.h>
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
	NOTICE_VARIABLES = 6
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
	.exits = (const struct help_row[]){
		{"0", "at SIGTERM or Ctrl-C, and with --once after a stop"},
		{"1", "--timeout is over"},
		{"64", "wrong usage"},
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

/* The caller frees the list, and `texts`, which hold what the notice says. */
static char **command_environment(const struct notice *notice, char *texts[NOTICE_VARIABLES + 1])
{
	static const char *const members[] = {"kind",   "source",   "identity",
					      "reason", "deadline", "seconds_left"};
	auto_json json_t *about = notice_format_json(notice);

	for (size_t i = 0; i < NOTICE_VARIABLES; i++) {
		json_t *value = json_object_get(about, members[i]);
		char *name = texts[i] = text_format("REPRIEVE_NOTICE_%s=", members[i]);

		for (; *name != '='; name++)
			*name = (char)toupper((unsigned char)*name);
		if (json_is_number(value))
			text_append(&texts[i], "%.3f", json_number_value(value));
		else
			text_append(&texts[i], "%s", json_text_or(about, members[i], ""));
	}
	texts[NOTICE_VARIABLES] = NULL;
	return child_variables((const char *const *)texts, NULL);
}

/* As shells have it. */
static void note_command_end(struct watching *watching, int code)
{
	watching->pid = 0;
	if (code != 0)
		log_warn("watch: the command ended with %d", code);
	if (watching->line->once && notices_stop(&watching->notices))
		end_watching(watching, code);
}

static void start_command(struct watching *watching, const struct notice *notice)
{
	char *texts[NOTICE_VARIABLES + 1];
	auto_free char **environment = command_environment(notice, texts);
	int failed = program_start(watching->command, environment, NULL, 0, &watching->pid);

	for (size_t i = 0; i < NOTICE_VARIABLES; i++)
		free(texts[i]);
	if (!failed)
		return;
	log_error("watch: %s: %s", watching->command[0], strerror(failed));
	note_command_end(watching, failed == ENOENT ? 127 : 126);
}

static void reap_command(struct watching *watching)
{
	int status;

	if (watching->pid > 0 && waitpid(watching->pid, &status, WNOHANG) > 0)
		note_command_end(watching, wait_status_exit_code(status));
}

/* A command that is asked a second time does not get to end in its own way. */
static void end_command(struct watching *watching, int code)
{
	if (watching->pid > 0)
		kill(-watching->pid, watching->code == CODE_NONE ? SIGTERM : SIGKILL);
	end_watching(watching, code);
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

static void hear_notice(struct watching *watching, const struct notice *notice)
{
	char text[320];

	if (notices_add(&watching->notices, notice) == NOTICE_NOTHING_NEW)
		return;
	/* First of all: it saves, and printing may fail, or hang on a reader that sleeps. */
	if (watching->command)
		start_command(watching, notice);
	print_event(watching, "notice", notice_format_json(notice),
		    notice_format(notice, text, sizeof(text)));
	if (!watching->command && watching->line->once && notices_stop(&watching->notices))
		end_watching(watching, 0);
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

static void hear_word(struct watching *watching)
{
	struct word word;

	if (read(watching->words[0], &word, sizeof(word)) != sizeof(word))
		return;
	if (word.of_health)
		hear_health(watching, &word.state);
	else
		hear_notice(watching, &word.notice);
}

static void handle_signal(struct watching *watching, int signals,
			  const struct signals_inherited *inherited)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap_command(watching);
	else if (sigismember(&inherited->ignored, (int)info.ssi_signo) == 1)
		return;
	/* Ctrl-Z. A command that runs goes on: it saves, and is in a group of its own. */
	else if (info.ssi_signo == SIGTSTP)
		signals_stop_self(SIGTSTP, false);
	else
		end_command(watching, 0);
}

static int wait_for_end(struct watching *watching, const struct signals_inherited *inherited)
{
	int64_t end_ms = watching->line->timeout_ms
				 ? clock_monotonic_ms() + watching->line->timeout_ms
				 : CLOCK_NEVER;
	auto_close int signals = -1;
	sigset_t set;

	sigemptyset(&set);
	for (const int *at = (const int[]){SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCHLD, 0}; *at; at++)
		sigaddset(&set, *at);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	while (watching->code == CODE_NONE || watching->pid > 0) {
		bool hears = watching->pid == 0;
		struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
				       {.fd = hears ? watching->words[0] : -1, .events = POLLIN}};
		/* Without end where a stop is known, and where the end has come. */
		bool timed = watching->code == CODE_NONE && !notices_stop(&watching->notices);
		int64_t left = timed && end_ms != CLOCK_NEVER ? clock_left_ms(end_ms) : 60000;

		if (left <= 0)
			end_command(watching, CODE_TIMED_OUT);
		else if (poll(fds, 2, (int)(left < 60000 ? left : 60000)) > 0 && fds[0].revents)
			handle_signal(watching, signals, inherited);
		else if (fds[1].revents)
			hear_word(watching);
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

	if (pipe2(watching->words, O_CLOEXEC) < 0)
		return err_os(err, errno, "pipe");
	if (cloud_watch_start(&sources, &cloud_watch, err) < 0)
		return -1;
	if (cloud_watch_states(cloud_watch, NULL, 0) > 0)
		code = wait_for_end(watching, inherited);
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
	struct signals_inherited inherited;
	struct watch_line line = {0};
	struct watching watching = {.line = &line, .code = CODE_NONE};
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
