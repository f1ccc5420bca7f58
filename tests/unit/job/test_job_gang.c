/* One member of a gang: what it says of its job, what it gives, and what it takes over. */
#include "bare_job.h"

#include "heard.h"

#include <sys/wait.h>
#include <unistd.h>

static struct gang_feed_options feed;
static bool cannot_start, wants, is_running, holds_less;
static bool has_begun, lacks_after, awaits_request, all_alive = true;
static int64_t begun_step, seen_since;
static struct gang_news news;
static struct snapshot_round taken;
static struct gang_event told;
static struct notice added;

/* --- in place of the parts, by the linker's --wrap --- */

NOTED(gang_feed_leave)
NOTED(gang_feed_wake)
NOTED(gang_feed_note_anew)
NOTED(job_take_steps)
NOTED(snapshot_queue_note_committed)
NOTED_WITH(gang_feed_note_complete,
	   (struct gang_feed * of, uint64_t generation, int64_t step, int64_t begun_ms),
	   "%llu %lld %lld %d", (unsigned long long)generation, (long long)step,
	   (long long)begun_ms, of != NULL)
NOTED_WITH(gang_feed_note_part_begun,
	   (struct gang_feed * of, uint32_t round, uint64_t generation, int64_t step, bool beside),
	   "%u %llu %lld %d %d", round, (unsigned long long)generation, (long long)step, beside,
	   of != NULL)
NOTED_WITH(gang_feed_note_part_ended,
	   (struct gang_feed * of, uint32_t round, enum gang_part_end end, bool put,
	    const char *why),
	   "%u %d %d %s %d", round, (int)end, put, why, of != NULL)
NOTED_WITH(gang_feed_tell,
	   (struct gang_feed * of, const struct gang_event *event, uint64_t request),
	   "%d %s %llu %d", (int)event->kind, event->reason, (unsigned long long)request,
	   of != NULL)
NOTED_WITH(tracker_leave_out, (struct tracker * tracker, int64_t until_ms, int64_t number),
	   "%lld %lld %d", (long long)until_ms, (long long)number, tracker != NULL)
NOTED_WITH(gang_start_never,
	   (struct storage * storage, uint32_t attempt, uint32_t member, const char *reason),
	   "%u %u %s %d", attempt, member, reason, storage != NULL)

void __wrap_gang_feed_tell_notice(struct gang_feed *of, struct gang_event *event);
void __wrap_gang_feed_tell_notice(struct gang_feed *of, struct gang_event *event)
{
	assert_non_null(of);
	note_call("gang_feed_tell_notice");
	told = *event;
}

void __wrap_snapshot_queue_take_round(struct snapshot_queue *queue,
				      const struct snapshot_round *round);
void __wrap_snapshot_queue_take_round(struct snapshot_queue *queue,
				      const struct snapshot_round *round)
{
	assert_non_null(queue);
	note_call("take_round %u", round->number);
	taken = *round;
}

void __wrap_snapshot_queue_give_beside(struct snapshot_queue *queue,
				       const struct snapshot_round *round);
void __wrap_snapshot_queue_give_beside(struct snapshot_queue *queue,
				       const struct snapshot_round *round)
{
	assert_non_null(queue);
	note_call("give_beside %u", round->number);
	taken = *round;
}

void __wrap_job_post(struct job *job, struct job_event event);
void __wrap_job_post(struct job *job, struct job_event event)
{
	assert_non_null(job);
	if (event.kind == JOB_EV_GANG_LEFT)
		note_call("post gang_left %d", event.lost);
	else
		note_call("post %s %u %llu", job_event_name(event.kind), event.gang.event,
			  (unsigned long long)event.gang.request);
}

void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply);
void __wrap_job_post_with(struct job *job, struct job_event event, char *text, json_t *reply)
{
	auto_free char *said = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(job);
	assert_null(text);
	note_call("post %s %u %d %d %s", job_event_name(event.kind), event.gang.event,
		  event.gang.notice_is_over, event.gang.unanswered, said);
	json_decref(reply);
}

void __wrap_job_add_notice(struct job *job, const struct notice *notice);
void __wrap_job_add_notice(struct job *job, const struct notice *notice)
{
	assert_non_null(job);
	note_call("job_add_notice %s %s %s", notice->source, notice->identity, notice->reason);
	added = *notice;
}

