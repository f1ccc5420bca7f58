#include "options.h"

#include "base/inside.h"
#include "base/log.h"
#include "base/text.h"
#include "scheduler/scheduler.h"

#include <ctype.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What getopt_long() gives for the first row; below are the letters. */
#define FIRST_ROW 1000
/* Of all letters with their colons. */
#define LETTERS_SIZE (2 * 52 + 4)

/* --- one value --- */

static void store_number(const struct option_row *row, void *slot, int64_t number)
{
	if (row->size == sizeof(bool))
		*(bool *)slot = number != 0;
	else if (row->size == sizeof(uint16_t))
		*(uint16_t *)slot = (uint16_t)number;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)slot = (uint32_t)number;
	else
		*(int64_t *)slot = number;
}

/* On the command line it is "1"; in the environment it may be written as people write it. */
static int set_flag(const struct option_row *row, void *slot, const char *value, struct err *err)
{
	static const char *const words[][2] =
		{{"0", "1"}, {"no", "yes"}, {"false", "true"}, {"off", "on"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int on = 0; on < 2; on++)
			if (strcasecmp(value, words[i][on]) == 0) {
				store_number(row, slot, on);
				return 0;
			}
	return err_set(err, ERR_INVALID, "invalid value '%s': write 1 or 0", value);
}

static int set_text(const struct option_row *row, void *slot, const char *value, struct err *err)
{
	if (row->least > 0 && !*value)
		return err_set(err, ERR_INVALID, "the value is empty: write %s", row->value);
	*(const char **)slot = value;
	return 0;
}

/* A number, or a size in bytes, or a duration in milliseconds. */
static bool read_number(enum option_kind kind, const char *value, int64_t *number)
{
	uint64_t read = INT64_MAX;
	bool is_one = kind == OPTION_KIND_DURATION ? text_to_duration_ms(value, number)
		      : kind == OPTION_KIND_SIZE   ? text_to_bytes(value, &read)
						   : text_to_u64(value, INT64_MAX, &read);

	if (kind != OPTION_KIND_DURATION)
		*number = (int64_t)read;
	return is_one && *number >= 0;
}

static const char *format_number(enum option_kind kind, int64_t number, char text[32])
{
	if (kind == OPTION_KIND_DURATION)
		return text_duration(number, text, 32);
	if (kind == OPTION_KIND_SIZE)
		return text_bytes((uint64_t)number, text, 32);
	snprintf(text, 32, "%" PRId64, number);
	return text;
}

static int set_number(const struct option_row *row, void *slot, const char *value, struct err *err)
{
	static const char *const examples[] = {[OPTION_KIND_NUMBER] = "a number",
					       [OPTION_KIND_SIZE] = "256MiB or 1GB",
					       [OPTION_KIND_DURATION] = "30, 90s, 15m or 2h"};
	int64_t number, most = row->most ? row->most : INT64_MAX;
	char bound[32];

	if (!read_number(row->kind, value, &number))
		return err_set(err, ERR_INVALID, "invalid value '%s': write %s", value,
			       examples[row->kind]);
	if (number < row->least || number > most)
		return err_set(err, ERR_INVALID, "invalid value '%s': write %s or %s", value,
			       format_number(row->kind, number > most ? most : row->least, bound),
			       number > most ? "less" : "more");
	store_number(row, slot, number);
	return 0;
}

static int set_choice(const struct option_row *row, void *slot, const char *value, struct err *err)
{
	auto_free char *choices = text_copy(row->choices);
	auto_free char *listed = text_copy("");
	char *rest = NULL;
	int64_t index = 0;

	for (char *word = strtok_r(choices, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest), index++) {
		if (text_equal(word, value)) {
			store_number(row, slot, index);
			return 0;
		}
		text_append(&listed, "%s%s", index == 0 ? "" : *rest ? ", " : " or ", word);
	}
	return err_set(err, ERR_INVALID, "invalid value '%s': write %s", value, listed);
}

int option_row_set(const struct option_row *row, void *part, const char *value, struct err *err)
{
	static int (*const setters[])(const struct option_row *, void *, const char *,
				      struct err *) = {
		[OPTION_KIND_FLAG] = set_flag,       [OPTION_KIND_TEXT] = set_text,
		[OPTION_KIND_NUMBER] = set_number,   [OPTION_KIND_SIZE] = set_number,
		[OPTION_KIND_DURATION] = set_number, [OPTION_KIND_CHOICE] = set_choice,
	};
	void *slot = (char *)part + row->at;

	return row->kind == OPTION_KIND_OWN ? row->set(slot, value, err)
					    : setters[row->kind](row, slot, value, err);
}

/* --- all of them --- */

static void *part_of(const struct option_group *group, void *options)
{
	return (char *)options + group->at;
}

int option_table_read_environment(const struct verb *verb, void *options, struct err *err)
{
	EACH_OPTION(verb, group, row)
	{
		const char *value =
			row->variable && !group->no_environment ? getenv(row->variable) : NULL;

		if (row->of_one_run && inside_is_of_outer(row->variable, inside_getenv, NULL))
			continue;
		if (value && *value && option_row_set(row, part_of(group, options), value, err) < 0)
			return err_wrap(err, "%s", row->variable);
	}
	return 0;
}

/* More than any verb has. */
#define ROWS_MOST 96

/* What getopt_long() wants to have, and which row it means by what it gives. */
struct getopt_table {
	struct option longs[ROWS_MOST + 1];
	char letters[LETTERS_SIZE];
	struct getopt_row {
		const struct option_row *row;
		const struct option_group *group;
	} rows[ROWS_MOST];
	size_t count;
};

static void add_row(struct getopt_table *table, const struct option_row *row,
		    const struct option_group *group)
{
	const char letter[] = {row->letter, row->value ? ':' : '\0', '\0'};
	size_t index = table->count;

	if (index == ROWS_MOST)
		return;
	table->count++;
	table->rows[index] = (struct getopt_row){row, group};
	table->longs[index] = (struct option){
		.name = row->name,
		.has_arg = row->value ? required_argument : no_argument,
		.val = FIRST_ROW + (int)index,
	};
	if (row->letter)
		strcat(table->letters, letter);
}

static void fill_getopt_table(const struct verb *verb, struct getopt_table *table)
{
	static const struct option_row help = {"help", 'h', .help = ""},
				       all = {"help-all", .help = ""};

	/* '+': the first word that is no option begins the command. */
	strcpy(table->letters, verb->takes_command ? "+:" : ":");
	add_row(table, &help, NULL);
	add_row(table, &all, NULL);
	EACH_OPTION(verb, group, row) add_row(table, row, group);
}

static const struct getopt_row *row_found(const struct getopt_table *table, int found)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->longs[i].val == found || table->rows[i].row->letter == found)
			return &table->rows[i];
	return NULL;
}

