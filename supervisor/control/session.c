#include "session.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "process/process.h"
#include "session_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define START_LOCK_MOST_MS 10000
#define START_LOCK_POLL_MS 20
#define NAME_MOST 24 /* the longest file name in a session; a socket address limits the path */

static int write_name(const char *path, const char *file, const char *text, struct err *err)
{
	auto_free char *name = text_format("%s/%s", path, file);
	auto_close int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_os(err, errno, "%s", name);
	if (file_write_all(fd, text, strlen(text), err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

/* Returns the descriptor of the lock, which is held; -1 on error. */
static int fill_new_session(const char *path, const char *job, unsigned member, struct err *err)
{
	auto_free char *digits = text_format("%u", member);
	auto_close int lock = session_open_lock(path, O_RDWR | O_CREAT | O_EXCL);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_os(err, errno, "%s", path);
	if (write_name(path, SESSION_JOB, job, err) < 0 ||
	    write_name(path, SESSION_MEMBER, digits, err) < 0)
		return -1;
	return steal_fd(&lock);
}

static int open_session_in(const char *above, const char *job, unsigned member,
			   struct session *session, struct err *err)
{
	char nonce[33];

	if (session_parent_make(above, err) < 0)
		return -1;
	random_hex(nonce);
	auto_free char *path = text_format("%s/%d-%.8s", above, (int)getpid(), nonce);
	/* It gets its real name once it is locked: before that, another supervisor would take it
	 * for dead and remove it. */
	auto_free char *hidden = text_format("%s/.%.8s", above, nonce);
	if (strlen(path) + 1 + NAME_MOST >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return err_set(err, ERR_DENIED, "%s is too long for a socket address", path);
	if (mkdir(hidden, 0700) < 0)
		return err_os(err, errno, "cannot make directory %s", hidden);
	auto_close int lock = fill_new_session(hidden, job, member, err);
	if (lock >= 0 && rename(hidden, path) < 0) {
		err_os(err, errno, "%s", path);
		close(steal_fd(&lock));
	}
	if (lock < 0) {
		file_remove_tree(hidden, NULL);
		return -1;
	}
	session->directory = steal(&path);
	session->lock_fd = steal_fd(&lock);
	return 0;
}

int session_open(const char *job, unsigned member, struct session *session, struct err *err)
{
	struct err reason;

	*session = (struct session){.lock_fd = -1};
	for (int i = 0; i < SESSION_PARENTS; i++) {
		auto_free char *above = session_parent(i);

		if (above && open_session_in(above, job, member, session, &reason) == 0)
			return 0;
	}
	return err_set(err, ERR_DENIED, "no place for a runtime directory: %s", reason.text);
}

void session_close(struct session *session)
{
	if (!session->directory)
		return;
	file_remove_tree(session->directory, NULL);
	close(session->lock_fd);
	free(session->directory);
	*session = (struct session){.lock_fd = -1};
}

int session_lock_start(const char *job, struct cancel *cancel)
{
	int64_t until_ms = clock_monotonic_ms() + START_LOCK_MOST_MS;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	auto_close int fd = -1;

	for (int i = 0; i < SESSION_PARENTS && fd < 0; i++) {
		auto_free char *above = session_parent(i);
		auto_free char *path = above ? text_format("%s/.starts", above) : NULL;

		if (above && session_parent_check(above, NULL) == 0)
			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	/* Each job locks one byte. Two jobs may share a byte; then one start waits for the other.
	 */
	for (const char *c = job; *c; c++)
		lock.l_start = (lock.l_start * 31 + (unsigned char)*c) & 0x7fffffff;
	while (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) < 0)
		if ((errno != EAGAIN && errno != EACCES) || clock_monotonic_ms() >= until_ms ||
		    cancel_sleep(cancel, START_LOCK_POLL_MS, NULL) < 0)
			close(steal_fd(&fd));
	return steal_fd(&fd);
}

char *session_path(const struct session *session, const char *name)
{
	return session->directory ? text_format("%s/%s", session->directory, name) : NULL;
}

void session_note_job(const struct session *session, pid_t pid)
{
	auto_free char *text = text_format("%d %" PRIu64 " %" PRIu64 "\n", (int)pid,
					   process_start_time(pid), session_pid_namespace());
	auto_free char *path = session_path(session, SESSION_PROCESS);

	if (path)
		(void)file_replace(path, text, strlen(text), NULL);
}

void session_note_store(const struct session *session, const char *store)
{
	auto_free char *path = session_path(session, SESSION_STORE);

	if (path)
		(void)file_replace(path, store, strlen(store), NULL);
}

void session_note_place(const struct session *session, const char *directory, const char *boot)
{
	auto_free char *path = session_path(session, SESSION_PLACE);
	auto_free char *text = text_format("%s %s", boot, directory);

	if (path && *boot)
		(void)file_replace(path, text, strlen(text), NULL);
}
