#include "launch.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program in the checkpoint directory may only come with the restore; where that is, no text
 * with ".." tells. */
static bool may_be_restored(const char *command, const char *directory)
{
	size_t length = strlen(directory);
	auto_free char *here = getcwd(NULL, 0);
	auto_free char *absolute = NULL;

	while (text_starts(command, "./"))
		command += 2;
	/* In "/", what follows its slash. */
	absolute = *command == '/' ? text_copy(command)
				   : text_format("%s/%s", here && here[1] ? here : "", command);
	return strstr(command, "..") ||
	       (strncmp(absolute, directory, length) == 0 && absolute[length] == '/');
}

int command_check(const char *command, const char *directory, struct err *err)
{
	if (strchr(command, '/') && may_be_restored(command, directory))
		return 0;
	return child_check_command(command, err);
}
