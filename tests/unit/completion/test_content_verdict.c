#include "completion/content_verdict.h"

#include "base/text.h"
#include "completion/detector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct refusals refusing(struct refusal *refusal)
{
	return (struct refusals){.items = refusal, .count = 1};
}

static void test_how_long_to_wait(void **state)
{
	char path[] = "a", why[] = "because";
	const struct {
		struct refusal refusal;
		int64_t wait_ms;
	} cases[] = {
		{{path, why, 0, false, false}, JUDGEMENT_CONTENT_MS},
		{{path, why, 1000, false, false}, JUDGEMENT_CONTENT_MS - 1000},
		{{path, why, JUDGEMENT_CONTENT_MS, false, false}, 0},
		{{path, why, 0, true, false}, JUDGEMENT_MARKER_MS},
		{{path, why, JUDGEMENT_CONTENT_MS, true, false},
			JUDGEMENT_MARKER_MS - JUDGEMENT_CONTENT_MS},
		{{path, why, 0, true, true}, 0},
		{{path, why, 0, false, true}, 0},
	};
	struct refusals none = {0};
	struct refusal two[2] = {{path, why, 0, false, false}, {path, why, 0, true, true}};
	struct refusals both = {two, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct refusal refusal = cases[i].refusal;
		struct refusals refusals = refusing(&refusal);

		assert_int_equal(judgement_wait_ms(&refusals), cases[i].wait_ms);
	}
	assert_int_equal(judgement_wait_ms(&none), 0);
	assert_int_equal(judgement_wait_ms(&both), JUDGEMENT_CONTENT_MS);
}

/* --- with sealing --- */

struct desk {
	struct sealing sealing;
	int64_t now_ms;
};

static void desk_open(struct desk *desk)
{
	*desk = (struct desk){.now_ms = 1000};
	sealing_init(&desk->sealing, 1000);
}

static void say(struct desk *desk, enum dir_change change, const char *path)
{
	struct dir_event event = {.change = change, .path = path};

	sealing_kernel(&desk->sealing, &event, desk->now_ms);
}

static void write_file(struct desk *desk, const char *path)
{
	say(desk, DIR_CREATED, path);
	say(desk, DIR_MODIFIED, path);
	say(desk, DIR_CLOSED_WRITE, path);
}

static enum sealing_verdict poll(struct desk *desk)
{
	int64_t at_ms;

	return sealing_poll(&desk->sealing, desk->now_ms, &at_ms);
}

static enum sealing_verdict judge(struct desk *desk, const char *refused, int64_t *at_ms)
{
	struct refusal refusal = {.by_rule = true};
	struct refusals refusals = {0};
	enum sealing_verdict verdict;

	if (refused) {
		refusal.path = text_copy(refused);
		refusals = refusing(&refusal);
	}
	verdict = sealing_judge(&desk->sealing, &refusals, desk->now_ms, at_ms);
	free(refusal.path);
	return verdict;
}

static enum sealing_verdict give_up(struct desk *desk, const char *refused)
{
	struct refusal refusal = {.path = text_copy(refused), .abandoned = true};
	struct refusals refusals = refusing(&refusal);
	int64_t at_ms;
	enum sealing_verdict verdict =
		sealing_judge(&desk->sealing, &refusals, desk->now_ms, &at_ms);

	free(refusal.path);
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

	sealing_each_unjudged(&desk->sealing, count, &number);
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
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(judge(&desk, "s-1", &at_ms), SEALING_BUSY);
	assert_int_equal(at_ms, desk.now_ms + JUDGEMENT_MARKER_MS);
	assert_true(sealing_is_held(&desk.sealing));
	desk.now_ms += 60000;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	/* Not a burst of its own, however late it comes. */
	write_file(&desk, "s-1/marker");
	assert_false(sealing_is_held(&desk.sealing));
	desk.now_ms += 999;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	desk.now_ms += 1;
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(unjudged(&desk), 2);
	assert_int_equal(judge(&desk, NULL, &at_ms), SEALING_SEALED);
	assert_int_equal(unjudged(&desk), 0);
	sealing_acknowledge(&desk.sealing);
	assert_int_equal(poll(&desk), SEALING_NOTHING);
	assert_false(sealing_is_torn(&desk.sealing, "s-1/a"));
	sealing_release(&desk.sealing);
}

