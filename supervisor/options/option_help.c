#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 80

/* From column `at` on; the lines that follow begin at `indent`. */
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

void option_help_text(const char *text)
{
	print_wrapped(text, 0, 0);
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

static void print_option(const struct option_row *row)
{
	char left[80];

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", row->letter ? '-' : ' ',
		 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name,
		 row->value ? " " : "", row->value ? row->value : "");
	option_help_row(left, row->help, OPTION_HELP_COLUMN);
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
	for (const struct option_group *group = verb->groups; group->rows; group++)
		for (const struct option_row *row = group->rows; row->name; row++) {
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

void option_help_print(const struct verb *verb)
{
	static const struct option_row help = {"help", 'h', .help = "print this"};

	printf("%c%s.\n\nExamples:\n", toupper((unsigned char)verb->summary[0]), verb->summary + 1);
	print_lines(verb->examples);
	printf("\n");
	print_usage(verb);
	for (const struct option_group *group = verb->groups; group->rows; group++) {
		if (group->title)
			printf("\n%s:\n", group->title);
		for (const struct option_row *row = group->rows; row->name; row++)
			print_option(row);
	}
	print_option(&help);
	if (verb->notes) {
		printf("\n");
		option_help_text(verb->notes);
	}
	print_variables(verb);
	printf("\nExit status:\n");
	for (const struct help_row *exit = verb->exits; exit->left; exit++)
		option_help_row(exit->left, exit->text, 12);
}