static bool has_option(const struct verb *verb, int letter, const char *name)
{
	EACH_OPTION(verb, group, row)
	{
		if (letter ? row->letter == letter : text_equal(row->name, name))
			return true;
	}
	return false;
}

static const char *nearest_option(const struct verb *verb, const char *typed)
{
	const char *nearest = NULL;

	EACH_OPTION(verb, group, row) nearest = nearer_name(typed, nearest, row->name);
	return near_name(typed, nearest, 0);
}

/* `letter`: of "-x"; 0: `word` is a long one, which may have a value. */
static int refuse_unknown(const struct verb *verb, int letter, const char *word, struct err *err)
{
	const char short_name[] = {'-', (char)letter, '\0'};
	auto_free char *name =
		letter ? text_copy(short_name) : text_copy_n(word, strcspn(word, "="));
	const char *typed = name + strspn(name, "-");
	const struct verb *of_command = verb->command_verb;
	const char *meant = letter ? NULL : nearest_option(verb, typed);

	if (of_command && has_option(of_command, letter, typed))
		return err_set(err, ERR_INVALID,
			       "'%s' is an option of `%s`: write it behind `--`, as in `reprieve "
			       "%s -- %s %s ... -- COMMAND`",
			       name, of_command->name, verb->name, of_command->name, name);
	if (meant)
		return err_set(err, ERR_INVALID,
			       "unknown option '%s' (is --%s meant?): see `reprieve %s --help`",
			       word, meant, verb->name);
	/* Perhaps it is no option here, but one of the words. */
	if (verb->arguments && !verb->takes_command && !strchr(verb->arguments, '\n'))
		return err_set(err, ERR_INVALID,
			       "unknown option '%s': it is `reprieve %s %s`, and the options that "
			       "`reprieve %s --help` shows",
			       letter ? name : word, verb->name, verb->arguments, verb->name);
	return err_set(err, ERR_INVALID, "unknown option '%s': see `reprieve %s --help`",
		       letter ? name : word, verb->name);
}

