/* Can the command be run? */
#ifndef COMMAND_CHECK_H
#define COMMAND_CHECK_H

#include "base/err.h"

/* 0, or the exit code of a shell that cannot run it, with a sentence. What may come into the
 * checkpoint `directory` with the restore is not judged. */
int command_check(const char *command, const char *directory, struct err *err);

#endif
