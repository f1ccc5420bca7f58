#include "options/options.h"

#include "base/inside.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define WORDS 8

static int parse(const char *const *words, struct job_config *options, struct err *err)
{
	/* Static, because what is parsed borrows from it. */
	static char texts[WORDS + 3][64];
	static char *argv[WORDS + 3];
	int argc = 1;

	strcpy(texts[0], "run");
	argv[0] = texts[0];
	for (; words[argc - 1]; argc++) {
		strcpy(texts[argc], words[argc - 1]);
		argv[argc] = texts[argc];
	}
	argv[argc] = NULL;
	return run_options_parse(argc, argv, options, err);
}

static void test_defaults(void **state)
{
	const char *const words[WORDS] = {"--", "python", "train.py", "--store", "x"};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	assert_int_equal(parse(words, &options, &err), 0);
	assert_null(options.store);
	assert_string_equal(options.checkpoint_dir, "checkpoints");
	assert_string_equal(options.command[0], "python");
	assert_string_equal(options.command[2], "--store");
	assert_int_equal(options.grace_ms, 30000);
	assert_int_equal(options.ask, REQUEST_AUTO);
	assert_int_equal(options.snapshot_interval_ms, 10000);
	assert_null(file_patterns_match(&options.patterns, "metrics.csv"));
	assert_false(options.strict);
}

static void test_values(void **state)
{
	const char *const words[WORDS] = {"-s",      "file:///x", "--checkpoint-signal=SIGUSR2",
					  "--grace", "2m",        "--restore",
					  "3-12",    "true"};
	const char *all[WORDS + 1] = {0};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	memcpy(all, words, sizeof(words));
	assert_int_equal(parse(all, &options, &err), 0);
	assert_string_equal(options.store, "file:///x");
	assert_true(options.store_chosen);
	assert_int_equal(options.ask, REQUEST_SIGNAL);
	assert_int_equal(options.checkpoint_signal, SIGUSR2);
	assert_int_equal(options.grace_ms, 120000);
	assert_int_equal(options.restore, RESTORE_SPECIFIC);
	assert_int_equal(options.restore_id.attempt, 3);
	assert_int_equal(options.restore_id.sequence, 12);
	assert_string_equal(options.command[0], "true");
}

