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
#define OWN_OPTIONS_MOST 16
#define OWN_OPTION 1000 /* what getopt_long() gives for the first of a verb's own */

static const struct option common[] = {
	{"store", required_argument, NULL, 's'},
	{"job", required_argument, NULL, 'j'},
	{"json", no_argument, NULL, 'J'},
	{"help", no_argument, NULL, 'h'},
};
#define COMMON (sizeof(common) / sizeof(common[0]))

/* The last one is for verbs that send. */
static const struct option transfer[] = {
	{"memory", required_argument, NULL, 'M'},
	{"connections", required_argument, NULL, 'C'},
	{"bandwidth", required_argument, NULL, 'B'},
};
#define TRANSFER (sizeof(transfer) / sizeof(transfer[0]))

static void fill_getopt(const struct query_usage *usage, struct option *longs)
{
	size_t count = COMMON;

	memcpy(longs, common, sizeof(common));
	for (size_t i = 0; usage->moves && i < TRANSFER - !usage->writes; i++)
		longs[count++] = transfer[i];
	for (size_t i = 0; usage->options && usage->options[i].name && i < OWN_OPTIONS_MOST; i++)
		longs[count++] = (struct option){
			.name = usage->options[i].name,
			.has_arg = usage->options[i].flag ? no_argument : required_argument,
			.val = OWN_OPTION + (int)i,
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

static int set_own(const char *verb, const struct query_option *option, void *arg)
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

static int set_store(const char *verb, struct query *query)
{
	if (!*optarg)
		return usage_error(verb, "--store is empty: name one, as file:///DIR", NULL);
	query->store = optarg;
	return -1;
}

static void print_help(const struct query_usage *usage)
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
static int take_option(
	char **argv, int found, const struct query_usage *usage, void *arg, struct query *query)
{
	switch (found) {
	case 's':
		return set_store(argv[0], query);
	case 'j':
		query->job = optarg;
		return -1;
	case 'J':
		query->json = true;
		return -1;
	case 'h':
		print_help(usage);
		return 0;
	case 'M':
	case 'C':
	case 'B':
		return set_transfer(argv[0], found, &query->transfer);
	case '?':
		return usage_error(argv[0], "unknown option", argv[optind - 1]);
	default:
		return set_own(argv[0], &usage->options[found - OWN_OPTION], arg);
	}
}

static int parse(
	int argc, char **argv, const struct query_usage *usage, void *arg, struct query *query)
{
	struct option longs[COMMON + TRANSFER + OWN_OPTIONS_MOST + 1];
	const char *lacking;
	int found, code;

	fill_getopt(usage, longs);
	opterr = 0;
	optind = 0;
	while ((found = getopt_long(argc, argv, ":s:j:h", longs, NULL)) != -1) {
		lacking = options_without_value(found, argv);
		if (lacking)
			return usage_error(argv[0], "a value is missing for", lacking);
		code = take_option(argv, found, usage, arg, query);
		if (code >= 0)
			return code;
	}
	query->words = argv + optind;
	query->word_count = argc - optind;
	if (usage->words && query->word_count < usage->words_most) {
		log_error("%s: a word is missing: write `reprieve %s %s`; see `reprieve %s --help`",
			argv[0], argv[0], usage->words, argv[0]);
		return EXIT_USAGE;
	}
	if (query->word_count > usage->words_most)
		return usage_error(argv[0], "one word too many:", query->words[usage->words_most]);
	return -1;
}

int query_failed(const struct query *query, const struct err *err)
{
	(void)query;
	log_error("%s", err->text);
	return err->kind == ERR_INVALID || err->kind == ERR_DENIED || err->kind == ERR_NEWER
		       ? EXIT_CONFIGURATION
		       : EXIT_FAILURE;
}

/* The first few names are the help: a name that is not there is a mistyped one, mostly. */
int query_check_job(const struct query *query)
{
	auto_free char *names = text_copy("");
	struct storage_jobs jobs = {0};
	struct err err;
	int code = EXIT_CONFIGURATION;

	if (storage_jobs(query->store, &jobs, NULL, &err) < 0)
		return query_failed(query, &err);
	for (size_t i = 0; i < jobs.count; i++) {
		if (text_equal(jobs.names[i], query->job))
			code = -1;
		if (i < NAMES_MOST) {
			char *more = text_format(
				"%s%s%s", names, i > 0 ? ", " : ": it has ", jobs.names[i]);

			free(names);
			names = more;
		}
	}
	if (code >= 0)
		log_error("%s has no job %s%s%s", query->store, query->job,
			jobs.count > 0 ? names : ", nor any other yet",
			jobs.count > NAMES_MOST ? ", ..." : "");
	storage_jobs_release(&jobs);
	return code;
}

/* A list only sees what is missing or cut short: the damaged one may be the latest again when this is tried once more. "" if there is
 * none. The caller frees. */
static char *one_before(const struct query *query, struct snapshot_id damaged)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const char *target = query->word_count > 1 ? query->words[1] : "";
	char id[SNAPSHOT_ID_TEXT];

	if (storage_list(query->storage, &list, NULL, NULL) < 0)
		return text_copy("");
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].state == SNAPSHOT_GOOD &&
			snapshot_id_compare(list.items[i].id, damaged) < 0)
			return text_format("; the good one before it: `reprieve %s %s%s%s --store "
					   "%s --job %s`",
				query->verb, snapshot_id_format(list.items[i].id, id),
				target[0] ? " " : "", target, query->store, query->job);
	return text_copy("");
}

