/* The end of a run: what is decided, in which order it is told, and for how long it may take. */
#include "bare_job.h"

#include "base/log.h"
#include "heard.h"

#include <stdlib.h>
#include <unistd.h>

static bool is_first, hangs, left_behind, torn_found, went_on, lacks_newest;
static struct outcome_facts given_facts;
static enum unsaved_work unsaved;
static struct end_facts said;
static struct slurm_requeue_run requeued;
static enum err_kind end_fails;
static json_t *recorded;
static int64_t record_until_ms, webhook_until_ms, observers_until_ms;
static uint32_t newest_attempt;
static bool superseded_unknown;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(display_end)
NOTED(job_look_for_last_commit)
NOTED(retention_worker_stop)
NOTED(snapshot_queue_stop_early)
NOTED(gang_feed_say_last_word)
NOTED(job_tell_gang_not_started)
NOTED(slurm_task_barrier_leave)
NOTED_WITH(job_tell_why, (struct job * job, const struct outcome *outcome), "%d %d",
	   outcome->exit_code, job != NULL)
NOTED_WITH(job_acknowledge_notice, (struct job * job, const struct outcome *outcome), "%d %d",
	   outcome->exit_code, job != NULL)
NOTED_WITH(job_tell_outcome, (struct job * job, const struct outcome *outcome, bool last),
	   "%d %d %d", outcome->exit_code, last, job != NULL)
NOTED_WITH(observers_set_store,
	   (struct observers * observers, struct storage *storage, unsigned attempt), "%d %u %d",
	   storage != NULL, attempt, observers != NULL)

void __wrap_observers_notify_end(struct observers *observers, const char *outcome, int exit_code,
				 int64_t until_ms);
void __wrap_observers_notify_end(struct observers *observers, const char *outcome, int exit_code,
				 int64_t until_ms)
{
	assert_non_null(observers);
	note_call("notify %s %d", outcome, exit_code);
	webhook_until_ms = until_ms;
}

void __wrap_observers_record_end(struct observers *observers, int exit_code, int64_t until_ms);
void __wrap_observers_record_end(struct observers *observers, int exit_code, int64_t until_ms)
{
	assert_non_null(observers);
	note_call("record %d", exit_code);
	observers_until_ms = until_ms;
}

void __wrap_job_reply_to_client(const struct job_effect *effect, json_t *reply);
void __wrap_job_reply_to_client(const struct job_effect *effect, json_t *reply)
{
	note_call("reply %d %s", (int)((char *)effect->client - some_place),
		  json_string_value(json_object_get(reply, "error")));
}

void __wrap_job_end_requests(struct job_model *model, struct job_effects *effects);
void __wrap_job_end_requests(struct job_model *model, struct job_effects *effects)
{
	assert_non_null(model);
	effects->items = memory_new(2 * sizeof(*effects->items));
	effects->items[0] = (struct job_effect){.kind = JOB_DO_REPLY, .client = some_place + 3};
	effects->items[1] = (struct job_effect){.kind = JOB_DO_STOP_ASKING};
	effects->count = 2;
}

struct job_view __wrap_job_look(const struct job *job, bool about_stop);
struct job_view __wrap_job_look(const struct job *job, bool about_stop)
{
	assert_true(job && !about_stop);
	return (struct job_view){.now_ms = 1};
}

void __wrap_tracker_find_torn(const struct tracker *tracker, struct torn_files *found);
void __wrap_tracker_find_torn(const struct tracker *tracker, struct torn_files *found)
{
	(void)tracker;
	note_call("find_torn");
	if (torn_found)
		found->first = text_copy("model.pt");
	found->went_on = went_on;
}

struct outcome_facts __wrap_job_outcome_facts(const struct job_model *model,
					      const struct job_rules *rules,
					      const struct job_view *view, enum unsaved_work work);
struct outcome_facts __wrap_job_outcome_facts(const struct job_model *model,
					      const struct job_rules *rules,
					      const struct job_view *view, enum unsaved_work work)
{
	assert_true(model && rules && view->now_ms == 1);
	unsaved = work;
	return given_facts;
}

