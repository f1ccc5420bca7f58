#include "checkpoint_request.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"
#include "scheduler/scheduler.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time between two tries: a try takes some 20 us on the loop for each process on the machine. */
#define RETRY_MS 250
/* The same for late ranks, which may never have a handler. */
#define LATE_RANK_RETRY_MS 500
#define WRITERS_MOST 256

static void report_failure(struct checkpoint_request *request, const char *why)
{
	if (!request->failure_reported)
		request->callbacks.on_request_failed(request->callbacks.arg, why);
	request->failure_reported = true;
}

static void record_asked_ranks(struct checkpoint_request *request, const struct rank *ranks,
			       size_t count)
{
	request->asked =
		memory_grow(request->asked, request->asked_count + count, sizeof(*request->asked));
	memcpy(request->asked + request->asked_count, ranks, count * sizeof(*ranks));
	request->asked_count += count;
}

/* Sends the signal to the selected processes that still exist, moves them to the front and returns
 * their number. */
static size_t signal_ranks(struct checkpoint_request *request, struct rank_selection *selection)
{
	size_t sent = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct rank rank = selection->ranks[i];
		uint64_t caught;

		/* Checked again just before the signal: a Python that exits removes its handlers,
		 * and then the signal would kill it. */
		if (process_read_caught(rank.pid, &caught, NULL) == 0 &&
		    (caught & process_signal_bit(request->signal)) &&
		    kill(rank.pid, request->signal) == 0)
			selection->ranks[sent++] = rank;
	}
	return sent;
}

static int select_ranks(const struct checkpoint_request *request, pid_t child,
			struct rank_selection *selection, struct err *err)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	pid_t writers[WRITERS_MOST];
	struct rank_criteria criteria = {
		.main_pid = child,
		.signal = request->signal,
		.whom = request->whom,
		.writers = writers,
		.asked = request->asked,
		.asked_count = request->asked_count,
	};

	criteria.writer_count = request->callbacks.writers(request->callbacks.arg, writers,
							   WRITERS_MOST, &criteria.saver_count);
	/* The root is ourselves, because ranks whose launcher has died are our children. */
	if (process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, err) < 0)
		return -1;
	rank_selection_make(&tree, &criteria, selection);
	return 0;
}

bool checkpoint_request_has_target(const struct checkpoint_request *request, pid_t child)
{
	auto_(rank_selection_release) struct rank_selection selection = {0};
	struct err err;

	return request->asked_count > 0 ||
	       (select_ranks(request, child, &selection, &err) == 0 && selection.count > 0);
}

bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
				      int64_t since_ms)
{
	if (request->sent_ms <= since_ms)
		return false;
	for (size_t i = 0; i < request->asked_count; i++)
		if (request->asked[i].pid == pid)
			return true;
	return false;
}

/* True: all expected ranks have been asked. */
static bool send_signal(struct checkpoint_request *request)
{
	auto_(rank_selection_release) struct rank_selection selection = {0};
	size_t sent;
	struct err err;

	if (select_ranks(request, request->child, &selection, &err) < 0) {
		report_failure(request, err.text);
		return false;
	}
	if (selection.count > 0 && request->asked_count == 0) {
		request->callbacks.on_request_sending(request->callbacks.arg);
		request->sent_ms = clock_monotonic_ms();
	}
	sent = signal_ranks(request, &selection);
	if (sent > 0) {
		record_asked_ranks(request, selection.ranks, sent);
		request->callbacks.asked(request->callbacks.arg, selection.ranks, sent,
					 selection.expected);
	} else if (request->asked_count == 0) {
		report_failure(request, selection.count ? "the process to ask has just ended"
							: selection.reason);
	}
	return request->asked_count > 0 && request->asked_count >= selection.expected;
}

