/* Everything that the machines of one drill share: scratch directory, store, job, options. */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "base/err.h"
#include "cloud/mock/mock.h"
#include "console.h"
#include "instance.h"
#include "machine_directory.h"
#include "notice_time.h"
#include "process/process.h"
#include "storage/storage.h"
#include "written_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scenario_options {
	enum mock_cloud cloud; /* whose metadata server is mocked */
	unsigned rounds;
	int64_t notice_after_ms; /* from the job's launch; NOTICE_AFTER_UNSAID (notice_time.h) */
	int64_t notice_ms;       /* from the notice to the machine's end; not 0 */
	/* the result file, from machine_directory_relative(); NULL: nothing is compared */
	const char *compare;
	const char *directory; /* scratch; NULL: a new one under $TMPDIR or /tmp */
	int64_t timeout_ms;    /* of the whole drill; 0: none */
	unsigned lost_most;    /* steps by each preemption; UINT_MAX: any */
	bool verbose;          /* copies the machines' logs to stderr */

	/* For `reprieve run`. */
	char **run_options; /* as the user wrote them, without the "--" */
	size_t run_option_count;
	char **command;               /* ends with NULL */
	const char *checkpoint_dir;   /* as from machine_directory_relative() */
	const char *store;            /* URL; NULL: one in the scratch directory */
	bool notice_chosen;           /* the user wrote --notice */
	uint32_t members;             /* of a gang; 0: it is one machine */
	enum gang_parts_choice parts; /* of `run` */

	const struct signals_inherited *inherited; /* for the machines */
	struct console *console;
};

struct sandbox {
	char *scratch; /* absolute */
	char *from;    /* the user's working directory */
	char *store;   /* URL */
	char *job;     /* a new name, never that of a real job */

	uint64_t room; /* bytes that each machine's directory may have copies of */
	/* what finds none, and no machine has; "": nothing (machine_directory_make()) */
	char left_out[MACHINE_TEXT];

	struct shared_directories directories; /* of the user's, by the look below */

	struct tree_look users; /* at the user's directory, before the machines of now */
	/* what machines have written in the user's own directory, which all see; "": nothing */
	char shared[WRITTEN_TEXT];
	enum users_way shared_way;
};

/* Creates the scratch directory. ERR_EXISTS: --directory is not empty. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Frees the strings; the files stay. */
void sandbox_release(struct sandbox *sandbox);

/* Call it before machines start, and when they are gone. True of the second: they have changed the
 * user's own directory, and `shared` names how. */
int sandbox_look(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
bool sandbox_look_again(struct sandbox *sandbox, const struct scenario_options *options);

/* Starts the metadata server of a machine. The caller frees `variable`: "NAME=value" with its
 * address. */
int sandbox_start_mock(const struct scenario_options *options, struct mock **mock, char **variable,
		       struct err *err);

struct sandbox_start {
	const char *job;
	const char *notice;   /* --notice; NULL: that of the user's options */
	const char *variable; /* of sandbox_start_mock(); NULL: it has no metadata server */
	/* Of a gang: the member's number is that of the instance. */
	unsigned start;
	unsigned port;      /* free, for the job's own rendezvous */
	bool has_directory; /* the machine has run before, and has its disk */
};
/* Starts `reprieve run` on a machine. */
int sandbox_start(struct sandbox *sandbox, const struct scenario_options *options,
		  struct instance *instance, const struct sandbox_start *start, struct err *err);

/* Sleeps for one turn, after which event logs and the clock are to be read again, or until a child
 * changes. ERR_CANCELLED: a signal asks the drill to end, and is in *signal; SIGALRM: its time is
 * over (`timeout_ms`). */
int sandbox_wait_turn(const struct scenario_options *options, int *signal, struct err *err);

#endif
