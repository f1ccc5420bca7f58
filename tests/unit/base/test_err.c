/* The error type: kinds, wrapping, and what becomes of a text that is too long. */
#include "base/err.h"

#include "unit.h"

#include <errno.h>
#include <string.h>

static void test_set_returns_minus_one_and_fills(void **state)
{
	struct err err = {.os = 7};

	(void)state;
	assert_int_equal(err_set(&err, ERR_INVALID, "--grace %d: not a duration", 5), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(err.os, 0);
	assert_string_equal(err.text, "--grace 5: not a duration");
}

static void test_null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_FAILED, "x"), -1);
	assert_int_equal(err_os(NULL, EIO, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
	assert_int_equal(err_pass(NULL, &(struct err){.kind = ERR_FAILED}), -1);
}

static void test_one_that_is_handed_on_stays_as_it_is(void **state)
{
	const struct err filled = {.kind = ERR_RETRY, .os = EBUSY, .text = "pack 3: busy"};
	struct err err = {.kind = ERR_FAILED, .text = "another"};

	(void)state;
	assert_int_equal(err_pass(&err, &filled), -1);
	assert_memory_equal(&err, &filled, sizeof(err));
}

static void test_errno_becomes_a_kind(void **state)
{
	static const struct {
		int os;
		enum err_kind kind;
	} rows[] = {
		{ENOENT, ERR_NOT_FOUND}, {EEXIST, ERR_EXISTS},       {EACCES, ERR_DENIED},
		{EPERM, ERR_DENIED},     {EROFS, ERR_DENIED},        {ENOSPC, ERR_NO_SPACE},
		{EDQUOT, ERR_NO_SPACE},  {ECANCELED, ERR_CANCELLED}, {EAGAIN, ERR_RETRY},
		{EINTR, ERR_RETRY},      {ETIMEDOUT, ERR_RETRY},     {EIO, ERR_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		assert_int_equal(err_os(&err, rows[i].os, "open %s", "/a"), -1);
		assert_int_equal(err.kind, rows[i].kind);
		assert_int_equal(err.os, rows[i].os);
		assert_memory_equal(err.text, "open /a: ", 9);
		assert_string_equal(err.text + 9, strerror(rows[i].os));
	}
}

static void test_too_many_files_name_the_limit(void **state)
{
	struct err err = {0};

	(void)state;
	err_os(&err, EMFILE, "pipe");
	assert_string_equal(err.text, "pipe: Too many open files (`ulimit -n` is the limit)");
}

static void test_wrap_puts_words_in_front_and_keeps_the_kind(void **state)
{
	struct err err = {0};

	(void)state;
	err_os(&err, ENOSPC, "write");
	assert_int_equal(err_wrap(&err, "pack %d", 3), -1);
	err_wrap(&err, "snapshot");
	assert_int_equal(err.kind, ERR_NO_SPACE);
	assert_int_equal(err.os, ENOSPC);
	assert_string_equal(err.text, "snapshot: pack 3: write: No space left on device");
}

/* What is left out of a text that is too long is its middle: most of a long path,
 * never the reason. */
static void test_long_texts_keep_their_reason(void **state)
{
	char path[4096];
	static const struct {
		size_t set, wrap; /* lengths of the paths; 0: none */
	} rows[] = {{400, 0},   {511, 0},   {4095, 0},   {4095, 20},
		    {20, 4095}, {400, 400}, {4095, 4095}};
	struct err err = {0};

	(void)state;
	memset(path, 'd', sizeof(path));
	memcpy(path, "/begin", 6);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int os = 0; os < 2; os++) {
			const char *reason = os ? ": File name too long" : ": the reason";

			if (os)
				err_os(&err, ENAMETOOLONG, "%.*s", (int)rows[i].set, path);
			else
				err_set(&err, ERR_FAILED, "%.*s: the reason", (int)rows[i].set,
					path);
			if (rows[i].wrap > 0)
				err_wrap(&err, "%.*s", (int)rows[i].wrap, path);
			assert_memory_equal(err.text, "/begindd", 8);
			assert_string_equal(err.text + strlen(err.text) - strlen(reason), reason);
			assert_int_equal(err.os, os ? ENAMETOOLONG : 0);
			if (rows[i].set + rows[i].wrap > sizeof(err.text))
				assert_non_null(strstr(err.text, "d...d"));
		}
	}
	/* Nothing is left out that has room. */
	err_os(&err, EIO, "%.450s", path);
	assert_int_equal(strlen(err.text), 450 + strlen(": Input/output error"));
	err_set(&err, ERR_FAILED, "inner");
	err_wrap(&err, "%.450s", path);
	assert_int_equal(strlen(err.text), 450 + strlen(": inner"));
	err_wrap(&err, "outer");
	assert_memory_equal(err.text, "outer: /begin", 13);
}

/* A sentence that JSON cannot carry would take the event that it explains with it. */
static void test_what_is_not_utf8_is_replaced(void **state)
{
	struct err err = {0};

	(void)state;
	err_set(&err, ERR_CORRUPT, "\"%s\" is damaged", "caf\xe9");
	assert_string_equal(err.text, "\"caf?\" is damaged");
	err_wrap(&err, "m\xff");
	assert_string_equal(err.text, "m?: \"caf?\" is damaged");
	err_os(&err, ENOENT, "%s", "\xc3");
	assert_memory_equal(err.text, "?: ", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_returns_minus_one_and_fills),
		cmocka_unit_test(test_null_is_allowed),
		cmocka_unit_test(test_one_that_is_handed_on_stays_as_it_is),
		cmocka_unit_test(test_errno_becomes_a_kind),
		cmocka_unit_test(test_too_many_files_name_the_limit),
		cmocka_unit_test(test_wrap_puts_words_in_front_and_keeps_the_kind),
		cmocka_unit_test(test_long_texts_keep_their_reason),
		cmocka_unit_test(test_what_is_not_utf8_is_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
