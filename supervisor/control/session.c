#include "control.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define START_LOCK_MOST_MS 10000
#define START_LOCK_POLL_MS 20
#define NAME_MOST 24  /* the longest file name in a session; a socket address limits the path */
#define ABOUT "about" /* a line each: job, member, its main process, store, boot, directory */
#define ABOUT_MOST (64 * 1024)
#define PARENTS 4

/* --- where they lie --- */

/* The directories that may hold sessions, best first; NULL: there is no such place here. */
static char *session_parent(int index)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (index == 0)
		return runtime && runtime[0] == '/' ? text_format("%s/reprieve", runtime) : NULL;
	/* Where nobody else can take the name before us. Last, because it may be on a network. */
	if (index == 3) {
		const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

		if (cache && cache[0] == '/')
			return text_format("%s/reprieve", cache);
		return home && home[0] == '/' ? text_format("%s/.cache/reprieve", home) : NULL;
	}
	return text_format("%s/reprieve-%u", index == 1 ? "/tmp" : "/dev/shm", (unsigned)getuid());
}

/* Everybody may write to /tmp: another user may have created something there under our name. */
static int check_parent(const char *path, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return err_os(err, errno, "%s", path);
	if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 077) != 0)
		return err_set(err, ERR_DENIED,
			       "%s is not a private directory of this user (mode 0700)", path);
	return 0;
}

static int make_parent(const char *path, struct err *err)
{
	auto_free char *above = text_copy_n(path, (size_t)(strrchr(path, '/') - path));

	if (text_ends(above, "/.cache"))
		(void)mkdir(above, 0700);
	if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
		return err_os(err, errno, "cannot make directory %s", path);
	return check_parent(path, err);
}

