/*
 * Programs that work for us: scontrol, credential_process, a notice command. Each starts with all
 * signals unblocked and at their defaults, because our threads block them; in a process group of
 * its own, to be ended with; and with nothing on its stdin.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of ours and of its own; not the same number, which would stay close-on-exec. */
struct program_file {
	int ours, its;
};

/* argv[0] is looked for in PATH; `environment` NULL is ours. Does not block. Returns 0, or the
 * number of the error (errno(3)). */
int program_start(char *const *argv, char *const *environment, const struct program_file *files,
		  size_t count, pid_t *pid);

struct program {
	char *const *argv;
	char *const *environment;
	bool with_errors;   /* what it says on stderr is output too; else it goes where ours goes */
	int64_t timeout_ms; /* then its group is killed */
	struct cancel *cancel; /* likewise; may be NULL */
};

/*
 * Runs it to its end and appends what it prints to `output`, as far as that one's limit lets.
 * Blocks. `status` is waitpid()'s; 0 also where somebody else has reaped it, as a supervisor's loop
 * does: then the output alone counts. No copy of the output is left behind, which may be a secret.
 * ERR_NOT_FOUND: no such program; ERR_RETRY: took too long; ERR_CANCELLED.
 */
int program_run(const struct program *program, struct bytes *output, int *status, struct err *err);

/*
 * argv[0] is looked for in PATH. Blocks for at most `timeout_ms`, then kills it. What it says on
 * stdout and stderr comes back together, at most 1 MiB of it; the caller frees *output, which is
 * set (perhaps to "") also where it failed. ERR_NOT_FOUND: no such program; ERR_RETRY: took too
 * long; ERR_FAILED: its exit code was not 0, with its first line as the reason.
 */
int program_output(char *const *argv, int64_t timeout_ms, char **output, struct err *err);

/* The same with another environment: "NAME=value", ended by NULL. */
int program_output_with(char *const *argv, char *const *environment, int64_t timeout_ms,
			char **output, struct err *err);

#endif
