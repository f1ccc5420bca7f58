/* A job on several machines by example: who is asked, what answers, and how long a member stays. */
#include "story.h"

static int client; /* its address is somebody who waits */

static void test_all_members_are_asked(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	check_done(&story, JOB_DO_ASK, true);
	check_done(&story, JOB_DO_SHARE_REQUEST, true);
	post_kind(&story, JOB_EV_SENDING);
	post(&story,
	     (struct job_event){.kind = JOB_EV_GANG_TOLD, .gang = {.event = 3, .request = 1}});
	/* The other one has asked all: nobody asks once more. */
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang.event = 4});
	check_done(&story, JOB_DO_SHARE_REQUEST, false);
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED, .gang.event = 2});
	check_done(&story, JOB_DO_REPLY, false);
	/* This one has nothing to save. */
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED, .gang.event = 4});
	check_done(&story, JOB_DO_REPLY, true);
	check_done(&story, JOB_DO_STOP_ASKING, true);
	assert_false(request_table_awaits(&story.model.requests));
	stop(&story);
}

static void test_another_member_asks(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	post_kind(&story, JOB_EV_GANG_ASKS);
	check_done(&story, JOB_DO_ASK, true);
	check_done(&story, JOB_DO_SHARE_REQUEST, false);
	stop(&story);
	start(&story, REQUEST_NONE);
	post_kind(&story, JOB_EV_GANG_ASKS);
	check_done(&story, JOB_DO_ASK, false);
	stop(&story);
}

/* What it makes from now on is no checkpoint of all. */
static void test_a_notice_that_the_gang_has_answered(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	announce(&story, 1120000, true);
	check_done(&story, JOB_DO_SHARE_REQUEST, false);
	post_kind(&story, JOB_EV_SENDING);
	post(&story, (struct job_event){.kind = JOB_EV_GANG_TOLD, .gang.event = 7});
	/* A request before it. */
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED, .gang.event = 6});
	assert_int_equal(story.model.state, JOB_CHECKPOINTING);
	assert_true(request_table_awaits(&story.model.requests));
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED,
					.gang = {.event = 7, .notice_is_over = true}});
	assert_false(request_table_awaits(&story.model.requests));
	assert_int_equal(story.model.state, JOB_STOPPING);
	check_done(&story, JOB_DO_TERMINATE, true);
	stop(&story);
}

/* A round is no matter of what is due here. */
static void test_a_round_begins_a_snapshot(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.rules.of_gang = true;
	post_kind(&story, JOB_EV_GANG_ROUND);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
	complete(&story, 1, false);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	post_kind(&story, JOB_EV_GANG_ROUND);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	post_kind(&story, JOB_EV_GANG_ROUND);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
	stop(&story);
}

/* The others may need a part of it, but not for ever. */
static void test_a_member_stays_for_the_others(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.rules.of_gang = true;
		complete(&story, 1, false);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		post_kind(&story, JOB_EV_CHILD_EXITED);
		check_done(&story, JOB_DO_LEAVE_GANG, true);
		check_done(&story, JOB_DO_END, false);
		story.view.now_ms += story.rules.flush_ms;
		if (late)
			post_timer(&story, TIMER_FLUSH);
		else
			post_kind(&story, JOB_EV_GANG_LEFT);
		check_done(&story, JOB_DO_END, true);
		assert_true(facts_of(&story).all_durable);
		stop(&story);
	}
}

/* What it has saved since is no checkpoint of all: it is not waited for, nor called lost. */
static void test_an_answered_notice_waits_for_nothing_more(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	story.rules.of_gang = true;
	story.view.awaits_gang = true;
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED,
					.gang = {.event = 7, .notice_is_over = true}});
	check_done(&story, JOB_DO_CANCEL_SNAPSHOTS, true);
	check_done(&story, JOB_DO_END, true);
	assert_true(facts_of(&story).all_durable);
	stop(&story);
}

/* A part that it gives after that is for the others, of which one may have left without a word: it
 * is not waited for either. */
static void test_a_round_after_the_answer_is_not_waited_for(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	complete(&story, 1, false);
	end_snapshot(&story, (struct snapshot_event){.durable = true, .checkpoint.generation = 1});
	announce(&story, 1120000, true);
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED,
					.gang = {.event = 7, .notice_is_over = true}});
	story.view.child_running = false;
	post_kind(&story, JOB_EV_CHILD_EXITED);
	post_kind(&story, JOB_EV_GANG_ROUND);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	assert_true(story.model.due_ms[TIMER_FLUSH] <= story.view.now_ms + 1000);
	story.view.awaits_gang = true;
	story.view.now_ms = story.model.due_ms[TIMER_FLUSH];
	post_timer(&story, TIMER_FLUSH);
	check_done(&story, JOB_DO_CANCEL_SNAPSHOTS, true);
	check_done(&story, JOB_DO_END, true);
	assert_true(facts_of(&story).all_durable);
	stop(&story);
}

/* The job has saved and is still: it is ended. Not while the gang needs a later step of it, which
 * the others have saved already; but when time is short. */
