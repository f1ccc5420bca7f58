/* What the snapshot queue and retention are told of the job, and what the job is told of them. */
#include "bare_job.h"

#include "heard.h"

static struct snapshot_queue_options queue;
static struct retention_worker_options retention;
static bool may_upload, is_busy, is_pending, is_committed;
static int fails_with_retry; /* so often the store does not say whether it is committed */
static enum err_kind fails_with;
static uint32_t in_doubt, answers;
static int tries_before_fixed;
static struct latest_checkpoint latest;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(gang_feed_wake)
NOTED(job_note_late_answer)
NOTED(job_note_late_commit)
NOTED_WITH(snapshot_queue_note_committed, (struct snapshot_queue * snapshots, uint32_t round),
	   "%u %d", round, snapshots != NULL)
NOTED_WITH(job_post, (struct job * job, struct job_event event), "%s %llu %d",
	   job_event_name(event.kind),
	   event.kind == JOB_EV_PLANNED ? (unsigned long long)event.generation : 0, job != NULL)
NOTED_WITH(job_note_part_ended, (struct job * job, const struct snapshot_outcome *outcome), "%d %d",
	   outcome->durable, job != NULL)
NOTED_WITH(snapshot_queue_upload_early,
	   (struct snapshot_queue * snapshots, char **closed, char **open), "%d %d %d",
	   snapshots != NULL, (int)((char *)closed - some_place), (int)((char *)open - some_place))

void __wrap_job_post_snapshot(struct job *job, const struct snapshot_outcome *outcome,
			      json_t *reply);
void __wrap_job_post_snapshot(struct job *job, const struct snapshot_outcome *outcome,
			      json_t *reply)
{
	auto_free char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(job);
	note_call("job_post_snapshot %d %s", outcome->durable, text);
	json_decref(reply);
}

int __wrap_snapshot_queue_new(const struct snapshot_queue_options *options,
			      struct snapshot_queue **made, struct err *err);
int __wrap_snapshot_queue_new(const struct snapshot_queue_options *options,
			      struct snapshot_queue **made, struct err *err)
{
	(void)err;
	queue = *options;
	*made = SOME(snapshot_queue);
	return 0;
}

struct retention_worker *__wrap_retention_worker_new(
	const struct retention_worker_options *options);
struct retention_worker *__wrap_retention_worker_new(const struct retention_worker_options *options)
{
	retention = *options;
	return SOME(retention_worker);
}

bool __wrap_job_may_upload_early(const struct job_model *model);
bool __wrap_job_may_upload_early(const struct job_model *model)
{
	(void)model;
	return may_upload;
}

bool __wrap_job_has_pending(const struct job_model *model);
bool __wrap_job_has_pending(const struct job_model *model)
{
	(void)model;
	return is_pending;
}

bool __wrap_snapshot_queue_is_busy(const struct snapshot_queue *snapshots);
bool __wrap_snapshot_queue_is_busy(const struct snapshot_queue *snapshots)
{
	assert_non_null(snapshots);
	return is_busy;
}

char **__wrap_tracker_closed(const struct tracker *tracker);
char **__wrap_tracker_closed(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return (char **)(void *)(some_place + 1);
}

char **__wrap_tracker_open(const struct tracker *tracker);
char **__wrap_tracker_open(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return (char **)(void *)(some_place + 2);
}

void __wrap_tracker_plan(struct tracker *tracker, struct snapshot_plan *plan);
void __wrap_tracker_plan(struct tracker *tracker, struct snapshot_plan *plan)
{
	note_call("tracker_plan %d", tracker && plan);
}

bool __wrap_tracker_confirm(struct tracker *tracker, struct snapshot_plan *plan, bool last);
bool __wrap_tracker_confirm(struct tracker *tracker, struct snapshot_plan *plan, bool last)
{
	(void)plan;
	assert_non_null(tracker);
	tries_before_fixed += !last;
	return last;
}

