#include "tracker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "commit.h"
#include "dir_watch.h"
#include "inspector.h"
#include "network_fs.h"
#include "poller.h"
#include "run_log.h"
#include "save_shape.h"
#include "sealing.h"
#include "shim_link.h"
#include "step.h"
#include "unseen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LOOK_AGAIN_MS 1000
#define CLOSED_EVERY_MS 200
#define NEVER_QUIET_MS 30000

struct tracker {
	struct tracker_options options;
	struct dir_watch *watch; /* NULL: not there yet, or it cannot be watched */
	struct shim_link *link;  /* NULL: without the shim */
	struct sealing sealing;
	struct unseen *unseen;
	struct poller *poller;       /* NULL: the kernel tells of everything */
	struct inspector *inspector; /* NULL: nobody looks into files */
	struct timer timer;
	char blindness[400];

	struct tracker_writer writers[TRACKER_WRITERS]; /* the newest ones, by the shim's word */
	size_t writer_count;

	int64_t busy_since_ms; /* 0: it is not */
	bool warned;           /* that it is busy all the time */
	bool saving;           /* told for this burst */
	int64_t burst_step;    /* the highest of the burst's paths */
	uint64_t sealed_generation;
	int64_t sealed_step;
	uint64_t sealed_shape; /* save_shape_of() then; 0: nothing was sealed */
	bool sealed_fresh;
	uint64_t closed_generation; /* told of closed files at that one, and when */
	int64_t closed_ms;
	uint64_t held_generation; /* a file was held at that one by nobody who has spoken */
	bool polling;             /* `sealed` may lead back here */
	bool started;             /* the job may be writing */
	bool lost;                /* events of the kernel */
};

/* --- paths --- */

struct path_list {
	char **paths;
	size_t count;
};

static void add_path(void *arg, const char *path)
{
	struct path_list *list = arg;

	list->paths = memory_grow(list->paths, list->count + 2, sizeof(list->paths[0]));
	list->paths[list->count++] = text_copy(path);
	list->paths[list->count] = NULL;
}

typedef void each_fn(const struct sealing *sealing, path_set_fn *act, void *argument);

/* NULL-terminated; the caller frees it with what is in it. */
static char **list_of(struct tracker *tracker, each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(&tracker->sealing, add_path, &list);
	return list.paths;
}

static void free_list(char **paths)
{
	for (char **path = paths; *path; path++)
		free(*path);
	free(paths);
}

/* --- what the witnesses say --- */

static void touched(struct tracker *tracker, const char *path)
{
	int64_t step = step_of_path(path);

	if (run_log_matches(path))
		return;
	if (step > tracker->burst_step)
		tracker->burst_step = step;
	if (tracker->saving)
		return;
	tracker->saving = true;
	unseen_hurry(tracker->unseen);
	tracker->options.saving(tracker->options.arg, path);
}

static void remember_writer(struct tracker *tracker, pid_t pid)
{
	for (size_t i = 0; i < tracker->writer_count; i++)
		if (tracker->writers[i].pid == pid) {
			tracker->writers[i].ms = clock_monotonic_ms();
			return;
		}
	unseen_watch(tracker->unseen, pid);
	if (tracker->writer_count == TRACKER_WRITERS)
		memmove(tracker->writers, tracker->writers + 1,
			--tracker->writer_count * sizeof(tracker->writers[0]));
	tracker->writers[tracker->writer_count++] =
		(struct tracker_writer){.pid = pid, .ms = clock_monotonic_ms()};
}

/* Decide once the whole batch has been handed in. */
static void poll_soon(struct tracker *tracker)
{
	if (!tracker->polling)
		loop_arm(tracker->options.loop, &tracker->timer, clock_monotonic_ms());
}

/* Before the rest, because its files are closed and the kernel has told of them by now: see drain(). */
static void process_saved(struct tracker *tracker, const struct shim_message *message)
{
	int64_t now = clock_monotonic_ms();

	if (tracker->watch)
		dir_watch_drain(tracker->watch);
	if (message->step > tracker->burst_step)
		tracker->burst_step = message->step;
	sealing_saved(&tracker->sealing, message->pid, now);
	poll_soon(tracker);
}

