/*
 * supervisor/drill/: `reprieve drill` proves on this computer that a job survives preemptions. It
 * runs the user's job on simulated machines, one after another, preempts each through a mock
 * metadata server, and judges what survived. This header is for other folders.
 *
 * Of this folder only; read scenario.c first:
 *
 *	scenario.c		plays the drill: start after start, each with a notice
 *	report.c		prints the verdict: for people, as JSON, as JUnit's XML
 *	trace.c			plays a list of preemptions, and compares with a script
 *	sandbox.c		one simulated machine: `reprieve run` in its own directory; what all
 *				machines share; may this command be drilled?
 *	event_log_reader.c	PURE: reads the events of one run
 *	steps.c			PURE: which steps does the job print, and do they go on?
 *	verdict.h		PURE: did the job survive? VERDICTS.md has the table
 */
#ifndef DRILL_H
#define DRILL_H

#include "base/cleanup.h"
#include "base/text.h"
#include "cloud/mock/mock.h"
#include "process/process.h"
#include "verdict.h"

#include <stdbool.h>
#include <sys/types.h>

/* --- sandbox.c --- */

/*
 * One simulated machine: its own directory, `reprieve run` in it, a log and an event log. It dies
 * like a real one: everything at once. This process must be a subreaper (child_prepare()) and must
 * have no other children than those that live at the same time, the members of a gang.
 */

/* A file of lines that grows. */
struct tail {
	char *path;
	off_t read; /* so far */
	struct bytes lines;
	size_t taken; /* so many bytes of `lines` are the line that was returned last */
};

struct instance {
	char label[24];        /* for people: "machine 1" */
	char *directory;       /* it runs there */
	struct tail log;       /* <name>.log: output of the run and of the job */
	struct tail event_log; /* <name>.events */
	struct mock *mock;     /* its metadata server; NULL: it has none */
	pid_t pid;             /* of `reprieve run` */
	bool running;
	int exit_code; /* of `reprieve run`; 128 + signal */

	struct run_events events;
	struct job_steps steps; /* in the job's output */
	char warning[300];      /* the last of reprieve's, without the job's; "": none */
	char said[300];         /* the last line of the job; "": none */
};

/* `name`: path of its logs, without their ends. Copies both paths. Creates no file. */
void instance_init(struct instance *instance, const char *name, const char *directory);
/* Call instance_kill_all() before. The files stay. */
void instance_release(struct instance *instance);

/* Notes whether the run has ended. Does not block. */
void instance_poll(struct instance *instance);

/* Reads the next event of the log; false: there is none yet. What it names in the machine's
 * directory is named as seen from there, as the user knows it. Does not block. */
bool instance_next_event(struct instance *instance);

/* Reads the log's new lines; `show`: copies them to stderr. Call it often: a line counts as of
 * then. */
void instance_read_log(struct instance *instance, const struct step_patterns *patterns, bool show);

/* Sends SIGKILL to all processes of a machine whose run has not ended. instance_poll() sees its end
 * a little later. */
void instance_kill(struct instance *instance);
/* The same of all machines, until none is left, and blocks until then. Poll them before. */
void instance_kill_all(void);

/* The exit code before --exit-policy maps it for a scheduler. */
int instance_plain_exit_code(const struct instance *instance);

/* The last lines of the log; the caller frees. */
char *instance_last_lines(const struct instance *instance, unsigned lines);

/* --- what all machines share --- */

/* What the machines of one drill share: scratch directory, store, job; their copies of the user's
 * directory; and how each is started. */

struct scenario_options;

struct sandbox {
	const struct scenario_options *options;
	int signal;      /* has ended the drill early, SIGALRM: --timeout; 0: none */
	char *scratch;   /* absolute */
	char *from;      /* the user's working directory */
	char *store;     /* URL */
	char *job;       /* a new name, never that of a real job */
	unsigned port;   /* for the job's own rendezvous; free when the start began */
	char **left_out; /* absolute paths that no machine has; NULL behind the last */
	char grace[16];  /* --grace of the machines; "": as the user has it */
};

/* PURE. "./out//ckpt/", or an absolute path below the absolute directory `from` -> "out/ckpt"; the
 * caller frees. NULL: it is not below it, or is the directory itself. Links are not resolved. */
char *path_below(const char *path, const char *from);

/* Creates the scratch directory. ERR_EXISTS: --directory is not empty. ERR_NO_SPACE: the user's
 * directory is too large for a copy at each machine. */
int sandbox_make(struct sandbox *sandbox, const struct scenario_options *options, struct err *err);
/* Frees the strings; the files stay. */
void sandbox_release(struct sandbox *sandbox);
AUTO(struct sandbox, sandbox_release);

/* Starts `reprieve run` on a machine, which gets its own copy of the user's directory, unless it
 * has one. `start` 0 is undisturbed. Blocks while that is copied; fails as sandbox_wait_turn(). */
int sandbox_start(struct sandbox *sandbox, struct instance *instance, unsigned start,
		  uint32_t member, struct err *err);

