/* The progress of a request, rank by rank: observes the processes that were asked, and publishes
 * what has changed (request/rank_progress.h decides what is worth a line). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "job.h"

#include <string.h>

#define OBSERVE_EVERY_MS 250
#define DEPTH_MOST 32

static bool is_descendant(pid_t pid, pid_t above)
{
	struct process_sample sample;

	for (int depth = 0; depth < DEPTH_MOST && pid > 1; depth++) {
		if (pid == above)
			return true;
		if (!process_read_sample(pid, &sample))
			return false;
		pid = sample.parent;
	}
	return false;
}

/* Asynchronous savers write from a child process, whose writes count for the rank above it. */
static void observe_files(const struct job *job, const struct rank_progress_item *item,
			  const struct recent_writers *writers, struct rank_observation *look)
{
	for (size_t i = 0; i < writers->count; i++) {
		bool since = writers->items[i].ms >= item->asked_ms;

		if (writers->items[i].pid != item->rank.pid &&
		    (!since || !is_descendant(writers->items[i].pid, item->rank.pid)))
			continue;
		look->wrote |= since;
		look->writes |= writers->items[i].ms < job->model.asking.sent_ms;
	}
}

static void observe_ranks(struct job *job)
{
	static const struct recent_writers none;
	const struct recent_writers *writers = job->tracker ? tracker_writers(job->tracker) : &none;

	for (size_t i = 0; i < job->rank_progress.count; i++) {
		const struct rank_progress_item *item = &job->rank_progress.items[i];
		struct rank_observation look = {.writes = item->writes};
		struct process_sample sample;

		look.gone = !process_read_sample(item->rank.pid, &sample) ||
			    sample.start_time != item->rank.start_time;
		if (!look.gone) {
			look.cpu_ticks = sample.cpu_ticks;
			look.state = sample.state;
			look.pending = sample.pending & process_signal_bit(job->ask.signal);
		}
		observe_files(job, item, writers, &look);
		rank_progress_observe(&job->rank_progress, i, &look);
	}
}

static void publish_rank_progress(struct job *job)
{
	char line[RANK_PROGRESS_LINE_SIZE];
	json_t *rank_progress;

	if (!rank_progress_report(&job->rank_progress, clock_monotonic_ms(), line, sizeof(line)))
		return;
	rank_progress = job_rank_progress_json(job);
	log_note("%s", line);
	event_log_add(&job->events, "rank_progress", "{s:s, s:I, s:I, s:I}", "text", line, "asked",
		      (json_int_t)job->rank_progress.count, "expected",
		      (json_int_t)job->rank_progress.expected, "saving",
		      (json_int_t)rank_progress_saving(&job->rank_progress));
	json_object_set_new(rank_progress, "event", json_string("rank_progress"));
	job_tell_clients(job, rank_progress);
}

static void on_observation_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, rank_progress_timer);

	observe_ranks(job);
	publish_rank_progress(job);
	loop_arm(&job->loop, timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void job_begin_rank_progress(struct job *job)
{
	const struct profile *profile = job->profile.profile;

	rank_progress_begin(&job->rank_progress,
			    RANK_PROGRESS_PATIENCE_MS + (profile ? profile->patience_ms : 0),
			    clock_monotonic_ms());
}

void job_add_rank_progress(struct job *job, const struct rank *ranks, size_t count, size_t expected)
{
	if (count == 0)
		return;
	rank_progress_add(&job->rank_progress, ranks, count, expected, clock_monotonic_ms());
	publish_rank_progress(job);
	job->rank_progress_timer.fired = on_observation_due;
	loop_arm(&job->loop, &job->rank_progress_timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void job_end_rank_progress(struct job *job)
{
	if (!job->rank_progress_timer.armed)
		return;
	observe_ranks(job);
	loop_disarm(&job->loop, &job->rank_progress_timer);
}

json_t *job_rank_progress_json(const struct job *job)
{
	bool asking = job_is_asking(&job->model);

	return rank_progress_json(&job->rank_progress, asking,
				  !asking && job->model.asking.answered, clock_monotonic_ms());
}
