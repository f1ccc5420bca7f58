/*
 * Decides when the job's processes get a SIGTERM that the shim holds back (--shield).
 *
 * Slurm, systemd and `docker stop` send SIGTERM to every process at once, the supervisor included.
 * The shim (shim/sigterm_handler.c) holds it back in each process of the job and reports it. If the
 * supervisor gets one too, the processes get theirs after the checkpoint is saved. A SIGTERM that
 * was sent to processes of the job, and not to the supervisor, is released, because it is no
 * notice. The user is told of it where the sender is seen outside: one that has ended (`kill`,
 * `pkill`) may be a process of the job.
 */
#ifndef SIGTERM_HOLD_H
#define SIGTERM_HOLD_H

#include "base/loop.h"
#include "completion/completion.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How much later than the job's processes the supervisor may get the same signal. */
#define SIGTERM_HOLD_PATIENCE_MS 300

struct sigterm_hold_facts {
	bool ended;          /* nothing is held back any more */
	bool noticed;        /* there is a stop notice */
	bool sender_ours;    /* the sender is a process of the job */
	bool sender_outside; /* it is none, or in another PID namespace; neither: it has ended */
	bool for_ours;       /* it replaces one that we sent: see sigterm_hold_add() */
	int64_t held_ms;     /* held back for so long */
};

enum sigterm_hold_verdict {
	SIGTERM_HOLD_KEEP,    /* until the checkpoint is saved */
	SIGTERM_HOLD_WAIT,    /* decide again after SIGTERM_HOLD_PATIENCE_MS */
	SIGTERM_HOLD_RELEASE, /* the process gets it now */
	SIGTERM_HOLD_MEANT    /* ... and somebody outside the job meant it, not us */
};

/* PURE. The decision for one process. */
enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold_facts *facts);

struct held_process {
	pid_t pid, sender;
	uint64_t start_time;
	bool for_ours, sender_ours, sender_outside; /* when it was reported */
	int64_t held_ms;                            /* without the time in which we were stalled */
};

struct sigterm_hold {
	struct loop *loop;
	struct tracker *tracker; /* NULL: the functions below do nothing */
	struct timer timer;
	int64_t judged_ms;
	struct held_process *processes;
	size_t count;
	bool active, noticed, said, said_meant;
};

/* Begins to hold back SIGTERM. Call it before the job is started; `tracker` may be NULL. Does not
 * block. */
void sigterm_hold_start(struct sigterm_hold *sigterm_hold, struct loop *loop,
			struct tracker *tracker);
/*
 * The shim in `pid` holds back a SIGTERM from `sender` (0: unknown). `for_ours`: we have sent one
 * as well, which the process has not received. The kernel keeps only the first of two pending
 * signals of one kind (signal(7)), so that this one stands for both.
 */
void sigterm_hold_add(struct sigterm_hold *sigterm_hold, pid_t pid, pid_t sender, bool for_ours);
/* There is a stop notice, or it was cancelled. */
void sigterm_hold_set_notice(struct sigterm_hold *sigterm_hold, bool stands);
/* Releases all that is held back, and lets later SIGTERMs pass, until sigterm_hold_start(). */
void sigterm_hold_end(struct sigterm_hold *sigterm_hold);
void sigterm_hold_release(struct sigterm_hold *sigterm_hold);

#endif
