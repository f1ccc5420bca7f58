/* One answer for several supervisors: who asks, who reads, what is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "cloud/azure_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINT "http://127.0.0.1:1"

struct fixture {
	char directory[64];
	struct azure_share one, two;
	struct azure_shared read;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/test_azure_share.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	azure_share_open(&fixture->one, fixture->directory, ENDPOINT);
	azure_share_open(&fixture->two, fixture->directory, ENDPOINT);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	azure_share_close(&fixture->one);
	azure_share_close(&fixture->two);
	bytes_release(&fixture->read.body);
	file_remove_tree(fixture->directory, NULL);
	free(fixture);
	return 0;
}

static void put(struct azure_share *share, const char *body, int64_t age_ms)
{
	struct azure_shared shared = {.status = 200, .name = "vmss_4"};

	shared.arrived_ms = clock_monotonic_ms() - age_ms;
	shared.asked_ms = shared.arrived_ms - 1;
	shared.arrived_wall_ms = 1;
	bytes_append(&shared.body, body, strlen(body), NULL);
	azure_share_write(share, &shared);
	bytes_release(&shared.body);
}

static void one_asks_and_the_other_reads(void **state)
{
	struct fixture *fixture = *state;

	assert_false(azure_share_read(&fixture->two, &fixture->read));
	assert_true(azure_share_try_lock(&fixture->one));
	assert_false(azure_share_try_lock(&fixture->two));
	put(&fixture->one, "{\"Events\":[]}", 0);
	azure_share_unlock(&fixture->one);
	assert_true(azure_share_read(&fixture->two, &fixture->read));
	assert_int_equal(fixture->read.status, 200);
	assert_string_equal(fixture->read.name, "vmss_4");
	assert_int_equal(fixture->read.body.size, strlen("{\"Events\":[]}"));
	assert_memory_equal(fixture->read.body.data, "{\"Events\":[]}", fixture->read.body.size);
	/* Each answer counts once, and not for whoever put it there. */
	assert_false(azure_share_read(&fixture->two, &fixture->read));
	assert_false(azure_share_read(&fixture->one, &fixture->read));
	assert_true(azure_share_try_lock(&fixture->two));
	azure_share_unlock(&fixture->two);
}

static void what_is_old_or_broken_is_not_believed(void **state)
{
	struct fixture *fixture = *state;

	put(&fixture->one, "{}", AZURE_SHARE_STALE_MS + 100);
	assert_false(azure_share_read(&fixture->two, &fixture->read));
	put(&fixture->one, "{}", -5000);
	assert_false(azure_share_read(&fixture->two, &fixture->read));
	assert_int_equal(file_write(fixture->one.path, "{\"boot", 6, NULL), 0);
	assert_false(azure_share_read(&fixture->two, &fixture->read));
	put(&fixture->one, "{}", 0);
	memset(fixture->two.boot, 'x', 4);
	assert_false(azure_share_read(&fixture->two, &fixture->read));
}

/* It says when to ask next, and no more. */
static void what_was_answered_before_the_start_is_marked(void **state)
{
	struct fixture *fixture = *state;

	put(&fixture->one, "{}", 500);
	assert_true(azure_share_read(&fixture->two, &fixture->read));
	assert_true(fixture->read.is_early);
	put(&fixture->one, "{}", 0);
	assert_true(azure_share_read(&fixture->two, &fixture->read));
	assert_false(fixture->read.is_early);
}

static void another_endpoint_is_another_machine(void **state)
{
	struct fixture *fixture = *state;
	struct azure_share other;

	azure_share_open(&other, fixture->directory, "http://127.0.0.1:2");
	put(&fixture->one, "{}", 0);
	assert_false(azure_share_read(&other, &fixture->read));
	azure_share_close(&other);
}

static void without_a_directory_each_asks(void **state)
{
	struct fixture *fixture = *state;
	struct azure_share alone, nowhere;

	azure_share_open(&alone, NULL, ENDPOINT);
	azure_share_open(&nowhere, "/nonexistent", ENDPOINT);
	assert_true(azure_share_try_lock(&alone));
	assert_true(azure_share_try_lock(&nowhere));
	put(&alone, "{}", 0);
	put(&nowhere, "{}", 0);
	assert_false(azure_share_read(&alone, &fixture->read));
	azure_share_unlock(&alone);
	azure_share_close(&alone);
	azure_share_close(&nowhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_asks_and_the_other_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_old_or_broken_is_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_answered_before_the_start_is_marked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_endpoint_is_another_machine, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_directory_each_asks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
