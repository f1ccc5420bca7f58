/* What the model says of a job that has ended, row by row. */
#include "core/core.h"

#include "base/clock.h"

#include "unit.h"

/* A job with a store that has ended, was never asked, and of which all is durable. */
#define ENDED .attempt = ATTEMPT_CLAIMED, .facts.managed = true, .flush.began_ms = 5000

static struct outcome_facts facts_of(struct job_model model, struct job_rules rules,
				     struct job_view view, enum unsaved_work unsaved)
{
	return job_outcome_facts(&model, &rules, &view, unsaved);
}

static void test_answers(void **state)
{
	static const struct {
		struct job_model model;
		int64_t lived_on_ms;
		bool asked, saved, went_on;
	} rows[] = {
		// clang-format off
		{{ENDED}, 0, false, false, false},
		{{ENDED, .asking.sent_ms = 1000}, 0, true, false, false},
		{{ENDED, .asking = {.sent_ms = 1000, .answered = true, .answers = 1, .first_answer_ms = 2000}},
			3000, true, true, false},
		{{ENDED, .asking = {.answers = 1, .first_answer_ms = 4999}}, 1, true, true, false},
		{{ENDED, .asking = {.sent_ms = 1000, .answered = true}}, 0, true, true, false},
		{{ENDED, .asking = {.sent_ms = 1000, .answers = 2, .first_answer_ms = 5000}}, 0, true, true, true},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome_facts facts = facts_of(rows[i].model, (struct job_rules){0},
						      (struct job_view){0}, UNSAVED_NOTHING);

		if (facts.lived_on_ms != rows[i].lived_on_ms || facts.asked != rows[i].asked ||
		    facts.saved != rows[i].saved || facts.went_on != rows[i].went_on)
			fail_msg("row %zu: %lld, %d %d %d", i, (long long)facts.lived_on_ms,
				 facts.asked, facts.saved, facts.went_on);
	}
}

