/* A file that appears is a notice: for schedulers without a metadata service, for operators, and
 * for tests. */
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Polls rather than use inotify: the path may be on NFS or in a directory that does not exist yet,
 * and one stat() costs nothing. */
enum {
	POLL_MS = 200,
	SETTLED_MS = 1000,
	CONTENT_LIMIT = 64 * 1024,
	FILE_NOTICE_MS = 30 * 1000, /* for a file without a time */
};

/* --- what it says --- */

/* The end of a long path is more telling than its beginning. */
static const char *identity_of_path(const char *path)
{
	size_t most = sizeof(((struct notice *)NULL)->identity) - 1, length = strlen(path);

	return length > most ? path + length - most : path;
}

static void set_reason(char *reason, size_t capacity, const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && length < capacity - 1 && (unsigned char)text[length] >= ' ') {
		reason[length] = text[length];
		length++;
	}
	while (length && reason[length - 1] == ' ')
		length--;
	reason[length] = '\0';
}

/* True if the whole text is a time: then it is the deadline. */
static bool text_is_time(const struct file_content *content, int64_t *when)
{
	char text[64] = "";

	if (content->size >= sizeof(text))
		return false;
	set_reason(text, sizeof(text), content->text, content->size);
	return datetime_parse(text, when);
}

static int64_t read_deadline(const struct file_content *content, json_t *object, bool *guessed)
{
	json_t *seconds = json_object_get(object, "in_seconds");
	int64_t when;

	*guessed = false;
	if (!object && text_is_time(content, &when))
		return when;
	if (datetime_parse(json_text_or(object, "deadline", ""), &when))
		return when;
	if (json_is_number(seconds) && json_number_value(seconds) >= 0 &&
	    json_number_value(seconds) < 1e9)
		return content->appeared_wall_ms + (int64_t)(json_number_value(seconds) * 1000);
	*guessed = true;
	return content->appeared_wall_ms + FILE_NOTICE_MS;
}

/* An unknown kind means something, and a stop is the safe interpretation. */
static void add_unknown_kind(char *reason, size_t capacity, const char *kind)
{
	auto_free char *before = text_copy(reason);

	snprintf(reason, capacity, "%.80s (its kind \"%.24s\" is not known: taken for a stop)",
		 before, kind);
}

/* --- what is not understood --- */

static bool is_known_member(json_t *object, const char *name)
{
	static const char *const names[] = {"kind", "reason", "deadline", "in_seconds",
					    /* of a notice that we print ourselves, as does
					     * `reprieve watch --json` */
					    "event", "time", "source", "identity", "guessed",
					    "approvable", NULL};

	return text_is_one_of(name, names) ||
	       (text_equal(name, "seconds_left") && json_object_get(object, "deadline"));
}

static void add_remark(char *why, size_t capacity, const char *name, const char *what)
{
	size_t length = strlen(why);
	char quoted[40];

	text_elide(quoted, sizeof(quoted), name);
	snprintf(why + length, capacity - length, "%s\"%s\" %s", length == 0 ? "but " : ", ",
		 quoted, what);
}

/* Says which members have no effect: the notice counts all the same. */
static void add_remarks(json_t *object, char *why, size_t capacity)
{
	json_t *seconds = json_object_get(object, "in_seconds"), *value;
	json_t *deadline = json_object_get(object, "deadline");
	const char *name;
	int64_t when;

	json_object_foreach(object, name, value) if (!is_known_member(object, name))
		add_remark(why, capacity, name, "is not known");
	if (why[0])
		snprintf(why + strlen(why), capacity - strlen(why), " (known are %s)",
			 "kind, reason, deadline, in_seconds");
	if (seconds && !(json_is_number(seconds) && json_number_value(seconds) >= 0))
		add_remark(why, capacity, "in_seconds", "is no number of seconds");
	if (deadline && !json_is_null(deadline) &&
	    !datetime_parse(json_text_or(object, "deadline", ""), &when))
		add_remark(why, capacity, "deadline", "is no time (write 2026-04-11T22:05:00Z)");
	text_to_line(why);
}

/* --- the verdict --- */

static void judge_content(const struct file_content *content, json_t *object, bool unreadable,
			  struct verdict *verdict)
{
	char reason[sizeof(verdict->notices[0].reason)] = "";
	const char *identity = identity_of_path(content->path), *kind;
	int64_t left, when;
	bool guessed;

	if (object)
		text_set(reason, sizeof(reason), json_text_or(object, "reason", ""));
	else if (!unreadable && !text_is_time(content, &when))
		set_reason(reason, sizeof(reason), content->text, content->size);
	if (!reason[0])
		snprintf(reason, sizeof(reason), "%.90s is there%s", identity,
			 unreadable ? ", but its JSON cannot be read" : "");
	kind = json_text_or(object, "kind", "stop");
	if (text_equal(kind, "none") || text_equal(kind, "cancelled")) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		verdict->notices[0].kind = NOTICE_CANCELLED;
		return;
	}
	if (text_equal(kind, "advice")) {
		verdict_notice(verdict, NOTICE_ADVICE, "file", identity, CLOCK_NEVER,
			       content->seen_ms, "%s", reason);
		return;
	}
	if (!text_equal(kind, "stop"))
		add_unknown_kind(reason, sizeof(reason), kind);
	left = read_deadline(content, object, &guessed) - content->seen_wall_ms;
	if (left < -STALE_MS) {
		verdict_set(verdict, VERDICT_NEGATIVE,
			    "the file is left over: its deadline is long over");
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "file", identity,
		       content->seen_ms + (left < 0 ? 0 : left), content->seen_ms, "%s", reason)
		->guessed = guessed;
}

void file_reply(const struct file_content *content, struct verdict *verdict)
{
	struct reply reply = {.body = content->text, .size = content->size};
	bool is_json = reply_first_char(&reply) == '{';
	auto_json json_t *object = is_json ? json_parse(content->text, content->size, NULL) : NULL;

	*verdict = (struct verdict){0};
	if (is_json && !object && !content->settled) {
		verdict_set(verdict, VERDICT_UNKNOWN, "the file's text is broken JSON");
		return;
	}
	judge_content(content, object, is_json && !object, verdict);
	if (object && !verdict->why[0])
		add_remarks(object, verdict->why, sizeof(verdict->why));
}

/* --- the source --- */

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
		watcher_report(session->watcher, SOURCE_UNKNOWN, verdict.why);
		return;
	}
	watcher_report(session->watcher, SOURCE_ARMED, "");
	watcher_set_note(session->watcher, verdict.why);
	/* A stale file does not withdraw its own notice. */
	if (verdict.kind == VERDICT_NEGATIVE && verdict.notices[0].kind == NOTICE_CANCELLED)
		announced_withdraw(session->watcher, &session->announced, "the file says so");
	if (verdict.kind == VERDICT_POSITIVE) {
		session->announced = verdict.notices[0];
		watcher_notice(session->watcher, &verdict.notices[0]);
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
	watcher_report(session->watcher, SOURCE_UNKNOWN, err.text);
}

static void poll_file(struct session *session)
{
	struct stat status;
	struct err err;

	if (stat(session->path, &status) == 0) {
		handle_path(session, &status);
	} else if (errno == ENOENT || errno == ENOTDIR) {
		session->was_absent = true;
		watcher_report(session->watcher, SOURCE_ARMED, "");
		watcher_set_note(session->watcher, "");
		session->is_there = false;
		announced_withdraw(session->watcher, &session->announced, "the file was removed");
	} else {
		err_os(&err, errno, "cannot stat %.100s", session->path);
		watcher_report(session->watcher, SOURCE_UNKNOWN, err.text);
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
