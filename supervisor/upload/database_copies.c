#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/library.h"
#include "base/log.h"
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
#include <unistd.h>

// clang-format off
#define SQLITE_FUNCTIONS(F) \
	F(sqlite3_close) F(sqlite3_errstr) F(sqlite3_exec) F(sqlite3_open_v2)
// clang-format on
LIBRARY(sqlite, "libsqlite3.so.0", "libsqlite3-0", SQLITE_FUNCTIONS);

AUTO_POINTER(sqlite3, sqlite3_close);

/* https://sqlite.org/fileformat.html, 1.3 and 4.1: with its NUL, the begin of a database; and the
 * size of the header of a write-ahead log, which is another one each time that it begins anew. */
#define DATABASE_MAGIC "SQLite format 3"

enum {
	LOG_HEADER_SIZE = 32,
	/* No database but an empty one is smaller. */
	DATABASE_SIZE_LEAST = 512,
	COPY_BYTES = 1 << 20,
	PAUSE_MS = 10,
	/* For how long others may keep us from a copy. A deadline is for the checkpoint first: a
	 * database is waited for for a tenth of it, and is read for a quarter. */
	PATIENCE_MOST_MS = 5000,
	PATIENCE_PART = 10,
	WHOLE_PART = 4,
	/* A copy may take longer than that: the first few changes during one start it anew. */
	RENEWED_MOST = 3,
	/* Writers are held up for this long. Python's sqlite3 waits for a lock for 5 s. */
	HELD_MOST_MS = 2000,
	/* Where SQLite's locks are: in the database (https://sqlite.org/src/file/src/os.h,
	 * SHARED_FIRST), and in the index of a log (https://sqlite.org/walformat.html,
	 * WAL_READ_LOCK(4)). */
	LOCK_START = 0x40000002,
	LOCK_LENGTH = 510,
	INDEX_LOCK = 120 + 3 + 4,
	/* A result beside 0 and -1: the files changed meanwhile. */
	LOOK_AGAIN = 1
};

/* One copy on its way. */
struct database_copy {
	int from_directory, to_directory;
	const char *from, *to, *absolute; /* `absolute` is `to`, as SQLite takes it */
	struct cancel *cancel;
	int64_t patient_until_ms, until_ms;
	int fd;            /* the database, for its content and the lock */
	int64_t locked_ms; /* since when writers are held up; 0: they are not */
};

/* By which two looks at a database are compared. */
struct database_look {
	struct stat status;
	off_t log_size;
	bool has_log;
	char log[LOG_HEADER_SIZE];
};

/* --- one copy --- */

static int check_time(const struct database_copy *copy, int64_t until_ms, const char *why,
		      struct err *err)
{
	if (cancel_check(copy->cancel, err) < 0)
		return -1;
	return clock_monotonic_ms() <= until_ms ? 0 : err_set(err, ERR_RETRY, "%s", why);
}

/* A short pause. -1: the time is over, or it was cancelled. */
static int wait_for_others(const struct database_copy *copy, struct err *err)
{
	return check_time(copy, copy->patient_until_ms, "transactions kept it locked or changed it",
			  err) < 0
		       ? -1
		       : cancel_sleep(copy->cancel, PAUSE_MS, err);
}

/* A lock under which SQLite reads. It belongs to the descriptor. False: somebody keeps us from it.
 * Where there are no such locks, the comparison of two looks must do. */
static bool set_lock(int fd, short type, off_t start, off_t length)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = start,
		.l_len = length,
	};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

static void unlock_writers(struct database_copy *copy)
{
	if (copy->locked_ms > 0)
		(void)set_lock(copy->fd, F_UNLCK, LOCK_START, LOCK_LENGTH);
	copy->locked_ms = 0;
}

/* While it is held, nobody writes to the database but a checkpoint of the log. */
static int lock_writers(struct database_copy *copy, struct err *err)
{
	while (!set_lock(copy->fd, F_RDLCK, LOCK_START, LOCK_LENGTH))
		if (wait_for_others(copy, err) < 0)
			return -1;
	copy->locked_ms = clock_monotonic_ms();
	return 0;
}

/* While it is held, the log does not begin anew; writers and checkpoints go on. The caller closes
 * the index, which a log of a single process does not have. */