static void test_held_until_the_time_is_over(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "s-1/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(judge(&desk, "s-1", &at_ms), SEALING_BUSY);
	desk.now_ms = at_ms;
	assert_int_equal(poll(&desk), SEALING_SEALED); /* looked into again */
	assert_int_equal(give_up(&desk, "s-1"), SEALING_TORN);
	assert_true(sealing_is_torn(&desk.sealing, "s-1/a"));
	sealing_release(&desk.sealing);
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
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(give_up(&desk, "s-1"), SEALING_SEALED);
	sealing_acknowledge(&desk.sealing);
	assert_true(sealing_is_torn(&desk.sealing, "s-1/a"));
	assert_false(sealing_is_torn(&desk.sealing, "s-2/a"));
	/* It stays refused in the bursts after it, until somebody writes to it. */
	write_file(&desk, "s-3/a");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(judge(&desk, NULL, &at_ms), SEALING_SEALED);
	assert_true(sealing_is_torn(&desk.sealing, "s-1/a"));
	sealing_acknowledge(&desk.sealing);
	write_file(&desk, "s-1/marker");
	desk.now_ms += 1000;
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(judge(&desk, NULL, &at_ms), SEALING_SEALED);
	assert_false(sealing_is_torn(&desk.sealing, "s-1/a"));
	sealing_release(&desk.sealing);
}

static void test_the_end_of_the_job_waits_for_nothing(void **state)
{
	struct desk desk;
	int64_t at_ms;

	(void)state;
	desk_open(&desk);
	write_file(&desk, "a");
	write_file(&desk, "b");
	sealing_job_ended(&desk.sealing, true, desk.now_ms);
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(judge(&desk, "a", &at_ms), SEALING_SEALED);
	assert_true(sealing_is_torn(&desk.sealing, "a"));
	assert_false(sealing_is_torn(&desk.sealing, "b"));
	sealing_release(&desk.sealing);
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
	assert_int_equal(poll(&desk), SEALING_SEALED);
	assert_int_equal(unjudged(&desk), 2);
	sealing_release(&desk.sealing);
}

static void shim_closes(struct desk *desk, int pid, const char *path)
{
	struct shim_message message = {.event = SHIM_OPENED,
		.pid = pid,
		.descriptor = 3,
		.path = path,
		.path2 = "",
		.flags = SHIM_FLAG_EMPTY};

	sealing_shim(&desk->sealing, &message, desk->now_ms);
	message.event = SHIM_CLOSED;
	sealing_shim(&desk->sealing, &message, desk->now_ms);
}

static void test_a_commit_shortens_the_wait(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk);
	shim_closes(&desk, 1, "marker");
	sealing_commit(&desk.sealing);
	desk.now_ms += 249;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	desk.now_ms += 1;
	assert_int_equal(poll(&desk), SEALING_SEALED);
	sealing_release(&desk.sealing);

	/* Not when something came after it, */
	desk_open(&desk);
	shim_closes(&desk, 1, "marker");
	sealing_commit(&desk.sealing);
	shim_closes(&desk, 1, "more");
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	sealing_release(&desk.sealing);

	/* nor where others write as well, */
	desk_open(&desk);
	shim_closes(&desk, 2, "rank-2");
	shim_closes(&desk, 1, "marker");
	sealing_commit(&desk.sealing);
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	sealing_release(&desk.sealing);

	/* nor where nobody knows who writes. */
	desk_open(&desk);
	write_file(&desk, "marker");
	sealing_commit(&desk.sealing);
	desk.now_ms += 250;
	assert_int_equal(poll(&desk), SEALING_BUSY);
	sealing_release(&desk.sealing);
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
