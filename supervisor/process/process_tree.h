/*
 * Reads the descendants of a process from /proc. The result is not a consistent snapshot: processes
 * that end while it is read are left out, and new ones may be missing.
 */
#ifndef PROCESS_TREE_H
#define PROCESS_TREE_H

#include "base/cleanup.h"
#include "base/err.h"

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
/* When this process was started, by clock_boot_ms(). It may have stood still before its main(). */
int64_t process_began_ms(void);

#endif
