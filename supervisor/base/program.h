/*
 * Runs programs that work for us: scontrol, credential_process, a notice command. Each starts with
 * all signals unblocked and at their defaults, because our threads block them; in its own process
 * group, so that all of it can be killed; and with an empty stdin.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/cancel.h"
#include "base/text.h"

#include <sys/types.h>

/* Our descriptor and its number in the program. They must differ, else close-on-exec would stay. */
struct program_file {
	int ours, its;
};

/* Searches argv[0] in PATH. `environment` NULL: ours. Does not block. 0, or an errno value. */
int program_start(char *const *argv, char *const *environment, const struct program_file *files,
		  size_t count, pid_t *pid);

struct program {
	char *const *argv;
	char *const *environment;
	bool with_errors;      /* captures stderr too; else it is inherited */
	int64_t timeout_ms;    /* then its process group is killed */
	struct cancel *cancel; /* kills it too; may be NULL */
};

/*
 * Runs the program to its end and appends its output to `output`, up to the limit of that. Blocks.
 * *status is that of waitpid(2), or 0 if somebody else has reaped the program, as the supervisor's
 * loop does: then only the output counts. No copy of the output stays in memory, because it may be
 * a secret. ERR_NOT_FOUND: no such program. ERR_RETRY: it took too long. ERR_CANCELLED.
 */
int program_run(const struct program *program, struct bytes *output, int *status, struct err *err);

/*
 * Runs a small program and returns its output. Searches argv[0] in PATH. `environment` NULL: ours.
 * Blocks for at most `timeout_ms`, then kills the program. *output has stdout and stderr together,
 * at most 1 MiB; the caller frees it. It is set (perhaps to "") even on failure. ERR_NOT_FOUND: no
 * such program. ERR_RETRY: it took too long. ERR_FAILED: its exit code was not 0; the text has its
 * first line.
 */
int program_output(char *const *argv, char *const *environment, int64_t timeout_ms, char **output,
		   struct err *err);

#endif