json_t *__wrap_tracker_signatures(const struct tracker *tracker);
json_t *__wrap_tracker_signatures(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return json_string("signatures");
}

const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker);
const struct latest_checkpoint *__wrap_tracker_latest_checkpoint(const struct tracker *tracker)
{
	assert_non_null(tracker);
	return &latest;
}

bool __wrap_gang_feed_is_settled(const struct gang_feed *feed, uint32_t round);
bool __wrap_gang_feed_is_settled(const struct gang_feed *feed, uint32_t round)
{
	(void)feed;
	return round <= 4;
}

uint32_t __wrap_gang_here_in_doubt(const struct gang_view *view, const struct gang_here *here);
uint32_t __wrap_gang_here_in_doubt(const struct gang_view *view, const struct gang_here *here)
{
	(void)view, (void)here;
	return in_doubt;
}

int __wrap_storage_gang_is_committed(struct storage *storage, uint32_t attempt, uint32_t round,
				     bool *committed, struct cancel *cancel, struct err *err);
int __wrap_storage_gang_is_committed(struct storage *storage, uint32_t attempt, uint32_t round,
				     bool *committed, struct cancel *cancel, struct err *err)
{
	assert_non_null(storage);
	assert_int_equal(attempt, 3);
	assert_int_equal(round, in_doubt);
	assert_true(cancel_left_ms(cancel) <= 10000);
	note_call("is_committed");
	if (fails_with_retry > 0) {
		fails_with_retry--;
		return err_set(err, fails_with, "no answer");
	}
	*committed = is_committed;
	return 0;
}

int __wrap_storage_gang_answers(struct storage *storage, uint32_t attempt, uint32_t round,
				uint32_t *event, struct cancel *cancel, struct err *err);
int __wrap_storage_gang_answers(struct storage *storage, uint32_t attempt, uint32_t round,
				uint32_t *event, struct cancel *cancel, struct err *err)
{
	(void)err;
	assert_non_null(storage);
	assert_int_equal(attempt, 3);
	assert_int_equal(round, in_doubt);
	assert_true(cancel_left_ms(cancel) <= 10000);
	*event = answers;
	return 0;
}

int __wrap_cancel_sleep(struct cancel *cancel, int64_t milliseconds, struct err *err);
int __wrap_cancel_sleep(struct cancel *cancel, int64_t milliseconds, struct err *err)
{
	(void)cancel, (void)err;
	note_call("sleep %lld", (long long)milliseconds);
	return 0;
}

/* --- early uploads --- */

/* What was closed is taken (true) by whoever may upload it, and of a gang by nobody: there it is
 * not offered again. */
static void closed_files_are_sent_early(void **state)
{
	static struct job job;

	(void)state;
	for (unsigned bits = 0; bits < 16; bits++) {
		bool gang = bits & 1, queued = bits & 2, sends;

		bare_job_init(&job);
		job.tracker = SOME(tracker);
		job.gang.members = gang ? 2 : 1;
		job.snapshots = queued ? SOME(snapshot_queue) : NULL;
		may_upload = bits & 4;
		is_busy = bits & 8;
		sends = !gang && queued && may_upload && !is_busy;
		assert_int_equal(job_on_files_closed(&job), gang || sends);
		assert_calls(sends ? "snapshot_queue_upload_early 1 1 2; " : "");
	}
}

/* --- what another member has committed --- */

static struct job *gang_member(uint64_t newest)
{
	static struct job job;

	bare_job_init(&job);
	job.gang.members = 2;
	job.resume.attempt.number = 3;
	job.resume.storage = SOME(storage);
	job.snapshots = SOME(snapshot_queue);
	job.in_gang.feed.workers = SOME(workers);
	job.in_gang.feed.here.put_generation = newest;
	job.model.newest.generation = newest;
	job.rules.flush_ms = 60000;
	return &job;
}

