/*
 * The command lines of all verbs. A verb is a table: what it is for, examples, its options in
 * groups, what else it takes, its exit codes. All that is said of a command line comes from there:
 * the parser, the environment variables, --help (option_help.h), what is wrong with it in one line,
 * and the completions of the shells (cmd_completion.c).
 */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	/* Whose options may stand at the head of it, behind `--`; NULL: nobody's. */
	const struct verb *command_verb;
	/* Ended by one without rows; the last one is "Other", to which --help is added. */
	const struct option_group *groups;
	/* What else there is to know; NULL: nothing. */
	const char *notes;
	/* Of the variables; NULL: they are listed. */
	const char *environment;
	/* By code; ended by an empty one. */
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

#endif
