/* What is known of a run, for those who tell of it. */
#include "bare_job.h"

static bool looked, about_stop;

struct job_view __wrap_job_look(const struct job *job, bool processes);
struct job_view __wrap_job_look(const struct job *job, bool processes)
{
	assert_non_null(job);
	looked = true;
	about_stop = processes;
	return (struct job_view){.now_ms = 3};
}

struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue);
struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return (struct snapshot_id){4, 2};
}

static bool has_page, has_progress;
static struct status_parts parts_seen;

struct progress_page *__wrap_tracker_page(const struct tracker *tracker);
struct progress_page *__wrap_tracker_page(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return has_page ? SOME(progress_page) : NULL;
}

bool __wrap_progress_page_read_progress(struct progress_page *page,
					struct training_progress *progress);
bool __wrap_progress_page_read_progress(struct progress_page *page,
					struct training_progress *progress)
{
	assert_true(page && progress);
	return has_progress;
}

#define SOME_JSON(name, parameters)        \
	json_t *__wrap_##name parameters;  \
	json_t *__wrap_##name parameters   \
	{                                  \
		return json_string(#name); \
	}

SOME_JSON(counters_json, (const void *of __attribute__((unused))))
SOME_JSON(observers_labels, (const void *of __attribute__((unused))))
SOME_JSON(notice_format_sources_json, (const void *of __attribute__((unused))))
SOME_JSON(job_rank_progress_json, (const void *of __attribute__((unused))))
SOME_JSON(gang_feed_status, (const void *of __attribute__((unused))))

json_t *__wrap_status_report(const struct reports *reports, struct status_parts *parts);
json_t *__wrap_status_report(const struct reports *reports, struct status_parts *parts)
{
	assert_non_null(reports);
	parts_seen = *parts;
	json_decref(parts->counters);
	json_decref(parts->labels);
	json_decref(parts->sources);
	json_decref(parts->rank_progress);
	json_decref(parts->gang);
	return json_object();
}

/* Only of what there is: a request that was sent, a gang, a job that reports. */
static void what_the_status_tells(void **state)
{
	static struct job job;

	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		bool tracked = bits & 1, reports = (bits & 7) == 7;

		bare_job_init(&job);
		job.tracker = tracked ? SOME(tracker) : NULL;
		has_page = bits & 2;
		has_progress = bits & 4;
		job.ranks.progress.count = bits & 8 ? 1 : 0;
		job.in_gang.feed.workers = bits & 16 ? SOME(workers) : NULL;
		json_decref(job_status_json(&job));
		assert_non_null(parts_seen.counters);
		assert_non_null(parts_seen.labels);
		assert_non_null(parts_seen.sources);
		assert_int_equal(parts_seen.training != NULL, reports);
		assert_int_equal(parts_seen.rank_progress != NULL, (bits & 8) != 0);
		assert_int_equal(parts_seen.gang != NULL, (bits & 16) != 0);
	}
}

static struct observed_job observed_job;

int __wrap_observers_open(const struct observed_job *of, struct observers *observers,
			  struct err *err);
int __wrap_observers_open(const struct observed_job *of, struct observers *observers,
			  struct err *err)
{
	(void)err;
	assert_non_null(observers);
	observed_job = *of;
	return 0;
}

/* What a webhook tells just now. */
static void what_observers_see(void **state)
{
	static struct job job;
	struct notice stop =
		{.kind = NOTICE_STOP, .deadline_ms = 9000, .source = "aws", .reason = "spot"};
	struct observed_run seen = {0};
	struct err err;

	(void)state;
	for (int stored = 0; stored < 2; stored++) {
		bare_job_init(&job);
		job.store = stored ? "file:///s" : NULL;
		job.resume.attempt.number = 4;
		assert_int_equal(job_open_observers(&job, &err), 0);
		assert_int_equal(observed_job.has_store, stored);
		assert_ptr_equal(job.reports.loop, &job.loop);
		assert_ptr_equal(job.reports.events, &job.events);
		assert_ptr_equal(job.reports.arg, &job);
		assert_int_equal(job.reports.look(&job, LOOK_AT_MODEL).attempt, 4);
	}
	observed_job.look(observed_job.arg, &seen);
	assert_int_equal(seen.attempt, 4);
	assert_string_equal(seen.durable, "");
	assert_null(seen.source);
	job.snapshots = SOME(snapshot_queue);
	notices_add(&job.notices, &stop);
	observed_job.look(observed_job.arg, &seen);
	assert_string_equal(seen.durable, "000004-000002");
	assert_string_equal(seen.source, "aws");
	assert_string_equal(seen.reason, "spot");
	assert_int_equal(seen.deadline_ms, 9000);
}

static void each_fact_is_that_of_its_part(void **state)
{
	static struct job job;
	struct run_facts run;

	(void)state;
	for (int bit = -1; bit < 7; bit++) {
		bare_job_init(&job);
		job.snapshots = bit == 0 ? SOME(snapshot_queue) : NULL;
		job.resume.kind = bit == 1   ? RESUME_FRESH
				  : bit == 2 ? RESUME_RESTORED
					     : RESUME_KEPT;
		job.expected = bit == 3 ? EXPECT_BY_COMMAND : EXPECT_NOTHING;
		job.ask.method = bit == 4 ? REQUEST_COMMAND : REQUEST_SIGNAL;
		text_set(job.cloud, sizeof(job.cloud), bit == 5 ? "aws" : "");
		job.child.running = bit == 6;
		run = job_facts(&job, LOOK_AT_MODEL);
		assert_int_equal(run.saves, bit == 0);
		assert_int_equal(run.durable.attempt, bit == 0 ? 4 : 0);
		assert_int_equal(run.fresh, bit == 1);
		assert_int_equal(run.restored, bit == 2);
		assert_int_equal(run.expected, bit == 3);
		assert_int_equal(run.asks_by_command, bit == 4);
		assert_int_equal(run.of_known_cloud, bit == 5);
		assert_int_equal(run.view.child_running, bit == 6);
		assert_null(run.stop);
	}
}

/* All processes are looked at only where that matters, and nothing at all from any callback. */
static void what_is_looked_at(void **state)
{
	static const struct {
		enum run_look look;
		bool looks, at_processes;
	} rows[] = {{LOOK_AT_MODEL, false, false},
		    {LOOK_AT_PARTS, true, false},
		    {LOOK_AT_PROCESSES, true, true}};
	static struct job job;

	(void)state;
	bare_job_init(&job);
	for (size_t i = 0; i < 3; i++) {
		struct run_facts run;

		looked = about_stop = false;
		run = job_facts(&job, rows[i].look);
		assert_int_equal(looked, rows[i].looks);
		assert_int_equal(about_stop, rows[i].at_processes);
		assert_int_equal(run.view.now_ms == 3, rows[i].looks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fact_is_that_of_its_part),
		cmocka_unit_test(what_is_looked_at),
		cmocka_unit_test(what_observers_see),
		cmocka_unit_test(what_the_status_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