int __wrap_gang_feed_start(struct gang_feed *of, const struct gang_feed_options *options,
			   struct err *err);
int __wrap_gang_feed_start(struct gang_feed *of, const struct gang_feed_options *options,
			   struct err *err)
{
	feed = *options;
	note_call("gang_feed_start");
	if (cannot_start)
		return err_set(err, ERR_FAILED, "no thread");
	of->workers = SOME(workers);
	return 0;
}

struct gang_news __wrap_gang_news_of(const struct gang_view *view, const struct gang_event *event,
				     int64_t age_ms);
struct gang_news __wrap_gang_news_of(const struct gang_view *view, const struct gang_event *event,
				     int64_t age_ms)
{
	(void)view, (void)event;
	assert_int_equal(age_ms, 33);
	return news;
}

int64_t __wrap_gang_feed_age_ms(const struct gang_feed *of);
int64_t __wrap_gang_feed_age_ms(const struct gang_feed *of)
{
	(void)of;
	return 33;
}

#define ANSWERS(type, name, parameter, answer) \
	type __wrap_##name(parameter);         \
	type __wrap_##name(parameter)          \
	{                                      \
		assert_non_null(of);           \
		return answer;                 \
	}

ANSWERS(bool, snapshot_queue_wants_round, const struct snapshot_queue *of, wants)
ANSWERS(bool, snapshot_queue_is_running, const struct snapshot_queue *of, is_running)
ANSWERS(bool, tracker_holds_less, struct tracker *of, holds_less)
ANSWERS(bool, tracker_has_begun_checkpoint, struct tracker *of, has_begun)
ANSWERS(int64_t, tracker_begun_step, const struct tracker *of, begun_step)
ANSWERS(bool, request_table_awaits, const struct request_table *of, awaits_request)
ANSWERS(uint32_t, request_table_saw, const struct request_table *of, 8)

int64_t __wrap_tracker_seen_since(struct tracker *tracker, int64_t since_ms);
int64_t __wrap_tracker_seen_since(struct tracker *tracker, int64_t since_ms)
{
	assert_non_null(tracker);
	assert_int_equal(since_ms, 70);
	return seen_since;
}

bool __wrap_tracker_lacks_step_after(struct tracker *tracker, int64_t step);
bool __wrap_tracker_lacks_step_after(struct tracker *tracker, int64_t step)
{
	assert_non_null(tracker);
	assert_int_equal(step, 12);
	return lacks_after;
}

bool __wrap_proc_is_alive(pid_t pid);
bool __wrap_proc_is_alive(pid_t pid)
{
	return all_alive || pid == 11;
}

/* --- */

static struct job *gang_member(void)
{
	static struct job job;

	bare_job_init(&job);
	wants = is_running = holds_less = has_begun = lacks_after = awaits_request = false;
	begun_step = seen_since = 0;
	job.gang = (struct gang_identity){.members = 3, .member = 1};
	job.snapshots = SOME(snapshot_queue);
	job.resume.attempt.number = 4;
	job.resume.storage = SOME(storage);
	job.model.state = JOB_RUNNING;
	job_start_gang_feed(&job);
	assert_calls("gang_feed_start; ");
	job.in_gang.feed.here.gone_seen_ms = 1;
	return &job;
}

static struct gang_here look(struct job *job)
{
	struct gang_here here = job->in_gang.feed.here;

	feed.look(feed.arg, &here);
	calls[0] = '\0';
	return here;
}

static void a_single_machine_has_no_feed(void **state)
{
	static struct job job;

	(void)state;
	bare_job_init(&job);
	job_start_gang_feed(&job);
	assert_calls("");
	job_note_complete_in_gang(&job, &(struct latest_checkpoint){.generation = 1});
	job_note_part_ended(&job, &(struct snapshot_outcome){0});
	job_tell_gang(&job, &(struct notice){0});
	assert_calls("");
	assert_false(job.in_gang.has_told);
	job_leave_gang(&job);
	assert_calls("post gang_left 0; ");
}

static void a_feed_that_cannot_be_had_is_said(void **state)
{
	static struct job job;
	const char *said;

	(void)state;
	bare_job_init(&job);
	job.gang.members = 2;
	cannot_start = true;
	said = HEARD(job_start_gang_feed(&job));
	cannot_start = false;
	assert_non_null(strstr(said, "nothing will be saved together with the other members"));
	assert_true(job.reports.failed);
}