/* Only with the newest checkpoint is that durable, and a part without any makes none so. */
static void a_part_counts_for_its_own_checkpoint(void **state)
{
	static const struct {
		uint64_t newest, part;
		bool counts;
	} rows[] = {{5, 5, true}, {5, 4, false}, {5, 0, false}, {0, 0, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = gang_member(rows[i].newest);

		assert_string_equal(HEARD(job_note_earlier_part(job, 9, rows[i].part)),
				    "reprieve: durable: 000003-000009, which another member has "
				    "committed\n");
		assert_events("durable {\"id\":\"000003-000009\",\"step\":-1}; ");
		assert_calls(rows[i].counts
				     ? "snapshot_queue_note_committed 9 1; job_note_late_commit; "
				     : "snapshot_queue_note_committed 9 1; ");
	}
}

/* It is asked only where a part may be in a snapshot that counts, and something hangs on it. */
static void the_last_commit_is_looked_for_where_it_matters(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 64; bits++) {
		struct job *job = gang_member(5);
		bool running = bits & 1, queued = bits & 2, superseded = bits & 4, lost = bits & 16;
		bool asks;

		is_pending = bits & 8;
		in_doubt = bits & 32 ? 9 : 0;
		is_committed = false;
		asks = running && queued && !superseded && (is_pending || lost) && in_doubt;
		if (!running)
			job->in_gang.feed.workers = NULL;
		if (!queued)
			job->snapshots = NULL;
		job->model.snapshots.superseded = superseded;
		job->model.gang.lost = lost;
		job_look_for_last_commit(job);
		assert_calls(asks ? "is_committed; " : "");
		assert_int_equal(job->model.gang.lost, lost);
	}
	in_doubt = 9;
}

/* A store that does not answer is asked again, until the time is over; any other error ends it. */
static void the_last_commit_is_asked_for_until_the_store_says(void **state)
{
	(void)state;
	is_pending = is_committed = true;
	fails_with = ERR_RETRY;
	fails_with_retry = 2;
	(void)HEARD(job_look_for_last_commit(gang_member(5)));
	assert_calls("is_committed; sleep 250; is_committed; sleep 250; is_committed; "
		     "snapshot_queue_note_committed 9 1; job_note_late_commit; ");
	fails_with = ERR_DENIED;
	fails_with_retry = 1;
	(void)HEARD(job_look_for_last_commit(gang_member(5)));
	assert_calls("is_committed; ");
}

/* The notice that all end by: it is answered by what answers it or a later event. */
static void what_the_last_commit_answers(void **state)
{
	static const struct {
		uint32_t notice, answers;
		bool pending, answered;
	} rows[] = {{6, 6, true, true},  {6, 7, true, true},   {6, 5, true, false},
		    {0, 7, true, false}, {6, 6, false, false}, {0, 0, true, false}};

	(void)state;
	is_committed = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = gang_member(5);

		is_pending = rows[i].pending;
		answers = rows[i].answers;
		job->in_gang.feed.view.notice = rows[i].notice;
		job->model.gang.lost = true;
		(void)HEARD(job_look_for_last_commit(job));
		assert_calls(rows[i].answered ? "is_committed; snapshot_queue_note_committed 9 1; "
						"job_note_late_commit; job_note_late_answer; "
					      : "is_committed; snapshot_queue_note_committed 9 1; "
						"job_note_late_commit; ");
		assert_true(job->model.gang.lost);
	}
}

/* The last files of all are in the final round, and in no other one. */
static void only_the_final_round_has_all_last_files(void **state)
{
	(void)state;
	is_committed = true;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = gang_member(5);

		job->model.gang.lost = true;
		job->in_gang.feed.view.round.final = bits & 1;
		job->in_gang.feed.view.round.number = bits & 2 ? 9 : 8;
		(void)HEARD(job_look_for_last_commit(job));
		assert_int_equal(job->model.gang.lost, bits != 3);
	}
}

/* --- the queue --- */

static struct job *start_queue(unsigned members)
{
	static struct job job;
	struct err err;

