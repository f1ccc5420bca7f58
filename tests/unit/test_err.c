/* The error type: kinds, wrapping, and what becomes of a text that is too long. */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
}

static void test_errno_becomes_a_kind(void **state)
{
	static const struct {
		int os;
		enum err_kind kind;
	} rows[] = {
		{ENOENT, ERR_NOT_FOUND},
		{EEXIST, ERR_EXISTS},
		{EACCES, ERR_DENIED},
		{EPERM, ERR_DENIED},
		{EROFS, ERR_DENIED},
		{ENOSPC, ERR_NO_SPACE},
		{EDQUOT, ERR_NO_SPACE},
		{ECANCELED, ERR_CANCELLED},
		{EAGAIN, ERR_RETRY},
		{EINTR, ERR_RETRY},
		{ETIMEDOUT, ERR_RETRY},
		{EIO, ERR_FAILED},
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

static void test_long_texts_are_cut_at_the_end(void **state)
{
	char long_text[2000];
	struct err err = {0};

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	err_set(&err, ERR_FAILED, "%s", long_text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_wrap(&err, "outer");
	assert_memory_equal(err.text, "outer: xxx", 10);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_set(&err, ERR_FAILED, "inner");
	err_wrap(&err, "%s", long_text);
	assert_true(strlen(err.text) < sizeof(err.text));
	assert_non_null(strstr(err.text, ": inner"));
	err_os(&err, EIO, "%s", long_text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
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

static void test_every_kind_has_its_own_name(void **state)
{
	(void)state;
	for (int a = ERR_NONE; a <= ERR_FAILED; a++) {
		assert_non_null(err_kind_name((enum err_kind)a));
		for (int b = ERR_NONE; b < a; b++)
			assert_string_not_equal(
				err_kind_name((enum err_kind)a), err_kind_name((enum err_kind)b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_returns_minus_one_and_fills),
		cmocka_unit_test(test_null_is_allowed),
		cmocka_unit_test(test_errno_becomes_a_kind),
		cmocka_unit_test(test_wrap_puts_words_in_front_and_keeps_the_kind),
		cmocka_unit_test(test_long_texts_are_cut_at_the_end),
		cmocka_unit_test(test_what_is_not_utf8_is_replaced),
		cmocka_unit_test(test_every_kind_has_its_own_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
