#include "exit_watch.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/pidfd.h of 6.15; older headers do not have it. What the kernel knows more is not asked for. */
struct end_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};
#define END_INFO_EXIT (UINT64_C(1) << 3)
#define END_INFO_GET _IOWR(0xFF, 11, struct end_info)

struct watched {
	struct source source;
	struct process_ends *ends;
	struct watched *next;
	pid_t pid;
};

struct process_ends {
	struct loop *loop;
	process_ends_fn *ended;
	void *arg;
	struct watched *all;
	size_t count;
};

struct process_ends *process_ends_new(struct loop *loop, process_ends_fn *ended, void *arg)
{
	struct process_ends *ends = memory_new(sizeof(*ends));

	*ends = (struct process_ends){.loop = loop, .ended = ended, .arg = arg};
	return ends;
}

static void drop(struct process_ends *ends, struct watched *watched)
{
	struct watched **link = &ends->all;

	while (*link != watched)
		link = &(*link)->next;
	*link = watched->next;
	ends->count--;
	loop_remove(ends->loop, &watched->source);
	close(watched->source.fd);
	free(watched);
}

void process_ends_free(struct process_ends *ends)
{
	if (!ends)
		return;
	while (ends->all)
		drop(ends, ends->all);
	free(ends);
}

/* The kernel remembers it once somebody has waited for the process. */
static bool remembered(int pidfd, int *status)
{
	struct end_info info = {.mask = END_INFO_EXIT};

	if (ioctl(pidfd, END_INFO_GET, &info) < 0 || !(info.mask & END_INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* Field 52 of a zombie's stat (proc(5)); to others than its user it says 0. */
static bool read_zombie(pid_t pid, int *status)
{
	char path[40], text[1024];
	struct stat owner;
	const char *at;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &owner) < 0 || owner.st_uid != geteuid())
		return false;
	got = read(fd, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	at = strrchr(text, ')');
	if (!at || !text_starts(at, ") Z"))
		return false;
	at = strrchr(text, ' ');
	*status = (int)strtol(at + 1, NULL, 10);
	return true;
}

/* Then whoever waits for it tells of it. */
static bool is_ours(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       info.si_pid == pid;
}

static void ready(struct source *source, uint32_t events)
{
	struct watched *watched = container_of(source, struct watched, source);
	struct process_ends *ends = watched->ends;
	pid_t pid = watched->pid;
	int status = -1;

	(void)events;
	if (is_ours(pid)) {
		drop(ends, watched);
		return;
	}
	if (!remembered(source->fd, &status) && !read_zombie(pid, &status) &&
		!remembered(source->fd, &status)) /* waited for between the two */
		status = -1;
	drop(ends, watched);
	ends->ended(ends->arg, pid, status);
}

bool process_ends_watch(struct process_ends *ends, pid_t pid)
{
	struct watched *watched;
	int fd;

	for (watched = ends->all; watched; watched = watched->next)
		if (watched->pid == pid)
			return true;
	if (ends->count == PROCESS_ENDS_MOST)
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	watched = memory_new(sizeof(*watched));
	*watched = (struct watched){
		.source = {.fd = fd, .ready = ready}, .ends = ends, .next = ends->all, .pid = pid};
	if (loop_add(ends->loop, &watched->source, EPOLLIN, NULL) < 0) {
		close(fd);
		free(watched);
		return false;
	}
	ends->all = watched;
	ends->count++;
	return true;
}
