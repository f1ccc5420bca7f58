#include "rank_choice.h"

#include "base/text.h"
#include "signal_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
	const char *name; /* of a program or a Python module */
	enum rank_choice_role role;
};

// clang-format off
static const struct program programs[] = {
	{"sh", ROLE_WRAPPER}, {"bash", ROLE_WRAPPER}, {"dash", ROLE_WRAPPER}, {"zsh", ROLE_WRAPPER}, {"ksh", ROLE_WRAPPER},
	{"fish", ROLE_WRAPPER}, {"busybox", ROLE_WRAPPER}, {"tini", ROLE_WRAPPER}, {"docker-init", ROLE_WRAPPER},
	{"dumb-init", ROLE_WRAPPER}, {"catatonit", ROLE_WRAPPER}, {"conda", ROLE_WRAPPER}, {"mamba", ROLE_WRAPPER},
	{"micromamba", ROLE_WRAPPER}, {"sudo", ROLE_WRAPPER}, {"su", ROLE_WRAPPER}, {"timeout", ROLE_WRAPPER},
	{"make", ROLE_WRAPPER}, {"xargs", ROLE_WRAPPER}, {"uv", ROLE_WRAPPER}, {"poetry", ROLE_WRAPPER},
	{"torchrun", ROLE_LAUNCHER}, {"torch.distributed.run", ROLE_LAUNCHER}, {"torch.distributed.launch", ROLE_LAUNCHER},
	{"accelerate", ROLE_LAUNCHER}, {"accelerate-launch", ROLE_LAUNCHER}, {"accelerate.commands.launch", ROLE_LAUNCHER},
	{"deepspeed", ROLE_LAUNCHER}, {"deepspeed.launcher.runner", ROLE_LAUNCHER}, {"deepspeed.launcher.launch", ROLE_LAUNCHER},
	{"ft_launcher", ROLE_LAUNCHER}, {"horovodrun", ROLE_LAUNCHER}, {"mpirun", ROLE_LAUNCHER}, {"mpiexec", ROLE_LAUNCHER},
	{"mpirun.real", ROLE_LAUNCHER}, {"orterun", ROLE_LAUNCHER}, {"prterun", ROLE_LAUNCHER}, {"prun", ROLE_LAUNCHER},
	{"hydra_pmi_proxy", ROLE_LAUNCHER}, {"mpiexec.hydra", ROLE_LAUNCHER}, {"srun", ROLE_LAUNCHER},
};
// clang-format on

static enum rank_choice_role role_of_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (slash)
		name = slash + 1;
	if (*name == '-') /* a login shell */
		name++;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (text_equal(name, programs[i].name))
			return programs[i].role;
	return ROLE_JOB;
}

/* The argument behind this one, or NULL at the end of what was read. */
static const char *next_argument(const struct process *process, const char *argument)
{
	const char *next = argument + strlen(argument) + 1;

	return next < process->command + process->command_size ? next : NULL;
}

/* "python -u -m MODULE ..." and "python /usr/bin/torchrun ...": what the interpreter runs is what counts. */
static enum rank_choice_role role_of_python(const struct process *process)
{
	const char *argument = next_argument(process, process->command);

	while (argument && argument[0] == '-' && argument[1] != '\0') {
		const char *next = next_argument(process, argument);

		if (text_equal(argument, "-m"))
			return next ? role_of_name(next) : ROLE_JOB;
		if (text_equal(argument, "-c"))
			return ROLE_JOB;
		if (next && (text_equal(argument, "-W") || text_equal(argument, "-X")))
			next = next_argument(process, next);
		argument = next;
	}
	return argument ? role_of_name(argument) : ROLE_JOB;
}

enum rank_choice_role rank_choice_role(const struct process *process)
{
	const char *name = process->command_size > 0 ? process->command : process->comm;
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	enum rank_choice_role role;

	if (process->command_size > 0 && (text_starts(base, "python") || text_starts(base, "pypy")))
		return role_of_python(process);
	role = role_of_name(name);
	/* argv[0] is whatever its parent liked; a shell stays one by its file. */
	return role == ROLE_JOB && process->executable[0] ? role_of_name(process->executable)
							  : role;
}

/* What one choice is made from: the table, and per row what follows from it. */
struct facts {
	const struct process_tree *tree;
	int *parents;                 /* row of the parent, or -1 */
	enum rank_choice_role *roles; /* of those that catch it; ROLE_JOB otherwise */
	bool *below_main;             /* the main process, and all below it */
	bool *catches;
	bool *chosen;
};

static int row_of(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].pid == pid)
			return (int)i;
	return -1;
}

static void facts_init(
	struct facts *facts, const struct process_tree *tree, pid_t main_pid, int signal)
{
	size_t count = tree->count + 1; /* never nothing */

