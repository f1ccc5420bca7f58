/* Notices and ends by example: the last snapshot, a SIGTERM that waits, how long each may take. */
#include "story.h"

#include <signal.h>

/* Tries of the last snapshot, half a second apart, until --flush-time is over. */
static void test_the_last_snapshot_is_tried_again(void **state)
{
	enum job_timer timer;
	struct story story;

	(void)state;
	exit_with_pending(&story, false);
	end_snapshot(&story, (struct snapshot_event){.error = ERR_RETRY});
	check_done(&story, JOB_DO_END, false);
	assert_int_equal(job_next_due_ms(&story.model, &timer), story.view.now_ms + 500);
	assert_int_equal(timer, TIMER_RETRY);
	story.view.now_ms += 500;
	post_timer(&story, TIMER_RETRY);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	/* The next try would come too late. */
	story.view.now_ms += 59001;
	end_snapshot(&story, (struct snapshot_event){.error = ERR_RETRY});
	assert_true(story.model.flush.given_up);
	/* Once more for a store that failed while the job lived, and that is all. */
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	end_snapshot(&story, (struct snapshot_event){.error = ERR_RETRY});
	check_done(&story, JOB_DO_END, true);
	assert_false(facts_of(&story).all_durable);
	stop(&story);
}

/* At a notice, the deadline is the limit. */
static void test_flush_time_is_not_the_limit_at_a_notice(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	story.view.now_ms += 70000;
	end_snapshot(&story, (struct snapshot_event){.error = ERR_RETRY});
	assert_false(story.model.flush.given_up);
	check_done(&story, JOB_DO_END, false);
	post_timer(&story, TIMER_FLUSH);
	assert_false(story.model.flush.given_up);
	check_done(&story, JOB_DO_END, false);
	stop(&story);
}

/* Something that no second try can mend is tried three times. All else, also a store that is full
 * and in which somebody may make room, is tried for --flush-time, half a second apart. */
