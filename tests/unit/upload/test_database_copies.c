/* Which files are databases, what stands for them, and what is left out. A copy is a state that the
 * database had, whatever a job does to it meanwhile, and the job's directory stays as it was. */
#include "upload/snapshot_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"

#include "effort.h"
#include "unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREPARE "CREATE TABLE rows (n INTEGER, text TEXT); CREATE TABLE mirror (n INTEGER);"

struct fixture {
	char root[64]; /* removed at the end */
	char directory[80];
	char *path; /* of the database, in the directory */
	struct workspace workspace;
	struct snapshot_queue queue; /* whose copies they are */
	struct snapshot_run run;
};

static void fixture_start(struct fixture *f, const char *name)
{
	*f = (struct fixture){.root = "/tmp/reprieve-test-XXXXXX"};
	assert_non_null(mkdtemp(f->root));
	snprintf(f->directory, sizeof(f->directory), "%s/job", f->root);
	assert_int_equal(file_make_directories(f->directory, 0755, NULL), 0);
	f->path = text_format("%s/%s", f->directory, name);
	workspace_init(&f->workspace, f->directory);
	f->queue.databases.workspace = &f->workspace;
	f->run.owner = &f->queue;
}

static void fixture_stop(struct fixture *f)
{
	database_copies_release(&f->queue.databases);
	workspace_release(&f->workspace);
	assert_int_equal(file_remove_tree(f->root, NULL), 0);
	free(f->path);
}

/* --- what is around a copy --- */

int64_t __real_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void);
int __real_file_write_all(int fd, const void *data, size_t size, struct err *err);
int __wrap_file_write_all(int fd, const void *data, size_t size, struct err *err);
int __real_fstatvfs64(int fd, struct statvfs *space);
int __wrap_fstatvfs64(int fd, struct statvfs *space);
int __real_walk_open(struct walk *walk, const char *root, unsigned flags);
int __wrap_walk_open(struct walk *walk, const char *root, unsigned flags);

static int64_t later_ms;
static const char *changed; /* this file, once, by somebody else while it is copied for 6 s */
static uint64_t free_bytes; /* 0: as it is */
static bool without_proc;

int64_t __wrap_clock_monotonic_ms(void)
{
	return __real_clock_monotonic_ms() + later_ms;
}

int __wrap_file_write_all(int fd, const void *data, size_t size, struct err *err)
{
	if (changed) {
		assert_int_equal(chmod(changed, 0640), 0);
		changed = NULL;
		later_ms += 6000;
	}
	return __real_file_write_all(fd, data, size, err);
}

int __wrap_fstatvfs64(int fd, struct statvfs *space)
{
	int result = __real_fstatvfs64(fd, space);

	if (free_bytes > 0) {
		space->f_frsize = 1;
		space->f_bavail = free_bytes;
	}
	return result;
}

int __wrap_walk_open(struct walk *walk, const char *root, unsigned flags)
{
	return without_proc && text_starts(root, "/proc") ? -1
							  : __real_walk_open(walk, root, flags);
}

/* Exits at a failure, because a child may not return into the tests. */
static void run_sql(sqlite3 *database, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(database, sql, NULL, NULL, &message) == SQLITE_OK)
		return;
	fprintf(stderr, "%s: %s\n", sql, message);
	_exit(1);
}

static sqlite3 *open_database(const char *path)
{
	sqlite3 *database;

	if (sqlite3_open(path, &database) != SQLITE_OK)
		_exit(1);
	sqlite3_busy_timeout(database, 60000);
	return database;
}

/* A process that opens the database and works on it; returns when it has said so. */
static pid_t start_process(const char *path, void (*work)(sqlite3 *database, int ready))
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(open_database(path), ready[1]);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void say_ready(int ready)
{
	if (write(ready, "", 1) != 1)
		_exit(1);
}

