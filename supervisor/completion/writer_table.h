/* PURE. Which processes write, and which descriptors they hold: the shim's view, by the numbers
 * that it reports. */
#ifndef WRITER_TABLE_H
#define WRITER_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct writer {
	int pid;
	bool speaks;  /* it is the shim that told of it: of what it writes, nothing is missed */
	bool exiting; /* it said so */
	bool failed;  /* with a code that says so */
	bool open_at_exit; /* with files open, for exit() to flush */
	bool gone;         /* it was not there any more when it was looked for */
	bool saved;        /* it has called what it wrote complete */
	bool elsewhere;    /* its number means nothing here: SHIM_FLAG_FOREIGN_PIDNS */
};

struct writer_descriptor {
	int pid, descriptor;
	char *path;
	bool closed;  /* says the kernel: nobody has it open for writing any more */
	bool renamed; /* says the kernel: a report may still hold the name before */
};

struct writer_table {
	struct writer *processes;
	size_t process_count, process_capacity;
	struct writer_descriptor *opens;
	size_t open_count, open_capacity;
};

void writer_table_release(struct writer_table *writers);

/* Pointers are valid until the next call that adds or removes. */
struct writer *writer_table_find(struct writer_table *writers, int pid);
/* the one there is, or a new one */
struct writer *writer_table_add(struct writer_table *writers, int pid);
void writer_table_forget(struct writer_table *writers, int pid); /* not what it has open */
void writer_table_forget_all(struct writer_table *writers);

struct writer_descriptor *writer_table_find_open(struct writer_table *writers, int pid,
						 int descriptor);
/* Replaces what had this number before: its close went unreported. */
void writer_table_open(struct writer_table *writers, int pid, int descriptor, const char *path);
void writer_table_rename_open(struct writer_descriptor *open, const char *path);
void writer_table_close(struct writer_table *writers, struct writer_descriptor *open);

/* Closes one of those that the process has open and returns its path, which the caller frees; NULL
 * when there is none. */
char *writer_table_close_next(struct writer_table *writers, int pid);

/* The kernel's word on all that are open under that name. */
void writer_table_close_path(struct writer_table *writers, const char *path);
bool writer_table_has_open(const struct writer_table *writers, const char *path);
void writer_table_rename_below(struct writer_table *writers, const char *from, const char *to);

#endif
