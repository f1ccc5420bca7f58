#include "session.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "left_session.h"
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

#define PARENT_DIRECTORIES 4
#define PLACE "place" /* "BOOT DIRECTORY" */
#define NAME_MOST 24  /* the longest file name in a session; a socket address limits the path */

/* Where sessions may be, best first; NULL: this place does not exist here. The caller frees. */
static char *parent_directory(int index)
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
static int check_private_directory(const char *path, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return err_os(err, errno, "%s", path);
	if (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || (status.st_mode & 077) != 0)
		return err_set(err, ERR_DENIED,
			       "%s is not a private directory of this user (mode 0700)", path);
	return 0;
}

static int make_private_directory(const char *path, struct err *err)
{
	auto_free char *above = text_copy_n(path, (size_t)(strrchr(path, '/') - path));

	if (text_ends(above, "/.cache"))
		(void)mkdir(above, 0700);
	if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
		return err_os(err, errno, "cannot make directory %s", path);
	return check_private_directory(path, err);
}

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

static int open_lock(const char *directory, int flags)
{
	auto_free char *path = text_format("%s/lock", directory);

	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool read_name(const char *path, const char *file, struct bytes *text)
{
	auto_free char *name = text_format("%s/%s", path, file);

	text->limit = 4096 + 4096;
	return file_read(name, text, NULL) == 0 && bytes_append(text, "", 1, NULL) == 0;
}

/* Inode of our PID namespace: PIDs are not comparable between two. 0: unknown. */
static uint64_t pid_namespace(void)
{
	uint64_t device, inode;

	return proc_pid_namespace(&device, &inode) ? inode : 0;
}

/* 0: none was started, it has ended, or it cannot be seen from here. */
static pid_t running_job(const char *directory)
{
	auto_(bytes_release) struct bytes text = {0};
	struct process_sample sample;
	uint64_t start_time, namespace;
	int pid;

	if (!read_name(directory, "process", &text) ||
	    sscanf((char *)text.data, "%d %" SCNu64 " %" SCNu64, &pid, &start_time, &namespace) < 3)
		return 0;
	return pid > 0 && namespace == pid_namespace() && process_read_sample(pid, &sample) &&
			       sample.start_time == start_time
		       ? pid
		       : 0;
}

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
	auto_close int lock = open_lock(path, O_RDWR | O_CREAT | O_EXCL);

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_os(err, errno, "%s", path);
	if (write_name(path, "job", job, err) < 0 || write_name(path, "member", digits, err) < 0)
		return -1;
	return steal_fd(&lock);
}

static int open_session_in(const char *above, const char *job, unsigned member,
			   struct session *session, struct err *err)
{
	char nonce[33];

