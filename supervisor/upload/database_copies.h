/*
 * The SQLite databases among the files of a checkpoint directory, and copies of them for the
 * snapshot that is being taken: neither a prefix of a database nor its files one after the other
 * are a database. The copies are in our folder beside the directory for as long as the snapshot is
 * saved. Blocks; lives on one worker thread.
 */
#ifndef DATABASE_COPIES_H
#define DATABASE_COPIES_H

#include "base/cancel.h"
#include "workspace/workspace.h"

#include <stdbool.h>

struct database_copies;

/* `workspace` is borrowed. The caller frees with database_copies_free(). */
struct database_copies *database_copies_new(struct workspace *workspace);
/* Removes the copies too. NULL is fine. */
void database_copies_free(struct database_copies *copies);

/* Before the snapshot: removes what an earlier one left, and finds the databases. `skip` says which
 * files are none of ours: what is not saved, and what is part of a checkpoint. */
void database_copies_find(struct database_copies *copies, bool (*skip)(void *arg, const char *path),
			  void *arg, struct cancel *cancel);
/*
 * Copies each of them: once the other files have been opened, because a database may be locked for
 * seconds. What cannot be copied is warned about, once for each path, and is then not in the
 * snapshot: half a database is worse than none. Ends early when cancelled; what was not copied
 * until then is left out in silence.
 */
void database_copies_make(struct database_copies *copies, struct cancel *cancel);
/* When the snapshot is taken: removes the copies and forgets the databases. */
void database_copies_remove(struct database_copies *copies);

/* Is the file, which is relative to the directory, a database that was found? */
bool database_copies_include(const struct database_copies *copies, const char *path);
/* The copy of the database `path`: its path in database_copies_directory(). NULL: it is no
 * database, or there is no copy of it. Borrowed until the next find or remove. */
const char *database_copies_source(const struct database_copies *copies, const char *path);
/* Our folder, held open; borrowed. */
int database_copies_directory(const struct database_copies *copies);
/* Is the path not to be in the snapshot: a side file of a database, or a database that could not be
 * copied? */
bool database_copies_exclude(const struct database_copies *copies, const char *path);

#endif
