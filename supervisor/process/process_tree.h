/*
 * Reads the descendants of a process from /proc. The result is not a consistent snapshot: processes
 * that end while it is read are left out, and new ones may be missing.
 */
#ifndef PROCESS_TREE_H
#define PROCESS_TREE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NO_RANK (-1)

struct process {
	pid_t pid;
	pid_t parent;
	char state;          /* R, S, D, T, t, Z, X, I */
	uint64_t start_time; /* clock ticks since boot: identifies the process with its PID */
	/* Bit n - 1 is signal n: process_signal_bit(). */
	uint64_t caught, ignored, blocked, pending;
	uint64_t switches;  /* how often its main thread has gone to sleep */
	int64_t rank;       /* RANK in its initial environment, or PROCESS_NO_RANK */
	int64_t local_rank; /* LOCAL_RANK */
	/* rank from an MPI launcher: OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK */
	int64_t mpi_rank;
	char comm[16];
	char executable[64]; /* last part of /proc/PID/exe; "": it cannot be read */
	char command[256];   /* beginning of its command line, arguments ended by NUL */
	size_t command_size;
};

struct process_tree {
	struct process *processes; /* parents before their children */
	size_t count;
};

/* BRIEF: pid, parent, state, start time, comm. FULL: all members. */
enum process_tree_detail {
	PROCESS_TREE_BRIEF,
	PROCESS_TREE_FULL
};

/* Reads all descendants of `root`, and `root` itself unless it is this process. With 2,000 of them
 * on two busy cores it took 80 ms (BRIEF) and 300 ms (FULL). */
int process_tree_read(pid_t root, enum process_tree_detail detail, struct process_tree *tree,
		      struct err *err);
void process_tree_release(struct process_tree *tree);
AUTO(struct process_tree, process_tree_release);

/* NULL: it is not in the tree. */
const struct process *process_find(const struct process_tree *tree, pid_t pid);
/* "python train.py", for the log; its name if the command is not known. Returns `text`. */
const char *process_describe(const struct process *process, char *text, size_t size);
/* struct process.start_time of the youngest; 0: none. */
uint64_t process_tree_latest_start(const struct process_tree *tree);

/* True for a zombie too: it has ended, and only waits to be reaped. */
bool process_is_dead(const struct process *process);
/* The bit of a signal in the masks of struct process. */
uint64_t process_signal_bit(int signal);

/* The signals for which a process has handlers, as a mask. ERR_NOT_FOUND: the process is gone. */
int process_read_caught(pid_t pid, uint64_t *caught, struct err *err);

/* What changes while a process lives. */
struct process_sample {
	uint64_t start_time;
	/* user and system time of its main thread, in which CPython runs handlers */
	uint64_t cpu_ticks;
	/* how often that thread has gone to sleep */
	uint64_t switches;
	/* pending signals of the process or of its main thread */
	uint64_t pending;
	pid_t parent;
	/* state of the main thread */
	char state;
};

/* False: the process is gone or dead. */
bool process_read_sample(pid_t pid, struct process_sample *sample);

/* `above` is its parent, or the parent of that, and so on. False: not as far as /proc says. */
bool process_is_below(pid_t pid, pid_t above);

/* Start time as in struct process; 0: the process is gone. */
uint64_t process_start_time(pid_t pid);
/* "PID START NAMESPACE": names a process for a supervisor to come. The caller frees. */
char *process_identity(pid_t pid);
/* Does the process still run, as far as it can be seen from this PID namespace? *pid: 0 if the text
 * names none. */
bool process_identity_runs(const char *identity, pid_t *pid);
/* When this process was started, by clock_boot_ms(). It may have stood still before its main(). */
int64_t process_began_ms(void);

/*
 * The files of /proc/PID and the fields in them, proc(5). Only this module knows their names and
 * formats. The functions block only for the kernel. -1 or false with errno: the process is gone.
 */

/* In place of a PID: this process, also if /proc belongs to another PID namespace. */
#define PROC_SELF 0

/* --- stat --- */

struct proc_stat {
	pid_t parent;
	/* R, S, D, T, t, Z, X, I */
	char state;
	/* Cut to 15 bytes. May contain any character, also ")". */
	char comm[16];
	/* It has begun to exit: the kernel is closing its files. */
	bool exiting;
	/* User and system time, in clock ticks. */
	uint64_t cpu_ticks;
	/* In clock ticks since boot: identifies the process with its PID. */
	uint64_t start_time;
	/* Of a zombie, as waitpid() gives it; always 0 for a process of another user. */
	int exit_status;
	/* Owner of the file; not parsed from the text. */
	uid_t owner;
};

