/*
 * PURE, but for detached_process_find(), _follow() and _may_write(). Commands that detach: "nohup
 *python train.py
 *&", setsid, a script that ends in "&". Their main process exits, and what it has started goes on.
 *
 * An init leaves such processes alone, and ends with its main process. Here they are the job, and
 * the run goes on until the last of them has ended, if
 *
 *	- they have written to the checkpoint directory; or
 *	- checkpoints are expected and nothing was written there yet, and the main process has
 *	  exited with 0 soon after its start: it has handed its work to somebody else.
 *
 * Agents, monitors and helpers that outlive a job (ssh-agent, tensorboard, sleep, the processes of
 * Python's multiprocessing) are nobody's job.
 */
#ifndef DETACHED_PROCESS_H
#define DETACHED_PROCESS_H

#include "child.h"
#include "process_tree.h"

#include <stdbool.h>
#include <stddef.h>

/* A main process that detaches its work has no other: it exits this soon. */
#define DETACHED_SOON_MS 30000
#define DETACHED_TEXT_SIZE 160

struct detachment {
	/* The command was told to end: it has ended, and what is left of it is ended too. */
	bool told_to_end;
	bool expected;  /* checkpoints are */
	bool wrote;     /* something was written to the checkpoint directory */
	bool succeeded; /* the process that was the job until now has exited with 0 */
	int64_t ran_ms; /* since it became the job */
	/* Processes that were started up to then (struct process) were left behind by the main
	 * process: they stay the job until all have ended. 0: the main process itself has ended. */
	uint64_t left_until;
	/* A shell that has started nothing is the job. It may be about to become a command, which
	 * is another program a moment later: first look without this. */
	bool shells_count;
	const pid_t *writers; /* the processes that wrote there last */
	size_t writer_count;
};

/* The process to wait for now, a child of `self`; NULL: the job is over. `tree` has all descendants
 * of `self` (PROCESS_TREE_FULL). Borrowed from it. */
const struct process *detached_process_choose(const struct detachment *detachment,
					      const struct process_tree *tree, pid_t self);

/* The chain of those that were the job, one after the other. Zeroed at first. */
struct detached_job {
	int64_t since_ms;    /* when the child became another process; 0: it has not */
	uint64_t left_until; /* see struct detachment; 0: nothing has detached */
	int status;          /* of the first that failed, as waitpid() gave it */
};

/*
 * The child has ended: is the process that it has left behind adopted as the child? False: the job
 * is over, with the status of the first that failed. The caller fills `told_to_end`, `expected`,
 * `wrote` and the writers of `detachment`. `text`: how the process is described. Logs what is done;
 * may block as detached_process_find().
 */
bool detached_process_follow(struct detached_job *detached, struct detachment *detachment,
			     int64_t launched_ms, struct child *child,
			     char text[DETACHED_TEXT_SIZE]);

/* What the main process has started outlives it, and is not the job: what is known of that. */
struct outlived_facts {
	int64_t now_ms;
	int64_t since_ms; /* its end; or, later, the last write of those, or the SIGTERM to them */
	bool writing;     /* one of them has a file of a save open for writing */
	bool may_begin;   /* detached_process_may_write() */
	bool cut;         /* by SIGKILL or Ctrl-C */
};

/* A just-started writer has so long to open its file, and one that has closed it to open the next.
 */
#define OUTLIVED_QUIET_MS 2000
/* Who has a file open, and writes nothing for so long, may be a daemon that never ends. */
#define OUTLIVED_STALL_MS 10000

/*
 * PURE. Has the job not ended yet? A save that another process writes is part of it: a trainer may
 * leave as soon as it has handed over its last checkpoint.
 */
bool outlived_is_waited_for(const struct outlived_facts *facts);
/* Returns whether this process has a descendant other than a helper. Reads /proc if it has a child.
 */
bool detached_process_may_write(void);

/* Why that command must not be started: its work would be done by a server that is nobody's
 * descendant (tmux, screen), so that it could be neither waited for nor stopped. NULL: nothing is
 * known against it. A sentence that names what to do instead. */
const char *detached_process_refuse_command(char *const *command);

#endif
