/* Short stories of a job, event by event, and what is done about each: what the simulator's worlds
 * allow in more than one way, and must not be left open. */
#include "story.h"

#include <signal.h>

static int client, other; /* their addresses are those who wait */

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

/* Before the start, those that end a program end this one; the others are kept for the job. */
static void test_signals_before_the_start(void **state)
{
	static const struct {
		int signal;
		bool ignored;
		int refusal; /* 0: it is not ended */
		bool kept;
	} rows[] = {
		{SIGINT, false, 128 + SIGINT, false},
		{SIGQUIT, false, 128 + SIGQUIT, false},
		{SIGHUP, false, 128 + SIGHUP, false},
		{SIGHUP, true, 0, false},
		{SIGUSR2, false, 0, true},
		{SIGUSR2, true, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		begin(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_SIGNAL,
						.signal = rows[i].signal,
						.ignored = rows[i].ignored});
		assert_int_equal(story.model.facts.refusal, rows[i].refusal);
		assert_int_equal(story.model.state, rows[i].refusal ? JOB_OVER : JOB_RESTORING);
		check_done(&story, JOB_DO_CANCEL_RESTORE, rows[i].refusal != 0);
		check_done(&story, JOB_DO_KEEP_SIGNAL, rows[i].kept);
		stop(&story);
	}
}

/* A job that runs gets each signal. */
static void test_signals_are_passed_on(void **state)
{
	static const struct {
		int signal;
		bool ignored;
	} rows[] = {
		{SIGINT, false}, {SIGQUIT, false}, {SIGHUP, false},
		{SIGHUP, true},  {SIGUSR2, false}, {SIGWINCH, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_SIGNAL,
						.signal = rows[i].signal,
						.ignored = rows[i].ignored});
		check_done(&story, JOB_DO_PASS_SIGNAL, true);
		stop(&story);
	}
}

/* A script that is to outlive SIGTERM (`trap '' TERM`) starts us with it ignored. */
static void test_sigterm_is_a_notice_even_if_it_was_ignored(void **state)
{
	(void)state;
	for (int ignored = 0; ignored < 2; ignored++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		story.model.facts.managed = true;
		post(&story, (struct job_event){.kind = JOB_EV_SIGNAL,
						.signal = SIGTERM,
						.ignored = ignored});
		check_done(&story, JOB_DO_TAKE_FOR_NOTICE, true);
		check_done(&story, JOB_DO_PASS_SIGNAL, false);
		stop(&story);
	}
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
		post_kind(&story, JOB_EV_LAUNCHED);
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
		post_kind(&story, JOB_EV_ADVICE);
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
			post_kind(&story, JOB_EV_CHILD_EXITED);
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
		post_kind(&story, JOB_EV_SENDING);
		post_kind(&story, JOB_EV_ASKED);
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REPLY_ASKED);
		complete(&story, 9, true);
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REPLY_SAVED);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		effect = find(&story, JOB_DO_REPLY);
		assert_non_null(effect);
		assert_int_equal(effect->reply, REPLY_DURABLE);
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
		post_kind(&story, JOB_EV_SENDING);
		post_kind(&story, JOB_EV_ASKED);
		complete(&story, 1, true);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		end_snapshot(&story, rows[i].snapshot);
		effect = find(&story, JOB_DO_REPLY);
		if ((effect != NULL) != rows[i].told)
			fail_msg("row %zu", i);
		if (effect)
			assert_int_equal(effect->reply, REPLY_FAILED);
		stop(&story);
	}
}

/* What a snapshot without the newest checkpoint holds is durable, and no more; and nothing that is
 * older than what was durable before. */
static void test_durable_without_the_newest(void **state)
{
	static const struct {
		int64_t written_ms, step, durable_step;
	} rows[] = {{0, 0, 100}, {900, 90, 100}, {2000, 200, 200}, {2000, -1, -1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		story.model.durable.step = 100;
		story.model.durable.written_ms = 1000;
		complete(&story, 1, true);
		post(&story, (struct job_event){
				     .kind = JOB_EV_SNAPSHOT_DONE,
				     .snapshot = {.durable = true,
						  .lacks_newest = true,
						  .checkpoint = {.step = rows[i].step,
								 .written_ms = rows[i].written_ms}},
			     });
		assert_int_equal(story.model.durable.step, rows[i].durable_step);
		assert_true(job_has_pending(&story.model));
		stop(&story);
	}
}

/* --- what waits, and for how long --- */

static void nothing_happens(struct story *story)
{
	(void)story;
}

static void is_durable_without_the_newest(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.durable = true, .lacks_newest = true});
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

