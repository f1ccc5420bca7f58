/*
 * The files of /proc/PID and the fields in them, proc(5). Only this module knows their names and
 * formats. The functions block only for the kernel. -1 or false with errno: the process is gone.
 */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include "base/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
