#include "database_parts.h"

#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
	PATIENCE_MOST_MS = 5000,
	/* A deadline is for the checkpoint first: a database may have a quarter of it, and be
	 * waited for for a tenth. */
	PATIENCE_PART = 10,
	WHOLE_PART = 4,
	COPY_BYTES = 1 << 20,
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
bool database_header_has_wal(const uint8_t *header)
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

/* --- the lock --- */

/*
 * The lock under which SQLite reads. It belongs to the descriptor: SQLite's own locks are the
 * process's, and are lost when any thread closes any descriptor of the same file. While it is held,
 * nobody writes to the database but a checkpoint of the log, and no last connection removes the
 * log. False: somebody is writing. Where there are no such locks, SQLite's own must do.
 */
bool database_lock_shared(const struct database_copy *backup)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_START,
		.l_len = LOCK_LENGTH,
	};

	return fcntl(backup->fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void database_unlock_shared(const struct database_copy *backup)
{
	struct flock lock = {
		.l_type = F_UNLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_START,
		.l_len = LOCK_LENGTH,
	};

	(void)fcntl(backup->fd, F_OFD_SETLK, &lock);
}

int database_wait_for_lock(const struct database_copy *backup, struct err *err)
{
	while (!database_lock_shared(backup))
		if (database_wait_for_others(backup, err) < 0)
			return -1;
	return 0;
}

/* --- what is there --- */

int database_look_at_files(const struct database_copy *backup, struct database_files *files,
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

enum database_way database_way_of(const struct database_files *files)
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
int database_check_space(const struct database_copy *backup, const struct database_files *files,
			 struct err *err)
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

int database_make_copy(const struct database_copy *backup, struct err *err)
{
	int fd = beneath_open(backup->to.directory, backup->to.path, O_WRONLY | O_CREAT | O_EXCL,
			      0600);

	if (fd < 0)
		return err_os(err, errno, "%s", backup->to.absolute);
	/* While SQLite has it open, closing another descriptor of it would drop SQLite's locks. */
	close(fd);
	return 0;
}

void database_remove_copy(const struct database_copy *backup)
{
	beneath_remove(backup->to.directory, backup->to.path, 0);
	for (size_t i = 0; i < SIDE_COUNT; i++) {
		auto_free char *side = text_format("%s%s", backup->to.path, side_suffixes[i]);

		beneath_remove(backup->to.directory, side, 0);
	}
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
int database_copy_at_rest(const struct database_copy *backup, struct err *err)
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
