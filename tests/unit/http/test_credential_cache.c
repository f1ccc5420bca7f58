/* When a credential is fetched, and what is kept when that fails. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "storage/http/credential_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct source {
	atomic_int fetches;
	atomic_bool down, slow;
	int64_t life_ms;
};

static int fetch(void *arg, struct credential *fresh, struct cancel *cancel, struct err *err)
{
	struct source *source = arg;
	int number = ++source->fetches;

	if (source->slow)
		cancel_sleep(cancel, 300, NULL);
	if (source->down)
		return err_set(err, ERR_RETRY, "down");
	fresh->expires_ms = source->life_ms == CLOCK_NEVER ? CLOCK_NEVER
							   : clock_monotonic_ms() + source->life_ms;
	fresh->text = text_format("token-%d", number);
	return 0;
}

/* Replaced a second ahead of their end. */
static const struct credential_source short_ahead = {fetch, .refresh_ahead_ms = 1000,
						     .rest_ms = 15000};
static const struct credential_source long_ahead = {fetch, .refresh_ahead_ms = 300 * 1000,
						    .rest_ms = 15000};

static void plans(void **state)
{
	enum {
		MINUTE = 60 * 1000,
		AHEAD = 15 * MINUTE
	};
	static const struct {
		int64_t now, expires, ahead, rest_until;
		enum credential_plan plan;
	} rows[] = {
		{1000, 2000, 300, 0, CREDENTIAL_USE},
		{1699, 2000, 300, 0, CREDENTIAL_USE},
		{1700, 2000, 300, 0, CREDENTIAL_REFRESH},
		{1999, 2000, 300, 0, CREDENTIAL_REFRESH},
		{2000, 2000, 300, 0, CREDENTIAL_FETCH},
		{1700, 2000, 300, 1800, CREDENTIAL_USE},
		{1800, 2000, 300, 1800, CREDENTIAL_REFRESH},
		{2500, 2000, 300, 2600, CREDENTIAL_USE},
		{100 * MINUTE, CLOCK_NEVER, AHEAD, 1, CREDENTIAL_USE},
		{100 * MINUTE, 160 * MINUTE, AHEAD, 1, CREDENTIAL_USE},
		{100 * MINUTE, 115 * MINUTE, AHEAD, 1, CREDENTIAL_REFRESH},
		{100 * MINUTE, 110 * MINUTE, AHEAD, 101 * MINUTE - 1000, CREDENTIAL_USE},
		{100 * MINUTE, 110 * MINUTE, AHEAD, 100 * MINUTE, CREDENTIAL_REFRESH},
		{100 * MINUTE, 100 * MINUTE, AHEAD, 1, CREDENTIAL_FETCH},
		{100 * MINUTE, 90 * MINUTE, AHEAD, 101 * MINUTE - 1000, CREDENTIAL_USE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (credential_plan(rows[i].now, rows[i].expires, rows[i].ahead,
				    rows[i].rest_until) != rows[i].plan)
			fail_msg("row %zu", i);
}

static void expect(struct credential_cache *cache, const char *wanted)
{
	struct err err = {0};
	auto_(credential_release) struct credential *got = credential_cache_get(cache, NULL, &err);

	assert_string_equal(got ? got->text : err.text, wanted);
}

static void refused_is_replaced_once(void **state)
{
	struct source source = {.life_ms = 3600 * 1000};
	auto_(credential_cache_release) struct credential_cache cache;
	auto_(credential_release) struct credential *first = NULL;
	struct err err = {0};

	(void)state;
	credential_cache_init(&cache, &short_ahead, &source);
	first = credential_cache_get(&cache, NULL, &err);
	expect(&cache, "token-1");
	assert_int_equal(credential_cache_invalidate(&cache, first, NULL, &err), 0);
	/* Another thread's answer came late: what it complains of is gone. */
	assert_int_equal(credential_cache_invalidate(&cache, first, NULL, &err), 0);
	assert_string_equal(first->text, "token-1");
	expect(&cache, "token-2");
	assert_int_equal(source.fetches, 2);
}

/* A metadata service hands out the same one for a while: another object, and refused all the same.
 */
static void same_content_is_replaced(void **state)
{
	struct source source = {.life_ms = 3600 * 1000};
	auto_(credential_cache_release) struct credential_cache cache;
	struct credential copy = {.text = "token-1"};
	struct err err = {0};

	(void)state;
	credential_cache_init(&cache, &short_ahead, &source);
	expect(&cache, "token-1");
	assert_int_equal(credential_cache_invalidate(&cache, &copy, NULL, &err), 0);
	expect(&cache, "token-2");
}

static void what_does_not_expire_is_kept(void **state)
{
	struct source source = {.life_ms = CLOCK_NEVER};
	auto_(credential_cache_release) struct credential_cache cache;

	(void)state;
	credential_cache_init(&cache, &long_ahead, &source);
	expect(&cache, "token-1");
	cache.rest_until_ms = 0;
	expect(&cache, "token-1");
	assert_int_equal(source.fetches, 1);
}

static void last_good_is_kept(void **state)
{
	struct source source = {.life_ms = 0};
	auto_(credential_cache_release) struct credential_cache cache;
	struct err err = {0};

	(void)state;
	credential_cache_init(&cache, &long_ahead, &source);
	expect(&cache, "token-1");
	source.down = true;
	cache.rest_until_ms = 0;
	expect(&cache, "token-1");
	assert_int_equal(source.fetches, 2);
	expect(&cache, "token-1");
	assert_int_equal(source.fetches, 2);
	assert_int_equal(credential_cache_invalidate(&cache, cache.credential, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	expect(&cache, "token-1");
}

/* And no rest after a failure, for there is nothing to go on with. */
static void without_any_it_fails(void **state)
{
	struct source source = {.down = true, .life_ms = 3600 * 1000};
	auto_(credential_cache_release) struct credential_cache cache;
	struct err err = {0};

	(void)state;
	credential_cache_init(&cache, &short_ahead, &source);
	assert_null(credential_cache_get(&cache, NULL, &err));
	assert_int_equal(err.kind, ERR_RETRY);
	expect(&cache, "down");
	assert_int_equal(source.fetches, 2);
	source.down = false;
	expect(&cache, "token-3");
}

static void *get_once(void *arg)
{
	return credential_cache_get(arg, NULL, NULL);
}

/* One thread replaces what is about to expire; the others do not wait for it. */
static void others_go_on_meanwhile(void **state)
{
	struct source source = {.life_ms = 100 * 1000};
	auto_(credential_cache_release) struct credential_cache cache;
	auto_(credential_release) struct credential *fresh = NULL;
	pthread_t thread;
	void *result;

	(void)state;
	credential_cache_init(&cache, &long_ahead, &source);
	expect(&cache, "token-1");
	cache.rest_until_ms = 0;
	source.slow = true;
	assert_int_equal(pthread_create(&thread, NULL, get_once, &cache), 0);
	while (source.fetches < 2)
		cancel_sleep(NULL, 1, NULL);
	expect(&cache, "token-1");
	pthread_join(thread, &result);
	fresh = result;
	assert_string_equal(fresh->text, "token-2");
	assert_int_equal(source.fetches, 2);
}

/* Who has none waits for the thread that fetches, but not after it was told to stop. */
static void waiting_is_cancelled(void **state)
{
	struct source source = {.life_ms = 3600 * 1000, .slow = true};
	auto_(credential_cache_release) struct credential_cache cache;
	struct cancel cancel;
	struct err err = {0};
	pthread_t thread;
	void *result;

	(void)state;
	credential_cache_init(&cache, &short_ahead, &source);
	assert_int_equal(cancel_init(&cancel, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, get_once, &cache), 0);
	while (source.fetches < 1)
		cancel_sleep(NULL, 1, NULL);
	cancel_raise(&cancel);
	assert_null(credential_cache_get(&cache, &cancel, &err));
	assert_int_equal(err.kind, ERR_CANCELLED);
	expect(&cache, "token-1");
	pthread_join(thread, &result);
	credential_release(result);
	assert_int_equal(source.fetches, 1);
	cancel_release(&cancel);
}

static void *get_often(void *arg)
{
	for (int i = 0; i < 200; i++) {
		auto_(credential_release) struct credential *got =
			credential_cache_get(arg, NULL, NULL);

		if (!got)
			return arg;
		if (i == 100 && strcmp(got->text, "token-1") == 0)
			credential_cache_invalidate(arg, got, NULL, NULL);
	}
	return NULL;
}

static void many_threads_fetch_once(void **state)
{
	struct source source = {.life_ms = 3600 * 1000};
	auto_(credential_cache_release) struct credential_cache cache;
	pthread_t threads[8];
	void *failed;

	(void)state;
	credential_cache_init(&cache, &short_ahead, &source);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_often, &cache), 0);
	for (size_t i = 0; i < 8; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(source.fetches, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans),
		cmocka_unit_test(refused_is_replaced_once),
		cmocka_unit_test(same_content_is_replaced),
		cmocka_unit_test(what_does_not_expire_is_kept),
		cmocka_unit_test(last_good_is_kept),
		cmocka_unit_test(without_any_it_fails),
		cmocka_unit_test(others_go_on_meanwhile),
		cmocka_unit_test(waiting_is_cancelled),
		cmocka_unit_test(many_threads_fetch_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
