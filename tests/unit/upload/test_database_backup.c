/* A copy of a database is a state that it had, whatever a job does to it meanwhile, and the job's
 * directory stays as it was. */
#include "upload/snapshot_run.h"

#include "base/clock.h"
#include "database_fixture.h"

#include "effort.h"
#include "err_kind.h"

#include <fcntl.h>

#define PREPARE "CREATE TABLE rows (n INTEGER, text TEXT); CREATE TABLE mirror (n INTEGER);"

static const struct database_time patient = {60000, CLOCK_NEVER};
static struct err err;

static int backup_within(struct fixture *f, struct database_time time, struct cancel *cancel)
{
	auto_close int directory = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int copies = open(f->copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct database_place from = {directory, strrchr(f->path, '/') + 1, f->path};
	const struct database_place to = {copies, "copy", f->target};

	err = (struct err){0};
	return database_backup(&from, &to, time, cancel, &err);
}

static int backup(struct fixture *f)
{
	return backup_within(f, patient, NULL);
}

static void assert_backup(struct fixture *f)
{
	if (backup(f) < 0)
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
}

/* Nothing but the copy is there, and it is whole: each transaction added a row to both tables. */
static long check_copy(struct fixture *f)
{
	auto_free char *rows = NULL;
	auto_free char *names = text_format("test \"$(ls -A '%s')\" = copy", f->copies);

	assert_int_equal(system(names), 0);
	assert_query(f->target, "PRAGMA integrity_check", "ok");
	rows = query(f->target, "SELECT count(*) FROM rows");
	assert_query(f->target, "SELECT count(*) FROM mirror", rows);
	assert_query(f->target, "SELECT max(n) FROM rows", rows);
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

			assert_backup(&f);
			rows = check_copy(&f);
			assert_true(rows >= 2 && rows >= before);
			before = rows;
		}
		/* What a killed job leaves: a log, or a journal of a transaction that is not
		 * over. */
		kill_process(writer);
		left = look_at_directory(&f);
		assert_backup(&f);
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
	assert_backup(&f);
	assert_int_equal(check_copy(&f), 1);
	assert_query(f.target, "SELECT text FROM rows", "");
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
	assert_backup(&f);
	assert_int_equal(check_copy(&f), 2);
	assert_directory(&f, left);
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
	assert_backup(&f);
	assert_int_equal(check_copy(&f), 1);
	assert_directory(&f, left);
	/* A job that continues with the copy is in WAL mode as before. */
	assert_query(f.target, "PRAGMA journal_mode", "wal");
	fixture_stop(&f);
}

static void test_more_than_one_step(void **state)
{
	static const char *const modes[] = {"DELETE", "WAL"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		sqlite3 *database;

		fixture_start(&f, "a study?#%20.db");
		prepare(&f, modes[i]);
		database = open_database(f.path);
		run_sql(database, "INSERT INTO rows VALUES (2, zeroblob(40000000));"
				  "INSERT INTO mirror VALUES (2)");
		assert_backup(&f);
		assert_int_equal(check_copy(&f), 2);
		sqlite3_close(database);
		fixture_stop(&f);
	}
}

/* A change between any two steps begins the copy anew: in the end, the writer is held up. */
static void test_large_and_changed_all_the_time(void **state)
{
	struct fixture f;
	sqlite3 *database;
	pid_t writer;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	database = open_database(f.path);
	run_sql(database, "CREATE TABLE large (data BLOB); INSERT INTO large VALUES "
			  "(zeroblob(60000000))");
	sqlite3_close(database);
	writer = start_process(f.path, write_rows);
	assert_backup(&f);
	assert_true(check_copy(&f) >= 2);
	kill_process(writer);
	fixture_stop(&f);
}

/* --- failures --- */

static void hold_locked(sqlite3 *database, int ready)
{
	run_sql(database, "BEGIN EXCLUSIVE");
	say_ready(ready);
	pause();
}

static void hold_locked_in_wal_mode(sqlite3 *database, int ready)
{
	run_sql(database, "PRAGMA locking_mode=EXCLUSIVE; INSERT INTO rows VALUES (2, '')");
	say_ready(ready);
	pause();
}

static void assert_no_copy(struct fixture *f, enum err_kind expected)
{
	assert_int_equal(err.kind, expected);
	assert_true(file_directory_is_empty(f->copies));
}

