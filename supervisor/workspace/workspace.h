/*
 * supervisor/workspace/: the checkpoint directory DIR and our own folder beside it.
 *
 * Our folder is DIR.reprieve/, or DIR/.reprieve/ if DIR is a mount point or its parent cannot be
 * written. It contains the lock, the record of complete files, the list of what is being written or
 * torn, the quarantine of files that were moved aside, the staging area of a restore, and tmp/,
 * which is the job's TMPDIR if /tmp is on another file system. The functions of this header block.
 *
 * Both are held open while work is done in them, and that work follows no link and no exchanged
 * name (base/held_directory.h, base/beneath.h). What lies in the place of our folder is only used
 * if it belongs to this user (by the number that the file system gives to what we make there) or to
 * the owner of DIR, and nobody else can write to it. Which folder it is is decided once for a run.
 *
 * What the next start does with a file: one that the record has unchanged is complete. One that is
 * in the list, and is not, is torn: its writer ended while it was being written. Any other file
 * stays where it is, unless its content or its layout says that it is torn (restore/quarantine.h).
 *
 * For other folders, all through this header:
 *
 *	directory_check.h	refuses unsafe checkpoint directories; recognises network file
 *				systems
 *	directory_lock.h	one run at a time in a directory; which members of a gang share it
 *	completion_record.h	PURE: the record of complete files, and the list of what is being
 *				written or torn
 *	checkpoint_name.h	PURE: to which checkpoint a path belongs, and its number
 *	file_patterns.h		PURE: what a file is by its name and the user's patterns; what lies
 *				beside checkpoints and is none
 *	file_list.h		the files of a directory; PURE: sets and lists of paths
 *
 * Of this folder only:
 *
 *	name_fields.h		PURE: words, numbers and dates of one name
 *
 * install.c moves files: aside into the quarantine, and a restored tree into place.
 */
#ifndef WORKSPACE_H
#define WORKSPACE_H

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "checkpoint_name.h"
#include "completion_record.h"
#include "directory_check.h"
#include "directory_lock.h"
#include "file_list.h"
#include "file_patterns.h"
#include "storage/storage.h"

#include <stdatomic.h>
#include <stdbool.h>

struct workspace {
	char *directory;   /* absolute, links resolved */
	char *alias;       /* absolute, as the user wrote it; "": the same */
	char *beside;      /* our folder, created when it is first needed */
	atomic_int folder; /* the same, held open; 0: not needed yet */
	int held;    /* the directory, between workspace_hold() and workspace_let_go(); 0: not */
	int lock_fd; /* 0: not held */
	char holder[LOCK_HOLDER_SIZE]; /* workspace_lock(): the job that has it, or had it last */
	bool warned_of_folder;
	/* The job in it has its name after its directory and command: set by whoever runs it. */
	bool unnamed;
	/* Another member of the gang keeps it: no records are written here. */
	bool kept_by_other;
};

/* Sets the paths; creates nothing. */
void workspace_init(struct workspace *workspace, const char *directory);
void workspace_release(struct workspace *workspace);

/* What an earlier run knows of the directory is ours, although the job has made it as a link since:
 * our folder goes by the directory, and not by its name. Call it before anything else is read. */
void workspace_follow_link(const struct workspace *workspace);

/*
 * Can the directory be written? Creates a probe file in it. One that is not there is the job's to
 * make, for a job may refuse to start where it finds it, so that only a restore makes it: then what
 * is missing above it is made, and the probe is beside it. ERR_DENIED, ERR_NO_SPACE, ...: the
 * sentence names it.
 */
int workspace_prepare(struct workspace *workspace, struct err *err);

/*
 * Holds the directory open, so that what is listed, moved and put into place until
 * workspace_let_go() is in one and the same directory, whatever becomes of its name. One that is
 * not there is made if `make` is set; otherwise that is fine, and it is opened when it is made.
 */
int workspace_hold(struct workspace *workspace, bool make, struct err *err);
void workspace_let_go(struct workspace *workspace);
/* The directory that is held; if none is, the one that is there. The caller closes it. */
int workspace_open_directory(const struct workspace *workspace, struct err *err);
/* file_list_read() of that. */
int workspace_list_files(const struct workspace *workspace, struct snapshot_files *files,
			 struct err *err);

