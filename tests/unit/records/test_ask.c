/* What is asked of a store at once: all of it, in any order, and one failure is that of the whole.
 */
#include "slow_store.h"

#include "base/workers.h"
#include "storage/records/records.h"

#define COUNT 3

/* One thread, the last question first. */
static bool last_first;

int __real_parallel_each(size_t count, size_t threads_most,
			 int (*work)(void *arg, size_t at, struct err *err), void *arg,
			 struct err *error);
int __wrap_parallel_each(size_t count, size_t threads_most,
			 int (*work)(void *arg, size_t at, struct err *err), void *arg,
			 struct err *error);

int __wrap_parallel_each(size_t count, size_t threads_most,
			 int (*work)(void *arg, size_t at, struct err *err), void *arg,
			 struct err *error)
{
	if (!last_first)
		return __real_parallel_each(count, threads_most, work, arg, error);
	while (count > 0)
		if (work(arg, --count, error) < 0)
			return -1;
	return 0;
}

/* --- the questions --- */

static int meet_others(struct storage *storage, const void *about, void *answer,
		       struct cancel *cancel, struct err *error)
{
	(void)storage, (void)about, (void)cancel, (void)error;
	pthread_barrier_wait(answer);
	return 0;
}

static void test_each_is_asked_while_the_others_are(void **state)
{
	pthread_barrier_t barrier;
	struct question questions[COUNT];

	(void)state;
	pthread_barrier_init(&barrier, NULL, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		questions[i] = (struct question){meet_others, NULL, &barrier};
	assert_works(ask_at_once(NULL, questions, COUNT, NULL, &err));
	pthread_barrier_destroy(&barrier);
}

/* `about`: why it fails, or NULL. */
static int say(struct storage *storage, const void *about, void *answer, struct cancel *cancel,
	       struct err *error)
{
	(void)storage, (void)cancel;
	*(bool *)answer = true;
	return about ? err_set(error, ERR_DENIED, "%s", (const char *)about) : 0;
}

static void test_one_failure_is_that_of_the_whole(void **state)
{
	static const struct {
		const char *why[COUNT];
		bool last_first;
		const char *said;
		bool asked[COUNT];
	} rows[] = {
		{{NULL, NULL, NULL}, false, NULL, {true, true, true}},
		{{NULL, NULL, NULL}, true, NULL, {true, true, true}},
		{{NULL, NULL, "c"}, true, "c", {false, false, true}},
		{{"a", "b", NULL}, true, "b", {false, true, true}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct question questions[COUNT];
		bool asked[COUNT] = {false};
		int result;

		for (size_t j = 0; j < COUNT; j++)
			questions[j] = (struct question){say, rows[i].why[j], &asked[j]};
		last_first = rows[i].last_first;
		result = ask_at_once(NULL, questions, COUNT, NULL, &err);
		last_first = false;
		assert_int_equal(result, rows[i].said ? -1 : 0);
		if (rows[i].said)
			assert_string_equal(err.text, rows[i].said);
		assert_memory_equal(asked, rows[i].asked, sizeof(asked));
	}
}

static void test_nothing_to_ask(void **state)
{
	(void)state;
	assert_works(ask_at_once(NULL, NULL, 0, NULL, &err));
}

/* --- attempts and snapshots --- */

static void put(struct slow_store *slow, const char *key)
{
	assert_works(slow->behind->ops->put(slow->behind, key, "x", 1, STORE_UNIQUE, NULL, &err));
}

static int begin_and_save(struct slow_store *slow, const char *prefix, struct err *error)
{
	(void)error;
	if (strstr(prefix, "/snapshots/")) {
		put(slow, "jobs/job/attempts/000002.json");
		put(slow, "jobs/job/snapshots/000002-000001.json");
	}
	return 0;
}

/* Else its claim, which says from where it started, would count as lost. */
static void test_who_begins_between_the_lists_is_listed(void **state)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct slow_store *slow;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	slow = slow_store_install(&f, NULL);
	slow->answer_list = begin_and_save;
	last_first = true;
	assert_works(job_records_list_lineage(f.storage, &listing, NULL, &err));
	last_first = false;
	slow->answer_list = NULL;
	assert_int_equal(listing.lineage.snapshot_count, 1);
	assert_int_equal(listing.lineage.attempt_count, 2);
	assert_int_equal(listing.lineage.attempts[1].number, 2);
	assert_true(listing.lineage.attempts[1].claimed);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_is_asked_while_the_others_are),
		cmocka_unit_test(test_one_failure_is_that_of_the_whole),
		cmocka_unit_test(test_nothing_to_ask),
		cmocka_unit_test(test_who_begins_between_the_lists_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
