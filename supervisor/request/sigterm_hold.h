/*
 * The shield's other end (shim/sigterm_handler.c): processes of the job keep a SIGTERM that came from outside and say so; here it is decided
 * when each gets it. Slurm, systemd and `docker stop` signal every process at once, the supervisor too: then they keep it until the
 * checkpoint is taken. One that somebody meant for that process alone is handed on.
 */
#ifndef SUPERVISOR_SHIELD_H
#define SUPERVISOR_SHIELD_H

#include "base/loop.h"
#include "completion/completion.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SHIELD_PATIENCE_MS \
	300 /* so much later than a process of its job may the supervisor get the same signal */

struct shield_facts {
	bool let_go;      /* nothing is kept any more */
	bool noticed;     /* a stop notice stands */
	bool sender_ours; /* the sender belongs to the job */
	bool for_ours;    /* it came instead of one that we sent */
	int64_t kept_ms;  /* for so long by now */
};

enum shield_verdict {
	SHIELD_KEEP,
	SHIELD_WAIT, /* ask again when SHIELD_PATIENCE_MS are over */
	SHIELD_HAND_ON
};

/* PURE. */
enum shield_verdict shield_judge(const struct shield_facts *facts);

struct shield_process {
	pid_t pid, sender;
	uint64_t start_time;
	bool for_ours;
	int64_t kept_ms; /* while we were awake */
};

struct shield {
	struct loop *loop;
	struct tracker *tracker; /* NULL: the functions below do nothing */
	struct timer timer;
	int64_t judged_ms;
	struct shield_process *processes;
	size_t count;
	bool standing, noticed, said;
};

/* Raises it: before the job is started. Does not block. */
void shield_raise(struct shield *shield, struct loop *loop, struct tracker *tracker);
/* A process keeps a SIGTERM from `sender` (0: unknown). `for_ours`: we have sent it one as well, and it has not had that: of two that
 * are pending at a time the kernel keeps the first (signal(7)), so this one has to do for both. */
void shield_kept(struct shield *shield, pid_t pid, pid_t sender, bool for_ours);
/* A stop notice stands, or does not any more. */
void shield_notice(struct shield *shield, bool stands);
/* Everybody gets what he keeps, and from now on what comes. Until shield_raise(). */
void shield_let_go(struct shield *shield);
void shield_release(struct shield *shield);

#endif