/* A notice that came during the restore is told as soon as somebody can be told. */
static void a_notice_is_told(void **state)
{
	static struct job job;
	struct notice stop = {.kind = NOTICE_STOP, .source = "aws", .reason = "spot"};
	struct notice of_gang = {.kind = NOTICE_STOP, .source = "gang"};

	(void)state;
	stop.deadline_ms = clock_monotonic_ms() + 60000;
	bare_job_init(&job);
	job.gang.members = 2;
	notices_add(&job.notices, &stop);
	job_start_gang_feed(&job);
	assert_calls("gang_feed_start; gang_feed_tell_notice; ");
	assert_true(job.in_gang.has_told);
	assert_int_equal(told.kind, GANG_EVENT_NOTICE);
	assert_string_equal(told.reason, "spot");
	assert_in_range(told.left_ms, 1, 60000);
	/* What the others have told is not told to them. */
	job.in_gang.has_told = false;
	job_tell_gang(&job, &of_gang);
	assert_calls("");
	assert_false(job.in_gang.has_told);
}

/* The others end by it, and so does this one. */
static void a_told_notice_stands(void **state)
{
	struct job *job = gang_member();
	struct notice stop = {.kind = NOTICE_STOP, .source = "aws", .identity = "1"};

	(void)state;
	assert_false(job_keep_told_notice(job, &stop));
	assert_null(notices_stop(&job->notices));
	job->in_gang.has_told = true;
	assert_non_null(strstr(HEARD(assert_true(job_keep_told_notice(job, &stop))),
			       "have been told of the notice"));
	assert_string_equal(notices_stop(&job->notices)->source, "gang");
	assert_string_equal(notices_stop(&job->notices)->identity, "gang-1");
}

static void what_is_said_of_the_job(void **state)
{
	struct job *job = gang_member();
	struct gang_here here;

	(void)state;
	here = look(job);
	assert_false(here.ended || here.wants || here.stopping || here.urgent || here.finished ||
		     here.in_order || here.saving || here.begun);
	assert_int_equal(here.saw, 8);
	wants = true;
	assert_true(look(job).wants);
	job->model.snapshots.superseded = true;
	assert_false(look(job).wants);
	awaits_request = true;
	assert_true(look(job).urgent);
	awaits_request = false;
	job->model.stop.stands = true;
	assert_true(look(job).urgent);
	assert_true(look(job).stopping);
	is_running = true;
	assert_true(look(job).saving);
}

/* By itself or by a notice, in order or not. */
static void how_a_job_has_ended(void **state)
{
	static const struct {
		const char *name;
		enum job_state state;
		int exit;
		bool stands, told, stopped, resumes;
		bool ended, finished, in_order;
		int code;
	} rows[] = {
		// clang-format off
		{"it runs", JOB_RUNNING, 0, false, false, false, false, false, false, false, 0},
		{"it is told to end", JOB_STOPPING, 0, true, true, false, false, false, false, false, 0},
		{"finished", JOB_UPLOADING, 0, false, false, false, false, true, true, true, 0},
		{"over", JOB_OVER, 0, false, false, false, false, true, true, true, 0},
		{"failed", JOB_UPLOADING, 3, false, false, false, false, true, false, false, 3},
		{"failed at a notice", JOB_UPLOADING, 3, true, false, false, false, true, false, false, 0},
		{"told to end", JOB_UPLOADING, 0, false, true, false, false, true, false, true, 0},
		{"ended by us", JOB_UPLOADING, 0, false, true, true, false, true, false, false, 0},
		{"preempted", JOB_UPLOADING, EXIT_PREEMPTED, true, true, false, false, true, false, true, 0},
		{"its own code", JOB_UPLOADING, 3, true, true, false, true, true, false, true, 0},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job *job = gang_member();
		struct gang_here here;

		job->model.state = rows[i].state;
		job->model.stop.stands = rows[i].stands;
		job->model.facts.told_to_end = rows[i].told;
		job->model.facts.stopped = rows[i].stopped;
		job->model.facts.resumes = rows[i].resumes;
		job->model.facts.wait_status = W_EXITCODE(rows[i].exit, 0);
		here = look(job);
		if (here.ended != rows[i].ended || here.finished != rows[i].finished ||
		    here.in_order != rows[i].in_order || here.code != rows[i].code)
			fail_msg("%s: %d %d %d %d", rows[i].name, here.ended, here.finished,
				 here.in_order, here.code);
	}
}

