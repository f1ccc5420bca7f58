/* Short stories of a job, event by event, and what is done about each: what the simulator's worlds
 * allow in more than one way, and must not be left open. */
#include "core/core.h"

#include "base/clock.h"
#include "core/request_table.h"
#include "effect_names.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

struct story {
	struct job_rules rules;
	struct job_view view;
	struct job_model model;
	struct job_effects effects; /* of the last event */
};

static int client, other; /* their addresses are those who wait */

static void post(struct story *story, struct job_event event)
{
	story->effects.count = 0;
	job_step(&story->model, &story->rules, &story->view, &event, &story->effects);
}

static const struct job_effect *find(const struct story *story, enum job_effect_kind kind)
{
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == kind)
			return &story->effects.items[i];
	return NULL;
}

static bool says(const struct story *story, enum job_sentence sentence)
{
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == JOB_DO_SAY &&
		    story->effects.items[i].sentence == sentence)
			return true;
	return false;
}

static void check_done(const struct story *story, enum job_effect_kind kind, bool done)
{
	if ((find(story, kind) != NULL) != done)
		fail_msg("%s: %s", job_effect_name(kind), done ? "missing" : "not expected");
}

static void begin(struct story *story, enum request_method ask)
{
	*story = (struct story){
		.rules = {.ask = ask,
			  .has_store = true,
			  .snapshot_interval_ms = 600000,
			  .quiet_ms = 1000,
			  .flush_ms = 60000,
			  .grace_ms = 10000},
		.view = {.now_ms = 1000000, .reported_step = -1},
	};
	story->model = job_model_new(&story->rules);
}

/* Restored and launched. */
static void start(struct story *story, enum request_method ask)
{
	begin(story, ask);
	post(story, (struct job_event){.kind = JOB_EV_RESTORED,
				       .claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
	check_done(story, JOB_DO_LAUNCH, true);
	story->view.child_running = true;
	post(story, (struct job_event){.kind = JOB_EV_LAUNCHED});
}

static void complete(struct story *story, uint64_t generation, bool fresh)
{
	post(story, (struct job_event){.kind = JOB_EV_COMPLETE,
				       .checkpoint = {.generation = generation, .step = 7},
				       .fresh = fresh});
}

static void end_snapshot(struct story *story, struct snapshot_event snapshot)
{
	snapshot.checkpoint = story->model.newest;
	post(story, (struct job_event){.kind = JOB_EV_SNAPSHOT_DONE, .snapshot = snapshot});
}

static void stop(struct story *story)
{
	job_end_requests(&story->model, &story->effects);
	request_table_release(&story->model.requests);
	job_effects_release(&story->effects);
}

static struct outcome_facts facts_of(const struct story *story)
{
	return job_outcome_facts(&story->model, &story->rules, &story->view, UNSAVED_NOTHING);
}

static void test_launched(void **state)
{
	enum job_timer timer;
	struct story story;

	(void)state;
	begin(&story, REQUEST_NONE);
	assert_int_equal(job_next_due_ms(&story.model, &timer), CLOCK_NEVER);
	assert_false(facts_of(&story).launched);
	stop(&story);
	start(&story, REQUEST_NONE);
	assert_true(facts_of(&story).launched);
	assert_int_equal(story.model.launched_ms, 1000000);
	assert_int_equal(story.model.state, JOB_RUNNING);
	stop(&story);
}

/* What is durable at the start, and whose it is. */
static void test_claims(void **state)
{
	static const struct {
		struct claim_event claim;
		int64_t step;
		bool managed;
	} rows[] = {
		{{.phase = ATTEMPT_CLAIMED, .step = -1}, -1, false},
		{{.phase = ATTEMPT_CLAIMED, .step = 42}, -1, false},
		{{.phase = ATTEMPT_CLAIMED, .step = 42, .restored = true}, 42, false},
		{{.phase = ATTEMPT_CLAIMED, .step = 42, .any_checkpoint = true}, 42, false},
		{{.phase = ATTEMPT_CLAIMED, .step = -1, .managed = true}, -1, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		begin(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED, .claim = rows[i].claim});
		if (story.model.durable.step != rows[i].step ||
		    facts_of(&story).managed != rows[i].managed)
			fail_msg("row %zu", i);
		/* From then on, work is at risk that came later. */
		assert_int_equal(story.model.durable.written_ms,
				 rows[i].claim.restored || rows[i].claim.any_checkpoint
					 ? story.view.now_ms
					 : 0);
		post(&story, (struct job_event){.kind = JOB_EV_LAUNCHED});
		/* Whoever writes a checkpoint is managed from then on. */
		complete(&story, 1, true);
		assert_true(facts_of(&story).managed);
		stop(&story);
	}
}

/* From its first write on, whatever it writes, the job is one whose checkpoints are kept. */
static void test_whoever_writes_is_managed(void **state)
{
	static const enum job_event_kind kinds[] = {JOB_EV_SAVE_STARTED, JOB_EV_RUNNING_WRITTEN,
						    JOB_EV_COMPLETE};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_ADVICE});
		assert_false(facts_of(&story).managed);
		post(&story, (struct job_event){.kind = kinds[i]});
		if (!facts_of(&story).managed)
			fail_msg("%s", job_event_name(kinds[i]));
		stop(&story);
	}
}