void __wrap_report_end(struct reports *reports, const struct run_facts *run,
		       const struct end_facts *end);
void __wrap_report_end(struct reports *reports, const struct run_facts *run,
		       const struct end_facts *end)
{
	assert_true(reports && run);
	note_call("report_end");
	said = *end;
}

json_t *__wrap_end_record(const struct run_facts *run, const struct outcome *outcome);
json_t *__wrap_end_record(const struct run_facts *run, const struct outcome *outcome)
{
	assert_non_null(run);
	return json_pack("{s:i}", "code", outcome->exit_code);
}

bool __wrap_tracker_end_within(struct tracker *tracker, int64_t milliseconds);
bool __wrap_tracker_end_within(struct tracker *tracker, int64_t milliseconds)
{
	assert_true(tracker && milliseconds == 3000);
	note_call("tracker_end");
	return !left_behind;
}

bool __wrap_tracker_lacks_newest(const struct tracker *tracker);
bool __wrap_tracker_lacks_newest(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return lacks_newest;
}

bool __wrap_workers_end_within(struct workers *workers, int64_t milliseconds);
bool __wrap_workers_end_within(struct workers *workers, int64_t milliseconds)
{
	assert_true(workers && milliseconds == 3000);
	note_call("workers_end");
	return !hangs;
}

bool __wrap_gang_view_is_first(const struct gang_view *view, uint32_t member);
bool __wrap_gang_view_is_first(const struct gang_view *view, uint32_t member)
{
	assert_true(view && member == 0);
	return is_first;
}

struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue);
struct snapshot_id __wrap_snapshot_queue_newest(const struct snapshot_queue *queue)
{
	assert_non_null(queue);
	return (struct snapshot_id){4, 2};
}

int __wrap_storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
			      struct cancel *cancel, struct err *err);
int __wrap_storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
			      struct cancel *cancel, struct err *err)
{
	(void)err;
	assert_true(storage && cancel && number == 4);
	*newest = newest_attempt;
	return superseded_unknown ? -1 : 0;
}

int __wrap_storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			       json_t *about, struct cancel *cancel, struct err *err);
int __wrap_storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			       json_t *about, struct cancel *cancel, struct err *err)
{
	assert_non_null(storage);
	note_call("end_attempt %u %s", number, outcome);
	json_decref(recorded);
	recorded = json_incref(about);
	record_until_ms = clock_monotonic_ms() + cancel_left_ms(cancel);
	return end_fails ? err_set(err, end_fails, "why not") : 0;
}

void __wrap_slurm_requeue_run(const struct slurm_requeue_run *run);
void __wrap_slurm_requeue_run(const struct slurm_requeue_run *run)
{
	note_call("requeue");
	requeued = *run;
	run->requeueing(run->arg, "77");
}

bool __wrap_job_slurm_script_ended(const struct job *job);
bool __wrap_job_slurm_script_ended(const struct job *job)
{
	return job->slurm_script > 0;
}

static size_t processes;

size_t __wrap_kill_tree(void);
size_t __wrap_kill_tree(void)
{
	note_call("kill_tree");
	return processes;
}

bool __wrap_child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status),
		       void *arg);
bool __wrap_child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status),
		       void *arg)
{
	assert_true(child && !reaped && !arg);
	note_call("child_reap");
	return false;
}

/* --- leaving no process behind --- */

static struct job *bare(void)
{
	static struct job job;
	static char directory[] = "/nowhere-at-all";

	bare_job_init(&job);
	is_first = true;
	hangs = left_behind = torn_found = went_on = lacks_newest = false;
	end_fails = ERR_NONE;
	job.workspace.directory = directory;
	job.workers = SOME(workers);
	job.tracker = SOME(tracker);
	job.resume.storage = SOME(storage);
	job.resume.attempt.number = 4;
	job.snapshots = SOME(snapshot_queue);
	given_facts = (struct outcome_facts){.launched = true, .all_durable = true};
	return &job;
}