	json_decref(job.snapshot_about);
	bare_job_init(&job);
	job.gang.members = members;
	job.tracker = SOME(tracker);
	job.resume.attempt.number = 3;
	job.resume.storage = SOME(storage);
	bare_config.tag = "t";
	assert_int_equal(job_start_snapshot_queue(&job, &err), 0);
	return &job;
}

static void the_queue_knows_whether_there_is_a_gang(void **state)
{
	(void)state;
	start_queue(1);
	assert_false(queue.of_gang);
	assert_string_equal(json_string_value(json_object_get(queue.about, "tag")), "t");
	start_queue(2);
	assert_true(queue.of_gang);
	assert_true(queue.round_is_settled(queue.arg, 4));
	assert_false(queue.round_is_settled(queue.arg, 5));
	queue.wants_round(queue.arg);
	assert_calls("gang_feed_wake; ");
}

/* Old snapshots are one machine's to remove, if there is a rule. */
static void one_member_removes_old_snapshots(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		static struct job job;
		bool removes = bits == 1;
		struct err err;

		bare_job_init(&job);
		bare_config.retention.policy.keep_last = bits & 1;
		job.gang.members = 2;
		job.gang.member = bits & 2 ? 1 : 0;
		retention = (struct retention_worker_options){0};
		assert_int_equal(job_start_snapshot_queue(&job, &err), 0);
		assert_int_equal(job.retention_worker != NULL, removes);
		assert_int_equal(queue.retention != NULL, removes);
		assert_int_equal(retention.policy.keep_last, removes);
	}
}

/* What has become complete just now is in the plan; its step is not known to the core yet. */
static void a_plan_is_about_the_newest_checkpoint(void **state)
{
	(void)state;
	for (unsigned members = 1; members < 3; members++) {
		struct job *job = start_queue(members);
		struct snapshot_plan plan = {0};
		struct checkpoint checkpoint;

		job->model.newest = (struct checkpoint){.generation = 5, .step = 50};
		latest.generation = 6;
		queue.plan(queue.arg, &plan, &checkpoint);
		assert_int_equal(checkpoint.step, 50);
		assert_int_equal(checkpoint.generation, members == 1 ? 5 : 6);
		assert_calls(members == 1 ? "tracker_plan 1; job_post planned 5 1; "
					  : "tracker_plan 1; job_post planned 6 1; ");
	}
}

static void a_plan_that_changes_thrice_is_made_of_fixed_names(void **state)
{
	struct snapshot_plan plan = {0};

	(void)state;
	start_queue(1);
	tries_before_fixed = 0;
	for (unsigned tries = 0; !queue.confirm(queue.arg, &plan, tries); tries++)
		;
	assert_int_equal(tries_before_fixed, 3);
}

static void clients_are_told_what_came_of_it(void **state)
{
	struct snapshot_outcome outcome = {
		.durable = true,
		.id = {3, 4},
		.result.bytes = 77,
		.checkpoint = {.step = 12, .completed_ms = 0},
	};
	const char *told;

	(void)state;
	start_queue(1);
	outcome.checkpoint.completed_ms = clock_monotonic_ms() - 1000;
	queue.finished(queue.arg, &outcome);
	told = "job_post_snapshot 1 {\"bytes\":77,\"event\":\"durable\",\"id\":\"000003-000004\","
	       "\"seconds\":1.";
	assert_memory_equal(calls, told, strlen(told));
	assert_non_null(strstr(calls, "\"step\":12}; job_note_part_ended 1 1; "));
	calls[0] = '\0';
	outcome.durable = false;
	err_set(&outcome.err, ERR_RETRY, "no room");
	queue.finished(queue.arg, &outcome);
	assert_calls("job_post_snapshot 0 {\"error\":\"no room\",\"event\":\"failed\"}; "
		     "job_note_part_ended 0 1; ");
	/* Nobody waited for it here. */
	outcome.unasked = true;
	queue.finished(queue.arg, &outcome);
	assert_calls("job_note_part_ended 0 1; ");
}