	if (make_private_directory(above, err) < 0)
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
	for (int i = 0; i < PARENT_DIRECTORIES; i++) {
		auto_free char *above = parent_directory(i);

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

char *session_path(const struct session *session, const char *name)
{
	return session->directory ? text_format("%s/%s", session->directory, name) : NULL;
}

void session_note_job(const struct session *session, pid_t pid)
{
	auto_free char *text = text_format("%d %" PRIu64 " %" PRIu64 "\n", (int)pid,
					   process_start_time(pid), pid_namespace());
	auto_free char *path = session_path(session, "process");

	if (path)
		(void)file_replace(path, text, strlen(text), NULL);
}

void session_note_store(const struct session *session, const char *store)
{
	auto_free char *path = session_path(session, "store");

	if (path)
		(void)file_replace(path, store, strlen(store), NULL);
}

void session_note_place(const struct session *session, const char *directory, const char *boot)
{
	auto_free char *path = session_path(session, PLACE);
	auto_free char *text = text_format("%s %s", boot, directory);

	if (path && *boot)
		(void)file_replace(path, text, strlen(text), NULL);
}

char *session_shared_directory(void)
{
	for (int i = 0; i < PARENT_DIRECTORIES; i++) {
		auto_free char *above = parent_directory(i);

		if (above && make_private_directory(above, NULL) == 0 && access(above, W_OK) == 0)
			return steal(&above);
	}
	return NULL;
}

/* Tries a shared lock, so that two clients do not take each other for a supervisor. */
bool session_is_alive(const char *directory)
{
	auto_close int lock = open_lock(directory, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Every session of this user, alive or not, until `each` returns false. */
static void each_directory(bool (*each)(void *arg, const char *path, pid_t pid), void *arg)
{
	for (int i = 0; i < PARENT_DIRECTORIES; i++) {
		auto_free char *above = parent_directory(i);
		auto_(walk_close) struct walk walk = {0};
		pid_t pid;

		if (above && check_private_directory(above, NULL) == 0)
			(void)walk_open(&walk, above, 0);
		while (walk_next(&walk)) {
			auto_free char *path = text_format("%s/%s", above, walk.name);

			if (is_session_name(walk.name, &pid) && !each(arg, path, pid))
				return;
		}
	}
}

struct live_sessions {
	bool (*each)(void *arg, const struct session_info *info);
	void *arg;
};

static bool report_session(void *arg, const char *path, pid_t pid)
{
	const struct live_sessions *live = arg;
	auto_(bytes_release) struct bytes job = {0};

	if (!session_is_alive(path) || !read_name(path, "job", &job))
		return true;
	return live->each(live->arg, &(struct session_info){.pid = pid,
							    .job = (char *)job.data,
							    .directory = path});
}

void session_each(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	struct live_sessions live = {each, arg};

	each_directory(report_session, &live);
}

static bool report_orphan(void *arg, const char *path, pid_t supervisor)
{
	const struct live_sessions *orphans = arg;
	auto_(bytes_release) struct bytes job = {0}, store = {0};
	struct session_info info = {.directory = path, .pid = running_job(path)};

	(void)supervisor;
	if (info.pid == 0 || session_is_alive(path) || !read_name(path, "job", &job))
		return true;
	info.job = (char *)job.data;
	if (read_name(path, "store", &store))
		info.store = (char *)store.data;
	return orphans->each(orphans->arg, &info);
}

void session_each_orphan(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	struct live_sessions orphans = {each, arg};

	each_directory(report_orphan, &orphans);
}

/* Dead, with nothing left of its job. Shared: others may look at the same time, and none of them
 * removes it meanwhile. Returns the descriptor; -1: it is not. */
static int hold_dead(const char *path)
{
	auto_close int lock = open_lock(path, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) == 0 && running_job(path) == 0
		       ? steal_fd(&lock)
		       : -1;
}

/* What its supervisor has noted of its place, as text alone: the directory may lie on a mount that
 * hangs. */
static struct left_session left_session_of(const char *path, const char *directory,
					   const char *boot)
{
	auto_(bytes_release) struct bytes place = {0};
	struct left_session left = {0};
	const char *of_boot, *end;

	if (!read_name(path, PLACE, &place))
		return left;
	of_boot = (const char *)place.data;
	end = strchr(of_boot, ' ');
	left.placed = end != NULL;
	left.own = end && text_equal(end + 1, directory);
	left.this_boot = end && strlen(boot) == (size_t)(end - of_boot) &&
			 strncmp(of_boot, boot, (size_t)(end - of_boot)) == 0;
	return left;
}

struct dead_sessions {
	const char *directory;
	void (*each)(void *arg, const char *directory);
	void *arg;
};

static bool report_dead(void *arg, const char *path, pid_t pid)
{
	const struct dead_sessions *dead = arg;
	auto_close int lock = hold_dead(path);

	(void)pid;
	if (lock >= 0 && left_session_of(path, dead->directory, "").own)
		dead->each(dead->arg, path);
	return true;
}

void session_each_dead(const char *directory, void (*each)(void *arg, const char *directory),
		       void *arg)
{
	struct dead_sessions dead = {directory, each, arg};

	each_directory(report_dead, &dead);
}

/* Whose it was is of no use any more: the first who finds it dead removes that. From then on its
 * age counts, by the time of the directory, which nothing changes after that. In seconds. */
static int64_t find_dead(const char *path)
{
	static const char *const names[] = {"job", "member", "process", "store"};
	struct stat status;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_free char *name = text_format("%s/%s", path, names[i]);

		(void)unlink(name);
	}
	return lstat(path, &status) == 0 ? (int64_t)(time(NULL) - status.st_mtime) : INT64_MAX;
}

struct found_session {
	char *path;
	struct left_session left;
};

static int compare_ages(const void *first, const void *second)
{
	const struct found_session *one = first, *other = second;

	return (one->left.age_s > other->left.age_s) - (one->left.age_s < other->left.age_s);
}

/* False: it is alive, or something is left of its job. */
static bool find_session(const char *path, const char *directory, const char *boot,
			 struct left_session *left)
{
	auto_close int lock = hold_dead(path);

	if (lock < 0) {
		/* It is empty if an earlier removal was interrupted. */
		(void)rmdir(path);
		return false;
	}
	*left = left_session_of(path, directory, boot);
	if (left_session_stays(left))
		left->age_s = find_dead(path);
	return true;
}

static void remove_dead(const char *path)
{
	auto_close int lock = open_lock(path, O_RDWR);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && running_job(path) == 0)
		file_remove_tree(path, NULL);
}

void session_remove_dead(const struct session *session, const char *directory, const char *boot)
{
	auto_free char *above = text_copy(session->directory ? session->directory : "/");
	auto_(walk_close) struct walk walk = {0};
	struct found_session *found = NULL;
	size_t count = 0, newer = 0;
	pid_t pid;

	*strrchr(above, '/') = '\0';
	if (*above)
		(void)walk_open(&walk, above, 0);
	while (walk_next(&walk)) {
		auto_free char *path = text_format("%s/%s", above, walk.name);
		struct left_session left;

		if (!is_session_name(walk.name, &pid) ||
		    !find_session(path, directory, boot, &left))
			continue;
		found = memory_grow(found, count + 1, sizeof(found[0]));
		found[count++] = (struct found_session){steal(&path), left};
	}
	if (count > 1)
		qsort(found, count, sizeof(found[0]), compare_ages);
	for (size_t i = 0; i < count; i++) {
		found[i].left.newer = newer;
		if (left_session_stays(&found[i].left))
			newer++;
		else
			remove_dead(found[i].path);
		free(found[i].path);
	}
	free(found);
}

struct member_sessions {
	const char *job;
	char member[16];
	bool dead, alive;
};

static bool look_at_member(void *arg, const char *path, pid_t pid)
{
	struct member_sessions *sessions = arg;
	auto_(bytes_release) struct bytes job = {0}, member = {0};

	(void)pid;
	if (!read_name(path, "job", &job) || !read_name(path, "member", &member) ||
	    !text_equal((char *)job.data, sessions->job) ||
	    !text_equal((char *)member.data, sessions->member))
		return true;
	if (session_is_alive(path))
		sessions->alive = true;
	else
		sessions->dead = true;
	return !sessions->alive;
}

bool session_member_is_gone(const char *job, unsigned member)
{
	struct member_sessions sessions = {.job = job};

	snprintf(sessions.member, sizeof(sessions.member), "%u", member);
	each_directory(look_at_member, &sessions);
	return sessions.dead && !sessions.alive;
}