static void what_the_tracker_has_seen(void **state)
{
	struct job *job = gang_member();

	(void)state;
	job->tracker = SOME(tracker);
	job->in_gang.feed.here.step = 12;
	begun_step = 9;
	lacks_after = true;
	assert_false(look(job).begun);
	assert_int_equal(look(job).begun_step, 9);
	assert_false(look(job).torn_later);
	job->model.state = JOB_UPLOADING;
	assert_true(look(job).torn_later);
	lacks_after = false;
	assert_false(look(job).torn_later);
	has_begun = true;
	assert_true(look(job).begun);
	has_begun = false;
	job->in_gang.feed.here.begun = true;
	assert_true(look(job).begun);
}

/* What those had a part in that are gone is left out, of each member that saves. */
static void what_the_gone_had_a_part_in_is_left_out(void **state)
{
	struct job *job = gang_member();
	struct gang_gone gone[3] = {{.saves = true, .step = 5},
				    {.saves = false},
				    {.saves = true, .step = 7}};
	struct gang_here here = {.gone_seen_ms = INT64_MAX, .gone_read_ms = 70, .step = 12};

	(void)state;
	job->tracker = SOME(tracker);
	job->in_gang.feed.view.members = 3;
	job->in_gang.feed.view.gone_at = gone;
	seen_since = INT64_MAX;
	feed.look(feed.arg, &here);
	assert_calls("job_take_steps; ");
	assert_true(here.gone_seen_ms == INT64_MAX);
	seen_since = 90;
	feed.look(feed.arg, &here);
	assert_calls("job_take_steps; tracker_leave_out 90 5 1; tracker_leave_out 90 7 1; ");
	assert_int_equal(here.gone_seen_ms, 90);
	/* Once. */
	feed.look(feed.arg, &here);
	assert_calls("job_take_steps; ");
	job->in_gang.feed.view.gone_at = NULL;
}

/* A writer takes the place of one that is gone: then it has begun anew. */
static void a_job_that_begins_anew(void **state)
{
	struct job *job = gang_member();
	const char *said;

	(void)state;
	job_note_writer_in_gang(job, 10, false);
	gang_runs_note_complete(&job->in_gang.runs, 1);
	job_note_writer_in_gang(job, 10, false);
	gang_runs_note_complete(&job->in_gang.runs, 2);
	assert_calls("");
	assert_false(look(job).holds);
	all_alive = false;
	said = HEARD(job_note_writer_in_gang(job, 11, false));
	all_alive = true;
	assert_non_null(strstr(said, "has begun anew within this attempt"));
	assert_calls("gang_feed_note_anew; ");
	/* What is held back until it is known who goes on. */
	gang_runs_note_complete(&job->in_gang.runs, 3);
	job_note_writer_in_gang(job, 11, false);
	gang_runs_note_complete(&job->in_gang.runs, 4);
	assert_false(look(job).holds);
	all_alive = false;
	job->in_gang.runs.writers[0].pid = 12;
	assert_true(look(job).holds);
	all_alive = true;
	job->in_gang.runs = (struct gang_runs){0};
	job_note_writer_in_gang(job, 11, false);
	/* Another program in the process: its number says nothing any more. */
	assert_true(gang_runs_knows(&job->in_gang.runs, 11));
	job_note_writer_in_gang(job, 11, true);
	assert_false(gang_runs_knows(&job->in_gang.runs, 11));
	assert_calls("");
}

/* What lies beside checkpoints is none, and is given beside the first one at the latest. */
static void what_is_complete_is_told(void **state)
{
	struct job *job = gang_member();
	struct latest_checkpoint latest = {.generation = 5, .step = 50, .begun_ms = 60};

	(void)state;
	latest.of_companions = true;
	job_note_complete_in_gang(job, &latest);
	assert_calls("gang_feed_wake; ");
	job->in_gang.feed.here.generation = 1;
	job_note_complete_in_gang(job, &latest);
	assert_calls("gang_feed_note_complete 5 50 60 1; ");
	job->in_gang.feed.here.generation = 0;
	latest.of_companions = false;
	job_note_complete_in_gang(job, &latest);
	assert_calls("gang_feed_note_complete 5 50 60 1; ");
}

