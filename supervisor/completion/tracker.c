#include "tracker.h"

#include "monitor/monitor.h"
#include "base/clock.h"
#include "base/text.h"
#include "completion_marker.h"
#include "workspace/workspace.h"
#include "content_check_worker.h"
#include "never_quiet.h"
#include "detector.h"
#include "tracker_timing.h"
#include "writer_monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

struct tracker {
	struct tracker_options options;
	struct directory_witness *directory;
	struct shim_link *link; /* NULL: without the shim */
	struct writer_witness *writers;
	struct sealing sealing;
	struct inspector *inspector; /* NULL: nobody looks into files */
	struct latest_seal latest;
	struct timer timer;
	struct awake awake;
	struct tracker_pace pace;
	struct never_quiet never_quiet;
	char blindness[400]; /* without the shim */
	bool saving;         /* told for this burst */
	bool polling;        /* `sealed` may lead back here */
	bool started;        /* the job may be writing */
	bool lost;           /* events of the kernel */
};

/* What we have slept through is no quiet time: the job may have stood still with us, or gone on and died. */
static void look_at_clock(struct tracker *tracker)
{
	sealing_stood_still(&tracker->sealing, awake_take_stall(&tracker->awake));
}

/* --- what the witnesses say --- */

static void touched(struct tracker *tracker, const char *path)
{
	if (tracker->saving || run_log_matches(path))
		return;
	tracker->saving = true;
	writer_witness_hurry(tracker->writers);
	tracker->options.saving(tracker->options.arg, path);
}

/* Decide once the whole batch has been handed in. */
static void poll_soon(void *arg)
{
	struct tracker *tracker = arg;

	if (!tracker->polling)
		loop_arm(tracker->options.loop, &tracker->timer, clock_monotonic_ms());
}

/* Before the rest, because its files are closed and the kernel has told of them by now: see drain(). */
static void process_saved(struct tracker *tracker, const struct shim_message *message)
{
	directory_witness_drain(tracker->directory);
	latest_seal_saw_step(&tracker->latest, message->step);
	sealing_saved(&tracker->sealing, message->pid, clock_monotonic_ms());
	poll_soon(tracker);
}

