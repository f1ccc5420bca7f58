#include "store_command.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "run_options.h"
#include "scheduler/scheduler.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage_error(const char *verb, const char *what, const char *word)
{
	log_error("%s: %s%s%s%s: see `reprieve %s --help`", verb, what, word ? " '" : "",
		  word ? word : "", word ? "'" : "", verb);
	return EXIT_USAGE;
}

#define NAMES_MOST 5 /* of jobs, in one line */
#define COMMAND_OPTIONS_MOST 16
#define COMMAND_OPTION 1000 /* what getopt_long() gives for the first of a verb's own */

static const struct option common_options[] = {
	{"store", required_argument, NULL, 's'},
	{"job", required_argument, NULL, 'j'},
	{"json", no_argument, NULL, 'J'},
	{"help", no_argument, NULL, 'h'},
};
#define COMMON_OPTIONS (sizeof(common_options) / sizeof(common_options[0]))

/* The last one is for verbs that send. */
static const struct option transfer[] = {
	{"memory", required_argument, NULL, 'M'},
	{"connections", required_argument, NULL, 'C'},
	{"bandwidth", required_argument, NULL, 'B'},
};
#define TRANSFER_OPTIONS (sizeof(transfer) / sizeof(transfer[0]))

static void fill_getopt(const struct store_command_usage *usage, struct option *longs)
{
	size_t count = COMMON_OPTIONS;

	memcpy(longs, common_options, sizeof(common_options));
	for (size_t i = 0; usage->moves && i < TRANSFER_OPTIONS - !usage->writes; i++)
		longs[count++] = transfer[i];
	for (size_t i = 0; usage->options && usage->options[i].name && i < COMMAND_OPTIONS_MOST;
	     i++)
		longs[count++] = (struct option){
			.name = usage->options[i].name,
			.has_arg = usage->options[i].flag ? no_argument : required_argument,
			.val = COMMAND_OPTION + (int)i,
		};
	longs[count] = (struct option){0};
}

/* -1 to go on, as everywhere here. */
static int check_set(const char *verb, const char *name, int status, const struct err *err)
{
	if (status == 0)
		return -1;
	log_error("%s: --%s: %s", verb, name, err->text);
	return EXIT_USAGE;
}

static int set_command_option(const char *verb, const struct store_command_option *option,
			      void *arg)
{
	struct err err;
	int status = option->set(arg, option->flag ? "1" : optarg, &err);

	return check_set(verb, option->name, status, &err);
}

static int set_transfer(const char *verb, int found, struct storage_transfer *options)
{
	struct err err;
	int status;

	if (found == 'M') {
		status = transfer_set_memory(options, optarg, &err);
		return check_set(verb, "memory", status, &err);
	}
	if (found == 'C') {
		status = transfer_set_connections(options, optarg, &err);
		return check_set(verb, "connections", status, &err);
	}
	status = transfer_set_bandwidth(options, optarg, &err);
	return check_set(verb, "bandwidth", status, &err);
}

static int set_store(const char *verb, struct store_command *store_command)
{
	if (!*optarg)
		return usage_error(verb, "--store is empty: name one, as file:///DIR", NULL);
	store_command->store = optarg;
	return -1;
}

static void print_help(const struct store_command_usage *usage)
{
	fputs(usage->text, stdout);
	if (!usage->moves)
		return;
	printf("\n"
	       "      --memory SIZE     at most so much for the content on its way (default: "
	       "256MiB)\n"
	       "      --connections N   at once (default: 8 to send and 16 to read; file://: one "
	       "per processor)\n");
	if (usage->writes)
		printf("      --bandwidth RATE  send no faster than that, as 100MB/s\n");
}

/* -1 to go on. */
static int set_option(char **argv, int found, const struct store_command_usage *usage, void *arg,
		      struct store_command *store_command)
{
	switch (found) {
	case 's':
		return set_store(argv[0], store_command);
	case 'j':
		store_command->job = optarg;
		return -1;
	case 'J':
		store_command->json = true;
		return -1;
	case 'h':
		print_help(usage);
		return 0;
	case 'M':
	case 'C':
	case 'B':
		return set_transfer(argv[0], found, &store_command->transfer);
	case '?':
		return usage_error(argv[0], "unknown option", argv[optind - 1]);
	default:
		return set_command_option(argv[0], &usage->options[found - COMMAND_OPTION], arg);
	}
}

