#include "process_tree.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT_MOST ((size_t)2 << 20) /* beyond this a RANK is not looked for */

bool process_is_dead(const struct process *process)
{
	return process->state == 'Z' || process->state == 'X' || process->state == 'x';
}

uint64_t process_signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/* At most capacity - 1 bytes, and a NUL. Returns -1 when the process is gone or
 * the file may not be read. */
static ssize_t read_file_start(int proc, pid_t pid, const char *name, char *buffer, size_t capacity)
{
	char path[64];
	size_t used = 0;

	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	auto_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (used < capacity - 1) {
		ssize_t got = read(fd, buffer + used, capacity - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	buffer[used] = '\0';
	return (ssize_t)used;
}

/* What is kept of every process of the machine until it is known which of them are ours. */
struct process_line {
	pid_t pid, parent;
	char state;
	char comm[16];
	uint64_t start_time, cpu_ticks;
};

/* "pid (comm) state ppid ...": comm may hold anything, also ")". Fields 14 and 15 are the times, 22
 * is the start time (proc(5)). */
static bool parse_stat(char *text, struct process_line *line)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	char *rest, *token;

	if (!open || !close || close < open)
		return false;
	*close = '\0';
	text_set(line->comm, sizeof(line->comm), open + 1);
	token = strtok_r(close + 1, " ", &rest);
	for (int field = 3; token; field++) {
		if (field == 3)
			line->state = *token;
		if (field == 4)
			line->parent = (pid_t)strtol(token, NULL, 10);
		if (field == 14 || field == 15)
			line->cpu_ticks += strtoull(token, NULL, 10);
		if (field == 22) {
			line->start_time = strtoull(token, NULL, 10);
			return true;
		}
		token = strtok_r(NULL, " ", &rest);
	}
	return false;
}

static bool read_stat(int proc, pid_t pid, struct process_line *line)
{
	char text[1024];

	*line = (struct process_line){.pid = pid};
	return read_file_start(proc, pid, "stat", text, sizeof(text)) > 0 && parse_stat(text, line);
}

static uint64_t mask_of(const char *status, const char *label)
{
	const char *found = strstr(status, label);

	return found ? strtoull(found + strlen(label), NULL, 16) : 0;
}

/* Without what the shield has caught (shim.h): SIGTERM then does with the process what it does
 * without a handler. Programs that catch everything catch these as well. */
static uint64_t without_shim_handlers(uint64_t caught)
{
	const uint64_t shield = process_signal_bit(SIGTERM) | process_signal_bit(SHIM_MARK_SIGNAL);
	const uint64_t all = process_signal_bit(SIGIO) | process_signal_bit(SIGVTALRM) |
			     process_signal_bit(SIGURG);

	return (caught & shield) == shield && (caught & all) != all ? caught & ~shield : caught;
}

static bool read_masks(int proc, struct process *process)
{
	char status[4096];

	if (read_file_start(proc, process->pid, "status", status, sizeof(status)) <= 0)
		return false;
	process->pending = mask_of(status, "\nSigPnd:") | mask_of(status, "\nShdPnd:");
	process->blocked = mask_of(status, "\nSigBlk:");
	process->ignored = mask_of(status, "\nSigIgn:");
	process->caught = without_shim_handlers(mask_of(status, "\nSigCgt:"));
	return true;
}

static int64_t rank_of(const char *variable, const char *name)
{
	uint64_t value;

	if (!text_starts(variable, name) ||
	    !text_to_u64(variable + strlen(name), INT32_MAX, &value))
		return PROCESS_NO_RANK;
	return (int64_t)value;
}

static void set_rank_once(int64_t *rank, const char *variable, const char *name)
{
	if (*rank == PROCESS_NO_RANK)
		*rank = rank_of(variable, name);
}

static void parse_environment(const char *text, size_t size, struct process *process)
{
	/* read_file_start() has put a NUL behind the last variable, so each ends inside. */
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		set_rank_once(&process->rank, text + at, "RANK=");
		set_rank_once(&process->local_rank, text + at, "LOCAL_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "OMPI_COMM_WORLD_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "PMIX_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "PMI_RANK=");
	}
}

/* `buffer` is lent to all processes of one look. */
static void read_environment(int proc, struct process *process, struct bytes *buffer)
{
	for (size_t capacity = 32768; capacity <= ENVIRONMENT_MOST; capacity *= 4) {
		ssize_t size;

		buffer->size = 0;
		if (bytes_reserve(buffer, capacity, NULL) < 0)
			return;
		size = read_file_start(proc, process->pid, "environ", (char *)buffer->data,
				       capacity);
		if (size < 0)
			return;
		if ((size_t)size < capacity - 1 || capacity * 4 > ENVIRONMENT_MOST) {
			parse_environment((char *)buffer->data, (size_t)size, process);
			return;
		}
	}
}

static void read_names(int proc, struct process *process)
{
	char link[64], target[4096];
	ssize_t size = read_file_start(proc, process->pid, "cmdline", process->command,
				       sizeof(process->command));

	process->command_size = size > 0 ? (size_t)size : 0;
	snprintf(link, sizeof(link), "%d/exe", (int)process->pid);
	size = readlinkat(proc, link, target, sizeof(target) - 1);
	if (size <= 0)
		return;
	target[size] = '\0';
	char *slash = strrchr(target, '/');
	text_set(process->executable, sizeof(process->executable), slash ? slash + 1 : target);
}

static int by_parent(const void *a, const void *b)
{
	const struct process_line *left = a, *right = b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* Every process of the machine, by parent. The caller frees `*lines`. */
static int read_lines(int proc, struct process_line **lines, size_t *count, struct err *err)
{
	int copy = dup(proc);
	auto_closedir DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	size_t capacity = 0;
	struct dirent *entry;

	if (!directory)
		return err_os(err, errno, "/proc");
	while ((entry = readdir(directory))) {
		uint64_t pid;

		if (!text_to_u64(entry->d_name, INT32_MAX, &pid))
			continue;
		if (*count == capacity) {
			capacity = capacity ? capacity * 2 : 64;
			*lines = memory_grow(*lines, capacity, sizeof(**lines));
		}
		if (read_stat(proc, (pid_t)pid, &(*lines)[*count]))
			++*count;
	}
	if (*count > 0)
		qsort(*lines, *count, sizeof(**lines), by_parent);
	return 0;
}

static size_t first_child(const struct process_line *lines, size_t count, pid_t parent)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void keep_process(struct process_tree *tree, size_t most, const struct process_line *line)
{
	/* Numbers read at different times could close a ring: never collect more than there are. */
	if (tree->count == most)
		return;
	tree->processes = memory_grow(tree->processes, tree->count + 1, sizeof(*tree->processes));
	struct process *process = &tree->processes[tree->count++];
	*process = (struct process){
		.pid = line->pid,
		.parent = line->parent,
		.state = line->state,
		.start_time = line->start_time,
		.rank = PROCESS_NO_RANK,
		.local_rank = PROCESS_NO_RANK,
		.mpi_rank = PROCESS_NO_RANK,
	};
	text_set(process->comm, sizeof(process->comm), line->comm);
}

/* Breadth first, which puts parents before their children. */
static void collect_tree(const struct process_line *lines, size_t count, pid_t root,
			 struct process_tree *tree)
{
	pid_t parent = root;

	for (size_t i = 0; i < count && root != getpid(); i++)
		if (lines[i].pid == root)
			keep_process(tree, count, &lines[i]);
	for (size_t next = tree->count;;) {
		size_t i = first_child(lines, count, parent);

		for (; i < count && lines[i].parent == parent; i++)
			if (lines[i].pid != root)
				keep_process(tree, count, &lines[i]);
		if (next == tree->count)
			return;
		parent = tree->processes[next++].pid;
	}
}

int process_tree_read(pid_t root, enum process_tree_detail detail, struct process_tree *tree,
		      struct err *err)
{
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_(bytes_release) struct bytes environment = {0};
	auto_free struct process_line *lines = NULL;
	size_t count = 0, kept = 0;

	*tree = (struct process_tree){0};
	if (proc < 0)
		return err_os(err, errno, "/proc");
	if (read_lines(proc, &lines, &count, err) < 0)
		return -1;
	collect_tree(lines, count, root, tree);
	for (size_t i = 0; detail == PROCESS_TREE_FULL && i < tree->count; i++) {
		struct process *process = &tree->processes[i];

		if (!read_masks(proc, process))
			continue;
		if (!process_is_dead(process)) {
			read_environment(proc, process, &environment);
			read_names(proc, process);
		}
		tree->processes[kept++] = *process;
	}
	if (detail == PROCESS_TREE_FULL)
		tree->count = kept;
	return 0;
}

void process_tree_release(struct process_tree *tree)
{
	free(tree->processes);
	*tree = (struct process_tree){0};
}

int process_read_caught(pid_t pid, uint64_t *caught, struct err *err)
{
	struct process process = {.pid = pid};
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0)
		return err_os(err, errno, "/proc");
	if (!read_masks(proc, &process))
		return err_set(err, ERR_NOT_FOUND, "there is no process %d", (int)pid);
	*caught = process.caught;
	return 0;
}

bool process_read_sample(pid_t pid, struct process_sample *sample)
{
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct process process = {.pid = pid};
	char text[1024], name[32];
	struct process_line line, thread = {.pid = pid};

	snprintf(name, sizeof(name), "task/%d/stat", (int)pid);
	if (proc < 0 || !read_stat(proc, pid, &line) || !read_masks(proc, &process) ||
	    read_file_start(proc, pid, name, text, sizeof(text)) <= 0 || !parse_stat(text, &thread))
		return false;
	*sample = (struct process_sample){
		.start_time = line.start_time,
		.cpu_ticks = thread.cpu_ticks,
		.pending = process.pending,
		.parent = line.parent,
		.state = line.state,
	};
	process.state = line.state;
	return !process_is_dead(&process);
}

uint64_t process_start_time(pid_t pid)
{
	struct process_line line;
	auto_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return proc >= 0 && read_stat(proc, pid, &line) ? line.start_time : 0;
}
