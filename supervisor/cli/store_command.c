#include "store_command.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "options/options.h"
#include "scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 5 /* of jobs, in one line */
/* Beside a job that saves and forgets ten times a second. */
#define FINDS_MOST 8

static int set_job(void *command, const char *value, struct err *err)
{
	if (job_name_check(value, err) < 0)
		return -1;
	((struct store_command *)command)->job = value;
	return 0;
}

// clang-format off
const struct option_row one_store_rows[] = {
	{"store", 's', "URL", "REPRIEVE_STORE",
		"where the snapshots are: file:///DIR, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
		"az://ACCOUNT/CONTAINER/PREFIX (default: file://$XDG_STATE_HOME/reprieve)",
		OPTION_TEXT(struct store_command, store), .least = 1},
	{0},
};

const struct option_row one_job_rows[] = {
	{"job", 'j', "NAME", "REPRIEVE_JOB",
		"which job (default: the only one that the store holds)",
		.set = set_job},
	{0},
};

const struct option_row one_member_rows[] = {
	{"member", 0, "I", NULL,
		"of a snapshot of a gang only what this member has saved, without the directory "
		"member-0000I/ (default: all members, each in a directory of its own)",
		.kind = OPTION_KIND_NUMBER, .size = sizeof(int), .most = STORAGE_GANG_MOST - 1},
	{0},
};

const struct help_row store_command_exits[] = {
	{"0", "done"},
	{"1", "not done"},
	{"78", "wrong configuration: no such store or job, or a place that cannot be used"},
	{0},
};
// clang-format on

int store_command_fail(const struct store_command *command, const struct err *err)
{
	(void)command;
	log_error("%s", err->text);
	return err->kind == ERR_INVALID || err->kind == ERR_UNFIT || err->kind == ERR_DENIED ||
			       err->kind == ERR_VERSION
		       ? EXIT_CONFIGURATION
		       : EXIT_FAILURE;
}

/* The first few names are the help: a name that is not there is a mistyped one, mostly. */
int store_command_check_job(const struct store_command *command)
{
	auto_free char *names = text_copy("");
	struct storage_job_names jobs = {0};
	struct err err;
	int code = EXIT_CONFIGURATION;

	if (storage_list_jobs(command->store, &jobs, NULL, &err) < 0)
		return store_command_fail(command, &err);
	for (size_t i = 0; i < jobs.count; i++) {
		if (text_equal(jobs.names[i], command->job))
			code = -1;
		if (i < NAMES_MOST)
			text_append(&names, "%s%s", i > 0 ? ", " : ": it has ", jobs.names[i]);
	}
	if (code >= 0)
		log_error("%s has no job %s%s%s", command->store, command->job,
			  jobs.count > 0 ? names : ", nor any other yet",
			  jobs.count > NAMES_MOST ? ", ..." : "");
	storage_job_names_release(&jobs);
	return code;
}

char *store_command_job_origin(const char *store, const char *job)
{
	auto_(storage_close) struct storage *storage = NULL;
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct storage_options options = {.url = store, .job = job, .read_only = true};
	auto_(bytes_release) struct bytes text = {0};
	json_t *word;
	size_t i;

	/* job_name.c makes names of a word and the digits of a hash. */
	if (!text_matches(job, "-[0-9a-f]{12}$") ||
	    storage_open(&options, &storage, NULL, NULL) < 0 ||
	    storage_history(storage, 1, &history, NULL, NULL) < 0 || history.count == 0 ||
	    storage_list_snapshots(storage, &list, NULL, NULL) < 0)
		return text_copy("");
	bytes_format(&text, NULL, "  %s:", json_text_or(history.items[0].about, "directory", "?"));
	json_array_foreach(json_object_get(history.items[0].about, "command"), i, word)
		bytes_format(&text, NULL, " %s", json_string_value(word));
	for (i = 0; i < list.count; i++)
		if (list.items[i].newest && list.items[i].step >= 0)
			bytes_format(&text, NULL, ", step %lld of %.16s",
				     (long long)list.items[i].step, list.items[i].created);
		else if (list.items[i].newest)
			bytes_format(&text, NULL, ", of %.16s", list.items[i].created);
	bytes_append(&text, "", 1, NULL);
	return text_copy((const char *)text.data);
}

/* A list only sees what is missing or cut short: the damaged one may be the latest again when this
 * is tried once more. "" if there is none. The caller frees. */
static char *good_snapshot_before(const struct store_command *command, struct snapshot_id damaged)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const char *target = command->words[0] && command->words[1] ? command->words[1] : "";
	auto_free char *word = text_shell_word(target), *store = NULL;
	char id[SNAPSHOT_ID_TEXT];

	if (storage_list_snapshots(command->storage, &list, NULL, NULL) < 0)
		return text_copy("");
	store = text_shell_word(command->store);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].state == SNAPSHOT_GOOD &&
		    snapshot_id_compare(list.items[i].id, damaged) < 0)
			return text_format("; the good one before it: `reprieve %s %s%s%s --store "
					   "%s --job %s`",
					   command->verb, snapshot_id_format(list.items[i].id, id),
					   target[0] ? " " : "", target[0] ? word : "", store,
					   command->job);
	return text_copy("");
}

