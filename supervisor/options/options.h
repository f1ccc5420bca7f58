/*
 * supervisor/options/: the options of all verbs, as rows of tables. One parser reads the command
 * line and the environment by them; --help and the shell completions are printed from them.
 *
 *	option_table.c  the parser; which name was meant by a mistyped one; --help
 *	run_options.c   the options of `run`, which fill job_config.h, what the framework's profile
 *			adds to them, and rows that verbs share
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "base/cleanup.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "job_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The command lines of all verbs. A verb is a table: what it is for, examples, its options in
 * groups, what else it takes, its exit codes. All that is said of a command line comes from there:
 * the parser, the environment variables, --help, what is wrong with it in one line,
 * and the completions of the shells (cmd_completion.c).
 */

/* For an option that is none of the kinds below. `options` is where the row's group is stored.
 * `value` is borrowed: it outlives the options. ERR_INVALID says what to write instead; the name
 * of the option is put before it. */
typedef int option_set_fn(void *options, const char *value, struct err *err);

enum option_kind {
	OPTION_KIND_OWN, /* `set` stores it */
	OPTION_KIND_FLAG,
	OPTION_KIND_TEXT,
	OPTION_KIND_NUMBER,
	OPTION_KIND_SIZE,     /* in bytes: "40GB" */
	OPTION_KIND_DURATION, /* in milliseconds: "15m" */
	OPTION_KIND_CHOICE,   /* the index of one of `choices` */
};

/* A row begins with the first five. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct option_row {
	const char *name;
	/* 0: none. */
	char letter;
	/* What it takes, for the help; NULL: it is a flag, whose value is "1". FILE, PATH and
	 * DIR are completed as such. */
	const char *value;
	/* NULL: none. */
	const char *variable;
	const char *help;
	enum option_kind kind;
	/* How many bytes it has where it is stored, and where that is from the beginning of its
	 * group's part. */
	unsigned size;
	size_t at;
	option_set_fn *set;
	/* Of numbers, sizes and durations; of a text 1 if it must not be empty. `most` 0: no
	 * limit. */
	int64_t least, most;
	/* "auto on off". Of other kinds: values to complete that stand for themselves. */
	const char *choices;
	/* More such values, "a, b, c"; the caller frees. NULL: none. */
	char *(*names)(void);
	/* It says which run this is, or where that one alone writes: as another run has handed its
	 * variable on, it is no option (base/inside.h). */
	bool of_one_run;
	/* --help of a verb that has such rows shows them alone, in one line each; --help-all all.
	 */
	bool common;
};

/* How a row of struct `type` stores into `member`; a member of another type does not compile. */
#define OPTION_STORE(type, member, what, check)              \
	.kind = (what), .size = sizeof(((type *)0)->member), \
	.at = offsetof(type, member) + 0 * (check)
#define OPTION_FLAG(type, member) \
	OPTION_STORE(type, member, OPTION_KIND_FLAG, _Generic(((type *)0)->member, bool : 1))
#define OPTION_TEXT(type, member)                    \
	OPTION_STORE(type, member, OPTION_KIND_TEXT, \
		     _Generic(((type *)0)->member, const char * : 1))
#define OPTION_NUMBER(type, member)                                                     \
	OPTION_STORE(type, member, OPTION_KIND_NUMBER,                                  \
		     _Generic(((type *)0)->member, uint16_t : 1, int : 1, unsigned : 1, \
			      int64_t : 1))
#define OPTION_SIZE(type, member) \
	OPTION_STORE(type, member, OPTION_KIND_SIZE, _Generic(((type *)0)->member, uint64_t : 1))
#define OPTION_DURATION(type, member) \
	OPTION_STORE(type, member, OPTION_KIND_DURATION, _Generic(((type *)0)->member, int64_t : 1))
/* An enum, or a bool of which the first choice is false. */
#define OPTION_CHOICE(type, member)                    \
	OPTION_STORE(type, member, OPTION_KIND_CHOICE, \
		     sizeof(char[sizeof(((type *)0)->member) <= sizeof(int) ? 1 : -1]))

struct option_group {
	/* NULL: goes on with the group before it. */
	const char *title;
	/* Ended by one without a name. */
	const struct option_row *rows;
	/* Where in the verb's options that is of which the rows know. */
	size_t at;
	/* The variables of the rows mean another verb. */
	bool no_environment;
};

#define OPTION_GROUP(the_title, the_rows, where)                        \
	{                                                               \
		.title = (the_title), .rows = (the_rows), .at = (where) \
	}

struct help_row {
	const char *left, *text;
};

/* Every row of a verb. */
#define EACH_OPTION(verb, group, row)                                                 \
	for (const struct option_group *group = (verb)->groups; group->rows; group++) \
		for (const struct option_row *row = group->rows; row->name; row++)

struct verb {
	const char *name;
	/* In lower case, without a full stop. */
	const char *summary;
	/* Lines. */
	const char *examples;
	/* Behind the verb, as in the usage line: "ID|latest DIR"; words in lower case stand for
	 * themselves. Several lines for several forms. NULL: nothing. */
	const char *arguments;
	int arguments_least, arguments_most;
	/* What stands behind the options is a command, whose options are not ours. */
	bool takes_command;
	/* --help shows the common options alone, each without details; --help-all all. */
	bool has_help_all;
	/* Whose options may stand at the head of it, behind `--`; NULL: nobody's. */
	const struct verb *command_verb;
	/* Ended by one without rows; the last one is "Other", to which --help is added. */
	const struct option_group *groups;
	/* What else there is to know; NULL: nothing. */
	const char *notes;
	/* Of the variables; NULL: they are listed. */
	const char *environment;
	/* By code, without 64, which all verbs have; ended by an empty one. */
	const struct help_row *exits;
};