/* Fails if it has ended by itself, with an error. */
static void kill_process(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

/* The first column of the first row, as text. The caller frees. */
static char *query(const char *path, const char *sql)
{
	sqlite3 *database = NULL;
	sqlite3_stmt *statement = NULL;
	char *answer;

	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("%s: %s: %s", path, sql, sqlite3_errmsg(database));
	answer = text_copy((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(database);
	return answer;
}

static void assert_query(const char *path, const char *sql, const char *expected)
{
	auto_free char *answer = query(path, sql);

	assert_string_equal(answer, expected);
}

/* Names, and the content of what is no index, of the job's directory. The caller frees. */
static char *look_at_directory(struct fixture *f)
{
	auto_free char *command = text_format("cd '%s' && ls -A && find . -type f ! -name '*-shm' "
					      "-exec sha256sum {} +",
					      f->directory);
	FILE *stream = popen(command, "r");
	char text[4096];
	size_t size;

	assert_non_null(stream);
	size = fread(text, 1, sizeof(text) - 1, stream);
	text[size] = '\0';
	pclose(stream);
	return text_copy(text);
}

static void assert_directory(struct fixture *f, const char *before)
{
	auto_free char *now = look_at_directory(f);

	assert_string_equal(now, before);
}

/* False: no copy could be made within the time. */
static bool backup_within(struct fixture *f, int64_t left_ms)
{
	struct cancel cancel = CANCEL_AT(clock_monotonic_ms() + left_ms);

	database_copies_find(&f->queue.databases, NULL, NULL, NULL);
	database_copies_make(&f->queue.databases, &cancel);
	return snapshot_database_copy(&f->run, strrchr(f->path, '/') + 1);
}

static bool backup(struct fixture *f)
{
	return backup_within(f, 600000);
}

/* The copy is whole: each transaction added a row to both tables. */
static long check_copy(struct fixture *f)
{
	auto_free char *copy = workspace_path_beside(&f->workspace, "databases/0", NULL);
	auto_free char *rows = NULL;

	assert_query(copy, "PRAGMA integrity_check", "ok");
	rows = query(copy, "SELECT count(*) FROM rows");
	assert_query(copy, "SELECT count(*) FROM mirror", rows);
	assert_query(copy, "SELECT max(n) FROM rows", rows);
	return strtol(rows, NULL, 10);
}

static void prepare(struct fixture *f, const char *mode)
{
	auto_free char *sql =
		text_format("PRAGMA journal_mode=%s; " PREPARE "INSERT INTO rows VALUES (1, ''); "
			    "INSERT INTO mirror VALUES (1);",
			    mode);
	sqlite3 *database = open_database(f->path);

	run_sql(database, sql);
	sqlite3_close(database);
}

/* --- while it is written --- */

static void write_rows(sqlite3 *database, int ready)
{
	for (long n = 2;; n++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "BEGIN IMMEDIATE; INSERT INTO rows VALUES (%ld, hex(zeroblob(%ld)));"
			 "INSERT INTO mirror VALUES (%ld); COMMIT",
			 n, n % 7 * 1000, n);
		run_sql(database, sql);
		if (n == 2)
			say_ready(ready);
	}
}

static void test_while_it_is_written(void **state)
{
	static const char *const modes[] = {"DELETE", "TRUNCATE", "PERSIST", "WAL"};
	unsigned rounds = effort_count("backups of each kind", 10, 3);

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct fixture f;
		auto_free char *left = NULL;
		long before = 0;
		pid_t writer;

		fixture_start(&f, "study.db");
		prepare(&f, modes[i]);
		writer = start_process(f.path, write_rows);
		for (unsigned round = 0; round < rounds; round++) {
			long rows;

			assert_true(backup(&f));
			rows = check_copy(&f);
			assert_true(rows >= 2 && rows >= before);
			before = rows;
		}
		/* What a killed job leaves: a log, or a journal of a transaction that is not
		 * over. */
		kill_process(writer);
		left = look_at_directory(&f);
		assert_true(backup(&f));
		assert_true(check_copy(&f) >= before);
		assert_directory(&f, left);
		fixture_stop(&f);
	}
}

/* A transaction so large that it is in the database before it is committed. */
static void begin_large(sqlite3 *database, int ready)
{
	run_sql(database, "PRAGMA cache_size=1; BEGIN; UPDATE rows SET text='changed';"
			  "WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c LIMIT "
			  "3000) INSERT INTO rows SELECT n, hex(zeroblob(500)) FROM c;");
	say_ready(ready);
	pause();
}

static void test_a_killed_transaction_is_rolled_back_in_the_copy_alone(void **state)
{
	struct fixture f;
	auto_free char *left = NULL;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	kill_process(start_process(f.path, begin_large));
	left = look_at_directory(&f);
	assert_non_null(strstr(left, "study.db-journal"));
	assert_true(backup(&f));
	assert_int_equal(check_copy(&f), 1);
	assert_directory(&f, left);
	fixture_stop(&f);
}

/* --- the files of WAL mode --- */

static void write_some(sqlite3 *database, int ready)
{
	run_sql(database, "INSERT INTO rows VALUES (2, ''); INSERT INTO mirror VALUES (2)");
	say_ready(ready);
	pause();
}

static void test_a_log_without_an_index(void **state)
{
	struct fixture f;
	auto_free char *index = NULL, *left = NULL;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "WAL");
	kill_process(start_process(f.path, write_some));
	index = text_format("%s-shm", f.path);
	assert_int_equal(unlink(index), 0);
	left = look_at_directory(&f);
	assert_true(backup(&f));
	assert_int_equal(check_copy(&f), 2);
	assert_directory(&f, left);
	fixture_stop(&f);
}

