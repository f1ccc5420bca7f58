#include "process_tree.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Of parents. */
#define DEPTH_MOST 64

#define ENVIRONMENT_MOST ((size_t)2 << 20) /* a RANK beyond this is not found */
#define ENVIRONMENT_FIRST 32768

bool process_is_dead(const struct process *process)
{
	return proc_state_is_dead(process->state);
}

uint64_t process_signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/* Kept for every process of the machine until it is known which are descendants. */
struct process_line {
	pid_t pid;
	struct proc_stat stat;
};

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

/* Removes the shim's SIGTERM handler (SHIM_MARK_SIGNAL, shim.h) from the mask: the application
 * itself has none. Programs that catch every signal catch these two as well. */
static uint64_t without_shim_handlers(uint64_t caught)
{
	const uint64_t shim_handlers =
		process_signal_bit(SIGTERM) | process_signal_bit(SHIM_MARK_SIGNAL);
	const uint64_t all = process_signal_bit(SIGIO) | process_signal_bit(SIGVTALRM) |
			     process_signal_bit(SIGURG);

	return (caught & shim_handlers) == shim_handlers && (caught & all) != all
		       ? caught & ~shim_handlers
		       : caught;
}

static bool read_masks(struct process *process)
{
	char status[4096];

	if (proc_read(process->pid, "status", status, sizeof(status)) <= 0)
		return false;
	process->pending =
		proc_parse_signals(status, "SigPnd") | proc_parse_signals(status, "ShdPnd");
	process->switches = proc_parse_switches(status);
	process->blocked = proc_parse_signals(status, "SigBlk");
	process->ignored = proc_parse_signals(status, "SigIgn");
	process->caught = without_shim_handlers(proc_parse_signals(status, "SigCgt"));
	return true;
}

static void set_rank_once(int64_t *rank, const char *variable, const char *name)
{
	uint64_t value;

	if (*rank == PROCESS_NO_RANK && text_starts(variable, name) &&
	    text_to_u64(variable + strlen(name), INT32_MAX, &value))
		*rank = (int64_t)value;
}

static void parse_environment(const char *text, size_t size, struct process *process)
{
	/* There is a NUL behind the last variable, so that each one ends inside. */
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		set_rank_once(&process->rank, text + at, "RANK=");
		set_rank_once(&process->local_rank, text + at, "LOCAL_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "OMPI_COMM_WORLD_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "PMIX_RANK=");
		set_rank_once(&process->mpi_rank, text + at, "PMI_RANK=");
	}
}

/* `buffer` is reused for all processes. */
static void read_environment(struct process *process, struct bytes *buffer)
{
	auto_close int fd = open_file(process->pid, "environ");

	buffer->size = 0;
	/* What is beyond the limit does not count. */
	if (fd >= 0 && bytes_reserve(buffer, ENVIRONMENT_FIRST, NULL) == 0)
		(void)file_read_all(fd, buffer, NULL);
	if (bytes_append(buffer, "", 1, NULL) < 0 && buffer->size > 0)
		buffer->data[buffer->size - 1] = '\0';
	parse_environment((char *)buffer->data, buffer->size, process);
}

static void read_names(struct process *process)
{
	char target[4096];
	ssize_t size =
		proc_read(process->pid, "cmdline", process->command, sizeof(process->command));

	process->command_size = size > 0 ? (size_t)size : 0;
	if (proc_read_link(process->pid, "exe", target, sizeof(target)) <= 0)
		return;
	const char *slash = strrchr(target, '/');
	text_set(process->executable, sizeof(process->executable), slash ? slash + 1 : target);
}

