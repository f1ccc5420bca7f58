#include "drill/verdict.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static bool add(struct run_events *events, const char *line)
{
	return event_log_reader_add(events, line, strlen(line));
}

static void check_id(struct snapshot_id id, uint32_t attempt, uint32_t sequence)
{
	assert_int_equal(id.attempt, attempt);
	assert_int_equal(id.sequence, sequence);
}

static void reads_a_whole_story(void **state)
{
	struct run_events events;

	(void)state;
	event_log_reader_init(&events);
	assert_true(add(&events, "{\"event\":\"started\",\"monotonic_ms\":1,\"job\":\"j\","
				 "\"attempt\":2}\n"));
	assert_string_equal(events.said, "");
	add(&events, "{\"event\":\"claimed\",\"monotonic_ms\":2,\"attempt\":2,\"start\":\"000001-"
		     "000004\"}");
	add(&events, "{\"event\":\"restored\",\"monotonic_ms\":3,\"id\":\"000001-000004\",\"step\":"
		     "40,\"bytes\":7}");
	add(&events, "{\"event\":\"launched\",\"monotonic_ms\":4,\"pid\":7}");
	assert_string_equal(events.said, "the job starts with snapshot 000001-000004 of step 40");
	add(&events, "{\"event\":\"notice\",\"monotonic_ms\":100,\"kind\":\"stop\","
		     "\"source\":\"aws\",\"deadline\":null}");
	add(&events, "{\"event\":\"asked\",\"monotonic_ms\":110,\"how\":\"signal\",\"signal\":"
		     "\"SIGUSR1\"}");
	add(&events, "{\"event\":\"saves_elsewhere\",\"monotonic_ms\":110,\"path\":\"/a/b.pt\"}");
	assert_string_equal(events.elsewhere, "/a/b.pt");
	add(&events, "{\"event\":\"saves_elsewhere\",\"monotonic_ms\":120,\"path\":\"/a/c.pt\"}");
	assert_string_equal(events.elsewhere, "/a/c.pt");
	assert_string_equal(events.said, "");
	add(&events, "{\"event\":\"saving\",\"monotonic_ms\":120,\"path\":\"a\"}");
	add(&events, "{\"event\":\"saving\",\"monotonic_ms\":130,\"path\":\"b\"}");
	add(&events, "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":140,\"step\":50}");
	add(&events,
	    "{\"event\":\"durable\",\"monotonic_ms\":200,\"id\":\"000002-000001\",\"step\":50,"
	    "\"bytes\":1000,\"bytes_sent\":900,\"seconds\":0.05}");
	assert_string_equal(events.said, "the checkpoint of step 50 is durable in the store: "
					 "snapshot 000002-000001, 1000 B");
	add(&events, "{\"event\":\"child_exited\",\"monotonic_ms\":210,\"code\":null,\"signal\":"
		     "\"TERM\"}");
	add(&events, "{\"event\":\"ended\",\"monotonic_ms\":220,\"outcome\":\"preempted\","
		     "\"exit_code\":75}");

	check_id(events.restored, 1, 4);
	assert_int_equal(events.restored_step, 40);
	assert_int_equal(events.launched_ms, 4);
	assert_int_equal(events.noticed_ms, 100);
	assert_int_equal(events.asked_ms, 110);
	assert_string_equal(events.asked_how, "SIGUSR1");
	check_id(events.commit.id, 2, 1);
	assert_int_equal(events.commit.at_ms, 200);
	assert_int_equal(events.commit.step, 50);
	assert_int_equal(events.commit.bytes, 1000);
	assert_int_equal(events.commit.checkpoint.at_ms, 140);
	assert_int_equal(events.commit.checkpoint.captured_ms, 120);
	assert_int_equal(events.child_exited_ms, 210);
	assert_string_equal(events.outcome, "preempted");
}

static void unreadable_lines_change_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"event\":\"launched\"}",
		"{\"monotonic_ms\":5}",
		"{\"event\":3,\"monotonic_ms\":5}",
		"{\"event\":\"launched\",\"monotonic_ms\":\"5\"}",
	};
	struct run_events events;

	(void)state;
	event_log_reader_init(&events);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(add(&events, lines[i]));
	assert_int_equal(events.launched_ms, -1);
	assert_true(add(&events, "{\"event\":\"source\",\"monotonic_ms\":5}"));
}