static void test_refused_clients(void **state)
{
	static const struct {
		enum request_method ask;
		bool launched, superseded, ends_when_asked, exited, handles_sigterm;
		enum client_refusal refusal;
	} rows[] = {
		{REQUEST_SIGNAL, false, false, false, false, false, REFUSED_NOT_STARTED},
		{REQUEST_SIGNAL, true, true, false, false, false, REFUSED_SUPERSEDED},
		{REQUEST_SIGNAL, true, false, true, false, false, REFUSED_ENDS_WHEN_ASKED},
		{REQUEST_SIGNAL, true, false, false, true, false, REFUSED_BEING_STOPPED},
		{REQUEST_NONE, true, false, false, false, false, REFUSED_CANNOT_ASK},
		{REQUEST_AUTO, true, false, false, false, false, REFUSED_CANNOT_ASK},
		{REQUEST_AUTO, true, false, true, false, true, REFUSED_ENDS_WHEN_ASKED},
		{REQUEST_AUTO, true, false, true, false, false, REFUSED_CANNOT_ASK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct job_effect *effect;
		struct story story;

		if (rows[i].launched)
			start(&story, rows[i].ask);
		else
			begin(&story, rows[i].ask);
		story.rules.ends_when_asked = rows[i].ends_when_asked;
		story.view.has_target = rows[i].handles_sigterm;
		if (rows[i].superseded) {
			complete(&story, 1, true);
			end_snapshot(&story, (struct snapshot_event){.error = ERR_EXISTS});
		}
		if (rows[i].exited)
			post(&story, (struct job_event){.kind = JOB_EV_CHILD_EXITED});
		story.effects.count = 0;
		post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
		effect = find(&story, JOB_DO_REFUSE);
		if (!effect || effect->refusal != rows[i].refusal || effect->client != &client)
			fail_msg("row %zu: %d", i, effect ? (int)effect->refusal : -1);
		check_done(&story, JOB_DO_ASK, false);
		stop(&story);
	}
}

/* From the question to the answer, and what each of them sets going. */
static void test_a_client_is_served(void **state)
{
	static const enum request_method ways[] = {REQUEST_SIGNAL, REQUEST_COMMAND};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct job_effect *effect;
		struct story story;

		start(&story, ways[i]);
		for (uint64_t number = 1; number <= SNAPSHOT_PACING_BURST; number++) {
			complete(&story, number, true);
			check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
			end_snapshot(&story, (struct snapshot_event){.durable = true});
		}
		/* The next one waits for its time, unless somebody waits for it. */
		story.view.now_ms += 1000;
		complete(&story, 8, true);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
		post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
		check_done(&story, JOB_DO_REFUSE, false);
		check_done(&story, JOB_DO_ASK, true);
		post(&story, (struct job_event){.kind = JOB_EV_SENDING});
		post(&story, (struct job_event){.kind = JOB_EV_ASKED});
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REQUEST_DO_REPLY_ASKED);
		complete(&story, 9, true);
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REQUEST_DO_REPLY_SAVED);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REQUEST_DO_REPLY_DURABLE);
		assert_ptr_equal(effect->client, &client);
		assert_true(effect->last);
		stop(&story);
	}
}