int store_command_fail_snapshot(const struct store_command *command, struct snapshot_id id,
				const struct err *err)
{
	auto_json json_t *body = NULL;
	char text[SNAPSHOT_ID_TEXT];
	struct err second = {0};
	int code;

	if (err->kind == ERR_CORRUPT) {
		auto_free char *before = good_snapshot_before(command, id);

		log_error("%s%s", err->text, before);
		return EXIT_FAILURE;
	}
	/* Not found may also be something else that the call needed. */
	if (err->kind != ERR_NOT_FOUND ||
	    storage_read_manifest(command->storage, id, &body, NULL, &second) == 0 ||
	    second.kind != ERR_NOT_FOUND)
		return store_command_fail(command, err);
	code = store_command_check_job(command);
	if (code >= 0)
		return code;
	log_error("job %s has no snapshot %s in %s: `reprieve list` shows those that there are",
		  command->job, snapshot_id_format(id, text), command->store);
	return EXIT_FAILURE;
}

/* A store that is not there is a mistake in its name, mostly. */
static int open_failed(const struct store_command *command, const struct err *err)
{
	int code = store_command_fail(command, err);

	return err->kind == ERR_NOT_FOUND ? EXIT_CONFIGURATION : code;
}

/* Without --job: the only one there is. Several: their names are the help. */
static int choose_only_job(struct store_command *command)
{
	struct storage_job_names jobs = {0};
	struct err err;
	int status = -1;

	if (command->job)
		return -1;
	if (command->writes) {
		log_error("%s: no job given: write --job NAME", command->verb);
		return EXIT_USAGE;
	}
	if (storage_list_jobs(command->store, &jobs, NULL, &err) < 0)
		return open_failed(command, &err);
	if (jobs.count == 1) {
		command->owned_job = text_copy(jobs.names[0]);
		command->job = command->owned_job;
	} else if (jobs.count == 0) {
		log_error("%s holds no jobs yet", command->store);
		status = EXIT_FAILURE;
	} else if (!command->all_jobs) {
		log_error("%s holds %zu jobs (%s, %s%s): choose one with --job", command->store,
			  jobs.count, jobs.names[0], jobs.names[1], jobs.count > 2 ? ", ..." : "");
		status = EXIT_USAGE;
	}
	storage_job_names_release(&jobs);
	return status;
}

/* The only job, where none is named; -1 to go on, else the exit code. */
static int open_job(struct store_command *command)
{
	struct storage_options storage = {
		.create = command->writes,
		.history_follows = command->writes,
		.read_only = !command->writes && !command->changes,
	};
	struct err err;
	int code = choose_only_job(command);

	if (code >= 0 || !command->job)
		return code;
	storage.url = command->store;
	storage.is_private = command->owned_store != NULL;
	storage.job = command->job;
	storage.transfer = command->transfer;
	if (storage_open(&storage, &command->storage, NULL, &err) < 0)
		return open_failed(command, &err);
	return -1;
}

int store_command_begin(const struct verb *verb, int argc, char **argv, void *options)
{
	struct store_command *command = options;
	auto_free char *waiting = NULL;
	struct slow_warning slow;
	struct err err;
	int code = option_table_parse(verb, argc, argv, options, &command->words);

	if (code >= 0)
		return code;
	command->verb = verb->name;
	if (!command->store) {
		command->owned_store = default_store_url(&err);
		if (!command->owned_store && !command->no_job)
			return store_command_fail(command, &err);
		command->store = command->owned_store;
	}
	if (command->no_job)
		return -1;
	waiting = storage_waiting_text(command->store);
	slow_warning_begin(&slow, STORAGE_SLOW_MS, waiting);
	code = open_job(command);
	slow_warning_end(&slow);
	return code;
}

void store_command_end(struct store_command *command)
{
	storage_close(command->storage);
	free(command->owned_store);
	free(command->owned_job);
	*command = (struct store_command){0};
}

int store_command_find_snapshot(struct store_command *command, const char *word,
				struct snapshot_id *id)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err;
	int code;

	if (snapshot_id_parse(word, id))
		return -1;
	if (!text_equal(word, "latest")) {
		log_error("invalid snapshot '%s': write latest, or an ID that `reprieve list` "
			  "shows",
			  word);
		return EXIT_USAGE;
	}
	if (storage_list_snapshots(command->storage, &list, NULL, &err) < 0)
		return store_command_fail(command, &err);
	for (size_t i = 0; i < list.count; i++) {
		char passed[SNAPSHOT_ID_TEXT];
		const struct snapshot_info *item = &list.items[i];

		snapshot_id_format(item->id, passed);
		/* What is newer may be what is wanted; only another version could tell. */
		if (item->newer) {
			log_error("snapshot %s: %s", passed, item->damage);
			return EXIT_CONFIGURATION;
		}
		if (item->state == SNAPSHOT_DAMAGED)
			log_warn("snapshot %s is damaged, and passed over: %s", passed,
				 item->damage);
		if (!item->newest)
			continue;
		*id = item->id;
		return -1;
	}
	code = list.count == 0 ? store_command_check_job(command) : -1;
	if (code >= 0)
		return code;
	log_error("job %s has no usable snapshot in %s", command->job, command->store);
	return EXIT_FAILURE;
}

bool store_command_find_again(struct store_command *command, const char *word,
			      struct snapshot_id *id, const struct err *err)
{
	return text_equal(word, "latest") && err->kind == ERR_NOT_FOUND &&
	       command->found_again++ < FINDS_MOST &&
	       storage_is_forgotten(command->storage, *id, NULL) &&
	       store_command_find_snapshot(command, word, id) < 0;
}
