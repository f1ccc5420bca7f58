/* PURE. The processes that write, and their descriptors open for writing, by the PIDs and
 * descriptor numbers that the shim reports. */
#ifndef WRITER_TABLE_H
#define WRITER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct writer {
	int pid;
	/* the shim in it reports, so that no write of it is missed */
	bool speaks;
	/* without the shim: it has closed its files itself, and has opened none since */
	bool closed;
	/* it has reported that it exits */
	bool exiting;
	/* ... with another code than 0 */
	bool failed;
	/* ... with files open, which exit() flushes */
	bool open_at_exit;
	/* the verification that has found it gone first; 0: none has */
	unsigned gone;
	/* it has called its checkpoint complete */
	bool saved;
	/* its PID is of another PID namespace: SHIM_FLAG_FOREIGN_PIDNS */
	bool elsewhere;
};

struct writer_descriptor {
	int pid, descriptor;
	char *path;
	/* the kernel has reported a close of the file after a write */
	bool closed;
	/* the kernel has reported a rename; the shim may still report the old name */
	bool renamed;
	/* reports were lost since it was opened: its close may be among them */
	bool unsure;
};

struct writer_table {
	struct writer *processes;
	size_t process_count;
	struct writer_descriptor *opens;
	size_t open_count;
};

void writer_table_release(struct writer_table *writers);

/* Pointers are valid until the next call that adds or removes. NULL: not in the table. */
struct writer *writer_table_find(struct writer_table *writers, int pid);
/* Returns the process's entry, and makes one if there is none. */
struct writer *writer_table_add(struct writer_table *writers, int pid);
/* Removes the process, but not its descriptors. */
void writer_table_forget(struct writer_table *writers, int pid);
void writer_table_forget_all(struct writer_table *writers);

struct writer_descriptor *writer_table_find_open(struct writer_table *writers, int pid,
						 int descriptor);
/* Adds a descriptor. An entry with the same numbers is replaced: its close was not reported. */
void writer_table_open(struct writer_table *writers, int pid, int descriptor, const char *path);
void writer_table_rename_open(struct writer_descriptor *open, const char *path);
void writer_table_close(struct writer_table *writers, struct writer_descriptor *open);

/* Removes one descriptor of the process and returns its path, which the caller frees; NULL: it has
 * none. */
char *writer_table_close_next(struct writer_table *writers, int pid);

/* The kernel has reported a close of `path` after a write: notes it on the path's descriptors,
 * which stay until the shim reports their close or detector_verify() removes them. */
void writer_table_close_path(struct writer_table *writers, const char *path);
bool writer_table_has_open(const struct writer_table *writers, const char *path);
void writer_table_rename_below(struct writer_table *writers, const char *from, const char *to);

#endif
