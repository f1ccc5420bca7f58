#include "rank_selection.h"

#include "base/text.h"
#include "process/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The process table, and what is derived from it for each row. */
struct facts {
	const struct process_tree *tree;
	const struct rank_criteria *criteria;
	int *parents; /* row of the parent, or -1 */
	enum process_role *roles;
	bool *below_main; /* the main process and its descendants */
	bool *catches_signal;
	bool *is_helper; /* DataLoader workers and their descendants */
	bool *chosen;
};

static int find_row(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].pid == pid)
			return (int)i;
	return -1;
}

/* The Go runtime has a handler for every signal, and yet ends at these unless the program asked for
 * them, which /proc does not show. */
static bool ends_go_program(int signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGABRT ||
	       signal == SIGTERM;
}

static bool catches_signal(const struct process *process, int signal)
{
	if (process_is_dead(process) || !(process->caught & process_signal_bit(signal)))
		return false;
	return !process_role_catches_every_signal(process) || !ends_go_program(signal);
}

static void facts_init(struct facts *facts, const struct process_tree *tree,
		       const struct rank_criteria *criteria)
{
	size_t count = tree->count + 1; /* never 0 bytes */

	*facts = (struct facts){
		.tree = tree,
		.criteria = criteria,
		.parents = memory_new(count * sizeof(*facts->parents)),
		.roles = memory_new(count * sizeof(*facts->roles)),
		.below_main = memory_new(count * sizeof(*facts->below_main)),
		.catches_signal = memory_new(count * sizeof(*facts->catches_signal)),
		.is_helper = memory_new(count * sizeof(*facts->is_helper)),
		.chosen = memory_new(count * sizeof(*facts->chosen)),
	};
	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];
		int row = find_row(tree, process->parent);
		int parent = row < (int)i ? row : -1;

		facts->parents[i] = parent;
		facts->catches_signal[i] = catches_signal(process, criteria->signal);
		facts->roles[i] = process_role(process);
		facts->below_main[i] = process->pid == criteria->main_pid ||
				       (parent >= 0 && facts->below_main[parent]);
		facts->is_helper[i] =
			process_role_is_data_worker(process, parent >= 0 ? &tree->processes[parent]
									 : NULL) ||
			(parent >= 0 && facts->is_helper[parent]);
	}
}

static void facts_release(struct facts *facts)
{
	free(facts->parents);
	free(facts->roles);
	free(facts->below_main);
	free(facts->catches_signal);
	free(facts->is_helper);
	free(facts->chosen);
}

static bool may_be_asked(const struct facts *facts, size_t row)
{
	return facts->catches_signal[row] && facts->roles[row] == ROLE_JOB &&
	       !facts->is_helper[row];
}

static bool is_below(const struct facts *facts, size_t row, size_t above)
{
	for (int next = facts->parents[row]; next >= 0; next = facts->parents[next])
		if ((size_t)next == above)
			return true;
	return false;
}

static bool is_below_chosen(const struct facts *facts, size_t row)
{
	for (int above = facts->parents[row]; above >= 0; above = facts->parents[above])
		if (facts->chosen[above])
			return true;
	return false;
}

static bool is_above_chosen(const struct facts *facts, size_t row)
{
	for (size_t i = row + 1; i < facts->tree->count; i++)
		if (facts->chosen[i] && is_below(facts, i, row))
			return true;
	return false;
}

/* --- ranks by the environment --- */

static int64_t rank_number(const struct process *process)
{
	if (process->rank != PROCESS_NO_RANK)
		return process->rank;
	return process->mpi_rank != PROCESS_NO_RANK ? process->mpi_rank : process->local_rank;
}

/* A pod's RANK is in the environment of all its processes, so that all three numbers count. */
static bool same_rank(const struct process *a, const struct process *b)
{
	return a->rank == b->rank && a->mpi_rank == b->mpi_rank && a->local_rank == b->local_rank;
}

/*
 * multiprocessing passes os.environ on. If the parent has put a RANK there after its own start, its
 * workers show a RANK in /proc and the parent does not; the parent is then the rank. But workers
 * with different RANKs are ranks themselves.
 */
static bool inherits_rank(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;
	int parent = facts->parents[row];

	if (parent < 0 || !process_role_is_spawned(&processes[row]) ||
	    facts->roles[parent] != ROLE_JOB || !facts->catches_signal[parent])
		return false;
	if (rank_number(&processes[parent]) != PROCESS_NO_RANK)
		return true;
	for (size_t i = 0; i < facts->tree->count; i++)
		if (facts->parents[i] == parent && process_role_is_spawned(&processes[i]) &&
		    !same_rank(&processes[i], &processes[row]))
			return false;
	return true;
}