/* Each says what and where in one line. */
static void test_refusals(void **state)
{
	static const struct {
		const char *words[WORDS];
		const char *says;
	} rows[] = {
		{{"--checkpoint-signal", "BANG", "--", "true"}, "'BANG'"},
		{{"--restore", "yesterday", "--", "true"}, "'yesterday'"},
		{{"--checkpoint-dir", "", "--", "true"}, "--checkpoint-dir"},
		{{"--checkpoint-signal", "KILL", "--", "true"}, "no job can catch SIGKILL"},
		{{"--checkpoint-signal", "SIGSTOP", "--", "true"}, "no job can catch SIGSTOP"},
		{{"--checkpoint-signal", "USR1", "--checkpoint-command", "true", "--", "true"},
		 "--checkpoint-signal and --checkpoint-command"},
		{{"--checkpoint-command", "true", "--checkpoint-signal=none", "--", "true"},
		 "--checkpoint-signal and --checkpoint-command"},
		{{"--memory", "31MiB", "--", "true"}, "32 MiB"},
		{{"--bandwidth", "10", "--", "true"}, "unit"},
		{{"--metrics", "foo:bar", "--", "true"}, "--metrics: invalid address 'foo:bar'"},
		{{"--metrics", "localhost:9090", "--", "true"}, "invalid address"},
		{{"--metrics", "::1:9090", "--", "true"}, "invalid address"},
		{{"--flush-time", "0.5", "--", "true"}, "write 1.0 s or more"},
		{{"--mtbf", "30", "--", "true"}, "write 1 min 0 s or more"},
		{{"--max-no-progress", "1001", "--", "true"}, "write 1000 or less"},
		{{"--exit-policy", "cron", "--", "true"}, "write one of posix, k8s, "},
		{{"--exclude", "", "--", "true"}, "--exclude: invalid pattern '': it is empty"},
		{{"--exclude", "a,,b", "--", "true"}, "it is empty"},
		{{"--running", "/tmp/x.csv", "--", "true"},
		 "--running: invalid pattern '/tmp/x.csv': write it relative"},
		{{"--include", "a/../../b", "--", "true"},
		 "--include: invalid pattern 'a/../../b'"},
		{{"--exclude", "..", "--", "true"}, "'..' leads out"},
		{{"--snapshot-interval", "often", "--", "true"}, "'often'"},
		{{0}, "missing command"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(job_config_release) struct job_config options = {0};
		struct err err;

		assert_int_equal(parse(rows[i].words, &options, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (!strstr(err.text, rows[i].says))
			fail_msg("'%s' does not say '%s'", err.text, rows[i].says);
	}
}

static void test_the_command_line_wins_over_the_environment(void **state)
{
	const char *const words[WORDS] = {"--store", "file:///line", "--", "true"};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	setenv("REPRIEVE_STORE", "file:///environment", 1);
	setenv("REPRIEVE_GRACE", "7", 1);
	setenv("REPRIEVE_STRICT", "1", 1);
	assert_int_equal(parse(words, &options, &err), 0);
	assert_string_equal(options.store, "file:///line");
	assert_int_equal(options.grace_ms, 7000);
	assert_true(options.strict);
	setenv("REPRIEVE_GRACE", "never", 1);
	assert_int_equal(parse(words, &options, &err), -1);
	assert_non_null(strstr(err.text, "REPRIEVE_GRACE"));
	unsetenv("REPRIEVE_STORE");
	unsetenv("REPRIEVE_GRACE");
	unsetenv("REPRIEVE_STRICT");
}

static void test_transfer(void **state)
{
	const char *const words[WORDS] =
		{"--memory",         "1GiB",         "--bandwidth", "1.5MB/s",
		 "--connections=64", "--flush-time", "5m",          "true"};
	const char *const rest[WORDS] = {"--", "true"};
	const char *all[WORDS + 1] = {0};
	auto_(job_config_release) struct job_config options = {0};
	struct storage_options storage = {0};
	struct err err;

	(void)state;
	memcpy(all, words, sizeof(words));
	assert_int_equal(parse(all, &options, &err), 0);
	assert_int_equal(options.flush_ms, 300000);
	storage.transfer = options.transfer;
	assert_int_equal(storage.transfer.memory_bytes, 1 << 30);
	assert_int_equal(storage.transfer.bandwidth_bytes_per_second, 1500000);
	assert_int_equal(storage.transfer.connections, 64);
	setenv("REPRIEVE_BANDWIDTH", "8GB", 1);
	assert_int_equal(parse(rest, &options, &err), 0);
	assert_int_equal(options.transfer.bandwidth_bytes_per_second, 8000000000);
	setenv("REPRIEVE_BANDWIDTH", "8GB/h", 1);
	assert_int_equal(parse(rest, &options, &err), -1);
	assert_non_null(strstr(err.text, "REPRIEVE_BANDWIDTH"));
	unsetenv("REPRIEVE_BANDWIDTH");
}

/* What one says in the environment for all runs, one run may replace by the other way to ask. */
/* The environment's patterns stay when the command line adds some. */
static void test_patterns(void **state)
{
	const char *const words[WORDS + 3] = {"--exclude", "wandb",       "--running=*.npy",
					      "--include", "a.csv,b.csv", "--",
					      "true"};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	setenv("REPRIEVE_EXCLUDE", "cache,*.tmp", 1);
	setenv("REPRIEVE_SNAPSHOT_INTERVAL", "0", 1);
	assert_int_equal(parse(words, &options, &err), 0);
	unsetenv("REPRIEVE_EXCLUDE");
	unsetenv("REPRIEVE_SNAPSHOT_INTERVAL");
	assert_int_equal(options.snapshot_interval_ms, 0);
	assert_int_equal(file_patterns_kind(&options.patterns, "wandb/x"), FILE_KIND_EXCLUDED);
	assert_int_equal(file_patterns_kind(&options.patterns, "cache/x"), FILE_KIND_EXCLUDED);
	assert_int_equal(file_patterns_kind(&options.patterns, "x.tmp"), FILE_KIND_EXCLUDED);
	assert_int_equal(file_patterns_kind(&options.patterns, "replay.npy"), FILE_KIND_RUNNING);
	assert_int_equal(file_patterns_kind(&options.patterns, "b.csv"), FILE_KIND_ORDINARY);
	assert_int_equal(file_patterns_kind(&options.patterns, "c.csv"), FILE_KIND_RUNNING);
}

static void test_one_way_to_ask(void **state)
{
	const char *const words[WORDS] = {"--checkpoint-command", "touch /x", "--", "true"};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	setenv("REPRIEVE_CHECKPOINT_SIGNAL", "USR1", 1);
	assert_int_equal(parse(words, &options, &err), 0);
	assert_int_equal(options.ask, REQUEST_COMMAND);
	setenv("REPRIEVE_CHECKPOINT_COMMAND", "touch /y", 1);
	assert_int_equal(parse(words, &options, &err), -1);
	assert_non_null(strstr(err.text, "REPRIEVE_CHECKPOINT_SIGNAL"));
	unsetenv("REPRIEVE_CHECKPOINT_SIGNAL");
	unsetenv("REPRIEVE_CHECKPOINT_COMMAND");
}

/* Options whose words are stored as a truth. */
static void test_choices(void **state)
{
	const char *const words[WORDS] =
		{"--forward=group", "--shield=off",       "--requeue=off", "--watch=poll",
		 "--shim=off",      "--run-identity=off", "true"};
	const char *const others[WORDS] = {"--forward=job", "--shield=on", "--requeue=auto",
					   "--watch=auto",  "--shim=on",   "--run-identity=on",
					   "true"};
	auto_(job_config_release) struct job_config options = {0};
	struct err err;

	(void)state;
	assert_int_equal(parse(words, &options, &err), 0);
	assert_true(options.signal_rules.to_group && options.polls);
	assert_false(options.sigterm_hold || options.requeue || options.run_identity);
	assert_int_equal(options.shim, SHIM_USE_OFF);
	assert_int_equal(parse(others, &options, &err), 0);
	assert_false(options.signal_rules.to_group || options.polls);
	assert_true(options.sigterm_hold && options.requeue && options.run_identity);
	assert_int_equal(options.shim, SHIM_USE_ON);
}

static bool is_handed_on(const char *variable)
{
	for (const char *const *name = inside_handed_on; *name; name++)
		if (strcmp(*name, variable) == 0)
			return true;
	return false;
}

/* What says which run one is, is handed on to its job, and nothing else that is an option. */
static void test_what_is_of_one_run_is_handed_on(void **state)
{
	(void)state;
	for (const struct option_group *group = verb_run.groups; group->rows; group++)
		for (const struct option_row *row = group->rows; row->name; row++)
			if (row->variable && row->of_one_run != is_handed_on(row->variable))
				fail_msg("%s", row->variable);
}

/* As an outer run has handed it on it is no option; set to something else it is. */
static void test_what_an_outer_run_has_handed_on(void **state)
{
	const char *const words[WORDS] = {"true"};
	static const struct {
		const char *value, *outer, *taken;
	} rows[] = {
		{"mine", "mine", NULL},
		{"case-a", "mine", "case-a"},
		{"case-a", "", "case-a"},
		{"case-a", NULL, "case-a"},
	};

	(void)state;
	setenv("REPRIEVE_ATTEMPT", "2", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(job_config_release) struct job_config options = {0};
		struct err err;

		setenv("REPRIEVE_JOB", rows[i].value, 1);
		unsetenv("REPRIEVE_OUTER_JOB");
		if (rows[i].outer)
			setenv("REPRIEVE_OUTER_JOB", rows[i].outer, 1);
		assert_int_equal(parse(words, &options, &err), 0);
		if (rows[i].taken)
			assert_string_equal(options.job, rows[i].taken);
		else
			assert_null(options.job);
	}
	unsetenv("REPRIEVE_ATTEMPT");
	unsetenv("REPRIEVE_JOB");
	unsetenv("REPRIEVE_OUTER_JOB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_the_command_line_wins_over_the_environment),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_one_way_to_ask),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_what_is_of_one_run_is_handed_on),
		cmocka_unit_test(test_what_an_outer_run_has_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
