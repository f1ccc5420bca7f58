#include "drilled_command.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A machine shows the current directory at another place: what is found from here by "../" is not
 * found from there. */
static int check_leads_nowhere(char *const *command, struct err *err)
{
	for (; *command; command++) {
		const char *value = **command == '-' ? strchr(*command, '=') : NULL;
		const char *path = value ? value + 1 : *command;
		auto_free char *whole = NULL;

		if (!text_starts(path, "../") || !file_exists(path))
			continue;
		whole = file_absolute(path);
		return err_set(err, ERR_INVALID,
			       "'%s' leads out of the current directory, which the machines of a "
			       "drill see at another place: write %s",
			       *command, whole);
	}
	return 0;
}

/* Whether the word has this path in it: not one below, which may be a file that is only read, nor
 * one that merely begins so. */
static bool names_path(const char *word, const char *path)
{
	for (const char *at = word; (at = strstr(at, path)); at++) {
		const char *rest = at + strlen(path);

		/* "/mnt/home/..." is not "/home/...". */
		if (at > word && (isalnum((unsigned char)at[-1]) || strchr("._-/", at[-1])))
			continue;
		rest += strspn(rest, "/");
		if (*rest == '\0' || (!isalnum((unsigned char)*rest) && !strchr("._-", *rest)))
			return true;
	}
	return false;
}

/* A job that is told of them by an absolute path would save into the user's own checkpoints, and
 * the machine's stay empty. */
static int check_checkpoints(char *const *command, const char *written, const char *relative,
			     const char *here, struct err *err)
{
	auto_free char *whole = text_format("%s/%s", here ? here : "", relative);

	for (; *command; command++)
		if (names_path(*command, whole) ||
		    (*written == '/' && names_path(*command, written)))
			return err_set(err, ERR_INVALID,
				       "'%s' names your own checkpoints, and each machine of a "
				       "drill has its own: write %s there, relative to the current "
				       "directory",
				       *command, relative);
	return 0;
}

static bool is_option(const char *word, const char *name)
{
	return text_starts(word, name) && strchr("=", word[strlen(name)]);
}

/* NULL: none of them. */
static const char *find_option(char *const *argv, const char *const *names, size_t count)
{
	for (; *argv && !text_equal(*argv, "--"); argv++)
		for (size_t i = 0; i < count; i++)
			if (is_option(*argv, names[i]))
				return names[i];
	return NULL;
}

int drilled_options_check(char *const *argv, struct err *err)
{
	static const char *const of_gang[] = {"--gang", "--member"};
	static const char *const real[] = {"--notify",   "--metrics", "--metrics-file",
					   "--deadline", "--restore", "--exit-policy"};
	const char *found;

	if (find_option(argv, of_gang, sizeof(of_gang) / sizeof(of_gang[0])))
		return err_set(err, ERR_INVALID,
			       "run: --gang and --member have no place in a drill, which starts "
			       "all members itself: reprieve drill --gang N -- ...");
	found = find_option(argv, real, sizeof(real) / sizeof(real[0]));
	if (found)
		return err_set(err, ERR_INVALID,
			       "run: %s has no place in a drill, whose preemptions are not real: "
			       "leave it out",
			       found);
	return 0;
}

int drilled_command_check(char *const *command, const char *written, const char *relative,
			  const char *here, struct err *err)
{
	if (check_leads_nowhere(command, err) < 0)
		return -1;
	return check_checkpoints(command, written, relative, here, err);
}
