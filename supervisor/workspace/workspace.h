/*
 * The checkpoint directory and the place of our own beside it, DIR.reprieve/ (or DIR/.reprieve/
 * where DIR is a mount point or its parent cannot be written): the staging area of a restore, what
 * was moved aside, and the record of what is complete. Everything blocks.
 */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "base/cancel.h"
#include "base/err.h"
#include "checkpoint_number.h"
#include "completion_record.h"
#include "directory_check.h"
#include "directory_lock.h"
#include "file_list.h"
#include "log_files.h"
#include "network_fs.h"
#include "path_set.h"
#include "python_module.h"
#include "storage/storage.h"

#include <stdbool.h>

struct workspace {
	char *directory; /* absolute, links resolved */
	char *alias;     /* absolute as the user wrote it; "" when it is the same */
	char *beside;    /* made when first needed */
	int lock_fd;     /* 0: not held */
};

/* Touches nothing. */
void workspace_init(struct workspace *workspace, const char *directory);
void workspace_release(struct workspace *workspace);

/* Makes the directory and proves that it can be written. ERR_DENIED, ERR_NO_SPACE, ...: the
 * sentence names it. */
int workspace_prepare(struct workspace *workspace, struct err *err);

/*
 * Keeps other runs on this machine out until workspace_release(); does nothing if it is held
 * already. ERR_EXISTS: one is there, and the sentence names it. Where no lock can be had it goes on
 * without.
 */
int workspace_lock(struct workspace *workspace, const char *job, struct cancel *cancel,
		   struct err *err);

/* The record of what is complete here: written at each seal, before the snapshot is taken. */
int workspace_write_record(struct workspace *workspace, const struct completion_record *record,
			   struct err *err);
/* ERR_NOT_FOUND: there is none. ERR_CORRUPT: treat as none. The caller releases `record`. */
int workspace_read_record(const struct workspace *workspace, struct completion_record *record,
			  struct err *err);

/* Moves paths (relative to the directory) into a new folder under beside/quarantine/, whose name is
 * returned (owned). Directories that are empty then go. */
int workspace_quarantine(struct workspace *workspace, char *const *paths, size_t count,
			 char **where, struct err *err);

/* Removes directories that hold nothing and have a number in their name, or held something that was
 * complete: a trainer that looks for the highest number would take them for checkpoints. */
void workspace_prune(struct workspace *workspace);

/* A path of that name in our own place; nothing is made there. The caller frees. */
char *workspace_path_beside(struct workspace *workspace, const char *name, struct err *err);

/* A new empty path for a restore, on the same file system; leftovers of earlier ones are removed.
 * The caller frees. */
char *workspace_new_staging(struct workspace *workspace, struct err *err);

/*
 * Puts the restored tree in place: what lies in the directory and is equal to a file of `snapshot`
 * is removed, the rest is moved aside (*where is then set, owned; NULL otherwise), then the staging
 * tree's entries are renamed in. The record is removed first: a crash in between leaves a directory
 * that the next start does not trust.
 */
int workspace_install(struct workspace *workspace, const char *staging,
		      const struct snapshot_files *snapshot, char **where, struct err *err);

#endif
