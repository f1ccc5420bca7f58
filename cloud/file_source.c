/* A file that appears is a notice: for schedulers without a metadata service, for operators, and
 * for tests. */
#include "reply.h"
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <sys/stat.h>

/* Polls rather than use inotify: the path may be on NFS or in a directory that does not exist yet,
 * and one stat() costs nothing. */
enum {
	POLL_MS = 200,
	SETTLED_MS = 1000,
	CONTENT_LIMIT = 64 * 1024
};

struct session {
	struct watcher *watcher;
	const char *path;
	/* we have seen it appear, at the times that follow */
	bool was_absent;
	/* by our clock, and by that of the file system */
	int64_t appeared_wall_ms, first_change_ms;
	bool is_there;
	struct notice announced; /* kind NONE: nothing was reported */
};

/* By our own clock if we saw it appear: the clock of a file server may be minutes off. */
static int64_t time_of_appearance(struct session *session, const struct stat *status)
{
	int64_t changed =
		(int64_t)status->st_ctim.tv_sec * 1000 + status->st_ctim.tv_nsec / 1000000;

	if (!session->is_there && session->was_absent) {
		session->appeared_wall_ms = clock_wall_ms();
		session->first_change_ms = changed;
	}
	return session->was_absent ? session->appeared_wall_ms + changed - session->first_change_ms
				   : changed;
}

static void handle_file(struct session *session, const struct stat *status)
{
	auto_(bytes_release) struct bytes text = {.limit = CONTENT_LIMIT};
	int64_t appeared_ms = time_of_appearance(session, status);
	struct verdict verdict;
	struct err err = {0};

	if (file_read(session->path, &text, &err) < 0 && err.kind == ERR_NOT_FOUND)
		return;
	/* An unreadable file exists all the same, so it is a notice. */
	const struct file_content content = {
		.path = session->path,
		.text = (const char *)text.data,
		.size = text.size,
		.appeared_wall_ms = appeared_ms,
		.seen_ms = clock_monotonic_ms(),
		.seen_wall_ms = clock_wall_ms(),
		.settled = clock_wall_ms() - appeared_ms > SETTLED_MS,
	};

	session->is_there = true;
	/* It may have been created a moment ago, without content yet: look again at the next
	 * poll. */
	if (text.size == 0 && content.seen_wall_ms - appeared_ms < POLL_MS / 2)
		return;
	file_reply(&content, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return;
	}
	watcher_known(session->watcher);
	watcher_set_note(session->watcher, verdict.why);
	/* A stale file does not withdraw its own notice. */
	if (verdict.kind == VERDICT_NEGATIVE && verdict.notice.kind == NOTICE_CANCELLED)
		announced_withdraw(session->watcher, &session->announced, "the file says so");
	if (verdict.kind == VERDICT_POSITIVE) {
		session->announced = verdict.notice;
		watcher_notice(session->watcher, &verdict.notice);
	}
}

static void handle_path(struct session *session, const struct stat *status)
{
	struct err err;

	if (S_ISREG(status->st_mode)) {
		handle_file(session, status);
		return;
	}
	/* Reading a pipe would block. */
	err_set(&err, ERR_INVALID, "%.100s is not a regular file", session->path);
	watcher_unknown(session->watcher, err.text);
}

static void poll_file(struct session *session)
{
	struct stat status;
	struct err err;

	if (stat(session->path, &status) == 0) {
		handle_path(session, &status);
	} else if (errno == ENOENT || errno == ENOTDIR) {
		session->was_absent = true;
		watcher_known(session->watcher);
		watcher_set_note(session->watcher, "");
		session->is_there = false;
		announced_withdraw(session->watcher, &session->announced, "the file was removed");
	} else {
		err_os(&err, errno, "cannot stat %.100s", session->path);
		watcher_unknown(session->watcher, err.text);
	}
}

static void run_file_source(struct watcher *watcher)
{
	struct session session = {.watcher = watcher, .path = watcher->argument};

	watcher_set_endpoint(watcher, session.path);
	do
		poll_file(&session);
	while (watcher_sleep(watcher, POLL_MS));
}

static int check_argument(const char *argument, struct err *err)
{
	if (!argument[0])
		return err_set(err, ERR_INVALID, "\"file\" needs a path: write file:/run/preempt");
	return 0;
}

const struct provider provider_file = {
	.name = "file",
	.run = run_file_source,
	.check = check_argument,
};
