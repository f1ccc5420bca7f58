/*
 * Refuses unsafe checkpoint directories. At a start, files in the directory are moved aside or
 * replaced by a snapshot unless they are the newest checkpoint. So it must not contain the store,
 * our runtime directory, the user's home or the job's program.
 */
#ifndef DIRECTORY_CHECK_H
#define DIRECTORY_CHECK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Absolute paths, links resolved; NULL: none, or not to be checked. */
struct directory_check_facts {
	const char *directory; /* the checkpoint directory; never NULL */
	const char *store;     /* the directory of a file:// store */
	const char *runtime;   /* the runtime directory of this run */
	const char *working;   /* the job's working directory */
	const char *home;
	const char *program; /* the program or script that the command runs */
	bool repository;     /* the working directory is a git repository */
};

/* What helps where a directory that the user has chosen cannot be made or written to; for the end
 * of a sentence. */
#define DIRECTORY_CHECK_CHOOSE "choose another with --checkpoint-dir"

/*
 * PURE. ERR_INVALID: the directory is unsafe; the sentence says why, and `*advice` what helps
 * (static; NULL: nothing has to).
 *
 * Who follows the advice is not refused again. The job may save in this very directory, so that to
 * name another one is none: either the job saves elsewhere, in a directory of its own, which lifts
 * all that is in the way but a store around it; or, if only the store is, that is kept elsewhere.
 */
int directory_check_judge(const struct directory_check_facts *facts, const char **advice,
			  struct err *err);

struct directory_check {
	const char *directory; /* as the user wrote it */
	const char *store;     /* URL; NULL: none, so that nothing is moved or replaced */
	const char *runtime;   /* NULL: none */
	char *const *command;  /* the job's command */
};

/* Collects the facts on this machine and judges them. The directory need not exist. */
int directory_check_run(const struct directory_check *check, const char **advice, struct err *err);

/* The same, and the sentence is to stand among others: it does not say what is refused. */
int directory_check_ask(const struct directory_check *check, const char **advice, struct err *err);

/* Checks a directory that is only saved or restored, without a job: neither it nor the store may
 * be inside the other's content. */
int directory_check_store(const char *directory, const char *store, struct err *err);

/* Is it the current working directory? Some scripts save there, and then all files in it count as
 * checkpoints. */
bool directory_check_is_working_directory(const char *directory);

/* PURE. The file that "python -m MODULE" runs, relative to its working directory. For "a.b":
 * "a/b.py" if it is a module, "a/b/__main__.py" if it is a package. The caller frees. */
#define PYTHON_MODULE ".py"
#define PYTHON_PACKAGE "/__main__.py"
char *python_module_path(const char *module, const char *end);

#endif
