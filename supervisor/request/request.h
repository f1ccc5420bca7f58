/*
 * supervisor/request/: asks the job for a checkpoint, and follows how its ranks react. All of it is
 * checkpoint_request.c, in this order: which processes get the signal (PURE); for each rank: asked,
 * delivered, saving, late; a request is sent, by signal, by polled flag, or by command; when
 * processes get a SIGTERM that the shim holds back for them.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "base/cleanup.h"
#include "base/loop.h"
#include "completion/completion.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "monitor/monitor.h"
#include "process/process.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
	/* --- once it was asked --- */
	int64_t asked_ms;
	struct process_sample seen; /* the last look at it */
	int64_t moved_ms; /* the last look by which its main thread had run; 0: none yet */
	bool gone, saving;
	bool writes; /* it, or a process that it started, wrote a checkpoint before it was asked */
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

/* The words of a line about the ranks. */
struct rank_counts {
	size_t asked, expected, saving, gone, late;
};

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
	struct tracker *tracker;        /* knows who writes; NULL: nobody does */
	const struct job_model *model;  /* knows what is complete, and what was answered */
	int64_t patience_ms;            /* a rank that writes nothing for so long counts as late */

	/* The request is about to be sent: later writes of the job may answer it. A fast job
	 * answers before `sent` is called. */
	void (*sending)(void *arg);
	/* The request was sent to `ranks` (none for a command). Called again for ranks that were
	 * not ready the first time. `expected`: how many are to get it in the end. */
	void (*sent)(void *arg, const struct rank *ranks, size_t count, size_t expected);
	/* The request could not be sent; `why` is a sentence. Called at most once for each request.
	 * Further tries follow if they can succeed. */
	void (*failed)(void *arg, const char *why);
	/* The ranks have reacted, or have not for long: `line` says so, and is logged already. */
	void (*news)(void *arg, const char *line);
	void *arg;

	/* the members below are private, except `by_flag` and `asked` */
	struct timer retry_timer, watch_timer;
	pid_t child; /* the job's main process */
	pid_t command_pid;
	/* Processes that have written checkpoints. Who began later than `saved_ms` has not saved
	 * before, but begun with the save that is under way, as a copier does. May be NULL. */
	const struct recent_writers *writers;
	int64_t saved_ms;
	/* ranks that got the signal in the newest request, also after its end; owned */
	struct rank *asked;
	size_t asked_count, expected;
	/* when that began, before any of them can have got it; when the last of them got it */
	int64_t sent_ms, newest_ms;
	struct rank_counts said; /* by the last line, at said_ms; 0: none was */
	int64_t said_ms;
	bool failure_reported;
	/* this request was sent by the flag */
	bool by_flag;
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
void rank_selection_make(const struct process_tree *tree, const struct checkpoint_request *request,
			 struct rank_selection *selection);
void rank_selection_release(struct rank_selection *selection);
AUTO(struct rank_selection, rank_selection_release);

/* Sends a new request. The caller has set all members of `request` down to `arg`. `child`:
 * the job's main process. Reads /proc: some 20 us for each process of the machine. */
void checkpoint_request_start(struct checkpoint_request *request, pid_t child);
/* Would this signal, sent now, reach a process that handles it? Reads /proc as well. */
bool checkpoint_request_finds(const struct checkpoint_request *request, pid_t child, int signal);
/* Was the signal sent to this process in this request, which was begun later than `since_ms`? */
bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
				      int64_t since_ms);
/* Ends the tries, and looks at the ranks once more. A signal that was sent cannot be taken back. */
void checkpoint_request_stop(struct checkpoint_request *request);
void checkpoint_request_release(struct checkpoint_request *request);
/* A process was reaped. True: it was the checkpoint command; a failure of it is reported through
 * `failed`. */
bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status);

/* --- how the ranks react --- */

/*
 * Progress of a request for each rank: asked, signal delivered, saving; and when a change is worth
 * a log line. PURE, but for rank_progress_follow(), which samples the processes.
 *
 * A signal that was delivered is not yet handled: CPython runs handlers between two bytecodes, so
 * that one call into a library can delay the handler for minutes. Nor is a handler seen that only
 * notes the wish, for the end of the step. The signal is not sent again. So what is said is that a
 * rank has not begun to save; that it waits in one call, only if its main thread has not run since.
 */

#define RANK_PROGRESS_PATIENCE_MS 5000
#define RANK_PROGRESS_LINE_SIZE 320

/* These ranks were asked just now; `expected`: how many are to be asked in all. */
void rank_progress_add(struct checkpoint_request *request, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms);
/* The same, and observes them until checkpoint_request_stop(). On the loop; nothing blocks. */
void rank_progress_follow(struct checkpoint_request *request, const struct rank *ranks,
			  size_t count, size_t expected);
/* A sample of the rank's process; NULL: it is gone. `wrote`, `writes`: it, or a process that it
 * started, has written a checkpoint file since it was asked, or before. */
void rank_progress_observe(struct rank *rank, const struct process_sample *sample, bool wrote,
			   bool writes, int64_t now_ms);
/* True: there is news, which `line` now contains, and which counts as logged. */
bool rank_progress_report(struct checkpoint_request *request, int64_t now_ms,
			  char line[RANK_PROGRESS_LINE_SIZE]);
/* Number of ranks that are saving. */
size_t rank_progress_saving(const struct checkpoint_request *request);
/* Returns its part of `reprieve status`, which the caller owns; NULL: none was asked. */
json_t *rank_progress_json(const struct checkpoint_request *request);

/* --- a SIGTERM that is held back --- */

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
enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold *hold,
					      const struct held_process *process);

/* Begins to hold back SIGTERM. Call it before the job is started; `tracker` may be NULL. Does not
 * block. */
void sigterm_hold_start(struct sigterm_hold *hold, struct loop *loop, struct tracker *tracker);
/*
 * The shim in `pid` holds back a SIGTERM from `sender` (0: unknown). `for_ours`: we have sent one
 * as well, which the process has not received. The kernel keeps only the first of two pending
 * signals of one kind (signal(7)), so that this one stands for both.
 */
void sigterm_hold_add(struct sigterm_hold *hold, pid_t pid, pid_t sender, bool for_ours);
/* There is a stop notice, or it was cancelled. */
void sigterm_hold_set_notice(struct sigterm_hold *hold, bool stands);
/* Releases all that is held back, and lets later SIGTERMs pass, until sigterm_hold_start(). */
void sigterm_hold_end(struct sigterm_hold *hold);
void sigterm_hold_release(struct sigterm_hold *hold);

#endif
