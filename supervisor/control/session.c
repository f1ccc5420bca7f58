#include "control.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define LEFT_AGE_MOST_S (7 * 24 * 3600)

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

/* PIDs are not comparable between two. */
static uint64_t pid_namespace(void)
{
	uint64_t device, inode;

	return proc_pid_namespace(&device, &inode) ? inode : 0;
}

/* --- one's own --- */

static int write_about(const char *session, const char *job, unsigned member, const char *process,
		       const char *store, const char *place, struct err *err)
{
	auto_free char *path = text_format("%s/" ABOUT, session);
	auto_free char *text =
		text_format("%s\n%u\n%s\n%s\n%s", job, member, process ? process : "",
			    store ? store : "", place ? place : "");

	return file_replace(path, text, strlen(text), err);
}

static void note(const struct session *session)
{
	if (session->directory)
		(void)write_about(session->directory, session->job, session->member,
				  session->process, session->store, session->place, NULL);
}

/* Returns the descriptor of the lock, which is held; -1 on error. */
static int fill_new_session(const char *path, const char *job, unsigned member, struct err *err)
{
	auto_close int lock = open_lock(path, O_RDWR | O_CREAT | O_EXCL);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_os(err, errno, "%s", path);
	if (write_about(path, job, member, NULL, NULL, NULL, err) < 0)
		return -1;
	return steal_fd(&lock);
}

static int open_session_in(const char *above, const char *job, unsigned member,
			   struct session *session, struct err *err)
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
	auto_close int lock = fill_new_session(hidden, job, member, err);
	if (lock >= 0 && rename(hidden, path) < 0) {
		err_os(err, errno, "%s", path);
		close(steal_fd(&lock));
	}
	if (lock < 0) {
		file_remove_tree(hidden, NULL);
		return -1;
	}
	*session = (struct session){.directory = steal(&path),
				    .lock_fd = steal_fd(&lock),
				    .job = text_copy(job),
				    .member = member};
	return 0;
}