static void test_locked_all_the_time(void **state)
{
	static const struct {
		const char *mode;
		void (*hold)(sqlite3 *database, int ready);
	} ways[] = {{"DELETE", hold_locked}, {"WAL", hold_locked_in_wal_mode}};
	static const struct database_time impatient = {50, CLOCK_NEVER}, short_time = {60000, 50};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		pid_t holder;

		fixture_start(&f, "study.db");
		prepare(&f, ways[i].mode);
		holder = start_process(f.path, ways[i].hold);
		assert_int_equal(backup_within(&f, impatient, NULL), -1);
		assert_no_copy(&f, ERR_RETRY);
		assert_int_equal(backup_within(&f, short_time, NULL), -1);
		assert_no_copy(&f, ERR_RETRY);
		kill_process(holder);
		assert_backup(&f);
		fixture_stop(&f);
	}
}

static void test_cancelled(void **state)
{
	struct fixture f;
	auto_(cancel_release) struct cancel cancel = {0};
	pid_t holder;

	(void)state;
	fixture_start(&f, "study.db");
	prepare(&f, "DELETE");
	holder = start_process(f.path, hold_locked);
	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_raise(&cancel);
	assert_int_equal(backup_within(&f, patient, &cancel), -1);
	assert_no_copy(&f, ERR_CANCELLED);
	kill_process(holder);
	fixture_stop(&f);
}

static void test_damaged(void **state)
{
	struct fixture f;
	static const char garbage[4096] = "SQLite format 3\0garbage";

	(void)state;
	fixture_start(&f, "study.db");
	assert_int_equal(backup(&f), -1);
	assert_no_copy(&f, ERR_NOT_FOUND);
	prepare(&f, "DELETE");
	assert_int_equal(truncate(f.path, 4096), 0);
	assert_int_equal(backup(&f), -1);
	assert_no_copy(&f, ERR_CORRUPT);
	assert_int_equal(file_write(f.path, garbage, sizeof(garbage), &err), 0);
	assert_int_equal(backup(&f), -1);
	assert_no_copy(&f, ERR_CORRUPT);
	assert_int_equal(file_write(f.path, "rows of text, and more", 22, &err), 0);
	assert_int_equal(backup(&f), -1);
	assert_no_copy(&f, ERR_CORRUPT);
	fixture_stop(&f);
}

/* --- decisions --- */

static void test_headers(void **state)
{
	static const uint8_t database[DATABASE_HEADER_SIZE] = "SQLite format 3";
	static const uint8_t other[DATABASE_HEADER_SIZE] = "SQLite format 2";

	(void)state;
	assert_true(database_header_matches(database, sizeof(database)));
	assert_false(database_header_matches(database, sizeof(database) - 1));
	assert_false(database_header_matches(other, sizeof(other)));
}

static void test_side_files(void **state)
{
	static const struct {
		const char *path, *database;
		bool is_side_file;
	} rows[] = {
		{"a.db-wal", "a.db", true},         {"a.db-shm", "a.db", true},
		{"d/a.db-journal", "d/a.db", true}, {"a.db", "a.db", false},
		{"a.db-wal2", "a.db", false},       {"b.db-wal", "a.db", false},
		{"d/a.db-wal", "a.db", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(database_is_side_file(rows[i].path, rows[i].database),
				 rows[i].is_side_file);
}

static void test_ways(void **state)
{
	static const struct {
		uint8_t version;
		bool wal, shm;
		enum database_way way;
	} rows[] = {
		{1, false, false, DATABASE_ONLINE},  {1, true, true, DATABASE_ONLINE},
		{1, true, false, DATABASE_AT_REST},  {2, true, true, DATABASE_ONLINE},
		{2, true, false, DATABASE_AT_REST},  {2, false, true, DATABASE_AT_REST},
		{2, false, false, DATABASE_AT_REST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t header[DATABASE_HEADER_SIZE] =
			{[18] = rows[i].version, [19] = rows[i].version};

		assert_int_equal(database_way_choose(header, rows[i].wal, rows[i].shm),
				 rows[i].way);
	}
}

static void test_time(void **state)
{
	static const struct {
		int64_t left, patience, whole;
	} rows[] = {
		{CLOCK_NEVER, 5000, CLOCK_NEVER},
		{600000, 5000, 150000},
		{20000, 2000, 5000},
		{0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct database_time time = database_time_from(rows[i].left);

		assert_int_equal(time.patience_ms, rows[i].patience);
		assert_int_equal(time.whole_ms, rows[i].whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_it_is_written),
		cmocka_unit_test(test_a_killed_transaction_is_rolled_back_in_the_copy_alone),
		cmocka_unit_test(test_a_log_without_an_index),
		cmocka_unit_test(test_closed_in_wal_mode),
		cmocka_unit_test(test_more_than_one_step),
		cmocka_unit_test(test_large_and_changed_all_the_time),
		cmocka_unit_test(test_locked_all_the_time),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_side_files),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