/* --- retention --- */

static const char *retention_ends(bool worked, const struct forget_result *result,
				  enum err_kind kind)
{
	struct err err = {0};

	err_set(&err, kind, "why");
	return HEARD(retention.finished(retention.arg, worked, result, &err));
}

static struct job *start_retention(void)
{
	static struct job job;
	struct err err;

	bare_job_init(&job);
	bare_config.retention.policy.keep_last = 1;
	assert_int_equal(job_start_snapshot_queue(&job, &err), 0);
	return &job;
}

/* Each is said once, and the core is told each time. */
static void what_retention_has_done_is_said_once(void **state)
{
	struct forget_result none = {0}, one = {.forgotten = 1, .kept = 2},
			     two = {.forgotten = 2, .kept = 1};
	struct job *job;

	(void)state;
	job = start_retention();
	assert_string_equal(retention_ends(true, &none, ERR_FAILED), "");
	assert_calls("job_post retention_done 0 1; ");
	assert_events("");
	assert_non_null(strstr(retention_ends(true, &one, ERR_FAILED),
			       "removed 1 snapshot that no --keep rule keeps; 2 are left"));
	assert_string_equal(retention_ends(true, &two, ERR_FAILED), "");
	assert_false(job->reports.failed);
	assert_non_null(
		strstr(events,
		       "snapshots_removed {\"bytes_freed\":0,\"kept\":2,\"snapshots\":1}; "));
	job = start_retention();
	none.collected.packs_removed = 1;
	assert_string_equal(retention_ends(true, &none, ERR_FAILED), "");
	assert_events("snapshots_removed {\"bytes_freed\":0,\"kept\":0,\"snapshots\":0}; ");
	assert_non_null(strstr(retention_ends(true, &two, ERR_FAILED),
			       "removed 2 snapshots that no --keep rule keeps; 1 is left"));
}

/* What is stopped for a save, or by new attempts, is begun again; any other failure is said. */
static void a_retention_that_fails_is_said_once(void **state)
{
	static const enum err_kind again[] = {ERR_CANCELLED, ERR_RETRY};
	struct forget_result none = {0}, refused = {.refused = {.count = 1}};
	struct job *job = start_retention();

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(retention_ends(false, &none, again[i]), "");
	assert_false(job->reports.failed);
	assert_non_null(strstr(retention_ends(false, &none, ERR_DENIED),
			       "cannot remove old snapshots: why"));
	assert_true(job->reports.failed);
	assert_string_equal(retention_ends(false, &none, ERR_DENIED), "");
	job = start_retention();
	text_set(refused.refused.first, sizeof(refused.refused.first), "packs/1");
	assert_non_null(
		strstr(retention_ends(true, &refused, ERR_FAILED), "the store refuses packs/1"));
	assert_string_equal(retention_ends(true, &refused, ERR_FAILED), "");
	calls[0] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_files_are_sent_early),
		cmocka_unit_test(a_part_counts_for_its_own_checkpoint),
		cmocka_unit_test(the_last_commit_is_looked_for_where_it_matters),
		cmocka_unit_test(the_last_commit_is_asked_for_until_the_store_says),
		cmocka_unit_test(what_the_last_commit_answers),
		cmocka_unit_test(only_the_final_round_has_all_last_files),
		cmocka_unit_test(the_queue_knows_whether_there_is_a_gang),
		cmocka_unit_test(one_member_removes_old_snapshots),
		cmocka_unit_test(a_plan_is_about_the_newest_checkpoint),
		cmocka_unit_test(a_plan_that_changes_thrice_is_made_of_fixed_names),
		cmocka_unit_test(clients_are_told_what_came_of_it),
		cmocka_unit_test(what_retention_has_done_is_said_once),
		cmocka_unit_test(a_retention_that_fails_is_said_once),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	json_decref(start_queue(1)->snapshot_about);
	return failed;
}
