#include "shared_directories.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
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

void shared_directories_find(struct shared_directories *shared, const struct tree_look *look,
			     const char *from, const char *const *written)
{
	shared_directories_release(shared);
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
	if (!enter_namespace(shared) || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return false;
	for (size_t i = 0; i < shared->count; i++) {
		const char *path = shared->paths[i];

		if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0 ||
		    mount(NULL, path, NULL, flags_of(path), NULL) < 0)
			return false;
	}
	return true;
}

bool shared_directories_can_close(const struct shared_directories *shared)
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