/* Only a job that was told to end, and was there, has to leave nothing behind. */
static void whose_processes_are_ended(void **state)
{
	struct err err;

	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = bare();

		assert_int_equal(loop_init(&job->loop, &err), 0);
		job->model.facts.told_to_end = bits & 1;
		job->model.facts.launched = bits & 2;
		job->model.budget.commit_until_ms = clock_monotonic_ms() + 60000;
		processes = 2;
		job_begin_shutdown(job);
		assert_calls(bits == 3 ? "kill_tree; child_reap; " : "");
		assert_int_equal(job->loop.stopped, bits != 3);
		assert_int_equal(job->sweep_timer.armed, bits == 3);
		loop_release(&job->loop);
	}
}

/* Again and again until all are gone, and no longer than there is time. */
static void until_all_are_gone(void **state)
{
	struct job *job = bare();
	struct err err;
	int64_t now_ms;

	(void)state;
	assert_int_equal(loop_init(&job->loop, &err), 0);
	job->model.facts.told_to_end = job->model.facts.launched = true;
	job->model.budget.commit_until_ms = clock_monotonic_ms() + 60000;
	processes = 2;
	job_begin_shutdown(job);
	now_ms = clock_monotonic_ms();
	assert_true(job->sweep_timer.at_ms <= now_ms + 20 &&
		    job->sweep_timer.at_ms > now_ms - 60000);
	job->sweep_timer.fired(&job->sweep_timer);
	assert_false(job->loop.stopped);
	processes = 0;
	job->sweep_timer.fired(&job->sweep_timer);
	assert_true(job->loop.stopped);
	job->loop.stopped = false;
	processes = 2;
	job->model.budget.commit_until_ms = 1;
	job->sweep_timer.fired(&job->sweep_timer);
	assert_true(job->loop.stopped);
	loop_release(&job->loop);
}

/* --- what is decided and told --- */

#define BEFORE                                                                      \
	"display_end; job_look_for_last_commit; find_torn; retention_worker_stop; " \
	"snapshot_queue_stop_early; report_end; reply 3 the job has ended ("
#define AFTER "): what it saved after this request is not durable; "

/* The log comes first, then those who wait, then what may wait for a store. */
static void the_order_of_the_end(void **state)
{
	struct job *job = bare();
	struct notice stop = {.kind = NOTICE_STOP,
			      .deadline_ms = clock_monotonic_ms() + 60000,
			      .seen_ms = 7};

	(void)state;
	assert_int_equal(job_finish(job), 0);
	assert_calls(BEFORE "finished" AFTER
			    "job_tell_outcome 0 0 1; job_tell_why 0 1; tracker_end; workers_end; "
			    "gang_feed_say_last_word; job_tell_gang_not_started; "
			    "end_attempt 4 finished; record 0; requeue; "
			    "job_acknowledge_notice 0 1; job_tell_outcome 0 1 1; ");
	assert_events("requeue {\"id\":\"77\"}; ");
	assert_int_equal(requeued.seen_ms, 0);
	assert_true(requeued.deadline_ms == CLOCK_NEVER);
	/* At a notice: the webhook, and the other tasks of Slurm's. */
	job = bare();
	notices_add(&job->notices, &stop);
	given_facts.wait_status = 1 << 8;
	given_facts.noticed = given_facts.told_to_end = given_facts.asked_to_save = true;
	given_facts.saved = given_facts.stopped = true;
	assert_int_equal(job_finish(job), 75);
	assert_calls(BEFORE "preempted" AFTER
			    "job_tell_outcome 75 0 1; job_tell_why 75 1; tracker_end; workers_end; "
			    "gang_feed_say_last_word; job_tell_gang_not_started; "
			    "notify preempted 75; end_attempt 4 preempted; record 75; "
			    "slurm_task_barrier_leave; requeue; job_acknowledge_notice 75 1; "
			    "job_tell_outcome 75 1 1; ");
	assert_int_equal(requeued.seen_ms, 7);
	assert_true(requeued.deadline_ms == stop.deadline_ms);
	assert_true(requeued.facts.preempted && requeued.facts.durable);
	assert_false(requeued.facts.lost || requeued.facts.wanted || requeued.facts.script_ended);
	assert_int_equal(requeued.facts.exit_code, 75);
	/* A failure, without any. */
	job = bare();
	given_facts.wait_status = 3 << 8;
	assert_int_equal(job_finish(job), 3);
	assert_non_null(strstr(calls, "notify failed 3; "));
	assert_null(strstr(calls, "slurm_task_barrier_leave"));
}

