#include "notice_runner.h"

#include "process/process.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"
#include "telemetry/telemetry.h"
#include "scheduler/scheduler.h"
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum {
	QUEUE_MOST = 32,
	VARIABLES = 6
};

struct watching {
	const struct watching_options *options;
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
	bool stopped; /* a stop was announced */
	bool unheard; /* what is printed goes nowhere, which was said */
	bool ending;
	int code;
};

static void end(struct watching *watching, int code)
{
	if (!watching->ending)
		watching->code = code;
	watching->ending = true;
	if (watching->pid == 0)
		loop_stop(&watching->loop);
}

/* --- telling --- */

static void print_line(struct watching *watching, const char *text)
{
	if (printf("%s\n", text) >= 0 && fflush(stdout) == 0) {
		watching->unheard = false;
		return;
	}
	/* The command is what a watch with one is for: it needs no reader. */
	if (watching->options->command) {
		if (!watching->unheard)
			log_warn("watch: standard output cannot be written: %s; the command is "
				 "run all the same",
				strerror(errno));
		watching->unheard = true;
		return;
	}
	/* Nobody reads any more: that is how `| head -1` ends us. */
	if (errno != EPIPE)
		log_error("watch: standard output cannot be written: %s", strerror(errno));
	end(watching, errno == EPIPE ? 0 : EXIT_OWN_FAILURE);
}

static void print_event(struct watching *watching, const char *event, json_t *about)
{
	char time[32];
	auto_json json_t *line = json_pack("{s:s, s:s}", "time",
		clock_format(clock_wall_ms(), time, sizeof(time)), "event", event);
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

	if (watching->options->json) {
		print_event(watching, "notice", notice_text_json(notice));
		return;
	}
	auto_free char *line =
		text_format("%s %s", clock_format(clock_wall_ms(), time, sizeof(time)),
			notice_text_format(notice, text, sizeof(text)));
	print_line(watching, line);
}

/* --- the command --- */

static char *variable(json_t *about, const char *name, const char *member)
{
	json_t *value = json_object_get(about, member);

	if (json_is_number(value))
		return text_format("REPRIEVE_NOTICE_%s=%.3f", name, json_number_value(value));
	return text_format("REPRIEVE_NOTICE_%s=%s", name, json_text_or(about, member, ""));
}

/* Ours first: getenv() and shells take the first of two. The first VARIABLES are the caller's to free. */
static char **environment_of(const struct notice *notice)
{
	auto_json json_t *about = notice_text_json(notice);
	size_t count = 0;
	char **environment;

	while (environ[count])
		count++;
	environment = memory_new((count + VARIABLES + 1) * sizeof(*environment));
	environment[0] = variable(about, "KIND", "kind");
	environment[1] = variable(about, "SOURCE", "source");
	environment[2] = variable(about, "IDENTITY", "identity");
	environment[3] = variable(about, "REASON", "reason");
	environment[4] = variable(about, "DEADLINE", "deadline");
	environment[5] = variable(about, "SECONDS_LEFT", "seconds_left");
	memcpy(environment + VARIABLES, environ, count * sizeof(*environment));
	return environment;
}

