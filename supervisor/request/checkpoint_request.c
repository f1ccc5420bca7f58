#include "checkpoint_request.h"

#include "process/process.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "scheduler/scheduler.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looking takes some 20 us for each process on the machine, on the loop. */
#define TRY_AGAIN_MS 250
#define LATE_AGAIN_MS 500 /* for ranks that may never have a handler */
#define WRITERS_MOST 256

static void hinder(struct ask *ask, const char *why)
{
	if (!ask->told)
		ask->callbacks.hindered(ask->callbacks.arg, why);
	ask->told = true;
}

static void remember(struct ask *ask, const struct rank *ranks, size_t count)
{
	ask->asked = memory_grow(ask->asked, ask->asked_count + count, sizeof(*ask->asked));
	memcpy(ask->asked + ask->asked_count, ranks, count * sizeof(*ranks));
	ask->asked_count += count;
}

/* Sends it to those of the choice that are still there; returns how many, which are then the first. */
static size_t deliver(struct ask *ask, struct rank_choice *choice)
{
	size_t sent = 0;

	for (size_t i = 0; i < choice->count; i++) {
		const struct rank rank = choice->ranks[i];
		uint64_t caught;

		/* Once more: a Python that ends gives its handlers back, and then the signal would kill it. */
		if (process_read_caught(rank.pid, &caught, NULL) == 0 &&
			(caught & process_signal_bit(ask->signal)) &&
			kill(rank.pid, ask->signal) == 0)
			choice->ranks[sent++] = rank;
	}
	return sent;
}

static int choose(const struct ask *ask, pid_t child, struct rank_choice *choice, struct err *err)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	pid_t writers[WRITERS_MOST];
	struct rank_choice_wish wish = {.main_pid = child,
		.signal = ask->signal,
		.whom = ask->whom,
		.writers = writers,
		.writer_count = ask->callbacks.writers(ask->callbacks.arg, writers, WRITERS_MOST),
		.asked = ask->asked,
		.asked_count = ask->asked_count};

	/* From ourselves down: ranks whose launcher has died are our children now. */
	if (process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, err) < 0)
		return -1;
	rank_choice_make(&tree, &wish, choice);
	return 0;
}

bool ask_finds_anyone(const struct ask *ask, pid_t child)
{
	auto_(rank_choice_release) struct rank_choice choice = {0};
	struct err err;

	return ask->asked_count > 0 || (choose(ask, child, &choice, &err) == 0 && choice.count > 0);
}

bool ask_has_asked(const struct ask *ask, pid_t pid)
{
	for (size_t i = 0; i < ask->asked_count; i++)
		if (ask->asked[i].pid == pid)
			return true;
	return false;
}

/* True when all that are to hear it have been asked. */
static bool send_signal(struct ask *ask)
{
	auto_(rank_choice_release) struct rank_choice choice = {0};
	size_t sent;
	struct err err;

	if (choose(ask, ask->child, &choice, &err) < 0) {
		hinder(ask, err.text);
		return false;
	}
	if (choice.count > 0 && ask->asked_count == 0)
		ask->callbacks.asking(ask->callbacks.arg);
	sent = deliver(ask, &choice);
	if (sent > 0) {
		remember(ask, choice.ranks, sent);
		ask->callbacks.asked(ask->callbacks.arg, choice.ranks, sent, choice.expected);
	} else if (ask->asked_count == 0) {
		hinder(ask, choice.count ? "the process to ask has just ended" : choice.reason);
	}
	return ask->asked_count > 0 && ask->asked_count >= choice.expected;
}

static char **joined_environment(const char *const *more)
{
	size_t old = 0, added = 0;
	char **joined;

	while (environ[old])
		old++;
	while (more && more[added])
		added++;
	joined = memory_new((old + added + 1) * sizeof(*joined));
	/* Ours first: getenv() and shells take the first of two. */
	for (size_t i = 0; i < added; i++)
		memcpy(&joined[i], &more[i], sizeof(char *));
	memcpy(joined + added, environ, old * sizeof(*joined));
	return joined;
}

static void start_command(struct ask *ask)
{
	char shell[] = "/bin/sh", option[] = "-c";
	auto_free char *command = text_copy(ask->command);
	char *argv[] = {shell, option, command, NULL};
	auto_free char **environment = joined_environment(ask->environment);
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int failed;

	sigfillset(&defaults);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&ask->inherited->ignored, signal) == 1)
			sigdelset(&defaults, signal);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &ask->inherited->mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	ask->callbacks.asking(ask->callbacks.arg);
	failed = posix_spawn(&ask->command_pid, shell, NULL, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	if (failed) {
		ask->command_pid = 0;
		hinder(ask, strerror(failed));
		return;
	}
	ask->callbacks.asked(ask->callbacks.arg, NULL, 0, 0);
}

/* True once somebody polls; until then it is up for whoever begins to. */
static bool raise_flag(struct ask *ask)
{
	size_t polling = ask->callbacks.polling(ask->callbacks.arg);

	if (!ask->by_flag) {
		ask->by_flag = true;
		ask->callbacks.asking(ask->callbacks.arg);
		ask->callbacks.raise(ask->callbacks.arg);
	}
	if (polling > 0)
		ask->callbacks.asked(ask->callbacks.arg, NULL, 0, polling);
	else
		hinder(ask, "no process of it asks reprieve_requested() yet");
	return polling > 0;
}

/* Never both for one request: a job with two handlers would save twice. */
static bool try_once(struct ask *ask)
{
	if (ask->method == ASK_FLAG || ask->by_flag)
		return raise_flag(ask);
	if (ask->may_flag && ask->asked_count == 0 &&
		ask->callbacks.polling(ask->callbacks.arg) > 0)
		return raise_flag(ask);
	return send_signal(ask);
}

static void try_again(struct timer *timer)
{
	struct ask *ask = container_of(timer, struct ask, again);

	ask->trying = true;
	/* The callback may have called ask_stop(). */
	if (!try_once(ask) && ask->trying)
		loop_arm(ask->loop, &ask->again,
			clock_monotonic_ms() + (ask->asked_count ? LATE_AGAIN_MS : TRY_AGAIN_MS));
}

void ask_start(struct ask *ask, pid_t child)
{
	ask->child = child;
	ask->told = false;
	ask->by_flag = false;
	ask->asked_count = 0;
	ask->again.fired = try_again;
	loop_disarm(ask->loop, &ask->again);
	if (ask->method == ASK_COMMAND) {
		if (ask->command_pid == 0)
			start_command(ask);
		else
			hinder(ask,
				"the checkpoint command of the request before is still running");
		return;
	}
	try_again(&ask->again);
}

void ask_stop(struct ask *ask)
{
	ask->trying = false;
	loop_disarm(ask->loop, &ask->again);
}

void ask_release(struct ask *ask)
{
	free(ask->asked);
	ask->asked = NULL;
	ask->asked_count = 0;
}

bool ask_reaped(struct ask *ask, pid_t pid, int status)
{
	char why[96];
	int code = wait_status_exit_code(status);

	if (pid != ask->command_pid || pid == 0)
		return false;
	ask->command_pid = 0;
	ask->told = false;
	snprintf(why, sizeof(why), "the checkpoint command ended with %d", code);
	if (code != 0)
		hinder(ask, why);
	return true;
}
