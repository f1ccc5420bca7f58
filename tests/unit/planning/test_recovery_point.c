/* When complete checkpoints wait too long to become durable. */
#include "planning/recovery_point.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One story: events at seconds; then whether it is behind just before and at the
 * second that is named. */
struct event {
	/* s sealed; d the one sealed at `of` is durable, and is the newest; o the same, but
	 * there are newer ones */
	char what;
	int at, of;
};

static const struct {
	const char *name;
	struct event events[8];
	int behind_at; /* 0: never */
} rows[] = {
	// clang-format off
	{"nothing happens", {{0}}, 0},
	{"durable: nothing waits", {{'s', 10, 0}, {'d', 12, 10}}, 0},
	{"the first one never comes", {{'s', 10, 0}}, 71},
	{"later seals do not make it younger", {{'s', 10, 0}, {'s', 40, 0}, {'s', 65, 0}}, 71},
	{"slow is usual: three times as long is allowed",
		{{'s', 10, 0}, {'d', 110, 10}, {'s', 200, 0}}, 501},
	{"fast is usual: a minute is allowed", {{'s', 10, 0}, {'d', 11, 10}, {'s', 200, 0}}, 261},
	{"the newer one counts from its own seal", {{'s', 10, 0}, {'s', 30, 0}, {'o', 40, 10}},
		121},
	{"of several newer ones the first counts",
		{{'s', 10, 0}, {'s', 30, 0}, {'s', 39, 0}, {'o', 40, 10}}, 121},
	{"caught up", {{'s', 10, 0}, {'s', 30, 0}, {'o', 40, 10}, {'d', 50, 30}}, 0},
	// clang-format on
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct recovery_point point = {.usual_ms = -1};
		int64_t due;

		for (size_t j = 0; j < 8 && rows[i].events[j].what; j++) {
			const struct event *event = &rows[i].events[j];

			if (event->what == 's')
				recovery_point_note_complete(&point, event->at * 1000LL);
			else
				recovery_point_note_durable(&point, event->of * 1000LL,
							    event->what == 'd', event->at * 1000LL);
		}
		due = recovery_point_due_ms(&point);
		if (rows[i].behind_at == 0 ? due != CLOCK_NEVER
					   : due / 1000 != rows[i].behind_at - 1 &&
						     due / 1000 != rows[i].behind_at)
			fail_msg("%s: due at %lld", rows[i].name, (long long)due);
		if (rows[i].behind_at == 0) {
			assert_false(recovery_point_is_behind(&point, 1000000));
			continue;
		}
		assert_false(recovery_point_is_behind(&point, due - 1));
		assert_true(recovery_point_is_behind(&point, due));
	}
}

/* Said once, until it has caught up. */
static void test_said_again_only_after_catching_up(void **state)
{
	struct recovery_point point = {.usual_ms = -1};

	(void)state;
	recovery_point_note_complete(&point, 1000);
	recovery_point_note_complete(&point, 2000);
	point.said = true;
	recovery_point_note_durable(&point, 1000, false, 900000);
	assert_true(point.waiting_ms == 2000);
	point.usual_ms = 1000;
	recovery_point_note_complete(&point, 901000);
	recovery_point_note_durable(&point, 2000, false, 902000);
	assert_false(point.said);
}

static void test_words(void **state)
{
	struct recovery_point point = {.waiting_ms = 60000};
	char text[160];

	(void)state;
	assert_string_equal(recovery_point_format(&point, 1200, 60000, 300000, text, sizeof(text)),
			    "durable: step 1200, 4 min 0 s ago; the upload has fallen behind");
	assert_string_equal(recovery_point_format(&point, -1, 60000, 300000, text, sizeof(text)),
			    "durable: a checkpoint, 4 min 0 s ago; the upload has fallen behind");
	assert_string_equal(recovery_point_format(&point, -1, 0, 300000, text, sizeof(text)),
			    "durable: nothing yet, a checkpoint has been complete for 4 min 0 s; "
			    "the upload has fallen behind");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_said_again_only_after_catching_up),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