static void shim_said(void *arg, const struct shim_message *message)
{
	struct tracker *tracker = arg;

	look_at_clock(tracker);
	if (message->event == SHIM_LINK_SAVED) {
		process_saved(tracker, message);
		return;
	}
	if (message->event == SHIM_HELD) {
		if (tracker->options.held)
			tracker->options.held(tracker->options.arg, message->pid,
				message->descriptor, (int64_t)message->device);
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
		writer_witness_heard(tracker->writers, message->pid);
	touched(tracker, message->path2 && message->path2[0] ? message->path2 : message->path);
}

static void directory_said(void *arg, const struct dir_event *event)
{
	struct tracker *tracker = arg;

	/* What we make there ourselves (the probe at the start, our folder on a mount point). */
	if (text_starts(event->path, ".reprieve"))
		return;
	look_at_clock(tracker);
	sealing_kernel(&tracker->sealing, event, clock_monotonic_ms());
	if (event->change == DIR_CLOSED_WRITE)
		writer_witness_closed(tracker->writers);
	if (commit_by_kernel(tracker->options.profile, event))
		sealing_commit(&tracker->sealing);
	poll_soon(tracker);
	tracker->lost |= event->change == DIR_RESCAN;
	if (event->change != DIR_RESCAN && event->change != DIR_DELETED &&
		event->change != DIR_MOVED_FROM)
		touched(tracker, event->path);
}

/* Hands in what both have queued. */
static void drain(void *arg)
{
	struct tracker *tracker = arg;

	look_at_clock(tracker);
	if (tracker->link)
		shim_link_poll(tracker->link);
	directory_witness_drain(tracker->directory);
}

/* --- deciding --- */

static enum shim_link_held held(void *arg, int pid, int descriptor)
{
	struct tracker *tracker = arg;

	return shim_link_holds(tracker->link, pid, descriptor);
}

static void take_verdict(struct tracker *tracker, enum sealing_verdict verdict)
{
	if (verdict != SEALING_SEALED && verdict != SEALING_TORN)
		return;
	tracker->saving = false;
	latest_seal_take(&tracker->latest, &tracker->sealing, verdict == SEALING_SEALED,
		directory_has_path, tracker->options.workspace->directory);
	sealing_acknowledge(&tracker->sealing);
	if (verdict == SEALING_SEALED)
		tracker->options.sealed(tracker->options.arg);
}

static void tell_of_closed(struct tracker *tracker)
{
	uint64_t generation = sealing_generation(&tracker->sealing);

	if (tracker_pace_tells(&tracker->pace, generation, clock_monotonic_ms()) &&
		(!tracker->options.closed || tracker->options.closed(tracker->options.arg)))
		tracker_pace_is_done(&tracker->pace, generation);
}

static void rearm(struct tracker *tracker, enum sealing_verdict verdict, int64_t at_ms)
{
	int64_t next_ms = tracker_pace_next(&tracker->pace, verdict, at_ms,
		sealing_generation(&tracker->sealing),
		directory_witness_is_open(tracker->directory), clock_monotonic_ms());

	awake_count(&tracker->awake, verdict == SEALING_BUSY && at_ms != SEALING_NEVER);
	if (next_ms == CLOCK_NEVER)
		loop_disarm(tracker->options.loop, &tracker->timer);
	else
		loop_arm(tracker->options.loop, &tracker->timer, next_ms);
}

bool tracker_is_saving(struct tracker *tracker)
{
	int64_t at_ms;

	drain(tracker);
	return sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms) == SEALING_BUSY;
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
	if (tracker->lost)
		directory_witness_catch_up(tracker->directory);
	tracker->lost = false;
	writer_witness_look(tracker->writers);
	verdict = sealing_poll(&tracker->sealing, clock_monotonic_ms(), &at_ms);
	if (verdict != SEALING_NOTHING)
		writer_witness_look_for_dead(tracker->writers);
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

void tracker_new(const struct tracker_options *options, struct tracker **result)
{
	struct tracker *tracker = memory_new(sizeof(*tracker));
	struct err why;

	tracker->options = *options;
	tracker->timer.fired = timer_fired;
	awake_init(&tracker->awake, options->loop, options->quiet_ms);
	latest_seal_init(&tracker->latest);
	sealing_init(&tracker->sealing, options->quiet_ms);
	tracker->directory =
		directory_witness_new(&(struct directory_witness_options){.loop = options->loop,
			.directory = options->workspace->directory,
			.quiet_ms = options->quiet_ms,
			.polls = options->polls,
			.said = directory_said,
			.looked = poll_soon,
			.arg = tracker});
	tracker->writers =
		writer_witness_new(&(struct writer_witness_options){.loop = options->loop,
			.directory = options->workspace->directory,
			.sealing = &tracker->sealing,
			.drain = drain,
			.told = poll_soon,
			.arg = tracker});
	if (options->looks)
		tracker->inspector = inspector_new(options->loop, options->workspace->directory,
			options->profile, poll_soon, tracker);
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
	tracker->latest.generation = sealing_generation(&tracker->sealing);
	tracker->started = true;
}

void tracker_free(struct tracker *tracker)
{
	if (!tracker)
		return;
	loop_disarm(tracker->options.loop, &tracker->timer);
	awake_release(&tracker->awake);
	writer_witness_free(tracker->writers);
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

	writer_witness_ended(
		tracker->writers, pid, WIFSIGNALED(wait_status) ? SEALING_KILLED : end);
	tracker_poll(tracker);
}

void tracker_job_ended(struct tracker *tracker, enum tracker_end end)
{
	bool clean = end == TRACKER_CLEAN;

	directory_witness_open(tracker->directory, tracker->started);
	drain(tracker);
	directory_witness_look_now(tracker->directory);
	if (end == TRACKER_DOUBTFUL)
		clean = latest_seal_is_like(&tracker->latest, &tracker->sealing);
	sealing_job_ended(&tracker->sealing, clean, clock_monotonic_ms());
	decide(tracker, true);
}

const struct latest_seal *tracker_latest_seal(const struct tracker *tracker)
{
	return &tracker->latest;
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

typedef void each_fn(const struct sealing *sealing, path_set_fn *act, void *argument);

static char **list_of(const struct tracker *tracker, each_fn *each)
{
	struct path_list list = {.paths = memory_new(sizeof(char *))};

	each(&tracker->sealing, path_list_add, &list);
	return list.paths;
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
	return writer_witness_recent(tracker->writers);
}