static void only_a_stop_is_the_notice(void **state)
{
	struct run_events events;

	(void)state;
	event_log_reader_init(&events);
	add(&events, "{\"event\":\"asked\",\"monotonic_ms\":5,\"how\":\"signal\",\"reason\":"
		     "\"interval\"}");
	add(&events, "{\"event\":\"notice\",\"monotonic_ms\":10,\"kind\":\"advice\"}");
	assert_int_equal(events.noticed_ms, -1);
	assert_int_equal(events.asked_ms, -1);
	add(&events, "{\"event\":\"notice\",\"monotonic_ms\":20,\"kind\":\"stop\"}");
	add(&events, "{\"event\":\"notice\",\"monotonic_ms\":30,\"kind\":\"stop\"}");
	assert_int_equal(events.noticed_ms, 20);
}

/* What comes after the one that was due may be too late. */
static void the_commit_that_is_due(void **state)
{
	static const char *const lines[] = {
		"{\"event\":\"durable\",\"monotonic_ms\":10,\"id\":\"1-1\",\"step\":1}",
		"{\"event\":\"notice\",\"monotonic_ms\":20,\"kind\":\"stop\"}",
		"{\"event\":\"checkpoint_complete\",\"monotonic_ms\":30,\"step\":2}",
		"{\"event\":\"checkpoint_complete\",\"monotonic_ms\":40,\"step\":3}",
		"{\"event\":\"durable\",\"monotonic_ms\":50,\"id\":\"1-2\",\"step\":2}",
		"{\"event\":\"durable\",\"monotonic_ms\":60,\"id\":\"1-3\",\"step\":3}",
	};
	struct run_events events;

	(void)state;
	event_log_reader_init(&events);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		add(&events, lines[i]);
	assert_int_equal(events.due.step, 2);
	assert_int_equal(events.commit.step, 3);
}

/* A checkpoint may be sealed while an older one is still on its way to the store. */
static void a_commit_finds_its_own_seal(void **state)
{
	struct run_events events;

	(void)state;
	event_log_reader_init(&events);
	add(&events, "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":100,\"step\":1}");
	add(&events, "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":900,\"step\":2}");
	add(&events, "{\"event\":\"durable\",\"monotonic_ms\":1000,\"id\":\"1-1\",\"step\":1,"
		     "\"seconds\":0.9}");
	assert_int_equal(events.commit.checkpoint.at_ms, 100);

	event_log_reader_init(&events);
	add(&events, "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":100,\"step\":null}");
	add(&events, "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":900,\"step\":null}");
	add(&events, "{\"event\":\"durable\",\"monotonic_ms\":1000,\"id\":\"1-1\",\"step\":null,"
		     "\"seconds\":0.9}");
	assert_int_equal(events.commit.checkpoint.at_ms, 100);
	add(&events, "{\"event\":\"durable\",\"monotonic_ms\":1100,\"id\":\"1-2\",\"step\":null,"
		     "\"seconds\":0.1}");
	assert_int_equal(events.commit.checkpoint.at_ms, 900);
}

static void the_newest_seals_are_kept(void **state)
{
	struct run_events events;
	char line[96];

	(void)state;
	event_log_reader_init(&events);
	for (int step = 1; step <= 3 * RUN_CHECKPOINTS_MOST; step++) {
		snprintf(line, sizeof(line),
			 "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":%d,\"step\":%d}",
			 step * 10, step);
		add(&events, line);
	}
	assert_int_equal(events.checkpoint_count, RUN_CHECKPOINTS_MOST);
	assert_int_equal(events.checkpoints[0].step, 2 * RUN_CHECKPOINTS_MOST + 1);
	assert_int_equal(events.checkpoints[RUN_CHECKPOINTS_MOST - 1].step,
			 3 * RUN_CHECKPOINTS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_whole_story),
		cmocka_unit_test(unreadable_lines_change_nothing),
		cmocka_unit_test(only_a_stop_is_the_notice),
		cmocka_unit_test(a_commit_finds_its_own_seal),
		cmocka_unit_test(the_commit_that_is_due),
		cmocka_unit_test(the_newest_seals_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
