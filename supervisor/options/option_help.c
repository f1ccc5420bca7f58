#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

static void print_lines(const char *lines)
{
	for (; *lines; lines += strcspn(lines, "\n") + 1) {
		printf("  %.*s\n", (int)strcspn(lines, "\n"), lines);
		if (!lines[strcspn(lines, "\n")])
			break;
	}
}

static void print_variables(const struct verb *verb)
{
	size_t at = 0;

	if (verb->environment) {
		printf("\nEnvironment:\n  ");
		print_wrapped(verb->environment, 2, 2);
		return;
	}
	EACH_OPTION(verb, group, row)
	{
		if (!row->variable || group->no_environment)
			continue;
		printf("%s%s",
		       at == 0   ? "\nEnvironment:\n  "
		       : at > 56 ? ",\n  "
				 : ", ",
		       row->variable);
		at = (at > 56 ? 0 : at) + strlen(row->variable) + 2;
	}
	if (at > 0)
		printf("\n");
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

	printf("%c%s.\n\nExamples:\n", toupper((unsigned char)verb->summary[0]), verb->summary + 1);
	print_lines(verb->examples);
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
	if (!whole)
		printf("\nMore: reprieve %s --help-all, and `man reprieve-%s`\n", verb->name,
		       verb->name);
}