int query_snapshot_failed(const struct query *query, struct snapshot_id id, const struct err *err)
{
	auto_json json_t *body = NULL;
	char text[SNAPSHOT_ID_TEXT];
	struct err second = {0};
	int code;

	if (err->kind == ERR_CORRUPT) {
		auto_free char *before = one_before(query, id);

		log_error("%s%s", err->text, before);
		return EXIT_FAILURE;
	}
	/* Not found may also be something else that the call needed. */
	if (err->kind != ERR_NOT_FOUND ||
		storage_show(query->storage, id, &body, NULL, &second) == 0 ||
		second.kind != ERR_NOT_FOUND)
		return query_failed(query, err);
	code = query_check_job(query);
	if (code >= 0)
		return code;
	log_error("job %s has no snapshot %s in %s: `reprieve list` shows those that there are",
		query->job, snapshot_id_format(id, text), query->store);
	return EXIT_FAILURE;
}

/* A store that is not there is a mistake in its name, mostly. */
static int open_failed(const struct query *query, const struct err *err)
{
	int code = query_failed(query, err);

	return err->kind == ERR_NOT_FOUND ? EXIT_CONFIGURATION : code;
}

/* An empty variable is one that is not set. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Without --job: the only one there is. Several: their names are the help. */
static int choose_job(const struct query_usage *usage, struct query *query)
{
	struct storage_jobs jobs = {0};
	struct err err;
	int status = -1;

	if (query->job)
		return -1;
	if (usage->writes) {
		log_error("which job? Name it with --job");
		return EXIT_USAGE;
	}
	if (storage_jobs(query->store, &jobs, NULL, &err) < 0)
		return open_failed(query, &err);
	if (jobs.count == 1) {
		query->owned_job = text_copy(jobs.names[0]);
		query->job = query->owned_job;
	} else if (jobs.count == 0) {
		log_error("%s holds no jobs yet", query->store);
		status = EXIT_FAILURE;
	} else if (!usage->all_jobs) {
		log_error("%s holds %zu jobs (%s, %s%s): choose one with --job", query->store,
			jobs.count, jobs.names[0], jobs.names[1], jobs.count > 2 ? ", ..." : "");
		status = EXIT_USAGE;
	}
	storage_jobs_release(&jobs);
	return status;
}

int query_begin(int argc, char **argv, const struct query_usage *usage, struct query *query)
{
	return query_begin_with(argc, argv, usage, NULL, query);
}

int query_begin_with(
	int argc, char **argv, const struct query_usage *usage, void *arg, struct query *query)
{
	struct storage_options options = {
		.create = usage->writes, .read_only = !usage->writes && !usage->changes};
	struct err err;
	int code;

	*query = (struct query){.verb = argv[0],
		.store = variable("REPRIEVE_STORE"),
		.job = variable("REPRIEVE_JOB")};
	if (usage->moves && transfer_read_environment(&query->transfer, &err) < 0)
		return query_failed(query, &err);
	code = parse(argc, argv, usage, arg, query);
	if (code >= 0)
		return code;
	if (!query->store) {
		query->owned_store = options_default_store(&err);
		if (!query->owned_store && !usage->no_job)
			return query_failed(query, &err);
		query->store = query->owned_store;
	}
	if (usage->no_job)
		return -1;
	code = choose_job(usage, query);
	if (code >= 0 || !query->job)
		return code;
	options.url = query->store;
	options.job = query->job;
	options.transfer = query->transfer;
	if (storage_open(&options, &query->storage, NULL, &err) < 0)
		return open_failed(query, &err);
	return -1;
}

void query_end(struct query *query)
{
	storage_close(query->storage);
	free(query->owned_store);
	free(query->owned_job);
	*query = (struct query){0};
}

int query_snapshot(struct query *query, const char *word, struct snapshot_id *id)
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
	if (storage_list(query->storage, &list, NULL, &err) < 0)
		return query_failed(query, &err);
	for (size_t i = 0; i < list.count; i++) {
		if (!list.items[i].newest)
			continue;
		*id = list.items[i].id;
		return -1;
	}
	code = list.count == 0 ? query_check_job(query) : -1;
	if (code >= 0)
		return code;
	log_error("job %s has no good snapshot in %s", query->job, query->store);
	return EXIT_FAILURE;
}
