/*
 * PURE. Has the job begun anew, although a checkpoint lay there to resume from? It is said only
 * where two things are known, of which each alone may mean something else:
 *
 *   what it has saved first has a lower number than what lay there, under the same name but for the
 *   number; and
 *   no process of the job that the preload library is in has opened a file that lay there: at all,
 *   be it to map it, and until that save was complete; nor has it given one another name. (Logs
 *   that are only added to do not count.)
 *
 * A job that loads its state in a way that nobody sees goes on with a higher number. One that reads
 * what lay there and saves a lower number goes on from an older checkpoint, counts from zero in
 * each phase, or ignores what it has read: only a drill tells these apart. Files with fixed names
 * have no number, and of them nothing is known. Whatever makes one of the two doubtful (a report
 * that was lost, a process that opens too many files to tell of each) ends the search.
 */
#ifndef BEGUN_ANEW_H
#define BEGUN_ANEW_H

#include "monitor/monitor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbered_name;
struct own_file;

/* Zero-initialise. */
struct begun_anew {
	struct numbered_name *names; /* of what lay there, each with its highest number; owned */
	size_t count;
	struct own_file *own; /* what the job has written itself, and may read again; owned */
	size_t own_count;
	bool over;            /* it is decided, or never will be */
	int64_t saved, found; /* if `begun`: what it has begun to save, and what lay there */
	bool begun;
};

/* The files that lie there, as paths, ending in NULL. */
void begun_anew_expect(struct begun_anew *begun_anew, char *const *paths);
/* Each report of the job's processes, in their order. */
void begun_anew_hear(struct begun_anew *begun_anew, const struct shim_message *message);
/* A checkpoint is complete, with this step (-1: none). True, once: the job has begun anew. */
bool begun_anew_decide(struct begun_anew *begun_anew, int64_t step);
void begun_anew_release(struct begun_anew *begun_anew);

#endif