static void shim_said(void *arg, const struct shim_message *message)
{
	struct tracker *tracker = arg;

	if (message->event == SHIM_LINK_SAVED) {
		process_saved(tracker, message);
		return;
	}
	if (message->event == SHIM_HELD) {
		if (tracker->options.held)
			tracker->options.held(
				tracker->options.arg, message->pid, message->descriptor);
		return;
	}
	/* What the kernel told until a file was closed is handed in before: what it tells later was written by somebody else. */
	if (tracker->watch && message->event != SHIM_OPENED)
		dir_watch_drain(tracker->watch);
	sealing_shim(&tracker->sealing, message, clock_monotonic_ms());
	if (commit_by_shim(tracker->options.profile, message))
		sealing_commit(&tracker->sealing);
	poll_soon(tracker);
	if (message->lost || message->event == SHIM_HELLO || message->event == SHIM_EXITING ||
		message->event == SHIM_UNLINKED)
		return;
	if (!(message->flags & SHIM_FLAG_ELSEWHERE))
		remember_writer(tracker, message->pid);
	touched(tracker, message->path2 && message->path2[0] ? message->path2 : message->path);
}

static void kernel_said(void *arg, const struct dir_event *event)
{
	struct tracker *tracker = arg;

	/* What we make there ourselves (the probe at the start, our folder on a mount point). */
	if (text_starts(event->path, ".reprieve"))
		return;
	sealing_kernel(&tracker->sealing, event, clock_monotonic_ms());
	if (event->change == DIR_CLOSED_WRITE)
		unseen_closed(tracker->unseen);
	if (commit_by_kernel(tracker->options.profile, event))
		sealing_commit(&tracker->sealing);
	poll_soon(tracker);
	tracker->lost |= event->change == DIR_RESCAN;
	if (event->change != DIR_RESCAN && event->change != DIR_DELETED &&
		event->change != DIR_MOVED_FROM)
		touched(tracker, event->path);
}

/* Hands in what both have queued. */
static void drain(struct tracker *tracker)
{
	if (tracker->link)
		shim_link_poll(tracker->link);
	if (tracker->watch)
		dir_watch_drain(tracker->watch);
}

/* --- writers that nobody waits for --- */

static bool is_gone(pid_t pid)
{
	auto_(bytes_release) struct bytes stat = {.limit = 8192};
	char path[40];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(path, &stat, NULL) < 0)
		return true;
	/* The name before the state may hold anything, a parenthesis too. */
	state = memrchr(stat.data, ')', stat.size);
	return !state || state + 2 >= (char *)stat.data + stat.size || state[2] == 'Z' ||
	       state[2] == 'X';
}

static void look_for_dead_writers(struct tracker *tracker)
{
	for (size_t i = 0; i < tracker->writer_count;) {
		pid_t pid = tracker->writers[i].pid;

		if (!is_gone(pid)) {
			i++;
			continue;
		}
		tracker->writers[i] = tracker->writers[--tracker->writer_count];
		drain(tracker); /* its last reports were queued before it ended */
		sealing_process_ended(&tracker->sealing, pid, SEALING_GONE, clock_monotonic_ms());
	}
}

static void forget_writer(struct tracker *tracker, pid_t pid)
{
	for (size_t i = 0; i < tracker->writer_count; i++)
		if (tracker->writers[i].pid == pid)
			tracker->writers[i] = tracker->writers[--tracker->writer_count];
}

/* How a process ends that was asked to save says nothing about what it saved. */
static void process_ended(struct tracker *tracker, pid_t pid, enum sealing_end end)
{
	bool asked = tracker->sealing.burst.request_ms != SEALING_NEVER;

	drain(tracker);
	sealing_process_ended(&tracker->sealing, pid,
		end == SEALING_FAILED && asked ? SEALING_EXITED : end, clock_monotonic_ms());
	forget_writer(tracker, pid);
	poll_soon(tracker);
}

static void writer_ended(void *arg, pid_t pid, enum sealing_end end)
{
	process_ended(arg, pid, end);
}

static void writer_sighted(void *arg, pid_t pid)
{
	struct tracker *tracker = arg;

	sealing_sighted(&tracker->sealing, pid);
}

static enum shim_link_held held(void *arg, int pid, int descriptor)
{
	struct tracker *tracker = arg;

	return shim_link_holds(tracker->link, pid, descriptor);
}

/* --- deciding --- */

/* --- looking, where the kernel does not tell --- */

static void look_found(void *arg, const char *path)
{
	kernel_said(arg, &(struct dir_event){.change = DIR_CHANGED, .path = path});
}

static void looked(void *arg)
{
	poll_soon(arg);
}

static void start_looking(struct tracker *tracker, bool all)
{
	if (!tracker->poller)
		tracker->poller = poller_new(&(struct poller_options){.loop = tracker->options.loop,
			.directory = tracker->options.workspace->directory,
			.quiet_ms = tracker->options.quiet_ms,
			.all = all,
			.changed = look_found,
			.looked = looked,
			.arg = tracker});
}

