/*
 * PURE. Which job this is, so that the next machine finds its snapshots: the user's name, else a
 * scheduler's id that stays the same over restarts, else a fingerprint of directory and command.
 * Inside the job of another run (base/inside.h) the scheduler's id is of that one, and so is a name
 * that it has handed on: there it is a fingerprint of the outer job's name, directory and command,
 * and of which machine, task and element of an array this is.
 * The element of an array is part of every name, as "sweep_3" of --job sweep.
 * What a launcher starts several times, and is no gang, has a name each: whatever the name is, the
 * index is in it, once (gang_identity.h says when).
 * Host names and process ids are not used, because they change with the machine.
 */
#ifndef JOB_NAME_H
#define JOB_NAME_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

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
	/* of_scheduler: the length of the text without the element of an array, which is its end;
	 * 0: there is none. With that --job the element of another array has this name. */
	size_t stem;
};

typedef const char *(*job_name_getenv_fn)(void *arg, const char *name);

/* What tells this process from others that the same launcher has started. */
struct job_place {
	/* They are one job, and what tells them apart is no part of the name. */
	bool of_gang;
	/* "3": they are jobs of their own; NULL or "": nothing tells them apart, or there are none.
	 */
	const char *index;
	/* The variable that says so ("SLURM_PROCID"): a scheduler's id that has it in it has it
	 * once. */
	const char *index_from;
	/* --member is given: the elements of an array may be the members, and are no part. */
	bool element_is_member;
};

/*
 * `chosen` is --job, or NULL. `directory` and `argv` (ends with NULL) go into the fingerprint. A
 * scheduler's id is mapped to the allowed characters; if that changes it, a digest is appended.
 * ERR_INVALID only for a name that the user gave (--job, REPRIEVE_JOB).
 */
int job_name_find(const char *chosen, const struct job_place *place, job_name_getenv_fn get,
		  void *arg, const char *directory, const char *const *argv, struct job_name *name,
		  struct err *err);

/* Which element of an array this is: "3"; NULL: of none. *advice (unless NULL) is then ": ...":
 * what to do where another element has the same checkpoint directory; static. */
const char *job_name_element(job_name_getenv_fn get, void *arg, const char **advice);

/* ERR_INVALID: no job can have that name. */
int job_name_check(const char *name, struct err *err);

#endif