static int parse_arguments(int argc, char **argv, const struct store_command_usage *usage,
			   void *arg, struct store_command *store_command)
{
	struct option longs[COMMON_OPTIONS + TRANSFER_OPTIONS + COMMAND_OPTIONS_MOST + 1];
	const char *lacking;
	int found, code;

	fill_getopt(usage, longs);
	opterr = 0;
	optind = 0;
	while ((found = getopt_long(argc, argv, ":s:j:h", longs, NULL)) != -1) {
		lacking = run_options_missing_value(found, argv);
		if (lacking)
			return usage_error(argv[0], "a value is missing for", lacking);
		code = set_option(argv, found, usage, arg, store_command);
		if (code >= 0)
			return code;
	}
	store_command->words = argv + optind;
	store_command->word_count = argc - optind;
	if (usage->words && store_command->word_count < usage->words_most) {
		log_error("%s: a word is missing: write `reprieve %s %s`; see `reprieve %s --help`",
			  argv[0], argv[0], usage->words, argv[0]);
		return EXIT_USAGE;
	}
	if (store_command->word_count > usage->words_most)
		return usage_error(argv[0],
				   "one word too many:", store_command->words[usage->words_most]);
	return -1;
}

int store_command_fail(const struct store_command *store_command, const struct err *err)
{
	(void)store_command;
	log_error("%s", err->text);
	return err->kind == ERR_INVALID || err->kind == ERR_DENIED || err->kind == ERR_VERSION
		       ? EXIT_CONFIGURATION
		       : EXIT_FAILURE;
}

/* The first few names are the help: a name that is not there is a mistyped one, mostly. */
int store_command_check_job(const struct store_command *store_command)
{
	auto_free char *names = text_copy("");
	struct storage_job_names jobs = {0};
	struct err err;
	int code = EXIT_CONFIGURATION;

	if (storage_list_jobs(store_command->store, &jobs, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	for (size_t i = 0; i < jobs.count; i++) {
		if (text_equal(jobs.names[i], store_command->job))
			code = -1;
		if (i < NAMES_MOST) {
			char *more = text_format("%s%s%s", names, i > 0 ? ", " : ": it has ",
						 jobs.names[i]);

			free(names);
			names = more;
		}
	}
	if (code >= 0)
		log_error("%s has no job %s%s%s", store_command->store, store_command->job,
			  jobs.count > 0 ? names : ", nor any other yet",
			  jobs.count > NAMES_MOST ? ", ..." : "");
	storage_job_names_release(&jobs);
	return code;
}

/* A list only sees what is missing or cut short: the damaged one may be the latest again when this
 * is tried once more. "" if there is none. The caller frees. */
static char *good_snapshot_before(const struct store_command *store_command,
				  struct snapshot_id damaged)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const char *target = store_command->word_count > 1 ? store_command->words[1] : "";
	char id[SNAPSHOT_ID_TEXT];

	if (storage_list_snapshots(store_command->storage, &list, NULL, NULL) < 0)
		return text_copy("");
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].state == SNAPSHOT_GOOD &&
		    snapshot_id_compare(list.items[i].id, damaged) < 0)
			return text_format("; the good one before it: `reprieve %s %s%s%s --store "
					   "%s --job %s`",
					   store_command->verb,
					   snapshot_id_format(list.items[i].id, id),
					   target[0] ? " " : "", target, store_command->store,
					   store_command->job);
	return text_copy("");
}

int store_command_fail_snapshot(const struct store_command *store_command, struct snapshot_id id,
				const struct err *err)
{
	auto_json json_t *body = NULL;
	char text[SNAPSHOT_ID_TEXT];
	struct err second = {0};
	int code;

	if (err->kind == ERR_CORRUPT) {
		auto_free char *before = good_snapshot_before(store_command, id);

		log_error("%s%s", err->text, before);
		return EXIT_FAILURE;
	}
	/* Not found may also be something else that the call needed. */
	if (err->kind != ERR_NOT_FOUND ||
	    storage_read_manifest(store_command->storage, id, &body, NULL, &second) == 0 ||
	    second.kind != ERR_NOT_FOUND)
		return store_command_fail(store_command, err);
	code = store_command_check_job(store_command);
	if (code >= 0)
		return code;
	log_error("job %s has no snapshot %s in %s: `reprieve list` shows those that there are",
		  store_command->job, snapshot_id_format(id, text), store_command->store);
	return EXIT_FAILURE;
}

