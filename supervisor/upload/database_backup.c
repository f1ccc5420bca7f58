#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/library.h"
#include "base/text.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* --- database_files --- */

// clang-format off
#define SQLITE_FUNCTIONS(F) \
	F(sqlite3_backup_finish) F(sqlite3_backup_init) F(sqlite3_backup_remaining) \
	F(sqlite3_backup_step) F(sqlite3_close) F(sqlite3_errcode) F(sqlite3_errstr) \
	F(sqlite3_exec) F(sqlite3_extended_result_codes) F(sqlite3_open_v2)
// clang-format on
LIBRARY(sqlite, "libsqlite3.so.0", "libsqlite3-0", SQLITE_FUNCTIONS);

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

enum {
	PATIENCE_MOST_MS = 5000,
	/* A deadline is for the checkpoint first: a database may have a quarter of it, and be
	 * waited for for a tenth. */
	PATIENCE_PART = 10,
	WHOLE_PART = 4,
	COPY_BYTES = 1 << 20,
	PAUSE_MS = 10,
	/* Where SQLite's locks are (https://sqlite.org/src/file/src/os.h, SHARED_FIRST). */
	LOCK_START = 0x40000002,
	LOCK_LENGTH = 510
};

static const char *const side_suffixes[] = {"-wal", "-shm", "-journal"};

/* --- decisions --- */

bool database_header_matches(const uint8_t *header, size_t size)
{
	return size >= DATABASE_HEADER_SIZE && memcmp(header, "SQLite format 3", 16) == 0;
}

bool database_is_side_file(const char *path, const char *database)
{
	if (!text_starts(path, database))
		return false;
	for (size_t i = 0; i < SIDE_COUNT; i++)
		if (text_equal(path + strlen(database), side_suffixes[i]))
			return true;
	return false;
}

/* The two versions in the header say which versions of SQLite may write and read: 2 means WAL. */
static bool database_header_has_wal(const uint8_t *header)
{
	return header[18] == 2 || header[19] == 2;
}

enum database_way database_way_choose(const uint8_t header[DATABASE_HEADER_SIZE], bool wal,
				      bool shm)
{
	if (!database_header_has_wal(header) && !wal)
		return DATABASE_ONLINE;
	return wal && shm ? DATABASE_ONLINE : DATABASE_AT_REST;
}

struct database_time database_time_from(int64_t left_ms)
{
	struct database_time time = {PATIENCE_MOST_MS, CLOCK_NEVER};

	if (left_ms == CLOCK_NEVER)
		return time;
	if (left_ms / PATIENCE_PART < time.patience_ms)
		time.patience_ms = left_ms / PATIENCE_PART;
	time.whole_ms = left_ms / WHOLE_PART;
	return time;
}

/* --- time and errors --- */

static int database_sqlite_error(int result, struct err *err)
{
	enum err_kind kind = ERR_FAILED;

	switch (result & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		kind = ERR_CORRUPT;
		break;
	case SQLITE_FULL:
		kind = ERR_NO_SPACE;
		break;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_READONLY:
		kind = ERR_DENIED;
		break;
	default:
		break;
	}
	return err_set(err, kind, "%s", sqlite3_errstr(result));
}

static bool is_busy(int result)
{
	return (result & 0xff) == SQLITE_BUSY || (result & 0xff) == SQLITE_LOCKED ||
	       (result & 0xff) == SQLITE_PROTOCOL || result == SQLITE_READONLY_CANTINIT ||
	       result == SQLITE_READONLY_CANTLOCK;
}

/* An interrupted transaction is in its journal, and has to be rolled back in a copy. */
static bool needs_recovery(int result)
{
	return result == SQLITE_READONLY_ROLLBACK || result == SQLITE_READONLY_RECOVERY;
}

static int check_time(const struct database_copy *backup, struct err *err)
{
	int64_t now = clock_monotonic_ms();

	if (cancel_check(backup->cancel, err) < 0)
		return -1;
	if (now - backup->advanced_ms > backup->time.patience_ms)
		return err_set(err, ERR_RETRY,
			       "transactions kept it locked or changed it for %.1f s",
			       (double)backup->time.patience_ms / 1000);
	if (backup->time.whole_ms != CLOCK_NEVER && now - backup->began_ms > backup->time.whole_ms)
		return err_set(err, ERR_RETRY,
			       "copying it takes too long for the time that is left");
	return 0;
}

