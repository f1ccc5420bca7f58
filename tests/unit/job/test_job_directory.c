/* May the job start: this command, in this directory, with the parts that could be set up? */
#include "bare_job.h"

#include "heard.h"

static int no_command;
static enum err_kind unsafe, unprepared;
static bool is_working_directory;

int __wrap_command_check(const char *command, const char *directory, struct err *err);
int __wrap_command_check(const char *command, const char *directory, struct err *err)
{
	assert_true(command && directory);
	if (no_command)
		err_set(err, ERR_NOT_FOUND, "no such command");
	return no_command;
}

int __wrap_directory_check_run(const struct directory_check *check, const char **advice,
			       struct err *err);
int __wrap_directory_check_run(const struct directory_check *check, const char **advice,
			       struct err *err)
{
	assert_string_equal(check->directory, "ckpt");
	*advice = "do this";
	return unsafe ? err_set(err, unsafe, "unsafe") : 0;
}

bool __wrap_directory_check_is_working_directory(const char *directory);
bool __wrap_directory_check_is_working_directory(const char *directory)
{
	assert_non_null(directory);
	return is_working_directory;
}

int __wrap_workspace_prepare(struct workspace *workspace, struct err *err);
int __wrap_workspace_prepare(struct workspace *workspace, struct err *err)
{
	assert_non_null(workspace);
	note_call("prepare");
	return unprepared ? err_set(err, unprepared, "cannot be made") : 0;
}

static struct job *startable(void)
{
	static struct job job;
	static char word[] = "train", *command[] = {word, NULL}, directory[] = "/data/ckpt";

	bare_job_init(&job);
	bare_config.command = command;
	bare_config.checkpoint_dir = "ckpt";
	job.workspace.directory = directory;
	job.store = "file:///s";
	no_command = 0;
	unsafe = unprepared = ERR_NONE;
	is_working_directory = false;
	return &job;
}

static int check(struct job *job, char reason[160], const char **heard)
{
	int code;

	reason[0] = '\0';
	*heard = HEARD(code = job_check_start(job, reason));
	return code;
}

static void a_command_that_cannot_be_run(void **state)
{
	struct job *job = startable();
	const char *heard;
	char reason[160];

	(void)state;
	assert_int_equal(check(job, reason, &heard), 0);
	assert_false(job->command_refused);
	assert_string_equal(reason, "");
	no_command = 127;
	unsafe = ERR_INVALID;
	assert_int_equal(check(job, reason, &heard), 127);
	assert_true(job->command_refused);
	assert_string_equal(reason, "no such command");
	/* It is said once it is known that the job has not finished. */
	assert_string_equal(heard, "");
}

/* Nobody has asked for anything to be saved there: then the job runs without. */
static void a_directory_that_will_not_do(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 16; bits++) {
		struct job *job = startable();
		bool refuses = bits & 7;
		const char *heard;
		char reason[160];
		int code;

		unsafe = bits & 8 ? ERR_NO_SPACE : ERR_INVALID;
		bare_config.directory_chosen = bits & 1;
		job->store_is_needed = bits & 2;
		bare_config.strict = bits & 4;
		code = check(job, reason, &heard);
		assert_int_equal(code, !refuses                 ? 0
				       : unsafe == ERR_NO_SPACE ? EXIT_OWN_FAILURE
								: EXIT_CONFIGURATION);
		assert_int_equal(job->store == NULL, !refuses);
		assert_string_equal(reason, refuses ? "unsafe" : "");
		assert_non_null(strstr(heard, refuses ? "error: unsafe: do this"
						      : "checkpoints will not be saved: unsafe"));
		assert_int_equal(job->reports.failed, !refuses);
	}
}

/* Only one that was chosen is made before anything is written. */
static void a_directory_that_was_chosen_is_made(void **state)
{
	struct job *job = startable();
	const char *heard;
	char reason[160];

	(void)state;
	unprepared = ERR_DENIED;
	assert_int_equal(check(job, reason, &heard), 0);
	assert_calls("");
	bare_config.directory_chosen = true;
	assert_int_equal(check(job, reason, &heard), EXIT_CONFIGURATION);
	assert_calls("prepare; ");
	assert_non_null(strstr(heard, "cannot be made: " DIRECTORY_CHECK_CHOOSE));
}

/* All in it is saved, and replaced: where something is saved at all. */
static void the_working_directory_is_warned_of(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = startable();
		const char *heard;
		char reason[160];

		is_working_directory = bits & 1;
		job->store = bits & 2 ? "file:///s" : NULL;
		assert_int_equal(check(job, reason, &heard), 0);
		assert_int_equal(strstr(heard, "everything in /data/ckpt is saved") != NULL,
				 bits == 3);
	}
}

static void what_was_said_before_ends_a_strict_start(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 4; bits++) {
		struct job *job = startable();
		const char *heard;
		char reason[160];

		bare_config.strict = bits & 1;
		job->reports.failed = bits & 2;
		assert_int_equal(check(job, reason, &heard), bits == 3 ? EXIT_CONFIGURATION : 0);
		assert_int_equal(strstr(heard, "--strict turns the failure above") != NULL,
				 bits == 3);
		assert_int_equal(reason[0] != '\0', bits == 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_that_cannot_be_run),
		cmocka_unit_test(a_directory_that_will_not_do),
		cmocka_unit_test(a_directory_that_was_chosen_is_made),
		cmocka_unit_test(the_working_directory_is_warned_of),
		cmocka_unit_test(what_was_said_before_ends_a_strict_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
