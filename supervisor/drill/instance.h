/*
 * A machine of the drill: a directory of its own, `reprieve run` in it, a log and an event ledger.
 * It dies as real ones do: everything at once. This process must be a subreaper (child_prepare()),
 * and have no other children.
 */
#ifndef INSTANCE_H
#define INSTANCE_H

#include "base/text.h"
#include "event_log_reader.h"
#include "job_log.h"
#include "process/process.h"

#include <stdbool.h>
#include <sys/types.h>

struct instance {
	unsigned number;
	char *directory; /* <scratch>/machine-<number> */
	char *log;       /* <scratch>/machine-<number>.log: what the run and the job print */
	char *event_log; /* <scratch>/machine-<number>.events */
	pid_t pid;       /* of `reprieve run` */
	bool running;
	int exit_code; /* of `reprieve run`; 128 + signal */

	struct run_events events;
	struct bytes line;    /* the ledger's last line, as far as it is there */
	off_t event_log_read; /* up to here */
	off_t log_shown;
};

/* Names the files; makes nothing. */
void instance_init(struct instance *instance, const char *scratch, unsigned number);
/* Nothing of it may run any more: instance_kill(). The files stay. */
void instance_release(struct instance *instance);

static inline void cleanup_instance_release(struct instance *instance)
{
	instance_release(instance);
}

/* `argv` and `variables` ("NAME=value"; those replace what the environment has) end in NULL. The
 * directory must be there. */
int instance_start(struct instance *instance, char *const *argv, const char *const *variables,
		   const struct signals_inherited *inherited, struct err *err);

/* Notes whether the run has ended. Does not block. */
void instance_poll(struct instance *instance);

/* The next event of the ledger, in order; false when there is none yet. Does not block. */
bool instance_next_event(struct instance *instance, enum run_event *event);

/* Copies to stderr what the log has more than at the last call. */
void instance_show_log(struct instance *instance);

/* SIGKILL to all that runs on it, until nothing is left. `exit_code` stays if the
 * run has ended by itself. */
void instance_kill(struct instance *instance);

/* From the whole log. */
struct job_steps instance_steps(const struct instance *instance);
/* The last lines of the log; the caller frees. */
char *instance_last_lines(const struct instance *instance, unsigned lines);

#endif
