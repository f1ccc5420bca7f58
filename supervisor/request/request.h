/*
 * supervisor/request/: asks the job for a checkpoint, and follows how its ranks react.
 *
 * Read first: checkpoint_request.c, then its rules for the ranks.
 *
 * For other folders:
 *
 *	checkpoint_request.c	sends a request: by signal, by polled flag, or by command; PURE:
 *				which processes get the signal
 *	rank_progress.c		for each rank: asked, delivered, saving, late
 *	sigterm_hold.c		when processes get a SIGTERM that the shim holds back for them
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "completion/completion.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "process/process.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- checkpoint_request.c --- */

/*
 * Asks the job for a checkpoint: by a signal to its processes, by a flag that they poll, or by a
 * command. A signal is sent only to a process that has a handler for it. A job or rank that cannot
 * be asked yet, because it is still starting, is tried again until checkpoint_request_stop(). A
 * process gets at most one signal for each request, because handlers of trainers are not
 * re-entrant. Lives on the loop.
 */

/*
 * PURE. Selects the processes that get the request for a checkpoint. A signal to the wrong process
 * costs the job: a process without a handler dies, a DataLoader worker that inherited the handler
 * would save too, and a launcher ends its ranks.
 */

struct rank {
	pid_t pid;
	uint64_t start_time; /* struct process */
	int64_t number;      /* PROCESS_NO_RANK: the job has no rank numbers */
};

struct rank_criteria {
	/* the job's main process */
	pid_t main_pid;
	int signal;
	enum profile_target whom;
	/* Processes that have written checkpoints, first those that have saved by themselves
	 * before; the others have begun with the save that is under way, as a copier does. May be
	 * NULL. */
	const pid_t *writers;
	size_t saver_count, writer_count;
	/* asked in this request already: no process of these ranks is selected again */
	const struct rank *asked;
	size_t asked_count;
};

struct rank_selection {
	/* in the order of the process tree; each has a handler for the signal */
	struct rank *ranks;
	size_t count;
	/* how many ranks are to be asked in all: with those asked before, and those that have no
	 * handler yet */
	size_t expected;
	/* if count is 0: why, for the user */
	char reason[160];
};

/*
 * `tree` has parents before their children. The first of these rules that finds a process is used:
 *   1. for each rank in the environment (RANK, MPI's rank, LOCAL_RANK), the topmost process that
 *      catches the signal;
 *   2. those that have saved before and catch it, and processes beside them that run the same
 *      script;
 *   3. from the main process downwards, and from a launcher beside it, the first that catch it;
 *   4. the topmost shell or other wrapper that catches it.
 * Launchers, copiers, DataLoader workers and, without a rank, writers that have not saved before
 * are never selected. `whom` may reduce the result to one rank. If `asked` is not empty, only ranks
 * of rule 1 are added that were not ready before.
 */
void rank_selection_make(const struct process_tree *tree, const struct rank_criteria *criteria,
			 struct rank_selection *selection);
void rank_selection_release(struct rank_selection *selection);
AUTO(struct rank_selection, rank_selection_release);

struct checkpoint_request {
	struct loop *loop;
	/* not REQUEST_AUTO: set REQUEST_SIGNAL, SIGTERM and `may_flag` instead */
	enum request_method method;
	bool may_flag; /* use the flag instead of the signal once a process polls */
	int signal;
	enum profile_target whom;
	const char *command;
	const char *const *environment; /* "NAME=value" for the command; borrowed */
	struct progress_page *page;     /* has the flag; NULL: there is none */

	/* The request is about to be sent: later writes of the job may answer it. A fast job
	 * answers before `sent` is called. */
	void (*sending)(void *arg);
	/* The request was sent to `ranks` (none for a command). Called again for ranks that were
	 * not ready the first time. `expected`: how many are to get it in the end. */
	void (*sent)(void *arg, const struct rank *ranks, size_t count, size_t expected);
	/* The request could not be sent; `why` is a sentence. Called at most once for each request.
	 * Further tries follow if they can succeed. */
	void (*failed)(void *arg, const char *why);
	/* Fills in the PIDs of processes that have written checkpoints; returns their number.
	 * *savers: of these, the first ones have saved before (struct rank_criteria). */
	size_t (*writers)(void *arg, pid_t *pids, size_t most, size_t *savers);
	void *arg;