static int by_parent(const void *a, const void *b)
{
	const struct process_line *left = a, *right = b;

	if (left->stat.parent != right->stat.parent)
		return left->stat.parent < right->stat.parent ? -1 : 1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* Every process of the machine, by parent. The caller frees `*lines`. */
static int read_lines(struct process_line **lines, size_t *count, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};
	size_t capacity = 0;

	if (walk_open(&walk, "/proc", 0) < 0)
		return err_os(err, errno, "/proc");
	while (walk_next(&walk)) {
		uint64_t pid;

		if (!text_to_u64(walk.name, INT32_MAX, &pid))
			continue;
		if (*count == capacity) {
			capacity = capacity ? capacity * 2 : 64;
			*lines = memory_grow(*lines, capacity, sizeof(**lines));
		}
		(*lines)[*count].pid = (pid_t)pid;
		if (proc_read_stat((pid_t)pid, &(*lines)[*count].stat))
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

		if (lines[middle].stat.parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void keep_process(struct process_tree *tree, size_t most, const struct process_line *line)
{
	/* Parents that were read at different times could form a cycle: never collect more
	 * processes than there are. */
	if (tree->count == most)
		return;
	tree->processes = memory_grow(tree->processes, tree->count + 1, sizeof(*tree->processes));
	struct process *process = &tree->processes[tree->count++];
	*process = (struct process){
		.pid = line->pid,
		.parent = line->stat.parent,
		.state = line->stat.state,
		.start_time = line->stat.start_time,
		.rank = PROCESS_NO_RANK,
		.local_rank = PROCESS_NO_RANK,
		.mpi_rank = PROCESS_NO_RANK,
	};
	text_set(process->comm, sizeof(process->comm), line->stat.comm);
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

		for (; i < count && lines[i].stat.parent == parent; i++)
			if (lines[i].pid != root)
				keep_process(tree, count, &lines[i]);
		if (next == tree->count)
			return;
		parent = tree->processes[next++].pid;
	}
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int process_tree_read(pid_t root, enum process_tree_detail detail, struct process_tree *tree,
		      struct err *err)
{
	auto_(bytes_release) struct bytes environment = {.limit = ENVIRONMENT_MOST};
	auto_free struct process_line *lines = NULL;
	size_t count = 0, kept = 0;

	*tree = (struct process_tree){0};
	/* A machine may have thousands of processes. */
	if (root == getpid() && !has_children())
		return 0;
	if (read_lines(&lines, &count, err) < 0)
		return -1;
	collect_tree(lines, count, root, tree);
	for (size_t i = 0; detail == PROCESS_TREE_FULL && i < tree->count; i++) {
		struct process *process = &tree->processes[i];

		if (!read_masks(process))
			continue;
		if (!process_is_dead(process)) {
			read_environment(process, &environment);
			read_names(process);
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

	if (!read_masks(&process))
		return err_set(err, ERR_NOT_FOUND, "process %d does not exist", (int)pid);
	*caught = process.caught;
	return 0;
}

bool process_read_sample(pid_t pid, struct process_sample *sample)
{
	struct process process = {.pid = pid};
	struct proc_stat stat, thread;
	char text[1024], name[32];

	snprintf(name, sizeof(name), "task/%d/stat", (int)pid);
	if (!proc_read_stat(pid, &stat) || !read_masks(&process) ||
	    proc_read(pid, name, text, sizeof(text)) <= 0 || !proc_parse_stat(text, &thread))
		return false;
	*sample = (struct process_sample){
		.start_time = stat.start_time,
		.cpu_ticks = thread.cpu_ticks,
		.switches = process.switches,
		.pending = process.pending,
		.parent = stat.parent,
		.state = stat.state,
	};
	return !proc_state_is_dead(stat.state);
}

bool process_is_below(pid_t pid, pid_t above)
{
	struct process_sample sample;

	for (int depth = 0; depth < DEPTH_MOST && pid > 1; depth++) {
		if (!process_read_sample(pid, &sample))
			return false;
		if (sample.parent == above)
			return true;
		pid = sample.parent;
	}
	return false;
}

uint64_t process_start_time(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_stat(pid, &stat) ? stat.start_time : 0;
}

/* Inode of our PID namespace: PIDs are not comparable between two. 0: unknown. */
static uint64_t pid_namespace(void)
{
	uint64_t device, inode;

	return proc_pid_namespace(&device, &inode) ? inode : 0;
}

char *process_identity(pid_t pid)
{
	return text_format("%d %" PRIu64 " %" PRIu64, (int)pid, process_start_time(pid),
			   pid_namespace());
}

bool process_identity_runs(const char *identity, pid_t *pid)
{
	struct process_sample sample;
	uint64_t start_time, namespace;

	if (sscanf(identity, "%d %" SCNu64 " %" SCNu64, pid, &start_time, &namespace) < 3)
		*pid = 0;
	return *pid > 0 && namespace == pid_namespace() && process_read_sample(*pid, &sample) &&
	       sample.start_time == start_time;
}

int64_t process_began_ms(void)
{
	int64_t now_ms = clock_boot_ms(), per_second = sysconf(_SC_CLK_TCK);
	int64_t ticks = (int64_t)process_start_time(PROC_SELF);
	int64_t began_ms = per_second > 0 ? ticks * 1000 / per_second : 0;

	/* Where the kernel does not say it, or counts from another moment. */
	return began_ms > 0 && began_ms < now_ms ? began_ms : now_ms;
}

const struct process *process_find(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].pid == pid)
			return &tree->processes[i];
	return NULL;
}

const char *process_describe(const struct process *process, char *text, size_t size)
{
	if (process->command_size == 0) {
		text_set(text, size, process->comm);
		return text;
	}
	text[0] = '\0';
	for (size_t i = 0; i + 1 < size && i < process->command_size; i++) {
		text[i] = process->command[i] ? process->command[i] : ' ';
		text[i + 1] = '\0';
	}
	for (size_t length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
		text[length - 1] = '\0';
	text_to_printable(text);
	return text;
}

uint64_t process_tree_latest_start(const struct process_tree *tree)
{
	uint64_t latest = 0;

	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].start_time > latest)
			latest = tree->processes[i].start_time;
	return latest;
}

/* --- the files of /proc/PID --- */

/* linux/sched.h */
#define EXITING 0x4u

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t capacity)
{
	auto_close int fd = open_file(pid, name);
	size_t size = fd < 0 ? 0 : file_read_at(fd, text, capacity - 1, 0);

	text[size] = '\0';
	return fd < 0 ? -1 : (ssize_t)size;
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

	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	text[file_read_at(fd, text, sizeof(text) - 1, 0)] = '\0';
	if (!proc_parse_stat(text, stat))
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

/* --- the end of all descendants --- */

/* A chain that forks faster than it is found must not keep us: the caller tries again. */
#define KILL_MS 50
#define KILL_ROUNDS 4

/* `*latest`: of the youngest that was hit. Returns how many are alive. */
static size_t kill_all(const struct process_tree *tree, pid_t root, uint64_t *latest)
{
	size_t alive = 0;

	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];
		/* Many start within one tick; a PID has 22 bits at most. */
		uint64_t started = process->start_time << 22 | (uint64_t)process->pid;

		if (process->pid == root || process_is_dead(process))
			continue;
		alive++;
		/* If the process was reaped and its PID reused since, the start time differs. */
		if (process_start_time(process->pid) == process->start_time &&
		    kill(process->pid, SIGKILL) == 0 && started > *latest)
			*latest = started;
	}
	return alive;
}

