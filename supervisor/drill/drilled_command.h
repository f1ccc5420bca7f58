/*
 * May this command be drilled? The machines of a drill see the current directory at another place,
 * each with checkpoints of its own, and its preemptions are not real: what would reach the user's
 * own checkpoints, or people who wait for real ones, is refused before anything starts.
 */
#ifndef DRILLED_COMMAND_H
#define DRILLED_COMMAND_H

#include "base/err.h"

/* PURE. ERR_INVALID: the options of `run`, up to "--" or the end, have one that has no place in a
 * drill. What the environment says of them is left out (sandbox.c). */
int drilled_options_check(char *const *argv, struct err *err);
/*
 * ERR_INVALID: a word of the command leads out of the current directory by "../" to a file that is
 * there, or names the checkpoint directory by an absolute path.
 *
 * `written`: --checkpoint-dir as the user has written it; `relative`: the same, from `here`, the
 * current directory (NULL: unknown). Looks for files; does not block.
 */
int drilled_command_check(char *const *command, const char *written, const char *relative,
			  const char *here, struct err *err);

#endif
