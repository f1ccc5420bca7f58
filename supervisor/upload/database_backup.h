/*
 * Copies an SQLite database that a job may be writing to, so that the copy is a state that the
 * database had: what had been committed, and no part of anything else. The one door to libsqlite3.
 *
 * A database that is in use is copied by SQLite's own online backup, through a connection that may
 * only read. One that nobody has open is copied as a file, together with its log or journal, and
 * the copy is recovered: SQLite could only open it in place by creating side files there, or by
 * rolling a transaction back. Nothing in the job's directory is created, changed or removed.
 */
#ifndef DATABASE_BACKUP_H
#define DATABASE_BACKUP_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Bytes at the start of a database that say what it is (https://sqlite.org/fileformat.html,
	 * 1.3). */
	DATABASE_HEADER_SIZE = 20,
	/* No database but an empty one is smaller. */
	DATABASE_SIZE_LEAST = 512
};

/* PURE. Does a file that begins like this hold a database? */
bool database_header_matches(const uint8_t *header, size_t size);

/* PURE. Is `path` a log, index or journal of `database`: its name and "-wal", "-shm" or "-journal"?
 * Both are relative to the same directory. */
bool database_is_side_file(const char *path, const char *database);

enum database_way {
	DATABASE_ONLINE, /* SQLite's online backup */
	DATABASE_AT_REST /* its files, and a recovery of the copy */
};

/* PURE. How to copy a database with this header. A database in WAL mode has both its log (-wal) and
 * its index (-shm) while a connection is open. */
enum database_way database_way_choose(const uint8_t header[DATABASE_HEADER_SIZE], bool wal,
				      bool shm);

struct database_time {
	/* For how long others may keep us from getting further. */
	int64_t patience_ms;
	/* For one database, in all; CLOCK_NEVER: no limit. */
	int64_t whole_ms;
};

/* PURE. `left_ms` is the time that is left for the whole snapshot (cancel_left_ms()). */
struct database_time database_time_from(int64_t left_ms);

/* A file below a directory that is held open. SQLite takes nothing but `absolute`, which is the
 * same file: what it has opened by that name is compared, and not used if it is another file. */
struct database_place {
	int directory;
	const char *path; /* relative to it */
	const char *absolute;
};

/*
 * Copies the database `from` to the new file `to`. Blocks. The copy needs no
 * side files; after a failure nothing of it is left. Writers are not held up in WAL mode; else for
 * as long as 16 MiB take to be read. ERR_RETRY: others held it locked all the time. ERR_CORRUPT: it
 * is damaged, or no database. ERR_NO_SPACE: the copy would take more than half of the space that is
 * left beside it.
 */
int database_backup(const struct database_place *from, const struct database_place *to,
		    struct database_time time, struct cancel *cancel, struct err *err);

#endif
