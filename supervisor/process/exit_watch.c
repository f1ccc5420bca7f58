#include "process.h"

#include "base/text.h"
#include "process_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* struct pidfd_info of linux/pidfd.h 6.15, which older headers do not have; its later members are
 * not needed. */
struct exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};
#define EXIT_INFO_MASK_EXIT (UINT64_C(1) << 3)
#define EXIT_INFO_IOCTL _IOWR(0xFF, 11, struct exit_info)

struct watched_process {
	struct source source;
	struct exit_watch *watch;
	struct watched_process *next;
	pid_t pid;
};

struct exit_watch {
	struct loop *loop;
	exit_watch_fn *ended;
	void *arg;
	struct watched_process *all;
	size_t count;
};

struct exit_watch *exit_watch_new(struct loop *loop, exit_watch_fn *ended, void *arg)
{
	struct exit_watch *watch = memory_new(sizeof(*watch));

	*watch = (struct exit_watch){.loop = loop, .ended = ended, .arg = arg};
	return watch;
}

static void drop_process(struct exit_watch *watch, struct watched_process *watched)
{
	struct watched_process **link = &watch->all;

	while (*link != watched)
		link = &(*link)->next;
	*link = watched->next;
	watch->count--;
	loop_remove(watch->loop, &watched->source);
	close(watched->source.fd);
	free(watched);
}

void exit_watch_free(struct exit_watch *watch)
{
	if (!watch)
		return;
	while (watch->all)
		drop_process(watch, watch->all);
	free(watch);
}

/* From Linux 6.15 on the kernel keeps the exit status after the process was reaped. */
static bool read_pidfd_status(int pidfd, int *status)
{
	struct exit_info info = {.mask = EXIT_INFO_MASK_EXIT};

	if (ioctl(pidfd, EXIT_INFO_IOCTL, &info) < 0 || !(info.mask & EXIT_INFO_MASK_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

/* The exit status of a zombie in /proc/PID/stat, which the kernel hides from other users. */
static bool read_zombie(pid_t pid, int *status)
{
	struct proc_stat stat;

	if (!proc_read_stat(pid, &stat) || stat.owner != geteuid() || stat.state != 'Z')
		return false;
	*status = stat.exit_status;
	return true;
}

/* Our own children are reported by the code that reaps them. */
static bool is_own_child(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       info.si_pid == pid;
}

static void pidfd_became_readable(struct source *source, uint32_t events)
{
	struct watched_process *watched = container_of(source, struct watched_process, source);
	struct exit_watch *watch = watched->watch;
	pid_t pid = watched->pid;
	int status = -1;

	(void)events;
	if (is_own_child(pid)) {
		drop_process(watch, watched);
		return;
	}
	if (!read_pidfd_status(source->fd, &status) && !read_zombie(pid, &status) &&
	    !read_pidfd_status(source->fd, &status)) /* reaped between the two calls */
		status = -1;
	drop_process(watch, watched);
	watch->ended(watch->arg, pid, status);
}

bool exit_watch_add(struct exit_watch *watch, pid_t pid)
{
	struct watched_process *watched;
	int fd;

	for (watched = watch->all; watched; watched = watched->next)
		if (watched->pid == pid)
			return true;
	if (watch->count == EXIT_WATCH_MOST)
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	watched = memory_new(sizeof(*watched));
	*watched = (struct watched_process){
		.source = {.fd = fd, .ready = pidfd_became_readable},
		.watch = watch,
		.next = watch->all,
		.pid = pid,
	};
	if (loop_add(watch->loop, &watched->source, EPOLLIN, NULL) < 0) {
		close(fd);
		free(watched);
		return false;
	}
	watch->all = watched;
	watch->count++;
	return true;
}
