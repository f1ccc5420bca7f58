/* What the tests of databases share: a directory for the job, one for the copies, and a process
 * that writes as a job would. */
#ifndef DATABASE_FIXTURE_H
#define DATABASE_FIXTURE_H

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	char root[64]; /* removed at the end */
	char directory[80], copies[80];
	char *path;   /* of the database, in the directory */
	char *target; /* of its copy */
};

static inline void fixture_start(struct fixture *f, const char *name)
{
	*f = (struct fixture){.root = "/tmp/reprieve-test-XXXXXX"};
	assert_non_null(mkdtemp(f->root));
	snprintf(f->directory, sizeof(f->directory), "%s/job", f->root);
	snprintf(f->copies, sizeof(f->copies), "%s/copies", f->root);
	assert_int_equal(file_make_directories(f->directory, 0755, NULL), 0);
	assert_int_equal(file_make_directories(f->copies, 0755, NULL), 0);
	f->path = text_format("%s/%s", f->directory, name);
	f->target = text_format("%s/copy", f->copies);
}

static inline void fixture_stop(struct fixture *f)
{
	assert_int_equal(file_remove_tree(f->root, NULL), 0);
	free(f->path);
	free(f->target);
}

/* Exits at a failure, because a child may not return into the tests. */
static inline void run_sql(sqlite3 *database, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(database, sql, NULL, NULL, &message) == SQLITE_OK)
		return;
	fprintf(stderr, "%s: %s\n", sql, message);
	_exit(1);
}

static inline sqlite3 *open_database(const char *path)
{
	sqlite3 *database;

	if (sqlite3_open(path, &database) != SQLITE_OK)
		_exit(1);
	sqlite3_busy_timeout(database, 60000);
	return database;
}

/* A process that opens the database and works on it; returns when it has said so. */
static inline pid_t start_process(const char *path, void (*work)(sqlite3 *database, int ready))
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

static inline void say_ready(int ready)
{
	if (write(ready, "", 1) != 1)
		_exit(1);
}

/* Fails if it has ended by itself, with an error. */
static inline void kill_process(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

/* The first column of the first row, as text. The caller frees. */
static inline char *query(const char *path, const char *sql)
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

static inline void assert_query(const char *path, const char *sql, const char *expected)
{
	auto_free char *answer = query(path, sql);

	assert_string_equal(answer, expected);
}

/* Names, and the content of what is no index, of the job's directory. The caller frees. */
static inline char *look_at_directory(struct fixture *f)
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

static inline void assert_directory(struct fixture *f, const char *before)
{
	auto_free char *now = look_at_directory(f);

	assert_string_equal(now, before);
}

#endif
