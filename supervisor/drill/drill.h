/*
 * supervisor/drill/: `reprieve drill` proves on this computer that a job survives preemptions. It
 * runs the user's job on simulated machines, one after another, preempts each through a mock
 * metadata server, and judges what survived. This header is for other folders.
 *
 * Of this folder only; read scenario.c first:
 *
 *	scenario.c		plays the drill: start after start, each with a notice
 *	drilled_command.c	may this command be drilled?
 *	report.c		prints the verdict: for people, as JSON, as JUnit's XML
 *	sandbox.h		what all machines share, and their copies of the user's directory
 *	instance.h		one simulated machine: `reprieve run` in its own directory
 *	event_log_reader.h	PURE: reads the events of one run
 *	steps.h			PURE: which steps does the job print, and do they go on?
 *	verdict.h		PURE: did the job survive? VERDICTS.md has the table
 */
#ifndef DRILL_H
#define DRILL_H

#include "cloud/mock/mock.h"
#include "sandbox.h"
#include "verdict.h"

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

/* PURE. ERR_INVALID: the options of `run`, up to "--" or the end, have one that has no place in a
 * drill: what would reach people who wait for real preemptions. What the environment says of them
 * is left out (sandbox.c). */
int drilled_options_check(char *const *argv, struct err *err);
/*
 * The machines of a drill see the current directory at another place. ERR_INVALID: a word of the
 * command leads out of it by "../" to a file that is there, or names the checkpoint directory by an
 * absolute path.
 *
 * `written`: --checkpoint-dir as the user has written it; `relative`: the same, from `here`, the
 * current directory (NULL: unknown). Looks for files; does not block.
 */
int drilled_command_check(char *const *command, const char *written, const char *relative,
			  const char *here, struct err *err);

struct scenario {
	const struct scenario_options *options;
	struct sandbox sandbox; /* its `signal` has ended the drill early */
	uint32_t members;       /* 1: it is no gang */
	/* `members` of each start: the undisturbed one, one for each round, and the last one. */
	struct instance *instances;
	unsigned start;    /* the current one */
	uint32_t starting; /* so many of its members live */
	bool over;         /* no other has to follow */
	bool said_waiting; /* for the job's pace */

	struct round *rounds; /* options->rounds of them; facts.rounds_done are valid */
	struct drill_facts facts;
	uint64_t compared_bytes[2];    /* undisturbed, preempted: of all members that write it */
	uint32_t compared;             /* the member whose file differs, or is missing */
	const struct instance *failed; /* the first machine whose job has; NULL: none */
};

/*
 * Plays the drill and judges each round. Blocks until its end. -1: it could not be played;
 * ERR_CANCELLED: by a signal; ERR_EXISTS: the directory is not empty. In any case no process is
 * left, and the caller must call scenario_release().
 */
int scenario_play(const struct scenario_options *options, struct scenario *scenario,
		  struct err *err);
void scenario_release(struct scenario *scenario);
AUTO(struct scenario, scenario_release);
/* A member's machine in a start; 0 is the undisturbed one. */
struct instance *scenario_instance(const struct scenario *scenario, unsigned start,
				   uint32_t member);

/* The whole drill; `reason` gets what the last line says of it. */
enum drill_result report_result(const struct scenario *scenario, char *reason, size_t capacity);
/* `kept`: the scratch directory stays, and is named. */
void report_print(const struct scenario *scenario, bool kept);
void report_json(const struct scenario *scenario, bool kept);
/* The whole file, as CI systems show it: one case for each preemption, the last run and the
 * comparison, and one for the whole. What has not passed is a failure there, UNPROVEN too: its type
 * says which. The caller frees. `scenario`: NULL, there is no verdict, because of `why`. */
char *report_junit(const struct scenario *scenario, const char *why);

#endif