static void asks_twice_during_a_save(struct story *story)
{
	post(story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	post_kind(story, JOB_EV_SENDING);
	story->view.directory.saving = true;
	post(story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &other});
}

static void is_asked_regularly(struct story *story)
{
	story->rules.every_ms = 30000;
	post_kind(story, JOB_EV_LAUNCHED);
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
		post_timer(&story, TIMER_POINT);
		if (says(&story, SAY_UPLOAD_BEHIND) != rows[i].said)
			fail_msg("row %zu", i);
		stop(&story);
	}
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

/* A snapshot holds what is complete when it is planned: no other one is due for that. */
static void test_a_plan_takes_in_what_is_pending(void **state)
{
	(void)state;
	for (int planned = 0; planned < 2; planned++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.rules.snapshot_interval_ms = 0;
		complete(&story, 1, true);
		complete(&story, 2, true);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
		if (planned)
			post(&story, (struct job_event){.kind = JOB_EV_PLANNED, .generation = 2});
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, !planned);
		stop(&story);
	}
}

/* What lies there already, and is newer than the store. */
static void test_what_was_there_is_saved_at_once(void **state)
{
	(void)state;
	for (int fresh = 0; fresh < 2; fresh++) {
		struct story story;

		begin(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED,
						.claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
		story.view.child_running = true;
		post(&story, (struct job_event){.kind = JOB_EV_LAUNCHED,
						.fresh = fresh,
						.checkpoint = {.generation = 0, .step = 7}});
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, fresh);
		assert_int_equal(job_has_pending(&story.model), fresh);
		if (fresh) {
			end_snapshot(&story, (struct snapshot_event){.durable = true});
			assert_false(job_has_pending(&story.model));
			assert_int_equal(story.model.durable.step, 7);
		}
		stop(&story);
	}
}

/* A part of the newest checkpoint, and nothing new: the next one that is complete begins it. */
static void test_less_than_a_checkpoint_is_not_saved(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.view.directory.holds_less = true;
	complete(&story, 1, true);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
	story.model.due_ms[TIMER_SNAPSHOT] = story.view.now_ms;
	post_timer(&story, TIMER_SNAPSHOT);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
	assert_int_equal(story.model.due_ms[TIMER_SNAPSHOT], CLOCK_NEVER);
	story.view.directory.holds_less = false;
	complete(&story, 2, true);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	stop(&story);
}

/* Much work is not durable: it is said of a job that saves, while something can be done about it.
 */
