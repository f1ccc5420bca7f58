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
#include "process/process.h"
#include "steps.h"

#include <stdbool.h>
#include <sys/types.h>

/* A file of lines that grows. */
struct tail {
	char *path;
	off_t read; /* so far */
	struct bytes lines;
	size_t taken; /* so many bytes of `lines` are the line that was returned last */
};

struct instance {
	char label[24];        /* for people: "machine 1" */
	char *directory;       /* it runs there */
	struct tail log;       /* <name>.log: output of the run and of the job */
	struct tail event_log; /* <name>.events */
	struct mock *mock;     /* its metadata server; NULL: it has none */
	pid_t pid;             /* of `reprieve run` */
	bool running;
	int exit_code; /* of `reprieve run`; 128 + signal */

	struct run_events events;
	struct job_steps steps; /* in the job's output */
	char warning[300];      /* the last of reprieve's, without the job's; "": none */
	char said[300];         /* the last line of the job; "": none */
};

/* `name`: path of its logs, without their ends. Copies both paths. Creates no file. */
void instance_init(struct instance *instance, const char *name, const char *directory);
/* Call instance_kill_all() before. The files stay. */
void instance_release(struct instance *instance);

/* Both end with NULL. The directory must exist. Does not block. */
int instance_start(struct instance *instance, char *const *argv, char *const *environment,
		   const struct signals_inherited *inherited, struct err *err);

/* Notes whether the run has ended. Does not block. */
void instance_poll(struct instance *instance);

/* Reads the next event of the log; false: there is none yet. What it names in the machine's
 * directory is named as seen from there, as the user knows it. Does not block. */
bool instance_next_event(struct instance *instance);

/* Reads the log's new lines; `show`: copies them to stderr. Call it often: a line counts as of
 * then. */
void instance_read_log(struct instance *instance, const struct step_patterns *patterns, bool show);

/* Sends SIGKILL to all processes of a machine whose run has not ended. instance_poll() sees its end
 * a little later. */
void instance_kill(struct instance *instance);
/* The same of all machines, until none is left, and blocks until then. Poll them before. */
void instance_kill_all(void);

/* The exit code before --exit-policy maps it for a scheduler. */
int instance_plain_exit_code(const struct instance *instance);

/* The last lines of the log; the caller frees. */
char *instance_last_lines(const struct instance *instance, unsigned lines);

#endif