static void test_asked_in_its_own_way(void **state)
{
	static const struct {
		struct job_model model;
		struct job_rules rules;
		bool polled, asked;
	} rows[] = {
		{{ENDED, .asking.sent_ms = 1}, {.ask = REQUEST_SIGNAL}, false, true},
		{{ENDED, .asking.sent_ms = 1}, {.ask = REQUEST_COMMAND}, false, true},
		{{ENDED}, {.ask = REQUEST_SIGNAL}, false, false},
		{{ENDED, .asking = {.sent_ms = 1, .by_flag = true}},
		 {.ask = REQUEST_NONE},
		 false,
		 true},
		/* A SIGTERM that was forwarded. */
		{{ENDED, .asking.sent_ms = 1}, {.ask = REQUEST_AUTO}, false, false},
		{{ENDED, .asking.sent_ms = 1}, {.ask = REQUEST_AUTO, .may_flag = true}, true, true},
		{{ENDED, .asking.sent_ms = 1}, {.ask = REQUEST_NONE}, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome_facts facts =
			facts_of(rows[i].model, rows[i].rules,
				 (struct job_view){.directory = {.polled = rows[i].polled}},
				 UNSAVED_NOTHING);

		if (facts.asked_to_save != rows[i].asked)
			fail_msg("row %zu", i);
	}
	assert_true(
		facts_of((struct job_model){ENDED}, (struct job_rules){.zero_is_finished = true},
			 (struct job_view){0}, UNSAVED_CUT)
			.goes_on);
	assert_false(facts_of((struct job_model){ENDED}, (struct job_rules){0},
			      (struct job_view){0}, UNSAVED_CUT)
			     .goes_on);
}

#define NOTICED ENDED, .facts.noticed = true
#define DURABLE .any_complete = true, .snapshots.any_durable = true

static void test_all_durable(void **state)
{
	enum {
		RANK = 1, /* somebody was asked by a signal */
		OF_GANG = 2,
		OTHERS_SAVE = 4,
		ELSEWHERE = 8
	};
	static const struct {
		const char *name;
		struct job_model model;
		enum request_method ask;
		enum unsaved_work unsaved;
		unsigned so;
		bool durable;
	} rows[] = {
		// clang-format off
		{"nothing was ever saved", {ENDED}, REQUEST_AUTO, UNSAVED_NOTHING, 0, true},
		{"at a notice, nothing was ever saved", {NOTICED}, REQUEST_AUTO, UNSAVED_NOTHING, 0, false},
		{"at a notice", {NOTICED, DURABLE}, REQUEST_AUTO, UNSAVED_NOTHING, 0, true},
		{"at a notice, complete but not durable", {NOTICED, .any_complete = true}, REQUEST_AUTO,
			UNSAVED_NOTHING, 0, false},
		{"a snapshot waits", {NOTICED, DURABLE, .newest.generation = 2}, REQUEST_AUTO, UNSAVED_NOTHING,
			0, false},
		{"not claimed", {.facts.managed = true, .attempt = ATTEMPT_UNCLAIMED}, REQUEST_AUTO, UNSAVED_NOTHING,
			0, false},
		{"without a store", {.attempt = ATTEMPT_NONE}, REQUEST_AUTO, UNSAVED_NOTHING, 0, true},
		{"at a notice, without a store, nothing was ever saved",
			{.attempt = ATTEMPT_NONE, .facts.noticed = true}, REQUEST_AUTO, UNSAVED_NOTHING, 0, false},
		{"asked in vain", {NOTICED, DURABLE, .asking.sent_ms = 1}, REQUEST_SIGNAL, UNSAVED_NOTHING, 0, false},
		{"asked, and answered", {NOTICED, DURABLE, .asking = {.sent_ms = 1, .answered = true}},
			REQUEST_SIGNAL, UNSAVED_NOTHING, 0, true},
		{"asked in vain, without a notice", {ENDED, DURABLE, .asking.sent_ms = 1}, REQUEST_SIGNAL,
			UNSAVED_NOTHING, 0, true},
		{"a SIGTERM that nobody took for a request", {NOTICED, DURABLE, .asking.sent_ms = 1},
			REQUEST_AUTO, UNSAVED_NOTHING, RANK, true},
		{"a SIGTERM, and a save that is torn", {NOTICED, DURABLE, .asking.sent_ms = 1},
			REQUEST_AUTO, UNSAVED_CUT, RANK, false},
		{"torn, but nobody got the SIGTERM", {NOTICED, DURABLE, .asking.sent_ms = 1},
			REQUEST_AUTO, UNSAVED_CUT, 0, true},
		{"the first save since the start is cut: what it started from is durable",
			{NOTICED, .snapshots.any_durable = true}, REQUEST_AUTO, UNSAVED_CUT, 0, true},
		{"the first save of all is cut", {NOTICED}, REQUEST_AUTO, UNSAVED_CUT, 0, false},
		{"the first save since the start is cut, and was asked for",
			{NOTICED, .snapshots.any_durable = true, .asking.sent_ms = 1}, REQUEST_SIGNAL,
			UNSAVED_CUT, 0, false},
		{"... and it went on after others", {NOTICED, .snapshots.any_durable = true},
			REQUEST_AUTO, UNSAVED_SAVES, 0, false},
		{"curves alone", {NOTICED, .snapshots.any_durable = true, .newest.curves_only = true},
			REQUEST_AUTO, UNSAVED_NOTHING, 0, false},
		{"curves beside a checkpoint", {NOTICED, DURABLE, .newest.curves_only = true},
			REQUEST_AUTO, UNSAVED_NOTHING, 0, true},
		{"it went on after a save that was not complete", {NOTICED, DURABLE}, REQUEST_AUTO,
			UNSAVED_SAVES, 0, false},
		{"cut by the end, of a job that cannot be asked", {NOTICED, DURABLE}, REQUEST_NONE,
			UNSAVED_CUT, 0, true},
		{"asked, answered, and it went on after one that was not complete",
			{NOTICED, DURABLE, .asking = {.sent_ms = 1, .answered = true}},
			REQUEST_SIGNAL, UNSAVED_SAVES, 0, false},
		{"asked, answered, and the next one was cut",
			{NOTICED, DURABLE, .asking = {.sent_ms = 1, .answered = true}},
			REQUEST_SIGNAL, UNSAVED_CUT, 0, true},
		{"a job that has ended by itself is started again for them", {ENDED, DURABLE},
			REQUEST_AUTO, UNSAVED_SAVES, 0, true},
		{"it left because it was asked, maybe",
			{ENDED, DURABLE, .asking = {.sent_ms = 1, .answered = true, .answers = 1,
				.first_answer_ms = 4000}},
			REQUEST_SIGNAL, UNSAVED_SAVES, 0, false},
		/* Where rank 0 saves for all, a job elsewhere saves nothing, and that is as it should be; but what it
		 * has of its own is no checkpoint of all. */
		{"others save for it", {NOTICED}, REQUEST_AUTO, UNSAVED_NOTHING, OTHERS_SAVE, true},
		{"... and it was asked", {NOTICED, .asking = {.sent_ms = 1000, .by_flag = true}}, REQUEST_AUTO,
			UNSAVED_NOTHING, OTHERS_SAVE, true},
		{"nobody does", {NOTICED, .asking = {.sent_ms = 1000, .by_flag = true}}, REQUEST_AUTO, UNSAVED_NOTHING,
			0, false},
		{"others save, and it has files", {NOTICED}, REQUEST_AUTO, UNSAVED_SAVES, OTHERS_SAVE, false},
		/* What was restored is durable, and older than what the job has saved elsewhere. */
		{"restored", {NOTICED, .snapshots.any_durable = true}, REQUEST_AUTO, UNSAVED_NOTHING, 0, true},
		{"... and saves elsewhere", {NOTICED, .snapshots.any_durable = true}, REQUEST_AUTO, UNSAVED_NOTHING, ELSEWHERE, false},
		{"found one here, and saves elsewhere", {NOTICED, DURABLE}, REQUEST_AUTO, UNSAVED_NOTHING, ELSEWHERE, false},
		{"saves elsewhere, and others save for it", {NOTICED, .snapshots.any_durable = true}, REQUEST_AUTO,
			UNSAVED_NOTHING, OTHERS_SAVE | ELSEWHERE, true},
		{"saves elsewhere, and has ended by itself", {ENDED, .snapshots.any_durable = true}, REQUEST_AUTO,
			UNSAVED_NOTHING, ELSEWHERE, true},
		/* Whether the job of a member answers hangs on the jobs of all: what it has saved counts. */
		{"a member, asked in vain", {NOTICED, DURABLE, .asking.sent_ms = 1}, REQUEST_SIGNAL, UNSAVED_NOTHING,
			RANK | OF_GANG, true},
		{"... with a save that is cut", {NOTICED, DURABLE, .asking.sent_ms = 1}, REQUEST_SIGNAL, UNSAVED_CUT,
			RANK | OF_GANG, true},
		{"... with one that waits", {NOTICED, DURABLE, .asking.sent_ms = 1, .newest.generation = 2},
			REQUEST_SIGNAL, UNSAVED_NOTHING, RANK | OF_GANG, false},
		{"... that went on after one", {NOTICED, DURABLE, .asking.sent_ms = 1}, REQUEST_SIGNAL, UNSAVED_SAVES,
			RANK | OF_GANG, false},
		{"... that has saved nothing", {NOTICED, .asking.sent_ms = 1}, REQUEST_SIGNAL, UNSAVED_NOTHING,
			RANK | OF_GANG, false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct job_rules rules = {.ask = rows[i].ask,
						.of_gang = rows[i].so & OF_GANG};
		const struct job_view view = {.any_rank = rows[i].so & RANK,
					      .gang_has_saved = rows[i].so & OTHERS_SAVE,
					      .saves_elsewhere = rows[i].so & ELSEWHERE};
		struct outcome_facts facts = facts_of(rows[i].model, rules, view, rows[i].unsaved);

		if (facts.all_durable != rows[i].durable)
			fail_msg("%s: %d", rows[i].name, facts.all_durable);
	}
}

/* Another member has committed it, and this one was told to end before it knew. */
static void test_a_commit_that_is_known_late(void **state)
{
	struct job_model model = {
		NOTICED,
		DURABLE,
		.newest = {.generation = 2, .step = 20, .written_ms = 700, .reported_step = 21},
		.snapshots.durable_generation = 1,
	};

	(void)state;
	assert_true(job_has_pending(&model));
	job_note_late_commit(&model);
	assert_false(job_has_pending(&model));
	assert_true(facts_of(model, (struct job_rules){.of_gang = true}, (struct job_view){0},
			     UNSAVED_NOTHING)
			    .all_durable);
	assert_true(model.durable.step == 20 && model.durable.written_ms == 700 &&
		    model.durable.reported_step == 21);
}

/* ... with an earlier part of this member: that counts only if it answers what all end by. */
static void test_an_answer_that_is_known_at_the_end(void **state)
{
	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		struct job_model model = {
			NOTICED,
			DURABLE,
			.newest = {.generation = 2, .step = 20},
			.snapshots.durable_generation = 1,
		};

		if (answers)
			job_note_late_answer(&model);
		assert_int_equal(facts_of(model, (struct job_rules){.of_gang = true},
					  (struct job_view){0}, UNSAVED_NOTHING)
					 .all_durable,
				 answers);
	}
}

/* How long the store may take to say so: what time is left, and not a time of its own. */
static void test_how_long_that_is_asked(void **state)
{
	static const struct {
		int64_t end_ms, flush_ms;
		bool given_up;
		int64_t until_ms;
	} rows[] = {
		{CLOCK_NEVER, 60000, false, 11000}, {CLOCK_NEVER, 5000, false, 6000},
		{CLOCK_NEVER, 60000, true, 3000},   {CLOCK_NEVER, 1000, true, 2000},
		{121000, 60000, false, 61000},      {121000, 60000, true, 61000},
		{3000, 60000, false, 2000},         {1000, 60000, false, 1000},
		{500, 60000, false, 1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_model model = {.flush.given_up = rows[i].given_up};
		struct job_rules rules = {.flush_ms = rows[i].flush_ms};

		if (job_last_look_ms(&model, &rules, 1000, rows[i].end_ms) != rows[i].until_ms)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_asked_in_its_own_way),
		cmocka_unit_test(test_all_durable),
		cmocka_unit_test(test_a_commit_that_is_known_late),
		cmocka_unit_test(test_an_answer_that_is_known_at_the_end),
		cmocka_unit_test(test_how_long_that_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