static void test_when_work_is_at_risk(void **state)
{
	static const struct {
		bool managed, superseded, ends, said;
	} rows[] = {
		{true, false, false, true},
		{false, false, false, false},
		{true, true, false, false},
		{true, false, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.model.facts.managed = rows[i].managed;
		if (rows[i].superseded)
			is_superseded(&story);
		if (rows[i].ends)
			announce(&story, 9000000, false);
		story.view.now_ms += 600000;
		post_timer(&story, TIMER_RISK);
		if (says(&story, SAY_AT_RISK) != rows[i].said)
			fail_msg("row %zu", i);
		/* Later and later. */
		assert_int_equal(story.model.due_ms[TIMER_RISK],
				 story.model.launched_ms + 2 * 600000);
		stop(&story);
	}
}

/* It is said once that the store works again. */
static void test_a_store_that_works_again(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.rules.snapshot_interval_ms = 0;
	store_fails(&story);
	assert_true(says(&story, SAY_NOT_DURABLE));
	story.view.now_ms = story.model.due_ms[TIMER_RETRY];
	post_timer(&story, TIMER_RETRY);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	assert_true(says(&story, SAY_STORE_WORKS));
	complete(&story, 2, true);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	assert_false(says(&story, SAY_STORE_WORKS));
	stop(&story);
}

/* An attempt that is taken late may find a notice, or the job's end. */
static void test_a_late_claim_hurries(void **state)
{
	static const struct {
		bool ended, noticed, hurries;
	} rows[] = {{false, false, false}, {true, false, true}, {false, true, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.model.attempt = ATTEMPT_CLAIMING;
		assert_false(job_may_upload_early(&story.model));
		if (rows[i].noticed)
			announce(&story, 2000000, false);
		if (rows[i].ended) {
			story.view.child_running = false;
			post_kind(&story, JOB_EV_CHILD_EXITED);
			assert_int_equal(story.model.state, JOB_UPLOADING);
		}
		post(&story, (struct job_event){.kind = JOB_EV_CLAIMED,
						.claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
		check_done(&story, JOB_DO_HURRY_STORE, rows[i].hurries);
		assert_true(job_may_upload_early(&story.model));
		stop(&story);
	}
}

/* What was complete before the attempt was claimed is saved then. */
static void test_a_claim_saves_what_is_complete(void **state)
{
	static const struct {
		enum attempt_phase phase;
		bool complete, takes;
	} rows[] = {
		{ATTEMPT_CLAIMED, true, true},
		{ATTEMPT_CLAIMED, false, false},
		{ATTEMPT_NONE, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_NONE);
		story.model.attempt = ATTEMPT_UNCLAIMED;
		if (rows[i].complete)
			complete(&story, 1, true);
		check_done(&story, JOB_DO_CLAIM, rows[i].complete);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
		post(&story, (struct job_event){.kind = JOB_EV_CLAIMED,
						.claim = {.phase = rows[i].phase, .step = -1}});
		if ((find(&story, JOB_DO_TAKE_SNAPSHOT) != NULL) != rows[i].takes)
			fail_msg("row %zu", i);
		stop(&story);
	}
}

/* What waits for the interval between two snapshots waits no more. */
static void test_a_notice_ends_the_wait_for_a_snapshot(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	/* The first ones need not wait. */
	for (uint64_t i = 1; story.model.due_ms[TIMER_SNAPSHOT] == CLOCK_NEVER; i++) {
		assert_true(i < 20);
		story.view.now_ms += 1000;
		complete(&story, i, true);
		if (find(&story, JOB_DO_TAKE_SNAPSHOT))
			end_snapshot(&story, (struct snapshot_event){.durable = true});
	}
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, false);
	announce(&story, 2000000, false);
	check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
	stop(&story);
}

/* Where only running files have grown, it is the checkpoint of the start that they are saved with;
 * or there is none. */
static void test_what_running_files_are_saved_with(void **state)
{
	static const struct {
		struct claim_event claim;
		bool work;
		int64_t step;
		bool as_of_start, curves_only;
	} rows[] = {
		{{.phase = ATTEMPT_CLAIMED, .step = -1}, true, -1, false, false},
		{{.phase = ATTEMPT_CLAIMED, .step = -1}, false, -1, false, true},
		{{.phase = ATTEMPT_CLAIMED, .step = 42, .any_checkpoint = true},
		 false,
		 42,
		 true,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct checkpoint *newest;
		struct story story;

		begin(&story, REQUEST_NONE);
		post(&story, (struct job_event){.kind = JOB_EV_RESTORED, .claim = rows[i].claim});
		story.view.child_running = true;
		post_kind(&story, JOB_EV_LAUNCHED);
		story.view.directory.running_generation = 1;
		story.view.directory.only_running = true;
		story.view.directory.running_work = rows[i].work;
		post_kind(&story, JOB_EV_CHILD_EXITED);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		newest = &story.model.newest;
		assert_int_equal(newest->step, rows[i].step);
		assert_int_equal(newest->as_of_start, rows[i].as_of_start);
		assert_int_equal(newest->curves_only, rows[i].curves_only);
		stop(&story);
	}
}

/* What a preemption now would lose: from the last write of what is durable, else from the start. */
static void test_how_far_durability_is_behind(void **state)
{
	struct story story;

	(void)state;
	begin(&story, REQUEST_NONE);
	assert_int_equal(job_forecast(&story.model, &story.rules, &story.view).behind_ms, 0);
	stop(&story);
	start(&story, REQUEST_NONE);
	story.view.now_ms += 5000;
	assert_int_equal(job_forecast(&story.model, &story.rules, &story.view).behind_ms, 5000);
	post(&story, (struct job_event){.kind = JOB_EV_COMPLETE,
					.checkpoint = {.generation = 1,
						       .written_ms = story.view.now_ms - 2000}});
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	assert_int_equal(job_forecast(&story.model, &story.rules, &story.view).behind_ms, 2000);
	stop(&story);
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
		/* It had no handler for it, or was asked by another. */
		{SIGTERM, SIGTERM, true, true, true, CHILD_END_CRASHED},
		{SIGTERM, SIGTERM, false, true, true, CHILD_END_CRASHED},
		/* Its way to say that it has saved. */
		{EXITS(42), EXITS(42), true, false, false, CHILD_END_CLEAN},
		{EXITS(42), EXITS(42), false, false, false, CHILD_END_CRASHED},
		{EXITS(255), EXITS(255), false, true, false, CHILD_END_CLEAN},
		{EXITS(255), EXITS(255), false, false, false, CHILD_END_CRASHED},
		{EXITS(143), EXITS(143), false, true, false, CHILD_END_CLEAN},
		{EXITS(138), EXITS(138), true, false, false, CHILD_END_CLEAN},
		{EXITS(138), EXITS(138), false, false, false, CHILD_END_CRASHED},
		{EXITS(9), EXITS(9), true, false, true, CHILD_END_CLEAN},
		{EXITS(1), EXITS(1), true, false, false, CHILD_END_ASKED},
		{EXITS(128), EXITS(128), true, false, false, CHILD_END_ASKED},
		{EXITS(2), EXITS(2), false, true, false, CHILD_END_ASKED},
		{EXITS(130), EXITS(130), true, true, false, CHILD_END_ASKED},
		/* As a shell says it of its child's. */
		{EXITS(139), EXITS(139), true, false, false, CHILD_END_ASKED},
		{EXITS(139), EXITS(139), false, false, false, CHILD_END_CRASHED},
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

/* Its handler has saved, and then raised the signal once more; or something else. */
static void test_the_end_by_a_signal_that_it_handles(void **state)
{
	struct job_rules rules = {.asks_by_sigterm = true};
	struct job_model model = job_model_new(&rules);
	struct child_exit child = {.wait_status = SIGTERM, .mapped_status = SIGTERM};

	(void)state;
	model.asking.sent_ms = 1;
	assert_int_equal(job_child_end(&model, &rules, &child), CHILD_END_ASKED);
	child.wait_status = SIGABRT;
	assert_int_equal(job_child_end(&model, &rules, &child), CHILD_END_ASKED);
	child.wait_status = SIGKILL;
	assert_int_equal(job_child_end(&model, &rules, &child), CHILD_END_CRASHED);
	model.asking.by_flag = true;
	child.wait_status = SIGTERM;
	assert_int_equal(job_child_end(&model, &rules, &child), CHILD_END_CRASHED);
}

/* --- what asks, and what for --- */

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
		story.rules.may_flag = story.view.directory.polled = rows[i].polled;
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
	post_kind(&story, JOB_EV_CANNOT_ASK);
	assert_true(says(&story, SAY_CANNOT_ASK));
	effect = find(&story, JOB_DO_REPLY);
	assert_non_null(effect);
	assert_int_equal(effect->reply, REPLY_FAILED);
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

/* The store had no room for it: what is durable stays known, and each complete checkpoint tries. */
static void test_a_claim_without_room_is_tried_again(void **state)
{
	const struct job_event no_room = {.kind = JOB_EV_CLAIMED,
					  .claim = {.phase = ATTEMPT_UNCLAIMED, .step = -1}};
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	story.model.attempt = ATTEMPT_UNCLAIMED;
	story.model.snapshots.any_durable = true;
	story.view.child_running = true;
	post_kind(&story, JOB_EV_SAVE_STARTED);
	check_done(&story, JOB_DO_CLAIM, true);
	post(&story, no_room);
	post_kind(&story, JOB_EV_SAVE_STARTED);
	check_done(&story, JOB_DO_CLAIM, false);
	for (uint64_t i = 1; i < 3; i++) {
		complete(&story, i, true);
		check_done(&story, JOB_DO_CLAIM, true);
		post(&story, no_room);
		assert_int_equal(story.model.attempt, ATTEMPT_UNCLAIMED);
	}
	assert_true(story.model.snapshots.any_durable);
	stop(&story);
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
		post_kind(&story, JOB_EV_SENDING);
		post_kind(&story, JOB_EV_STOP_CANCELLED);
		story.view.directory.saving = story.view.rank_saving = saving;
		post(&story, notice);
		assert_int_equal(says(&story, SAY_SAVE_IS_USED), saving);
		check_done(&story, JOB_DO_ASK, !saving);
		stop(&story);
	}
}

/* A save that nobody asked for is no answer. */
static void test_a_save_of_its_own_is_not_used(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	story.view.directory.saving = story.view.rank_saving = true;
	announce(&story, 2000000, false);
	assert_false(says(&story, SAY_SAVE_IS_USED));
	check_done(&story, JOB_DO_ASK, true);
	stop(&story);
}

/* What is sent at a notice tells the job to end, and nothing else that is sent. */
static void test_what_tells_the_job_to_end(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	post(&story, (struct job_event){.kind = JOB_EV_CLIENT, .client = &client});
	post_kind(&story, JOB_EV_SENDING);
	assert_false(story.model.facts.told_to_end);
	complete(&story, 1, true);
	announce(&story, 2000000, false);
	assert_false(story.model.facts.told_to_end);
	post_kind(&story, JOB_EV_SENDING);
	assert_true(story.model.facts.told_to_end);
	stop(&story);
}

/* Whoever asks during a save is promised what comes after it. */
static void test_the_next_save_is_asked_for_when_this_one_is_over(void **state)
{
	struct story story;

	(void)state;
	start(&story, REQUEST_SIGNAL);
	asks_twice_during_a_save(&story);
	post_timer(&story, TIMER_SAVE_OVER);
	check_done(&story, JOB_DO_ASK, false);
	end_save(&story, 1);
	check_done(&story, JOB_DO_ASK, false);
	post_timer(&story, TIMER_SAVE_OVER);
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
	post_kind(&story, JOB_EV_SENDING);
	check_reason(&story, false, SAVED_BY_ITSELF);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	check_reason(&story, true, SAVED_ON_REQUEST);
	check_reason(&story, false, SAVED_ON_REQUEST);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	check_reason(&story, true, SAVED_BY_ITSELF);
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	story.view.child_running = false;
	story.view.directory.running_generation = 1;
	post_kind(&story, JOB_EV_CHILD_EXITED);
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
		post_kind(&story, JOB_EV_LAUNCHED);
		assert_int_equal(says(&story, SAY_INTERVAL), rows[i].every_auto);
		if (rows[i].every_auto)
			assert_int_equal(story.model.measured.interval.save_ms, -1);
		if (rows[i].noticed)
			announce(&story, 2000000, false);
		begin_save(&story);
		story.view.directory.saving = false;
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

/* A job that has saved by itself is asked when the interval since then is over. */
static void test_an_interval_begins_with_a_save(void **state)
{
	static const struct {
		bool every_auto, asked;
	} rows[] = {{true, false}, {false, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story;

		start(&story, REQUEST_SIGNAL);
		story.rules.every_auto = rows[i].every_auto;
		story.model.measured.interval.every_ms = 30000;
		story.view.now_ms += 20000;
		complete(&story, 1, false);
		story.view.now_ms += 10000;
		post_timer(&story, TIMER_INTERVAL);
		check_done(&story, JOB_DO_ASK, rows[i].asked);
		assert_int_equal(story.model.due_ms[TIMER_INTERVAL],
				 story.view.now_ms + (rows[i].asked ? 30000 : 20000));
		stop(&story);
	}
}

/* What is durable is known by its step and by the job's own. */
static void test_which_step_is_durable(void **state)
{
	struct checkpoint saved =
		{.generation = 1, .step = 7, .reported_step = 11, .written_ms = 900000};
	struct story story;

	(void)state;
	start(&story, REQUEST_NONE);
	post(&story, (struct job_event){.kind = JOB_EV_COMPLETE, .checkpoint = saved});
	end_snapshot(&story, (struct snapshot_event){.durable = true});
	assert_int_equal(story.model.durable.step, 7);
	assert_int_equal(story.model.durable.reported_step, 11);
	assert_int_equal(story.model.durable.written_ms, 900000);
	stop(&story);
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
		post_timer(&story, TIMER_SNAPSHOT);
		end_snapshot(&story, (struct snapshot_event){.durable = true, .took_ms = 8000});
		assert_int_equal(says(&story, SAY_WINDOW_TOO_SHORT), generation == 1);
	}
	stop(&story);
}

/* Of a gang: a part that is not whole yet is tried again; the store has not failed, and so it does
 * not "work again". */
static void test_what_is_not_whole_is_no_failure_of_the_store(void **state)
{
	struct snapshot_event failed = {.error = ERR_RETRY};
	struct story story;

	(void)state;
	for (int not_whole = 0; not_whole < 2; not_whole++) {
		failed.not_whole = not_whole;
		start(&story, REQUEST_SIGNAL);
		complete(&story, 1, true);
		end_snapshot(&story, failed);
		assert_int_equal(says(&story, SAY_NOT_DURABLE), !not_whole);
		assert_true(not_whole == says(&story, SAY_STILL_FAILING));
		post_timer(&story, TIMER_RETRY);
		check_done(&story, JOB_DO_TAKE_SNAPSHOT, true);
		end_snapshot(&story, (struct snapshot_event){.durable = true});
		assert_int_equal(says(&story, SAY_STORE_WORKS), !not_whole);
		stop(&story);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launched),
		cmocka_unit_test(test_signals_before_the_start),
		cmocka_unit_test(test_signals_are_passed_on),
		cmocka_unit_test(test_sigterm_is_a_notice_even_if_it_was_ignored),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_whoever_writes_is_managed),
		cmocka_unit_test(test_refused_clients),
		cmocka_unit_test(test_a_client_is_served),
		cmocka_unit_test(test_a_client_hears_of_a_failing_store),
		cmocka_unit_test(test_durable_without_the_newest),
		cmocka_unit_test(test_what_waits_has_its_time),
		cmocka_unit_test(test_an_upload_that_falls_behind),
		cmocka_unit_test(test_not_each_of_many_saves_has_its_line),
		cmocka_unit_test(test_a_plan_takes_in_what_is_pending),
		cmocka_unit_test(test_what_was_there_is_saved_at_once),
		cmocka_unit_test(test_less_than_a_checkpoint_is_not_saved),
		cmocka_unit_test(test_when_work_is_at_risk),
		cmocka_unit_test(test_a_store_that_works_again),
		cmocka_unit_test(test_a_late_claim_hurries),
		cmocka_unit_test(test_how_far_durability_is_behind),
		cmocka_unit_test(test_a_claim_saves_what_is_complete),
		cmocka_unit_test(test_a_notice_ends_the_wait_for_a_snapshot),
		cmocka_unit_test(test_what_running_files_are_saved_with),
		cmocka_unit_test(test_how_the_end_is_judged),
		cmocka_unit_test(test_the_end_by_a_signal_that_it_handles),
		cmocka_unit_test(test_when_the_job_is_asking),
		cmocka_unit_test(test_who_may_ask),
		cmocka_unit_test(test_a_job_that_cannot_be_asked),
		cmocka_unit_test(test_an_attempt_is_claimed_by_the_first_write),
		cmocka_unit_test(test_a_claim_without_room_is_tried_again),
		cmocka_unit_test(test_a_save_that_goes_on_is_used),
		cmocka_unit_test(test_a_save_of_its_own_is_not_used),
		cmocka_unit_test(test_what_tells_the_job_to_end),
		cmocka_unit_test(test_the_next_save_is_asked_for_when_this_one_is_over),
		cmocka_unit_test(test_why_a_checkpoint_was_saved),
		cmocka_unit_test(test_a_save_decides_the_interval),
		cmocka_unit_test(test_how_often_it_becomes_durable),
		cmocka_unit_test(test_an_interval_begins_with_a_save),
		cmocka_unit_test(test_which_step_is_durable),
		cmocka_unit_test(test_a_window_that_is_too_short_is_said_once),
		cmocka_unit_test(test_what_is_not_whole_is_no_failure_of_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