	/* the members below are private, except `by_flag` */
	struct timer retry_timer;
	pid_t child;
	pid_t command_pid;
	/* ranks that got the signal in this request */
	struct rank *asked;
	size_t asked_count;
	/* when that began: before any of them can have got it */
	int64_t sent_ms;
	bool failure_reported, retrying;
	/* this request was sent by the flag */
	bool by_flag;
};

/* Sends a new request. The caller has set all members of `request` down to `arg`. `child`:
 * the job's main process. Reads /proc: some 20 us for each process of the machine. */
void checkpoint_request_start(struct checkpoint_request *request, pid_t child);
/* Would this signal, sent now, reach a process that handles it? Reads /proc as well. */
bool checkpoint_request_finds(const struct checkpoint_request *request, pid_t child, int signal);
/* Was the signal sent to this process in this request, which was begun later than `since_ms`? */
bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
				      int64_t since_ms);
/* Ends the tries. A signal that was sent cannot be taken back. */
void checkpoint_request_stop(struct checkpoint_request *request);
void checkpoint_request_release(struct checkpoint_request *request);
/* A process was reaped. True: it was the checkpoint command; a failure of it is reported through
 * `failed`. */
bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status);

/* --- rank_progress.c --- */

/*
 * Progress of a checkpoint request for each rank: asked, signal delivered, saving; and when a
 * change is worth a log line. PURE, but for rank_progress_follow() and _end(), which sample the
 * processes.
 *
 * A signal that was delivered is not yet handled: CPython runs handlers between two bytecodes, so
 * that one call into a library can delay the handler for minutes. Nor is a handler seen that only
 * notes the wish, for the end of the step. The signal is not sent again. So what is said is that a
 * rank has not begun to save; that it waits in one call, only if its main thread has not run since.
 */

#define RANK_PROGRESS_PATIENCE_MS 5000
#define RANK_PROGRESS_LINE_SIZE 320

struct rank_progress_item {
	struct rank rank;
	int64_t asked_ms;
	uint64_t cpu_ticks, switches;
	int64_t moved_ms; /* the last sample in which its main thread had run; 0: none yet */
	char state;       /* of its main thread, as /proc has it */
	bool gone, delivered, saving;
	bool writes; /* it, or a process that it started, wrote a checkpoint before it was asked */
};

/* What a line says. */
struct rank_counts {
	size_t asked, expected, saving, gone, late;
};

/* The caller fills what is above the line of a zeroed struct. */
struct rank_progress {
	struct loop *loop;
	struct tracker *tracker;                   /* knows who writes; NULL: nobody does */
	int signal;                                /* that asks */
	void (*news)(void *arg, const char *line); /* which is logged already */
	void *arg;
	/* --- of the newest request --- */
	struct rank_progress_item *items;
	size_t count, expected;
	int64_t begun_ms, asked_ms; /* start of the request; when the last rank was asked */
	int64_t patience_ms;
	struct rank_counts said; /* by the last line, at said_ms; 0: none was */
	int64_t said_ms;
	struct timer timer;
};

/* Begins a new request. `patience_ms`: a rank that writes nothing for so long counts as late. */
void rank_progress_begin(struct rank_progress *progress, int64_t patience_ms, int64_t now_ms);
void rank_progress_release(struct rank_progress *progress);

/* These ranks were asked just now; `expected`: how many are to be asked in all. */
void rank_progress_add(struct rank_progress *progress, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms);
/* The same, and observes them from now on. On the loop; nothing blocks. */
void rank_progress_follow(struct rank_progress *progress, const struct rank *ranks, size_t count,
			  size_t expected);