int session_open(const char *job, unsigned member, struct session *session, struct err *err)
{
	struct err reason;

	*session = (struct session){.lock_fd = -1};
	for (int i = 0; i < PARENTS; i++) {
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
	free(session->job);
	free(session->process);
	free(session->store);
	free(session->place);
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

void session_note_job(struct session *session, pid_t pid)
{
	free(session->process);
	session->process = text_format("%d %" PRIu64 " %" PRIu64, (int)pid, process_start_time(pid),
				       pid_namespace());
	note(session);
}

void session_note_store(struct session *session, const char *store)
{
	free(session->store);
	session->store = text_copy(store);
	note(session);
}

void session_note_place(struct session *session, const char *directory, const char *boot)
{
	free(session->place);
	session->place = *boot ? text_format("%s\n%s", boot, directory) : NULL;
	note(session);
}

/* --- those of others --- */

/* What is not known is "". */
struct found_session {
	const char *path;
	pid_t pid; /* of its supervisor */
	char *text;
	const char *job, *member, *store, *boot, *directory;
	pid_t running; /* its job, if it runs and can be seen from here; else 0 */
};

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

static void read_about(struct found_session *found)
{
	auto_free char *path = text_format("%s/" ABOUT, found->path);
	auto_(bytes_release) struct bytes text = {.limit = ABOUT_MOST};
	struct process_sample sample;
	uint64_t start_time, namespace;
	const char *process;
	char *rest;
	int pid;

	(void)file_read(path, &text, NULL);
	rest = found->text = text_copy_n(text.data ? (char *)text.data : "", text.size);
	const char **const lines[] = {&found->job, &found->member, &process, &found->store,
				      &found->boot};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		*lines[i] = rest ? strsep(&rest, "\n") : "";
	found->directory = rest ? rest : "";
	if (sscanf(process, "%d %" SCNu64 " %" SCNu64, &pid, &start_time, &namespace) == 3 &&
	    pid > 0 && namespace == pid_namespace() && process_read_sample(pid, &sample) &&
	    sample.start_time == start_time)
		found->running = pid;
}

/* Tries a shared lock, so that two clients do not take each other for a supervisor. */
bool session_is_alive(const char *directory)
{
	auto_close int lock = open_lock(directory, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Every session of this user, alive or not, until `each` returns false. */
static void each_session(bool (*each)(void *arg, const struct found_session *found), void *arg)
{
	bool goes_on = true;

	for (int i = 0; i < PARENTS && goes_on; i++) {
		auto_free char *above = session_parent(i);
		auto_(walk_close) struct walk walk = {0};

		if (above && check_parent(above, NULL) == 0)
			(void)walk_open(&walk, above, 0);
		while (goes_on && walk_next(&walk)) {
			auto_free char *path = text_format("%s/%s", above, walk.name);
			struct found_session found = {.path = path};

			if (!is_session_name(walk.name, &found.pid))
				continue;
			read_about(&found);
			goes_on = each(arg, &found);
			free(found.text);
		}
	}
}

struct search {
	bool (*each)(void *arg, const struct session_info *info);
	void *arg;
	bool orphans;
};

static bool report_session(void *arg, const struct found_session *found)
{
	const struct search *search = arg;
	struct session_info info = {search->orphans ? found->running : found->pid, found->job,
				    found->path, *found->store ? found->store : NULL};

	if (session_is_alive(found->path) == search->orphans || !*found->job || info.pid == 0)
		return true;
	return search->each(search->arg, &info);
}

void session_each(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	each_session(report_session, &(struct search){each, arg, false});
}

void session_each_orphan(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	each_session(report_session, &(struct search){each, arg, true});
}

/* Dead, with nothing left of its job. Shared: others may look at the same time, and none of them
 * removes it meanwhile. Returns the descriptor; -1: it is not. */
static int hold_dead(const struct found_session *found)
{
	auto_close int lock = open_lock(found->path, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) == 0 && !found->running
		       ? steal_fd(&lock)
		       : -1;
}

struct dead_search {
	const char *directory, *boot;
	void (*each)(void *arg, const char *directory);
	void *arg;
	char *above; /* of these alone */
	struct dead_session {
		char *path;
		int64_t age_s; /* since a start found it; INT64_MAX: nobody will read it */
	} * items;
	size_t count;
};

static bool report_dead(void *arg, const struct found_session *found)
{
	const struct dead_search *search = arg;
	auto_close int lock = hold_dead(found);

	if (lock >= 0 && *found->directory && text_equal(found->directory, search->directory))
		search->each(search->arg, found->path);
	return true;
}

void session_each_dead(const char *directory, void (*each)(void *arg, const char *directory),
		       void *arg)
{
	each_session(report_dead,
		     &(struct dead_search){.directory = directory, .each = each, .arg = arg});
}

/* Whose it was is of no use any more: the first who finds it dead takes that out. From then on its
 * age counts, by the time of the directory, which nothing changes after that. */
static int64_t age_of_dead(const struct found_session *found)
{
	auto_free char *place = text_format("%s\n%s", found->boot, found->directory);
	struct stat status;

	if (*found->job)
		(void)write_about(found->path, "", 0, NULL, NULL, place, NULL);
	return lstat(found->path, &status) == 0 ? (int64_t)(time(NULL) - status.st_mtime)
						: INT64_MAX;
}

static bool add_dead(void *arg, const struct found_session *found)
{
	struct dead_search *search = arg;
	auto_close int lock = hold_dead(found);
	bool stays = *found->directory && !text_equal(found->directory, search->directory) &&
		     text_equal(found->boot, search->boot);

	if (strncmp(found->path, search->above, strlen(search->above)) != 0)
		return true;
	if (lock < 0) {
		/* It is empty if an earlier removal was interrupted. */
		(void)rmdir(found->path);
		return true;
	}
	search->items = memory_grow(search->items, search->count + 1, sizeof(search->items[0]));
	search->items[search->count++] =
		(struct dead_session){text_copy(found->path),
				      stays ? age_of_dead(found) : INT64_MAX};
	return true;
}

static int compare_ages(const void *first, const void *second)
{
	const struct dead_session *one = first, *other = second;

	return (one->age_s > other->age_s) - (one->age_s < other->age_s);
}

static void remove_dead(const char *path)
{
	auto_close int lock = open_lock(path, O_RDWR);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
		file_remove_tree(path, NULL);
}

void session_remove_dead(const struct session *session, const char *directory, const char *boot)
{
	struct dead_search search = {.directory = directory, .boot = boot};

	if (!session->directory)
		return;
	search.above = text_copy(session->directory);
	strrchr(search.above, '/')[1] = '\0';
	each_session(add_dead, &search);
	if (search.count > 1)
		qsort(search.items, search.count, sizeof(search.items[0]), compare_ages);
	for (size_t i = 0; i < search.count; i++) {
		if (i >= LEFT_SESSIONS_MOST || search.items[i].age_s > LEFT_AGE_MOST_S)
			remove_dead(search.items[i].path);
		free(search.items[i].path);
	}
	free(search.items);
	free(search.above);
}

struct member_search {
	const char *job;
	char member[16];
	bool dead, alive;
};

static bool look_at_member(void *arg, const struct found_session *found)
{
	struct member_search *search = arg;

	if (!text_equal(found->job, search->job) || !text_equal(found->member, search->member))
		return true;
	search->alive = session_is_alive(found->path);
	search->dead |= !search->alive;
	return !search->alive;
}

bool session_member_is_gone(const char *job, unsigned member)
{
	struct member_search search = {.job = job};

	snprintf(search.member, sizeof(search.member), "%u", member);
	each_session(look_at_member, &search);
	return search.dead && !search.alive;
}