size_t kill_tree_below(pid_t root)
{
	int64_t until_ms = clock_monotonic_ms() + KILL_MS;
	uint64_t latest = 0;
	size_t alive = 0;

	/* A process forked during one round is found in the next. After two rounds without a new
	 * one that lives, none is left that could fork. */
	for (int round = 0, quiet = 0;
	     quiet < 2 && (round < KILL_ROUNDS || clock_monotonic_ms() < until_ms); round++) {
		auto_(process_tree_release) struct process_tree tree = {0};
		uint64_t before = latest;

		if (process_tree_read(root, PROCESS_TREE_BRIEF, &tree, NULL) < 0)
			alive = 1; /* at least, as far as anybody knows */
		else
			alive = kill_all(&tree, root, &latest);
		quiet = latest == before ? quiet + 1 : 0;
	}
	return alive;
}

size_t kill_tree(void)
{
	return kill_tree_below(getpid());
}

size_t terminate_tree(bool (*spares)(void *arg, pid_t pid), void *arg)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	size_t count = 0;

	if (process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, NULL) < 0)
		return 0;
	for (size_t i = 0; i < tree.count; i++) {
		const struct process *process = &tree.processes[i];

		if (!process_is_dead(process) && !spares(arg, process->pid) &&
		    !process_role_is_data_worker(process, process_find(&tree, process->parent)))
			count += kill(process->pid, SIGTERM) == 0;
	}
	return count;
}