/* PURE. Parses the text of /proc/PID/stat, or of a thread's stat. False: it is malformed. */
bool proc_parse_stat(const char *text, struct proc_stat *stat);
bool proc_read_stat(pid_t pid, struct proc_stat *stat);

/* PURE. True for a zombie too: it has ended, and only waits to be reaped. */
bool proc_state_is_dead(char state);
/* Does it exist, and is it not dead? */
bool proc_is_alive(pid_t pid);

/* --- the others --- */

/* PURE. A mask of signals such as "SigCgt" in the text of /proc/PID/status: bit n - 1 is signal n.
 * 0: the text has no such field. */
uint64_t proc_parse_signals(const char *status, const char *field);

/* PURE. How often the main thread has gone to sleep, by the text of /proc/PID/status; 0: it does
 * not say. */
uint64_t proc_parse_switches(const char *status);

/* PURE. The path in a line of /proc/PID/maps if it is a shared writable mapping of a file, up to
 * the end of `line`; else NULL. */
const char *proc_parse_shared_mapping(const char *line);

/* Does the process have such a mapping of a file below the directory? 1, 0, or -1: its mappings
 * cannot be read. */
int proc_maps_below(pid_t pid, const char *directory);

/* Reads at most capacity - 1 bytes of /proc/PID/NAME and adds a NUL. Returns their number. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t capacity);

/* Reads the target of the link /proc/PID/NAME, "exe" or "fd/3", in the same way. */
ssize_t proc_read_link(pid_t pid, const char *name, char *target, size_t capacity);

/* Begins a walk of /proc/PID/fd: links with numbers as names, whose mode shows whether the
 * descriptor can read and write. */
int proc_walk_descriptors(pid_t pid, struct walk *walk);

/* Device and inode of our PID namespace. False: unknown. */
bool proc_pid_namespace(uint64_t *device, uint64_t *inode);

/* PURE. Is the path below the directory, at any depth? */
bool proc_path_is_below(const char *path, const char *directory);

/*
 * Sends SIGKILL to all our descendants, and to those that they fork meanwhile. Does not wait.
 * Returns how many still existed; 0: none is left. Call child_reap() and this function again until
 * it returns 0; a process in uninterruptible sleep may survive for long.
 */
size_t kill_tree(void);
/* The same of the descendants of another process, without it. Its orphans stay below it only if it
 * is a subreaper. */
size_t kill_tree_below(pid_t root);

/*
 * Sends SIGTERM to our descendants, but for those that `spares` names: as a terminal and a
 * scheduler do. A DataLoader worker is spared too, because its rank would take its end for a crash.
 * Does not wait. Returns how many got it.
 */
size_t terminate_tree(bool (*spares)(void *arg, pid_t pid), void *arg);

/* --- process_role.c --- */

/*
 * PURE. The role of a process of the job, by its command line and the signals that it handles: the
 * work itself, a wrapper or launcher of it, or a helper of it.
 */

enum process_role {
	/* does the work, or is not known */
	ROLE_JOB,
	/* bash, tini, conda run: a handler in it is the user's own */
	ROLE_WRAPPER,
	/* torchrun, mpirun, srun: at a signal it ends its ranks, or sends it to all of them */
	ROLE_LAUNCHER,
	/* rsync, rclone, aws: it copies what others have written, and stops at a signal */
	ROLE_COPIER,
};

enum process_role process_role(const struct process *process);

/* The script or module that an interpreter runs, "train.py" or "package.module"; NULL: it runs
 * none, or is no interpreter. Borrowed from the process. */
const char *process_role_script(const struct process *process);

/* Do both run the same program with the same script? Then both are ranks, or none is. */
bool process_role_same_program(const struct process *a, const struct process *b);

/* Was it started by Python's multiprocessing ("spawn", "forkserver")? Then it has its parent's
 * os.environ. */
bool process_role_is_spawned(const struct process *process);

/*
 * Is it a worker of a PyTorch DataLoader? At SIGTERM such a worker exits, which its rank takes for
 * a crash. It is known by its handlers for SIGTERM, SIGBUS, SIGSEGV and SIGFPE
 * (torch/csrc/DataLoader.cpp).
 */
bool process_role_is_data_worker(const struct process *process, const struct process *parent);

/* Does its runtime handle every signal, so that a handler proves nothing? Go does, and yet ends at
 * SIGTERM. */
bool process_role_catches_every_signal(const struct process *process);

#endif