/* What is wrong with what getopt_long() has found, in words; 0 when nothing is. The "--" before
 * the command is nobody's value. */
static int check_found(const struct verb *verb, int found, char **argv, struct err *err)
{
	const char *last = argv[optind - 1];

	if (found == ':' || (optarg && optarg == last && text_equal(optarg, "--")))
		return err_set(err, ERR_INVALID,
			       "option '%s' needs a value: see `reprieve %s --help`",
			       found == ':' ? last : argv[optind - 2], verb->name);
	if (found == '?' && optopt >= FIRST_ROW)
		return err_set(err, ERR_INVALID,
			       "option '%s' takes no value: see `reprieve %s --help`", last,
			       verb->name);
	if (found == '?')
		return refuse_unknown(verb, optopt, last, err);
	return 0;
}

static int check_arguments(const struct verb *verb, char **arguments, struct err *err)
{
	int count = 0;

	while (arguments[count])
		count++;
	if (count < verb->arguments_least && verb->takes_command)
		return err_set(err, ERR_INVALID,
			       "missing command: write it last, as in `reprieve %s %s`", verb->name,
			       verb->arguments);
	if (count < verb->arguments_least)
		return err_set(err, ERR_INVALID, "missing argument: reprieve %s %s", verb->name,
			       verb->arguments);
	if (count > verb->arguments_most && !verb->takes_command)
		return err_set(err, ERR_INVALID,
			       "unexpected argument: '%s': see `reprieve %s --help`",
			       arguments[verb->arguments_most], verb->name);
	/* Most often a variable of the shell that is not set. */
	for (int i = 0; i < count && !verb->takes_command; i++)
		if (!*arguments[i])
			return err_set(err, ERR_INVALID, "an argument is empty: reprieve %s %s",
				       verb->name, verb->arguments);
	return 0;
}

enum option_result option_table_read_arguments(const struct verb *verb, int argc, char **argv,
					       void *options, char ***arguments, struct err *err)
{
	struct getopt_table table = {0};
	int found;

	fill_getopt_table(verb, &table);
	opterr = 0;
	optind = 0; /* glibc: start anew, whatever was parsed before */
	while ((found = getopt_long(argc, argv, table.letters, table.longs, NULL)) != -1) {
		const struct getopt_row *chosen = row_found(&table, found);

		if (check_found(verb, found, argv, err) < 0)
			return OPTION_FAILED;
		if (chosen && !chosen->group) {
			option_help_print(verb, text_equal(chosen->row->name, "help-all"));
			return OPTION_HELPED;
		}
		if (chosen && option_row_set(chosen->row, part_of(chosen->group, options),
					     chosen->row->value ? optarg : "1", err) < 0)
			return err_wrap(err, "--%s", chosen->row->name);
	}
	*arguments = argv + optind;
	return check_arguments(verb, *arguments, err);
}

int option_table_parse(const struct verb *verb, int argc, char **argv, void *options,
		       char ***arguments)
{
	struct err err;
	char **none;
	enum option_result result = option_table_read_environment(verb, options, &err);

	if (result == OPTION_PARSED)
		result = option_table_read_arguments(verb, argc, argv, options,
						     arguments ? arguments : &none, &err);
	if (result == OPTION_FAILED)
		log_error("%s: %s", verb->name, err.text);
	return result == OPTION_PARSED ? -1 : result == OPTION_HELPED ? 0 : EXIT_USAGE;
}

/* --- names that are mistyped --- */

