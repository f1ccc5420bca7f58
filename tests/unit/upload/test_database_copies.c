/* Which files are databases, what stands for them, and what is left out. */
#include "upload/snapshot_run.h"

#include "database_fixture.h"

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
	struct workspace workspace;
	auto_free char *copy = NULL, *folder = NULL;
	struct database_copies copies = {.workspace = &workspace};

	(void)state;
	fixture_start(&f, "truncated.db");
	make_database(&f, "deep/er/study.db");
	make_database(&f, "step-1/state.db");
	make_database(&f, "truncated.db");
	assert_int_equal(truncate(f.path, 4096), 0);
	write_file(&f, "metrics.csv", "SQLite format 3");
	write_file(&f, "metrics.csv-wal", "no side file");
	write_file(&f, "empty.db", "");
	workspace_init(&workspace, f.directory);
	/* Left by a process that was killed. */
	folder = workspace_path_beside(&workspace, "databases", NULL);
	assert_int_equal(file_make_directories(folder, 0700, NULL), 0);
	database_copies_find(&copies, is_skipped, NULL, NULL);
	assert_true(database_copies_include(&copies, "deep/er/study.db"));
	assert_true(database_copies_exclude(&copies, "deep/er/study.db-wal"));
	assert_null(database_copies_source(&copies, "deep/er/study.db"));
	assert_false(database_copies_exclude(&copies, "truncated.db"));

	database_copies_make(&copies, NULL);
	copy = workspace_path_beside(&workspace,
				     database_copies_source(&copies, "deep/er/study.db"), NULL);
	assert_query(copy, "SELECT n FROM t", "7");
	assert_false(database_copies_exclude(&copies, "deep/er/study.db"));
	assert_true(database_copies_exclude(&copies, "deep/er/study.db-wal"));
	assert_true(database_copies_exclude(&copies, "deep/er/study.db-journal"));
	/* Damaged: it is left out, with its side files. */
	assert_null(database_copies_source(&copies, "truncated.db"));
	assert_true(database_copies_exclude(&copies, "truncated.db"));
	assert_true(database_copies_exclude(&copies, "truncated.db-wal"));
	/* Skipped, or no database. */
	assert_false(database_copies_include(&copies, "step-1/state.db"));
	assert_null(database_copies_source(&copies, "step-1/state.db"));
	assert_false(database_copies_exclude(&copies, "step-1/state.db"));
	assert_false(database_copies_exclude(&copies, "step-1/state.db-wal"));
	assert_null(database_copies_source(&copies, "metrics.csv"));
	assert_false(database_copies_exclude(&copies, "metrics.csv-wal"));

	database_copies_remove(&copies);
	assert_false(file_exists(folder));
	assert_null(database_copies_source(&copies, "deep/er/study.db"));
	assert_false(database_copies_exclude(&copies, "truncated.db"));
	database_copies_release(&copies);
	workspace_release(&workspace);
	fixture_stop(&f);
}

static void test_none(void **state)
{
	struct fixture f;
	struct workspace workspace;
	struct database_copies copies = {.workspace = &workspace};

	(void)state;
	fixture_start(&f, "none");
	write_file(&f, "w", "weights");
	workspace_init(&workspace, f.directory);
	database_copies_find(&copies, NULL, NULL, NULL);
	database_copies_make(&copies, NULL);
	assert_null(database_copies_source(&copies, "w"));
	assert_false(database_copies_exclude(&copies, "w"));
	database_copies_release(&copies);
	workspace_release(&workspace);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