/* Whoever waits is told at once when the store fails, and not only in the end. */
static void test_a_client_hears_of_a_failing_store(void **state)
{
	static const struct {
		struct snapshot_event snapshot;
		bool told;
	} rows[] = {
		{{.error = ERR_DENIED}, true},
		{{.error = ERR_RETRY}, true},
		{{.error = ERR_EXISTS}, true},
		{{.empty = true, .error = ERR_NOT_FOUND}, true},
		{{.changed = true, .error = ERR_RETRY}, false},
		{{.error = ERR_CANCELLED}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct job_effect *effect;
		struct story story;

		start(&story, REQUEST_SIGNAL);
		post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
		post(&story, (struct job_event){.kind = JOB_EV_SENDING});
		post(&story, (struct job_event){.kind = JOB_EV_ASKED});
		complete(&story, 1, true);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		end_snapshot(&story, rows[i].snapshot);
		effect = find(&story, JOB_DO_REPLY);
		if ((effect != NULL) != rows[i].told)
			fail_msg("row %zu", i);
		if (effect)
			assert_int_equal(effect->reply, REQUEST_DO_REPLY_FAILED);
		stop(&story);
	}
}

static void exit_with_pending(struct story *story, bool noticed)
{
	start(story, REQUEST_NONE);
	complete(story, 1, true);
	check_done(story, JOB_DO_TAKE_SNAPSHOT, true);
	if (noticed)
		post(story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
					       .stop = {.deadline_ms = 2000000, .alone = true}});
	story->view.child_running = false;
	post(story, (struct job_event){.kind = JOB_EV_CHILD_EXITED});
	assert_int_equal(story->model.state, JOB_UPLOADING);
	check_done(story, JOB_DO_END, false);
}

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
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_RETRY});
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
				post(&story, (struct job_event){.kind = JOB_EV_TIMER,
								.timer = TIMER_RETRY});
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
		post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
						.stop = {.deadline_ms = 1120000, .alone = true}});
		assert_int_equal(story.model.state, JOB_CHECKPOINTING);
		check_done(&story, JOB_DO_HURRY_STORE, true);
		check_done(&story, JOB_DO_HOLD_SIGTERM, true);
		if ((find(&story, JOB_DO_ASK) != NULL) != rows[i].asked)
			fail_msg("row %zu", i);
		assert_true(facts_of(&story).noticed);
		post(&story, (struct job_event){.kind = JOB_EV_STOP_CANCELLED});
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
		bool elsewhere, waits;
	} rows[] = {
		{true, 5000, false, true},
		{false, 5000, false, false},
		/* By the last moment to ask, it has run for a second. */
		{true, 0, false, true},
		{true, 500000, false, false},
		/* What it saves, it saves where nobody takes it. */
		{true, 5000, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		begin(&story, REQUEST_NONE);
		story.rules.expects_saves = rows[i].expects_saves;
		story.model = job_model_new(&story.rules);
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED,
						.claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
		story.view.child_running = true;
		story.view.saves_elsewhere = rows[i].elsewhere;
		post(&story, (struct job_event){.kind = JOB_EV_LAUNCHED});
		story.view.now_ms += rows[i].ran_ms;
		post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
						.stop = {.deadline_ms = story.view.now_ms + 2000,
							 .alone = true}});
		assert_true(story.model.budget.ask_until_ms < story.model.budget.stop_until_ms);
		story.view.now_ms = story.model.budget.ask_until_ms;
		post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_BUDGET});
		if ((story.model.state == JOB_CHECKPOINTING) != rows[i].waits)
			fail_msg("row %zu: state %d", i, (int)story.model.state);
		story.view.now_ms = story.model.budget.stop_until_ms;
		if (rows[i].waits)
			post(&story,
			     (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_BUDGET});
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
		post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
						.stop = {.deadline_ms = 1120000, .alone = true}});
		post(&story, (struct job_event){.kind = JOB_EV_SENDING, .by_flag = true});
		post(&story, (struct job_event){.kind = JOB_EV_ASKED, .by_flag = true});
		story.view.last_write_ms = story.view.now_ms;
		complete(&story, 1, true);
		assert_int_equal(story.model.state, JOB_CHECKPOINTING);
		story.view.now_ms += rows[i].still_ms;
		story.view.own_word = rows[i].own_word;
		story.view.saving = rows[i].saving;
		post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_SETTLING});
		if ((story.model.state == JOB_STOPPING) != rows[i].stops)
			fail_msg("row %zu: state %d", i, (int)story.model.state);
		stop(&story);
	}
}

/* --- a gang --- */

static void post_kind(struct story *story, enum job_event_kind kind)
{
	post(story, (struct job_event){.kind = kind});
}

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
	post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
					.stop = {.deadline_ms = 1120000, .alone = true}});
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
			post(&story,
			     (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_FLUSH});
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
	post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
					.stop = {.deadline_ms = 1120000, .alone = true}});
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
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_FLUSH});
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
		story.rules.may_flag = story.view.polled = rows[i].polled;
		post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 3}});
		if ((find(&story, JOB_DO_ASK) != NULL) != rows[i].asked)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* What another member has saved is an answer of this one too, from when it is known. */
