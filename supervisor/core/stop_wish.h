/*
 * PURE. Which SIGTERMs are one wish that the job end. Who ends a process and then its group sends
 * two in a row, and means one: timeout(1) of coreutils, Slurm and systemd do. Only a later one is
 * impatience. Times are those of CLOCK_MONOTONIC.
 */
#ifndef STOP_WISH_H
#define STOP_WISH_H

#include <stdbool.h>
#include <stdint.h>

/* From the first SIGTERM of a wish. */
#define STOP_WISH_MS 1000

struct stop_wish {
	int64_t began_ms; /* 0: there was none yet */
};

/*
 * Takes a SIGTERM that came at `now_ms`. True: a new wish begins with it. False: it repeats the one
 * before. Repetitions do not extend a wish: of one SIGTERM every 0.6 s, each second one is new.
 */
bool stop_wish_begins(struct stop_wish *wish, int64_t now_ms);

#endif