	*facts = (struct facts){
		.tree = tree,
		.parents = memory_new(count * sizeof(*facts->parents)),
		.roles = memory_new(count * sizeof(*facts->roles)),
		.below_main = memory_new(count * sizeof(*facts->below_main)),
		.catches = memory_new(count * sizeof(*facts->catches)),
		.chosen = memory_new(count * sizeof(*facts->chosen)),
	};
	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];
		int parent = row_of(tree, process->parent);

		facts->parents[i] = parent < (int)i ? parent : -1;
		facts->catches[i] = !process_is_dead(process) &&
				    (process->caught & process_signal_bit(signal)) != 0;
		facts->roles[i] = facts->catches[i] ? rank_choice_role(process) : ROLE_JOB;
		facts->below_main[i] =
			process->pid == main_pid ||
			(facts->parents[i] >= 0 && facts->below_main[facts->parents[i]]);
	}
}

static void facts_release(struct facts *facts)
{
	free(facts->parents);
	free(facts->roles);
	free(facts->below_main);
	free(facts->catches);
	free(facts->chosen);
}

static bool may_be_asked(const struct facts *facts, size_t row)
{
	return facts->catches[row] && facts->roles[row] == ROLE_JOB;
}

static bool is_below_chosen(const struct facts *facts, size_t row)
{
	for (int above = facts->parents[row]; above >= 0; above = facts->parents[above])
		if (facts->chosen[above])
			return true;
	return false;
}

static int64_t rank_of(const struct process *process)
{
	return process->rank != PROCESS_NO_RANK ? process->rank : process->local_rank;
}

/* Workers of a rank inherit its environment and its handler, so the first in the table (nearest to the top) is the rank. */
static size_t choose_ranks(struct facts *facts)
{
	size_t chosen = 0;

	for (size_t i = 0; i < facts->tree->count; i++) {
		int64_t rank = rank_of(&facts->tree->processes[i]);
		bool taken = rank == PROCESS_NO_RANK || !may_be_asked(facts, i);

		for (size_t j = 0; j < i && !taken; j++)
			taken = facts->chosen[j] && rank_of(&facts->tree->processes[j]) == rank;
		facts->chosen[i] = !taken;
		chosen += !taken;
	}
	return chosen;
}

static size_t choose_writers(struct facts *facts, const pid_t *writers, size_t writer_count)
{
	size_t chosen = 0;

	for (size_t i = 0; i < facts->tree->count; i++) {
		bool writes = false;

		for (size_t j = 0; j < writer_count && !writes; j++)
			writes = writers[j] == facts->tree->processes[i].pid;
		facts->chosen[i] = writes && may_be_asked(facts, i) && !is_below_chosen(facts, i);
		chosen += facts->chosen[i];
	}
	return chosen;
}

static size_t choose_topmost(struct facts *facts)
{
	size_t chosen = 0;

	for (size_t i = 0; i < facts->tree->count; i++) {
		facts->chosen[i] = facts->below_main[i] && may_be_asked(facts, i) &&
				   !is_below_chosen(facts, i);
		chosen += facts->chosen[i];
	}
	return chosen;
}

/* `trap 'kill -USR1 $pid' USR1` in a script: the nearest to the top, and only where nobody else would hear it. */
static size_t choose_wrapper(struct facts *facts)
{
	for (size_t i = 0; i < facts->tree->count; i++) {
		facts->chosen[i] = facts->below_main[i] && facts->catches[i] &&
				   facts->roles[i] == ROLE_WRAPPER;
		if (facts->chosen[i])
			return 1;
	}
	return 0;
}

static void explain(const struct facts *facts, int signal, struct rank_choice *choice)
{
	char name[SIGNAL_NAME_SIZE];

	signal_name_format(signal, name);
	for (size_t i = 0; i < facts->tree->count; i++) {
		const struct process *process = &facts->tree->processes[i];

		if (facts->roles[i] != ROLE_LAUNCHER)
			continue;
		snprintf(choice->reason, sizeof(choice->reason),
			"only the launcher %s (pid %d) catches %s, and it must not be asked",
			process->comm, (int)process->pid, name);
		return;
	}
	snprintf(choice->reason, sizeof(choice->reason), "no process of the job catches %s yet",
		name);
}

void rank_choice_make(const struct process_tree *tree, pid_t main_pid, int signal,
	const pid_t *writers, size_t writer_count, struct rank_choice *choice)
{
	struct facts facts;
	size_t chosen;

	*choice = (struct rank_choice){0};
	facts_init(&facts, tree, main_pid, signal);
	chosen = choose_ranks(&facts);
	if (chosen == 0)
		chosen = choose_writers(&facts, writers, writer_count);
	if (chosen == 0)
		chosen = choose_topmost(&facts);
	if (chosen == 0)
		chosen = choose_wrapper(&facts);
	if (chosen == 0)
		explain(&facts, signal, choice);
	choice->pids = memory_new((chosen + 1) * sizeof(*choice->pids));
	for (size_t i = 0; i < tree->count; i++)
		if (facts.chosen[i])
			choice->pids[choice->count++] = tree->processes[i].pid;
	facts_release(&facts);
}

void rank_choice_release(struct rank_choice *choice)
{
	free(choice->pids);
	*choice = (struct rank_choice){0};
}