static void test_another_members_checkpoint_is_an_answer(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.rules.of_gang = true;
	post(&story, (struct job_event){.kind = JOB_EV_GANG_ASKS, .gang = {.event = 3}});
	post(&story, (struct job_event){.kind = JOB_EV_SENDING});
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

/* --- what waits, and for how long --- */

static void nothing_happens(struct story *story)
{
	(void)story;
}

static void is_durable(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.durable = true});
}

static void is_durable_without_the_newest(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.durable = true, .lacks_newest = true});
}

static void store_fails(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.error = ERR_RETRY});
}

static void files_change(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.changed = true, .error = ERR_RETRY});
}

static void nothing_is_left(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.empty = true});
}

static void is_superseded(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.error = ERR_EXISTS});
}

static void asks_twice_during_a_save(struct story *story)
{
	post(story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	post(story, (struct job_event){.kind = JOB_EV_SENDING});
	story->view.saving = true;
	post(story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &other});
}

static void is_asked_regularly(struct story *story)
{
	story->rules.every_ms = 30000;
	post(story, (struct job_event){.kind = JOB_EV_LAUNCHED});
}

/* Nobody else comes back to what waits: its timer is armed. */
static void test_what_waits_has_its_time(void **state)
{
	static const struct {
		void (*happens)(struct story *story);
		enum job_timer timer;
		int64_t in_ms; /* -1: not at all */
	} rows[] = {
		{is_durable_without_the_newest, TIMER_RETRY, 10000},
		{store_fails, TIMER_RETRY, 10000},
		{files_change, TIMER_RETRY, 100},
		{nothing_is_left, TIMER_RETRY, -1},
		{is_superseded, TIMER_RETRY, -1},
		{is_superseded, TIMER_SNAPSHOT, -1},
		{is_durable, TIMER_RETRY, -1},
		{asks_twice_during_a_save, TIMER_SAVE_OVER, 20},
		{is_asked_regularly, TIMER_INTERVAL, 30000},
		{nothing_happens, TIMER_INTERVAL, -1},
		/* Too much work may be at risk, or one checkpoint wait for too long. */
		{nothing_happens, TIMER_RISK, 600000},
		{nothing_happens, TIMER_POINT, -1},
		{store_fails, TIMER_POINT, 60001},
		{is_durable, TIMER_POINT, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;
		int64_t due_ms;

		start(&story, REQUEST_SIGNAL);
		rows[i].happens(&story);
		due_ms = story.model.due_ms[rows[i].timer];
		if (due_ms != (rows[i].in_ms < 0 ? CLOCK_NEVER : story.view.now_ms + rows[i].in_ms))
			fail_msg("row %zu: in %lld ms", i, (long long)(due_ms - story.view.now_ms));
		stop(&story);
	}
}

/* A checkpoint waits for a minute: it is said, but not where nothing will be saved any more. */
static void test_an_upload_that_falls_behind(void **state)
{
	static const struct {
		void (*happens)(struct story *story);
		int64_t wait_ms;
		bool said;
	} rows[] = {
		{store_fails, 60001, true},
		{store_fails, 60000, false},
		{is_superseded, 60001, false},
		{is_durable, 60001, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		rows[i].happens(&story);
		story.view.now_ms += rows[i].wait_ms;
		post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_POINT});
		if (says(&story, SAY_UPLOAD_BEHIND) != rows[i].said)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* --- how it ended --- */

#define EXITS(code) ((code) << 8)

/* What it wrote last counts as complete, or as cut. */
static void test_how_the_end_is_judged(void **state)
{
	static const struct {
		int status, mapped;
		bool asked, told, resumes;
		enum child_end end;
	} rows[] = {
		{EXITS(0), EXITS(0), false, false, false, CHILD_END_CLEAN},
		{EXITS(75), EXITS(75), false, false, false, CHILD_END_CLEAN},
		{EXITS(1), EXITS(1), false, false, false, CHILD_END_CRASHED},
		{SIGKILL, SIGKILL, true, true, true, CHILD_END_CRASHED},
		{SIGTERM, SIGTERM, true, true, true, CHILD_END_CRASHED},
		/* Its way to say that it has saved. */
		{EXITS(42), EXITS(42), true, false, false, CHILD_END_CLEAN},
		{EXITS(42), EXITS(42), false, false, false, CHILD_END_CRASHED},
		{EXITS(255), EXITS(255), false, true, false, CHILD_END_CLEAN},
		{EXITS(255), EXITS(255), false, false, false, CHILD_END_CRASHED},
		{EXITS(143), EXITS(143), false, true, false, CHILD_END_CLEAN},
		{EXITS(138), EXITS(138), true, false, false, CHILD_END_CLEAN},
		{EXITS(138), EXITS(138), false, false, false, CHILD_END_CRASHED},
		{EXITS(9), EXITS(9), true, false, true, CHILD_END_CLEAN},
		{EXITS(1), EXITS(1), true, false, false, CHILD_END_AMBIGUOUS},
		{EXITS(128), EXITS(128), true, false, false, CHILD_END_AMBIGUOUS},
		/* As a shell says it of its child's. */
		{EXITS(139), EXITS(139), true, false, false, CHILD_END_CRASHED},
		{EXITS(139), EXITS(0), false, false, false, CHILD_END_CLEAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_rules rules = {.request_signal = SIGUSR1};
		struct job_model model = job_model_new(&rules);
		struct child_exit child = {
			.wait_status = rows[i].status,
			.mapped_status = rows[i].mapped,
			.resumes = rows[i].resumes,
		};

		model.asking.sent_ms = rows[i].asked ? 1 : 0;
		model.facts.told_to_end = rows[i].told;
		if (job_child_end(&model, &rules, &child) != rows[i].end)
			fail_msg("row %zu", i);
	}
}

/* Until it has saved, or is told to end. */
static void test_when_the_job_is_asking(void **state)
{
	(void)state;
	for (enum job_state now = JOB_RESTORING; now < JOB_STATES; now++)
		for (int asking = 0; asking < 2; asking++) {
			struct job_rules rules = {0};
			struct job_model model = job_model_new(&rules);

			model.state = now;
			model.requests.asking = asking ? ASKING_SENT : ASKING_NONE;
			assert_int_equal(job_is_asking(&model),
					 asking &&
						 (now == JOB_RUNNING || now == JOB_CHECKPOINTING));
		}
}

/* The time of a notice is over during the last upload. */
static void test_out_of_time(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	story.view.now_ms = 2000000;
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_BUDGET});
	check_done(&story, JOB_DO_CANCEL_SNAPSHOTS, true);
	assert_true(says(&story, SAY_OUT_OF_TIME));
	assert_false(facts_of(&story).all_durable);
	stop(&story);
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
	assert_true(job_asked_by_sigterm(&story->model, &story->rules, 0));
	assert_int_equal(story->model.requests.asking, ASKING_SENT);
}

static void begin_save(struct story *story)
{
	story->view.saving = true;
	post(story, (struct job_event){.kind = JOB_EV_SAVE_STARTED});
	story->view.now_ms += 3000;
}

static void end_save(struct story *story, uint64_t generation)
{
	story->view.saving = false;
	story->view.last_write_ms = story->view.now_ms;
	complete(story, generation, true);
}

static void deferral_is_due(struct story *story, int64_t in_ms)
{
	assert_int_equal(story->model.due_ms[TIMER_DEFERRAL], story->view.now_ms + in_ms);
	story->view.now_ms += in_ms;
	post(story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_DEFERRAL});
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
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_DEFERRAL});
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
		story.view.last_write_ms = story.view.now_ms += 20;
		post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_DEFERRAL});
	}
	assert_in_range(story.view.now_ms - since_ms, 5000, 5020);
	check_forwarded(&story, true);
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
	story.view.saving = true;
	announce_by_sigterm(&story);
	assert_true(says(&story, SAY_DEFERRED));
	assert_int_equal(story.model.deferral.facts.saving_for_ms, 2000);
	stop(&story);
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