enum option_result {
	OPTION_FAILED = -1,
	OPTION_PARSED = 0,
	OPTION_HELPED = 1 /* --help was asked for, and is printed */
};

/* Stores what the environment says; an empty variable is one that is not set. 0, or -1 with
 * ERR_INVALID, which names the variable. */
int option_table_read_environment(const struct verb *verb, void *options, struct err *err);

/* Stores what the command line says. `argv[0]` is the verb and is not looked at; the others are
 * reordered, and borrowed. `arguments` are those that are no options, NULL-terminated.
 * OPTION_FAILED with ERR_INVALID names what is wrong. */
enum option_result option_table_read_arguments(const struct verb *verb, int argc, char **argv,
					       void *options, char ***arguments, struct err *err);

/* Both, for a verb: says in one line on stderr what is wrong. -1 to go on, else the exit code to
 * leave with. */
int option_table_parse(const struct verb *verb, int argc, char **argv, void *options,
		       char ***arguments);

/* PURE. One value for one row, as both of the above do it; `part` is where the row's group is
 * stored. */
int option_row_set(const struct option_row *row, void *part, const char *value, struct err *err);

/* --- names that are mistyped --- */

/* PURE. Whichever of two known names is nearer to what was typed; `best` NULL: there is none yet.
 */
const char *nearer_name(const char *typed, const char *best, const char *known);

/* PURE. `name`, if it is near enough to be meant; else NULL. Of a short name a few slips make any
 * other: there may be one in three letters, and three at most. `prefix`: letters in front that all
 * the names have. */
const char *near_name(const char *typed, const char *name, size_t prefix);

/*
 * Which variables named REPRIEVE_* nobody reads: most often a name that is mistyped, whose setting
 * would be missing without a word. Known are, and nothing else:
 *
 *   - the variable of each option of each verb;
 *   - what has no option: of the stores, of the notice sources, of the preload library;
 *   - what Reprieve itself sets for its job, and `watch` for its command;
 *   - what its own build and its tests read;
 *   - what Kubernetes adds for a Service called reprieve or reprieve-something.
 *
 * An empty variable is one that is not set. A name that is near to a known one is most likely
 * mistyped, and an error with --strict. Any other is somebody's own (REPRIEVE_VERSION of an image),
 * and only said.
 */

/* Each is one line, owned, or NULL if there is none. */
struct unknown_names {
	char *mistyped; /* "REPRIEVE_STOER (is REPRIEVE_STORE meant?), ..." */
	char *others;   /* "REPRIEVE_VERSION, REPRIEVE_HOME" */
};

/* PURE. Those of `environment`, which is NULL-terminated "NAME=VALUE". */
struct unknown_names environment_unknown_names(char *const *environment,
					       const struct verb *const *verbs, size_t verb_count);
void unknown_names_release(struct unknown_names *names);
AUTO(struct unknown_names, unknown_names_release);

/* --- --help --- */

/* --help of a verb, from its table, on standard output and at most 80 columns wide. */

#define OPTION_HELP_COLUMN 28 /* where the text of an option begins */

/* What it is for, examples, usage, options, notes, variables, exit status. `all`: --help-all. */
void option_help_print(const struct verb *verb, bool all);

/* PURE. How much of an option's help stands before its first details. */
size_t option_help_brief(const char *help);

/* `left` and, from `column` on, `text`: on a line of its own where `left` is too long. */
void option_help_row(const char *left, const char *text, size_t column);

/* --- `reprieve run` --- */

extern const struct verb verb_run;

/* `argv[0]` is not looked at. The strings are borrowed from argv and the environment. `options`
 * is all zero, or was parsed before; the caller releases it, also after a failure.
 * OPTION_FAILED with ERR_INVALID names the option, what is wrong and what to write instead.
 * OPTION_HELPED: --help was asked for, and is printed. */
enum option_result run_options_parse(int argc, char **argv, struct job_config *options,
				     struct err *err);

/* What the profile of a job means for its options: `--profile`, and how it is asked where the
 * user did not say. */

/* Finds the profile; blocks for a moment (profile_detect()). An explicit --checkpoint-signal or
 * --checkpoint-command stands. ERR_INVALID: there is no such profile. */
int profile_options_resolve(struct job_config *options, struct profile_choice *choice,
			    struct err *err);

/* PURE. The part of it that decides. */
void profile_options_apply(struct job_config *options, const struct profile_choice *choice);

/* PURE. One line for the start: which profile, and how the job will be asked. "" where there is
 * none. Returns `text`. */
const char *profile_options_format(const struct job_config *options,
				   const struct profile_choice *choice, char *text, size_t size);

/* --- what several verbs have in common --- */

/* --json: a bool. */
extern const struct option_row json_rows[];
/* --job, of those that run here: a const char *, NULL for any. */
extern const struct option_row running_job_rows[];

/* The store where none is chosen: file://${XDG_STATE_HOME:-~/.local/state}/reprieve. The caller
 * frees. NULL with ERR_NOT_FOUND if neither variable is set. */
char *default_store_url(struct err *err);

/* --memory, --connections and --bandwidth: the same for `run` and for every verb that moves
 * content. */

/* Of struct storage_transfer: for all who move content, and for those who send. */
extern const struct option_row transfer_rows[], bandwidth_rows[];

/* The --keep-* options, the same for `forget` and for `run`. */

/* Of struct retention_rules. */
extern const struct option_row retention_rows[];

/* For a row of --tag, a const char *: ERR_INVALID unless it is 1 to 64 bytes of [A-Za-z0-9._-]. */
option_set_fn retention_set_tag;

#endif
