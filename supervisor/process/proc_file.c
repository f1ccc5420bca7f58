#include "proc_file.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* linux/sched.h */
#define EXITING 0x4u

static void name_file(char path[80], pid_t pid, const char *name)
{
	if (pid == PROC_SELF)
		snprintf(path, 80, "/proc/self/%s", name);
	else
		snprintf(path, 80, "/proc/%d/%s", (int)pid, name);
}

static int open_file(pid_t pid, const char *name)
{
	char path[80];

	name_file(path, pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_text(int fd, char *text, size_t capacity)
{
	size_t used = 0;

	while (used < capacity - 1) {
		ssize_t got = read(fd, text + used, capacity - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	text[used] = '\0';
	return (ssize_t)used;
}

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t capacity)
{
	auto_close int fd = open_file(pid, name);

	return fd < 0 ? -1 : read_text(fd, text, capacity);
}

ssize_t proc_read_link(pid_t pid, const char *name, char *target, size_t capacity)
{
	char path[80];
	ssize_t size;

	name_file(path, pid, name);
	size = readlink(path, target, capacity - 1);
	target[size < 0 ? 0 : size] = '\0';
	return size;
}

/* "pid (comm) state ppid ...": fields 9 flags, 14 and 15 times, 22 start time, 52 exit status. */
bool proc_parse_stat(const char *text, struct proc_stat *stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	const char *last = strrchr(text, ' ');
	uint64_t user, system;
	unsigned flags;
	int parent;

	*stat = (struct proc_stat){0};
	if (!open || !close || close < open ||
	    sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %" SCNu64,
		   &stat->state, &parent, &flags, &user, &system, &stat->start_time) != 6)
		return false;
	auto_free char *comm = text_copy_n(open + 1, (size_t)(close - open - 1));
	text_set(stat->comm, sizeof(stat->comm), comm);
	stat->parent = (pid_t)parent;
	stat->exiting = flags & EXITING;
	stat->cpu_ticks = user + system;
	stat->exit_status = (int)strtol(last, NULL, 10);
	return true;
}

bool proc_read_stat(pid_t pid, struct proc_stat *stat)
{
	auto_close int fd = open_file(pid, "stat");
	struct stat status;
	char text[1024];

	if (fd < 0 || fstat(fd, &status) < 0 || read_text(fd, text, sizeof(text)) < 0 ||
	    !proc_parse_stat(text, stat))
		return false;
	stat->owner = status.st_uid;
	return true;
}

bool proc_state_is_dead(char state)
{
	return state == 'Z' || state == 'X' || state == 'x';
}

bool proc_is_alive(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_stat(pid, &stat) && !proc_state_is_dead(stat.state);
}

static uint64_t parse_field(const char *status, const char *field, int base)
{
	size_t length = strlen(field);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, length) == 0 && line[length] == ':')
			return strtoull(line + length + 1, NULL, base);
	}
	return 0;
}

uint64_t proc_parse_signals(const char *status, const char *field)
{
	return parse_field(status, field, 16);
}

uint64_t proc_parse_switches(const char *status)
{
	return parse_field(status, "voluntary_ctxt_switches", 10);
}

bool proc_path_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* "7f00-7f10 rw-s 00000000 08:01 123   /data/ckpt/x" */
const char *proc_parse_shared_mapping(const char *line)
{
	const char *flags = strchr(line, ' ');

	if (!flags || strlen(flags) <= 4 || flags[2] != 'w' || flags[4] != 's')
		return NULL;
	return strchr(line, '/');
}

int proc_maps_below(pid_t pid, const char *directory)
{
	auto_free char *line = NULL;
	size_t capacity = 0;
	char path[80];

	name_file(path, pid, "maps");
	auto_fclose FILE *maps = fopen(path, "re");
	if (!maps)
		return -1;
	while (getline(&line, &capacity, maps) > 0) {
		const char *mapped = proc_parse_shared_mapping(line);

		if (mapped && proc_path_is_below(mapped, directory))
			return 1;
	}
	return ferror(maps) ? -1 : 0;
}

int proc_walk_descriptors(pid_t pid, struct walk *walk)
{
	char path[80];

	name_file(path, pid, "fd");
	return walk_open(walk, path, 0);
}

bool proc_pid_namespace(uint64_t *device, uint64_t *inode)
{
	struct stat status;
	char path[80];

	name_file(path, PROC_SELF, "ns/pid");
	if (stat(path, &status) < 0)
		return false;
	*device = status.st_dev;
	*inode = status.st_ino;
	return true;
}
