/* Whether a run is in the job of another one, and what is of that one. */
#include "base/inside.h"

#include "unit.h"

#include <string.h>

/* `arg` is a list of "NAME=value". */
static const char *get(void *arg, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *variable = arg; *variable; variable++)
		if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
			return *variable + length + 1;
	return NULL;
}

static void the_schedulers_job_decides(void **state)
{
	static const struct {
		const char *environment[5];
		bool inside;
	} rows[] = {
		{{"PATH=/bin"}, false},
		{{"REPRIEVE_ATTEMPT="}, false},
		{{"REPRIEVE_ATTEMPT=1"}, true},
		{{"REPRIEVE_ATTEMPT=1", "SLURM_JOB_ID=7", "REPRIEVE_OUTER_SLURM_JOB_ID=7"}, true},
		{{"REPRIEVE_ATTEMPT=1", "REPRIEVE_OUTER_SLURM_JOB_ID=7"}, true},
		{{"REPRIEVE_ATTEMPT=1", "SLURM_JOB_ID=8", "REPRIEVE_OUTER_SLURM_JOB_ID=7"}, false},
		{{"REPRIEVE_ATTEMPT=1", "SLURM_JOB_ID=8"}, false},
		{{"REPRIEVE_ATTEMPT=1", "SLURM_JOB_ID=8", "REPRIEVE_OUTER_SLURM_JOB_ID="}, false},
		{{"REPRIEVE_ATTEMPT=1", "AWS_BATCH_JOB_ID=b", "SLURM_JOB_ID=7",
		  "REPRIEVE_OUTER_SLURM_JOB_ID=7"},
		 false},
		{{"SLURM_JOB_ID=7", "REPRIEVE_OUTER_SLURM_JOB_ID=7"}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (inside_run(get, (void *)rows[i].environment) != rows[i].inside)
			fail_msg("row %zu", i);
}

static void what_has_changed_since_is_an_option(void **state)
{
	static const struct {
		const char *environment[3];
		bool of_outer;
	} rows[] = {
		{{"REPRIEVE_JOB=a"}, false},
		{{"REPRIEVE_JOB=a", "REPRIEVE_OUTER_JOB=a"}, true},
		{{"REPRIEVE_JOB=b", "REPRIEVE_OUTER_JOB=a"}, false},
		{{"REPRIEVE_JOB=b", "REPRIEVE_OUTER_JOB="}, false},
		{{"REPRIEVE_JOB=", "REPRIEVE_OUTER_JOB="}, false},
		{{"REPRIEVE_OUTER_JOB=a"}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (inside_is_of_outer("REPRIEVE_JOB", get, (void *)rows[i].environment) !=
		    rows[i].of_outer)
			fail_msg("row %zu", i);
}

static void names_are_no_options(void **state)
{
	char text[INSIDE_NAME_SIZE];

	(void)state;
	assert_string_equal(inside_outer_name("REPRIEVE_JOB", text), "REPRIEVE_OUTER_JOB");
	assert_string_equal(inside_outer_name("SLURM_JOB_ID", text), "REPRIEVE_OUTER_SLURM_JOB_ID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_schedulers_job_decides),
		cmocka_unit_test(what_has_changed_since_is_an_option),
		cmocka_unit_test(names_are_no_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