/* The end record gets little time, the webhook half of that, and none of it after the deadline. */
static void how_long_the_end_may_take(void **state)
{
	static const int64_t lefts_ms[] = {-1, 60000, 1000};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct job *job = bare();
		int64_t before_ms = clock_monotonic_ms(), after_ms, most_ms = i == 2 ? 1000 : 3000;
		struct notice stop = {.kind = NOTICE_STOP, .deadline_ms = before_ms + lefts_ms[i]};

		if (lefts_ms[i] > 0)
			notices_add(&job->notices, &stop);
		given_facts.wait_status = 3 << 8;
		job_finish(job);
		after_ms = i == 2 ? before_ms : clock_monotonic_ms();
		assert_true(observers_until_ms >= before_ms + most_ms);
		assert_true(observers_until_ms <= after_ms + most_ms);
		assert_true(record_until_ms <= clock_monotonic_ms() + most_ms);
		assert_true(webhook_until_ms <= observers_until_ms);
		assert_true(webhook_until_ms >= before_ms + most_ms / 2);
		assert_true(webhook_until_ms <= clock_monotonic_ms() + most_ms / 2 + 1);
	}
}

/* One member writes it, of an attempt that has begun or was preempted during its restore. */
static void who_records_the_end(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 128; bits++) {
		struct job *job = bare();
		bool first = bits & 1, queued = bits & 2, launched = bits & 4, noticed = bits & 8,
		     hung = bits & 16, stored = bits & 32, claimed = bits & 64;
		bool records =
			first && !hung && stored && claimed && (queued || (!launched && noticed));

		is_first = first;
		hangs = hung;
		if (!queued)
			job->snapshots = NULL;
		if (!stored)
			job->resume.storage = NULL;
		if (!claimed)
			job->resume.attempt.number = 0;
		given_facts.launched = launched;
		given_facts.noticed = noticed;
		(void)HEARD(job_finish(job));
		assert_int_equal(strstr(calls, "end_attempt") != NULL, records);
		assert_int_equal(strstr(calls, "snapshot_queue_stop_early") != NULL, queued);
	}
}

/* What another attempt has taken over is recorded, if it is known which one. */
static void the_successor_is_recorded(void **state)
{
	static const struct {
		bool superseded, unknown;
		uint32_t newest;
		json_int_t recorded;
	} rows[] = {{true, false, 6, 6},
		    {true, false, 4, 0},
		    {true, true, 6, 0},
		    {false, false, 6, 0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct job *job = bare();

		job->model.snapshots.superseded = rows[i].superseded;
		superseded_unknown = rows[i].unknown;
		newest_attempt = rows[i].newest;
		job_finish(job);
		assert_int_equal(json_integer_value(json_object_get(recorded, "superseded_by")),
				 rows[i].recorded);
	}
}

/* No work is lost without it, and one that is there will do: only -v tells of it. */
static void a_record_that_cannot_be_written(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	end_fails = ERR_NONE;
	assert_string_equal(HEARD(job_finish(bare())), "");
	for (int i = 0; i < 2; i++) {
		struct job *job = bare();
		const char *said_of_it;

		end_fails = i ? ERR_DENIED : ERR_EXISTS;
		said_of_it = HEARD(job_finish(job));
		assert_int_equal(strstr(said_of_it,
					"cannot record the end of the attempt: why not") != NULL,
				 i);
	}
	log_set_level(LOG_LEVEL_NOTE);
}

static void a_disk_that_hangs_is_left_behind(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = bare();
		const char *heard;

		left_behind = bits & 1;
		hangs = bits & 2;
		heard = HEARD(job_finish(job));
		assert_int_equal(job->hung, bits != 0);
		assert_int_equal(strstr(heard, "does not answer: what reads it is left behind") !=
					 NULL,
				 bits != 0);
		assert_int_equal(strstr(calls, "observers_set_store 0 0 1; ") != NULL, bits != 0);
	}
}