/* A short pause. -1: the time is over, or it was cancelled. */
static int database_wait_for_others(const struct database_copy *backup, struct err *err)
{
	return check_time(backup, err) < 0 ? -1 : cancel_sleep(backup->cancel, PAUSE_MS, err);
}

/* --- the lock --- */

/*
 * The lock under which SQLite reads. It belongs to the descriptor: SQLite's own locks are the
 * process's, and are lost when any thread closes any descriptor of the same file. While it is held,
 * nobody writes to the database but a checkpoint of the log, and no last connection removes the
 * log. False: somebody is writing. Where there are no such locks, SQLite's own must do.
 */
static bool database_set_lock(const struct database_copy *backup, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = LOCK_START,
		.l_len = LOCK_LENGTH,
	};

	return fcntl(backup->fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

static bool database_lock_shared(const struct database_copy *backup)
{
	return database_set_lock(backup, F_RDLCK);
}

static void database_unlock_shared(const struct database_copy *backup)
{
	(void)database_set_lock(backup, F_UNLCK);
}

static int database_wait_for_lock(const struct database_copy *backup, struct err *err)
{
	while (!database_lock_shared(backup))
		if (database_wait_for_others(backup, err) < 0)
			return -1;
	return 0;
}

/* --- what is there --- */

static int database_look_at_files(const struct database_copy *backup, struct database_files *files,
				  struct err *err)
{
	ssize_t got = pread(backup->fd, files->header, sizeof(files->header), 0);

	if (got < 0 || fstat(backup->fd, &files->database) < 0)
		return err_os(err, errno, "read");
	if (!database_header_matches(files->header, (size_t)got))
		return err_set(err, ERR_CORRUPT, "it is no SQLite database any more");
	for (size_t i = 0; i < SIDE_COUNT; i++) {
		auto_free char *side = text_format("%s%s", backup->from.path, side_suffixes[i]);

		files->there[i] =
			beneath_status(backup->from.directory, side, &files->sides[i]) == 0 &&
			S_ISREG(files->sides[i].st_mode);
	}
	return 0;
}

static enum database_way database_way_of(const struct database_files *files)
{
	return database_way_choose(files->header, files->there[SIDE_WAL], files->there[SIDE_SHM]);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool same_files(const struct database_files *a, const struct database_files *b)
{
	bool same = same_file(&a->database, &b->database);

	for (size_t i = 0; i < SIDE_COUNT; i++)
		same = same && a->there[i] == b->there[i] &&
		       (!a->there[i] || same_file(&a->sides[i], &b->sides[i]));
	return same;
}

/* The copy must not be what fills the job's disk. */
static int database_check_space(const struct database_copy *backup,
				const struct database_files *files, struct err *err)
{
	uint64_t needed = (uint64_t)files->database.st_size;
	struct statvfs space;

	if (files->there[SIDE_WAL])
		needed += (uint64_t)files->sides[SIDE_WAL].st_size;
	if (fstatvfs(backup->to.directory, &space) < 0)
		return err_os(err, errno, "%s", backup->to.absolute);
	if (needed > (uint64_t)space.f_bavail * space.f_frsize / 2)
		return err_set(err, ERR_NO_SPACE, "there is too little space for a copy at %s",
			       backup->to.absolute);
	return 0;
}

static int database_make_copy(const struct database_copy *backup, struct err *err)
{
	int fd = beneath_open(backup->to.directory, backup->to.path, O_WRONLY | O_CREAT | O_EXCL,
			      0600);

	if (fd < 0)
		return err_os(err, errno, "%s", backup->to.absolute);
	/* While SQLite has it open, closing another descriptor of it would drop SQLite's locks. */
	close(fd);
	return 0;
}

/* The empty file for the copy. */
static void database_remove_copy(const struct database_copy *backup)
{
	beneath_remove(backup->to.directory, backup->to.path, 0);
	for (size_t i = 0; i < SIDE_COUNT; i++) {
		auto_free char *side = text_format("%s%s", backup->to.path, side_suffixes[i]);

		beneath_remove(backup->to.directory, side, 0);
	}
}

/* --- what SQLite has opened --- */

#define OPEN_MOST 64

/* Our descriptors of one file. */
struct open_numbers {
	int items[OPEN_MOST];
	size_t count;
};

/* -1: /proc is not there, or there are too many. */
static int list_open(const struct stat *file, struct open_numbers *numbers)
{
	auto_(walk_close) struct walk walk = {0};
	struct stat status;
	uint64_t fd;

	numbers->count = 0;
	if (walk_open(&walk, "/proc/self/fd", 0) < 0)
		return -1;
	while (walk_next(&walk)) {
		if (!text_to_u64(walk.name, INT_MAX, &fd) || fstat((int)fd, &status) < 0 ||
		    status.st_dev != file->st_dev || status.st_ino != file->st_ino)
			continue;
		if (numbers->count == OPEN_MOST)
			return -1;
		numbers->items[numbers->count++] = (int)fd;
	}
	return 0;
}

static bool has_new(const struct open_numbers *before, const struct open_numbers *after)
{
	for (size_t i = 0; i < after->count; i++) {
		bool old = false;

		for (size_t j = 0; j < before->count; j++)
			old = old || before->items[j] == after->items[i];
		if (!old)
			return true;
	}
	return false;
}

/* sqlite3_open_v2() of a file that is there: a path may have been made to lead elsewhere. */
static int open_same_file(const struct database_place *place, const char *name, int flags,
			  sqlite3 **database, struct err *err)
{
	struct open_numbers before, after;
	struct stat file, named;
	int result;

	if (beneath_status(place->directory, place->path, &file) < 0)
		return err_os(err, errno, "%s", place->absolute);
	if (list_open(&file, &before) < 0)
		before.count = OPEN_MOST;
	result = sqlite3_open_v2(name, database, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (result != SQLITE_OK)
		return database_sqlite_error(result, err);
	if (before.count < OPEN_MOST && list_open(&file, &after) == 0
		    ? has_new(&before, &after)
		    : stat(place->absolute, &named) == 0 && named.st_ino == file.st_ino &&
			      named.st_dev == file.st_dev)
		return 0;
	return err_set(err, ERR_RETRY, "%s leads to another file", place->absolute);
}

/* The copy, which database_make_copy() has made, opened through SQLite. */
static int database_open_copy(const struct database_copy *backup, sqlite3 **copy, struct err *err)
{
	return open_same_file(&backup->to, backup->to.absolute, SQLITE_OPEN_READWRITE, copy, err);
}

/* --- at rest --- */

static int copy_content(const struct database_copy *backup, int in, int out, struct err *err)
{
	auto_free char *room = memory_new(COPY_BYTES);
	ssize_t got;

	while ((got = read(in, room, COPY_BYTES)) > 0)
		if (file_write_all(out, room, (size_t)got, err) < 0 ||
		    cancel_check(backup->cancel, err) < 0)
			return -1;
	return got < 0 ? err_os(err, errno, "read") : 0;
}

static int copy_file(const struct database_copy *backup, const char *suffix, struct err *err)
{
	auto_free char *from = text_format("%s%s", backup->from.path, suffix);
	auto_free char *to = text_format("%s%s", backup->to.path, suffix);
	auto_close int in = beneath_open(backup->from.directory, from, O_RDONLY | O_NONBLOCK, 0);
	auto_close int out =
		in < 0 ? -1
		       : beneath_open(backup->to.directory, to, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (in < 0 || out < 0)
		return err_os(err, errno, "%s", in < 0 ? from : to);
	return copy_content(backup, in, out, err);
}

static int copy_files(const struct database_copy *backup, const struct database_files *files,
		      struct err *err)
{
	static const size_t sides[] = {SIDE_WAL, SIDE_JOURNAL};

	database_remove_copy(backup);
	if (copy_file(backup, "", err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if (files->there[sides[i]] && copy_file(backup, side_suffixes[sides[i]], err) < 0)
			return -1;
	return 0;
}

/* Rolls back what had begun, and moves what had been committed from the log into the copy. Alone
 * with it, SQLite needs no index beside it. */
static int recover_copy(const struct database_copy *backup, struct err *err)
{
	auto_(sqlite3_close) sqlite3 *copy = NULL;
	int result;

	if (database_open_copy(backup, &copy, err) < 0)
		return -1;
	result = sqlite3_exec(copy,
			      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF;"
			      "PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)",
			      NULL, NULL, NULL);
	return result == SQLITE_OK ? 0 : database_sqlite_error(result, err);
}

/* A transaction that is not over when the job ends is in the journal or in the log, so it is copied
 * too. Files that did not move meanwhile belong together. */
static int database_copy_at_rest(const struct database_copy *backup, struct err *err)
{
	struct database_files before, after;

	if (database_wait_for_lock(backup, err) < 0 ||
	    database_look_at_files(backup, &before, err) < 0)
		return -1;
	if (database_check_space(backup, &before, err) < 0 ||
	    copy_files(backup, &before, err) < 0 || database_look_at_files(backup, &after, err) < 0)
		return err && err->kind == ERR_NOT_FOUND ? LOOK_AGAIN : -1;
	database_unlock_shared(backup);
	return same_files(&before, &after) ? recover_copy(backup, err) : LOOK_AGAIN;
}

enum {
	/* Changes between two steps; and how long writers are held up then. Python's sqlite3 waits
	 * for a lock for 5 s by default. */
	CHANGES_MOST = 3,
	HELD_MOST_MS = 2000,
	STEP_BYTES = 16 << 20,
};

AUTO_POINTER(sqlite3_backup, sqlite3_backup_finish);

/* --- online --- */

static int open_to_read(const struct database_copy *backup, sqlite3 **source, struct err *err)
{
	/* In a URI these three characters would end the path. */
	static const char special[] = "%?#";
	size_t size = 3 * strlen(backup->from.absolute) + 1, at = 0;
	auto_free char *escaped = memory_new(size);
	auto_free char *uri = NULL;

	for (const char *next = backup->from.absolute; *next; next++) {
		if (strchr(special, *next))
			at += (size_t)snprintf(escaped + at, size - at, "%%%02X", (unsigned)*next);
		else
			escaped[at++] = *next;
	}
	uri = text_format("file:%s?mode=ro", escaped);
	if (open_same_file(&backup->from, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, source,
			   err) < 0)
		return -1;
	sqlite3_extended_result_codes(*source, 1);
	return 0;
}

static int open_to_write(const struct database_copy *backup, sqlite3 **copy, struct err *err)
{
	int result;

	if (database_make_copy(backup, err) < 0 || database_open_copy(backup, copy, err) < 0)
		return -1;
	result = sqlite3_exec(*copy, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF", NULL, NULL,
			      NULL);
	return result == SQLITE_OK ? 0 : database_sqlite_error(result, err);
}

/* In WAL mode a reader holds up nobody, so that all steps are of one transaction. 0, -1, or
 * LOOK_AGAIN: the index cannot be used. */
static int begin_reading(const struct database_copy *backup, sqlite3 *source, struct err *err)
{
	for (;;) {
		int result = sqlite3_exec(source, "BEGIN; PRAGMA schema_version", NULL, NULL, NULL);

		if (result == SQLITE_OK)
			return 0;
		if (needs_recovery(result) || (result & 0xff) == SQLITE_CANTOPEN)
			return LOOK_AGAIN;
		if (!is_busy(result))
			return database_sqlite_error(result, err);
		(void)sqlite3_exec(source, "ROLLBACK", NULL, NULL, NULL);
		if (database_wait_for_others(backup, err) < 0)
			return -1;
	}
}

/* The size of a page, in the header: 1 stands for 65536. */
static int pages_of_step(const uint8_t *header)
{
	int size = header[16] << 8 | header[17];

	return STEP_BYTES / (size == 1 ? 65536 : size < 512 ? 512 : size);
}

static void let_writers_go(const struct database_copy *backup, sqlite3 *source)
{
	(void)sqlite3_exec(source, "ROLLBACK", NULL, NULL, NULL);
	database_unlock_shared(backup);
}

/* A writer that waits lets no new reader in, so what holds it up is one transaction. */
static bool hold_writers(const struct database_copy *backup, sqlite3 *source)
{
	if (database_lock_shared(backup) &&
	    sqlite3_exec(source, "BEGIN; PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_OK)
		return true;
	let_writers_go(backup, source);
	return false;
}

/*
 * Without a log, writers wait while a step holds the lock. A change between two steps makes SQLite
 * begin anew. A database that is written all the time would never be copied so: after a few such
 * changes, writers are held up across the steps, for as long as they wait without complaint.
 */
static int run_steps(struct database_copy *backup, sqlite3 *source, sqlite3_backup *steps,
		     int pages, struct err *err)
{
	int least = INT_MAX, left = INT_MAX, changes = 0;
	int64_t held_ms = 0; /* since when writers are held up; 0: they are not */

	for (;;) {
		int64_t now_ms = clock_monotonic_ms();
		int result = SQLITE_BUSY, remaining;

		if (changes >= CHANGES_MOST && held_ms == 0 && hold_writers(backup, source))
			held_ms = now_ms;
		if (backup->wal_mode || database_lock_shared(backup))
			result = sqlite3_backup_step(steps, pages);
		if (held_ms > 0 && (result != SQLITE_OK || now_ms - held_ms > HELD_MOST_MS)) {
			let_writers_go(backup, source);
			held_ms = 0;
		} else if (!backup->wal_mode && held_ms == 0) {
			database_unlock_shared(backup);
		}
		if (result == SQLITE_DONE)
			return 0;
		if (needs_recovery(result))
			return LOOK_AGAIN;
		if (result != SQLITE_OK && !is_busy(result))
			return database_sqlite_error(result, err);
		remaining = result == SQLITE_OK ? sqlite3_backup_remaining(steps) : left;
		changes += remaining > left;
		left = remaining;
		if (remaining < least) {
			least = remaining;
			backup->advanced_ms = now_ms;
		}
		if (result == SQLITE_OK && (backup->wal_mode || held_ms > 0)
			    ? check_time(backup, err) < 0
			    : database_wait_for_others(backup, err) < 0)
			return -1;
	}
}

/* 0, -1, or LOOK_AGAIN: it has to be recovered. */
static int copy_online(struct database_copy *backup, const struct database_files *files,
		       struct err *err)
{
	auto_(sqlite3_close) sqlite3 *source = NULL;
	auto_(sqlite3_close) sqlite3 *copy = NULL;
	auto_(sqlite3_backup_finish) sqlite3_backup *steps = NULL;
	int result;

	if (database_check_space(backup, files, err) < 0 ||
	    open_to_read(backup, &source, err) < 0 || open_to_write(backup, &copy, err) < 0)
		return -1;
	result = backup->wal_mode ? begin_reading(backup, source, err) : 0;
	if (result != 0)
		return result;
	steps = sqlite3_backup_init(copy, "main", source, "main");
	if (!steps)
		return database_sqlite_error(sqlite3_errcode(copy), err);
	result = run_steps(backup, source, steps, pages_of_step(files->header), err);
	if (result != 0)
		return result;
	result = sqlite3_backup_finish(steal(&steps));
	return result == SQLITE_OK ? 0 : database_sqlite_error(result, err);
}

/* --- the whole --- */

static int try_backup(struct database_copy *backup, struct err *err)
{
	struct database_files files;
	int result;

	if (database_look_at_files(backup, &files, err) < 0)
		return -1;
	if (database_way_of(&files) == DATABASE_AT_REST)
		return database_copy_at_rest(backup, err);
	backup->wal_mode = database_header_has_wal(files.header) || files.there[SIDE_WAL];
	if (backup->wal_mode) {
		/* From here on nobody removes log and index, so that SQLite cannot create them. */
		if (database_wait_for_lock(backup, err) < 0 ||
		    database_look_at_files(backup, &files, err) < 0)
			return -1;
		if (database_way_of(&files) != DATABASE_ONLINE)
			return LOOK_AGAIN;
	}
	result = copy_online(backup, &files, err);
	if (result != LOOK_AGAIN)
		return result;
	database_remove_copy(backup);
	return database_copy_at_rest(backup, err);
}

int database_backup(const struct database_place *from, const struct database_place *to,
		    struct database_time time, struct cancel *cancel, struct err *err)
{
	auto_close int fd = beneath_open(from->directory, from->path, O_RDONLY | O_NONBLOCK, 0);
	struct database_copy backup = {
		.from = *from,
		.to = *to,
		.cancel = cancel,
		.time = time,
		.began_ms = clock_monotonic_ms(),
		.advanced_ms = clock_monotonic_ms(),
		.fd = fd,
	};
	struct err own = {0};
	int result;

	if (fd < 0)
		return err_os(err, errno, "open");
	if (library_open(&sqlite, err) < 0)
		return -1;
	do {
		database_remove_copy(&backup);
		result = try_backup(&backup, &own);
		database_unlock_shared(&backup);
	} while (result == LOOK_AGAIN && database_wait_for_others(&backup, &own) == 0);
	if (result == 0)
		return 0;
	database_remove_copy(&backup);
	if (err)
		*err = own;
	return -1;
}