/* A job that saves all the time does not fill the log. */
static void test_not_each_of_many_saves_has_its_line(void **state)
{
	struct story story;
	unsigned said = 0, quiet = 0;

	(void)state;
	start(&story, REQUEST_NONE);
	story.rules.snapshot_interval_ms = 0;
	for (uint64_t generation = 1; generation <= 20; generation++) {
		story.view.now_ms += 1000;
		complete(&story, generation, true);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		said += says(&story, SAY_DURABLE);
		quiet += says(&story, SAY_DURABLE_QUIETLY);
	}
	assert_int_equal(said, 5);
	assert_int_equal(quiet, 15);
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
	post(&story, (struct job_event){.kind = JOB_EV_STOP_CANCELLED});
	begin_save(&story);
	announce_by_sigterm(&story);
	end_save(&story, 2);
	/* The next one has begun: it is waited for too. */
	begin_save(&story);
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_DEFERRAL});
	story.view.now_ms += 6000;
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_DEFERRAL});
	check_forwarded(&story, false);
	stop(&story);
}

/* Only what comes when the job has ended is late, and only where nothing had come before. */
static void test_a_late_notice(void **state)
{
	struct story story;

	(void)state;
	exit_with_pending(&story, true);
	post(&story,
	     (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED, .stop = {.deadline_ms = 1900000}});
	assert_false(story.model.facts.noticed_late);
	stop(&story);
	exit_with_pending(&story, false);
	assert_false(story.model.facts.noticed);
	post(&story,
	     (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED, .stop = {.deadline_ms = 1900000}});
	assert_true(story.model.facts.noticed_late);
	assert_true(story.model.facts.noticed);
	stop(&story);
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
		post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
						.stop = {.deadline_ms = story.view.now_ms + 600000,
							 .alone = true}});
		post(&story, (struct job_event){.kind = JOB_EV_SENDING});
		post(&story, (struct job_event){.kind = JOB_EV_ASKED});
		if (rows[i].answers) {
			complete(&story, 1, true);
			story.view.now_ms += 1000;
			post(&story,
			     (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_SETTLING});
		} else {
			story.view.now_ms = story.model.budget.stop_until_ms;
			post(&story,
			     (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_BUDGET});
		}
		assert_int_equal(story.model.state, JOB_STOPPING);
		due_ms = story.model.due_ms[TIMER_BUDGET] - story.view.now_ms;
		if (rows[i].answers ? due_ms != rows[i].until_ms : due_ms <= 0)
			fail_msg("row %zu: %lld ms", i, (long long)due_ms);
		stop(&story);
	}
}

