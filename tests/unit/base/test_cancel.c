/* Ending blocking work early: by hand, by deadline, from another thread. */
#include "base/cancel.h"

#include "base/clock.h"

#include "unit.h"

#include <poll.h>
#include <pthread.h>

static void test_null_is_never_cancelled(void **state)
{
	(void)state;
	assert_false(cancel_raised(NULL));
	assert_true(cancel_left_ms(NULL) == CLOCK_NEVER);
	assert_int_equal(cancel_check(NULL, NULL), 0);
	assert_int_equal(cancel_sleep(NULL, 1, NULL), 0);
}

static void test_raising_is_seen_by_flag_and_descriptor(void **state)
{
	struct cancel cancel;
	struct err err = {0};
	struct pollfd wait;

	(void)state;
	assert_int_equal(cancel_init(&cancel, NULL), 0);
	wait = (struct pollfd){.fd = cancel.fd, .events = POLLIN};
	assert_false(cancel_raised(&cancel));
	assert_int_equal(poll(&wait, 1, 0), 0);
	cancel_raise(&cancel);
	cancel_raise(&cancel);
	assert_true(cancel_raised(&cancel));
	assert_true(cancel_left_ms(&cancel) == 0);
	/* Readable, and stays so, for every waiter. */
	assert_int_equal(poll(&wait, 1, 0), 1);
	assert_int_equal(poll(&wait, 1, 0), 1);
	assert_int_equal(cancel_check(&cancel, &err), -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	assert_string_equal(err.text, "stopped");
	cancel_release(&cancel);
	cancel_release(&cancel);
}

static void test_deadline(void **state)
{
	struct cancel cancel;
	struct err err = {0};

	(void)state;
	assert_int_equal(cancel_init(&cancel, NULL), 0);
	cancel_set_deadline(&cancel, clock_monotonic_ms() + 3600000);
	assert_int_equal(cancel_check(&cancel, &err), 0);
	cancel_set_deadline(&cancel, clock_monotonic_ms() - 1);
	assert_int_equal(cancel_check(&cancel, &err), -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	assert_string_equal(err.text, "out of time");
	/* A sleep that would go past the deadline ends there. */
	cancel_set_deadline(&cancel, clock_monotonic_ms() + 5);
	assert_int_equal(cancel_sleep(&cancel, 3600000, &err), -1);
	assert_string_equal(err.text, "out of time");
	cancel_release(&cancel);
}

static void *raise_it(void *arg)
{
	cancel_raise(arg);
	return NULL;
}

static void test_sleeper_is_woken_from_another_thread(void **state)
{
	struct cancel cancel;
	struct err err = {0};
	pthread_t helper;

	(void)state;
	assert_int_equal(cancel_init(&cancel, NULL), 0);
	assert_int_equal(pthread_create(&helper, NULL, raise_it, &cancel), 0);
	/* An hour: were it not woken, the test would hang. */
	assert_int_equal(cancel_sleep(&cancel, 3600000, &err), -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	pthread_join(helper, NULL);
	cancel_release(&cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null_is_never_cancelled),
		cmocka_unit_test(test_raising_is_seen_by_flag_and_descriptor),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_sleeper_is_woken_from_another_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
