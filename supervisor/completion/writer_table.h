/* PURE. Which processes write, and which descriptors they hold: the shim's view, by the numbers that it reports. */
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
	bool elsewhere;    /* its number means nothing here: SHIM_FLAG_ELSEWHERE */
};

struct writer_open {
	int pid, descriptor;
	char *path;
	bool closed;  /* says the kernel: nobody has it open for writing any more */
	bool renamed; /* says the kernel: a report may still hold the name before */
};

struct writers {
	struct writer *processes;
	size_t process_count, process_capacity;
	struct writer_open *opens;
	size_t open_count, open_capacity;
};

void writers_release(struct writers *writers);

/* Pointers are valid until the next call that adds or removes. */
struct writer *writers_find(struct writers *writers, int pid);
struct writer *writers_add(struct writers *writers, int pid); /* the one there is, or a new one */
void writers_forget(struct writers *writers, int pid);        /* not what it has open */
void writers_forget_all(struct writers *writers);

struct writer_open *writers_find_open(struct writers *writers, int pid, int descriptor);
/* Replaces what had this number before: its close went unreported. */
void writers_open(struct writers *writers, int pid, int descriptor, const char *path);
void writers_rename_open(struct writer_open *open, const char *path);
void writers_close(struct writers *writers, struct writer_open *open);

/* Closes one of those that the process has open and returns its path, which the caller frees; NULL when there is none. */
char *writers_close_next(struct writers *writers, int pid);

/* The kernel's word on all that are open under that name. */
void writers_closed(struct writers *writers, const char *path);
bool writers_have_open(const struct writers *writers, const char *path);
void writers_rename_below(struct writers *writers, const char *from, const char *to);

#endif
