#include "notice_runner.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "base/workers.h"
#include "control/control.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum {
	QUEUE_MOST = 32,
	NOTICE_VARIABLES = 6
};

struct notice_runner {
	const struct notice_runner_options *options;
	struct loop loop;
	struct signals signals;
	struct workers *workers;
	struct cloud_watch *watch;
	struct timer timer;
	struct notices notices;
	struct notice queue[QUEUE_MOST]; /* for the command */
	size_t queued;
	pid_t pid; /* of the command and of its group; 0: none runs */
	int command_code;
	bool stopped;       /* a stop was announced */
	bool output_failed; /* what is printed goes nowhere, which was said */
	bool ending;
	int code;
};

static void end_run(struct notice_runner *notice_runner, int code)
{
	if (!notice_runner->ending)
		notice_runner->code = code;
	notice_runner->ending = true;
	if (notice_runner->pid == 0)
		loop_stop(&notice_runner->loop);
}

/* --- telling --- */

static void print_line(struct notice_runner *notice_runner, const char *text)
{
	clearerr(stdout);
	terminal_line_print("%s", text);
	if (!ferror(stdout) && fflush(stdout) == 0) {
		notice_runner->output_failed = false;
		return;
	}
	/* The command is what a watch with one is for: it needs no reader. */
	if (notice_runner->options->command) {
		if (!notice_runner->output_failed)
			log_warn("watch: standard output cannot be written: %s; the command is "
				 "run all the same",
				 strerror(errno));
		notice_runner->output_failed = true;
		return;
	}
	/* Nobody reads any more: that is how `| head -1` ends us. */
	if (errno != EPIPE)
		log_error("watch: standard output cannot be written: %s", strerror(errno));
	end_run(notice_runner, errno == EPIPE ? 0 : EXIT_OWN_FAILURE);
}

static void print_event(struct notice_runner *notice_runner, const char *event, json_t *about)
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
		print_line(notice_runner, text);
}

static void print_notice(struct notice_runner *notice_runner, const struct notice *notice)
{
	char time[32], text[320];

	if (notice_runner->options->json) {
		print_event(notice_runner, "notice", notice_format_json(notice));
		return;
	}
	auto_free char *line =
		text_format("%s %s", clock_format(clock_wall_ms(), time, sizeof(time)),
			    notice_format(notice, text, sizeof(text)));
	print_line(notice_runner, line);
}

/* --- the command --- */

static char *notice_variable(json_t *about, const char *name, const char *member)
{
	json_t *value = json_object_get(about, member);

	if (json_is_number(value))
		return text_format("REPRIEVE_NOTICE_%s=%.3f", name, json_number_value(value));
	return text_format("REPRIEVE_NOTICE_%s=%s", name, json_text_or(about, member, ""));
}

/* Ours first: getenv() and shells take the first of two. The first NOTICE_VARIABLES are the
 * caller's to free. */
static char **command_environment(const struct notice *notice)
{
	auto_json json_t *about = notice_format_json(notice);
	size_t count = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = memory_new((count + NOTICE_VARIABLES + 1) * sizeof(*environment));
	environment[0] = notice_variable(about, "KIND", "kind");
	environment[1] = notice_variable(about, "SOURCE", "source");
	environment[2] = notice_variable(about, "IDENTITY", "identity");
	environment[3] = notice_variable(about, "REASON", "reason");
	environment[4] = notice_variable(about, "DEADLINE", "deadline");
	environment[5] = notice_variable(about, "SECONDS_LEFT", "seconds_left");
	memcpy(environment + NOTICE_VARIABLES, environ, count * sizeof(*environment));
	return environment;
}

