#include "drill.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

int drilled_options_check(char *const *argv, struct err *err)
{
	static const char *const names[] = {"--gang",    "--member",       "--notify",
					    "--metrics", "--metrics-file", "--deadline",
					    "--restore", "--exit-policy"};

	for (; *argv && !text_equal(*argv, "--"); argv++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (!text_starts(*argv, names[i]) ||
			    !strchr("=", (*argv)[strlen(names[i])]))
				continue;
			return err_set(
				err, ERR_INVALID, "run: %s has no place in a drill%s", names[i],
				i < 2 ? ", which starts all members: reprieve drill --gang N -- ..."
				      : ": leave it out");
		}
	return 0;
}

/* A machine shows the current directory at another place: what is found from here by "../" is not
 * found from there. And a job that is told of the checkpoints by an absolute path would save into
 * the user's own, and the machine's stay empty. */
int drilled_command_check(char *const *command, const char *written, const char *relative,
			  const char *here, struct err *err)
{
	auto_free char *own = text_format("%s/%s", here ? here : "", relative);

	for (; *command; command++) {
		const char *value = **command == '-' ? strchr(*command, '=') : NULL;
		const char *path = value ? value + 1 : *command;
		bool leads_out = text_starts(path, "../") && file_exists(path);
		auto_free char *whole = leads_out ? file_absolute(path) : NULL;

		if (leads_out)
			return err_set(err, ERR_INVALID,
				       "'%s' leads out of the current directory, which the "
				       "machines of a "
				       "drill see at another place: write %s",
				       *command, whole);
		if (names_path(*command, own) || (*written == '/' && names_path(*command, written)))
			return err_set(err, ERR_INVALID,
				       "'%s' names your own checkpoints, and each machine of a "
				       "drill has its own: write %s there, which is relative",
				       *command, relative);
	}
	return 0;
}
