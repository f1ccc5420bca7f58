#include "completion/content_verdict.h"

#include "base/text.h"
#include "completion/detector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct findings refusing(struct finding *finding)
{
	return (struct findings){.items = finding, .count = 1};
}

static void test_how_long_to_wait(void **state)
{
	char path[] = "a", why[] = "because";
	const struct {
		struct finding finding;
		int64_t wait_ms;
	} cases[] = {
		{{path, why, 0, false, false}, CONTENT_VERDICT_FORMAT_MS},
		{{path, why, 1000, false, false}, CONTENT_VERDICT_FORMAT_MS - 1000},
		{{path, why, CONTENT_VERDICT_FORMAT_MS, false, false}, 0},
		{{path, why, 0, true, false}, CONTENT_VERDICT_MARKER_MS},
		{{path, why, CONTENT_VERDICT_FORMAT_MS, true, false},
		 CONTENT_VERDICT_MARKER_MS - CONTENT_VERDICT_FORMAT_MS},
		{{path, why, 0, true, true}, 0},
		{{path, why, 0, false, true}, 0},
	};
	struct findings none = {0};
	struct finding two[2] = {{path, why, 0, false, false}, {path, why, 0, true, true}};
	struct findings both = {two, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct finding finding = cases[i].finding;
		struct findings findings = refusing(&finding);

		assert_int_equal(content_verdict_wait_ms(&findings), cases[i].wait_ms);
	}
	assert_int_equal(content_verdict_wait_ms(&none), 0);
	assert_int_equal(content_verdict_wait_ms(&both), CONTENT_VERDICT_FORMAT_MS);
}

/* --- with sealing --- */

struct desk {
	struct detector detector;
	int64_t now_ms;
};

static void desk_open(struct desk *desk)
{
	*desk = (struct desk){.now_ms = 1000};
	detector_init(&desk->detector, 1000);
}

static void say(struct desk *desk, enum dir_change change, const char *path)
{
	struct dir_event event = {.change = change, .path = path};

	detector_handle_kernel(&desk->detector, &event, desk->now_ms);
}

static void write_file(struct desk *desk, const char *path)
{
	say(desk, DIR_CREATED, path);
	say(desk, DIR_MODIFIED, path);
	say(desk, DIR_CLOSED_WRITE, path);
}

static enum detector_verdict poll(struct desk *desk)
{
	int64_t at_ms;

	return detector_poll(&desk->detector, desk->now_ms, &at_ms);
}

static enum detector_verdict judge(struct desk *desk, const char *refused, int64_t *at_ms)
{
	struct finding finding = {.by_rule = true};
	struct findings findings = {0};
	enum detector_verdict verdict;

	if (refused) {
		finding.path = text_copy(refused);
		findings = refusing(&finding);
	}
	verdict = detector_apply_findings(&desk->detector, &findings, desk->now_ms, at_ms);
	free(finding.path);
	return verdict;
}

static enum detector_verdict give_up(struct desk *desk, const char *refused)
{
	struct finding finding = {.path = text_copy(refused), .abandoned = true};
	struct findings findings = refusing(&finding);
	int64_t at_ms;
	enum detector_verdict verdict =
		detector_apply_findings(&desk->detector, &findings, desk->now_ms, &at_ms);

	free(finding.path);
	return verdict;
}

static void count(void *arg, const char *path)
{
	(void)path;
	++*(int *)arg;
}

static int unjudged(const struct desk *desk)
{
	int number = 0;

	detector_each_unchecked(&desk->detector, count, &number);
	return number;
}

static void test_held_until_the_rest_comes(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "s-1/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(judge(&desk, "s-1", &at_ms), DETECTOR_BUSY);
	assert_int_equal(at_ms, desk.now_ms + CONTENT_VERDICT_MARKER_MS);
	assert_true(detector_is_postponed(&desk.detector));
	desk.now_ms += 60000;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	/* Not a burst of its own, however late it comes. */
	write_file(&desk, "s-1/marker");
	assert_false(detector_is_postponed(&desk.detector));
	desk.now_ms += 999;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	desk.now_ms += 1;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(unjudged(&desk), 2);
	assert_int_equal(judge(&desk, NULL, &at_ms), DETECTOR_COMPLETE);
	assert_int_equal(unjudged(&desk), 0);
	detector_acknowledge(&desk.detector);
	assert_int_equal(poll(&desk), DETECTOR_NOTHING);
	assert_false(detector_is_torn(&desk.detector, "s-1/a"));
	detector_release(&desk.detector);
}

