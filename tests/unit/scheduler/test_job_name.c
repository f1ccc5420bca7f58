/* Which name a job gets, from the environments that schedulers really give. */
#include "scheduler/scheduler.h"

#include "base/text.h"

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

static const char *const command[] = {"python", "train.py", NULL};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING LIST("PATH=/bin")

static const struct job_place alone = {0}, of_gang = {.of_gang = true};

static void follows_the_order(void **state)
{
	const struct {
		const char *chosen;
		const char *const *environment;
		const char *text, *origin;
	} rows[] = {
		// clang-format off
		{"mine", LIST("REPRIEVE_JOB=other", "SLURM_JOB_ID=1"), "mine", "--job"},
		{NULL, LIST("REPRIEVE_JOB=other", "SKYPILOT_TASK_ID=s"), "other", "REPRIEVE_JOB"},
		{NULL, LIST("SKYPILOT_TASK_ID=sky-2026-a_b-1", "TORCHELASTIC_RUN_ID=t"),
			"sky-2026-a_b-1", "SKYPILOT_TASK_ID"},
		{NULL, LIST("TORCHELASTIC_RUN_ID=t7", "SLURM_JOB_ID=1"), "t7",
			"TORCHELASTIC_RUN_ID"},
		{NULL, LIST("TORCHELASTIC_RUN_ID=none", "SLURM_JOB_ID=12"), "slurm-12",
			"SLURM_JOB_ID"},
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3"),
			"slurm-12_3", "SLURM_ARRAY_JOB_ID"},
		{NULL, LIST("SLURM_ARRAY_JOB_ID=12", "SLURM_JOB_ID=14"), "slurm-14",
			"SLURM_JOB_ID"},
		/* Tasks that are no gang are jobs of their own. */
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=3"), "slurm-14-3",
			"SLURM_JOB_ID"},
		{NULL,
			LIST("SLURM_JOB_ID=14", "SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3",
				"SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=1"),
			"slurm-12_3-1", "SLURM_ARRAY_JOB_ID"},
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0"), "slurm-14",
			"SLURM_JOB_ID"},
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_PROCID=0", "SLURM_NTASKS=4"), "slurm-14",
			"SLURM_JOB_ID"},
		{NULL,
			LIST("JOBSET_NAME=llm", "REPLICATED_JOB_NAME=workers", "JOB_INDEX=0",
				"JOB_COMPLETION_INDEX=2"),
			"llm-workers-0-2", "JOBSET_NAME"},
		{NULL, LIST("JOB_NAME=fit", "JOB_COMPLETION_INDEX=4"), "fit_4",
			"JOB_NAME and JOB_COMPLETION_INDEX"},
		{NULL, LIST("TRAINING_JOB_NAME=resnet-1"), "resnet-1", "TRAINING_JOB_NAME"},
		{NULL, LIST("AWS_BATCH_JOB_ID=4876da2c-02b0"), "batch-4876da2c-02b0",
			"AWS_BATCH_JOB_ID"},
		{NULL, LIST("REPRIEVE_JOB=", "SLURM_JOB_ID=1"), "slurm-1", "SLURM_JOB_ID"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_name name;
		struct err err;

		assert_int_equal(job_name_find(rows[i].chosen, &alone, get,
					       (void *)rows[i].environment, "/w", command, &name,
					       &err),
				 0);
		assert_string_equal(name.text, rows[i].text);
		assert_string_equal(name.origin, rows[i].origin);
	}
}