/* The directory came after us, or events were lost: what is in it by now may have been written since. */
static void catch_up(struct tracker *tracker)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};

	if (workspace_files(tracker->options.workspace->directory, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count; i++)
		look_found(tracker, files.items[i].path);
}

static void say_blind(struct tracker *tracker, const char *why)
{
	snprintf(tracker->blindness, sizeof(tracker->blindness),
		"%.200s is looked through every %.1f s: %.150s",
		tracker->options.workspace->directory,
		(double)look_interval_ms(tracker->options.quiet_ms, 0) / 1000, why);
}

static void open_watch(struct tracker *tracker)
{
	const char *directory = tracker->options.workspace->directory;
	const char *network;
	struct err err;

	if (tracker->watch || tracker->poller || !file_is_directory(directory))
		return;
	network = network_fs_of(directory);
	if (dir_watch_open(tracker->options.loop, directory, kernel_said, tracker, &tracker->watch,
		    &err) < 0)
		say_blind(tracker, err.text);
	else if (network)
		snprintf(tracker->blindness, sizeof(tracker->blindness),
			"%.200s is on %s, where the kernel does not tell what other machines "
			"write: it is looked through every %.1f s",
			directory, network,
			(double)look_interval_ms(tracker->options.quiet_ms, 0) / 1000);
	if (!tracker->watch || network || tracker->options.polls)
		start_looking(tracker, tracker->started);
	else if (tracker->started)
		catch_up(tracker);
}

static void count_step(void *arg, const char *path)
{
	struct tracker *tracker = arg;
	int64_t step = step_of_path(path);

	if (step > tracker->burst_step && !run_log_matches(path))
		tracker->burst_step = step;
}

/* Events were lost, or some directories could not be watched. */
static void catch_up_after_loss(struct tracker *tracker)
{
	if (!tracker->lost)
		return;
	tracker->lost = false;
	if (tracker->watch && !dir_watch_is_complete(tracker->watch) && !tracker->poller) {
		log_warn("not all directories below %s can be watched (limit: "
			 "fs.inotify.max_user_watches): it is looked through every %.1f s",
			tracker->options.workspace->directory,
			(double)look_interval_ms(tracker->options.quiet_ms, 0) / 1000);
		start_looking(tracker, true);
	} else if (!tracker->poller) {
		catch_up(tracker);
	}
}

static void take_verdict(struct tracker *tracker, enum sealing_verdict verdict)
{
	if (verdict != SEALING_SEALED && verdict != SEALING_TORN)
		return;
	tracker->saving = false;
	tracker->sealed_generation = sealing_generation(&tracker->sealing);
	if (sealing_is_spared(&tracker->sealing)) {
		tracker->burst_step = -1;
		sealing_each_closed(&tracker->sealing, count_step, tracker);
	}
	tracker->sealed_step = tracker->burst_step;
	tracker->sealed_fresh = sealing_first_open_ms(&tracker->sealing) != SEALING_NEVER;
	tracker->burst_step = -1;
	if (verdict == SEALING_SEALED)
		tracker->sealed_shape = save_shape_of(&tracker->sealing);
	sealing_acknowledge(&tracker->sealing);
	if (verdict == SEALING_SEALED)
		tracker->options.sealed(tracker->options.arg);
}

static void tell_of_closed(struct tracker *tracker)
{
	uint64_t generation = sealing_generation(&tracker->sealing);
	int64_t now = clock_monotonic_ms();

	if (generation == tracker->closed_generation || now - tracker->closed_ms < CLOSED_EVERY_MS)
		return;
	tracker->closed_ms = now;
	if (!tracker->options.closed || tracker->options.closed(tracker->options.arg))
		tracker->closed_generation = generation;
}

static void rearm(struct tracker *tracker, enum sealing_verdict verdict, int64_t at_ms)
{
	int64_t now = clock_monotonic_ms();

	/* Once a second is enough for what has no event of its own: a directory that appears, writers that die unseen. */
	if (verdict == SEALING_NOTHING && (tracker->watch || tracker->poller)) {
		loop_disarm(tracker->options.loop, &tracker->timer);
		return;
	}
	if (at_ms > now + LOOK_AGAIN_MS)
		at_ms = now + LOOK_AGAIN_MS;
	if (verdict == SEALING_BUSY && at_ms > now + CLOSED_EVERY_MS &&
		tracker->closed_generation != sealing_generation(&tracker->sealing))
		at_ms = now + CLOSED_EVERY_MS;
	loop_arm(tracker->options.loop, &tracker->timer, at_ms);
}

static void name_one(void *arg, const char *path)
{
	const char **name = arg;

	*name = path;
}

