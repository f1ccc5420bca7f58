#include "session_search.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "left_session.h"
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
#include <time.h>
#include <unistd.h>

/* --- one session --- */

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

static bool read_name(const char *path, const char *file, struct bytes *text)
{
	auto_free char *name = text_format("%s/%s", path, file);

	text->limit = 4096 + 4096;
	return file_read(name, text, NULL) == 0 && bytes_append(text, "", 1, NULL) == 0;
}

/* 0: none was started, it has ended, or it cannot be seen from here. */
static pid_t running_job(const char *directory)
{
	auto_(bytes_release) struct bytes text = {0};
	struct process_sample sample;
	uint64_t start_time, namespace;
	int pid;

	if (!read_name(directory, SESSION_PROCESS, &text) ||
	    sscanf((char *)text.data, "%d %" SCNu64 " %" SCNu64, &pid, &start_time, &namespace) < 3)
		return 0;
	return pid > 0 && namespace == session_pid_namespace() &&
			       process_read_sample(pid, &sample) && sample.start_time == start_time
		       ? pid
		       : 0;
}

/* Tries a shared lock, so that two clients do not take each other for a supervisor. */
bool session_is_alive(const char *directory)
{
	auto_close int lock = session_open_lock(directory, O_RDONLY);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* --- all of them --- */

/* Every session of this user, alive or not, until `each` returns false. */
static void each_directory(bool (*each)(void *arg, const char *path, pid_t pid), void *arg)
{
	for (int i = 0; i < SESSION_PARENTS; i++) {
		auto_free char *above = session_parent(i);
		auto_(walk_close) struct walk walk = {0};
		pid_t pid;

		if (above && session_parent_check(above, NULL) == 0)
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

	if (!session_is_alive(path) || !read_name(path, SESSION_JOB, &job))
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
	if (info.pid == 0 || session_is_alive(path) || !read_name(path, SESSION_JOB, &job))
		return true;
	info.job = (char *)job.data;
	if (read_name(path, SESSION_STORE, &store))
		info.store = (char *)store.data;
	return orphans->each(orphans->arg, &info);
}

void session_each_orphan(bool (*each)(void *arg, const struct session_info *info), void *arg)
{
	struct live_sessions orphans = {each, arg};

	each_directory(report_orphan, &orphans);
}

/* --- those of dead supervisors --- */

/* Dead, with nothing left of its job. Shared: others may look at the same time, and none of them
 * removes it meanwhile. Returns the descriptor; -1: it is not. */
static int hold_dead(const char *path)
{
	auto_close int lock = session_open_lock(path, O_RDONLY);

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

	if (!read_name(path, SESSION_PLACE, &place))
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
	static const char *const names[] = {SESSION_JOB, SESSION_MEMBER, SESSION_PROCESS,
					    SESSION_STORE};
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
	auto_close int lock = session_open_lock(path, O_RDWR);

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

/* --- another member of the gang --- */

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
	if (!read_name(path, SESSION_JOB, &job) || !read_name(path, SESSION_MEMBER, &member) ||
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
