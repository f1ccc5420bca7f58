/*
 * The files of /proc/PID, proc(5): the one place that knows where they are and how their lines are
 * built. What reads them does not wait for anything but the kernel; a process that is gone is -1 or
 * false, with errno.
 */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include "base/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In place of a pid: this process, also where /proc counts the pids of another namespace. */
#define PROC_SELF 0

/* --- stat --- */

struct proc_stat {
	pid_t parent;
	/* R, S, D, T, t, Z, X, I */
	char state;
	/* Cut to 15 bytes. May hold anything, also ")". */
	char comm[16];
	/* It ends: what it has open is being closed. */
	bool exiting;
	/* User and system time, in clock ticks. */
	uint64_t cpu_ticks;
	/* In clock ticks since boot: with the pid it names the process. */
	uint64_t start_time;
	/* Of a zombie, as waitpid() gives it; 0 too for a process of another user. */
	int exit_status;
	/* Whose file it is; not parsed, but read with it. */
	uid_t owner;
};

/* PURE. Of /proc/PID/stat, or of a thread's. */
bool proc_parse_stat(const char *text, struct proc_stat *stat);
bool proc_read_stat(pid_t pid, struct proc_stat *stat);

/* PURE. Zombies count: they have run to their end, and only wait to be reaped. */
bool proc_state_is_dead(char state);
/* Is it there, and not dead? */
bool proc_is_alive(pid_t pid);

/* --- the others --- */

/* PURE. A mask of signals in /proc/PID/status, where bit n - 1 is signal n: "SigCgt". 0 where the
 * text does not say. */
uint64_t proc_parse_signals(const char *status, const char *field);

/* PURE. The path in a line of /proc/PID/maps, if it is a shared mapping that can write to its file;
 * else NULL. What ends the line stays in it. */
const char *proc_parse_shared_mapping(const char *line);

/* Has it a file below the directory mapped like that? 1, 0, or -1 where its mappings cannot be
 * read. */
int proc_maps_below(pid_t pid, const char *directory);

/* At most capacity - 1 bytes of /proc/PID/NAME, and a NUL behind them. Returns how many. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t capacity);

/* Where the link /proc/PID/NAME leads, "exe" or "fd/3"; cut and ended in the same way. */
ssize_t proc_read_link(pid_t pid, const char *name, char *target, size_t capacity);

/* A walk of /proc/PID/fd: links whose names are numbers, and whose mode says what the descriptor
 * may. */
int proc_walk_descriptors(pid_t pid, struct walk *walk);

/* What the pids of this process are counted in. False where it cannot be known. */
bool proc_pid_namespace(uint64_t *device, uint64_t *inode);

/* PURE. Is the path that of something in the directory, or deeper? */
bool proc_path_is_below(const char *path, const char *directory);

#endif