/* A file that stays open, or saves that follow each other too closely: then nothing is ever complete, and that must be known. */
static void warn_if_never_quiet(struct tracker *tracker, enum sealing_verdict verdict)
{
	int64_t now = clock_monotonic_ms();
	const char *open = NULL;

	if (verdict != SEALING_BUSY) {
		tracker->busy_since_ms = 0;
		return;
	}
	if (tracker->busy_since_ms == 0)
		tracker->busy_since_ms = now;
	if (tracker->warned ||
		now - tracker->busy_since_ms < NEVER_QUIET_MS + 10 * tracker->options.quiet_ms)
		return;
	tracker->warned = true;
	sealing_each_open(&tracker->sealing, name_one, &open);
	if (open)
		log_warn("no checkpoint has become complete for %lld s, because %s is open for "
			 "writing; if it is a log, keep it elsewhere or call it *.log",
			(long long)(now - tracker->busy_since_ms) / 1000, open);
	else
		log_warn("no checkpoint has become complete for %lld s, because %s is never still "
			 "for %.1f s; see --quiet-time",
			(long long)(now - tracker->busy_since_ms) / 1000,
			tracker->options.workspace->directory,
			(double)tracker->options.quiet_ms / 1000);
}

bool tracker_is_saving(struct tracker *tracker)
{
	int64_t at_ms;

	drain(tracker);
	return sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms) == SEALING_BUSY;
}

/* Something is written of which no process has spoken. */
static void look_for_unseen(struct tracker *tracker)
{
	int64_t now = clock_monotonic_ms();
	uint64_t generation;
	char **paths;

	if (!sealing_is_unseen(&tracker->sealing))
		return;
	unseen_look(tracker->unseen, now);
	if (!sealing_waits_for_unseen(&tracker->sealing, now))
		return;
	generation = sealing_generation(&tracker->sealing);
	paths = list_of(tracker, sealing_each_unseen);
	if (!unseen_may_be_open(tracker->unseen, paths)) {
		/* The kernel tells of a close before it lets go of the file: whoever ended just now has said so by now, and how he ended
		 * is still to come. */
		drain(tracker);
		if (sealing_generation(&tracker->sealing) == generation)
			sealing_nobody_writes(&tracker->sealing);
	} else if (tracker->held_generation != sealing_generation(&tracker->sealing)) {
		/* By somebody who has to be known before he ends. */
		tracker->held_generation = sealing_generation(&tracker->sealing);
		unseen_hurry(tracker->unseen);
		unseen_look(tracker->unseen, now);
	}
	free_list(paths);
}

/* What is still by the kernel's word has been so by the look of it, too. */
static bool looked_after(struct tracker *tracker)
{
	return !tracker->poller ||
	       poller_has_looked_since(tracker->poller,
		       sealing_last_ms(&tracker->sealing) + tracker->options.quiet_ms / 2);
}

static void decide(struct tracker *tracker, bool at_once)
{
	enum sealing_verdict verdict;
	int64_t at_ms;

	if (tracker->polling)
		return;
	tracker->polling = true;
	open_watch(tracker);
	drain(tracker);
	catch_up_after_loss(tracker);
	look_for_unseen(tracker);
	verdict = sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms);
	if (verdict != SEALING_NOTHING)
		look_for_dead_writers(tracker);
	if (tracker->link && (verdict == SEALING_BUSY || sealing_in_doubt(&tracker->sealing)))
		sealing_verify(&tracker->sealing, held, tracker, clock_monotonic_ms());
	verdict = sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms);
	if (verdict == SEALING_SEALED && !at_once && !looked_after(tracker))
		verdict = SEALING_BUSY;
	if (verdict == SEALING_SEALED && tracker->inspector)
		verdict = inspector_judge(tracker->inspector, &tracker->sealing, at_once, &at_ms);
	take_verdict(tracker, verdict);
	if (verdict == SEALING_SEALED || verdict == SEALING_TORN)
		verdict = sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms);
	if (verdict == SEALING_BUSY)
		tell_of_closed(tracker);
	warn_if_never_quiet(tracker, verdict);
	rearm(tracker, verdict, at_ms);
	tracker->polling = false;
}

void tracker_poll(struct tracker *tracker)
{
	decide(tracker, false);
}

static void timer_fired(struct timer *timer)
{
	tracker_poll(container_of(timer, struct tracker, timer));
}

/* --- life --- */