static void without_a_tracker(void **state)
{
	struct job *job = bare();

	(void)state;
	job->tracker = NULL;
	job_finish(job);
	assert_null(strstr(calls, "tracker_end"));
	assert_false(said.lacks_newest);
}

/* --- the facts of the outcome --- */

static void what_is_torn_is_unsaved_work(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = bare();

		torn_found = bits & 1;
		went_on = bits & 2;
		lacks_newest = torn_found;
		job_finish(job);
		assert_int_equal(unsaved, !torn_found ? UNSAVED_NOTHING
					  : went_on   ? UNSAVED_SAVES
						      : UNSAVED_CUT);
		assert_int_equal(said.lacks_newest, lacks_newest);
	}
}

/* --strict turns a failure of ours, or what is not durable, into one of the job; and so does what
 * another member has lost. */
static void when_strict_fails(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 16; bits++) {
		struct job *job = bare();
		bool strict = bits & 1, failed = bits & 2, durable = bits & 4, lost = bits & 8;

		bare_config.strict = strict;
		job->reports.failed = failed;
		given_facts.all_durable = durable;
		job->model.gang.lost = lost;
		(void)HEARD(job_finish(job));
		assert_int_equal(job->model.facts.strict_failed,
				 (strict && (failed || !durable)) || lost);
	}
}

/* One that was not started has the code of the refusal, or is done already. */
static void a_job_that_was_not_started(void **state)
{
	struct job *job = bare();

	(void)state;
	given_facts.launched = false;
	job->model.refusal = 78;
	assert_int_equal(job_finish(job), 78);
	assert_int_equal(said.outcome.kind, OUTCOME_REFUSED);
	job = bare();
	given_facts.launched = false;
	job->model.refusal = 78;
	job->done = true;
	assert_int_equal(job_finish(job), 0);
	assert_int_equal(said.outcome.kind, OUTCOME_FINISHED);
	job = bare();
	job->model.refusal = 78;
	given_facts.wait_status = 3 << 8;
	assert_int_equal(job_finish(job), 3);
}

/* Said of a job that has lost work: that it has left nothing at all. */
static void an_empty_directory_is_told(void **state)
{
	static char here[] = "/proc/self", empty[] = "/tmp/reprieve-job-end-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(empty));
	for (unsigned bits = 0; bits < 8; bits++) {
		struct job *job = bare();
		bool lost = bits & 1, complete = bits & 2, full = bits & 4;

		if (lost)
			given_facts = (struct outcome_facts){.launched = true,
							     .managed = true,
							     .noticed = true,
							     .told_to_end = true,
							     .torn = true,
							     .stopped = true,
							     .wait_status = 1 << 8};
		job->model.any_complete = complete;
		job->workspace.directory = full ? here : empty;
		job_finish(job);
		assert_int_equal(said.outcome.kind == OUTCOME_NOT_DURABLE, lost);
		assert_int_equal(said.directory_is_empty, lost && !complete && !full);
		assert_int_equal(requeued.facts.lost, lost);
	}
	assert_int_equal(rmdir(empty), 0);
	{
		struct job *job = bare();

		given_facts = (struct outcome_facts){.launched = true,
						     .managed = true,
						     .torn = true,
						     .noticed = true,
						     .told_to_end = true,
						     .stopped = true,
						     .wait_status = 1 << 8};
		job_finish(job);
		assert_true(said.directory_is_empty);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_processes_are_ended),
		cmocka_unit_test(until_all_are_gone),
		cmocka_unit_test(the_order_of_the_end),
		cmocka_unit_test(how_long_the_end_may_take),
		cmocka_unit_test(who_records_the_end),
		cmocka_unit_test(the_successor_is_recorded),
		cmocka_unit_test(a_record_that_cannot_be_written),
		cmocka_unit_test(a_disk_that_hangs_is_left_behind),
		cmocka_unit_test(without_a_tracker),
		cmocka_unit_test(what_is_torn_is_unsaved_work),
		cmocka_unit_test(when_strict_fails),
		cmocka_unit_test(a_job_that_was_not_started),
		cmocka_unit_test(an_empty_directory_is_told),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	json_decref(recorded);
	return failed;
}
