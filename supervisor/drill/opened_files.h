/*
 * PURE. Which of the restored files did a job open? From what the preload library wrote down on
 * each machine (shim/access_log.h), and from the list of files in the snapshot.
 */
#ifndef OPENED_FILES_H
#define OPENED_FILES_H

#include "base/cleanup.h"
#include "job_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct restored_file {
	char *path;   /* relative to the checkpoint directory */
	char *target; /* of a hard link: the path of its file; NULL: it is a file */
	uint64_t size;
	int64_t mtime_ns;
	bool opened;
};

struct restored_files {
	struct restored_file *items;
	size_t count;
};

void restored_files_add(struct restored_files *files, const char *path, uint64_t size,
			int64_t mtime_ns);
void restored_files_add_link(struct restored_files *files, const char *path, const char *target);
void restored_files_release(struct restored_files *files);
AUTO(struct restored_files, restored_files_release);

/* What is known of a job on one machine. */
struct file_accesses {
	unsigned written; /* times that a file was opened for writing */
	char last_written[160];
	bool any;      /* the job is heard at all */
	bool unlisted; /* it opened what was there before it, and is not in the list */
};

/* * Reads a whole access log. Marks the `restored` files (may be NULL) that were opened for
 * reading, and adds the names of those that were written to `names`. A file that the job has
 * written itself on this machine is its own, also under its new name.
 */
void file_accesses_read(const char *text, size_t size, struct file_accesses *accesses,
			struct restored_files *restored, struct job_log *names);

enum reading {
	READING_UNKNOWN, /* the preload library has not seen the process that saves */
	READING_NOTHING, /* none of the restored files */
	READING_OLDER,   /* ckpt-10, and not ckpt-20, which is newer */
	READING_LITTLE,  /* a small part of what there is: a pointer, a list, and not the state */
	READING_DONE,
};

struct reading_facts {
	enum reading reading;
	char opened[120]; /* the newest file, or the greatest of them, that was opened */
	char missed[120]; /* the newest of its kind (OLDER), or the greatest (LITTLE), that was not
			   */
	size_t files, opened_files;
	uint64_t bytes, opened_bytes; /* of files that have no newer one of their kind */
	int64_t oldest_ns, newest_ns; /* when those that it opened were written; 0: none was */
};

/* `heard`: it is known what the job opened. */
struct reading_facts opened_files_judge(const struct restored_files *restored, bool heard);

#endif
