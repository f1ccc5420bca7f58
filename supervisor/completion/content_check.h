/*
 * Finds incomplete files and checkpoints in a directory: passes the first and last bytes of each
 * file to file_format.c, and names and pointer files to layout_rules.c. Blocks. It has one file
 * open at a time, and at most FILE_FORMAT_HEAD_MOST bytes of it in memory.
 */
#ifndef CONTENT_CHECK_H
#define CONTENT_CHECK_H

#include "base/cleanup.h"
#include "base/err.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding {
	/* the numbered checkpoint's directory, or the file if it is in none; relative */
	char *path;
	/* names the file and what is wrong with it */
	char *why;
	/* how long it is waited for, from the last write to its checkpoint on */
	int64_t wait_ms;
};

struct findings {
	struct finding *items;
	size_t count;
};

struct check {
	const char *directory;
	/* it, held open; 0: it is opened by its path */
	int held;
	/* NULL: no framework was recognised */
	const struct profile *profile;
	/* running and excluded files are not looked into; NULL: the default names */
	const struct file_patterns *patterns;
	/* of a gang: layout_view.marker_elsewhere */
	bool marker_elsewhere;
	/* check only these files, each written in the save that is checked; NULL: check all */
	const struct path_set *fresh;
	/* files that were added to a complete checkpoint: one that is torn condemns no other; NULL:
	 * there are none */
	const struct path_set *alone;
	/* gets the files that are whole by a format which records its end, with these marks; NULL:
	 * not wanted */
	struct path_set *valid;
};

/* CONTENT_VALID, and one of the two if it is so (enum file_format_end). */
enum content_mark {
	CONTENT_VALID = 1,
	CONTENT_END_OF_ONE = 2,
	CONTENT_END_OF_ALL = 4,
};

/*
 * How long a finding is waited for. An incomplete file may still be finished: some saves pause
 * between files, and some writers are not observed. A path that breaks a layout rule (a marker is
 * missing) gets longer than a file that fails its format check.
 */
#define FINDING_FORMAT_MS 30000
#define FINDING_MARKER_MS 600000

/*
 * Checks and fills `findings`, which the caller releases. Skips files that have vanished or cannot
 * be read. -1: the directory cannot be listed or opened; `findings` is empty then.
 */
int content_check_run(const struct check *check, struct findings *findings, struct err *err);
void findings_release(struct findings *findings);
AUTO(struct findings, findings_release);

#endif
