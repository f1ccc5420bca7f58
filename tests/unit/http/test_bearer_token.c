/* When a token is fetched, and what is kept when that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "storage/http/bearer_token.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

AUTO(struct bearer_token_cache, bearer_token_cache_release);

struct source {
	atomic_int fetches;
	bool down;
	int64_t life_ms;
	const char *text; /* NULL: a new one each time */
};

static int fetch(void *arg, struct bearer_token *token, struct cancel *cancel, struct err *err)
{
	struct source *source = arg;
	int number = ++source->fetches;

	(void)cancel;
	if (source->down)
		return err_set(err, ERR_RETRY, "down");
	token->text = source->text ? text_copy(source->text) : text_format("token-%d", number);
	token->expires_ms = clock_monotonic_ms() + source->life_ms;
	return 0;
}

static void plans(void **state)
{
	static const struct {
		int64_t now, expires, ahead, retry;
		enum bearer_token_plan plan;
	} rows[] = {
		{1000, 0, 300, 0, BEARER_TOKEN_FETCH},
		{1000, 0, 300, 2000, BEARER_TOKEN_FETCH},
		{1000, 2000, 300, 0, BEARER_TOKEN_USE},
		{1699, 2000, 300, 0, BEARER_TOKEN_USE},
		{1700, 2000, 300, 0, BEARER_TOKEN_REFRESH},
		{1999, 2000, 300, 0, BEARER_TOKEN_REFRESH},
		{2000, 2000, 300, 0, BEARER_TOKEN_FETCH},
		{1700, 2000, 300, 1800, BEARER_TOKEN_USE},
		{1800, 2000, 300, 1800, BEARER_TOKEN_REFRESH},
		{2500, 2000, 300, 2600, BEARER_TOKEN_USE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bearer_token_plan(rows[i].now, rows[i].expires, rows[i].ahead, rows[i].retry) !=
		    rows[i].plan)
			fail_msg("row %zu", i);
}

static void expect(struct bearer_token_cache *bearer, const char *wanted)
{
	auto_free char *token = NULL;
	struct err err = {0};

	assert_int_equal(bearer_token_cache_get(bearer, &token, NULL, &err), 0);
	assert_string_equal(token, wanted);
}

static void refused_is_replaced_once(void **state)
{
	struct source source = {.life_ms = 3600 * 1000};
	auto_(bearer_token_cache_release) struct bearer_token_cache bearer;
	struct err err = {0};

	(void)state;
	bearer_token_cache_init(&bearer, fetch, &source, 1000);
	expect(&bearer, "token-1");
	expect(&bearer, "token-1");
	assert_int_equal(bearer_token_cache_invalidate(&bearer, "token-1", NULL, &err), 0);
	/* Another thread's answer came late: what it complains of is gone. */
	assert_int_equal(bearer_token_cache_invalidate(&bearer, "token-1", NULL, &err), 0);
	expect(&bearer, "token-2");
	assert_int_equal(source.fetches, 2);
}

static void last_good_is_kept(void **state)
{
	struct source source = {.life_ms = 0};
	auto_(bearer_token_cache_release) struct bearer_token_cache bearer;
	struct err err = {0};

	(void)state;
	bearer_token_cache_init(&bearer, fetch, &source, 300 * 1000);
	expect(&bearer, "token-1");
	source.down = true;
	bearer.retry_ms = 0;
	expect(&bearer, "token-1");
	assert_int_equal(source.fetches, 2);
	expect(&bearer, "token-1");
	assert_int_equal(source.fetches, 2);
	assert_int_equal(bearer_token_cache_invalidate(&bearer, "token-1", NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	expect(&bearer, "token-1");
}

static void without_any_it_fails(void **state)
{
	static const char *const bad[] = {"", "a b", "a\r\nX: y"};
	struct source source = {.down = true};
	auto_free char *token = NULL;
	auto_(bearer_token_cache_release) struct bearer_token_cache bearer;
	struct err err = {0};

	(void)state;
	bearer_token_cache_init(&bearer, fetch, &source, 1000);
	assert_int_equal(bearer_token_cache_get(&bearer, &token, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_null(token);
	source.down = false;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		source.text = bad[i];
		assert_int_equal(bearer_token_cache_get(&bearer, &token, NULL, &err), -1);
		assert_int_equal(err.kind, ERR_FAILED);
	}
}

static void *get_often(void *arg)
{
	for (int i = 0; i < 200; i++) {
		auto_free char *token = NULL;

		if (bearer_token_cache_get(arg, &token, NULL, NULL) < 0)
			return arg;
		if (i == 100)
			bearer_token_cache_invalidate(arg, "token-1", NULL, NULL);
	}
	return NULL;
}

static void many_threads_fetch_once(void **state)
{
	struct source source = {.life_ms = 3600 * 1000};
	auto_(bearer_token_cache_release) struct bearer_token_cache bearer;
	pthread_t threads[8];
	void *failed;

	(void)state;
	bearer_token_cache_init(&bearer, fetch, &source, 1000);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_often, &bearer), 0);
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
		cmocka_unit_test(last_good_is_kept),
		cmocka_unit_test(without_any_it_fails),
		cmocka_unit_test(many_threads_fetch_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
