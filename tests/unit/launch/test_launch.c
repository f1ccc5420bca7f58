/* Of which commands checkpoints are expected. */
#include "launch/launch.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "heard.h"
#include "shim/shim.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct profile training = {.name = "training"}, format = {.only_format = true};

static void test_by_the_command(void **state)
{
	static const struct {
		const char *command[5];
		const struct profile *profile;
		const char *tasks; /* of the launcher */
		enum expectation expected;
	} rows[] = {
		{{"python", "train.py"}, &training, NULL, EXPECT_BY_COMMAND},
		{{"make"}, NULL, NULL, EXPECT_NOTHING},
		{{"python", "look.py"}, &format, NULL, EXPECT_NOTHING},
		{{"bash", "-c", "cd a && reprieve run -- python train.py"},
		 &training,
		 NULL,
		 EXPECT_NOTHING},
		{{"/usr/bin/reprieve", "run", "python", "train.py"},
		 &training,
		 NULL,
		 EXPECT_NOTHING},
		{{"run", "train.py"}, &training, NULL, EXPECT_BY_COMMAND},
		{{"python", "train.py"}, &training, "1", EXPECT_BY_COMMAND},
		{{"python", "train.py"}, &training, "4", EXPECT_NOTHING},
		{{"python", "train.py"}, &training, "many", EXPECT_BY_COMMAND},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].tasks)
			setenv("OMPI_COMM_WORLD_SIZE", rows[i].tasks, 1);
		else
			unsetenv("OMPI_COMM_WORLD_SIZE");
		if (expectation_of((char *const *)rows[i].command, rows[i].profile) !=
		    rows[i].expected)
			fail_msg("row %zu", i);
	}
	unsetenv("OMPI_COMM_WORLD_SIZE");
}

