/*
 * One simulated machine: its own directory, `reprieve run` in it, a log and an event log. It dies
 * like a real one: everything at once. This process must be a subreaper (child_prepare()) and must
 * have no other children than those that live at the same time, the members of a gang.
 */
#ifndef INSTANCE_H
#define INSTANCE_H

#include "base/cleanup.h"
#include "base/text.h"
#include "event_log_reader.h"
#include "job_log.h"
#include "opened_files.h"
#include "printed_lines.h"
#include "process/process.h"
#include "shared_directories.h"
#include "tree_look.h"

#include <stdbool.h>
#include <sys/types.h>

struct instance {
	unsigned number;
	char label[24];  /* for people: "machine 1" */
	char *directory; /* <scratch>/machine-<number> */
	char *log;       /* <scratch>/machine-<number>.log: output of the run and of the job */
	char *event_log; /* <scratch>/machine-<number>.events */
	char *files; /* <scratch>/machine-<number>.files: what the job opened (shim/access_log.h) */
	pid_t pid;   /* of `reprieve run` */
	bool running;
	int exit_code; /* of `reprieve run`; 128 + signal */

	struct tree_look look; /* at its directory, before the run */

	struct run_events events;
	struct bytes line;    /* the start of a line that is not complete yet */
	off_t event_log_read; /* the event log was read up to here */

	struct job_log counts; /* in the job's output */
	struct printed_lines lines;
	char warning[300];     /* the last of reprieve's, without the job's; "": none */
	char said[300];        /* the last line of the job; "": none */
	struct bytes log_line; /* as `line`, of the log */
	off_t log_read;
};

/* Sets the names; creates no file. */
void instance_init(struct instance *instance, const char *scratch, unsigned number);
/* The same of a member of a gang in one start; it takes over `directory`, its disk. */
void instance_init_member(struct instance *instance, const char *scratch, unsigned start,
			  unsigned member, char *directory);
/* Call instance_kill() before. The files stay. */
void instance_release(struct instance *instance);
AUTO(struct instance, instance_release);

/* `argv` and `variables` ("NAME=value", which replace those of the environment) end with NULL. The
 * directory must exist. `shared` is read-only for the machine; NULL: all is as it is. Does not
 * block. */
int instance_start(struct instance *instance, char *const *argv, const char *const *variables,
		   const struct shared_directories *shared,
		   const struct signals_inherited *inherited, struct err *err);

/* Notes which runs have ended, of all that live. Does not block. */
void instance_poll(struct instance *instances, size_t count);

/* Reads the next event of the log; false: there is none yet. What it names in the machine's
 * directory is named as seen from there, as the user knows it. Does not block. */
bool instance_next_event(struct instance *instance, enum run_event *event);

/* Reads the log's new lines; `show`: copies them to stderr. Call it often: a line counts as of
 * then. */
void instance_read_log(struct instance *instance, bool show);

/* Sends SIGKILL to all processes of the machines, all that live, until none is left, and blocks
 * until then. `exit_code` stays if the run has ended by itself. */
void instance_kill(struct instance *instances, size_t count);
/* The same of one among several, whose run has not ended. */
void instance_kill_alone(struct instance *instance);

/* The exit code before --exit-policy maps it for a scheduler. */
int instance_plain_exit_code(const struct instance *instance);

/* What the job opened; marks those of the restored files (may be NULL), and adds the names of what
 * it wrote to its counts. Call it once, at the end. */
void instance_read_accesses(struct instance *instance, struct file_accesses *accesses,
			    struct restored_files *restored);
/* The last lines of the log; the caller frees. */
char *instance_last_lines(const struct instance *instance, unsigned lines);

#endif