/* --- what asks, and what for --- */

/* A job that ends when it is asked is asked by a stop alone. */
static void test_who_may_ask(void **state)
{
#define ADVICE                        \
	{                             \
		.kind = JOB_EV_ADVICE \
	}
#define NOTICE                                                                   \
	{                                                                        \
		.kind = JOB_EV_STOP_ANNOUNCED, .stop = {.deadline_ms = 2000000 } \
	}
#define INTERVAL                                              \
	{                                                     \
		.kind = JOB_EV_TIMER, .timer = TIMER_INTERVAL \
	}
	static const struct {
		struct job_event event;
		bool ends_when_asked, polled, asked;
	} rows[] = {
		{ADVICE, false, false, true},
		{ADVICE, true, false, false},
		/* By the flag it goes on. */
		{ADVICE, true, true, true},
		{NOTICE, false, false, true},
		{NOTICE, true, false, true},
		{INTERVAL, false, false, true},
		{INTERVAL, true, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		story.rules.ends_when_asked = rows[i].ends_when_asked;
		story.rules.may_flag = story.view.polled = rows[i].polled;
		post(&story, rows[i].event);
		if ((find(&story, JOB_DO_ASK) != NULL) != rows[i].asked ||
		    says(&story, SAY_NO_WAY_TO_ASK) == rows[i].asked)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* Whoever waits is told at once. */
static void test_a_job_that_cannot_be_asked(void **state)
{
	const struct job_effect *effect;
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	post(&story, (struct job_event){.kind = JOB_EV_CANNOT_ASK});
	assert_true(says(&story, SAY_CANNOT_ASK));
	effect = find(&story, JOB_DO_REPLY);
	assert_non_null(effect);
	assert_int_equal(effect->reply, REQUEST_DO_REPLY_FAILED);
	assert_ptr_equal(effect->client, &client);
	stop(&story);
}

/* By its first write in this directory, while it lives: afterwards it would only serve what is
 * torn. What a run writes that the command has started is that run's. */
static void test_an_attempt_is_claimed_by_the_first_write(void **state)
{
	static const struct {
		enum job_event_kind kind;
		bool foreign, runs;
		enum attempt_phase attempt;
		bool claims;
	} rows[] = {
		{JOB_EV_SAVE_STARTED, false, true, ATTEMPT_UNCLAIMED, true},
		{JOB_EV_RUNNING_WRITTEN, false, true, ATTEMPT_UNCLAIMED, true},
		{JOB_EV_SAVE_STARTED, true, true, ATTEMPT_UNCLAIMED, false},
		{JOB_EV_RUNNING_WRITTEN, true, true, ATTEMPT_UNCLAIMED, false},
		{JOB_EV_SAVE_STARTED, false, false, ATTEMPT_UNCLAIMED, false},
		{JOB_EV_RUNNING_WRITTEN, false, false, ATTEMPT_UNCLAIMED, false},
		{JOB_EV_SAVE_STARTED, false, true, ATTEMPT_CLAIMED, false},
		{JOB_EV_SAVE_STARTED, false, true, ATTEMPT_CLAIMING, false},
		{JOB_EV_SAVE_STARTED, false, true, ATTEMPT_NONE, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.model.attempt = rows[i].attempt;
		story.view.child_running = rows[i].runs;
		post(&story, (struct job_event){.kind = rows[i].kind, .foreign = rows[i].foreign});
		if ((find(&story, JOB_DO_CLAIM) != NULL) != rows[i].claims)
			fail_msg("row %zu", i);
		assert_int_equal(story.model.attempt,
				 rows[i].claims ? ATTEMPT_CLAIMING : rows[i].attempt);
		stop(&story);
	}
}

/* What was asked for first is still being saved: a second signal would begin it again. */
static void test_a_save_that_goes_on_is_used(void **state)
{
	const struct job_event notice = {.kind = JOB_EV_STOP_ANNOUNCED,
					 .stop = {.deadline_ms = 2000000}};

	(void)state;
	for (int saving = 0; saving < 2; saving++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		post(&story, notice);
		post(&story, (struct job_event){.kind = JOB_EV_SENDING});
		post(&story, (struct job_event){.kind = JOB_EV_STOP_CANCELLED});
		story.view.saving = story.view.rank_saving = saving;
		post(&story, notice);
		assert_int_equal(says(&story, SAY_SAVE_IS_USED), saving);
		check_done(&story, JOB_DO_ASK, !saving);
		stop(&story);
	}
}

/* Whoever asks during a save is promised what comes after it. */
static void test_the_next_save_is_asked_for_when_this_one_is_over(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	asks_twice_during_a_save(&story);
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_SAVE_OVER});
	check_done(&story, JOB_DO_ASK, false);
	end_save(&story, 1);
	check_done(&story, JOB_DO_ASK, false);
	post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_SAVE_OVER});
	check_done(&story, JOB_DO_ASK, true);
	stop(&story);
}

