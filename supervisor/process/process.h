/*
 * supervisor/process/: processes and signals of this machine: start, wait, forward, /proc.
 *
 * Read first: child.c and signals.c.
 *
 * For other folders:
 *
 *	child.c		starts the job's main process, forwards signals to it, reaps all orphans
 *	signals.c	blocked signals, read from a signalfd by the loop; how processes end that
 *are not our children (pidfd); PURE: which signals are rewritten, dropped, or sent to the group,
 *signals by name, the exit code of a wait status
 *	process_tree.h	the descendants of a process, and how to end them; /proc/PID, proc(5)
 *	detached_process.c	PURE: does the job go on when the main process has ended?
 *	process_role.c	PURE: is a process the job, a wrapper, a launcher or a DataLoader worker?
 *	ld_preload.c	where the shim is, and the new value of LD_PRELOAD
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "base/err.h"
#include "base/loop.h"
#include "process_tree.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/types.h>

/* --- signals.c: what we receive --- */

/*
 * Signals as data: main() blocks them first of all, and the loop reads them from a signalfd. So no
 * code runs in handlers, and no early signal is lost (container runtimes send the stop signal only
 * once). The inherited mask and dispositions are kept for the child.
 */

/* Inherited signal state: of all dispositions, only "ignored" survives an exec. */
struct signals_inherited {
	sigset_t mask;
	sigset_t ignored;
};

struct signals {
	struct source source; /* in the loop */
	/* Called for each signal, SIGCHLD too. Several signals of one kind may be reported once. */
	void (*received)(void *arg, const struct signalfd_siginfo *info);
	void *arg;
};

/*
 * Call it first in main(), before any thread is started. Blocks all signals but SIGKILL, SIGSTOP
 * and the synchronous faults, for this thread and all later ones. Resets SIGCHLD to its default,
 * because with an inherited SIG_IGN exit codes would be lost.
 *
 * SIGPIPE and SIGXFSZ are blocked, not ignored: writes fail with EPIPE or EFBIG all the same, and a
 * signal that somebody sent can still be forwarded. The kernel queues a blocked signal even if it
 * is ignored, so that a signal in `ignored` (SIGHUP under nohup) is received as well. It is to be
 * forwarded, but must not end us.
 */
void signals_block(struct signals_inherited *inherited);

/* Restores the inherited mask and dispositions. Async-signal-safe: for use between fork and
 * exec. */
void signals_restore(const struct signals_inherited *inherited);

/* Begins to deliver signals on the loop, also those received since signals_block(). `signals` must
 * not move until it is closed. */
int signals_open(struct signals *signals, struct loop *loop,
		 void (*received)(void *arg, const struct signalfd_siginfo *info), void *arg,
		 struct err *err);
void signals_close(struct signals *signals, struct loop *loop);

/*
 * Stops this process, or its whole group, as the default action of `signal` does (SIGTSTP, SIGTTIN,
 * SIGTTOU; SIGSTOP counts as SIGTSTP). Blocks until we are continued, and consumes the SIGCONT. If
 * nobody could continue us (orphaned group, PID 1), the kernel drops the signal, and the function
 * returns at once. Main thread only.
 */
void signals_stop_self(int signal, bool group);

/*
 * Puts `group` into the foreground of the terminal on standard input (tcsetpgrp(3)). If we are in
 * the background, the kernel stops our group until a shell brings it to the foreground. False: no
 * shell is left that could, or we were continued because of signals_termination_pending().
 */
bool signals_take_foreground(pid_t group);

/* Is a signal queued that asks us to end: SIGHUP, SIGINT, SIGQUIT or SIGTERM? */
bool signals_termination_pending(void);

/* --- child.c --- */

/*
 * The job's main process. It starts with the signal mask, the dispositions and the descriptors that
 * we were started with, gets the signals that we receive, and is reaped together with every orphan
 * that comes to us as PID 1 or subreaper. With a terminal, job control works as under a shell.
 */

/* Who gets the terminal's signals: Ctrl-C and Ctrl-Z. */
enum child_terminal {
	/* own group in the background, or no terminal: we forward what we receive */
	CHILD_TERMINAL_NONE,
	/* own group in the foreground: the terminal signals it, not us */
	CHILD_TERMINAL_OWN,
	/* in a pipeline: the child stays in our group, because all of it needs the terminal */
	CHILD_TERMINAL_SHARED,
};

