/* What `reprieve status` tells, and the line that a person sees while something is under way. */
#include "told.h"

#include "base/json.h"
#include "monitor/monitor.h"

/* What is not known is not there. */
static void test_a_run_that_has_not_begun(void **state)
{
	static const char *const absent[] = {"loss",   "plan", "training",    "notice",
					     "saving", "gang", "newest_step", "rank_progress"};
	auto_json json_t *status = NULL;
	struct told_run run;

	(void)state;
	told_start(&run);
	run.model.attempt = ATTEMPT_CLAIMED;
	status = status_report(&run.reports, LOOK_AT_PROCESSES, NULL);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_null(json_object_get(status, absent[i]));
	assert_string_equal(json_text_or(status, "state", ""), "restoring");
	assert_true(json_is_null(json_object_get(status, "durable")));
	told_stop(&run);
}

static void test_a_run_under_way(void **state)
{
	struct training_progress training = {.step = 7, .mean_ms = 250};
	struct notice stop = {.kind = NOTICE_STOP, .source = "aws", .deadline_ms = CLOCK_NEVER};
	int64_t before = clock_monotonic_ms();
	auto_json json_t *status = NULL;
	struct told_run run;

	(void)state;
	told_start(&run);
	run.model.state = JOB_RUNNING;
	run.model.launched_ms = 1;
	run.model.any_complete = true;
	run.model.newest = (struct checkpoint){.step = 6, .completed_ms = 1};
	run.model.attempt = ATTEMPT_CLAIMED;
	run.facts.view.child_running = run.facts.view.uploading = true;
	run.facts.view.bytes_done = 10;
	run.facts.view.bytes_total = 40;
	run.facts.stop = &stop;
	status = status_report(&run.reports, LOOK_AT_PROCESSES, &training);
	assert_non_null(strstr(json_text_or(status, "loss", ""), "a preemption now would lose "));
	assert_non_null(strstr(json_text_or(status, "plan", ""),
			       "plan: nothing is durable, and the job cannot be asked for"));
	assert_int_equal(json_number_or(json_object_get(status, "training"), "step", 0), 7);
	assert_int_equal(json_number_or(json_object_get(status, "saving"), "bytes_total", 0), 40);
	assert_int_equal(json_number_or(status, "newest_step", 0), 6);
	assert_true(json_real_value(json_object_get(status, "newest_seconds")) >=
		    (double)(before - 1) / 1000);
	assert_string_equal(json_text_or(json_object_get(status, "notice"), "source", ""), "aws");
	json_decref(steal(&status));
	run.facts.view.has_target = true;
	status = status_report(&run.reports, LOOK_AT_PROCESSES, &training);
	assert_null(strstr(json_text_or(status, "plan", ""), "cannot be asked"));
	assert_null(json_object_get(status, "superseded"));
	json_decref(steal(&status));
	/* Then nothing that it saves is made durable, and no plan holds. */
	run.model.snapshots.superseded = true;
	status = status_report(&run.reports, LOOK_AT_PROCESSES, &training);
	assert_true(json_is_true(json_object_get(status, "superseded")));
	assert_null(json_object_get(status, "plan"));
	assert_null(json_object_get(status, "loss"));
	told_stop(&run);
}

/* --- the display --- */

/* Something is looked at while a notice stands, or an upload is under way, and never after the end
 * of the loop. */
static void test_when_the_display_looks(void **state)
{
	static const struct {
		bool launched, stands, stopped, looks;
		int64_t began_ms;
	} rows[] = {
		{true, false, false, false, 0}, {true, true, false, true, 0},
		{true, false, false, true, 5},  {false, true, false, false, 0},
		{true, true, true, false, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct told_run run;
		struct err err;

		told_start(&run);
		assert_int_equal(loop_init(&run.loop, &err), 0);
		run.loop.stopped = rows[i].stopped;
		run.model.state = JOB_RUNNING;
		run.model.facts.launched = rows[i].launched;
		run.model.stop.stands = rows[i].stands;
		display_follow(&run.reports, &run.model, rows[i].began_ms);
		assert_int_equal(run.reports.display.timer.armed, rows[i].looks);
		run.reports.display.upload_ms = run.reports.display.said_ms = 1;
		run.loop.stopped = true;
		display_follow(&run.reports, &run.model, rows[i].began_ms);
		assert_false(run.reports.display.timer.armed);
		assert_int_equal(run.reports.display.upload_ms + run.reports.display.said_ms, 0);
		display_end(&run.reports);
		assert_false(run.reports.display.timer.armed);
		loop_release(&run.loop);
		told_stop(&run);
	}
}

static void look_once(struct told_run *run)
{
	display_follow(&run->reports, &run->model, run->facts.view.upload_began_ms);
	run->reports.display.timer.fired(&run->reports.display.timer);
}

/* The time that a notice leaves: the notice itself has just been logged, and so has a later
 * deadline. */
static void test_a_countdown_is_logged_now_and_then(void **state)
{
	static const struct {
		int64_t left_ms;
		enum job_state state;
		bool asked, saving;
		const char *says;
	} rows[] = {
		{300000, JOB_CHECKPOINTING, true, false, ""},
		{299000, JOB_CHECKPOINTING, true, false, ""},
		{20500, JOB_CHECKPOINTING, true, false, "waiting for the job to save"},
		{20400, JOB_CHECKPOINTING, true, false, ""},
		{300000, JOB_CHECKPOINTING, false, false, ""},
		{20500, JOB_CHECKPOINTING, false, false, "the job trains on"},
		{300000, JOB_CHECKPOINTING, false, true, ""},
		{20500, JOB_CHECKPOINTING, false, true, "the job is saving"},
		{300000, JOB_STOPPING, true, true, ""},
		{20500, JOB_STOPPING, true, true, "the job is ending"},
	};
	struct told_run run;
	struct err err;

	(void)state;
	told_start(&run);
	assert_int_equal(loop_init(&run.loop, &err), 0);
	run.model.facts.launched = run.model.stop.stands = run.facts.view.child_running = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *log;

		run.model.state = rows[i].state;
		run.model.asking.sent_ms = rows[i].asked;
		run.facts.view.directory.saving = rows[i].saving;
		run.model.stop.deadline_ms = clock_monotonic_ms() + rows[i].left_ms;
		log = HEARD(look_once(&run));
		if (rows[i].says[0] ? !strstr(log, rows[i].says) : log[0] != '\0')
			fail_msg("row %zu: %s", i, log);
	}
	display_end(&run.reports);
	loop_release(&run.loop);
	told_stop(&run);
}