static void give(struct job *job, enum gang_round_action action)
{
	const struct gang_round_decision decision = {.action = action, .round = 9, .asked = 6};

	(void)job;
	feed.give(feed.arg, &decision);
}

/* The newest checkpoint, once the core knows it; without one, what there is. */
static void a_part_is_taken(void **state)
{
	struct job *job = gang_member();

	(void)state;
	job->tracker = SOME(tracker);
	job->in_gang.feed.here.generation = 5;
	job->in_gang.feed.here.step = 50;
	job->in_gang.feed.view.round.gone = 2;
	job->model.newest.generation = 4;
	give(job, GANG_TAKE);
	assert_calls("gang_feed_wake; ");
	job->model.newest.generation = 5;
	wants = true;
	give(job, GANG_TAKE);
	assert_calls("gang_feed_note_part_begun 9 5 50 0 1; take_round 9; ");
	assert_int_equal(taken.generation, 5);
	assert_int_equal(taken.gone, 2);
	assert_int_equal(taken.asked, 6);
	assert_false(taken.final || taken.beside);
	job->in_gang.feed.view.round.final = true;
	give(job, GANG_TAKE);
	assert_true(taken.final);
	calls[0] = '\0';
	wants = false;
	give(job, GANG_TAKE);
	assert_calls("post gang_round 0 0; ");
	holds_less = true;
	give(job, GANG_TAKE);
	assert_calls("gang_feed_note_part_ended 9 3 0 its newest checkpoint is not whole 1; ");
	job->in_gang.feed.view.round.final = false;
	give(job, GANG_TAKE);
	assert_calls("post gang_round 0 0; ");
	/* None is known here: what the job has started from. */
	job->in_gang.feed.here.generation = 0;
	wants = true;
	give(job, GANG_TAKE);
	assert_calls("gang_feed_note_part_begun 9 5 50 0 1; take_round 9; ");
	assert_int_equal(taken.generation, 5);
	/* Nothing is given by one that is superseded, or while a snapshot is made. */
	is_running = true;
	give(job, GANG_TAKE);
	assert_calls("");
	is_running = false;
	job->model.snapshots.superseded = true;
	give(job, GANG_TAKE);
	assert_calls("");
}

static void a_part_beside_is_given(void **state)
{
	struct job *job = gang_member();

	(void)state;
	job->in_gang.feed.here.generation = 5;
	job->model.newest.generation = 6;
	give(job, GANG_GIVE_BESIDE);
	assert_calls("gang_feed_note_part_begun 9 0 -1 1 1; give_beside 9; ");
	assert_true(taken.beside);
	assert_int_equal(taken.generation, 6);
	wants = true;
	give(job, GANG_GIVE_BESIDE);
	assert_calls("gang_feed_note_part_begun 9 0 -1 1 1; take_round 9; ");
}

static void how_a_part_has_ended(void **state)
{
	static const struct {
		struct snapshot_outcome outcome;
		enum gang_part_end end;
	} rows[] = {
		{{.durable = true, .result.gang_committed = true}, GANG_PART_COMMITTED},
		{{.result = {.gang_committed = true, .gang_unfit = true}},
		 GANG_PART_COMMITTED_EARLIER},
		{{.result = {.gang_unfit = true, .empty = true}}, GANG_PART_UNFIT},
		{{.never = true}, GANG_PART_IMPOSSIBLE},
		{{.result.empty = true}, GANG_PART_IMPOSSIBLE},
		{{.durable = false}, GANG_PART_FAILED},
	};
	struct job *job = gang_member();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_outcome outcome = rows[i].outcome;
		char expected[80];

		outcome.id.sequence = 9;
		outcome.result.gang_put = i & 1;
		err_set(&outcome.err, ERR_FAILED, "why");
		job_note_part_ended(job, &outcome);
		snprintf(expected, sizeof(expected), "gang_feed_note_part_ended 9 %d %d why 1; ",
			 (int)rows[i].end, (int)(i & 1));
		assert_calls(expected);
	}
}