struct child_options {
	char *const *argv;        /* ends in NULL */
	const char *const *set;   /* "NAME=value"..., ends in NULL; may be NULL */
	const char *const *unset; /* "NAME"..., ends in NULL; may be NULL */
	const struct signals_inherited *inherited;
	bool to_group; /* forward signals to its whole process group */
};

struct child {
	pid_t pid;
	enum child_terminal terminal;
	pid_t group;     /* the child's process group */
	pid_t our_group; /* ours at the start: gets the terminal back */
	bool running;
	bool stopped; /* the child is stopped and we are not: see child_resume() */
	/* Set by whoever has heard a notice, until it is withdrawn: the child is to be told to end
	 * once its time has come, and we do not stop with it while it waits for the terminal. */
	bool ending;
	/* It was sent a signal to end, which one that stops before that does not see. */
	bool unseen;
	bool to_group;
	/* once it has ended: its own code, or 128 + signal; 126 or 127 if it could not be
	 * started */
	int exit_code;
	int status; /* as waitpid() gave it */
};

/*
 * Call it before the first descriptor is opened. Opens closed standard descriptors on /dev/null
 * (close-on-exec, so that the child finds them closed again), raises our soft limit of descriptors
 * and keeps the old one for child_spawn(), and makes us a subreaper if we are not PID 1. -1:
 * orphans of the job will not come to us, which deserves a warning; we can go on.
 */
int child_prepare(struct err *err);

/* Only the standard descriptors of child_prepare(): for verbs without a job. */
void child_fill_standard_descriptors(void);

/* Before anything is done for it: can this command be found, and may it be run? 0, or the exit code
 * of a shell, 127 or 126, with `err`. What only the exec tells (an interpreter that is missing), it
 * does not. */
int child_check_command(const char *command, struct err *err);
/* The word that belongs in front of such a command: "env", "python3", "sh"; NULL: unknown. */
const char *child_missing_word(const char *command);

/* Our environment with the variables of `set` ("NAME=value") and without those of `unset`; both end
 * in NULL and may be NULL. The caller frees the array; the strings are borrowed. */
char **child_variables(const char *const *set, const char *const *unset);

/*
 * Starts the child and waits until its exec has succeeded. On -1, `exit_code` is that of a shell:
 * 127 if the command does not exist, 126 if it cannot be run; 70 if this system cannot start a
 * process at all.
 */
int child_spawn(const struct child_options *options, struct child *child, struct err *err);

/*
 * Forwards a received signal, except SIGCHLD and those that the terminal has sent to the child as
 * well. SIGCONT after Ctrl-Z gives the child the terminal back if we are in the foreground.
 */
void child_forward(struct child *child, const struct signalfd_siginfo *info);

/* Continues a stopped child, so that it receives a signal that was sent to it. Does nothing if
 * it is not stopped, or if a shell is to continue it. */
void child_resume(struct child *child);

/* Another child of ours, left behind by the main process, takes its place: it gets the signals, and
 * child_reap() reports its end. Call it after the main process has ended. */
void child_adopt(struct child *child, pid_t pid);

/* Sends a signal to the main process alone. Does nothing once it has ended. */
void child_signal(struct child *child, int signal);

/* Sends a signal to the receivers of child_forward(). */
void child_forward_signal(struct child *child, int signal);

/* Would child_forward_signal() reach that process? */
bool child_forwards_to(const struct child *child, pid_t pid);

/*
 * Call it after SIGCHLD. Reaps every ended process and calls `reaped` (may be NULL) for each, the
 * main process included. If the terminal stopped the child, we stop as well, and this function
 * blocks until we are continued. True: the main process has ended in this call; `exit_code` is set,
 * and the terminal is ours again.
 */
bool child_reap(struct child *child, void (*reaped)(void *arg, pid_t pid, int status), void *arg);

/* --- signals.c: rules and names --- */

/*
 * PURE. What happens to received signals: rewritten to another one, dropped, or forwarded, and to
 * whom. Covers tini's -g, -e and -p, dumb-init's --rewrite and --single-child, and catatonit's -g.
 */