static void test_its_log_needs_space_too(void **state)
{
	struct fixture f;
	struct stat status;
	bool copied;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "WAL");
	kill_process(start_process(f.path, write_some));
	assert_int_equal(stat(f.path, &status), 0);
	free_bytes = 2 * (uint64_t)status.st_size;
	copied = backup(&f);
	free_bytes = 0;
	assert_false(copied);
	assert_true(backup(&f));
	fixture_stop(&f);
}

static void test_closed_in_wal_mode(void **state)
{
	struct fixture f;
	auto_free char *left = NULL;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "WAL");
	left = look_at_directory(&f);
	assert_null(strstr(left, "-wal"));
	assert_true(backup(&f));
	assert_int_equal(check_copy(&f), 1);
	assert_directory(&f, left);
	fixture_stop(&f);
}

/* Writers wait for the copy, and are not starved. */
static void check_large(const char *mode, void (*work)(sqlite3 *database, int ready))
{
	struct fixture f;
	sqlite3 *database;
	pid_t writer;

	fixture_start(&f, "study.db");
	prepare(&f, mode);
	database = open_database(f.path);
	run_sql(database, "CREATE TABLE large (data BLOB); INSERT INTO large VALUES "
			  "(zeroblob(60000000))");
	sqlite3_close(database);
	writer = start_process(f.path, work);
	assert_true(backup(&f));
	assert_true(check_copy(&f) >= 2);
	kill_process(writer);
	fixture_stop(&f);
}

static void test_large_and_changed_all_the_time(void **state)
{
	(void)state;
	check_large("DELETE", write_rows);
}

static void write_to_short_logs(sqlite3 *database, int ready)
{
	run_sql(database, "PRAGMA wal_autocheckpoint=10; PRAGMA synchronous=OFF");
	write_rows(database, ready);
}

static void test_large_and_its_log_begins_anew_all_the_time(void **state)
{
	(void)state;
	check_large("WAL", write_to_short_logs);
}

/* --- failures --- */

static void hold_locked(sqlite3 *database, int ready)
{
	run_sql(database, "BEGIN EXCLUSIVE");
	say_ready(ready);
	pause();
}

static void test_locked_all_the_time(void **state)
{
	struct fixture f;
	pid_t holder;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	holder = start_process(f.path, hold_locked);
	assert_false(backup_within(&f, 500));
	assert_true(database_copies_exclude(&f.queue.databases, "study.db"));
	kill_process(holder);
	assert_true(backup(&f));
	fixture_stop(&f);
}

static void test_changed_once_during_a_long_copy(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	changed = f.path;
	assert_true(backup(&f));
	assert_null(changed);
	fixture_stop(&f);
}

static void test_without_proc(void **state)
{
	struct fixture f;
	bool copied;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	without_proc = true;
	copied = backup(&f);
	without_proc = false;
	assert_true(copied);
	fixture_stop(&f);
}

/* --- which files --- */

static bool is_skipped(void *arg, const char *path)
{
	(void)arg;
	return text_starts(path, "step-1/");
}