static void check_reason(struct story *story, bool fresh, enum save_reason reason)
{
	complete(story, story->model.newest.generation + 1, fresh);
	assert_int_equal(story->model.newest.reason, reason);
}

/* The snapshot holds what was asked for, also where another checkpoint comes before it is made. */
static void test_why_a_checkpoint_was_saved(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	check_reason(&story, true, SAVED_BY_ITSELF);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	post(&story, (struct job_event){.kind = JOB_EV_SENDING});
	check_reason(&story, false, SAVED_BY_ITSELF);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	check_reason(&story, true, SAVED_ON_REQUEST);
	check_reason(&story, false, SAVED_ON_REQUEST);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	check_reason(&story, true, SAVED_BY_ITSELF);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	story.view.child_running = false;
	story.view.running_generation = 1;
	post(&story, (struct job_event){.kind = JOB_EV_CHILD_EXITED});
	assert_int_equal(story.model.state, JOB_UPLOADING);
	check_reason(&story, false, SAVED_AT_EXIT);
	stop(&story);
}

/* --- what is measured --- */

/* With --every auto, how long a save takes decides how often: but not of one that a notice asked
 * for. */
static void test_a_save_decides_the_interval(void **state)
{
	static const struct {
		bool every_auto, noticed, said;
	} rows[] = {{true, false, true}, {false, false, false}, {true, true, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint saved = {.generation = 1};
		struct story story;

		begin(&story, REQUEST_SIGNAL);
		story.rules.every_auto = rows[i].every_auto;
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED,
						.claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
		story.view.child_running = true;
		post(&story, (struct job_event){.kind = JOB_EV_LAUNCHED});
		assert_int_equal(says(&story, SAY_INTERVAL), rows[i].every_auto);
		if (rows[i].noticed)
			post(&story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
							.stop = {.deadline_ms = 2000000}});
		begin_save(&story);
		story.view.saving = false;
		saved.written_ms = story.view.now_ms;
		post(&story, (struct job_event){.kind = JOB_EV_COMPLETE,
						.checkpoint = saved,
						.fresh = true});
		assert_int_equal(story.model.measured.save_ms, 3000);
		if (says(&story, SAY_INTERVAL) != rows[i].said)
			fail_msg("row %zu", i);
		if (rows[i].said)
			assert_int_equal(story.model.due_ms[TIMER_INTERVAL],
					 story.view.now_ms +
						 story.model.measured.interval.every_ms);
		stop(&story);
	}
}

