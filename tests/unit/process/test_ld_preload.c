#include "process/process.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_compose(void **state)
{
	static const struct {
		const char *existing, *shim, *value;
	} rows[] = {
		{NULL, "/lib/s.so", "/lib/s.so"},
		{"", "/lib/s.so", "/lib/s.so"},
		{"/lib/jemalloc.so", "/lib/s.so", "/lib/jemalloc.so:/lib/s.so"},
		{"/lib/a.so /lib/b.so", "/lib/s.so", "/lib/a.so /lib/b.so:/lib/s.so"},
		{"/lib/s.so", "/lib/s.so", "/lib/s.so"},
		{"/lib/a.so:/lib/s.so", "/lib/s.so", "/lib/a.so:/lib/s.so"},
		{" :/lib/s.so:", "/lib/s.so", " :/lib/s.so:"},
		{"/lib/s.so.1", "/lib/s.so", "/lib/s.so.1:/lib/s.so"},
		{NULL, "s.so", NULL},
		{NULL, "/my lib/s.so", NULL},
		{NULL, "/a:b/s.so", NULL},
		{NULL, "/$LIB/s.so", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *value = NULL;
		struct err err = {0};
		int result = ld_preload_compose(rows[i].existing, rows[i].shim, &value, &err);

		assert_int_equal(result, rows[i].value ? 0 : -1);
		if (rows[i].value)
			assert_string_equal(value, rows[i].value);
		else
			assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void test_sanitizer_options(void **state)
{
	static const char *const rows[][2] = {
		{NULL, "verify_asan_link_order=0"},
		{"", "verify_asan_link_order=0"},
		{"detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"},
		{"verify_asan_link_order=1", "verify_asan_link_order=1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *value = ld_preload_sanitizer_options(rows[i][0]);
		assert_string_equal(value, rows[i][1]);
	}
}

static void test_find(void **state)
{
	auto_free char *path = NULL;
	struct err err = {0};

	(void)state;
	setenv("REPRIEVE_SHIM_PATH", "/nowhere/s.so", 1);
	assert_int_equal(ld_preload_find(&path, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "/nowhere/s.so"));
	setenv("REPRIEVE_SHIM_PATH", "/proc/self/exe", 1);
	assert_int_equal(ld_preload_find(&path, &err), 0);
	assert_true(path[0] == '/' && !text_starts(path, "/proc"));
	unsetenv("REPRIEVE_SHIM_PATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compose),
		cmocka_unit_test(test_sanitizer_options),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
