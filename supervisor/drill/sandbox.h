/* What the machines of one drill share: scratch directory, store, job; their copies of the user's
 * directory; and how each is started. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "cloud/mock/mock.h"
#include "instance.h"

#define NOTICE_AFTER_UNSAID (-1)
#define EXCLUDED_MOST 32

struct scenario_options {
	enum mock_cloud cloud; /* whose metadata server is mocked */
	unsigned rounds;
	int64_t notice_after_ms; /* from the job's launch, or NOTICE_AFTER_UNSAID */
	int64_t notice_ms;       /* from the notice to the machine's end; not 0 */
	const char *compare;     /* the result file, from path_below(); NULL: nothing is compared */
	const char *directory;   /* scratch; NULL: a new one under $TMPDIR or /tmp */
	int64_t timeout_ms;      /* of the whole drill; 0: none */
	unsigned lost_most;      /* steps by each preemption; UINT_MAX: any */
	bool verbose;            /* copies the machines' logs to stderr */
	struct step_patterns patterns;
	char *excluded[EXCLUDED_MOST]; /* of --exclude, from path_below(); NULL behind the last */

	/* For `reprieve run`. */
	char **run_options; /* as the user wrote them, without the "--" */
	size_t run_option_count;
	char **command;             /* ends with NULL */
	const char *checkpoint_dir; /* as from path_below() */
	const char *store;          /* URL; NULL: one in the scratch directory */
	bool notice_chosen;         /* the user wrote --notice */
	uint32_t gang;              /* its members; 0: it is one machine */

	const struct signals_inherited *inherited; /* for the machines */
	bool silent, colour;                       /* what is printed as it happens */
	int64_t began_ms;
};

struct sandbox {
	const struct scenario_options *options;
	int signal;      /* has ended the drill early, SIGALRM: --timeout; 0: none */
	char *scratch;   /* absolute */
	char *from;      /* the user's working directory */
	char *store;     /* URL */
	char *job;       /* a new name, never that of a real job */
	char **left_out; /* absolute paths that no machine has; NULL behind the last */
};

/* PURE. "./out//ckpt/", or an absolute path below the absolute directory `from` -> "out/ckpt"; the
 * caller frees. NULL: it is not below it, or is the directory itself. Links are not resolved. */
char *path_below(const char *path, const char *from);

/* Creates the scratch directory. ERR_EXISTS: --directory is not empty. ERR_NO_SPACE: the user's
 * directory is too large for a copy at each machine. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Frees the strings; the files stay. */
void sandbox_release(struct sandbox *sandbox);

struct sandbox_start {
	const char *variable; /* of the metadata server: "NAME=value"; NULL: it has none */
	unsigned start;       /* 0: undisturbed */
	unsigned member;
	unsigned port;      /* free, for the job's own rendezvous */
	bool has_directory; /* the machine has run before, and has its disk */
};
/* Starts `reprieve run` on a machine, which gets its own copy of the user's directory. Blocks while
 * that is copied; fails as sandbox_wait_turn(). */
int sandbox_start(struct sandbox *sandbox, struct instance *instance,
		  const struct sandbox_start *start, struct err *err);

/* Sleeps for one turn, after which event logs and the clock are to be read again, or until a child
 * changes. ERR_CANCELLED: a signal asks the drill to end, or its time is over: `signal` is set. */
int sandbox_wait_turn(struct sandbox *sandbox, struct err *err);

#endif