static void make_database(struct fixture *f, const char *name)
{
	auto_free char *path = text_format("%s/%s", f->directory, name);
	auto_free char *parent = text_copy(path);
	sqlite3 *database;

	*strrchr(parent, '/') = '\0';
	assert_int_equal(file_make_directories(parent, 0755, NULL), 0);
	database = open_database(path);
	run_sql(database, "CREATE TABLE t (n); INSERT INTO t VALUES (7)");
	sqlite3_close(database);
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
	auto_free char *path = text_format("%s/%s", f->directory, name);

	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

static void test_copies(void **state)
{
	struct fixture f;
	auto_free char *copy = NULL, *folder = NULL;

	(void)state;
	fixture_start(&f, "truncated.db");
	make_database(&f, "deep/er/study.db");
	make_database(&f, "step-1/state.db");
	make_database(&f, "truncated.db");
	assert_int_equal(truncate(f.path, 4096), 0);
	make_database(&f, "replaced.db");
	write_file(&f, "metrics.csv", "SQLite format 3");
	write_file(&f, "metrics.csv-wal", "no side file");
	write_file(&f, "empty.db", "");
	/* Left by a process that was killed. */
	folder = workspace_path_beside(&f.workspace, "databases", NULL);
	assert_int_equal(file_make_directories(folder, 0700, NULL), 0);
	database_copies_find(&f.queue.databases, is_skipped, NULL, NULL);
	assert_true(database_copies_include(&f.queue.databases, "deep/er/study.db"));
	assert_true(database_copies_exclude(&f.queue.databases, "deep/er/study.db-wal"));
	assert_null(snapshot_database_copy(&f.run, "deep/er/study.db"));
	assert_false(database_copies_exclude(&f.queue.databases, "truncated.db"));

	write_file(&f, "replaced.db", "rows of text, and more");
	database_copies_make(&f.queue.databases, NULL);
	assert_true(database_copies_exclude(&f.queue.databases, "replaced.db"));
	copy = workspace_path_beside(&f.workspace,
				     snapshot_database_copy(&f.run, "deep/er/study.db"), NULL);
	assert_query(copy, "SELECT n FROM t", "7");
	assert_false(database_copies_exclude(&f.queue.databases, "deep/er/study.db"));
	assert_true(database_copies_exclude(&f.queue.databases, "deep/er/study.db-wal"));
	assert_true(database_copies_exclude(&f.queue.databases, "deep/er/study.db-journal"));
	/* Damaged: it is left out, with its side files. */
	assert_null(snapshot_database_copy(&f.run, "truncated.db"));
	assert_true(database_copies_exclude(&f.queue.databases, "truncated.db"));
	assert_true(database_copies_exclude(&f.queue.databases, "truncated.db-wal"));
	/* Skipped, or no database. */
	assert_false(database_copies_include(&f.queue.databases, "step-1/state.db"));
	assert_null(snapshot_database_copy(&f.run, "step-1/state.db"));
	assert_false(database_copies_exclude(&f.queue.databases, "step-1/state.db"));
	assert_false(database_copies_exclude(&f.queue.databases, "step-1/state.db-wal"));
	assert_null(snapshot_database_copy(&f.run, "metrics.csv"));
	assert_false(database_copies_exclude(&f.queue.databases, "metrics.csv-wal"));

	database_copies_remove(&f.queue.databases);
	assert_false(file_exists(folder));
	assert_null(snapshot_database_copy(&f.run, "deep/er/study.db"));
	assert_false(database_copies_exclude(&f.queue.databases, "truncated.db"));
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_while_it_is_written),
		cmocka_unit_test(test_a_killed_transaction_is_rolled_back_in_the_copy_alone),
		cmocka_unit_test(test_a_log_without_an_index),
		cmocka_unit_test(test_its_log_needs_space_too),
		cmocka_unit_test(test_closed_in_wal_mode),
		cmocka_unit_test(test_large_and_changed_all_the_time),
		cmocka_unit_test(test_large_and_its_log_begins_anew_all_the_time),
		cmocka_unit_test(test_locked_all_the_time),
		cmocka_unit_test(test_changed_once_during_a_long_copy),
		cmocka_unit_test(test_without_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
