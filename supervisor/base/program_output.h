/* Runs a small program and takes what it prints: scontrol, for instance. */
#ifndef PROGRAM_OUTPUT_H
#define PROGRAM_OUTPUT_H

#include "err.h"

#include <stdint.h>

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