static char **join_environment(const char *const *more)
{
	size_t old = 0, added = 0;
	char **joined;

	while (environ[old])
		old++;
	while (more && more[added])
		added++;
	joined = memory_new((old + added + 1) * sizeof(*joined));
	/* Our variables first: getenv() and shells use the first of two equal names. */
	for (size_t i = 0; i < added; i++)
		memcpy(&joined[i], &more[i], sizeof(char *));
	memcpy(joined + added, environ, old * sizeof(*joined));
	return joined;
}

static void start_command(struct checkpoint_request *request)
{
	char shell[] = "/bin/sh", option[] = "-c";
	auto_free char *command = text_copy(request->command);
	char *argv[] = {shell, option, command, NULL};
	auto_free char **environment = join_environment(request->environment);
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int failed;

	sigfillset(&defaults);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&request->inherited->ignored, signal) == 1)
			sigdelset(&defaults, signal);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &request->inherited->mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	request->callbacks.on_request_sending(request->callbacks.arg);
	failed = posix_spawn(&request->command_pid, shell, NULL, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	if (failed) {
		request->command_pid = 0;
		report_failure(request, strerror(failed));
		return;
	}
	request->callbacks.asked(request->callbacks.arg, NULL, 0, 0);
}

/* True: a process polls. Until then the flag stays up for the first one that begins to. */
static bool raise_flag(struct checkpoint_request *request)
{
	size_t count_polling_processes =
		request->callbacks.count_polling_processes(request->callbacks.arg);

	if (!request->by_flag) {
		request->by_flag = true;
		request->callbacks.on_request_sending(request->callbacks.arg);
		request->callbacks.raise(request->callbacks.arg);
	}
	if (count_polling_processes > 0)
		request->callbacks.asked(request->callbacks.arg, NULL, 0, count_polling_processes);
	else
		report_failure(request, "no process of it asks reprieve_requested() yet");
	return count_polling_processes > 0;
}

/* Never the flag and the signal for one request: a job that reacts to both would save twice. */
static bool send_request(struct checkpoint_request *request)
{
	if (request->method == REQUEST_FLAG || request->by_flag)
		return raise_flag(request);
	if (request->may_flag && request->asked_count == 0 &&
	    request->callbacks.count_polling_processes(request->callbacks.arg) > 0)
		return raise_flag(request);
	return send_signal(request);
}

static void send_until_heard(struct timer *timer)
{
	struct checkpoint_request *request =
		container_of(timer, struct checkpoint_request, retry_timer);

	request->retrying = true;
	/* The callback may have called checkpoint_request_stop(). */
	if (!send_request(request) && request->retrying)
		loop_arm(request->loop, &request->retry_timer,
			 clock_monotonic_ms() +
				 (request->asked_count ? LATE_RANK_RETRY_MS : RETRY_MS));
}

void checkpoint_request_start(struct checkpoint_request *request, pid_t child)
{
	request->child = child;
	request->failure_reported = false;
	request->by_flag = false;
	request->asked_count = 0;
	request->retry_timer.fired = send_until_heard;
	loop_disarm(request->loop, &request->retry_timer);
	if (request->method == REQUEST_COMMAND) {
		if (request->command_pid == 0)
			start_command(request);
		else
			report_failure(request, "the checkpoint command of the request before is "
						"still running");
		return;
	}
	send_until_heard(&request->retry_timer);
}

void checkpoint_request_stop(struct checkpoint_request *request)
{
	request->retrying = false;
	loop_disarm(request->loop, &request->retry_timer);
}

void checkpoint_request_release(struct checkpoint_request *request)
{
	free(request->asked);
	request->asked = NULL;
	request->asked_count = 0;
}

bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status)
{
	char why[96];
	int code = wait_status_exit_code(status);

	if (pid != request->command_pid || pid == 0)
		return false;
	request->command_pid = 0;
	request->failure_reported = false;
	snprintf(why, sizeof(why), "the checkpoint command ended with %d", code);
	if (code != 0)
		report_failure(request, why);
	return true;
}
