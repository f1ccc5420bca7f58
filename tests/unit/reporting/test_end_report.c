/* What is said at the end of a run: how it has ended, what is durable, and what is lost. */
#include "told.h"

#include "base/json.h"

#include <signal.h>

static const struct torn_files none,
	one = {.first = (char *)"last.pt", .why = "its writer was killed", .count = 1},
	torn = {.first = (char *)"last.pt", .why = "its writer was killed", .count = 3};

enum { /* what differs from a job that was launched and saved */
	NOTICED = 1,
	NOT_ALL_DURABLE = 2,
	NOTHING_DURABLE = 4,
	TORN = 8,
	EMPTY = 16,
	LACKS_NEWEST = 32,
	GIVEN_UP = 64,
	LOST = 256,
	PENDING = 512,
	ONE_TORN = 1024,
	FIXED_NAMES = 4096,
	STEP_ZERO = 8192,
	NUMBER_IS_HELD = 16384,
	STORE_IS_FULL = 32768,
	NO_STORE = 65536,
	OF_SIGNAL = 524288,
	UNMANAGED = 1048576,
	GOES_BACK = 2097152,
};

static const struct {
	enum outcome_kind kind;
	unsigned so;
	const char *says; /* among the lines; "": there is none */
} rows[] = {
	/* What is durable at a normal end too; of what saves nothing there is nothing to say. */
	{OUTCOME_FINISHED, 0,
	 "the job ended with 0; durable: 000003-000012 (step 40, 3.0 s before the end), in "
	 "file:///store\n"},
	{OUTCOME_FINISHED, NOTHING_DURABLE, ""},
	{OUTCOME_FINISHED, UNMANAGED, ""},
	/* It is said once what survives, if anything does. */
	{OUTCOME_FAILED, 0,
	 "the job has failed; durable: 000003-000012 (step 40, 3.0 s before the end). Run the same "
	 "command again to continue from there (exit 3)\n"},
	{OUTCOME_FAILED, OF_SIGNAL,
	 "the job was ended by a signal; durable: 000003-000012 (step 40, "},
	{OUTCOME_STOPPED, OF_SIGNAL,
	 "the job was ended by a signal; durable: 000003-000012 (step 40, "},
	{OUTCOME_FAILED, NOTHING_DURABLE, ""},
	{OUTCOME_PREEMPTED, NOTICED, "preempted; durable: 000003-000012 (step 40, "},
	{OUTCOME_PREEMPTED, NOTICED | NOTHING_DURABLE,
	 "preempted; durable: nothing. Run the same command again: it starts from the beginning "
	 "(exit 3)\n"},
	/* The same command is not what continues. */
	{OUTCOME_PREEMPTED, NOTICED | GOES_BACK,
	 "before the end). Run the command without --restore to continue from there; with it, "
	 "another start goes back again (exit 3)\n"},
	/* One that saves nothing and is told to end, as long as it is no user's Ctrl-C. */
	{OUTCOME_STOPPED, NOTICED | NOTHING_DURABLE | UNMANAGED,
	 "the job was told to end before it had saved: nothing was written to /checkpoints (if "
	 "elsewhere: --checkpoint-dir) (exit 3)\n"},
	{OUTCOME_STOPPED, NOTHING_DURABLE | UNMANAGED, ""},
	{OUTCOME_FINISHED, NOTICED | NOTHING_DURABLE | UNMANAGED, ""},
	{OUTCOME_PREEMPTED, 0, "soon after it was asked for a checkpoint"},
	{OUTCOME_FINISHED, TORN,
	 "last.pt and 2 more in /checkpoints are in no snapshot (of the first: its writer was "
	 "killed); the next start there may move them aside\n"},
	{OUTCOME_FINISHED, ONE_TORN,
	 "last.pt in /checkpoints is in no snapshot (its writer was killed); the next start there "
	 "may move it aside\n"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | PENDING,
	 ". Its newest checkpoint (step 50) lies in /checkpoints: the same command goes on"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | PENDING,
	 "and `reprieve save /checkpoints --job digits --store file:///store` makes it durable\n"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | NOTHING_DURABLE | PENDING | NO_STORE,
	 "the same command goes on from it there\n"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | TORN, "but last.pt in /checkpoints is NOT durable;"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | GIVEN_UP,
	 "nothing more became durable within 1 min 30 s (--flush-time)"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | LACKS_NEWEST | PENDING,
	 "preempted, and the newest work is NOT durable; durable: 0000"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | NOTHING_DURABLE | EMPTY,
	 "the job has not saved yet: nothing was written to /checkpoints (exit 3)"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | NOTHING_DURABLE | LACKS_NEWEST,
	 "is NOT durable: its files were written again before a snapshot held them"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | LACKS_NEWEST | PENDING | FIXED_NAMES,
	 "is NOT durable: its files were written again before a snapshot held them"},
	/* What the store has said stands in the last line too, while it fails. */
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | PENDING | STORE_IS_FULL,
	 "work is NOT durable: No space left on device; durable: 0000"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | PENDING | STORE_IS_FULL | GIVEN_UP,
	 "(--flush-time): No space left on device; durable: 0000"},
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | PENDING, "work is NOT durable; durable:"},
	/* The newest number is durable, and what was written over is not. */
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | LACKS_NEWEST | PENDING | NUMBER_IS_HELD,
	 "newest work is NOT durable: its files were written again before a snapshot held them"},
	{OUTCOME_FINISHED, NOT_ALL_DURABLE | LACKS_NEWEST | PENDING | NUMBER_IS_HELD,
	 "but what it wrote last under fixed names in /checkpoints is NOT durable: its files"},
	/* Numbered names are not written over. */
	{OUTCOME_NOT_DURABLE, NOTICED | NOT_ALL_DURABLE | LACKS_NEWEST | PENDING | STEP_ZERO,
	 "is NOT durable; durable: 0000"},
	{OUTCOME_FAILED, NOT_ALL_DURABLE | LACKS_NEWEST | PENDING | NUMBER_IS_HELD | TORN,
	 "what it wrote last under fixed names in /checkpoints is NOT durable: its last save was "
	 "cut off; durable: 000003-000012 (step 50, 3.0 s before the end) (exit 3)\n"},
	{OUTCOME_NOT_DURABLE, 0,
	 "but --strict turns the failure above into an error; durable: 0000"},
	{OUTCOME_NOT_DURABLE, LOST, "parts make no whole: it is NOT durable; durable: 0000"},
};

