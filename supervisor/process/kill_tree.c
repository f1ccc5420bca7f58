#include "kill_tree.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process_role.h"
#include "process_tree.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct killed {
	pid_t pid;
	uint64_t start_time;
};

static bool was_killed(const struct killed *killed, size_t count, const struct process *process)
{
	for (size_t i = 0; i < count; i++)
		if (killed[i].pid == process->pid && killed[i].start_time == process->start_time)
			return true;
	return false;
}

/* Reads the descendants once, kills them, and appends them to `*killed`. Returns how many are
 * alive. */
static size_t kill_round(pid_t root, struct killed **killed, size_t *count)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	size_t before = *count, alive = 0;

	if (process_tree_read(root, PROCESS_TREE_BRIEF, &tree, NULL) < 0)
		return 0;
	*killed = memory_grow(*killed, before + tree.count + 1, sizeof(**killed));
	for (size_t i = 0; i < tree.count; i++) {
		const struct process *process = &tree.processes[i];

		if (process->pid == root || process_is_dead(process))
			continue;
		alive++;
		/* If the process was reaped and its PID reused since, the start time differs. */
		if (was_killed(*killed, before, process) ||
		    process_start_time(process->pid) != process->start_time)
			continue;
		if (kill(process->pid, SIGKILL) == 0)
			(*killed)[(*count)++] = (struct killed){process->pid, process->start_time};
	}
	return alive;
}

size_t kill_tree_below(pid_t root)
{
	auto_free struct killed *killed = NULL;
	size_t count = 0, alive = 0;

	/* A process forked during one round is found in the next. After two rounds without a new
	 * process, none is left that could fork. */
	for (int round = 0, quiet = 0; round < 64 && quiet < 2; round++) {
		size_t before = count;

		alive = kill_round(root, &killed, &count);
		quiet = count == before ? quiet + 1 : 0;
	}
	return alive;
}

size_t kill_tree(void)
{
	return kill_tree_below(getpid());
}

static const struct process *find_parent(const struct process_tree *tree,
					 const struct process *process)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].pid == process->parent)
			return &tree->processes[i];
	return NULL;
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
		    !process_role_is_data_worker(process, find_parent(&tree, process)))
			count += kill(process->pid, SIGTERM) == 0;
	}
	return count;
}
