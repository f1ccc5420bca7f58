/*
 * Recognises the framework that a command trains with. Reads the script that the command names, at
 * most 256 KiB, and the file names in the checkpoint directory. Blocks. It is no error if no
 * framework is recognised.
 */
#ifndef PROFILE_DETECT_H
#define PROFILE_DETECT_H

#include "profile.h"

/* `name`: a profile's name, or "auto". `directory` need not exist. ERR_INVALID: no such profile;
 * the sentence lists all names. */
int profile_detect(const char *name, char *const *command, const char *directory,
		   struct profile_choice *choice, struct err *err);

#endif