static int lock_log(const struct database_copy *copy, int *index, struct err *err)
{
	auto_free char *name = text_format("%s-shm", copy->from);

	*index = beneath_open(copy->from_directory, name, O_RDONLY | O_NONBLOCK, 0);
	while (*index >= 0 && !set_lock(*index, F_RDLCK, INDEX_LOCK, 1))
		if (wait_for_others(copy, err) < 0)
			return -1;
	return 0;
}

static int look_at_files(const struct database_copy *copy, struct database_look *look,
			 struct err *err)
{
	auto_free char *log = text_format("%s-wal", copy->from);
	auto_close int fd = beneath_open(copy->from_directory, log, O_RDONLY | O_NONBLOCK, 0);
	struct stat status;

	*look = (struct database_look){0};
	if (beneath_status(copy->from_directory, copy->from, &look->status) < 0)
		return err_os(err, errno, "%s", copy->from);
	look->has_log =
		fd >= 0 && pread(fd, look->log, sizeof(look->log), 0) == (ssize_t)sizeof(look->log);
	if (look->has_log && fstat(fd, &status) == 0)
		look->log_size = status.st_size;
	return 0;
}

/*
 * The files belong together if the log has not begun anew: what a checkpoint has moved into the
 * database meanwhile is in the log as well, which was read later. Without a log, the database is to
 * be as it was.
 */
static bool belong_together(const struct database_copy *copy, const struct database_look *a,
			    const struct database_look *b)
{
	const struct stat *before = &a->status, *after = &b->status;
	struct stat read;

	if (fstat(copy->fd, &read) < 0 || read.st_ino != before->st_ino ||
	    read.st_ino != after->st_ino || a->has_log != b->has_log)
		return false;
	return a->has_log ? memcmp(a->log, b->log, sizeof(a->log)) == 0
			  : before->st_size == after->st_size &&
				    memcmp(&before->st_ctim, &after->st_ctim,
					   sizeof(before->st_ctim)) == 0;
}

/* The copy must not be what fills the job's disk. */
static int check_space(const struct database_copy *copy, const struct database_look *look,
		       struct err *err)
{
	uint64_t needed = (uint64_t)look->status.st_size + (uint64_t)look->log_size;
	struct statvfs space;

	if (fstatvfs(copy->to_directory, &space) < 0)
		return err_os(err, errno, "%s", copy->absolute);
	if (needed > (uint64_t)space.f_bavail * space.f_frsize / 2)
		return err_set(err, ERR_NO_SPACE, "there is too little space for a copy at %s",
			       copy->absolute);
	return 0;
}