static bool has_own_rank(const struct facts *facts, size_t row)
{
	const struct process *process = &facts->tree->processes[row];

	return rank_number(process) != PROCESS_NO_RANK && facts->roles[row] == ROLE_JOB &&
	       !process_is_dead(process) && !facts->is_helper[row] && !inherits_rank(facts, row);
}

/* Is it a launcher of the user's own, in a pod that has a RANK? The processes that it started then
 * have another rank. */
static bool launches_ranks(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = row + 1; i < facts->tree->count; i++)
		if (has_own_rank(facts, i) && is_below(facts, i, row) &&
		    !same_rank(&processes[i], &processes[row]))
			return true;
	return false;
}

static bool is_rank_chosen(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = 0; i < facts->tree->count; i++)
		if (facts->chosen[i] && same_rank(&processes[i], &processes[row]))
			return true;
	return false;
}

/* If a main process starts the other ranks itself (Lightning does), they have the numbers 1, 2,
 * ..., and the main process is rank 0 without a number in its environment. */
static void choose_unnumbered(struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	int parent = -1;

	for (size_t i = 0; i < facts->tree->count; i++) {
		if (!facts->chosen[i])
			continue;
		if (processes[i].local_rank <= 0 || (parent >= 0 && facts->parents[i] != parent))
			return;
		parent = facts->parents[i];
	}
	if (parent >= 0 && may_be_asked(facts, (size_t)parent) &&
	    process_role_script(&processes[parent]))
		facts->chosen[parent] = true;
}

/*
 * Workers of a rank inherit its environment and its handler, so that the first process in the
 * table, which is the topmost, is the rank. Orphans come last: such a process may be a worker of a
 * rank that died and was started again.
 */
static void choose_ranks(struct facts *facts)
{
	for (int orphans = 0; orphans <= 1; orphans++)
		for (size_t i = 0; i < facts->tree->count; i++)
			if (facts->below_main[i] == !orphans && may_be_asked(facts, i) &&
			    has_own_rank(facts, i) && !is_rank_chosen(facts, i) &&
			    !launches_ranks(facts, i))
				facts->chosen[i] = true;
	choose_unnumbered(facts);
}

/* Number of ranks in the environment, with those that have no handler. */
static size_t count_ranks(const struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	size_t count = 0;

	for (size_t i = 0; i < facts->tree->count; i++) {
		bool counts = has_own_rank(facts, i) && !launches_ranks(facts, i);

		for (size_t j = 0; j < i && counts; j++)
			counts =
				!has_own_rank(facts, j) || !same_rank(&processes[i], &processes[j]);
		count += counts;
	}
	return count;
}

/* --- jobs without ranks in the environment --- */

/* Does it write, and has it begun with the save that is under way? What copies a checkpoint does.
 */
static bool is_new_writer(const struct rank_criteria *criteria, pid_t pid)
{
	for (size_t i = criteria->saver_count; i < criteria->writer_count; i++)
		if (criteria->writers[i] == pid)
			return true;
	return false;
}

static void choose_savers(struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	const struct rank_criteria *criteria = facts->criteria;

	for (size_t i = 0; i < facts->tree->count; i++) {
		bool saves = false;

		for (size_t j = 0; j < criteria->saver_count && !saves; j++)
			saves = criteria->writers[j] == processes[i].pid;
		facts->chosen[i] = saves && may_be_asked(facts, i) && !is_below_chosen(facts, i);
	}
}

/* `xargs -P 4 python train.py`: if one of them has saved already, the others are to be asked as
 * well. */
static void choose_beside_savers(struct facts *facts, size_t chosen)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = 0; i < facts->tree->count && chosen > 0; i++)
		for (size_t j = 0; j < facts->tree->count && !facts->chosen[i]; j++)
			facts->chosen[i] = facts->chosen[j] && facts->below_main[i] &&
					   may_be_asked(facts, i) && !is_below_chosen(facts, i) &&
					   !is_above_chosen(facts, i) &&
					   process_role_same_program(&processes[i], &processes[j]);
}

static void choose_topmost(struct facts *facts)
{
	for (size_t i = 0; i < facts->tree->count; i++)
		facts->chosen[i] = facts->below_main[i] && may_be_asked(facts, i) &&
				   !is_new_writer(facts->criteria, facts->tree->processes[i].pid) &&
				   !process_role_catches_every_signal(&facts->tree->processes[i]) &&
				   !is_below_chosen(facts, i);
}

