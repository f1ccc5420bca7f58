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
 * stays where it is, unless its content or its layout says that it is torn (restore/quarantine.c).
 *
 * For other folders, all through this header:
 *
 *	directory_check.c	refuses unsafe checkpoint directories; recognises network file
 *				systems
 *	directory_lock.c	one run at a time in a directory; which members of a gang share it
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
#include "file_list.h"
#include "file_patterns.h"
#include "storage/storage.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCK_HOLDER_SIZE 160

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
 * nothing. *last: as of directory_lock_is_held(). */
bool workspace_is_in_use(const struct workspace *workspace, int *last, struct err *err);

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

/* Removes checkpoints' directories that have no file: a trainer that looks for the highest number
 * would take them for checkpoints. An empty directory beside a checkpoint's files stays. */
void workspace_prune(const struct workspace *workspace);

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

/* --- directory_check.c --- */

/*
 * Refuses unsafe checkpoint directories. At a start, files in the directory are moved aside or
 * replaced by a snapshot unless they are the newest checkpoint. So it must not contain the store,
 * our runtime directory, the user's home or the job's program.
 */

/* Absolute paths, links resolved; NULL: none, or not to be checked. */
struct directory_check_facts {
	const char *directory; /* the checkpoint directory; never NULL */
	const char *store;     /* the directory of a file:// store */
	const char *runtime;   /* the runtime directory of this run */
	const char *working;   /* the job's working directory */
	const char *home;
	const char *program; /* the program or script that the command runs */
	bool repository;     /* the working directory is a git repository */
};

/* What helps where a directory that the user has chosen cannot be made or written to; for the end
 * of a sentence. */
#define DIRECTORY_CHECK_CHOOSE "choose another with --checkpoint-dir"

/*
 * PURE. ERR_INVALID: the directory is unsafe; the sentence says why, and `*advice` what helps
 * (static; NULL: nothing has to).
 *
 * Who follows the advice is not refused again. The job may save in this very directory, so that to
 * name another one is none: either the job saves elsewhere, in a directory of its own, which lifts
 * all that is in the way but a store around it; or, if only the store is, that is kept elsewhere.
 */
int directory_check_judge(const struct directory_check_facts *facts, const char **advice,
			  struct err *err);

struct directory_check {
	const char *directory; /* as the user wrote it */
	const char *store;     /* URL; NULL: none, so that nothing is moved or replaced */
	const char *runtime;   /* NULL: none */
	char *const *command;  /* the job's command */
};

/* Collects the facts on this machine and judges them. The directory need not exist. */
int directory_check_run(const struct directory_check *check, const char **advice, struct err *err);

/* The same, and the sentence is to stand among others: it does not say what is refused. */
int directory_check_ask(const struct directory_check *check, const char **advice, struct err *err);

/* Checks a directory that is only saved or restored, without a job: neither it nor the store may
 * be inside the other's content. */
int directory_check_store(const char *directory, const char *store, struct err *err);

/* Is it the current working directory? Some scripts save there, and then all files in it count as
 * checkpoints. */
bool directory_check_is_working_directory(const char *directory);

/* PURE. The file that "python -m MODULE" runs, relative to its working directory. For "a.b":
 * "a/b.py" if it is a module, "a/b/__main__.py" if it is a package. The caller frees. */
#define PYTHON_MODULE ".py"
#define PYTHON_PACKAGE "/__main__.py"
char *python_module_path(const char *module, const char *end);

/* --- directory_lock.c --- */

/*
 * Allows one run at a time in a checkpoint directory, because two would take each other's files for
 * their own. The kernel releases the lock when its process ends. The lock file names the job, so
 * that a job that outlives its supervisor is found too. On a network file system a lock may outlive
 * its machine: therefore only a run on this machine prevents a start, and between machines the
 * attempts in the store decide (storage.h).
 */

/*
 * Takes the lock in `folder` (DIR.reprieve, held open), and writes into it who holds it. Blocks
 * for up to a second if another run, or the job of a dead one, is just ending.
 *
 * `holder` gets the name of the job that holds it, or held it last; "": none is known.
 *
 * Returns a descriptor that holds the lock until it is closed. -2: locks do not work here, but
 * nobody on this machine holds it. -1: ERR_EXISTS, the sentence names the run or job that holds it;
 * ERR_RETRY, its holder has just ended and removed the folder, so make that anew; or ERR_CANCELLED.
 */
int directory_lock(int folder, const char *job, struct cancel *cancel,
		   char holder[LOCK_HOLDER_SIZE], struct err *err);

/* True: directory_lock() would be refused just now, with `err`. Takes nothing and writes nothing.
 * *last: the pid of the supervisor that holds it, or held it last, in this boot of the machine; 0:
 * none is known. */
bool directory_lock_is_held(int folder, int *last, struct err *err);

/* The holder calls it after the start, and again if another process becomes the job: `pid` is the
 * job. */
void directory_lock_note_job(int fd, pid_t pid);

/*
 * Marks of the members of a gang in our folder: each puts one before it joins, and takes it away
 * once all have started. So which of them have the same checkpoint directory, on a file system that
 * several machines see, is proven by a file and not by a name. All functions block.
 */

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err);
void workspace_unmark_member(struct workspace *workspace, const char *nonce);
/* Whether others than `own` are about to start here. */
bool workspace_has_other_mark(struct workspace *workspace, const char *own);
/*
 * `nonces` are those of all members, in their order. Sets here[member] for each that has its mark
 * here, which is so for `own`. Puts that anew first: a machine that has the directory from a server
 * then reads again who else is in it. Marks of a day ago are removed.
 */
int workspace_find_members(struct workspace *workspace, json_t *nonces, const char *own, bool *here,
			   struct err *err);

#endif
