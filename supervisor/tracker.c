#include "tracker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "commit.h"
#include "directory_witness.h"
#include "inspector.h"
#include "never_quiet.h"
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

struct tracker {
	struct tracker_options options;
	struct directory_witness *directory;
	struct shim_link *link; /* NULL: without the shim */
	struct sealing sealing;
	struct unseen *unseen;
	struct inspector *inspector; /* NULL: nobody looks into files */
	struct timer timer;
	struct recent_writers writers;
	struct never_quiet never_quiet;
	char blindness[400]; /* without the shim */

	bool saving;        /* told for this burst */
	int64_t burst_step; /* the highest of the burst's paths */
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
	if (recent_writers_note(&tracker->writers, pid, clock_monotonic_ms()))
		unseen_watch(tracker->unseen, pid);
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

	directory_witness_drain(tracker->directory);
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
	if (message->event != SHIM_OPENED)
		directory_witness_drain(tracker->directory);
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

static void directory_said(void *arg, const struct dir_event *event)
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
	directory_witness_drain(tracker->directory);
}

/* --- writers that nobody waits for --- */

static void look_for_dead_writers(struct tracker *tracker)
{
	for (pid_t pid; (pid = recent_writers_take_gone(&tracker->writers)) > 0;) {
		drain(tracker); /* its last reports were queued before it ended */
		sealing_process_ended(&tracker->sealing, pid, SEALING_GONE, clock_monotonic_ms());
	}
}

/* How a process ends that was asked to save says nothing about what it saved. */
static void process_ended(struct tracker *tracker, pid_t pid, enum sealing_end end)
{
	bool asked = tracker->sealing.burst.request_ms != SEALING_NEVER;

	drain(tracker);
	sealing_process_ended(&tracker->sealing, pid,
		end == SEALING_FAILED && asked ? SEALING_EXITED : end, clock_monotonic_ms());
	recent_writers_forget(&tracker->writers, pid);
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

static void looked(void *arg)
{
	poll_soon(arg);
}

static void count_step(void *arg, const char *path)
{
	struct tracker *tracker = arg;
	int64_t step = step_of_path(path);

	if (step > tracker->burst_step && !run_log_matches(path))
		tracker->burst_step = step;
}

static void catch_up_after_loss(struct tracker *tracker)
{
	if (tracker->lost)
		directory_witness_catch_up(tracker->directory);
	tracker->lost = false;
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
	if (verdict == SEALING_NOTHING && directory_witness_is_open(tracker->directory)) {
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
	return directory_witness_covers(tracker->directory,
		sealing_last_ms(&tracker->sealing) + tracker->options.quiet_ms / 2);
}

static void decide(struct tracker *tracker, bool at_once)
{
	enum sealing_verdict verdict;
	int64_t at_ms;

	if (tracker->polling)
		return;
	tracker->polling = true;
	directory_witness_open(tracker->directory, tracker->started);
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
	never_quiet_decided(&tracker->never_quiet, &tracker->sealing, verdict,
		tracker->options.workspace->directory, tracker->options.quiet_ms,
		clock_monotonic_ms());
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
	tracker->directory =
		directory_witness_new(&(struct directory_witness_options){.loop = options->loop,
			.directory = options->workspace->directory,
			.quiet_ms = options->quiet_ms,
			.polls = options->polls,
			.said = directory_said,
			.looked = looked,
			.arg = tracker});
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
	unseen_free(tracker->unseen);
	directory_witness_free(tracker->directory);
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
	const char *said = directory_witness_blindness(tracker->directory);

	return said[0] ? said : tracker->blindness;
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

	directory_witness_open(tracker->directory, tracker->started);
	drain(tracker);
	directory_witness_look_now(tracker->directory);
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

const struct recent_writers *tracker_writers(const struct tracker *tracker)
{
	return &tracker->writers;
}
