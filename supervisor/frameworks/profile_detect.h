/*
 * Finds out which framework a command trains with: reads the script that it names (bounded, once),
 * and the names in the checkpoint directory. Blocks. A job that is not recognised is no error.
 */
#ifndef PROFILE_DETECT_H
#define PROFILE_DETECT_H

#include "profile.h"

/* `name`: of a profile, or "auto". `directory` may be missing. ERR_INVALID lists
 * the names that there are. */
int profile_detect(const char *name, char *const *command, const char *directory,
		   struct profile_choice *choice, struct err *err);

#endif
