/* Notices without a job: prints each change of the merged notice, and runs a command on it. */
#ifndef NOTICE_RUNNER_H
#define NOTICE_RUNNER_H

#include "base/err.h"
#include "process/process.h"

#include <stdbool.h>
#include <stdint.h>

struct notice_runner_options {
	const char *sources, *deadline; /* as cloud.h takes them */
	int64_t deadline_notice_ms;
	bool json;          /* lines of JSON, of the sources as well */
	bool once;          /* end after the first stop, and after its command */
	int64_t timeout_ms; /* end without a stop after so long; 0: never */
	char **command;     /* NULL: none; NULL-terminated */
	const struct signals_inherited *inherited;
};

enum {
	NOTICE_RUNNER_TIMED_OUT = 1
};

/*
 * Until SIGTERM, SIGINT or SIGHUP (0), a failure (70, said), or what the options say: 0 after the
 * stop and a command that worked, the command's own code as shells have it,
 * NOTICE_RUNNER_TIMED_OUT. -1 with ERR_INVALID for sources that make no sense, and with
 * ERR_NOT_FOUND where there is none to watch.
 */
int notice_runner_run(const struct notice_runner_options *options, struct err *err);

#endif
