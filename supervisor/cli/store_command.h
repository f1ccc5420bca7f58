/* What the verbs that look into a store have in common: --store, --job, --json,
 * and how they fail. */
#ifndef STORE_COMMAND_H
#define STORE_COMMAND_H

#include "options/options.h"
#include "storage/storage.h"

struct store_command {
	/* What the verb does there; all false: it reads. */
	bool writes;   /* opens for writing; makes the store if it is missing */
	bool changes;  /* opens for writing, but only what is there already */
	bool no_job;   /* opens nothing: the store's URL is found, or is NULL */
	bool all_jobs; /* without --job and with several jobs: leaves `storage` NULL */

	const char *store; /* URL, from --store, REPRIEVE_STORE or the default */
	const char *job;   /* from --job or REPRIEVE_JOB; else the only one that the store holds */
	bool json;
	struct storage_transfer transfer; /* for verbs that move content */
	const char *verb;
	char **words; /* what is left: IDs, directories; NULL-terminated */
	struct storage *storage;

	/* private */
	char *owned_store, *owned_job;
	unsigned found_again;
};

/* Of struct store_command. */
extern const struct option_row one_store_rows[], one_job_rows[];
/* Of verbs that do what they are asked for, or do not. */
extern const struct help_row store_command_exits[];

/* --member, into an int that is -1 without it: one member of a gang. */
extern const struct option_row one_member_rows[];

/* The groups of such a verb's table; its own come between. */
#define STORE_COMMAND_STORE_ALONE OPTION_GROUP("Store", one_store_rows, 0)
#define STORE_COMMAND_STORE STORE_COMMAND_STORE_ALONE, OPTION_GROUP(NULL, one_job_rows, 0)
#define STORE_COMMAND_TRANSFER \
	OPTION_GROUP("Transfer", transfer_rows, offsetof(struct store_command, transfer))
#define STORE_COMMAND_BANDWIDTH \
	OPTION_GROUP(NULL, bandwidth_rows, offsetof(struct store_command, transfer))
#define STORE_COMMAND_OTHER                                                     \
	OPTION_GROUP("Other", json_rows, offsetof(struct store_command, json)), \
	{                                                                       \
		0                                                               \
	}

/*
 * Parses, opens, and says in one line on stderr what is wrong. `options` is what the verb's table
 * fills, and begins with a struct store_command that says what the verb does. Returns -1 to go on;
 * otherwise the exit code to leave with (0 after --help, 64, 78, or 1 when the store is empty).
 */
int store_command_begin(const struct verb *verb, int argc, char **argv, void *options);
void store_command_end(struct store_command *command);

/* One line on stderr and the exit code that goes with the kind: 78 for what the user can mend in
 * the configuration, 1 otherwise. */
int store_command_fail(const struct store_command *command, const struct err *err);

/* The same for a call about one snapshot: one that is not there is said as such, and of a damaged
 * one the good one before it. */
int store_command_fail_snapshot(const struct store_command *command, struct snapshot_id id,
				const struct err *err);

/* Of a job of which nothing was found: is it in the store at all? Says which there are if not.
 * Returns -1 to go on, else the exit code. */
int store_command_check_job(const struct store_command *command);

/* Of a job whose name nobody has chosen: "  DIRECTORY: COMMAND, step 120 of DATE"; "" of another.
 * The caller frees. */
char *store_command_job_origin(const char *store, const char *job);

/* "latest" or an ID. Says what is wrong. Returns -1 to go on, else the exit code. */
int store_command_find_snapshot(struct store_command *command, const char *word,
				struct snapshot_id *id);

/*
 * A call about the snapshot that `word` stands for has failed. True: that was the newest one, and
 * it has been forgotten since it was found, because there is a newer one now: *id is that one.
 * False: it is something else, or happens again and again.
 */
bool store_command_find_again(struct store_command *command, const char *word,
			      struct snapshot_id *id, const struct err *err);

/* Also of options that begin with it. */
static inline void cleanup_store_command_end(void *options)
{
	store_command_end(options);
}

#endif