/* `trap 'kill -USR1 $pid' USR1` in a script, or a Go program: the topmost, and only if no other
 * process catches the signal. */
static void choose_wrapper(struct facts *facts)
{
	for (size_t i = 0; i < facts->tree->count; i++) {
		facts->chosen[i] = facts->below_main[i] && facts->catches_signal[i] &&
				   !facts->is_helper[i] && facts->roles[i] < ROLE_LAUNCHER &&
				   !is_new_writer(facts->criteria, facts->tree->processes[i].pid);
		if (facts->chosen[i])
			return;
	}
}

/* --- the choice --- */

static size_t count_chosen(const struct facts *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->tree->count; i++)
		count += facts->chosen[i];
	return count;
}

/* Keeps only the lowest rank; for RANK_0 none, if the lowest has another number than 0. */
static void keep_lowest_rank(struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	int best = -1;

	for (size_t i = 0; i < facts->tree->count; i++) {
		if (!facts->chosen[i])
			continue;
		facts->chosen[i] = false;
		if (best < 0 || rank_number(&processes[i]) < rank_number(&processes[best]))
			best = (int)i;
	}
	if (best < 0 ||
	    (facts->criteria->whom == PROFILE_TARGET_RANK_0 && rank_number(&processes[best]) > 0))
		return;
	facts->chosen[best] = true;
}

static bool was_asked(const struct rank_criteria *criteria, const struct process *process)
{
	int64_t number = rank_number(process);

	for (size_t i = 0; i < criteria->asked_count; i++) {
		const struct rank *asked = &criteria->asked[i];

		if (asked->pid == process->pid && asked->start_time == process->start_time)
			return true;
		if (number != PROCESS_NO_RANK && asked->number == number)
			return true;
	}
	return false;
}

static void explain_no_target(const struct facts *facts, bool others,
			      struct rank_selection *selection)
{
	char name[SIGNAL_NAME_SIZE];

	signal_name_format(facts->criteria->signal, name);
	if (others) {
		snprintf(selection->reason, sizeof(selection->reason),
			 "only rank 0 may be asked, and no rank 0 on this machine catches %s",
			 name);
		return;
	}
	for (size_t i = 0; i < facts->tree->count; i++) {
		const struct process *process = &facts->tree->processes[i];

		if (facts->roles[i] != ROLE_LAUNCHER || !facts->catches_signal[i])
			continue;
		snprintf(selection->reason, sizeof(selection->reason),
			 "only the launcher %s (pid %d) catches %s, and it must not be asked",
			 process->comm, (int)process->pid, name);
		return;
	}
	snprintf(selection->reason, sizeof(selection->reason),
		 "no process of the job catches %s yet", name);
}

static void choose_processes(struct facts *facts)
{
	choose_ranks(facts);
	if (count_chosen(facts) > 0)
		return;
	choose_savers(facts);
	choose_beside_savers(facts, count_chosen(facts));
	if (count_chosen(facts) == 0)
		choose_topmost(facts);
	if (count_chosen(facts) == 0)
		choose_wrapper(facts);
}

void rank_selection_make(const struct process_tree *tree, const struct rank_criteria *criteria,
			 struct rank_selection *selection)
{
	bool all = criteria->whom == PROFILE_TARGET_ALL;
	struct facts facts;
	size_t candidates;

	*selection = (struct rank_selection){0};
	facts_init(&facts, tree, criteria);
	if (criteria->asked_count == 0)
		choose_processes(&facts);
	else if (all)
		choose_ranks(&facts);
	candidates = count_chosen(&facts);
	if (!all)
		keep_lowest_rank(&facts);
	selection->ranks = memory_new((candidates + 1) * sizeof(*selection->ranks));
	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];

		if (facts.chosen[i] && !was_asked(criteria, process))
			selection->ranks[selection->count++] =
				(struct rank){process->pid, process->start_time,
					      rank_number(process)};
	}
	selection->expected = all ? count_ranks(&facts) : 1;
	if (selection->expected < selection->count + criteria->asked_count)
		selection->expected = selection->count + criteria->asked_count;
	if (selection->count == 0)
		explain_no_target(&facts, candidates > 0 && !all, selection);
	facts_release(&facts);
}

void rank_selection_release(struct rank_selection *selection)
{
	free(selection->ranks);
	*selection = (struct rank_selection){0};
}
