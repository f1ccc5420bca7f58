#include "recent_writers.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

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
	writers->items[writers->count++] = (struct recent_writer){.pid = pid, .ms = now_ms};
	return true;
}

void recent_writers_forget(struct recent_writers *writers, pid_t pid)
{
	for (size_t i = 0; i < writers->count; i++)
		if (writers->items[i].pid == pid)
			writers->items[i] = writers->items[--writers->count];
}

static bool is_gone(pid_t pid)
{
	auto_(bytes_release) struct bytes stat = {.limit = 8192};
	char path[40];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read(path, &stat, NULL) < 0)
		return true;
	/* The name before the state may hold anything, a parenthesis too. */
	state = memrchr(stat.data, ')', stat.size);
	return !state || state + 2 >= (char *)stat.data + stat.size || state[2] == 'Z' ||
	       state[2] == 'X';
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

		if (is_gone(pid) && !is_unreaped_child(pid)) {
			writers->items[i] = writers->items[--writers->count];
			return pid;
		}
	}
	return 0;
}