static void test_a_refusal_is_final(void **state)
{
	static const struct {
		enum err_kind error;
		bool refused;
	} rows[] = {
		{ERR_DENIED, true},    {ERR_NOT_FOUND, true}, {ERR_INVALID, true},
		{ERR_NO_SPACE, false}, {ERR_RETRY, false},    {ERR_FAILED, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		int tries = 0;

		exit_with_pending(&story, false);
		do {
			tries++;
			end_snapshot(&story, (struct snapshot_event){.error = rows[i].error});
			story.view.now_ms += 500;
			if (story.model.due_ms[TIMER_RETRY] != CLOCK_NEVER)
				post_timer(&story, TIMER_RETRY);
		} while (find(&story, JOB_DO_TAKE_SNAPSHOT) && tries < 500);
		assert_true(story.model.state == JOB_OVER);
		assert_true(rows[i].refused ? tries <= 4 : tries >= 100);
		assert_int_equal(story.model.flush.refused, rows[i].refused);
		assert_int_equal(story.model.flush.given_up, !rows[i].refused);
		stop(&story);
	}
}

/* Ctrl-C has ended the job. A second one gives up what is being saved, and is told so before. */
static void test_a_second_interrupt_ends_the_flush(void **state)
{
	static const struct {
		int wait_status;
		bool of_gang;
		unsigned presses; /* after the job's end, until the flush is over; 9: never */
	} rows[] = {
		{SIGINT, false, 1},
		{(128 + SIGINT) << 8, false, 1},
		/* Nobody knows yet that it would be given up. */
		{0, false, 2},
		{SIGINT, true, 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		unsigned presses = 0;

		start(&story, REQUEST_NONE);
		complete(&story, 1, true);
		story.rules.of_gang = rows[i].of_gang;
		story.view.child_running = false;
		post(&story, (struct job_event){.kind = JOB_EV_CHILD_EXITED,
						.child = {.wait_status = rows[i].wait_status,
							  .mapped_status = rows[i].wait_status}});
		assert_int_equal(story.model.state, JOB_UPLOADING);
		while (story.model.state == JOB_UPLOADING && presses < 9) {
			presses++;
			post(&story, (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGINT});
		}
		assert_int_equal(presses, rows[i].presses);
		if (presses < 9) {
			check_done(&story, JOB_DO_CANCEL_SNAPSHOTS, true);
			assert_false(says(&story, SAY_OUT_OF_TIME));
			assert_false(facts_of(&story).all_durable);
		}
		stop(&story);
	}
}

static void test_durable_in_the_end(void **state)
{
	(void)state;
	for (int noticed = 0; noticed < 2; noticed++) {
		struct story story;

		exit_with_pending(&story, noticed);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		check_done(&story, JOB_DO_END, true);
		assert_true(facts_of(&story).all_durable);
		assert_int_equal(story.model.durable.step, 7);
		stop(&story);
	}
}

static void test_asked_at_a_notice(void **state)
{
	static const struct {
		enum request_method ask;
		bool asked;
	} rows[] = {
		{REQUEST_SIGNAL, true},
		{REQUEST_COMMAND, true},
		{REQUEST_NONE, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, rows[i].ask);
		complete(&story, 1, true);
		announce(&story, 1120000, true);
		assert_int_equal(story.model.state, JOB_CHECKPOINTING);
		check_done(&story, JOB_DO_HURRY_STORE, true);
		check_done(&story, JOB_DO_HOLD_SIGTERM, true);
		if ((find(&story, JOB_DO_ASK) != NULL) != rows[i].asked)
			fail_msg("row %zu", i);
		assert_true(facts_of(&story).noticed);
		post_kind(&story, JOB_EV_STOP_CANCELLED);
		assert_int_equal(story.model.state, JOB_RUNNING);
		check_done(&story, JOB_DO_CALM_STORE, true);
		check_done(&story, JOB_DO_UNHOLD_SIGTERM, true);
		assert_false(facts_of(&story).noticed);
		stop(&story);
	}
}

/* At a short notice the last moment to ask comes before the last moment for a save. Until that one
 * a job that has not saved yet, and is expected to, is not told to end. */
static void test_a_first_save_may_come_until_the_last_moment(void **state)
{
	static const struct {
		bool expects_saves;
		int64_t ran_ms; /* before the notice */
		bool elsewhere, chosen, waits;
	} rows[] = {
		{true, 5000, false, false, true},
		{false, 5000, false, false, false},
		/* By the last moment to ask, it has run for a second. */
		{true, 0, false, false, true},
		{true, 500000, false, false, false},
		/* What it saves, it saves where nobody takes it. */
		{true, 5000, true, false, false},
		/* But the user has named this place. */
		{true, 5000, true, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		begin(&story, REQUEST_NONE);
		story.rules.expects_saves = rows[i].expects_saves;
		story.rules.place_chosen = rows[i].chosen;
		story.model = job_model_new(&story.rules);
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED,
						.claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
		story.view.child_running = true;
		story.view.saves_elsewhere = rows[i].elsewhere;
		post_kind(&story, JOB_EV_LAUNCHED);
		story.view.now_ms += rows[i].ran_ms;
		announce(&story, story.view.now_ms + 2000, true);
		assert_true(story.model.budget.ask_until_ms < story.model.budget.stop_until_ms);
		story.view.now_ms = story.model.budget.ask_until_ms;
		post_timer(&story, TIMER_BUDGET);
		if ((story.model.state == JOB_CHECKPOINTING) != rows[i].waits)
			fail_msg("row %zu: state %d", i, (int)story.model.state);
		story.view.now_ms = story.model.budget.stop_until_ms;
		if (rows[i].waits)
			post_timer(&story, TIMER_BUDGET);
		assert_int_equal(story.model.state, JOB_STOPPING);
		stop(&story);
	}
}

/* After the answer a small file may follow, which names the checkpoint; but not after the job's own
 * word. */
static void test_its_own_word_is_not_waited_upon(void **state)
{
	static const struct {
		bool own_word, saving;
		int64_t still_ms;
		bool stops;
	} rows[] = {
		{false, false, 20, false},
		{false, false, 1000, true},
		{true, false, 20, true},
		{true, true, 20, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_FLAG);
		announce(&story, 1120000, true);
		post(&story, (struct job_event){.kind = JOB_EV_SENDING, .by_flag = true});
		post(&story, (struct job_event){.kind = JOB_EV_ASKED, .by_flag = true});
		story.view.directory.last_write_ms = story.view.now_ms;
		complete(&story, 1, true);
		assert_int_equal(story.model.state, JOB_CHECKPOINTING);
		story.view.now_ms += rows[i].still_ms;
		story.view.directory.own_word = rows[i].own_word;
		story.view.directory.saving = rows[i].saving;
		post_timer(&story, TIMER_SETTLING);
		if ((story.model.state == JOB_STOPPING) != rows[i].stops)
			fail_msg("row %zu: state %d", i, (int)story.model.state);
		stop(&story);
	}
}

/* The time of a notice is over during the last upload. */
static void test_out_of_time(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	story.view.now_ms = 2000000;
	post_timer(&story, TIMER_BUDGET);
	check_done(&story, JOB_DO_CANCEL_SNAPSHOTS, true);
	assert_true(says(&story, SAY_OUT_OF_TIME));
	assert_false(facts_of(&story).all_durable);
	stop(&story);
}

/* A job without a profile is asked by SIGTERM, if somebody handles it. */
static void test_the_plan_knows_who_can_be_asked(void **state)
{
	static const struct {
		enum request_method ask;
		bool has_target, can_ask;
	} rows[] = {
		{REQUEST_AUTO, true, true},
		{REQUEST_AUTO, false, false},
		{REQUEST_SIGNAL, false, true},
		{REQUEST_NONE, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, rows[i].ask);
		story.view.has_target = rows[i].has_target;
		announce(&story, 2000000, false);
		assert_true(story.model.plan.made);
		assert_int_equal(story.model.plan.facts.can_ask, rows[i].can_ask);
		stop(&story);
	}
}

/* Again when it has changed, and only then. */
static void test_the_plan_is_said(void **state)
{
	struct job_event notice = {.kind = JOB_EV_STOP_ANNOUNCED, .stop = {.deadline_ms = 2000000}};
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	is_durable(&story);
	post(&story, notice);
	assert_true(says(&story, SAY_PLAN));
	notice.stop.deadline_ms = 1900000;
	post(&story, notice);
	assert_false(says(&story, SAY_PLAN));
	begin_save(&story);
	notice.stop.deadline_ms = 1800000;
	post(&story, notice);
	assert_true(says(&story, SAY_PLAN));
	assert_int_equal(story.model.plan.choice, PREEMPTION_AWAIT_SAVE);
	stop(&story);
}

/* Only what comes when the job has ended is late, and only where nothing had come before. */
static void test_a_late_notice(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	announce(&story, 1900000, false);
	assert_false(story.model.facts.noticed_late);
	stop(&story);
	exit_with_pending(&story, false);
	assert_false(story.model.facts.noticed);
	announce(&story, 1900000, false);
	assert_true(story.model.facts.noticed_late);
	assert_true(story.model.facts.noticed);
	stop(&story);
}

/* It was told nothing: any later moment than right after a save loses work. */
static void test_a_job_that_cannot_be_asked_ends_after_a_save(void **state)
{
	static const struct {
		bool in_time, stops; /* before the last moment to ask */
	} rows[] = {{true, false}, {false, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		announce(&story, story.view.now_ms + 120000, true);
		begin_save(&story);
		if (!rows[i].in_time)
			story.view.now_ms = story.model.budget.ask_until_ms;
		end_save(&story, 1);
		assert_int_equal(story.model.state,
				 rows[i].stops ? JOB_STOPPING : JOB_CHECKPOINTING);
		check_done(&story, JOB_DO_TERMINATE, rows[i].stops);
		assert_int_equal(story.model.facts.told_to_end, rows[i].stops);
		stop(&story);
	}
}

/* Once it is told to end, nobody waits for its directory to settle. */
static void test_nothing_settles_in_the_end(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	announce(&story, 1120000, true);
	post_kind(&story, JOB_EV_SENDING);
	complete(&story, 1, true);
	assert_int_not_equal(story.model.due_ms[TIMER_SETTLING], CLOCK_NEVER);
	story.view.now_ms = story.model.budget.stop_until_ms;
	post_timer(&story, TIMER_BUDGET);
	assert_int_equal(story.model.state, JOB_STOPPING);
	assert_int_equal(story.model.due_ms[TIMER_SETTLING], CLOCK_NEVER);
	assert_true(story.model.facts.told_to_end);
	stop(&story);
}

/* Looked for until it is killed: what it closed, and what it opened again. */
static void test_a_job_whose_end_proves_its_save_is_killed_in_time_for_the_upload(void **state)
{
	static const struct {
		int64_t closes_ms, opens_ms; /* after it was told; -1: never */
		bool in_time;
	} rows[] = {
		{-1, -1, false},
		{0, -1, true},
		{300, -1, true},
		/* It goes on with the next file before it was still for long. */
		{300, 500, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		int64_t told_ms, commit_ms;

		start(&story, REQUEST_NONE);
		story.view.directory.saving = true;
		announce(&story, 1008000, true);
		while (story.model.state != JOB_STOPPING) {
			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			post_timer(&story, TIMER_BUDGET);
		}
		told_ms = story.view.now_ms;
		commit_ms = story.model.budget.commit_until_ms;
		while (!story.model.killed) {
			int64_t since_ms, at_ms;

			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			since_ms = story.view.now_ms - told_ms;
			at_ms = told_ms + rows[i].closes_ms;
			story.view.directory.closed_ms =
				rows[i].closes_ms >= 0 && since_ms >= rows[i].closes_ms &&
						(rows[i].opens_ms < 0 ||
						 since_ms < rows[i].opens_ms)
					? at_ms
					: 0;
			post_timer(&story, TIMER_BUDGET);
		}
		if ((story.view.now_ms < commit_ms) != rows[i].in_time)
			fail_msg("row %zu: %d ms before the last moment", i,
				 (int)(commit_ms - story.view.now_ms));
		assert_true(story.view.now_ms <= commit_ms);
		stop(&story);
	}
}

/* The main process first, then the rest, SIGKILL last; a save is torn by none of them while there
 * is time. In percent of the time from the first SIGTERM to SIGKILL. */
static void test_the_rest_is_told_later_than_the_main_process(void **state)
{
	static const struct {
		int64_t deadline_ms;
		int saves_until;
		int told_from, told_until;
	} rows[] = {
		{1120000, 0, 25, 26},   {1120000, 10, 25, 26},   {1120000, 50, 50, 54},
		{1120000, 100, 75, 78}, {1010000, 0, 25, 40},    {1010000, 100, 75, 90},
		{1000400, 0, 25, 100},  {1000400, 100, 75, 100}, {1000000, 0, 0, 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		int64_t told_ms, rest_ms = 0, share_ms;

		start(&story, REQUEST_NONE);
		story.view.directory.saving = rows[i].saves_until > 0;
		announce(&story, rows[i].deadline_ms, true);
		while (story.model.state != JOB_STOPPING) {
			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			post_timer(&story, TIMER_BUDGET);
			check_done(&story, JOB_DO_TERMINATE_REST, false);
		}
		check_done(&story, JOB_DO_TERMINATE, true);
		told_ms = story.view.now_ms;
		share_ms = story.model.budget.commit_until_ms - told_ms;
		while (!story.model.killed) {
			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			story.view.directory.saving = (story.view.now_ms - told_ms) * 100 <
						      share_ms * rows[i].saves_until;
			post_timer(&story, TIMER_BUDGET);
			if (!find(&story, JOB_DO_TERMINATE_REST))
				continue;
			assert_int_equal(rest_ms, 0);
			rest_ms = story.view.now_ms;
		}
		assert_int_not_equal(rest_ms, 0);
		if ((rest_ms - told_ms) * 100 < share_ms * rows[i].told_from ||
		    (rest_ms - told_ms) * 100 > share_ms * rows[i].told_until)
			fail_msg("row %zu: after %d of %d ms", i, (int)(rest_ms - told_ms),
				 (int)share_ms);
		stop(&story);
	}
}

/* One SIGKILL does not end what is forked after it. */
static void test_it_is_killed_again(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	announce(&story, 1060000, true);
	while (story.model.state != JOB_STOPPING || !story.model.killed) {
		assert_true(story.model.due_ms[TIMER_BUDGET] <= 1060000);
		story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
		post_timer(&story, TIMER_BUDGET);
	}
	for (int i = 0; i < 3; i++) {
		check_done(&story, JOB_DO_KILL, true);
		assert_int_equal(says(&story, SAY_KILLING), i == 0);
		assert_int_equal(story.model.due_ms[TIMER_BUDGET], story.view.now_ms + 1000);
		story.view.now_ms += 1000;
		post_timer(&story, TIMER_BUDGET);
	}
	stop(&story);
}

static void upload_is_cancelled(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.error = ERR_CANCELLED});
}

/* What was given up for want of time has time again. */
static void test_a_withdrawn_notice_saves_what_is_pending(void **state)
{
	static const struct {
		void (*happens)(struct story *story);
		bool queued;
	} rows[] = {{upload_is_cancelled, true}, {is_durable, false}, {is_superseded, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		announce(&story, 1060000, true);
		rows[i].happens(&story);
		assert_int_equal(story.model.due_ms[TIMER_SNAPSHOT], CLOCK_NEVER);
		post_kind(&story, JOB_EV_STOP_CANCELLED);
		assert_true(says(&story, SAY_WITHDRAWN));
		if ((find(&story, JOB_DO_TAKE_SNAPSHOT) ||
		     story.model.due_ms[TIMER_SNAPSHOT] != CLOCK_NEVER) != rows[i].queued)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* Nothing was saved, so there is nothing to wait for: each is passed on as an init would. If the
 * job answers with its first checkpoint and ends, it was told to. */
static void test_a_sigterm_for_a_job_that_saves_nothing(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	for (int i = 0; i < 2; i++) {
		post(&story, (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGTERM});
		check_done(&story, JOB_DO_PASS_SIGNAL, true);
		check_done(&story, JOB_DO_RELEASE_SIGTERM, true);
		check_done(&story, JOB_DO_TAKE_FOR_NOTICE, false);
		assert_int_equal(story.model.state, JOB_RUNNING);
	}
	assert_true(story.model.facts.noticed && story.model.facts.by_signal_only);
	assert_true(story.model.facts.told_to_end);
	complete(&story, 1, true);
	story.view.now_ms += 2000; /* another wish */
	post(&story, (struct job_event){.kind = JOB_EV_SIGNAL, .signal = SIGTERM});
	check_done(&story, JOB_DO_PASS_SIGNAL, false);
	check_done(&story, JOB_DO_TAKE_FOR_NOTICE, true);
	stop(&story);
}

/* Nobody handles SIGTERM. One that has come is passed on, as an init would; another notice is no
 * reason to end the job by one. */
static void test_nobody_handles_sigterm(void **state)
{
	static const struct {
		enum request_method ask;
		bool by_sigterm, forwarded;
	} rows[] = {
		{REQUEST_AUTO, true, true},
		{REQUEST_AUTO, false, false},
		{REQUEST_SIGNAL, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, rows[i].ask);
		post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
						.stop = {.deadline_ms = 1060000,
							 .by_sigterm = rows[i].by_sigterm,
							 .alone = true}});
		post_kind(&story, JOB_EV_CANNOT_ASK);
		check_done(&story, JOB_DO_FORWARD_SIGTERM, rows[i].forwarded);
		check_done(&story, JOB_DO_STOP_TRYING, rows[i].forwarded);
		assert_int_equal(says(&story, SAY_CANNOT_ASK), !rows[i].forwarded);
		stop(&story);
	}
}

/* A job that has answered gets ten seconds to exit, whatever the notice allows; one that has not
 * all of it. */
static void test_how_long_it_may_take_to_exit(void **state)
{
	static const struct {
		bool answers;
		int64_t until_ms;
	} rows[] = {{true, 10000}, {false, 100000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t due_ms;
		struct story story;

		start(&story, REQUEST_SIGNAL);
		announce(&story, story.view.now_ms + 600000, true);
		post_kind(&story, JOB_EV_SENDING);
		post_kind(&story, JOB_EV_ASKED);
		if (rows[i].answers) {
			complete(&story, 1, true);
			story.view.now_ms += 1000;
			post_timer(&story, TIMER_SETTLING);
		} else {
			story.view.now_ms = story.model.budget.stop_until_ms;
			post_timer(&story, TIMER_BUDGET);
		}
		assert_int_equal(story.model.state, JOB_STOPPING);
		due_ms = -story.view.now_ms;
		while (!story.model.killed) {
			story.view.now_ms = story.model.due_ms[TIMER_BUDGET];
			post_timer(&story, TIMER_BUDGET);
		}
		due_ms += story.view.now_ms;
		if (rows[i].answers ? due_ms != rows[i].until_ms : due_ms <= 0)
			fail_msg("row %zu: %lld ms", i, (long long)due_ms);
		stop(&story);
	}
}

/* --- a SIGTERM that is passed on --- */

static void announce_by_sigterm(struct story *story)
{
	post(story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
				       .stop = {.deadline_ms = story->view.now_ms + 120000,
						.by_sigterm = true,
						.alone = true}});
}

static void check_forwarded(const struct story *story, bool forwarded)
{
	check_done(story, JOB_DO_FORWARD_SIGTERM, forwarded);
	assert_int_equal(story->model.facts.told_to_end, forwarded);
	if (!forwarded)
		return;
	/* Nobody else has said what it means: it counts as an asking, by this signal. */
	assert_int_equal(story->model.asking.sent_ms, story->view.now_ms);
	assert_true(job_asked_by_sigterm(&story->model, &story->rules));
	assert_int_equal(story->model.requests.asking, ASKING_SENT);
}

static void deferral_is_due(struct story *story, int64_t in_ms)
{
	assert_int_equal(story->model.due_ms[TIMER_DEFERRAL], story->view.now_ms + in_ms);
	story->view.now_ms += in_ms;
	post_timer(story, TIMER_DEFERRAL);
}

/* It would tear the save under way: it is passed on once that is complete, and the directory has
 * settled. */
static void test_a_sigterm_waits_for_the_save_under_way(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.model.asking.by_flag = true; /* of an asking before */
	begin_save(&story);
	announce_by_sigterm(&story);
	assert_true(says(&story, SAY_DEFERRED));
	assert_int_equal(story.model.deferral.facts.saving_for_ms, 3000);
	check_forwarded(&story, false);
	deferral_is_due(&story, 100);
	check_forwarded(&story, false);
	end_save(&story, 1);
	check_forwarded(&story, false);
	deferral_is_due(&story, 0);
	check_forwarded(&story, false);
	deferral_is_due(&story, 20);
	check_forwarded(&story, false);
	story.view.now_ms += 1000;
	post_timer(&story, TIMER_DEFERRAL);
	check_forwarded(&story, true);
	stop(&story);
}

static void test_a_sigterm_that_tears_nothing_is_passed_on_at_once(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	announce_by_sigterm(&story);
	assert_false(says(&story, SAY_DEFERRED));
	check_forwarded(&story, true);
	stop(&story);
}

/* Not for ever, where something is written on and on. */
static void test_a_directory_that_does_not_settle(void **state)
{
	struct story story;
	int64_t since_ms;

	(void)state;
	start(&story, REQUEST_NONE);
	begin_save(&story);
	announce_by_sigterm(&story);
	/* However long the save takes. */
	for (int i = 0; i < 100; i++) {
		deferral_is_due(&story, 100);
		check_forwarded(&story, false);
	}
	end_save(&story, 1);
	since_ms = story.view.now_ms;
	while (!find(&story, JOB_DO_FORWARD_SIGTERM) && story.view.now_ms <= since_ms + 6000) {
		story.view.directory.last_write_ms = story.view.now_ms += 20;
		post_timer(&story, TIMER_DEFERRAL);
	}
	assert_in_range(story.view.now_ms - since_ms, 5000, 5020);
	check_forwarded(&story, true);
	stop(&story);
}

/* The number is complete, and the fixed names that belong to it are awaited: also longer than a
 * directory may take to settle, but not beyond their time. */
static void test_a_save_that_goes_on_beside_its_number(void **state)
{
	struct story story;
	int64_t since_ms;

	(void)state;
	start(&story, REQUEST_NONE);
	is_durable(&story);
	begin_save(&story);
	announce_by_sigterm(&story);
	complete(&story, 2, true);
	complete(&story, 3, true);
	since_ms = story.view.now_ms;
	story.view.directory.partners_until_ms = since_ms + 7000;
	while (!find(&story, JOB_DO_FORWARD_SIGTERM) && story.view.now_ms <= since_ms + 9000) {
		story.view.now_ms += 20;
		story.view.directory.saving = story.view.now_ms < since_ms + 7000;
		story.view.directory.partners_until_ms =
			story.view.directory.saving ? since_ms + 7000 : 0;
		post_timer(&story, TIMER_DEFERRAL);
	}
	assert_in_range(story.view.now_ms - since_ms, 7000, 7020);
	check_forwarded(&story, true);
	stop(&story);
}

/* What comes beside a number is no save of its own, so that the next one is known to come; unless
 * its time is over. */
static void test_how_often_a_job_saves_that_goes_on_beside_its_numbers(void **state)
{
	static const struct {
		int64_t awaited_ms, gap_ms;
	} rows[] = {{3500, 10000}, {500, 3750}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		for (uint64_t save = 1; save <= 2; save++) {
			begin_save(&story);
			story.view.directory.partners_until_ms =
				story.view.now_ms + rows[i].awaited_ms;
			complete(&story, 2 * save, true);
			story.view.now_ms += 3000;
			story.view.directory.partners_until_ms = 0;
			story.view.directory.saving = false;
			complete(&story, 2 * save + 1, true);
			story.view.now_ms += 4000;
		}
		assert_int_equal(story.model.measured.rhythm.gap_ms, rows[i].gap_ms);
		stop(&story);
	}
}

/* The same after the answer to a notice. */
static void test_an_answer_that_goes_on_beside_its_number(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_FLAG);
	announce(&story, 1120000, true);
	post(&story, (struct job_event){.kind = JOB_EV_SENDING, .by_flag = true});
	post(&story, (struct job_event){.kind = JOB_EV_ASKED, .by_flag = true});
	complete(&story, 1, true);
	story.view.now_ms += 6000;
	story.view.directory.saving = true;
	story.view.directory.partners_until_ms = story.view.now_ms + 1;
	post_timer(&story, TIMER_SETTLING);
	assert_int_equal(story.model.state, JOB_CHECKPOINTING);
	story.view.directory.saving = false;
	story.view.directory.partners_until_ms = 0;
	/* Nor while more may come to a save of an unknown kind, although nothing is being written.
	 */
	story.view.directory.unknown_until_ms = story.view.now_ms + 1;
	post_timer(&story, TIMER_SETTLING);
	assert_int_equal(story.model.state, JOB_CHECKPOINTING);
	story.view.directory.unknown_until_ms = 0;
	post_timer(&story, TIMER_SETTLING);
	assert_int_equal(story.model.state, JOB_STOPPING);
	stop(&story);
}

/* A snapshot waits for them, as long as there is time for its upload. */
static void test_what_belongs_to_a_number_comes_into_its_snapshot(void **state)
{
	static const struct {
		/* how long the notice is and how much of it is over; how long they are awaited */
		int64_t notice_ms, over_ms, awaited_ms;
		bool waits, all_of_it;
	} rows[] = {
		{0, 0, 0, false, false},        {0, 0, 800, true, true},
		{120000, 0, 800, true, true},   {1000, 0, 5000, true, false},
		{1000, 990, 800, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		int64_t now_ms, due_ms;

		start(&story, REQUEST_NONE);
		now_ms = story.view.now_ms;
		if (rows[i].notice_ms > 0)
			announce(&story, now_ms + rows[i].notice_ms, true);
		now_ms = story.view.now_ms += rows[i].over_ms;
		story.view.directory.saving = rows[i].awaited_ms > 0;
		if (rows[i].awaited_ms > 0)
			story.view.directory.partners_until_ms = now_ms + rows[i].awaited_ms;
		complete(&story, 1, false);
		if ((find(&story, JOB_DO_TAKE_SNAPSHOT) == NULL) != rows[i].waits)
			fail_msg("row %zu", i);
		due_ms = story.model.due_ms[TIMER_SNAPSHOT];
		if (rows[i].waits &&
		    (due_ms == story.view.directory.partners_until_ms) != rows[i].all_of_it)
			fail_msg("row %zu: due in %d ms", i, (int)(due_ms - now_ms));
		stop(&story);
	}
}

/* What belongs to the next numbers does not put it off again: there may always be some. */
static void test_a_snapshot_waits_for_what_belongs_to_one_number(void **state)
{
	struct story story;
	int64_t first_ms;

	(void)state;
	start(&story, REQUEST_NONE);
	story.view.directory.saving = true;
	first_ms = story.view.directory.partners_until_ms = story.view.now_ms + 800;
	complete(&story, 1, false);
	story.view.now_ms += 500;
	story.view.directory.partners_until_ms = story.view.now_ms + 800;
	complete(&story, 2, false);
	assert_null(find(&story, JOB_DO_TAKE_SNAPSHOT));
	assert_int_equal(story.model.due_ms[TIMER_SNAPSHOT], first_ms);
	stop(&story);
}

/* It has begun no later than the checkpoint before it was complete. */
static void test_a_save_whose_begin_was_not_seen(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	is_durable(&story);
	story.view.now_ms += 2000;
	story.view.directory.saving = true;
	announce_by_sigterm(&story);
	assert_true(says(&story, SAY_DEFERRED));
	assert_int_equal(story.model.deferral.facts.saving_for_ms, 2000);
	stop(&story);
}

/* The saves that an earlier one has waited for do not count. */
static void test_each_sigterm_waits_for_its_own_save(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	begin_save(&story);
	announce_by_sigterm(&story);
	end_save(&story, 1);
	post_kind(&story, JOB_EV_STOP_CANCELLED);
	begin_save(&story);
	announce_by_sigterm(&story);
	end_save(&story, 2);
	/* The next one has begun: it is waited for too. */
	begin_save(&story);
	post_timer(&story, TIMER_DEFERRAL);
	story.view.now_ms += 6000;
	post_timer(&story, TIMER_DEFERRAL);
	check_forwarded(&story, false);
	stop(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_snapshot_is_tried_again),
		cmocka_unit_test(test_flush_time_is_not_the_limit_at_a_notice),
		cmocka_unit_test(test_a_refusal_is_final),
		cmocka_unit_test(test_a_second_interrupt_ends_the_flush),
		cmocka_unit_test(test_durable_in_the_end),
		cmocka_unit_test(test_asked_at_a_notice),
		cmocka_unit_test(test_a_first_save_may_come_until_the_last_moment),
		cmocka_unit_test(test_its_own_word_is_not_waited_upon),
		cmocka_unit_test(test_a_save_that_goes_on_beside_its_number),
		cmocka_unit_test(test_an_answer_that_goes_on_beside_its_number),
		cmocka_unit_test(test_how_often_a_job_saves_that_goes_on_beside_its_numbers),
		cmocka_unit_test(test_what_belongs_to_a_number_comes_into_its_snapshot),
		cmocka_unit_test(test_a_snapshot_waits_for_what_belongs_to_one_number),
		cmocka_unit_test(test_out_of_time),
		cmocka_unit_test(test_the_plan_knows_who_can_be_asked),
		cmocka_unit_test(test_the_plan_is_said),
		cmocka_unit_test(test_a_late_notice),
		cmocka_unit_test(test_how_long_it_may_take_to_exit),
		cmocka_unit_test(test_a_job_that_cannot_be_asked_ends_after_a_save),
		cmocka_unit_test(test_nothing_settles_in_the_end),
		cmocka_unit_test(
			test_a_job_whose_end_proves_its_save_is_killed_in_time_for_the_upload),
		cmocka_unit_test(test_the_rest_is_told_later_than_the_main_process),
		cmocka_unit_test(test_it_is_killed_again),
		cmocka_unit_test(test_a_withdrawn_notice_saves_what_is_pending),
		cmocka_unit_test(test_nobody_handles_sigterm),
		cmocka_unit_test(test_a_sigterm_for_a_job_that_saves_nothing),
		cmocka_unit_test(test_a_sigterm_waits_for_the_save_under_way),
		cmocka_unit_test(test_a_sigterm_that_tears_nothing_is_passed_on_at_once),
		cmocka_unit_test(test_a_directory_that_does_not_settle),
		cmocka_unit_test(test_a_save_whose_begin_was_not_seen),
		cmocka_unit_test(test_each_sigterm_waits_for_its_own_save),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