/* The lock of a session, which its supervisor holds for as long as it lives. -1 with errno. */
static int open_lock(const char *directory, int flags)
{
	auto_free char *path = text_format("%s/lock", directory);

	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* --- one's own --- */

static int write_about(const char *session, char *const *lines, struct err *err)
{
	auto_free char *path = text_format("%s/" ABOUT, session);
	auto_(bytes_release) struct bytes text = {0};

	for (int i = 0; i < SESSION_LINES; i++)
		bytes_format(&text, NULL, "%s%s", i > 0 ? "\n" : "", lines[i] ? lines[i] : "");
	return file_replace(path, text.data, text.size, err);
}

void session_note(struct session *session, enum session_line line, char *text)
{
	free(session->lines[line]);
	session->lines[line] = text;
	if (session->directory)
		(void)write_about(session->directory, session->lines, NULL);
}

/* Returns the descriptor of the lock, which is held; -1 on error. */
static int fill_new_session(const char *path, char *const *lines, struct err *err)
{
	auto_close int lock = open_lock(path, O_RDWR | O_CREAT | O_EXCL);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_os(err, errno, "%s", path);
	if (write_about(path, lines, err) < 0)
		return -1;
	return steal_fd(&lock);
}

static int open_session_in(const char *above, struct session *session, struct err *err)
{
	char nonce[33];

	if (make_parent(above, err) < 0)
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
	auto_close int lock = fill_new_session(hidden, session->lines, err);
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

int session_open(const char *job, unsigned member, const char *store, struct session *session,
		 struct err *err)
{
	struct err reason;

	*session = (struct session){.lock_fd = -1};
	session->lines[SESSION_JOB] = text_copy(job);
	session->lines[SESSION_MEMBER] = text_format("%u", member);
	session->lines[SESSION_STORE] = text_copy(store ? store : "");
	for (int i = 0; i < PARENTS; i++) {
		auto_free char *above = session_parent(i);

		if (above && open_session_in(above, session, &reason) == 0)
			return 0;
	}
	return err_set(err, ERR_DENIED, "no place for a runtime directory: %s", reason.text);
}

void session_close(struct session *session)
{
	if (session->directory) {
		file_remove_tree(session->directory, NULL);
		close(session->lock_fd);
	}
	free(session->directory);
	for (int i = 0; i < SESSION_LINES; i++)
		free(session->lines[i]);
	*session = (struct session){.lock_fd = -1};
}

int session_lock_start(const char *job, struct cancel *cancel)
{
	int64_t until_ms = clock_monotonic_ms() + START_LOCK_MOST_MS;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	auto_close int fd = -1;

	for (int i = 0; i < PARENTS && fd < 0; i++) {
		auto_free char *above = session_parent(i);
		auto_free char *path = above ? text_format("%s/.starts", above) : NULL;

		if (above && check_parent(above, NULL) == 0)
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

/* --- those of others --- */

static bool is_session_name(const char *name, pid_t *pid)
{
	const char *dash = strchr(name, '-');
	uint64_t number;

	if (!dash)
		return false;
	auto_free char *digits = text_copy_n(name, (size_t)(dash - name));
	if (!text_to_u64(digits, INT32_MAX, &number))
		return false;
	*pid = (pid_t)number;
	return true;
}

/* What is not known is "". */
static void read_about(struct session_info *info)
{
	auto_free char *path = text_format("%s/" ABOUT, info->directory);
	auto_(bytes_release) struct bytes text = {.limit = ABOUT_MOST};
	const char **const lines[] = {&info->job, &info->member, &info->process, &info->store,
				      &info->boot};
	char *rest;

	(void)file_read(path, &text, NULL);
	rest = info->text = text_copy_n(text.data ? (char *)text.data : "", text.size);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		*lines[i] = rest ? strsep(&rest, "\n") : "";
	info->place = rest ? rest : "";
	info->job_runs = process_identity_runs(info->process, &info->job_pid);
}

/* Tries a shared lock, so that two clients do not take each other for a supervisor. */
bool session_is_alive(const char *directory)
{
	auto_close int lock = open_lock(directory, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

void session_list_release(struct session_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].directory);
		free(list->items[i].text);
	}
	free(list->items);
	*list = (struct session_list){0};
}

/* Every session of this user, alive or not. */
static struct session_list read_all(void)
{
	struct session_list list = {0};
	pid_t pid;

	for (int i = 0; i < PARENTS; i++) {
		auto_free char *above = session_parent(i);
		auto_(walk_close) struct walk walk = {0};

		if (above && check_parent(above, NULL) == 0)
			(void)walk_open(&walk, above, 0);
		while (walk_next(&walk)) {
			if (!is_session_name(walk.name, &pid))
				continue;
			list.items = memory_grow(list.items, list.count + 1, sizeof(list.items[0]));
			list.items[list.count] =
				(struct session_info){.pid = pid,
						      .directory = text_format("%s/%s", above,
									       walk.name)};
			read_about(&list.items[list.count++]);
		}
	}
	return list;
}

void session_find(struct session_list *list, bool orphans, const char *job)
{
	size_t kept = 0;

	*list = read_all();
	for (size_t i = 0; i < list->count; i++) {
		struct session_info info = list->items[i];

		/* The lock is tried last: it is the dear question. */
		if (*info.job && (!orphans || info.job_runs) &&
		    (!job || text_equal(info.job, job)) &&
		    session_is_alive(info.directory) != orphans) {
			list->items[kept++] = info;
			continue;
		}
		free(info.directory);
		free(info.text);
	}
	list->count = kept;
}

/* Dead, with nothing left of its job. Shared: others may look at the same time, and none of them
 * removes it meanwhile. Returns the descriptor; -1: it is not. */
static int hold_dead(const struct session_info *info)
{
	auto_close int lock = open_lock(info->directory, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) == 0 && !info->job_runs
		       ? steal_fd(&lock)
		       : -1;
}

void session_each_dead(const char *directory, void (*each)(void *arg, const char *directory),
		       void *arg)
{
	auto_(session_list_release) struct session_list all = read_all();

	for (size_t i = 0; i < all.count; i++) {
		bool of_place = *directory && text_equal(all.items[i].place, directory);
		auto_close int lock = of_place ? hold_dead(&all.items[i]) : -1;

		if (lock >= 0)
			each(arg, all.items[i].directory);
	}
}

static void remove_dead(const char *path)
{
	auto_close int lock = open_lock(path, O_RDWR);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
		file_remove_tree(path, NULL);
}

static int compare_ages(const void *first, const void *second)
{
	const struct session_info *one = first, *other = second;

	return (one->age_s > other->age_s) - (one->age_s < other->age_s);
}

void session_remove_dead(const struct session *session, const char *directory, const char *boot)
{
	auto_(session_list_release) struct session_list all = read_all();
	size_t above = session->directory
			       ? (size_t)(strrchr(session->directory, '/') - session->directory) + 1
			       : 0;
	struct stat status;

	for (size_t i = 0; i < all.count; i++) {
		struct session_info *info = &all.items[i];
		auto_close int lock = hold_dead(info);

		info->age_s = -1; /* it stays */
		if (above == 0 || strncmp(info->directory, session->directory, above) != 0)
			continue;
		if (lock < 0)
			/* It is empty if an earlier removal was interrupted. */
			(void)rmdir(info->directory);
		else if (!*info->place || text_equal(info->place, directory) ||
			 !text_equal(info->boot, boot))
			info->age_s = INT64_MAX;
		else {
			auto_free char *found = text_format("%s/found", info->directory);

			/* The first start that finds it makes it young: its run may have been long.
			 */
			(void)mkdir(found, 0700);
			if (lstat(info->directory, &status) == 0)
				info->age_s = (int64_t)(time(NULL) - status.st_mtime);
		}
	}
	if (all.count > 1)
		qsort(all.items, all.count, sizeof(all.items[0]), compare_ages);
	for (size_t i = 0, stay = 0; i < all.count; i++) {
		if (all.items[i].age_s < 0)
			continue;
		if (stay >= LEFT_SESSIONS_MOST || all.items[i].age_s == INT64_MAX)
			remove_dead(all.items[i].directory);
		else
			stay++;
	}
}