static void start(struct told_run *run, unsigned so)
{
	struct job_model *model = &run->model;

	told_start(run);
	model->facts.launched = true;
	model->facts.managed = !(so & UNMANAGED);
	model->facts.noticed = so & NOTICED;
	model->facts.all_durable = !(so & NOT_ALL_DURABLE);
	model->flush.given_up = so & GIVEN_UP;
	model->gang.lost = so & LOST;
	model->snapshots.failing = so & STORE_IS_FULL;
	err_set(&run->reports.store_failure, ERR_NO_SPACE, "No space left on device");
	model->facts.wait_status = so & OF_SIGNAL ? SIGKILL : 0;
	model->launched_ms = 1000;
	model->flush.began_ms = 61000;
	model->durable.written_ms = 58000;
	model->durable.step = so & NUMBER_IS_HELD ? 50 : 40;
	run->facts.goes_back = so & GOES_BACK;
	run->rules.flush_ms = 90000;
	run->model.attempt = ATTEMPT_CLAIMED;
	run->facts.store = so & NO_STORE ? NULL : "file:///store";
	run->facts.durable =
		so & NOTHING_DURABLE ? (struct snapshot_id){0} : (struct snapshot_id){3, 12};
	run->reports.save_place.saved_here = true;
	if (so & PENDING) {
		model->any_complete = true;
		model->newest = (struct checkpoint){
			.generation = 2,
			.step = so & FIXED_NAMES ? -1
				: so & STEP_ZERO ? 0
						 : 50,
		};
		model->snapshots.durable_generation = 1;
	}
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned so = rows[i].so;
		struct end_facts end = {
			.outcome = {rows[i].kind, 3},
			.torn = so & TORN       ? &torn
				: so & ONE_TORN ? &one
						: &none,
			.lacks_newest = so & LACKS_NEWEST,
			.directory_is_empty = so & EMPTY,
		};
		struct told_run run;
		const char *log;

		start(&run, so);
		log = HEARD(report_end(&run.reports, &run.facts, &end));
		if (rows[i].says[0] ? !strstr(log, rows[i].says) : log[0] != '\0')
			fail_msg("row %zu says: %s", i, log);
		assert_string_equal(run.said, "ended ");
		assert_int_equal(json_is_null(json_object_get(run.line, "durable")),
				 (so & NOTHING_DURABLE) != 0);
		told_stop(&run);
	}
}