static void test_a_job_that_the_gang_needs_goes_on(void **state)
{
	static const struct {
		bool needed, late, stops;
	} rows[] = {{false, false, true}, {true, false, false}, {true, true, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		story.rules.of_gang = true;
		story.view.gang_needs_job = rows[i].needed;
		announce(&story, 1120000, true);
		post_kind(&story, JOB_EV_SENDING);
		post(&story, (struct job_event){.kind = JOB_EV_GANG_TOLD, .gang.event = 7});
		complete(&story, 1, true);
		story.view.now_ms += 5000;
		if (rows[i].late)
			story.view.now_ms = story.model.budget.ask_until_ms;
		post_timer(&story, TIMER_SETTLING);
		assert_int_equal(story.model.state,
				 rows[i].stops ? JOB_STOPPING : JOB_CHECKPOINTING);
		post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED,
						.gang = {.event = 7, .notice_is_over = true}});
		assert_int_equal(story.model.state, JOB_STOPPING);
		stop(&story);
	}
}

/* Another member has left before it was: what this one had saved by then is lost, and is called so;
 * what it saves from then on is no checkpoint of all. */
static void test_a_notice_that_nobody_answers(void **state)
{
	const struct job_event over = {.kind = JOB_EV_GANG_ANSWERED,
				       .gang = {.notice_is_over = true, .unanswered = true}};
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	story.rules.of_gang = true;
	story.view.awaits_gang = true;
	post(&story, over);
	check_done(&story, JOB_DO_END, true);
	assert_false(facts_of(&story).all_durable);
	stop(&story);

	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	complete(&story, 1, false);
	end_snapshot(&story, (struct snapshot_event){.durable = true, .checkpoint.generation = 1});
	announce(&story, 1120000, true);
	post(&story, over);
	assert_int_equal(story.model.state, JOB_STOPPING);
	complete(&story, 2, false);
	assert_true(job_has_pending(&story.model));
	assert_true(facts_of(&story).all_durable);
	stop(&story);
}

/* A round that never comes is no slow store. */
static void test_the_others_are_not_waited_for_for_ever(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, false);
	story.view.awaits_gang = true;
	story.view.now_ms += story.rules.flush_ms;
	post_timer(&story, TIMER_FLUSH);
	check_done(&story, JOB_DO_END, true);
	assert_true(story.model.flush.given_up);
	assert_false(facts_of(&story).all_durable);
	stop(&story);
}

/* A job that ends when it is asked is not asked because another one was. */
static void test_which_members_join_in(void **state)
{
	static const struct {
		enum request_method ask;
		bool ends_when_asked, polled, asked;
	} rows[] = {
		{REQUEST_SIGNAL, false, false, true}, {REQUEST_SIGNAL, true, false, false},
		{REQUEST_SIGNAL, true, true, true},   {REQUEST_NONE, false, false, false},
		{REQUEST_AUTO, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, rows[i].ask);
		story.rules.of_gang = true;
		story.rules.ends_when_asked = rows[i].ends_when_asked;
		story.rules.may_flag = story.view.directory.polled = rows[i].polled;
		post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 3}});
		if ((find(&story, JOB_DO_ASK) != NULL) != rows[i].asked)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* A save that was under way when the others were asked is no answer to them; unless it was begun
 * for nobody, and this job is asked now. */
static void test_asked_during_a_save(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	story.view.directory.saving = true;
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 3}});
	check_done(&story, JOB_DO_ASK, true);
	post_kind(&story, JOB_EV_SENDING);
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 5}});
	complete(&story, 1, true);
	assert_int_equal(request_table_saw(&story.model.requests), 3);
	assert_true(request_table_is_open(&story.model.requests));
	stop(&story);
}

/* What another member has saved is an answer of this one too, from when it is known. */
static void test_another_members_checkpoint_is_an_answer(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 3}});
	post_kind(&story, JOB_EV_SENDING);
	story.view.now_ms += 5000;
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED, .gang = {.event = 2}});
	assert_false(story.model.asking.answered);
	assert_int_equal(story.model.asking.first_answer_ms, 0);
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ANSWERED, .gang = {.event = 3}});
	assert_true(story.model.asking.answered);
	assert_int_equal(story.model.asking.first_answer_ms, story.view.now_ms);
	assert_int_equal(story.model.durable.written_ms, story.view.now_ms);
	stop(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_members_are_asked),
		cmocka_unit_test(test_another_member_asks),
		cmocka_unit_test(test_a_notice_that_the_gang_has_answered),
		cmocka_unit_test(test_a_round_begins_a_snapshot),
		cmocka_unit_test(test_a_member_stays_for_the_others),
		cmocka_unit_test(test_an_answered_notice_waits_for_nothing_more),
		cmocka_unit_test(test_a_round_after_the_answer_is_not_waited_for),
		cmocka_unit_test(test_a_job_that_the_gang_needs_goes_on),
		cmocka_unit_test(test_a_notice_that_nobody_answers),
		cmocka_unit_test(test_the_others_are_not_waited_for_for_ever),
		cmocka_unit_test(test_which_members_join_in),
		cmocka_unit_test(test_asked_during_a_save),
		cmocka_unit_test(test_another_members_checkpoint_is_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
