/*
 * Checkpoints need a directory of their own: what lies there when a job starts is moved aside or
 * replaced by a snapshot where it is not the newest checkpoint. So the store, our own runtime
 * directory, the user's home and the program that is run must not lie in it.
 */
#ifndef DIRECTORY_CHECK_H
#define DIRECTORY_CHECK_H

#include "base/err.h"

#include <stdbool.h>

/* Absolute, links resolved; NULL: there is none, or it does not count. */
struct directory_check_facts {
	const char *directory; /* of the checkpoints; always there */
	const char *store;     /* the directory of a file:// store */
	const char *runtime;   /* of this run */
	const char *working;   /* where the job is started */
	const char *home;
	const char *program; /* what the command runs, a script for instance */
	bool repository;     /* lies in the working directory */
};

/* PURE. ERR_INVALID: the sentence says what lies where it must not. */
int directory_check_judge(const struct directory_check_facts *facts, struct err *err);

struct directory_check {
	const char *directory; /* as written */
	const char *store;     /* URL; NULL: none, and then nothing is moved or replaced */
	const char *runtime;   /* NULL: none */
	char *const *command;  /* of a job that is started from here */
};

/* The same with what is found on this machine. It need not be there yet. */
int directory_check_run(const struct directory_check *check, struct err *err);

/* Of a directory that is only saved or restored into, where no job runs: it and the store must not
 * lie in each other's content. */
int directory_check_store(const char *directory, const char *store, struct err *err);

/* Scripts that save where they run have it so, and then everything there is taken
 * for a checkpoint. */
bool directory_check_is_working_directory(const char *directory);

#endif