/* Observes once more, then stops. The progress stays readable. */
void rank_progress_end(struct rank_progress *progress);

/* A sample of the rank's process; NULL: it is gone. `wrote`, `writes`: it, or a process that it
 * started, has written a checkpoint file since it was asked, or before. */
void rank_progress_observe(struct rank_progress *progress, struct rank_progress_item *item,
			   const struct process_sample *sample, bool wrote, bool writes,
			   int64_t now_ms);

/* True: there is news, which `line` now contains, and which counts as logged. */
bool rank_progress_report(struct rank_progress *progress, int64_t now_ms,
			  char line[RANK_PROGRESS_LINE_SIZE]);

/* Number of ranks that are saving. */
size_t rank_progress_saving(const struct rank_progress *progress);

/* What `reprieve status` says of it: `asking`, the job is being asked; `answered`, it has saved.
 * Owned by the caller; NULL: none was asked. */
json_t *rank_progress_json(const struct rank_progress *progress, bool asking, bool answered,
			   int64_t now_ms);

/* --- sigterm_hold.c --- */

/*
 * Decides when the job's processes get a SIGTERM that the shim holds back (--shield).
 *
 * Slurm, systemd and `docker stop` send SIGTERM to every process at once, the supervisor included.
 * The shim (shim/sigterm_handler.c) holds it back in each process of the job and reports it. If the
 * supervisor gets one too, the processes get theirs after the checkpoint is saved. A SIGTERM that
 * was sent to processes of the job, and not to the supervisor, is released, because it is no
 * notice.
 */

/* How much later than the job's processes the supervisor may get the same signal. */
#define SIGTERM_HOLD_PATIENCE_MS 300

enum sigterm_hold_verdict {
	SIGTERM_HOLD_KEEP,    /* until the checkpoint is saved */
	SIGTERM_HOLD_WAIT,    /* decide again after SIGTERM_HOLD_PATIENCE_MS */
	SIGTERM_HOLD_RELEASE, /* the process gets it now */
};

struct held_process {
	pid_t pid, sender; /* 0: the sender is unknown */
	uint64_t start_time;
	bool sender_ours;    /* the sender is a process of the job */
	bool sender_outside; /* certainly not; one that has ended was perhaps of the job */
	bool for_ours;       /* it replaces one that we sent: see sigterm_hold_add() */
	int64_t held_ms;     /* held back for so long, without the time in which we were stalled */
};

struct sigterm_hold {
	struct loop *loop;
	struct tracker *tracker; /* NULL: the functions below do nothing */
	struct timer timer;
	int64_t judged_ms;
	struct held_process *processes;
	size_t count;
	bool active;  /* else nothing is held back any more */
	bool noticed; /* there is a stop notice */
	bool said, said_meant;
};

/* PURE. The decision for one process. */
enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold *sigterm_hold,
					      const struct held_process *process);

/* Begins to hold back SIGTERM. Call it before the job is started; `tracker` may be NULL. Does not
 * block. */
void sigterm_hold_start(struct sigterm_hold *sigterm_hold, struct loop *loop,
			struct tracker *tracker);
/*
 * The shim in `pid` holds back a SIGTERM from `sender` (0: unknown). `for_ours`: we have sent one
 * as well, which the process has not received. The kernel keeps only the first of two pending
 * signals of one kind (signal(7)), so that this one stands for both.
 */
void sigterm_hold_add(struct sigterm_hold *sigterm_hold, pid_t pid, pid_t sender, bool for_ours);
/* There is a stop notice, or it was cancelled. */
void sigterm_hold_set_notice(struct sigterm_hold *sigterm_hold, bool stands);
/* Releases all that is held back, and lets later SIGTERMs pass, until sigterm_hold_start(). */
void sigterm_hold_end(struct sigterm_hold *sigterm_hold);
void sigterm_hold_release(struct sigterm_hold *sigterm_hold);

#endif