static int spawn(struct watching *watching, char **environment)
{
	const struct signals_inherited *inherited = watching->options->inherited;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int failed;

	sigfillset(&defaults);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&inherited->ignored, signal) == 1)
			sigdelset(&defaults, signal);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &inherited->mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	failed = posix_spawnp(&watching->pid, watching->options->command[0], &files, &attributes,
		watching->options->command, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

static void run_next(struct watching *watching);

static void command_ended(struct watching *watching, int code)
{
	watching->pid = 0;
	if (code != 0)
		log_warn("watch: the command ended with %d", code);
	watching->command_code = code;
	run_next(watching);
}

static void run_next(struct watching *watching)
{
	char **environment;
	int failed;

	if (watching->ending || watching->queued == 0) {
		if (watching->ending)
			loop_stop(&watching->loop);
		else if (watching->options->once && watching->stopped)
			end(watching, watching->command_code);
		return;
	}
	environment = environment_of(&watching->queue[0]);
	watching->queued--;
	memmove(watching->queue, watching->queue + 1, watching->queued * sizeof(*watching->queue));
	failed = spawn(watching, environment);
	for (size_t i = 0; i < VARIABLES; i++)
		free(environment[i]);
	free(environment);
	if (!failed)
		return;
	log_error("watch: %s: %s", watching->options->command[0], strerror(failed));
	command_ended(watching, failed == ENOENT ? 127 : 126);
}

/* --- what comes in --- */

static void queue_command(struct watching *watching, const struct notice *notice)
{
	/* More than that wait only for a command that hangs: the newest counts then. */
	if (watching->queued == QUEUE_MOST)
		watching->queued--;
	watching->queue[watching->queued++] = *notice;
	if (watching->pid == 0)
		run_next(watching);
}

static void take_notice(struct watching *watching, const struct notice *notice)
{
	enum notice_change change = notices_add(&watching->notices, notice);

	if (change == NOTICE_NOTHING_NEW || watching->ending)
		return;
	watching->stopped = notices_stop(&watching->notices) != NULL;
	/* First of all: it saves, and printing may fail, or hang on a reader that sleeps. */
	if (watching->options->command)
		queue_command(watching, notice);
	print_notice(watching, notice);
	if (!watching->options->command)
		run_next(watching); /* no command to wait for: this may be the end */
}

struct parcel {
	struct watching *watching;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct parcel *parcel = arg;

	take_notice(parcel->watching, &parcel->notice);
}

static void notice_seen(void *arg, const struct notice *notice)
{
	struct watching *watching = arg;
	struct parcel *parcel = memory_new(sizeof(*parcel));

	parcel->watching = watching;
	parcel->notice = *notice;
	workers_post_owned(watching->workers, deliver_notice, parcel);
}

static void deliver_health(void *arg)
{
	struct parcel *parcel = arg;
	char text[480];

	notice_text_source(&parcel->state, text, sizeof(text));
	if (parcel->watching->options->json)
		print_event(parcel->watching, "source", notice_text_source_json(&parcel->state));
	else if (parcel->state.health == SOURCE_ARMED)
		log_note("%s", text);
	else if (parcel->state.health != SOURCE_STARTING)
		log_warn("%s", text);
}

static void health_changed(void *arg, const struct source_state *state)
{
	struct watching *watching = arg;
	struct parcel *parcel = memory_new(sizeof(*parcel));

	parcel->watching = watching;
	parcel->state = *state;
	workers_post_owned(watching->workers, deliver_health, parcel);
}

static void reap(struct watching *watching)
{
	int status;

	/* Of the notice commands too, which their threads may have waited for already. */
	while (watching->pid > 0 && waitpid(watching->pid, &status, WNOHANG) > 0)
		command_ended(watching, wait_status_exit_code(status));
}

static void signal_received(void *arg, const struct signalfd_siginfo *info)
{
	struct watching *watching = arg;
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		reap(watching);
		return;
	}
	if (sigismember(&watching->options->inherited->ignored, signal) == 1)
		return;
	/* Ctrl-Z. A command that runs goes on: it saves, and is in a group of its own. */
	if (signal == SIGTSTP)
		signals_stop_self(signal, false);
	if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP)
		return;
	/* Asked a second time: the command does not get to end in its own way. */
	if (watching->pid > 0)
		kill(-watching->pid, watching->ending ? SIGKILL : SIGTERM);
	end(watching, 0);
}

static void timed_out(struct timer *timer)
{
	struct watching *watching = container_of(timer, struct watching, timer);

	if (watching->stopped)
		return;
	if (watching->pid > 0)
		kill(-watching->pid, SIGTERM);
	end(watching, WATCHING_TIMED_OUT);
}

/* --- */

static int start(struct watching *watching, struct err *err)
{
	const struct watching_options *options = watching->options;
	auto_free char *shared = session_shared_place();
	const struct cloud_options sources = {.sources = options->sources,
		.deadline = options->deadline,
		.deadline_notice_ms = options->deadline_notice_ms,
		.shared_directory = shared,
		.notice = notice_seen,
		.health = health_changed,
		.arg = watching};

	if (loop_init(&watching->loop, err) < 0 ||
		signals_open(&watching->signals, &watching->loop, signal_received, watching, err) <
			0 ||
		workers_new(&watching->loop, 1, &watching->workers, err) < 0 ||
		cloud_watch_start(&sources, &watching->watch, err) < 0)
		return -1;
	if (cloud_watch_states(watching->watch, NULL, 0) == 0)
		return err_set(err, ERR_NOT_FOUND,
			"there is no source to watch: %s; name one with --notice, or give "
			"--deadline",
			options->sources && text_equal(options->sources, "none")
				? "they are switched off (none, from --notice or REPRIEVE_NOTICE)"
				: "this machine is no known cloud's");
	watching->timer.fired = timed_out;
	if (options->timeout_ms > 0)
		loop_arm(&watching->loop, &watching->timer,
			clock_monotonic_ms() + options->timeout_ms);
	return 0;
}

int watching_run(const struct watching_options *options, struct err *err)
{
	struct watching *watching = memory_new(sizeof(*watching));
	int code = -1;

	watching->options = options;
	watching->signals.source.fd = watching->loop.epoll_fd = -1;
	if (start(watching, err) == 0) {
		if (loop_run(&watching->loop, err) == 0)
			code = watching->code;
	}
	cloud_watch_stop(watching->watch);
	workers_free(watching->workers);
	signals_close(&watching->signals, &watching->loop);
	loop_release(&watching->loop);
	free(watching);
	return code;
}