/* A store that is not there is a mistake in its name, mostly. */
static int open_failed(const struct store_command *store_command, const struct err *err)
{
	int code = store_command_fail(store_command, err);

	return err->kind == ERR_NOT_FOUND ? EXIT_CONFIGURATION : code;
}

/* An empty variable is one that is not set. */
static const char *environment_value(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Without --job: the only one there is. Several: their names are the help. */
static int choose_only_job(const struct store_command_usage *usage,
			   struct store_command *store_command)
{
	struct storage_job_names jobs = {0};
	struct err err;
	int status = -1;

	if (store_command->job)
		return -1;
	if (usage->writes) {
		log_error("which job? Name it with --job");
		return EXIT_USAGE;
	}
	if (storage_list_jobs(store_command->store, &jobs, NULL, &err) < 0)
		return open_failed(store_command, &err);
	if (jobs.count == 1) {
		store_command->owned_job = text_copy(jobs.names[0]);
		store_command->job = store_command->owned_job;
	} else if (jobs.count == 0) {
		log_error("%s holds no jobs yet", store_command->store);
		status = EXIT_FAILURE;
	} else if (!usage->all_jobs) {
		log_error("%s holds %zu jobs (%s, %s%s): choose one with --job",
			  store_command->store, jobs.count, jobs.names[0], jobs.names[1],
			  jobs.count > 2 ? ", ..." : "");
		status = EXIT_USAGE;
	}
	storage_job_names_release(&jobs);
	return status;
}

int store_command_begin(int argc, char **argv, const struct store_command_usage *usage,
			struct store_command *store_command)
{
	return store_command_begin_with(argc, argv, usage, NULL, store_command);
}

int store_command_begin_with(int argc, char **argv, const struct store_command_usage *usage,
			     void *arg, struct store_command *store_command)
{
	struct storage_options options = {
		.create = usage->writes,
		.read_only = !usage->writes && !usage->changes,
	};
	struct err err;
	int code;

	*store_command = (struct store_command){
		.verb = argv[0],
		.store = environment_value("REPRIEVE_STORE"),
		.job = environment_value("REPRIEVE_JOB"),
	};
	if (usage->moves && transfer_read_environment(&store_command->transfer, &err) < 0)
		return store_command_fail(store_command, &err);
	code = parse_arguments(argc, argv, usage, arg, store_command);
	if (code >= 0)
		return code;
	if (!store_command->store) {
		store_command->owned_store = run_options_default_store(&err);
		if (!store_command->owned_store && !usage->no_job)
			return store_command_fail(store_command, &err);
		store_command->store = store_command->owned_store;
	}
	if (usage->no_job)
		return -1;
	code = choose_only_job(usage, store_command);
	if (code >= 0 || !store_command->job)
		return code;
	options.url = store_command->store;
	options.job = store_command->job;
	options.transfer = store_command->transfer;
	if (storage_open(&options, &store_command->storage, NULL, &err) < 0)
		return open_failed(store_command, &err);
	return -1;
}

void store_command_end(struct store_command *store_command)
{
	storage_close(store_command->storage);
	free(store_command->owned_store);
	free(store_command->owned_job);
	*store_command = (struct store_command){0};
}

int store_command_find_snapshot(struct store_command *store_command, const char *word,
				struct snapshot_id *id)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err;
	int code;

	if (snapshot_id_parse(word, id))
		return -1;
	if (!text_equal(word, "latest")) {
		log_error("'%s' is no snapshot: write latest, or an ID that `reprieve list` shows",
			  word);
		return EXIT_USAGE;
	}
	if (storage_list_snapshots(store_command->storage, &list, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	for (size_t i = 0; i < list.count; i++) {
		if (!list.items[i].newest)
			continue;
		*id = list.items[i].id;
		return -1;
	}
	code = list.count == 0 ? store_command_check_job(store_command) : -1;
	if (code >= 0)
		return code;
	log_error("job %s has no good snapshot in %s", store_command->job, store_command->store);
	return EXIT_FAILURE;
}
