#include "shared_directories.h"

#include "base/text.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool holds(const char *directory, const char *path)
{
	size_t length = strlen(directory);

	return text_starts(path, directory) && (path[length] == '/' || path[length] == '\0');
}

static bool holds_any(const char *directory, const char *const *paths)
{
	for (; *paths; paths++) {
		auto_free char *real = realpath(*paths, NULL);

		if (holds(directory, *paths) || (real && holds(directory, real)))
			return true;
	}
	return false;
}

void shared_directories_release(struct shared_directories *shared)
{
	for (size_t i = 0; i < shared->count; i++)
		free(shared->paths[i]);
	free(shared->paths);
	*shared = (struct shared_directories){0};
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t size = (ssize_t)strlen(text);
	bool written = fd >= 0 && write(fd, text, (size_t)size) == size;

	close(fd);
	return written;
}

static bool enter_namespace(const struct shared_directories *shared)
{
	if (unshare(CLONE_NEWNS) == 0)
		return true;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", shared->user_map) &&
	       write_text("/proc/self/gid_map", shared->group_map);
}

/* What a mount of the user's has, one in a user namespace may not lose. */
static unsigned long flags_of(const char *path)
{
	static const struct {
		unsigned long had, flag;
	} flags[] = {
		{ST_NOSUID, MS_NOSUID},         {ST_NODEV, MS_NODEV},
		{ST_NOEXEC, MS_NOEXEC},         {ST_NOATIME, MS_NOATIME},
		{ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME},
	};
	unsigned long found = MS_REMOUNT | MS_BIND | MS_RDONLY;
	struct statvfs about;

	if (statvfs(path, &about) < 0)
		return found;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (about.f_flag & flags[i].had)
			found |= flags[i].flag;
	return found;
}

bool shared_directories_close(const struct shared_directories *shared)
{
	if (shared->count == 0)
		return true;
	/* A mount of ours is not to appear on the whole computer. */
	if (!enter_namespace(shared) || mount("none", "/", "none", MS_REC | MS_SLAVE, NULL) < 0)
		return false;
	for (size_t i = 0; i < shared->count; i++) {
		const char *path = shared->paths[i];

		if (mount(path, path, "none", MS_BIND | MS_REC, NULL) < 0 ||
		    mount("none", path, "none", flags_of(path), NULL) < 0)
			return false;
	}
	return true;
}

/* Tries it in a child. */
static bool can_close(const struct shared_directories *shared)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(shared_directories_close(shared) ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void shared_directories_find(struct shared_directories *shared, const struct tree_look *look,
			     const char *from, const char *const *written)
{
	struct timespec now;

	shared_directories_release(shared);
	/* Of files the clock may be coarser, by less than a machine takes to start. */
	clock_gettime(CLOCK_REALTIME, &now);
	shared->found_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	for (size_t i = 0; i < look->count; i++) {
		const struct tree_entry *entry = &look->items[i];
		auto_free char *whole = text_format("%s/%s", from, entry->path);
		auto_free char *real = NULL;

		/* A machine has its own .git. */
		if (entry->kind != TREE_CLOSED || entry->system ||
		    text_equal(text_last_part(entry->path), ".git"))
			continue;
		real = realpath(whole, NULL);
		if (!real || holds_any(real, written))
			continue;
		shared->paths = memory_grow(shared->paths, shared->count + 1, sizeof(char *));
		shared->paths[shared->count++] = steal(&real);
	}
	snprintf(shared->user_map, sizeof(shared->user_map), "%u %u 1", geteuid(), geteuid());
	snprintf(shared->group_map, sizeof(shared->group_map), "%u %u 1", getegid(), getegid());
	shared->read_only = can_close(shared);
}

static bool is_changed(const struct shared_directories *shared, const struct stat *about)
{
	return (int64_t)about->st_ctim.tv_sec * 1000000000 + about->st_ctim.tv_nsec >
	       shared->found_ns;
}

static bool is_compiled(const char *name)
{
	return text_equal(name, "__pycache__") || text_ends(name, ".pyc");
}

static char *find_change_in(const struct shared_directories *shared, const char *root, size_t *left)
{
	auto_(walk_close) struct walk walk = {0};
	struct stat about;

	if (walk_open(&walk, root, 0) < 0)
		return NULL;
	while (*left > 0 && walk_next(&walk)) {
		--*left;
		if (is_compiled(walk.name) ||
		    fstatat(walk.directory, walk.name, &about, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISDIR(about.st_mode)) {
			if (is_changed(shared, &about))
				return text_format("%s/%s", root, walk.path);
			continue;
		}
		/* Its own time says nothing: a new __pycache__ changes that. */
		walk_enter(&walk);
	}
	return NULL;
}

char *shared_directories_find_change(const struct shared_directories *shared)
{
	size_t left = SHARED_SEARCHED_MOST;
	char *found = NULL;

	for (size_t i = 0; i < shared->count && !found && !shared->read_only; i++)
		found = find_change_in(shared, shared->paths[i], &left);
	return found;
}
