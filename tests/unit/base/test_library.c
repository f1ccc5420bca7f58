/* A library is found once it is needed; what is not there is named, with what to install. */
#include "unit.h"

#include "base/library.h"

#include <math.h>
#include <string.h>

int absent_function(void);
int absent_library(void);

#define COSINE(F) F(cos)
#define ABSENT_FUNCTION(F) F(cosh) F(absent_function)
#define ABSENT_LIBRARY(F) F(absent_library)
LIBRARY(there, "libm.so.6", "libc6", COSINE);
LIBRARY(older, "libm.so.6", "libc6", ABSENT_FUNCTION);
LIBRARY(absent, "libabsent.so.1", "libabsent1", ABSENT_LIBRARY);

static void test_what_is_there_and_what_is_not(void **state)
{
	static const struct {
		struct library *library;
		const char *says[2];
	} rows[] = {
		{&older, {"absent_function", "install the package libc6"}},
		{&absent, {"libabsent.so.1", "install the package libabsent1"}},
	};
	volatile double zero = 0; /* the compiler knows cos(0) */
	struct err err;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(library_open(&there, &err), 0);
	assert_true(cos(zero) == 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(library_open(rows[i].library, &err), -1);
		assert_non_null(strstr(err.text, rows[i].says[0]));
		assert_non_null(strstr(err.text, rows[i].says[1]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_there_and_what_is_not)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
