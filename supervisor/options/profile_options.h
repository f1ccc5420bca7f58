/* What the profile of a job means for its options: `--profile`, and how it is asked where the
 * user did not say. */
#ifndef PROFILE_OPTIONS_H
#define PROFILE_OPTIONS_H

#include "frameworks/frameworks.h"
#include "job_config.h"

/* Finds the profile; blocks for a moment (profile_detect.h). An explicit --checkpoint-signal or
 * --checkpoint-command stands. ERR_INVALID: there is no such profile. */
int profile_options_resolve(struct job_config *options, struct profile_choice *choice,
			    struct err *err);

/* PURE. The part of it that decides. */
void profile_options_apply(struct job_config *options, const struct profile_choice *choice);

/* PURE. One line for the start: which profile, and how the job will be asked. "" where there is
 * none. Returns `text`. */
const char *profile_options_format(const struct job_config *options,
				   const struct profile_choice *choice, char *text, size_t size);

#endif