/* What a machine of a trace runs. */
enum lane_kind {
	LANE_BARE,     /* the command alone */
	LANE_REPRIEVE, /* under `reprieve run` */
	LANE_SCRIPT,   /* under options->script */
	TRACE_LANES
};
/* As sandbox_start(), without a metadata server. SIGTERM, if any, comes `notice_ms` before the end;
 * 0: none does. */
int sandbox_start_lane(struct sandbox *sandbox, struct instance *instance, enum lane_kind kind,
		       int64_t notice_ms, struct err *err);

/* Sleeps for one turn, after which event logs and the clock are to be read again, or until a child
 * changes. ERR_CANCELLED: a signal asks the drill to end, or its time is over: `signal` is set. */
int sandbox_wait_turn(struct sandbox *sandbox, struct err *err);

#define NOTICE_AFTER_UNSAID (-1)
#define EXCLUDED_MOST 32

struct scenario_options {
	enum mock_cloud cloud; /* whose metadata server is mocked */
	unsigned rounds;
	int64_t notice_after_ms; /* from the job's launch, or NOTICE_AFTER_UNSAID */
	int64_t notice_ms;       /* from the notice to the machine's end; not 0 */
	char *compare; /* owned: the result file, from path_below(); NULL: nothing is compared */
	const char *directory;              /* scratch; NULL: a new one under $TMPDIR or /tmp */
	int64_t timeout_ms;                 /* of the whole drill; 0: none */
	unsigned lost_most;                 /* steps by each preemption; UINT_MAX: any */
	bool verbose;                       /* copies the machines' logs to stderr */
	bool of_trace;                      /* `notice_ms` is the longest one */
	const char *script;                 /* the text of examples/bash/trap_and_sync.sh */
	char save_signal[SIGNAL_NAME_SIZE]; /* its SAVE_SIGNAL: "TERM" */
	struct step_patterns patterns;
	char *excluded[EXCLUDED_MOST]; /* owned; of --exclude, from path_below(); NULL behind the
					  last */

	/* For `reprieve run`. */
	char **run_options; /* as the user wrote them, without the "--" */
	size_t run_option_count;
	char **command;       /* ends with NULL */
	char *checkpoint_dir; /* owned; as from path_below() */
	const char *store;    /* URL; NULL: one in the scratch directory */
	bool notice_chosen;   /* the user wrote --notice */
	uint32_t gang;        /* its members; 0: it is one machine */

	const struct signals_inherited *inherited; /* for the machines */
	bool silent;                               /* nothing is printed as it happens */
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

/* --- trace.c --- */

#define TRACE_MOST 1000

struct trace_stop {
	int64_t at_ms;     /* from the start of the first machine, later than the one before */
	int64_t notice_ms; /* before the end; 0: none */
};

struct trace {
	struct trace_stop stops[TRACE_MOST];
	size_t count; /* at least 1 */
};

/* What became of the job. */
struct lane {
	const char *name;
	unsigned machines;
	int64_t paid_ms; /* the sum of their times */
	bool finished;
	int exit_code;  /* of the last machine */
	char said[300]; /* ... the job's last line */
};
struct trace_result {
	struct sandbox *sandbox; /* the caller's */
	double speed;
	struct lane lanes[TRACE_LANES];
};

/* PURE. Reads lines of "SECONDS [NOTICE]", `#` begins a comment; changes `text`. ERR_INVALID. */
int trace_parse(char *text, struct trace *trace, struct err *err);
/* PURE. How long the machine `index` runs until its notice, or its end; CLOCK_NEVER: to its own. */
int64_t trace_gap_ms(const struct trace *trace, size_t index, double speed);
/* PURE. 0 for a job that has not finished. */
double trace_goodput(const struct lane *lane, int64_t undisturbed_ms);
/* Runs the job to its end, three times. Blocks. ERR_INVALID: it fails undisturbed; else as
 * scenario_play(). The caller calls sandbox_release() in any case. */
int trace_play(const struct scenario_options *options, const struct trace *trace,
	       struct trace_result *result, struct err *err);
void trace_print(const struct trace *trace, const struct trace_result *result);
void trace_json(const struct trace *trace, const struct trace_result *result);

/* The whole drill; `reason` gets what the last line says of it. */
enum drill_result report_result(const struct scenario *scenario, char *reason, size_t capacity);
/* "1.20 s"; "-": it did not happen. */
#define DRILL_SECONDS_TEXT 32
const char *drill_seconds_format(int64_t milliseconds, char text[DRILL_SECONDS_TEXT]);
/* `kept`: the scratch directory stays, and is named. */
void report_print(const struct scenario *scenario, bool kept);
void report_json(const struct scenario *scenario, bool kept);
/* The whole file, as CI systems show it: one case for each preemption, the last run and the
 * comparison, and one for the whole. What has not passed is a failure there, UNPROVEN too: its type
 * says which. The caller frees. `scenario`: NULL, there is no verdict, because of `why`. */
char *report_junit(const struct scenario *scenario, const char *why);

#endif
