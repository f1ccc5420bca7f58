/* What the machines of one drill share: where they lie, what they run, and the
 * store between them. */
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
	enum mock_cloud cloud; /* whose metadata server is pretended */
	unsigned rounds;
	int64_t notice_after_ms; /* from the job's launch */
	int64_t notice_ms;       /* from the notice to the machine's end; not 0 */
	/* relative to the working directory, as from linked_directory_relative();
	 * NULL: nothing is compared */
	const char *compare;
	const char *directory; /* scratch; NULL: a new one under $TMPDIR or /tmp */
	bool verbose;          /* the machines' logs go to stderr too */

	/* Of `reprieve run`. */
	char **run_options; /* as the user wrote them, without the "--" */
	size_t run_option_count;
	char **command;             /* ends in NULL */
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
	char *job;     /* a name of its own: never that of a job that counts */
};

/* Makes the scratch directory. ERR_EXISTS where --directory is not empty. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Forgets the names; the files stay. */
void sandbox_release(struct sandbox *sandbox);

/*
 * Starts `reprieve run` on a fresh machine. `notice`: where it is to look for notices; NULL: as the
 * user's options say. `variable`: where the machine finds its metadata server, "NAME=value"; NULL
 * for none.
 */
int sandbox_start(const struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const char *job, const char *notice,
		  const char *variable, struct err *err);

#endif