/* What of the work is lost, in the steps that the job reports, or that names bear; -1: none. */
static void test_which_steps_are_lost(void **state)
{
	static const struct {
		int64_t step, reported, last, newest;
		const char *says;
	} cases[] = {
		{160, 162, 175, -1, "(step 160, 3.0 s before the end; 15 steps later are lost)"},
		{160, 160, 161, -1, "(step 160, 3.0 s before the end; 1 step later is lost)"},
		{161, 160, 160, -1, "(step 161, 3.0 s before the end; no step is lost)"},
		{0, 0, 4, -1, "; 4 steps later are lost)"},
		/* The name counts epochs, or has no step. */
		{3, 1600, 1700, -1, "(step 3, 3.0 s before the end; 100 steps later are lost)"},
		{-1, 1600, 1700, -1, "(3.0 s before the end; 100 steps later are lost)"},
		/* The newest is not durable, and lies on this machine. */
		{160, -1, -1, 180, "; 20 steps later are not durable)"},
		{160, 160, 185, 180, "; 25 steps later are not durable)"},
		/* Nothing is reported, or not yet. */
		{160, -1, -1, -1, "(step 160, 3.0 s before the end)"},
		{160, -1, 1700, -1, "(step 160, 3.0 s before the end)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool pending = cases[i].newest >= 0;
		struct end_facts end = {.outcome = {OUTCOME_FAILED, 1}, .torn = &none};
		struct told_run run;
		const char *log;

		start(&run, pending ? PENDING | NOT_ALL_DURABLE : 0);
		run.model.newest.step = cases[i].newest;
		run.model.durable.step = cases[i].step;
		run.model.durable.reported_step = cases[i].reported;
		run.facts.view.directory.reported_step = cases[i].last;
		log = HEARD(report_end(&run.reports, &run.facts, &end));
		if (!strstr(log, cases[i].says))
			fail_msg("case %zu: %s", i, log);
		told_stop(&run);
	}
}

/* Where it has saved instead is said once at the end, and what helps is nothing that is refused. */
static void test_what_was_saved_elsewhere(void **state)
{
	static const struct {
		enum outcome_kind kind;
		bool said, empty, durable;
		const char *place, *line, *not_in_it;
	} cases[] = {
		{OUTCOME_FINISHED, true, true, false, "/out/step-5.pt",
		 "nothing of this run is durable: the job has saved in /out, and nothing in "
		 "/checkpoints, which is watched (--checkpoint-dir /out)\n",
		 "step-5.pt"},
		{OUTCOME_NOT_DURABLE, true, false, false, "/out/step-5.pt",
		 "nothing of this run is durable: the job has saved in /out", "set --checkpoint"},
		{OUTCOME_NOT_DURABLE, true, true, false, "/out/step-5.pt",
		 "the job has saved elsewhere, as /out/step-5.pt: nothing was written to "
		 "/checkpoints (exit 0)\n",
		 "nothing of this run"},
		/* The last line names what is durable, as what it started from. */
		{OUTCOME_FINISHED, true, false, true, "/out/step-5.pt",
		 "nothing new is durable: the job has saved in /out, and nothing in /checkpoints",
		 "nothing of this run"},
	};
	char *command[] = {(char[]){"true"}, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct end_facts end = {.outcome = {cases[i].kind, 0},
					.torn = &none,
					.directory_is_empty = cases[i].empty};
		struct told_run run;
		const char *log;

		start(&run, cases[i].durable ? 0 : NOTICED | NOTHING_DURABLE);
		run.facts.command = command;
		run.reports.save_place.saved_here = false;
		run.reports.save_place.said_elsewhere = cases[i].said;
		run.reports.save_place.checkpoints_elsewhere = true;
		run.reports.save_place.elsewhere = text_copy(cases[i].place);
		log = HEARD(report_end(&run.reports, &run.facts, &end));
		if (!strstr(log, cases[i].line) || strstr(log, cases[i].not_in_it))
			fail_msg("case %zu: %s", i, log);
		told_stop(&run);
	}
}

/* Launched at 1 s, written at 58 s, exited at 61 s. */
static void test_what_is_counted_as_lost(void **state)
{
	enum {
		LEAVES = 1,
		ENDS_WHEN_ASKED = 2,
		STOPPED_BY_HAND = 4,
		KILLED = 8,
		ANSWERED = 16,
		NO_STEP = 32
	};
	static const struct {
		enum outcome_kind kind;
		unsigned so;
		int64_t asked_ms, told_ms;
		double lost;
	} cases[] = {
		/* asked, saved, told as soon as that was seen */
		{OUTCOME_PREEMPTED, ANSWERED, 57000, 58500, 0.5},
		{OUTCOME_PREEMPTED, ANSWERED | NO_STEP, 57000, 58500, 0},
		{OUTCOME_PREEMPTED, ANSWERED | LEAVES | ENDS_WHEN_ASKED, 57000, 58500, 0},
		/* it left by itself when it was asked */
		{OUTCOME_PREEMPTED, ANSWERED | LEAVES, 57000, 0, 0},
		{OUTCOME_NOT_DURABLE, 0, 59000, 59000, 1},
		{OUTCOME_NOT_DURABLE, KILLED, 59000, 59000, 3},
		{OUTCOME_PREEMPTED, KILLED | ANSWERED, 57000, 57000, 0},
		{OUTCOME_PREEMPTED, KILLED | ANSWERED, 57000, 58500, 3},
		{OUTCOME_STOPPED, STOPPED_BY_HAND, 0, 60000, 2},
		/* a Ctrl-C that did not end it */
		{OUTCOME_FAILED, 0, 0, 60000, 3},
		/* asked for some other reason, and then crashed */
		{OUTCOME_FAILED, ANSWERED | LEAVES, 57000, 0, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct end_facts end = {.outcome = {cases[i].kind, 1}, .torn = &none};
		unsigned so = cases[i].so;
		struct told_run run;

		start(&run, 0);
		run.rules.ends_when_asked = so & ENDS_WHEN_ASKED;
		run.model.asking.sent_ms = cases[i].asked_ms;
		run.model.asking.answered = so & ANSWERED;
		run.model.told_ms = cases[i].told_ms;
		run.model.killed = so & KILLED;
		run.model.facts.asked = so & LEAVES;
		run.model.facts.wait_status = so & STOPPED_BY_HAND ? SIGINT : 1 << 8;
		run.model.durable.reported_step = so & NO_STEP ? 40 : -1;
		run.facts.view.directory.reported_step = so & NO_STEP ? 40 : -1;
		HEARD(report_end(&run.reports, &run.facts, &end));
		if (json_number_value(json_object_get(run.line, "lost")) != cases[i].lost ||
		    json_number_value(json_object_get(run.line, "kept")) != 57)
			fail_msg("case %zu: lost %g", i,
				 json_number_value(json_object_get(run.line, "lost")));
		told_stop(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_which_steps_are_lost),
		cmocka_unit_test(test_what_was_saved_elsewhere),
		cmocka_unit_test(test_what_is_counted_as_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