/*
 * Locks the directory against other runs on this machine until workspace_release(); does nothing if
 * it is locked already. ERR_EXISTS: another run has it, which the sentence names. ERR_DENIED: what
 * lies at both places of our folder is not ours. If locks do not work on this file system, or
 * nothing can be written there, it succeeds without one.
 */
int workspace_lock(struct workspace *workspace, const char *job, struct cancel *cancel,
		   struct err *err);

/* True: workspace_lock() would meet another run just now, which `err` names. Takes and makes
 * nothing. */
bool workspace_is_in_use(const struct workspace *workspace, struct err *err);

/* directory_lock_last_supervisor() of its lock. */
int workspace_last_supervisor(const struct workspace *workspace);

/* Lets another run have it. */
void workspace_unlock(struct workspace *workspace);

/* At the end of a run whose checkpoint directory was never made: removes our folder beside it, if
 * there is nothing in it but what a start puts there. Does nothing without the lock. */
void workspace_remove_unused(struct workspace *workspace);

/* Names this boot of the machine; "": unknown. */
void workspace_read_boot(char boot[40]);
/* Writes the record of complete files, with the name of this boot. Call it at each complete
 * checkpoint, before the snapshot. */
int workspace_write_record(struct workspace *workspace, struct completion_record *record,
			   struct err *err);
/* ERR_NOT_FOUND: there is no record. ERR_CORRUPT: treat it as none. The caller releases
 * `record`. */
int workspace_read_record(const struct workspace *workspace, struct completion_record *record,
			  struct err *err);

/*
 * Replaces the list of what is being written or torn (completion_record.h): relative paths, ending
 * in NULL. An empty one removes the file. It outlives a kill of this process and of the job, but it
 * is not synced, so that it waits for no busy disk. Any thread may call it.
 */
int workspace_write_under_way(const struct workspace *workspace, char *const *paths,
			      struct err *err);
/* Appends the paths of the list, if there is one. *rebooted: the machine was started anew since it
 * was written. Any error: something was being written, and it is not known what. */
int workspace_read_under_way(const struct workspace *workspace, struct path_list *paths,
			     bool *rebooted, struct err *err);

/* Moves paths (relative to the directory) into a new folder below quarantine/ in our folder, and
 * removes directories that become empty. `torn`: until workspace_drop_torn(). *where: the new
 * folder; the caller frees it. */
int workspace_quarantine(struct workspace *workspace, char *const *paths, size_t count, bool torn,
			 char **where, struct err *err);
/* Removes what was moved there as torn. False: there was nothing. Any thread may call it. */
bool workspace_drop_torn(struct workspace *workspace);

/* Removes empty directories that have a number in their name, or that contained a complete
 * checkpoint: a trainer that looks for the highest number would take them for checkpoints. */
void workspace_prune(struct workspace *workspace);

/* Our folder, which is made if need be; a borrowed descriptor, or -1. */
int workspace_folder(struct workspace *workspace, struct err *err);
/* A path of that name in our folder, for others and for messages; creates nothing there. The caller
 * frees. */
char *workspace_path_beside(struct workspace *workspace, const char *name, struct err *err);

/* An unused name in our folder for a restore, which is on the directory's file system. Removes
 * leftovers of earlier restores. The caller frees. */
char *workspace_new_staging(struct workspace *workspace, struct err *err);

/*
 * Moves the restored tree from `staging` in our folder into the directory. Before that, what is
 * equal to a file of `snapshot` is removed, and all else is moved aside: *where is then its new
 * folder, which the caller frees; otherwise NULL. What snapshots do not hold stays, unless the
 * snapshot has something in its place: what is no part of a checkpoint (file_patterns_kind()),
 * links that lead outside, sockets and the like. Read-only directories are no hindrance. The change
 * times of what is put into place are in the order of the modification times, so that a script
 * finds the same newest one by either. The record is removed first of all: a crash in between
 * leaves a directory that the next start does not trust. The directory is held from here on
 * (workspace_hold()).
 *
 * ERR_INVALID, before anything is touched: the snapshot has files where something is mounted.
 * ERR_DENIED also: meanwhile somebody has put another directory in the place of this one.
 */
int workspace_install(struct workspace *workspace, const char *staging,
		      const struct snapshot_files *snapshot, const struct file_patterns *patterns,
		      char **where, struct err *err);

#endif