static int copy_content(struct database_copy *copy, int in, const char *to, struct err *err)
{
	auto_close int out =
		beneath_open(copy->to_directory, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	auto_free char *room = memory_new(COPY_BYTES);
	off_t at = 0;
	ssize_t got;

	if (out < 0)
		return err_os(err, errno, "%s", copy->absolute);
	while ((got = pread(in, room, COPY_BYTES, at)) > 0) {
		if (file_write_all(out, room, (size_t)got, err) < 0 ||
		    check_time(copy, copy->until_ms,
			       "copying it takes too long for the time that is left", err) < 0)
			return -1;
		at += got;
		if (clock_monotonic_ms() - copy->locked_ms > HELD_MOST_MS)
			unlock_writers(copy);
	}
	return got < 0 ? err_os(err, errno, "read") : 0;
}

/* A log or journal, which may not be there. */
static int copy_side(struct database_copy *copy, const char *suffix, struct err *err)
{
	auto_free char *from = text_format("%s%s", copy->from, suffix);
	auto_free char *to = text_format("%s%s", copy->to, suffix);
	auto_close int in = beneath_open(copy->from_directory, from, O_RDONLY | O_NONBLOCK, 0);

	if (in < 0) {
		beneath_remove(copy->to_directory, to, 0);
		return 0;
	}
	return copy_content(copy, in, to, err);
}

/* -1: /proc is not there. */
static int count_open(const struct stat *file)
{
	auto_(walk_close) struct walk walk = {0};
	struct stat status;
	int count = 0;
	uint64_t fd;

	if (walk_open(&walk, "/proc/self/fd", 0) < 0)
		return -1;
	while (walk_next(&walk))
		count += text_to_u64(walk.name, INT_MAX, &fd) && fstat((int)fd, &status) == 0 &&
			 status.st_dev == file->st_dev && status.st_ino == file->st_ino;
	return count;
}

/* Without /proc, where its path leads must do. */
static bool has_opened(const char *absolute, const struct stat *file, int count_before)
{
	struct stat named;
	int count = count_open(file);

	return count < 0 ? stat(absolute, &named) == 0 && named.st_dev == file->st_dev &&
				   named.st_ino == file->st_ino
			 : count > count_before;
}

/* SQLite rolls back what had begun, and moves what had been committed from the log into the copy.
 * It takes nothing but a path, which may have been made to lead to another file. */
static int recover_copy(const struct database_copy *copy, struct err *err)
{
	auto_(sqlite3_close) sqlite3 *database = NULL;
	struct stat file;
	int before, result;

	if (beneath_status(copy->to_directory, copy->to, &file) < 0)
		return err_os(err, errno, "%s", copy->absolute);
	before = count_open(&file);
	result = sqlite3_open_v2(copy->absolute, &database,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (result == SQLITE_OK && !has_opened(copy->absolute, &file, before))
		return err_set(err, ERR_RETRY, "%s leads to another file", copy->absolute);
	/* Alone with it, SQLite needs no index beside it. */
	if (result == SQLITE_OK)
		result = sqlite3_exec(database,
				      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF;"
				      "PRAGMA schema_version; PRAGMA wal_checkpoint(TRUNCATE)",
				      NULL, NULL, NULL);
	return result == SQLITE_OK ? 0 : err_set(err, ERR_CORRUPT, "%s", sqlite3_errstr(result));
}

static int try_copy(struct database_copy *copy, struct err *err)
{
	struct database_look before, after;
	auto_close int index = -1;

	if (look_at_files(copy, &before, err) < 0)
		return -1;
	if (before.has_log ? lock_log(copy, &index, err) < 0 : lock_writers(copy, err) < 0)
		return -1;
	if (look_at_files(copy, &before, err) < 0 || check_space(copy, &before, err) < 0 ||
	    copy_content(copy, copy->fd, copy->to, err) < 0 || copy_side(copy, "-wal", err) < 0 ||
	    copy_side(copy, "-journal", err) < 0 || look_at_files(copy, &after, err) < 0)
		return -1;
	return belong_together(copy, &before, &after) ? 0 : LOOK_AGAIN;
}

static int copy_database(struct database_copy *copy, struct err *err)
{
	int64_t now_ms = clock_monotonic_ms(), left_ms = cancel_left_ms(copy->cancel);
	int64_t patience_ms = left_ms / PATIENCE_PART < PATIENCE_MOST_MS ? left_ms / PATIENCE_PART
									 : PATIENCE_MOST_MS;
	int result, renewed = 0;

	copy->until_ms = left_ms == CLOCK_NEVER ? CLOCK_NEVER : now_ms + left_ms / WHOLE_PART;
	copy->patient_until_ms = now_ms + patience_ms;
	if (library_open(&sqlite, err) < 0)
		return -1;
	do {
		copy->fd = beneath_open(copy->from_directory, copy->from, O_RDONLY | O_NONBLOCK, 0);
		if (copy->fd < 0)
			return err_os(err, errno, "open");
		result = try_copy(copy, err);
		close(copy->fd);
		copy->locked_ms = 0;
		if (result == LOOK_AGAIN && renewed++ < RENEWED_MOST)
			copy->patient_until_ms = clock_monotonic_ms() + patience_ms;
	} while (result == LOOK_AGAIN && wait_for_others(copy, err) == 0);
	return result == 0 ? recover_copy(copy, err) : -1;
}

/* --- all of them --- */

void database_copies_release(struct database_copies *copies)
{
	database_copies_remove(copies);
	path_set_release(&copies->warned);
}

/* In our folder. */
#define COPIES "databases"

static void remove_folder(struct database_copies *copies)
{
	int folder = workspace_folder(copies->workspace, NULL);

	if (folder >= 0)
		(void)beneath_remove_tree(folder, COPIES, NULL);
}

void database_copies_remove(struct database_copies *copies)
{
	if (copies->count)
		remove_folder(copies);
	for (size_t i = 0; i < copies->count; i++) {
		free(copies->items[i].path);
		free(copies->items[i].copy);
	}
	free(steal(&copies->items));
	copies->count = 0;
}

static bool is_database(int directory, const struct snapshot_file *file)
{
	auto_close int fd = -1;
	char magic[sizeof(DATABASE_MAGIC)];

	if (file->size < DATABASE_SIZE_LEAST)
		return false;
	fd = beneath_open(directory, file->path, O_RDONLY | O_NONBLOCK, 0);
	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, DATABASE_MAGIC, sizeof(magic)) == 0;
}

void database_copies_find(struct database_copies *copies, bool (*skip)(void *arg, const char *path),
			  void *arg, struct cancel *cancel)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_close int directory = held_directory_open(copies->workspace->directory, NULL);

	database_copies_remove(copies);
	if (directory < 0 || file_list_read_at(directory, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count && !cancel_raised(cancel); i++) {
		const char *path = files.items[i].path;

		if ((skip && skip(arg, path)) || !is_database(directory, &files.items[i]))
			continue;
		copies->items =
			memory_grow(copies->items, copies->count + 1, sizeof(*copies->items));
		copies->items[copies->count++] = (struct database){.path = text_copy(path)};
	}
}

static void warn_once(struct database_copies *copies, const char *path, const struct err *err)
{
	if (path_set_marks(&copies->warned, path))
		return;
	path_set_mark(&copies->warned, path, 1);
	log_warn("the database %s in %s is NOT in the snapshot, because no copy of it could be "
		 "made: %s; each snapshot tries again",
		 path, copies->workspace->directory, err->text);
}

static int make_copy(struct database_copies *copies, size_t number, int directory,
		     struct cancel *cancel, struct err *err)
{
	struct database *database = &copies->items[number];
	auto_free char *to = text_format(COPIES "/%zu", number);
	auto_free char *absolute = text_format("%s/%s", copies->workspace->beside, to);
	struct database_copy copy = {
		.from_directory = directory,
		.to_directory = copies->workspace->folder,
		.from = database->path,
		.to = to,
		.absolute = absolute,
		.cancel = cancel,
	};

	if (copy_database(&copy, err) < 0)
		return -1;
	database->copy = steal(&to);
	return 0;
}

/* The empty folder for the copies. */
static int make_folder(struct database_copies *copies, struct err *err)
{
	int folder = workspace_folder(copies->workspace, err);

	if (folder < 0)
		return -1;
	(void)beneath_remove_tree(folder, COPIES, NULL);
	return beneath_make_directories(folder, COPIES, 0700, err);
}

void database_copies_make(struct database_copies *copies, struct cancel *cancel)
{
	auto_close int directory = -1;
	struct err err = {0};
	bool ready;

	if (copies->count == 0)
		return;
	directory = held_directory_open(copies->workspace->directory, &err);
	ready = directory >= 0 && make_folder(copies, &err) == 0;
	for (size_t i = 0; i < copies->count; i++) {
		struct database *database = &copies->items[i];

		database->left_out = !ready || make_copy(copies, i, directory, cancel, &err) < 0;
		if (database->left_out && err.kind != ERR_CANCELLED)
			warn_once(copies, database->path, &err);
	}
}

static const struct database *find_database(const struct database_copies *copies, const char *path)
{
	for (size_t i = 0; i < copies->count; i++)
		if (text_equal(copies->items[i].path, path))
			return &copies->items[i];
	return NULL;
}

bool database_copies_include(const struct database_copies *copies, const char *path)
{
	return find_database(copies, path) != NULL;
}

const char *snapshot_database_copy(void *arg, const char *path)
{
	const struct snapshot_run *run = arg;
	const struct database *database = find_database(&run->owner->databases, path);

	return database ? database->copy : NULL;
}

int snapshot_database_directory(void *arg)
{
	const struct snapshot_run *run = arg;

	return run->owner->databases.workspace->folder;
}

/* Its name and "-wal", "-shm" or "-journal". */
static bool is_side_file(const char *path, const char *database)
{
	const char *suffix = path + strlen(database);

	return text_starts(path, database) &&
	       (text_equal(suffix, "-wal") || text_equal(suffix, "-shm") ||
		text_equal(suffix, "-journal"));
}

bool database_copies_exclude(const struct database_copies *copies, const char *path)
{
	const struct database *database = find_database(copies, path);

	for (size_t i = 0; i < copies->count; i++)
		if (is_side_file(path, copies->items[i].path))
			return true;
	return database && database->left_out;
}
