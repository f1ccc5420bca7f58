/*
 * Looks into the checkpoint directory for what is not complete: reads the first and last bytes of
 * files for file_format.h, and the names and pointers for layout_rules.h. Blocks; one file is open
 * at a time, and at most FILE_FORMAT_HEAD_MOST of it in memory.
 */
#ifndef CONTENT_CHECK_H
#define CONTENT_CHECK_H

#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding {
	char *path;           /* the numbered checkpoint, or the file; relative */
	char *why;            /* a sentence that names what is wrong with which file */
	int64_t unchanged_ms; /* since the newest write in it, by the files' times */
	/* a file or a marker is missing that may still come; else a file is not whole */
	bool by_rule;
	bool abandoned; /* a checkpoint with a higher number beside it is complete */
};

struct findings {
	struct finding *items;
	size_t count;
};

struct check {
	const char *directory;
	/* NULL: none was recognised */
	const struct profile *profile;
	/* only these files are read, and they were written in one save; NULL: everything counts */
	const struct path_set *fresh;
};

/* A file that is gone by then, or cannot be read, is passed over. -1: the
 * directory cannot be listed. */
int content_check_run(const struct check *check, struct findings *findings, struct err *err);
void findings_release(struct findings *findings);

static inline void cleanup_findings_release(struct findings *findings)
{
	findings_release(findings);
}

#endif