/* Of this member's events it learns their place in the log; of those of others, the news. */
static void what_has_happened_in_the_gang(void **state)
{
	struct job *job = gang_member();
	struct gang_event event = {.number = 7, .kind = GANG_EVENT_REQUEST, .member = 1};

	(void)state;
	news.kind = GANG_NEWS_ASKS;
	feed.happened(feed.arg, &event, 3);
	assert_calls("post gang_told 7 3; ");
	event.member = 2;
	feed.happened(feed.arg, &event, 3);
	assert_calls("post gang_asks 7 0; ");
	news.kind = GANG_NEWS_NOTHING;
	feed.happened(feed.arg, &event, 3);
	assert_calls("");
	/* The notice that it ends by, whoever has told it. */
	event.kind = GANG_EVENT_NOTICE;
	job->in_gang.feed.view.notice = 7;
	feed.happened(feed.arg, &event, 3);
	assert_calls("post gang_told 7 0; ");
	job->in_gang.feed.view.notice = 6;
	news = (struct gang_news){.kind = GANG_NEWS_STOP,
				  .left_ms = 5000,
				  .identity = "gang-2",
				  .reason = "r"};
	feed.happened(feed.arg, &event, 3);
	assert_calls("job_add_notice gang gang-2 r; ");
	assert_int_equal(added.deadline_ms - added.seen_ms, 5000);
	news.left_ms = CLOCK_NEVER;
	feed.happened(feed.arg, &event, 3);
	assert_true(added.deadline_ms == CLOCK_NEVER);
	calls[0] = '\0';
	/* Its own is no news to it, but that it has come anew is. */
	event.member = 1;
	feed.happened(feed.arg, &event, 3);
	assert_calls("");
	event.kind = GANG_EVENT_REJOIN;
	feed.happened(feed.arg, &event, 3);
	assert_calls("job_add_notice gang gang-2 r; ");
}

static void what_is_answered_is_posted(void **state)
{
	struct job *job = gang_member();
	const struct gang_answer answer = {.event = 7, .round = 5, .notice_is_over = true};

	feed.answered(feed.arg, &answer);
	assert_calls("post gang_answered 7 1 0 {\"event\":\"durable\",\"id\":\"000004-000005\"}; ");
	feed.left(feed.arg, true);
	assert_calls("post gang_left 1; ");
	job_leave_gang(job);
	assert_calls("gang_feed_leave; ");
	job_share_request(job, 3);
	{
		char expected[80];

		snprintf(expected, sizeof(expected),
			 "gang_feed_tell %d a checkpoint was asked for 3 1; ",
			 (int)GANG_EVENT_REQUEST);
		assert_calls(expected);
	}
	(void)HEARD(feed.committed(feed.arg, 5, 0));
	assert_calls("snapshot_queue_note_committed; ");
	(void)state;
}

/* The others are told that nobody comes: of an attempt that they have begun with this member. */
static void a_job_that_was_not_started_is_told(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 16; bits++) {
		struct job *job = gang_member();

		job->gang.members = bits & 1 ? 3 : 1;
		job->resume_failed = !(bits & 2);
		job->resume.attempt.number = bits & 4 ? 4 : 0;
		job->model.facts.launched = !(bits & 8);
		job_tell_gang_not_started(job);
		assert_calls(bits == 15 ? "gang_start_never 4 1 its job was not started 1; " : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_machine_has_no_feed),
		cmocka_unit_test(a_feed_that_cannot_be_had_is_said),
		cmocka_unit_test(a_notice_is_told),
		cmocka_unit_test(a_told_notice_stands),
		cmocka_unit_test(what_is_said_of_the_job),
		cmocka_unit_test(how_a_job_has_ended),
		cmocka_unit_test(what_the_tracker_has_seen),
		cmocka_unit_test(what_the_gone_had_a_part_in_is_left_out),
		cmocka_unit_test(a_job_that_begins_anew),
		cmocka_unit_test(what_is_complete_is_told),
		cmocka_unit_test(a_part_is_taken),
		cmocka_unit_test(a_part_beside_is_given),
		cmocka_unit_test(how_a_part_has_ended),
		cmocka_unit_test(what_has_happened_in_the_gang),
		cmocka_unit_test(what_is_answered_is_posted),
		cmocka_unit_test(a_job_that_was_not_started_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
