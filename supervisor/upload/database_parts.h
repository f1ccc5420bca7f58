/* PRIVATE. Shared by database_backup.c, which reads a database through SQLite, and
 * database_files.c, which looks at its files, locks them, and copies them as they are. */
#ifndef DATABASE_PARTS_H
#define DATABASE_PARTS_H

#include "base/cleanup.h"
#include "snapshot_run.h"

#include <sqlite3.h>
#include <sys/stat.h>

AUTO_POINTER(sqlite3, sqlite3_close);

enum {
	SIDE_WAL,
	SIDE_SHM,
	SIDE_JOURNAL,
	SIDE_COUNT
};

struct database_copy {
	struct database_place from, to;
	struct cancel *cancel;
	struct database_time time;
	int64_t began_ms;
	int64_t advanced_ms; /* when it last got further than ever before */
	int fd;              /* of the database, for the header and the lock */
	bool wal_mode;
};

struct database_files {
	uint8_t header[DATABASE_HEADER_SIZE];
	struct stat database, sides[SIDE_COUNT];
	bool there[SIDE_COUNT];
};

/* What a try came to, beside 0 and -1: something changed meanwhile, look again. */
enum {
	LOOK_AGAIN = 1
};

/* --- database_backup.c --- */
int database_sqlite_error(int result, struct err *err); /* -1 */
/* A short pause. -1: the time is over, or it was cancelled. */
int database_wait_for_others(const struct database_copy *backup, struct err *err);
/* The copy, which database_make_copy() has made, opened through SQLite. */
int database_open_copy(const struct database_copy *backup, sqlite3 **copy, struct err *err);

/* --- database_files.c --- */
bool database_header_has_wal(const uint8_t *header);
/* The lock under which SQLite reads; false: somebody is writing. */
bool database_lock_shared(const struct database_copy *backup);
void database_unlock_shared(const struct database_copy *backup);
int database_wait_for_lock(const struct database_copy *backup, struct err *err);
int database_look_at_files(const struct database_copy *backup, struct database_files *files,
			   struct err *err);
enum database_way database_way_of(const struct database_files *files);
/* The copy must not be what fills the job's disk. */
int database_check_space(const struct database_copy *backup, const struct database_files *files,
			 struct err *err);
/* The empty file for the copy. */
int database_make_copy(const struct database_copy *backup, struct err *err);
void database_remove_copy(const struct database_copy *backup);
/* Copies the files, and rolls back what had begun. 0, -1, or LOOK_AGAIN. */
int database_copy_at_rest(const struct database_copy *backup, struct err *err);

#endif