static void test_held_until_the_time_is_over(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "s-1/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(judge(&desk, "s-1", &at_ms), DETECTOR_BUSY);
	desk.now_ms = at_ms;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE); /* looked into again */
	assert_int_equal(give_up(&desk, "s-1"), DETECTOR_TORN);
	assert_true(detector_is_torn(&desk.detector, "s-1/a"));
	detector_release(&desk.detector);
}

static void test_the_rest_is_taken_without_it(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "s-1/a");
	write_file(&desk, "s-2/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(give_up(&desk, "s-1"), DETECTOR_COMPLETE);
	detector_acknowledge(&desk.detector);
	assert_true(detector_is_torn(&desk.detector, "s-1/a"));
	assert_false(detector_is_torn(&desk.detector, "s-2/a"));
	/* It stays refused in the bursts after it, until somebody writes to it. */
	write_file(&desk, "s-3/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(judge(&desk, NULL, &at_ms), DETECTOR_COMPLETE);
	assert_true(detector_is_torn(&desk.detector, "s-1/a"));
	detector_acknowledge(&desk.detector);
	write_file(&desk, "s-1/marker");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(judge(&desk, NULL, &at_ms), DETECTOR_COMPLETE);
	assert_false(detector_is_torn(&desk.detector, "s-1/a"));
	detector_release(&desk.detector);
}

static void test_the_end_of_the_job_waits_for_nothing(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "a");
	write_file(&desk, "b");
	detector_job_ended(&desk.detector, true, desk.now_ms);
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(judge(&desk, "a", &at_ms), DETECTOR_COMPLETE);
	assert_true(detector_is_torn(&desk.detector, "a"));
	assert_false(detector_is_torn(&desk.detector, "b"));
	detector_release(&desk.detector);
}

/* Over before anybody asked, and then the next one began: it has still to be looked into. */
static void test_nothing_goes_unjudged(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "a");
	desk.now_ms += 5000;
	write_file(&desk, "b");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	assert_int_equal(unjudged(&desk), 2);
	detector_release(&desk.detector);
}

static void shim_closes(struct desk *desk, int pid, const char *path)
{
	struct shim_message message = {
		.event = SHIM_OPENED,
		.pid = pid,
		.descriptor = 3,
		.path = path,
		.path2 = "",
		.flags = SHIM_FLAG_EMPTY,
	};

	detector_handle_shim(&desk->detector, &message, desk->now_ms);
	message.event = SHIM_CLOSED;
	detector_handle_shim(&desk->detector, &message, desk->now_ms);
}

static void test_a_commit_shortens_the_wait(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk);
	shim_closes(&desk, 1, "marker");
	detector_note_completion_marker(&desk.detector);
	desk.now_ms += 249;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	desk.now_ms += 1;
	assert_int_equal(poll(&desk), DETECTOR_COMPLETE);
	detector_release(&desk.detector);

	/* Not when something came after it, */
	desk_open(&desk);
	shim_closes(&desk, 1, "marker");
	detector_note_completion_marker(&desk.detector);
	shim_closes(&desk, 1, "more");
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	detector_release(&desk.detector);

	/* nor where others write as well, */
	desk_open(&desk);
	shim_closes(&desk, 2, "rank-2");
	shim_closes(&desk, 1, "marker");
	detector_note_completion_marker(&desk.detector);
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	detector_release(&desk.detector);

	/* nor where nobody knows who writes. */
	desk_open(&desk);
	write_file(&desk, "marker");
	detector_note_completion_marker(&desk.detector);
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), DETECTOR_BUSY);
	detector_release(&desk.detector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_long_to_wait),
		cmocka_unit_test(test_held_until_the_rest_comes),
		cmocka_unit_test(test_held_until_the_time_is_over),
		cmocka_unit_test(test_the_rest_is_taken_without_it),
		cmocka_unit_test(test_the_end_of_the_job_waits_for_nothing),
		cmocka_unit_test(test_nothing_goes_unjudged),
		cmocka_unit_test(test_a_commit_shortens_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
