/*
 * PURE. What a file is by its name and by what the user says of it (--running, --exclude,
 * --include): part of a checkpoint, or a file that is written for as long as the job lives
 * (metrics.csv, logs, a tracker's records), or none of our business.
 *
 * A pattern is one of fnmatch(3). Without a '/' it is compared with every part of the path: "wandb"
 * takes the directory and all in it. With a '/' it is compared with the whole path, relative to the
 * checkpoint directory, and '*' also stands for '/'; "run/wandb" takes what is below as well. Upper
 * and lower case are different.
 */
#ifndef FILE_PATTERNS_H
#define FILE_PATTERNS_H

#include "base/err.h"
#include "path_set.h"

#include <stdbool.h>

enum file_kind {
	/* Nothing is said of it: it belongs to a checkpoint unless its behaviour says otherwise. */
	FILE_KIND_ORDINARY,
	/* It is written all the time: it delays no checkpoint, is saved with each, and stays where
	 * it is at a start. */
	FILE_KIND_RUNNING,
	/* It is in no snapshot, delays none, and stays where it is at a start. */
	FILE_KIND_EXCLUDED,
};

/* The user's patterns, owned. All zero: there are none. */
struct file_patterns {
	struct path_list running, exclude, include;
};

/*
 * Each adds a copy. `text` is one pattern, or several with commas between; "./a" and "a/" are the
 * same as "a". ERR_INVALID: a pattern is empty, absolute, or leads out of the directory by "..";
 * the sentence says what to write.
 */
int file_patterns_add_running(struct file_patterns *patterns, const char *text, struct err *err);
int file_patterns_add_exclude(struct file_patterns *patterns, const char *text, struct err *err);
int file_patterns_add_include(struct file_patterns *patterns, const char *text, struct err *err);

void file_patterns_release(struct file_patterns *patterns);

/*
 * The kind of a path, which is relative to the checkpoint directory. An --include wins over an
 * --exclude, which wins over a --running, whatever their order; all win over the names that are
 * known (*.csv, *.log, ...; *.lock). `patterns` NULL: there are only those names.
 */
enum file_kind file_patterns_kind(const struct file_patterns *patterns, const char *path);

/* A lock is a word or two, or a link. What has its name and is larger, as uv.lock, or is a
 * directory, is none, and belongs to the snapshot all the same. */
#define FILE_LOCK_MOST 4096
/* The known name of locks by which file_patterns_kind() is EXCLUDED; NULL: it is not by one. */
const char *file_patterns_lock_name(const struct file_patterns *patterns, const char *path);

/*
 * The pattern of the user's that decides file_patterns_kind(); NULL: none of them matches. It is
 * borrowed from `patterns`, and the same pointer for each path that one pattern matches.
 */
const char *file_patterns_match(const struct file_patterns *patterns, const char *path);

#endif