#define SIGNAL_RULES_COUNT 65 /* by number; Linux has 1 to 64 */
#define SIGNAL_RULES_DROPPED 255

/* All zero: every signal is forwarded unchanged to the main process. */
struct signal_rules {
	uint8_t counts_as[SIGNAL_RULES_COUNT]; /* 0: itself; SIGNAL_RULES_DROPPED: nothing */
	uint8_t parent_death;     /* signal that we get when our parent dies; 0: none */
	bool parent_death_chosen; /* by the user; "none" is a choice too */
	bool to_group;            /* forward to the job's whole process group */
	uint64_t success[4];      /* bit n: exit code n of the job means success */
};

/* The setters parse an option's value. ERR_INVALID: the sentence says what is allowed. */

/* `text`: "INT=TERM", "HUP=none", or several with commas; a name or a number on each side. */
int signal_rules_add_rewrite(struct signal_rules *signal_rules, const char *text, struct err *err);

/* `text`: a signal, or "none". */
int signal_rules_set_parent_death(struct signal_rules *signal_rules, const char *text,
				  struct err *err);

/* `text`: "143", or several exit codes with commas. */
int signal_rules_add_success(struct signal_rules *signal_rules, const char *text, struct err *err);

/* The signal that a received one is rewritten to; 0: it is dropped. */
int signal_rules_map(const struct signal_rules *signal_rules, int signal);

/* A wait status of the job as in waitpid(2); exit codes that mean success become 0. */
int signal_rules_map_wait_status(const struct signal_rules *signal_rules, int wait_status);

/* PURE: signals by name. */

/* Number of "USR1", "SIGUSR1", "usr1", "10", "RTMIN", "RTMIN+1" or "RTMAX-2"; 0: no such signal, or
 * one of the two that the C library reserves. */
int signal_name_parse(const char *text);

#define SIGNAL_NAME_SIZE 16

/* 10 -> "SIGUSR1", 35 -> "SIGRTMIN+1", 99 -> "signal 99"; returns `buffer`
 * (SIGNAL_NAME_SIZE bytes). */
const char *signal_name_format(int number, char *buffer);

/* PURE. The exit code of an ended process. */

/* The exit code as shells have it: the process's own, or 128 + n if signal n killed it.
 * `wait_status` as waitpid(2) gives it for a process that has ended. */
int wait_status_exit_code(int wait_status);

/* --- detached_process.c --- */

/*
 * PURE, but for detached_process_find(), _follow() and _may_write(). Commands that detach: "nohup
 *python train.py
 *&", setsid, a script that ends in "&". Their main process exits, and what it has started goes on.
 *
 * An init leaves such processes alone, and ends with its main process. Here they are the job, and
 * the run goes on until the last of them has ended, if
 *
 *	- they have written to the checkpoint directory; or
 *	- checkpoints are expected and nothing was written there yet, and the main process has
 *	  exited with 0 soon after its start: it has handed its work to somebody else.
 *
 * Agents, monitors and helpers that outlive a job (ssh-agent, tensorboard, sleep, the processes of
 * Python's multiprocessing) are nobody's job.
 */

/* A main process that detaches its work has no other: it exits this soon. */
#define DETACHED_SOON_MS 30000
#define DETACHED_TEXT_SIZE 160

struct detachment {
	/* The command was told to end: it has ended, and what is left of it is ended too. */
	bool told_to_end;
	bool expected;  /* checkpoints are */
	bool wrote;     /* something was written to the checkpoint directory */
	bool succeeded; /* the process that was the job until now has exited with 0 */
	int64_t ran_ms; /* since it became the job */
	/* Processes that were started up to then (struct process) were left behind by the main
	 * process: they stay the job until all have ended. 0: the main process itself has ended. */
	uint64_t left_until;
	/* A shell that has started nothing is the job. It may be about to become a command, which
	 * is another program a moment later: first look without this. */
	bool shells_count;
	const pid_t *writers; /* the processes that wrote there last */
	size_t writer_count;
};

/* The process to wait for now, a child of `self`; NULL: the job is over. `tree` has all descendants
 * of `self` (PROCESS_TREE_FULL). Borrowed from it. */
const struct process *detached_process_choose(const struct detachment *detachment,
					      const struct process_tree *tree, pid_t self);