static int spawn(struct notice_runner *notice_runner, char **environment)
{
	const struct signals_inherited *inherited = notice_runner->options->inherited;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int failed;

	sigfillset(&defaults);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&inherited->ignored, signal) == 1)
			sigdelset(&defaults, signal);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &inherited->mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	failed = posix_spawnp(&notice_runner->pid, notice_runner->options->command[0], &files,
			      &attributes, notice_runner->options->command, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

static void run_next_command(struct notice_runner *notice_runner);

static void command_ended(struct notice_runner *notice_runner, int code)
{
	notice_runner->pid = 0;
	if (code != 0)
		log_warn("watch: the command ended with %d", code);
	notice_runner->command_code = code;
	run_next_command(notice_runner);
}

static void run_next_command(struct notice_runner *notice_runner)
{
	char **environment;
	int failed;

	if (notice_runner->ending || notice_runner->queued == 0) {
		if (notice_runner->ending)
			loop_stop(&notice_runner->loop);
		else if (notice_runner->options->once && notice_runner->stopped)
			end_run(notice_runner, notice_runner->command_code);
		return;
	}
	environment = command_environment(&notice_runner->queue[0]);
	notice_runner->queued--;
	memmove(notice_runner->queue, notice_runner->queue + 1,
		notice_runner->queued * sizeof(*notice_runner->queue));
	failed = spawn(notice_runner, environment);
	for (size_t i = 0; i < NOTICE_VARIABLES; i++)
		free(environment[i]);
	free(environment);
	if (!failed)
		return;
	log_error("watch: %s: %s", notice_runner->options->command[0], strerror(failed));
	command_ended(notice_runner, failed == ENOENT ? 127 : 126);
}

/* --- what comes in --- */

static void queue_command(struct notice_runner *notice_runner, const struct notice *notice)
{
	/* More than that wait only for a command that hangs: the newest counts then. */
	if (notice_runner->queued == QUEUE_MOST)
		notice_runner->queued--;
	notice_runner->queue[notice_runner->queued++] = *notice;
	if (notice_runner->pid == 0)
		run_next_command(notice_runner);
}

static void handle_notice(struct notice_runner *notice_runner, const struct notice *notice)
{
	enum notice_change change = notices_add(&notice_runner->notices, notice);

	if (change == NOTICE_NOTHING_NEW || notice_runner->ending)
		return;
	notice_runner->stopped = notices_stop(&notice_runner->notices) != NULL;
	/* First of all: it saves, and printing may fail, or hang on a reader that sleeps. */
	if (notice_runner->options->command)
		queue_command(notice_runner, notice);
	print_notice(notice_runner, notice);
	/* no command to wait for: this may be the end */
	if (!notice_runner->options->command)
		run_next_command(notice_runner);
}

struct posted_notice {
	struct notice_runner *notice_runner;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct posted_notice *posted_notice = arg;

	handle_notice(posted_notice->notice_runner, &posted_notice->notice);
}

static void post_notice(void *arg, const struct notice *notice)
{
	struct notice_runner *notice_runner = arg;
	struct posted_notice *posted_notice = memory_new(sizeof(*posted_notice));

	posted_notice->notice_runner = notice_runner;
	posted_notice->notice = *notice;
	workers_post_owned(notice_runner->workers, deliver_notice, posted_notice);
}

static void deliver_health(void *arg)
{
	struct posted_notice *posted_notice = arg;
	char text[480];

	notice_format_source(&posted_notice->state, text, sizeof(text));
	if (posted_notice->notice_runner->options->json)
		print_event(posted_notice->notice_runner, "source",
			    notice_format_source_json(&posted_notice->state));
	else if (posted_notice->state.health == SOURCE_ARMED && !posted_notice->state.why[0])
		log_note("%s", text);
	else if (posted_notice->state.health != SOURCE_STARTING)
		log_warn("%s", text);
}

static void post_health(void *arg, const struct source_state *state)
{
	struct notice_runner *notice_runner = arg;
	struct posted_notice *posted_notice = memory_new(sizeof(*posted_notice));

	posted_notice->notice_runner = notice_runner;
	posted_notice->state = *state;
	workers_post_owned(notice_runner->workers, deliver_health, posted_notice);
}

static void reap_command(struct notice_runner *notice_runner)
{
	int status;

	/* Of the notice commands too, which their threads may have waited for already. */
	while (notice_runner->pid > 0 && waitpid(notice_runner->pid, &status, WNOHANG) > 0)
		command_ended(notice_runner, wait_status_exit_code(status));
}

static void signal_received(void *arg, const struct signalfd_siginfo *info)
{
	struct notice_runner *notice_runner = arg;
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		reap_command(notice_runner);
		return;
	}
	if (sigismember(&notice_runner->options->inherited->ignored, signal) == 1)
		return;
	/* Ctrl-Z. A command that runs goes on: it saves, and is in a group of its own. */
	if (signal == SIGTSTP)
		signals_stop_self(signal, false);
	if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP)
		return;
	/* Asked a second time: the command does not get to end in its own way. */
	if (notice_runner->pid > 0)
		kill(-notice_runner->pid, notice_runner->ending ? SIGKILL : SIGTERM);
	end_run(notice_runner, 0);
}

static void on_timeout(struct timer *timer)
{
	struct notice_runner *notice_runner = container_of(timer, struct notice_runner, timer);

	if (notice_runner->stopped)
		return;
	if (notice_runner->pid > 0)
		kill(-notice_runner->pid, SIGTERM);
	end_run(notice_runner, NOTICE_RUNNER_TIMED_OUT);
}

/* --- */

static int start_watch(struct notice_runner *notice_runner, struct err *err)
{
	const struct notice_runner_options *options = notice_runner->options;
	auto_free char *shared = session_shared_directory();
	const struct cloud_options sources = {
		.sources = options->sources,
		.deadline = options->deadline,
		.deadline_notice_ms = options->deadline_notice_ms,
		.shared_directory = shared,
		.notice = post_notice,
		.health = post_health,
		.arg = notice_runner,
	};

	if (loop_init(&notice_runner->loop, err) < 0 ||
	    signals_open(&notice_runner->signals, &notice_runner->loop, signal_received,
			 notice_runner, err) < 0 ||
	    workers_new(&notice_runner->loop, 1, &notice_runner->workers, err) < 0 ||
	    cloud_watch_start(&sources, &notice_runner->watch, err) < 0)
		return -1;
	if (cloud_watch_states(notice_runner->watch, NULL, 0) == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "there is no source to watch: %s; name one with --notice, or give "
			       "--deadline",
			       options->sources && text_equal(options->sources, "none")
				       ? "notice sources are disabled by --notice none or "
					 "REPRIEVE_NOTICE=none"
				       : "this machine is on no known cloud");
	notice_runner->timer.fired = on_timeout;
	if (options->timeout_ms > 0)
		loop_arm(&notice_runner->loop, &notice_runner->timer,
			 clock_monotonic_ms() + options->timeout_ms);
	return 0;
}

int notice_runner_run(const struct notice_runner_options *options, struct err *err)
{
	struct notice_runner *notice_runner = memory_new(sizeof(*notice_runner));
	int code = -1;

	notice_runner->options = options;
	notice_runner->signals.source.fd = notice_runner->loop.epoll_fd = -1;
	if (start_watch(notice_runner, err) == 0) {
		if (loop_run(&notice_runner->loop, err) == 0)
			code = notice_runner->code;
	}
	cloud_watch_stop(notice_runner->watch);
	workers_free(notice_runner->workers);
	signals_close(&notice_runner->signals, &notice_runner->loop);
	loop_release(&notice_runner->loop);
	free(notice_runner);
	return code;
}
