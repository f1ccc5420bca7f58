#include "open_files.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* linux/sched.h; field 9 of /proc/PID/stat. */
#define PF_EXITING 0x4u

static bool lies_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* The link of a descriptor that can write has the permission to write. */
static bool holds_descriptor(const char *directory, pid_t pid)
{
	char name[40], target[4096];

	snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	auto_closedir DIR *listing = opendir(name);
	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		struct stat status;
		ssize_t got = readlinkat(dirfd(listing), entry->d_name, target, sizeof(target) - 1);

		if (got <= 0)
			continue;
		target[got] = '\0';
		if (lies_below(target, directory) &&
		    fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (status.st_mode & S_IWUSR))
			return true;
	}
	return false;
}

bool open_files_line_maps(const char *line, const char *directory)
{
	const char *flags = strchr(line, ' ');
	const char *path = strchr(line, '/');

	return flags && path && strlen(flags) > 4 && flags[2] == 'w' && flags[4] == 's' &&
	       lies_below(path, directory);
}

static bool holds_mapping(const char *directory, pid_t pid)
{
	auto_free char *line = NULL;
	size_t capacity = 0;
	char name[40];

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	auto_fclose FILE *maps = fopen(name, "re");
	while (maps && getline(&line, &capacity, maps) > 0)
		if (open_files_line_maps(line, directory))
			return true;
	return false;
}

bool open_files_is_holder(const char *directory, pid_t pid)
{
	return holds_descriptor(directory, pid) || holds_mapping(directory, pid);
}

void open_files_find_holders(const char *directory, open_files_fn *found, void *arg)
{
	auto_(process_tree_release) struct process_tree tree = {0};

	if (process_tree_read(getpid(), PROCESS_TREE_BRIEF, &tree, NULL) < 0)
		return;
	for (size_t i = 0; i < tree.count; i++)
		if (!process_is_dead(&tree.processes[i]) &&
		    open_files_is_holder(directory, tree.processes[i].pid))
			found(arg, tree.processes[i].pid);
}

bool open_files_is_running(pid_t pid)
{
	char name[40], text[1024];
	const char *at;
	unsigned flags;
	ssize_t got;
	char state;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	auto_close int fd = open(name, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return false;
	text[got] = '\0';
	at = strrchr(text, ')');
	/* state ppid pgrp session tty_nr tpgid flags */
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return false;
	return state != 'Z' && state != 'X' && !(flags & PF_EXITING);
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

	if (lstat(path, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR ? OPEN_FILES_NONE : OPEN_FILES_UNKNOWN;
	if (!S_ISREG(status.st_mode))
		return OPEN_FILES_NONE;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0)
		return OPEN_FILES_UNKNOWN;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? OPEN_FILES_OPEN : OPEN_FILES_UNKNOWN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return OPEN_FILES_NONE;
}