int tracker_new(const struct tracker_options *options, struct tracker **result, struct err *err)
{
	struct tracker *tracker = memory_new(sizeof(*tracker));
	struct err why;

	(void)err;
	tracker->options = *options;
	tracker->timer.fired = timer_fired;
	tracker->burst_step = tracker->sealed_step = -1;
	sealing_init(&tracker->sealing, options->quiet_ms);
	tracker->unseen = unseen_new(&(struct unseen_options){.loop = options->loop,
		.directory = options->workspace->directory,
		.sighted = writer_sighted,
		.ended = writer_ended,
		.arg = tracker});
	if (options->looks)
		tracker->inspector = inspector_new(options->loop, options->workspace->directory,
			options->profile, looked, tracker);
	for (size_t i = 0; run_log_patterns[i]; i++)
		sealing_ignore(&tracker->sealing, run_log_patterns[i]);
	if (options->session_directory &&
		shim_link_open(options->loop, options->session_directory,
			options->workspace->directory,
			options->workspace->alias[0] ? options->workspace->alias : NULL, shim_said,
			tracker, &tracker->link, &why) < 0)
		snprintf(tracker->blindness, sizeof(tracker->blindness),
			"the shim is not used: %.300s", why.text);
	*result = tracker;
	tracker_poll(tracker);
	tracker->sealed_generation = sealing_generation(&tracker->sealing);
	tracker->started = true;
	return 0;
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker)
		return;
	loop_disarm(tracker->options.loop, &tracker->timer);
	if (tracker->watch)
		dir_watch_close(tracker->watch);
	unseen_free(tracker->unseen);
	poller_free(tracker->poller);
	inspector_free(tracker->inspector);
	if (tracker->link)
		shim_link_close(tracker->link);
	sealing_release(&tracker->sealing);
	free(tracker);
}

const char *tracker_channel(const struct tracker *tracker)
{
	return tracker->link ? shim_link_channel(tracker->link) : NULL;
}

uint64_t tracker_hellos(const struct tracker *tracker)
{
	return tracker->link ? shim_link_hellos(tracker->link) : 0;
}

struct report_page *tracker_page(const struct tracker *tracker)
{
	return tracker->link ? shim_link_page(tracker->link) : NULL;
}

void tracker_shield(struct tracker *tracker, enum shim_shield state)
{
	if (tracker->link)
		shim_link_shield(tracker->link, state);
}

const char *tracker_blindness(const struct tracker *tracker)
{
	return tracker->blindness;
}

void tracker_requested(struct tracker *tracker)
{
	drain(tracker);
	sealing_requested(&tracker->sealing, clock_monotonic_ms());
}

void tracker_process_ended(struct tracker *tracker, pid_t pid, int wait_status)
{
	enum sealing_end end = WEXITSTATUS(wait_status) == 0 ? SEALING_EXITED : SEALING_FAILED;

	process_ended(tracker, pid, WIFSIGNALED(wait_status) ? SEALING_KILLED : end);
	tracker_poll(tracker);
}

void tracker_job_ended(struct tracker *tracker, enum tracker_end end)
{
	bool clean = end == TRACKER_CLEAN;

	open_watch(tracker);
	drain(tracker);
	if (tracker->poller)
		poller_look_now(tracker->poller);
	if (end == TRACKER_DOUBTFUL)
		clean = tracker->sealed_shape != 0 &&
			save_shape_of(&tracker->sealing) == tracker->sealed_shape;
	sealing_job_ended(&tracker->sealing, clean, clock_monotonic_ms());
	decide(tracker, true);
}

uint64_t tracker_sealed_generation(const struct tracker *tracker)
{
	return tracker->sealed_generation;
}

bool tracker_sealed_is_fresh(const struct tracker *tracker)
{
	return tracker->sealed_fresh;
}

int64_t tracker_sealed_step(const struct tracker *tracker)
{
	return tracker->sealed_step;
}

bool tracker_still_complete(struct tracker *tracker, uint64_t generation)
{
	drain(tracker);
	return sealing_generation(&tracker->sealing) == generation;
}

bool tracker_is_settled(struct tracker *tracker, uint64_t *generation)
{
	int64_t at_ms;

	drain(tracker);
	*generation = sealing_generation(&tracker->sealing);
	return sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms) == SEALING_NOTHING;
}

char **tracker_torn(struct tracker *tracker)
{
	return list_of(tracker, sealing_each_torn);
}

char **tracker_closed(struct tracker *tracker)
{
	return list_of(tracker, sealing_each_closed);
}

char **tracker_open(struct tracker *tracker)
{
	return list_of(tracker, sealing_each_open);
}

size_t tracker_writers(const struct tracker *tracker, struct tracker_writer *writers, size_t most)
{
	size_t count = tracker->writer_count < most ? tracker->writer_count : most;

	memcpy(writers, tracker->writers, count * sizeof(writers[0]));
	return count;
}
