/* What may be a bearer token. */
#include "unit.h"

#include "storage/http/token_endpoint.h"

static void tokens(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
		{"ya29.a0-_~+/=", true}, {"x", true},          {NULL, false},  {"", false},
		{"a b", false},          {"a\r\nX: y", false}, {"a\n", false}, {"\x7f", false},
		{"t\xc3\xb6ken", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bearer_token_is_valid(rows[i].text) != rows[i].valid)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
