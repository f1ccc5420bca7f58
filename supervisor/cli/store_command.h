/* What the verbs that look into a store have in common: --store, --job, --json,
 * and how they fail. */
#ifndef STORE_COMMAND_H
#define STORE_COMMAND_H

#include "base/err.h"
#include "storage/storage.h"
#include "transfer_options.h"

#include <stdbool.h>

struct store_command {
	const char *store; /* URL, from --store, REPRIEVE_STORE or the default */
	const char *job;   /* from --job or REPRIEVE_JOB; else the only one that the store holds */
	bool json;
	const char *verb;
	char **words; /* what is left: IDs, directories; NULL-terminated */
	int word_count;
	struct storage *storage;
	struct storage_transfer transfer; /* for verbs that move content */

	char *owned_store, *owned_job; /* private */
};

/* An option that only one verb has. `value` of a flag is "1". */
struct store_command_option {
	const char *name;
	bool flag;
	int (*set)(void *arg, const char *value, struct err *err);
};

struct store_command_usage {
	const char *text;  /* the whole --help */
	const char *words; /* those that it needs, as in its usage line; NULL: none */
	int words_most;
	bool writes;   /* open for writing; make the store if it is missing */
	bool changes;  /* open for writing, but only what is there already */
	bool moves;    /* content: takes --memory and --connections, and --bandwidth if it writes */
	bool no_job;   /* nothing is opened: the store's URL is found, or is NULL */
	bool all_jobs; /* without --job and with several jobs: leave `storage` NULL */
	const struct store_command_option *options; /* ended by one without a name; NULL: none */
};

/*
 * Parses, opens, and says in one line on stderr what is wrong. Returns -1 to go on; otherwise the
 * exit code to leave with (0 after --help, 64, 78, or 1 when the store holds nothing).
 */
int store_command_begin(int argc, char **argv, const struct store_command_usage *usage,
			struct store_command *store_command);
/* The same with the verb's own options: `arg` is what their set() gets. */
int store_command_begin_with(int argc, char **argv, const struct store_command_usage *usage,
			     void *arg, struct store_command *store_command);
void store_command_end(struct store_command *store_command);

/* One line on stderr and the exit code that goes with the kind: 78 for what the user can mend in
 * the configuration, 1 otherwise. */
int store_command_fail(const struct store_command *store_command, const struct err *err);

/* The same for a call about one snapshot: one that is not there is said as such, and of a damaged
 * one the good one before it. */
int store_command_fail_snapshot(const struct store_command *store_command, struct snapshot_id id,
				const struct err *err);

/* Of a job of which nothing was found: is it in the store at all? Says which there are if not.
 * Returns -1 to go on, else the exit code. */
int store_command_check_job(const struct store_command *store_command);

/* "latest" or an ID. Says what is wrong. Returns -1 to go on, else the exit code. */
int store_command_find_snapshot(struct store_command *store_command, const char *word,
				struct snapshot_id *id);

static inline void cleanup_store_command_end(struct store_command *store_command)
{
	store_command_end(store_command);
}

static inline void cleanup_snapshot_list_release(struct snapshot_list *list)
{
	snapshot_list_release(list);
}

#endif
