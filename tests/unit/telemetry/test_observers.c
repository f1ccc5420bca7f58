/* What is written of a run, and where: the textfile, and the notes of the attempt in the store. */
#include "telemetry/telemetry.h"

#include "base/clock.h"
#include "base/workers.h"
#include "storage_fixture.h"

static const char *const states[] = {"running", NULL};

/* A run whose parts are as small as they can be. */
struct run {
	struct fixture fixture;
	struct loop loop;
	struct event_log events;
	struct observers observers;
	char textfile[96], log[96];
};

static json_t *tell_status(void *arg)
{
	(void)arg;
	return json_pack("{s:s, s:s, s:{}, s:{}}", "job", "digits", "state", "running", "counters",
			 "labels");
}

/* `notify`: NULL, or a URL. */
static void start(struct run *run, const char *notify)
{
	struct observed_job job = {
		.loop = &run->loop,
		.events = &run->events,
		.name = "digits",
		.states = states,
		.has_store = true,
		.metrics_file = run->textfile,
		.notify = notify,
		.log = run->log,
		.status = tell_status,
		.arg = run,
	};

	*run = (struct run){.events.fd = -1, .observers.cancel.fd = -1};
	fixture_start(&run->fixture);
	snprintf(run->textfile, sizeof(run->textfile), "%s/metrics", run->fixture.root);
	snprintf(run->log, sizeof(run->log), "%s/log", run->fixture.root);
	assert_works(file_replace(run->log, "Traceback", 9, &err));
	assert_works(loop_init(&run->loop, &err));
	assert_works(observers_open(&job, &run->observers, &err));
}

static void stop(struct run *run)
{
	observers_close(&run->observers);
	assert_null(run->events.on_event);
	loop_release(&run->loop);
	fixture_stop(&run->fixture);
}

/* Whether all parts of this kind of note together contain `text`; "": there is no such note. */
static bool note_has(struct run *run, const char *kind, const char *text)
{
	auto_(bytes_release) struct bytes note = {.limit = 1 << 20};

	assert_works(storage_get_notes(run->fixture.storage, run->fixture.attempt.number, kind,
				       &note, NULL, &err));
	if (!text[0])
		return note.size == 0;
	assert_works(bytes_append(&note, "", 1, &err));
	return strstr((const char *)note.data, text) != NULL;
}

static int64_t soon(void)
{
	return clock_monotonic_ms() + 5000;
}

struct look {
	struct timer timer;
	struct run *run;
};

static void look_again(struct timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);

	if (look->run->observers.putting)
		loop_arm(&look->run->loop, timer, clock_monotonic_ms() + 5);
	else
		loop_stop(&look->run->loop);
}

/* The minute is over: what happened until now goes out. */
static void upload(struct run *run)
{
	struct look look = {.timer.fired = look_again, .run = run};

	loop_disarm(&run->loop, &run->observers.timer);
	run->observers.timer.fired(&run->observers.timer);
	assert_true(run->observers.putting && run->observers.timer.armed);
	loop_arm(&run->loop, &look.timer, clock_monotonic_ms());
	assert_works(loop_run(&run->loop, &err));
	run->loop.stopped = false;
}

/* A run that vanishes has said what happened until a minute before. */
static void test_the_event_log_goes_out_again_and_again(void **state)
{
	struct run run;

	(void)state;
	start(&run, NULL);
	observers_set_store(&run.observers, run.fixture.storage, run.fixture.attempt.number);
	for (unsigned part = 1; part <= 2; part++) {
		event_log_add(&run.events, part == 1 ? "launched" : "durable", NULL);
		upload(&run);
		assert_int_equal(run.observers.parts, part);
	}
	assert_true(note_has(&run, "ledger", "\"durable\""));
	stop(&run);
}

/* What the store did not take comes first when it takes something. */
static void test_a_part_that_was_not_taken_is_sent_again(void **state)
{
	struct run run;

	(void)state;
	start(&run, NULL);
	event_log_add(&run.events, "launched", NULL);
	observers_set_store(&run.observers, run.fixture.storage, run.fixture.attempt.number);
	cancel_set_deadline(&run.observers.cancel, clock_monotonic_ms());
	upload(&run);
	assert_int_equal(run.observers.parts, 0);
	event_log_add(&run.events, "ended", NULL);
	observers_record_end(&run.observers, 0, soon());
	assert_int_equal(run.observers.parts, 2);
	assert_true(note_has(&run, "ledger", "\"launched\""));
	assert_true(note_has(&run, "ledger", "\"ended\""));
	stop(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_event_log_goes_out_again_and_again),
		cmocka_unit_test(test_a_part_that_was_not_taken_is_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
