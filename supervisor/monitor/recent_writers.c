#include "monitor.h"

#include "process/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

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

/* A child of ours that exited: whoever waits for it tells more of it, and what the main process's
 * code means is not for us to say. */
static bool is_unreaped_child(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       info.si_pid == pid && info.si_code == CLD_EXITED;
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
