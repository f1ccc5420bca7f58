/* Which variables REPRIEVE_* nobody reads, and which name was meant. */
#include "base/text.h"
#include "options/options.h"

#include <string.h>

#include "unit.h"

static void check(const char *variable, const char *expected)
{
	auto_free char *copy = text_copy(variable);
	char *environment[] = {copy, NULL};
	const struct verb *verbs[] = {&verb_run};
	auto_(unknown_names_release) struct unknown_names unknown =
		environment_unknown_names(environment, verbs, 1);
	/* What is near to a known name is mistyped. */
	bool near = expected && strchr(expected, '?');

	if (!expected || near)
		assert_null(unknown.others);
	if (!expected || !near)
		assert_null(unknown.mistyped);
	if (expected)
		assert_string_equal(near ? unknown.mistyped : unknown.others, expected);
}

static void each_variable(void **state)
{
	static const struct {
		const char *variable, *expected;
	} cases[] = {
		/* a slip of each kind */
		{"REPRIEVE_STOER=x", "REPRIEVE_STOER (is REPRIEVE_STORE meant?)"},
		{"REPRIEVE_STOR=x", "REPRIEVE_STOR (is REPRIEVE_STORE meant?)"},
		{"REPRIEVE_STOREE=x", "REPRIEVE_STOREE (is REPRIEVE_STORE meant?)"},
		{"REPRIEVE_CHECKPOINTDIR=x",
		 "REPRIEVE_CHECKPOINTDIR (is REPRIEVE_CHECKPOINT_DIR meant?)"},
		{"REPRIEVE_LABEL=a=b", "REPRIEVE_LABEL (is REPRIEVE_LABELS meant?)"},
		/* one without an option */
		{"REPRIEVE_S3_HEADER=a: b", "REPRIEVE_S3_HEADER (is REPRIEVE_S3_HEADERS meant?)"},
		/* nothing is near */
		{"REPRIEVE_BANANA=x", "REPRIEVE_BANANA"},
		{"REPRIEVE_X=x", "REPRIEVE_X"},
		/* those of an image */
		{"REPRIEVE_VERSION=1.2", "REPRIEVE_VERSION"},
		{"REPRIEVE_IMAGE=i", "REPRIEVE_IMAGE"},
		{"REPRIEVE_HOME=/opt", "REPRIEVE_HOME"},
		{"REPRIEVE_OUTER_JOB=a", NULL},
		{"REPRIEVE_=x", "REPRIEVE_"},
		/* what is read, or set by Reprieve */
		{"REPRIEVE_STORE=x", NULL},
		{"REPRIEVE_STEP=5", NULL},
		{"REPRIEVE_NOTICE_KIND=stop", NULL},
		{"REPRIEVE_TEST_EFFORT=2", NULL},
		/* Kubernetes', for Services called reprieve and reprieve-metrics */
		{"REPRIEVE_SERVICE_HOST=10.0.0.1", NULL},
		{"REPRIEVE_SERVICE_PORT_HTTP=80", NULL},
		{"REPRIEVE_PORT=tcp://10.0.0.1:80", NULL},
		{"REPRIEVE_PORT_80_TCP_ADDR=10.0.0.1", NULL},
		{"REPRIEVE_METRICS_PORT_9090_TCP=tcp://10.0.0.1:9090", NULL},
		/* not set, or not ours */
		{"REPRIEVE_STOER=", NULL},
		{"REPRIEVE_STOER", NULL},
		{"REPRIEVE=build/reprieve", NULL},
		{"MY_REPRIEVE_STOER=x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(cases[i].variable, cases[i].expected);
}

static void all_in_one_line(void **state)
{
	char a[] = "REPRIEVE_STOER=x", b[] = "PATH=/bin", c[] = "REPRIEVE_BANANA=y",
	     d[] = "REPRIEVE_VERSION=1", e[] = "REPRIEVE_JOBB=j";
	char *environment[] = {a, b, c, d, e, NULL};
	const struct verb *verbs[] = {&verb_run};
	auto_(unknown_names_release) struct unknown_names unknown =
		environment_unknown_names(environment, verbs, 1);

	(void)state;
	assert_string_equal(unknown.mistyped, "REPRIEVE_STOER (is REPRIEVE_STORE meant?), "
					      "REPRIEVE_JOBB (is REPRIEVE_JOB meant?)");
	assert_string_equal(unknown.others, "REPRIEVE_BANANA, REPRIEVE_VERSION");
}

/* A long name is no overflow. */
static void a_long_name(void **state)
{
	(void)state;
	check("REPRIEVE_"
	      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=x",
	      "REPRIEVE_"
	      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_variable),
		cmocka_unit_test(all_in_one_line),
		cmocka_unit_test(a_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
