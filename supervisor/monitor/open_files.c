#include "monitor.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/held_directory.h"
#include "base/text.h"
#include "process/process.h"
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The link of a descriptor that can write has the permission to write. */
static bool holds_descriptor(const char *directory, pid_t pid, char target[PATH_MAX])
{
	auto_(walk_close) struct walk walk = {0};

	(void)proc_walk_descriptors(pid, &walk);
	while (walk_next(&walk)) {
		struct stat status;

		if (walk_read_link(&walk, target, PATH_MAX) > 0 &&
		    proc_path_is_below(target, directory) &&
		    fstatat(walk.directory, walk.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (status.st_mode & S_IWUSR))
			return true;
	}
	/* Which file is mapped is not looked at. */
	text_set(target, PATH_MAX, directory);
	return proc_maps_below(pid, directory) > 0;
}

bool open_files_is_holder(const char *directory, pid_t pid)
{
	char target[PATH_MAX];

	return holds_descriptor(directory, pid, target);
}

void open_files_find_holders(const char *directory, open_files_fn *found, void *arg)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	char target[PATH_MAX];

	if (process_tree_read(getpid(), PROCESS_TREE_BRIEF, &tree, NULL) < 0)
		return;
	for (size_t i = 0; i < tree.count; i++)
		if (!process_is_dead(&tree.processes[i]) &&
		    holds_descriptor(directory, tree.processes[i].pid, target))
			found(arg, tree.processes[i].pid, target);
}

bool open_files_is_running(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_stat(pid, &stat) && !proc_state_is_dead(stat.state) && !stat.exiting;
}

/* True too where /proc does not say. */
static bool may_be_open(const char *directory, pid_t pid, int descriptor)
{
	char name[24], target[PATH_MAX];

	/* Of which file a mapping is was said by number only; any of the directory will do. */
	if (descriptor >= SHIM_MAPPING_FIRST)
		return proc_maps_below(pid, directory) != 0;
	snprintf(name, sizeof(name), "fd/%d", descriptor);
	if (proc_read_link(pid, name, target, sizeof(target)) < 0)
		return errno != ENOENT;
	/* Not by its name, which a rename may have changed since it was reported. */
	return proc_path_is_below(target, directory);
}

enum open_files_descriptor open_files_query_descriptor(const char *directory, pid_t pid,
						       int descriptor)
{
	bool open = may_be_open(directory, pid, descriptor);

	/* Only now: of a process that has begun to exit meanwhile nothing was open either, and it
	 * was the kernel that closed its files. */
	if (!open_files_is_running(pid))
		return OPEN_FILES_DESCRIPTOR_GONE;
	return open ? OPEN_FILES_DESCRIPTOR_OPEN : OPEN_FILES_DESCRIPTOR_CLOSED;
}

/*
 * The kernel grants a read lease only while nobody has the file open for writing, fcntl(2): in any
 * process, through a mapping too. It is given back at once. Whoever opens the file to write in
 * between is held up until then, and the lease's holder gets a signal, for which one is named that
 * nobody minds.
 */
enum open_files_state open_files_query_file(const char *path)
{
	struct stat status;
	struct err err;
	const char *name;
	auto_close int parent = held_directory_open_above(path, &name, &err);

	if (parent < 0)
		return err.os == ENOENT || err.os == ENOTDIR ? OPEN_FILES_NONE : OPEN_FILES_UNKNOWN;
	if (beneath_status(parent, name, &status) < 0)
		return errno == ENOENT ? OPEN_FILES_NONE : OPEN_FILES_UNKNOWN;
	if (!S_ISREG(status.st_mode))
		return OPEN_FILES_NONE;
	auto_close int fd = beneath_open(parent, name, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0)
		return OPEN_FILES_UNKNOWN;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? OPEN_FILES_OPEN : OPEN_FILES_UNKNOWN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return OPEN_FILES_NONE;
}

/* --- recent_writers --- */

bool recent_writers_has(const struct recent_writers *writers, pid_t pid)
{
	for (size_t i = 0; i < writers->count; i++)
		if (writers->items[i].pid == pid)
			return true;
	return false;
}

bool recent_writers_note(struct recent_writers *writers, pid_t pid, int64_t now_ms)
{
	for (size_t i = 0; i < writers->count; i++)
		if (writers->items[i].pid == pid) {
			writers->items[i].ms = now_ms;
			return false;
		}
	if (writers->count == RECENT_WRITERS)
		memmove(writers->items, writers->items + 1,
			--writers->count * sizeof(writers->items[0]));
	writers->items[writers->count++] = (struct recent_writer){now_ms, now_ms, pid};
	return true;
}

void recent_writers_forget(struct recent_writers *writers, pid_t pid)
{
	for (size_t i = 0; i < writers->count; i++)
		if (writers->items[i].pid == pid)
			writers->items[i] = writers->items[--writers->count];
}

/* A child of ours that has ended: whoever waits for it tells more of it, and what the main
 * process's code or signal means is not for us to say. */
static bool is_unreaped_child(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       info.si_pid == pid;
}

pid_t recent_writers_take_gone(struct recent_writers *writers)
{
	for (size_t i = 0; i < writers->count; i++) {
		pid_t pid = writers->items[i].pid;

		if (!proc_is_alive(pid) && !is_unreaped_child(pid)) {
			writers->items[i] = writers->items[--writers->count];
			return pid;
		}
	}
	return 0;
}
