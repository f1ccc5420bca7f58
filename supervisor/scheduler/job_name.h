/*
 * PURE. Which job this is, so that the next machine finds its snapshots: the user's name, else a
 * scheduler's id that stays the same over restarts, else a fingerprint of directory and command.
 * Inside the job of another run (base/inside.h) both of the first are of that one: there it is a
 * fingerprint of the outer job's name, directory and command.
 * Host names and process ids are not used, because they change with the machine.
 */
#ifndef JOB_NAME_H
#define JOB_NAME_H

#include "base/err.h"

#include <stdbool.h>

#define JOB_NAME_MOST 128

struct job_name {
	/* [A-Za-z0-9._-], beginning with a letter, digit or underscore */
	char text[JOB_NAME_MOST + 1];
	/* for people: "--job", "SLURM_JOB_ID", "directory and command"; static */
	const char *origin;
	/* by the user or a scheduler; false: a fingerprint */
	bool given;
	/* by a scheduler: another submission of the same command has another one */
	bool of_scheduler;
};

typedef const char *(*job_name_getenv_fn)(void *arg, const char *name);

/*
 * `chosen` is --job, or NULL. `of_gang`: several machines are one job, and what tells them apart is
 * no part of the name. `directory` and `argv` (ends with NULL) go into the fingerprint. A
 * scheduler's id is mapped to the allowed characters; if that changes it, a digest is appended.
 * ERR_INVALID only for a name that the user gave (--job, REPRIEVE_JOB).
 */
int job_name_find(const char *chosen, bool of_gang, job_name_getenv_fn get, void *arg,
		  const char *directory, const char *const *argv, struct job_name *name,
		  struct err *err);

#endif