/* --- where it saves --- */

/* After a minute it is said that nothing was saved, unless something is under way. */
static void test_nothing_was_saved_for_a_minute(void **state)
{
	static const struct {
		enum job_state state;
		int64_t ran_ms;
		const char *said;
	} rows[] = {
		{JOB_RUNNING, SAVE_PLACE_PATIENCE_MS, "saves_nothing "},
		{JOB_RUNNING, SAVE_PLACE_PATIENCE_MS - 1, ""},
		{JOB_CHECKPOINTING, SAVE_PLACE_PATIENCE_MS, ""},
		{JOB_STOPPING, SAVE_PLACE_PATIENCE_MS, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct told_run run;
		struct err err;

		told_start(&run);
		assert_int_equal(loop_init(&run.loop, &err), 0);
		run.facts.expected = true;
		run.model.state = rows[i].state;
		run.model.launched_ms = 1000;
		run.facts.view.now_ms = 1000 + rows[i].ran_ms;
		save_place_expect(&run.reports);
		assert_true(run.reports.save_place.timer.armed);
		HEARD(run.reports.save_place.timer.fired(&run.reports.save_place.timer));
		assert_string_equal(run.said, rows[i].said);
		loop_release(&run.loop);
		told_stop(&run);
	}
}

static void test_what_is_saved_elsewhere_is_said_at_once_and_once(void **state)
{
	struct told_run run;
	struct err err;

	(void)state;
	told_start(&run);
	assert_non_null(strstr(HEARD(save_place_note_elsewhere(&run.reports, "/other/a.pt")),
			       "saves a.pt in /other, and nothing in /checkpoints"));
	assert_string_equal(run.said, "saves_elsewhere ");
	assert_string_equal(HEARD(save_place_note_elsewhere(&run.reports, "/b.pt")), "");
	assert_int_equal(loop_init(&run.loop, &err), 0);
	run.model.state = JOB_RUNNING;
	save_place_expect(&run.reports);
	assert_string_equal(HEARD(run.reports.save_place.timer.fired(
				    &run.reports.save_place.timer)),
			    "");
	/* In the end again. */
	run.model.flush.began_ms = 1;
	assert_string_not_equal(HEARD(save_place_say_at_end(&run.reports, &run.facts, false)), "");
	loop_release(&run.loop);
	told_stop(&run);
	/* One that goes on from a snapshot: a checkpoint that follows is named, and not the file
	 * before it. */
	told_start(&run);
	run.facts.fresh = false;
	assert_string_equal(HEARD(save_place_note_elsewhere(&run.reports, "/cache/data.pt")), "");
	assert_false(save_place_is_elsewhere(&run.reports));
	assert_non_null(strstr(HEARD(save_place_note_elsewhere(&run.reports, "/out/step-3.pt")),
			       "saves step-3.pt in /out, and nothing in /checkpoints"));
	assert_true(save_place_is_elsewhere(&run.reports));
	assert_true(save_place_note_write(&run.reports, "a.pt"));
	assert_false(save_place_is_elsewhere(&run.reports));
	told_stop(&run);
	told_start(&run);
	assert_false(save_place_note_write(&run.reports, ".reprieve/lock"));
	assert_true(save_place_note_write(&run.reports, "a.pt"));
	assert_string_equal(HEARD(save_place_note_elsewhere(&run.reports, "/b.pt")), "");
	told_stop(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_run_that_has_not_begun),
		cmocka_unit_test(test_a_run_under_way),
		cmocka_unit_test(test_when_the_display_looks),
		cmocka_unit_test(test_a_countdown_is_logged_now_and_then),
		cmocka_unit_test(test_nothing_was_saved_for_a_minute),
		cmocka_unit_test(test_what_is_saved_elsewhere_is_said_at_once_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
