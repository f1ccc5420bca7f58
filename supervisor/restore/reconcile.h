/*
 * PURE. Decides what to do with a checkpoint directory that is not empty when a job starts. It may
 * hold a newer complete checkpoint than the store (a requeue on the same node), an older one (a
 * machine that returns), torn files (a kill during a save), or files that have nothing to do with
 * us.
 *
 * The last supervisor here left a record of the files that are complete, and a list of what was
 * being written or torn (workspace.h). What the record has unchanged is intact.
 * What the list has, or what has lost a part of its checkpoint or all of its content, is torn: the
 * save under way at the end has left it so, and it is undone. What that save has added is moved
 * aside. What it has written over comes back if the snapshot has exactly what it was; of fixed
 * names, all of it or nothing. Else it is broken, and stays as a start without us would find it.
 * Everything else stays where it is: nobody vouches for it, but nothing speaks against it either.
 * The snapshot replaces what lies here only if that is older, or no whole checkpoint is left in it.
 * A recorded file that is gone misses nothing if a newer one, the same but for the digits of a
 * date, has come in its place.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include "base/cleanup.h"
#include "frameworks/frameworks.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reconcile_action {
	/* nothing here and nothing in the store */
	RECONCILE_FRESH,
	/* the local files stay */
	RECONCILE_KEEP,
	/* the snapshot replaces the local files: others make room */
	RECONCILE_RESTORE,
};

struct reconcile_facts {
	const struct snapshot_files *local;
	/* what is no part of a checkpoint, and decides nothing; NULL: the user has named nothing */
	const struct file_patterns *patterns;
	/* its temporary files are no newer checkpoint; NULL: none was recognised */
	const struct profile *profile;
	/* the files of `start`; NULL: there is none. What is marked there as running decides
	 * nothing either. */
	const struct snapshot_files *snapshot;
	struct snapshot_id start; /* the attempt starts from it; may be none */
	/* the snapshot is taken, whatever lies here: the user has named it, the job crashes from
	 * what lies here, or a gang goes on from what all have */
	bool restores;
	/* the files that the last supervisor here recorded as complete; NULL: no record */
	const struct snapshot_files *complete;
	struct snapshot_id complete_id; /* attempt and sequence of that record */
	/* the record is of a job under another name, and nobody has named either: the two are
	 * told apart by their arguments alone, and the directory has one run after the other */
	bool of_other;
	/* the record, or the list of what was being written, is of before the machine was started
	 * the last time: a crash may have lost content, but not the times by which it is known */
	bool rebooted;
	/* the line of snapshots that it belongs to was left on purpose (lineage.h) */
	bool abandoned;
	/* what was being written or torn when the last supervisor here ended (completion_record.h);
	 * ends in NULL; NULL: nothing */
	char *const *under_way;
	/* torn by their content, and moved aside already; ends in NULL; NULL: none */
	char *const *moved;
	/* files that are whole by their format; NULL: none */
	const struct path_set *whole;
};

enum torn_reason {
	TORN_UNDER_WAY, /* its writer ended while it was being written */
	TORN_HALF,      /* the same, and it is whole: the rest of its save was still to come */
	TORN_EMPTIED,   /* it is empty, and had content when it was complete */
	TORN_REDUCED,   /* files of its checkpoint are gone: it was being deleted */
	TORN_REST,      /* another file of its checkpoint is torn by its content */
	TORN_SET,       /* another file of its set of fixed names is torn */
	TORN_REASONS,
};

struct torn_file {
	char *path;
	enum torn_reason reason;
};

struct reconcile_plan {
	enum reconcile_action action;
	bool newer_than_store; /* KEEP: the local checkpoint is not committed yet */
	/* to be moved aside; owned: nobody is to go on from those */
	struct torn_file *torn;
	size_t torn_count;
	/* RESTORE: what else has to make room: some is newer than what the snapshot has; the
	 * highest step of those, else of all; -1: none has one */
	bool aside_newer;
	int64_t aside_step;
	/* RESTORE, KEEP: there is a checkpoint, and not only running files */
	bool any_checkpoint;
	/* KEEP: written over by the save under way, and no snapshot has what it was: it stays; the
	 * first one, borrowed from facts->local; NULL: none */
	const char *broken;
	/* KEEP: a file stays that the user has not excluded and that is no log; the highest step of
	 * those, -1: none has one. The number of a picture is none. */
	bool any_left;
	int64_t step;
	bool prune; /* KEEP: empty directories are remains of an interrupted save: remove them */
};

/* Has the snapshot exactly what lay under this name before the save under way at the end, so that
 * it may be put back beside the others? */
bool reconcile_may_put_back(const struct reconcile_facts *facts, const char *path);
void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan);
void reconcile_plan_release(struct reconcile_plan *plan);

/* For people, behind the path: "is torn". Static. */
const char *torn_reason_verb(enum torn_reason reason);
/* For people: "their writer ended while they were being written". Static. */
const char *torn_reason_text(enum torn_reason reason);

/*
 * PURE. What stays where it is of the save under way when the last supervisor here was killed
 * together with the job (completion_record.h).
 *
 * The rule: what was closed, and what nobody was seen to leave half, is whole. It stays unless its
 * content says that it is torn, which is asked before this, or what was there before says that it
 * is not all: it is shorter, or another file of its save is missing. What its writer is known to
 * have had open is torn, unless its format says that all of it was written.
 */

struct left_file {
	/* completion_record.h: what stands in front of it in the list */
	const char *front;
	/* the machine was started anew since: a crash may have lost content */
	bool rebooted;
	/* enum content_mark: what its content says */
	unsigned content;
	/* its size, and that of the one before it, by its name; 0: there is none */
	uint64_t size, before;
};

/*
 * Where more may have been lost than its end, a file stays only if its format says that it is
 * whole. If another object may have been to follow in an open one, as behind a pickle, it must not
 * be shorter than the one before it.
 */
bool left_file_stays(const struct left_file *file);

/*
 * Removes the files that stay by this rule from the list, and what stands in front of the others.
 * Of one save, none stays if one does not, or if a file that the save before had beside one that
 * nobody saw is not there, or is still that one. Those behind UNDER_WAY_WITH, which are closed,
 * stay if all fixed names do, and none is still to come (UNDER_WAY_REST). `complete` may be of any
 * job; `whole`: enum content_mark.
 */
void left_files_settle(struct path_list *list, const struct reconcile_facts *facts);

#endif
