/* Which sessions of dead supervisors a start leaves to others. */
#include "control/left_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void it_stays_for_the_start_in_its_own_directory(void **state)
{
	static const int64_t most_s = LEFT_SESSION_AGE_MOST_S;
	static const struct {
		struct left_session left;
		bool stays;
	} rows[] = {
		/* placed, own, this boot, age, newer */
		{{true, false, true, 0, 0}, true},
		{{true, true, true, 0, 0}, false},
		{{false, false, true, 0, 0}, false},
		{{true, false, false, 0, 0}, false},
		/* Its directory may be of a job that nobody starts again. */
		{{true, false, true, most_s, 0}, true},
		{{true, false, true, most_s + 1, 0}, false},
		{{true, false, true, 0, LEFT_SESSIONS_MOST - 1}, true},
		{{true, false, true, 0, LEFT_SESSIONS_MOST}, false},
		/* The clock was set back. */
		{{true, false, true, -most_s, 0}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(left_session_stays(&rows[i].left), rows[i].stays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stays_for_the_start_in_its_own_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