/* The chain of those that were the job, one after the other. Zeroed at first. */
struct detached_job {
	int64_t since_ms;    /* when the child became another process; 0: it has not */
	uint64_t left_until; /* see struct detachment; 0: nothing has detached */
	int status;          /* of the first that failed, as waitpid() gave it */
};

/*
 * The child has ended: is the process that it has left behind adopted as the child? False: the job
 * is over, with the status of the first that failed. The caller fills `told_to_end`, `expected`,
 * `wrote` and the writers of `detachment`. `text`: how the process is described. Logs what is done;
 * may block as detached_process_find().
 */
bool detached_process_follow(struct detached_job *detached, struct detachment *detachment,
			     int64_t launched_ms, struct child *child,
			     char text[DETACHED_TEXT_SIZE]);

/* What the main process has started outlives it, and is not the job: what is known of that. */
struct outlived_facts {
	int64_t now_ms;
	int64_t since_ms; /* its end; or, later, the last write of those, or the SIGTERM to them */
	bool writing;     /* one of them has a file of a save open for writing */
	bool may_begin;   /* detached_process_may_write() */
	bool cut;         /* by SIGKILL or Ctrl-C */
};

/* A just-started writer has so long to open its file, and one that has closed it to open the next.
 */
#define OUTLIVED_QUIET_MS 2000
/* Who has a file open, and writes nothing for so long, may be a daemon that never ends. */
#define OUTLIVED_STALL_MS 10000

/*
 * PURE. Has the job not ended yet? A save that another process writes is part of it: a trainer may
 * leave as soon as it has handed over its last checkpoint.
 */
bool outlived_is_waited_for(const struct outlived_facts *facts);
/* Returns whether this process has a descendant other than a helper. Reads /proc if it has a child.
 */
bool detached_process_may_write(void);

/* Why that command must not be started: its work would be done by a server that is nobody's
 * descendant (tmux, screen), so that it could be neither waited for nor stopped. NULL: nothing is
 * known against it. A sentence that names what to do instead. */
const char *detached_process_refuse_command(char *const *command);

/* --- signals.c: the ends of others --- */

/*
 * Watches processes that are not our children, and reports when and how they end. A pidfd becomes
 * readable at the end. The exit status comes from the kernel (Linux 6.15), or from /proc if the
 * process is not reaped yet; otherwise it is unknown. Lives on the loop.
 */

/* Most processes that can be watched at a time. */
#define EXIT_WATCH_MOST 256

struct exit_watch;

/* `wait_status` as waitpid() gives it; -1: unknown. Not called for a process that has become our
 * child: waitpid() reports that one. */
typedef void exit_watch_fn(void *arg, pid_t pid, int wait_status);

struct exit_watch *exit_watch_new(struct loop *loop, exit_watch_fn *ended, void *arg);
void exit_watch_free(struct exit_watch *watch);

/* `pid` in our PID namespace. True: its end will be reported, also if it was watched already.
 * False: it is gone, EXIT_WATCH_MOST are watched, or there are no pidfds (Linux before 5.3,
 * sandboxes). */
bool exit_watch_add(struct exit_watch *watch, pid_t pid);

/* --- ld_preload.c --- */

/* How the shim gets into the job: where its file is, and the new value of LD_PRELOAD. */

/* Finds the shim: REPRIEVE_SHIM_PATH, beside this program, ../shim (build tree),
 * ../lib/reprieve, or the configured directory. ERR_NOT_FOUND lists these places. The caller
 * frees *path. */
int ld_preload_find(char **path, struct err *err);

/*
 * PURE. The new value of LD_PRELOAD: `existing` (NULL or "": unset) followed by the shim, because
 * allocators and sanitizers must be first. ERR_INVALID: the loader would split or expand the path.
 * The caller frees *value.
 */
int ld_preload_compose(const char *existing, const char *shim, char **value, struct err *err);

/*
 * PURE. The new value of ASAN_OPTIONS, with verify_asan_link_order=0. Without it, a program built
 * with AddressSanitizer ends at once if a preloaded library comes before its runtime; the shim is
 * harmless there. A value that the user has set is kept. The caller frees.
 */
char *ld_preload_sanitizer_options(const char *existing);

#endif
