/*
 * The shield's other end (shim/sigterm_handler.c): processes of the job keep a SIGTERM that came
 * from outside and say so; here it is decided when each gets it. Slurm, systemd and `docker stop`
 * signal every process at once, the supervisor too: then they keep it until the checkpoint is
 * taken. One that somebody meant for that process alone is handed on.
 */
#ifndef SUPERVISOR_SHIELD_H
#define SUPERVISOR_SHIELD_H

#include "base/loop.h"
#include "completion/completion.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* so much later than a process of its job may the supervisor get the same signal */
#define SIGTERM_HOLD_PATIENCE_MS 300

struct sigterm_hold_facts {
	bool ended;       /* nothing is kept any more */
	bool noticed;     /* a stop notice stands */
	bool sender_ours; /* the sender belongs to the job */
	bool for_ours;    /* it came instead of one that we sent */
	int64_t held_ms;  /* for so long by now */
};

enum sigterm_hold_verdict {
	SIGTERM_HOLD_KEEP,
	SIGTERM_HOLD_WAIT, /* ask again when SIGTERM_HOLD_PATIENCE_MS are over */
	SIGTERM_HOLD_RELEASE
};

/* PURE. */
enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold_facts *facts);

struct held_process {
	pid_t pid, sender;
	uint64_t start_time;
	bool for_ours;
	int64_t held_ms; /* while we were awake */
};

struct sigterm_hold {
	struct loop *loop;
	struct tracker *tracker; /* NULL: the functions below do nothing */
	struct timer timer;
	int64_t judged_ms;
	struct held_process *processes;
	size_t count;
	bool active, noticed, said;
};

/* Raises it: before the job is started. Does not block. */
void sigterm_hold_start(struct sigterm_hold *sigterm_hold, struct loop *loop,
			struct tracker *tracker);
/*
 * A process keeps a SIGTERM from `sender` (0: unknown). `for_ours`: we have sent it one as well,
 * and it has not had that: of two that are pending at a time the kernel keeps the first
 * (signal(7)), so this one has to do for both.
 */
void sigterm_hold_add(struct sigterm_hold *sigterm_hold, pid_t pid, pid_t sender, bool for_ours);
/* A stop notice stands, or does not any more. */
void sigterm_hold_set_notice(struct sigterm_hold *sigterm_hold, bool stands);
/* Everybody gets what he keeps, and from now on what comes. Until sigterm_hold_start(). */
void sigterm_hold_end(struct sigterm_hold *sigterm_hold);
void sigterm_hold_release(struct sigterm_hold *sigterm_hold);

#endif