/* From one commit to the next, but not to the first. */
static void test_how_often_it_becomes_durable(void **state)
{
	static const int64_t gaps[] = {0, 7000, 9000};
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.rules.snapshot_interval_ms = 0;
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		story.view.now_ms += gaps[i];
		complete(&story, i + 1, true);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		assert_int_equal(story.model.durable.gap_ms, gaps[i]);
	}
	stop(&story);
}

/* Saving and uploading takes longer than a notice leaves: it is said once. */
static void test_a_window_that_is_too_short_is_said_once(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.model.measured.save_ms = 3000;
	for (uint64_t generation = 1; generation <= 2; generation++) {
		complete(&story, generation, true);
		story.view.now_ms += 600000;
		post(&story, (struct job_event){.kind = JOB_EV_TIMER, .timer = TIMER_SNAPSHOT});
		end_snapshot(&story, (struct snapshot_event){.durable = true, .took_ms = 8000});
		assert_int_equal(says(&story, SAY_WINDOW_TOO_SHORT), generation == 1);
	}
	stop(&story);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launched),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_whoever_writes_is_managed),
		cmocka_unit_test(test_refused_clients),
		cmocka_unit_test(test_a_client_is_served),
		cmocka_unit_test(test_a_client_hears_of_a_failing_store),
		cmocka_unit_test(test_the_last_snapshot_is_tried_again),
		cmocka_unit_test(test_flush_time_is_not_the_limit_at_a_notice),
		cmocka_unit_test(test_a_refusal_is_final),
		cmocka_unit_test(test_a_second_interrupt_ends_the_flush),
		cmocka_unit_test(test_durable_in_the_end),
		cmocka_unit_test(test_asked_at_a_notice),
		cmocka_unit_test(test_all_members_are_asked),
		cmocka_unit_test(test_another_member_asks),
		cmocka_unit_test(test_a_notice_that_the_gang_has_answered),
		cmocka_unit_test(test_a_round_begins_a_snapshot),
		cmocka_unit_test(test_a_member_stays_for_the_others),
		cmocka_unit_test(test_an_answered_notice_waits_for_nothing_more),
		cmocka_unit_test(test_a_notice_that_nobody_answers),
		cmocka_unit_test(test_the_others_are_not_waited_for_for_ever),
		cmocka_unit_test(test_its_own_word_is_not_waited_upon),
		cmocka_unit_test(test_a_first_save_may_come_until_the_last_moment),
		cmocka_unit_test(test_what_waits_has_its_time),
		cmocka_unit_test(test_an_upload_that_falls_behind),
		cmocka_unit_test(test_how_the_end_is_judged),
		cmocka_unit_test(test_when_the_job_is_asking),
		cmocka_unit_test(test_out_of_time),
		cmocka_unit_test(test_a_directory_that_does_not_settle),
		cmocka_unit_test(test_a_job_that_cannot_be_asked),
		cmocka_unit_test(test_an_attempt_is_claimed_by_the_first_write),
		cmocka_unit_test(test_which_members_join_in),
		cmocka_unit_test(test_another_members_checkpoint_is_an_answer),
		cmocka_unit_test(test_how_often_it_becomes_durable),
		cmocka_unit_test(test_a_save_whose_begin_was_not_seen),
		cmocka_unit_test(test_the_plan_is_said),
		cmocka_unit_test(test_not_each_of_many_saves_has_its_line),
		cmocka_unit_test(test_who_may_ask),
		cmocka_unit_test(test_a_save_that_goes_on_is_used),
		cmocka_unit_test(test_the_next_save_is_asked_for_when_this_one_is_over),
		cmocka_unit_test(test_why_a_checkpoint_was_saved),
		cmocka_unit_test(test_a_sigterm_waits_for_the_save_under_way),
		cmocka_unit_test(test_a_sigterm_that_tears_nothing_is_passed_on_at_once),
		cmocka_unit_test(test_each_sigterm_waits_for_its_own_save),
		cmocka_unit_test(test_a_late_notice),
		cmocka_unit_test(test_how_long_it_may_take_to_exit),
		cmocka_unit_test(test_a_save_decides_the_interval),
		cmocka_unit_test(test_a_window_that_is_too_short_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