static void test_the_name_of_a_training(void **state)
{
	static const struct {
		const char *command[4];
		bool is;
	} rows[] = {
		{{"python3", "train.py"}, true}, {{"python3", "a/pretrain_gpt.py", "-v"}, true},
		{{"finetune.py"}, true},         {{"python", "train/look.py"}, false},
		{{"ls", "train"}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (expectation_is_called_training((char *const *)rows[i].command) != rows[i].is)
			fail_msg("row %zu", i);
}

/* --- command check --- */

/* Which commands are refused before anything is begun for them. */

static void test_commands(void **state)
{
	static const struct {
		const char *command;
		int code;
	} rows[] = {
		/* As the shell finds it here, in "/". */
		{"./checkpoints/run.sh", 0},
		{"././checkpoints/run.sh", 0},
		{"checkpoints/run.sh", 0},
		{"./checkpoints2/run.sh", 127},
		{"sh", 0},
		{"/bin/sh", 0},
		{"no-such-program", 127},
		{"/no/such/program", 127},
		{"/dev", 126},
		/* They may come with the restore. */
		{"/checkpoints/run.sh", 0},
		{"/elsewhere/../checkpoints/run.sh", 0},
		{"/checkpoints2/run.sh", 127},
	};

	(void)state;
	assert_int_equal(chdir("/"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err;
		int code = command_check(rows[i].command, "/checkpoints", &err);

		if (code != rows[i].code)
			fail_msg("%s: %d", rows[i].command, code);
	}
}

/* --- child environment --- */

/* The variables that the job gets, and those that it does not. */

/* "NAME=value", or "NAME": it is not among them. */
static void expect(const struct child_environment *environment, const char *pair)
{
	size_t name = strcspn(pair, "=");
	const char *found = "";

	for (char **is = environment->pairs; *is; is++)
		if (strncmp(*is, pair, name) == 0 && (*is)[name] == '=')
			found = *is + name;
	if (strcmp(found, pair + name) != 0)
		fail_msg("\"%s\", and not %s", found, pair);
}

static struct child_environment build(const struct child_facts *facts)
{
	struct child_environment environment = {0};

	child_environment_build(&environment, facts);
	return environment;
}

static void expect_all(const struct child_facts *facts, const char *const *pairs)
{
	auto_(child_environment_release) struct child_environment environment = build(facts);

	for (; *pairs; pairs++)
		expect(&environment, *pairs);
}

static void test_variables(void **state)
{
	struct workspace workspace = {.directory = (char *)"/checkpoints"};
	struct child_facts first =
		{.job = "digits", .step = -1, .workspace = &workspace, .members = 1};
	struct child_facts resumed = {
		.job = "digits",
		.attempt = 3,
		.resuming = true,
		.step = 40,
		.workspace = &workspace,
		.members = 4,
		.member = 2,
		.notice = "/run/notice",
		.channel = "/run/channel",
		.page = "/run/page",
		.run = "abc",
	};

	(void)state;
	expect_all(&first,
		   (const char *const[]){"REPRIEVE_JOB=digits", "REPRIEVE_ATTEMPT=1",
					 "REPRIEVE_RESUMING=0",
					 "REPRIEVE_STEP=", "REPRIEVE_CHECKPOINT_DIR=/checkpoints",
					 "REPRIEVE_MACHINES=1", "REPRIEVE_MACHINE=0",
					 "REPRIEVE_NOTICE_FILE", "REPRIEVE_PAGE", "WANDB_RUN_ID",
					 SHIM_ENV_CHANNEL, NULL});
	expect_all(&resumed,
		   (const char *const[]){"REPRIEVE_ATTEMPT=3", "REPRIEVE_RESUMING=1",
					 "REPRIEVE_STEP=40", "REPRIEVE_MACHINES=4",
					 "REPRIEVE_MACHINE=2", "REPRIEVE_NOTICE_FILE=/run/notice",
					 "REPRIEVE_PAGE=/run/page", "WANDB_RUN_ID=abc",
					 SHIM_ENV_CHANNEL "=/run/channel", "WANDB_RESUME=allow",
					 NULL});
	/* What a run inside compares with: as the job sees it, and not what this one was handed. */
	setenv("REPRIEVE_EVENTS", "/e", 1);
	setenv("REPRIEVE_OUTER_EVENTS", "/outer", 1);
	setenv("SLURM_JOB_ID", "7", 1);
	setenv("REPRIEVE_OUTER_GANG", "4", 1);
	expect_all(&resumed,
		   (const char *const[]){"REPRIEVE_OUTER_JOB=digits",
					 "REPRIEVE_OUTER_CHECKPOINT_DIR=/checkpoints",
					 "REPRIEVE_OUTER_EVENTS=/e",
					 "REPRIEVE_OUTER_SLURM_JOB_ID=7",
					 "REPRIEVE_OUTER_GANG=", "REPRIEVE_OUTER_MEMBER", NULL});
	unsetenv("REPRIEVE_EVENTS");
	unsetenv("REPRIEVE_OUTER_EVENTS");
	unsetenv("SLURM_JOB_ID");
	unsetenv("REPRIEVE_OUTER_GANG");
	resumed.step = 0;
	expect_all(&resumed, (const char *const[]){"REPRIEVE_STEP=0", NULL});
	resumed.run = "";
	expect_all(&resumed, (const char *const[]){"WANDB_RUN_ID", "WANDB_RESUME", NULL});
	resumed.run = "a";
	expect_all(&resumed, (const char *const[]){"WANDB_RUN_ID=a", "WANDB_RESUME=allow", NULL});
	/* What the user has set stands; a sweep chooses its own ids. */
	setenv("WANDB_RUN_ID", "mine", 1);
	expect_all(&resumed, (const char *const[]){"WANDB_RUN_ID", "WANDB_RESUME=allow", NULL});
	setenv("WANDB_SWEEP_ID", "sweep", 1);
	expect_all(&resumed, (const char *const[]){"WANDB_RUN_ID", "WANDB_RESUME", NULL});
	unsetenv("WANDB_RUN_ID");
	unsetenv("WANDB_SWEEP_ID");
}

/* Only where the profile is one that is asked so, and there is a place for its programs. */
static void test_an_environment_like_slurms(void **state)
{
	static const struct profile profile;
	char directory[] = "/tmp/reprieve-test.XXXXXX";
	const struct {
		bool has_profile, like_slurm;
		const char *directory, *job, *said;
	} rows[] = {
		{true, true, directory, "SLURM_JOB_ID=", ""},
		{true, true, NULL, NULL, "no runtime directory"},
		{true, true, "/proc/none", NULL, "cannot emulate Slurm's environment: "},
		{true, false, directory, NULL, ""},
		{false, true, directory, NULL, ""},
	};

	(void)state;
	assert_non_null(mkdtemp(directory));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct workspace workspace = {.directory = directory};
		struct child_facts facts = {
			.job = "digits",
			.workspace = &workspace,
			.profile = rows[i].has_profile ? &profile : NULL,
			.like_slurm = rows[i].like_slurm,
			.slurm_directory = rows[i].directory,
		};
		auto_(child_environment_release) struct child_environment environment = {0};
		const char *said = HEARD(child_environment_build(&environment, &facts));
		bool has = false;

		assert_non_null(strstr(said, rows[i].said));
		assert_int_equal(said[0] == '\0', rows[i].said[0] == '\0');
		for (char **pair = environment.pairs; *pair; pair++)
			has |= strncmp(*pair, "SLURM_JOB_ID=", strlen("SLURM_JOB_ID=")) == 0;
		assert_int_equal(has, rows[i].job != NULL);
	}
	assert_int_equal(file_remove_tree(directory, NULL), 0);
}

/* What is renamed from another file system is copied. */
static void test_temporary_files_lie_beside_the_checkpoints(void **state)
{
	static const struct profile local = {.local_tmpdir = true}, other;
	char near[] = "/tmp/reprieve-test.XXXXXX", far[] = "/dev/shm/reprieve-test.XXXXXX";
	const struct {
		const struct profile *profile;
		const char *place, *below, *tmpdir;
		bool set, later; /* the job makes the directory */
	} rows[] = {
		{&local, far, "d", NULL, true, false},
		{&other, far, "d", NULL, false, false},
		{&local, far, "d", "/mine", false, false},
		{&local, near, "d", NULL, false, false},
		{&local, far, "none/d", NULL, false, false},
		{&local, far, "later", NULL, true, true},
		{&local, near, "later", NULL, false, true},
		/* Python's multiprocessing has sockets there. */
		{&local, far, "a-directory-whose-path-is-too-long", NULL, false, false},
	};
	struct stat first, second;

	(void)state;
	if (!mkdtemp(far))
		skip();
	assert_non_null(mkdtemp(near));
	assert_int_equal(stat("/tmp", &first) + stat(far, &second), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && first.st_dev != second.st_dev;
	     i++) {
		auto_free char *directory = text_format("%s/%s", rows[i].place, rows[i].below);
		auto_free char *tmp = text_format("%s.reprieve/tmp", directory);
		auto_free char *pair = text_format("TMPDIR=%s", tmp);
		auto_(child_environment_release) struct child_environment environment = {0};
		struct workspace workspace = {0};
		struct child_facts facts = {.job = "digits",
					    .workspace = &workspace,
					    .profile = rows[i].profile};

		if (!rows[i].later)
			(void)mkdir(directory, 0700);
		workspace_init(&workspace, directory);
		if (rows[i].later)
			free(workspace_path_beside(&workspace, "lock", NULL));
		if (rows[i].tmpdir)
			setenv("TMPDIR", rows[i].tmpdir, 1);
		else
			unsetenv("TMPDIR");
		HEARD(child_environment_build(&environment, &facts));
		expect(&environment, rows[i].set ? pair : "TMPDIR");
		if (rows[i].set) {
			assert_int_equal(stat(tmp, &second), 0);
			assert_int_equal(second.st_mode & 0777, 0700);
		}
		workspace_release(&workspace);
	}
	unsetenv("TMPDIR");
	assert_int_equal(file_remove_tree(near, NULL), 0);
	assert_int_equal(file_remove_tree(far, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_the_command),
		cmocka_unit_test(test_the_name_of_a_training),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_an_environment_like_slurms),
		cmocka_unit_test(test_temporary_files_lie_beside_the_checkpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