/* Several machines that are one job have one name. */
static void names_a_gang_without_its_members(void **state)
{
	const struct {
		const char *const *environment;
		const char *text;
	} rows[] = {
		{LIST("JOBSET_NAME=llm", "REPLICATED_JOB_NAME=workers", "JOB_INDEX=0",
		      "JOB_COMPLETION_INDEX=2"),
		 "llm-workers-0"},
		{LIST("JOB_NAME=fit", "JOB_COMPLETION_INDEX=4"), "fit"},
		{LIST("AWS_BATCH_JOB_ID=4876da2c-02b0#1"), "batch-4876da2c-02b0"},
		{LIST("SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3"), "slurm-12_3"},
		{LIST("SLURM_JOB_ID=14", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=3"), "slurm-14"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_name name;
		struct err err;

		assert_int_equal(job_name_find(NULL, &of_gang, get, (void *)rows[i].environment,
					       "/w", command, &name, &err),
				 0);
		assert_string_equal(name.text, rows[i].text);
		assert_true(name.given);
	}
}

static const char *name_in(const char *const *environment, const char *directory,
			   const char *const *argv, struct job_name *name)
{
	struct err err;

	assert_int_equal(job_name_find(NULL, &alone, get, (void *)environment, directory, argv,
				       name, &err),
			 0);
	return name->text;
}

static void refuses_bad_names_of_the_user(void **state)
{
	char longest[JOB_NAME_MOST + 2];
	const char *const bad[] = {"", "a/b", "..", ".hidden", "-x", "a b", "\xc3\xa9", longest};
	struct job_name name;
	struct err err;

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(job_name_find(bad[i], &alone, get, (void *)NOTHING, "/w", command,
					       &name, &err),
				 -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_int_equal(job_name_find(NULL, &alone, get, (void *)LIST("REPRIEVE_JOB=a/b"), "/w",
				       command, &name, &err),
			 -1);
	assert_non_null(strstr(err.text, "REPRIEVE_JOB"));
	longest[JOB_NAME_MOST] = '\0';
	assert_int_equal(job_name_find(longest, &alone, get, (void *)NOTHING, "/w", command, &name,
				       &err),
			 0);
}

/* Whatever a name comes from, the index is in it, once. */
static void has_the_index_in_it(void **state)
{
	char longest[JOB_NAME_MOST + 1];
	const struct {
		const char *chosen;
		const char *const *environment;
		const char *index, *from, *text;
	} rows[] = {
		// clang-format off
		{"digits", NOTHING, "3", "SLURM_PROCID", "digits-3"},
		{"digits", NOTHING, "3-0", NULL, "digits-3-0"},
		{"digits", NOTHING, "", NULL, "digits"},
		{NULL, LIST("REPRIEVE_JOB=digits"), "3", "SLURM_PROCID", "digits-3"},
		{NULL, LIST("SKYPILOT_TASK_ID=sky"), "1", "SKYPILOT_NODE_RANK", "sky-1"},
		{NULL, LIST("TRAINING_JOB_NAME=fit"), "1", "SM_CURRENT_HOST", "fit-1"},
		{NULL, LIST("TORCHELASTIC_RUN_ID=t7"), "5", "RANK", "t7-5"},
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=3"), "3", "SLURM_PROCID",
			"slurm-14-3"},
		{NULL, LIST("SLURM_JOB_ID=14", "SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID=3"), "3-1", NULL,
			"slurm-14-3-3-1"},
		{NULL, LIST("SLURM_JOB_ID=14"), "3", "OMPI_COMM_WORLD_RANK", "slurm-14-3"},
		{NULL, LIST("JOB_NAME=fit", "JOB_COMPLETION_INDEX=4"), "4", "JOB_COMPLETION_INDEX", "fit_4"},
		{NULL, LIST("JOB_NAME=fit", "JOB_COMPLETION_INDEX=4"), "1", "RANK", "fit_4-1"},
		{NULL, NOTHING, "3", "RANK", "train-94a4fb2bfe2f-3"},
		// clang-format on
	};
	struct job_name name;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_place place = {.index = rows[i].index, .index_from = rows[i].from};

		assert_int_equal(job_name_find(rows[i].chosen, &place, get,
					       (void *)rows[i].environment, "/w", command, &name,
					       &err),
				 0);
		assert_string_equal(name.text, rows[i].text);
	}
	/* There must be room for it. */
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(job_name_find(longest, &(struct job_place){.index = "3"}, get,
				       (void *)NOTHING, "/w", command, &name, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

/* The elements of an array are jobs of their own, whoever named them. */
static void has_the_element_of_an_array_in_it(void **state)
{
#define SLURM "SLURM_JOB_ID=14", "SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3"
	const struct {
		const char *chosen;
		const char *const *environment;
		struct job_place place;
		const char *text;
		size_t stem;
	} rows[] = {
		// clang-format off
		{"sweep", LIST(SLURM), alone, "sweep_3", 0},
		{NULL, LIST("REPRIEVE_JOB=sweep", SLURM), alone, "sweep_3", 0},
		{NULL, LIST(SLURM), alone, "slurm-12_3", strlen("slurm-12")},
		{"slurm-12", LIST("SLURM_ARRAY_JOB_ID=19", "SLURM_ARRAY_TASK_ID=3"), alone, "slurm-12_3", 0},
		{NULL, LIST("TORCHELASTIC_RUN_ID=t7", SLURM), alone, "t7_3", strlen("t7")},
		{"sweep", LIST("SLURM_JOB_ID=14"), alone, "sweep", 0},
		{"sweep", LIST("SLURM_ARRAY_TASK_ID=3"), alone, "sweep", 0},
		{"sweep", LIST("SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=x"), alone, "sweep", 0},
		{"sweep", LIST("JOB_ID=8", "SGE_TASK_ID=5"), alone, "sweep_5", 0},
		{NULL, LIST("JOB_ID=8", "SGE_TASK_ID=5"), alone, "sge-8_5", 5},
		{NULL, LIST("JOB_ID=8", "SGE_TASK_ID=undefined"), alone, "sge-8", 0},
		{NULL, LIST("JOB_ID=8"), alone, "train-94a4fb2bfe2f", 0},
		{NULL, LIST("OAR_JOB_ID=9", "OAR_ARRAY_ID=8", "OAR_ARRAY_INDEX=1"), alone, "oar-8_1", 5},
		{NULL, LIST("LSB_JOBID=8", "LSB_JOBINDEX=0"), alone, "lsf-8", 0},
		{NULL, LIST("LSB_JOBID=8", "LSB_JOBINDEX=2"), alone, "lsf-8_2", 0},
		{NULL, LIST("PBS_JOBID=8.server"), alone, "pbs-8.server", 0},
		{"sweep", LIST("JOB_ID=8", "SGE_TASK_ID=undefined"), alone, "sweep", 0},
		{"sweep", LIST("OAR_JOB_ID=9", "OAR_ARRAY_ID=8", "OAR_ARRAY_INDEX=2"), alone, "sweep_2", 0},
		{"sweep", LIST("AWS_BATCH_JOB_ID=4876:7", "AWS_BATCH_JOB_ARRAY_INDEX=7"), alone, "sweep_7", 0},
		/* with what else tells it from others */
		{"sweep", LIST(SLURM), {.index = "1", .index_from = "SLURM_PROCID"}, "sweep_3-1", 0},
		/* each element is a gang, or a member of one */
		{"sweep", LIST(SLURM), of_gang, "sweep_3", 0},
		{"sweep", LIST(SLURM), {.of_gang = true, .element_is_member = true}, "sweep", 0},
		// clang-format on
	};
	char longest[JOB_NAME_MOST + 1];
	struct job_name name, other;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(job_name_find(rows[i].chosen, &rows[i].place, get,
					       (void *)rows[i].environment, "/w", command, &name,
					       &err),
				 0);
		assert_string_equal(name.text, rows[i].text);
		assert_int_equal(name.stem, rows[i].stem);
	}
	/* The id of AWS Batch has it in it, and once. */
	name_in(LIST("AWS_BATCH_JOB_ID=4876:7", "AWS_BATCH_JOB_ARRAY_INDEX=7"), "/w", command,
		&name);
	name_in(LIST("AWS_BATCH_JOB_ID=4876:7"), "/w", command, &other);
	assert_string_equal(name.text, other.text);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(job_name_find(longest, &alone, get, (void *)LIST(SLURM), "/w", command,
				       &name, &err),
			 -1);
	assert_non_null(strstr(err.text, "no room for \"_3\""));
#undef SLURM
}

/* Inside the job of another run what that one has handed on is its own. */
static void names_a_run_inside_another_one_by_itself(void **state)
{
#define INSIDE(...) LIST("REPRIEVE_ATTEMPT=2", __VA_ARGS__)
#define MINE "REPRIEVE_JOB=mine", "REPRIEVE_OUTER_JOB=mine"
	const char *const *const others[] = {
		INSIDE(MINE, "REPRIEVE_MACHINE=0"),
		INSIDE(MINE, "REPRIEVE_MACHINE=1"),
		INSIDE(MINE, "REPRIEVE_MACHINE=0", "SLURM_PROCID=1"),
		INSIDE(MINE, "REPRIEVE_MACHINE=0", "SLURM_ARRAY_TASK_ID=1"),
		INSIDE(MINE, "REPRIEVE_MACHINE=0", "SLURM_ARRAY_TASK_ID=2"),
		INSIDE("REPRIEVE_JOB=slurm-7", "REPRIEVE_OUTER_JOB=slurm-7", "SLURM_JOB_ID=7",
		       "REPRIEVE_OUTER_SLURM_JOB_ID=7"),
		INSIDE("REPRIEVE_JOB=fit_4", "REPRIEVE_OUTER_JOB=fit_4", "JOB_NAME=fit",
		       "JOB_COMPLETION_INDEX=4"),
		INSIDE("REPRIEVE_JOB=../../etc", "REPRIEVE_OUTER_JOB=../../etc"),
		NOTHING,
	};
	const struct {
		const char *const *environment;
		const char *text;
	} own[] = {
		/* set inside */
		{INSIDE("REPRIEVE_JOB=case-a", "REPRIEVE_OUTER_JOB=mine"), "case-a"},
		{INSIDE("REPRIEVE_JOB=case-a"), "case-a"},
		/* batch jobs that a job has submitted, with its environment */
		{INSIDE(MINE, "REPRIEVE_OUTER_SLURM_JOB_ID=7", "SLURM_JOB_ID=8"), "slurm-8"},
		{INSIDE(MINE, "REPRIEVE_OUTER_SLURM_JOB_ID=7", "SLURM_JOB_ID=9",
			"SLURM_ARRAY_JOB_ID=8", "SLURM_ARRAY_TASK_ID=1"),
		 "slurm-8_1"},
		{INSIDE("REPRIEVE_JOB=case-a", "REPRIEVE_OUTER_JOB=mine", "SLURM_JOB_ID=8"),
		 "case-a"},
		{INSIDE(MINE, "SLURM_JOB_ID=8"), "slurm-8"},
		{INSIDE(MINE, "REPRIEVE_OUTER_SGE_JOB_SPOOL_DIR=/jobs/7.1",
			"SGE_JOB_SPOOL_DIR=/jobs/8.1", "JOB_ID=8", "SGE_TASK_ID=undefined"),
		 "sge-8"},
	};
#undef MINE
#undef INSIDE
	struct job_name names[sizeof(others) / sizeof(others[0])], again;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		name_in(others[i], "/w", command, &names[i]);
		assert_int_equal(strncmp(names[i].text, "train-", 6), 0);
		assert_false(names[i].given);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i].text, names[j].text);
		assert_string_equal(name_in(others[i], "/w", command, &again), names[i].text);
		assert_string_not_equal(name_in(others[i], "/x", command, &again), names[i].text);
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		assert_string_equal(name_in(own[i].environment, "/w", command, &again),
				    own[i].text);
	assert_int_equal(job_name_find("mine", &alone, get, (void *)others[0], "/w", command,
				       &again, &err),
			 0);
	assert_string_equal(again.text, "mine");
}

static void maps_ids_of_schedulers_apart(void **state)
{
	struct job_name one, two;
	char id[400] = "TRAINING_JOB_NAME=";

	(void)state;
	name_in(LIST("AWS_BATCH_JOB_ID=ab:3"), "/w", command, &one);
	name_in(LIST("AWS_BATCH_JOB_ID=ab/3"), "/w", command, &two);
	assert_memory_equal(one.text, "batch-ab_3-", 11);
	assert_memory_equal(two.text, "batch-ab_3-", 11);
	assert_string_not_equal(one.text, two.text);
	name_in(LIST("SKYPILOT_TASK_ID=../../etc"), "/w", command, &one);
	assert_null(strchr(one.text, '/'));
	assert_int_not_equal(one.text[0], '.');
	memset(id + strlen(id), 'x', 300);
	name_in(LIST(id), "/w", command, &one);
	id[strlen(id) - 1] = 'y';
	name_in(LIST(id), "/w", command, &two);
	assert_true(strlen(one.text) <= JOB_NAME_MOST);
	assert_string_not_equal(one.text, two.text);
}

static void fingerprints_directory_and_command(void **state)
{
	struct job_name one, two;

	(void)state;
	name_in(NOTHING, "/w", command, &one);
	assert_string_equal(one.origin, "directory and command");
	/* printf '/w\0python\0train.py\0' | sha256sum */
	assert_string_equal(one.text, "train-94a4fb2bfe2f");
	assert_string_not_equal(one.text, name_in(NOTHING, "/v", command, &two));
	name_in(NOTHING, "/w", LIST("python", "train.py", "--lr", "1"), &two);
	assert_string_not_equal(one.text, two.text);
	/* Where one argument ends and the next begins counts. */
	name_in(NOTHING, "/w", LIST("a", "bc"), &one);
	name_in(NOTHING, "/w", LIST("ab", "c"), &two);
	assert_string_not_equal(strrchr(one.text, '-'), strrchr(two.text, '-'));
}

static void calls_it_by_what_a_person_would_say(void **state)
{
	const struct {
		const char *const *argv;
		const char *prefix;
	} rows[] = {
		{LIST("python3", "/home/me/fit_model.py", "--data", "x.py"), "fit_model-"},
		{LIST("torchrun", "--nproc_per_node", "2", "train.py"), "train-"},
		{LIST("python", "-m", "my.package.trainer", "--x"), "trainer-"},
		{LIST("python", "-m", "torch.distributed.run", "train.py"), "train-"},
		{LIST("./run.sh"), "run-"},
		{LIST("bash", "go.sh"), "go-"},
		{LIST("/usr/bin/xgboost", "conf"), "xgboost-"},
		{LIST("sh", "-c", "exit 0"), "sh-"},
		{LIST("./.hidden"), "_hidden-"},
		{LIST("./a b"), "a_b-"},
		{LIST(""), ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job_name name;

		name_in(NOTHING, "/w", rows[i].argv, &name);
		assert_int_equal(strlen(name.text), strlen(rows[i].prefix) + 12);
		assert_memory_equal(name.text, rows[i].prefix, strlen(rows[i].prefix));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_order),
		cmocka_unit_test(names_a_gang_without_its_members),
		cmocka_unit_test(has_the_index_in_it),
		cmocka_unit_test(has_the_element_of_an_array_in_it),
		cmocka_unit_test(refuses_bad_names_of_the_user),
		cmocka_unit_test(names_a_run_inside_another_one_by_itself),
		cmocka_unit_test(maps_ids_of_schedulers_apart),
		cmocka_unit_test(fingerprints_directory_and_command),
		cmocka_unit_test(calls_it_by_what_a_person_would_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