/* A longer name is not compared: none of ours is. */
#define NAME_MOST 63

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters were left out, added, exchanged, or swapped with their neighbour. */
static unsigned count_slips(const char *a, const char *b)
{
	unsigned rows[3][NAME_MOST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > NAME_MOST || b_length > NAME_MOST)
		return NAME_MOST;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = least_of(least_of(before[j] + 1, now[j - 1] + 1),
					  before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least_of(now[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

const char *nearer_name(const char *typed, const char *best, const char *known)
{
	return !best || count_slips(typed, known) < count_slips(typed, best) ? known : best;
}

const char *near_name(const char *typed, const char *name, size_t prefix)
{
	unsigned most = (unsigned)(strlen(typed) - prefix) / 3;

	return name && count_slips(typed, name) <= (most < 3 ? most : 3) ? name : NULL;
}

/* --- the environment --- */

#define PREFIX "REPRIEVE_"

// clang-format off
static const char *const without_option[] = {
	/* stores */
	"REPRIEVE_S3_ADDRESSING", "REPRIEVE_S3_CHECKSUM", "REPRIEVE_S3_CONDITIONAL",
	"REPRIEVE_S3_HEADERS", "REPRIEVE_STORE_PATIENCE", "REPRIEVE_STORE_WEIGHTS",
	/* notice sources and launchers */
	"REPRIEVE_ALIBABA_METADATA_ENDPOINT", "REPRIEVE_AZURE_METADATA_ENDPOINT",
	"REPRIEVE_TENCENT_METADATA_ENDPOINT", "REPRIEVE_GCP_NOTICE",
	"REPRIEVE_LAUNCH",
	/* the preload library */
	"REPRIEVE_SHIM_CHANNEL", "REPRIEVE_SHIM_DISABLE",
	"REPRIEVE_SHIM_PATH",
	/* set for the job, and by `watch` for its command */
	"REPRIEVE_ATTEMPT", "REPRIEVE_NOTICE_FILE", "REPRIEVE_PAGE", "REPRIEVE_RESUMING",
	"REPRIEVE_STEP", "REPRIEVE_MACHINES", "REPRIEVE_MACHINE",
	"REPRIEVE_NOTICE_DEADLINE", "REPRIEVE_NOTICE_IDENTITY", "REPRIEVE_NOTICE_KIND",
	"REPRIEVE_NOTICE_REASON", "REPRIEVE_NOTICE_SECONDS_LEFT", "REPRIEVE_NOTICE_SOURCE",
};

/* What follows the prefix, as fnmatch() has it. What the build and the tests read is no suggestion for anybody. */
static const char *const not_for_users[] = {
	"EFFECTS", "FAULT", "FRAMEWORKS_*", "FUZZ",
	"GANG_KILLS", "HISTORIES", "HISTORY", "KILLS",
	"MODEL_*", "PATIENCE", "PYTHON", "SANITIZE",
	"SEED", "SEEDS", "SMALL", "STATIC",
	"STATIC_BUILD", "SURVIVORS", "TESTS", "TEST_*",
	"WERROR",
	/* handed on to a run inside the job (base/inside.h) */
	"OUTER_*",
	/* Kubernetes, for a Service of this name */
	"SERVICE_HOST", "SERVICE_PORT*", "PORT", "PORT_[0-9]*",
	"*_SERVICE_HOST", "*_SERVICE_PORT*", "*_PORT",
	"*_PORT_[0-9]*",
};
// clang-format on

/* `nearest`: of the known ones. */
static bool is_known(const char *name, const struct verb *const *verbs, size_t verb_count,
		     const char **nearest)
{
	bool known = false;

	*nearest = NULL;
	for (size_t i = 0; i < verb_count; i++)
		EACH_OPTION(verbs[i], group, row)
		{
			if (row->variable)
				*nearest = nearer_name(name, *nearest, row->variable);
		}
	for (size_t i = 0; i < sizeof(without_option) / sizeof(without_option[0]); i++)
		*nearest = nearer_name(name, *nearest, without_option[i]);
	for (size_t i = 0; i < sizeof(not_for_users) / sizeof(not_for_users[0]); i++)
		known |= fnmatch(not_for_users[i], name + strlen(PREFIX), 0) == 0;
	return known || text_equal(*nearest, name);
}

struct unknown_names environment_unknown_names(char *const *environment,
					       const struct verb *const *verbs, size_t verb_count)
{
	struct unknown_names names = {0};

	for (; *environment; environment++) {
		size_t length = strcspn(*environment, "=");
		auto_free char *name = text_copy_n(*environment, length);
		const char *meant;

		if (!text_starts(name, PREFIX) || !(*environment)[length] ||
		    !(*environment)[length + 1] || is_known(name, verbs, verb_count, &meant))
			continue;
		meant = near_name(name, meant, strlen(PREFIX));
		if (meant)
			text_append(&names.mistyped, "%s%s (is %s meant?)",
				    names.mistyped ? ", " : "", name, meant);
		else
			text_append(&names.others, "%s%s", names.others ? ", " : "", name);
	}
	return names;
}

void unknown_names_release(struct unknown_names *names)
{
	free(names->mistyped);
	free(names->others);
}

/* --- --help --- */

#define WIDTH 80

/* A paragraph from column `at` on; the lines that follow begin at `indent`. A line break stays one.
 */
static void print_wrapped(const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t blanks = strspn(text, " ");
		size_t length = blanks + strcspn(text + blanks, " \n");

		if (at > indent && at + length > WIDTH) {
			text += blanks;
			length -= blanks;
			at = indent;
			printf("\n%*s", (int)indent, "");
		}
		printf("%.*s", (int)length, text);
		at += length;
		text += length;
		if (*text == '\n') {
			text++;
			at = indent;
			printf("\n%*s", (int)indent, "");
		}
	}
	printf("\n");
}

void option_help_row(const char *left, const char *text, size_t column)
{
	size_t length = strlen(left) + 2;

	if (length + 2 > column)
		printf("  %s\n%*s", left, (int)column, "");
	else
		printf("  %-*s", (int)column - 2, left);
	print_wrapped(text, column, column);
}

size_t option_help_brief(const char *help)
{
	static const char *const ends[] = {": ", "; ", " (", NULL};
	size_t length = strlen(help);

	for (const char *const *end = ends; *end; end++)
		if (strstr(help, *end) && strstr(help, *end) < help + length)
			length = (size_t)(strstr(help, *end) - help);
	return length;
}

static void print_option(const struct option_row *row, bool brief)
{
	char left[80], text[400];

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
		 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
		 row->value ? " " : "", row->value ? row->value : "");
	snprintf(text, sizeof(text), "%.*s", (int)option_help_brief(row->help), row->help);
	option_help_row(left, brief ? text : row->help, OPTION_HELP_COLUMN);
}

static void print_usage(const struct verb *verb)
{
	const char *line = verb->arguments ? verb->arguments : "";
	const char *before = "Usage:";

	do {
		int length = (int)strcspn(line, "\n");

		if (verb->takes_command)
			printf("%s reprieve %s [options] %.*s\n", before, verb->name, length, line);
		else
			printf("%s reprieve %s %.*s%s[options]\n", before, verb->name, length, line,
			       length > 0 ? " " : "");
		line += length;
		before = "      ";
	} while (*line++);
}

static void print_variables(const struct verb *verb)
{
	auto_free char *names = text_copy(verb->environment ? verb->environment : "");

	EACH_OPTION(verb, group, row)
	{
		if (row->variable && !verb->environment && !group->no_environment)
			text_append(&names, "%s%s", *names ? ", " : "", row->variable);
	}
	if (!*names)
		return;
	printf("\nEnvironment:\n  ");
	print_wrapped(names, 2, 2);
}

static size_t count_shown(const struct option_row *rows, bool all)
{
	size_t count = 0;

	for (; rows->name; rows++)
		count += all || rows->common;
	return count;
}

static void print_options(const struct verb *verb, bool all)
{
	static const struct option_row help = {"help", 'h', .help = "print this"};
	static const struct option_row more = {"help-all", .help = "print all options"};

	for (const struct option_group *group = verb->groups; group->rows; group++) {
		if (group->title && count_shown(group->rows, all) > 0)
			printf("%s%s:\n", all || group == verb->groups ? "\n" : "", group->title);
		for (const struct option_row *row = group->rows; row->name; row++)
			if (all || row->common)
				print_option(row, !all);
	}
	print_option(&help, false);
	if (verb->has_help_all)
		print_option(&more, false);
}

void option_help_print(const struct verb *verb, bool all)
{
	bool whole = all || !verb->has_help_all;

	printf("%c%s.\n\nExamples:\n  ", toupper((unsigned char)verb->summary[0]),
	       verb->summary + 1);
	print_wrapped(verb->examples, 2, 2);
	printf("\n");
	print_usage(verb);
	print_options(verb, whole);
	if (verb->notes && whole) {
		printf("\n");
		print_wrapped(verb->notes, 0, 0);
	}
	if (whole)
		print_variables(verb);
	printf("\nExit status:\n");
	for (const struct help_row *exit = verb->exits; exit->left; exit++)
		option_help_row(exit->left, exit->text, 12);
	option_help_row("64", "wrong usage", 12);
	if (!whole)
		printf("\nMore: reprieve %s --help-all, and `man reprieve-%s`\n", verb->name,
		       verb->name);
}
