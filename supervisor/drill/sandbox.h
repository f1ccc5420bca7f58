/* Everything that the machines of one drill share: scratch directory, store, job, options. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "base/err.h"
#include "cloud/mock/mock.h"
#include "console.h"
#include "instance.h"
#include "process/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scenario_options {
	enum mock_cloud cloud; /* whose metadata server is mocked */
	unsigned rounds;
	int64_t notice_after_ms; /* from the job's launch */
	int64_t notice_ms;       /* from the notice to the machine's end; not 0 */
	/* the result file, from linked_directory_relative(); NULL: nothing is compared */
	const char *compare;
	const char *directory; /* scratch; NULL: a new one under $TMPDIR or /tmp */
	bool verbose;          /* copies the machines' logs to stderr */

	/* For `reprieve run`. */
	char **run_options; /* as the user wrote them, without the "--" */
	size_t run_option_count;
	char **command;             /* ends with NULL */
	const char *checkpoint_dir; /* as from linked_directory_relative() */
	const char *store;          /* URL; NULL: one in the scratch directory */
	bool notice_chosen;         /* the user wrote --notice */

	const struct signals_inherited *inherited; /* for the machines */
	struct console *console;
};

struct sandbox {
	char *scratch; /* absolute */
	char *from;    /* the user's working directory */
	char *store;   /* URL */
	char *job;     /* a new name, never that of a real job */
};

/* Creates the scratch directory. ERR_EXISTS: --directory is not empty. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Frees the strings; the files stay. */
void sandbox_release(struct sandbox *sandbox);

/*
 * Starts `reprieve run` on a new machine. `notice`: its --notice; NULL: that of the user's options.
 * `variable`: "NAME=value" with the address of its metadata server; NULL: it has none.
 */
int sandbox_start(const struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const char *job, const char *notice,
		  const char *variable, struct err *err);

#endif
