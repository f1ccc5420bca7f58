/* Whom a checkpoint signal goes to: tables of process trees as they are met. */
#include "rank_choice.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MAIN 10
#define MOST 12

#define USR1 (UINT64_C(1) << (SIGUSR1 - 1))
#define TERM (UINT64_C(1) << (SIGTERM - 1))

/* `rank` and `local_rank` count from 1 here, so that a row that says nothing has none. */
struct row {
	pid_t pid, parent;
	const char *command; /* arguments apart by blanks */
	uint64_t caught;
	int rank, local_rank;
	char state;
	const char *executable;
};

struct scene {
	const char *name;
	struct row rows[MOST];
	int signal;
	pid_t writers[4];
	pid_t chosen[4];
	const char *reason; /* part of it, where nobody is chosen */
};

#define P(PID, PARENT, COMMAND, CAUGHT, ...)                                                    \
	{                                                                                       \
		.pid = PID, .parent = PARENT, .command = COMMAND, .caught = CAUGHT, __VA_ARGS__ \
	}

// clang-format off
static const struct scene scenes[] = {
	{"main catches itself",
		{P(10, 1, "python train.py", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{"nobody catches",
		{P(10, 1, "python train.py", TERM)},
		SIGUSR1, {0}, {0}, "no process of the job catches SIGUSR1 yet"},
	{"no process at all", {{.pid = 0}}, SIGUSR1, {0}, {0}, "no process"},
	{"workers inherit the handler of main",
		{P(10, 1, "python train.py", USR1),
			P(11, 10, "python train.py", USR1),
			P(12, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{"bash script and python",
		{P(10, 1, "bash train.sh", 0),
			P(11, 10, "python train.py", USR1),
			P(12, 11, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{"bash with a trap is passed over for python",
		{P(10, 1, "/bin/bash ./train.sh", USR1),
			P(11, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{"bash with a trap, python without: the trap is meant",
		{P(10, 1, "/bin/bash ./train.sh", USR1),
			P(11, 10, "python train.py", 0)},
		SIGUSR1, {0}, {10}, NULL},
	{"a shell under another argv[0]",
		{P(10, 1, "trainer", USR1, .executable = "bash"),
			P(11, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{"torchrun, 2 ranks, workers",
		{P(10, 1, "/usr/bin/python3 /usr/bin/torchrun --nproc_per_node=2 t.py", TERM),
			P(20, 10, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(21, 10, "python -u t.py", USR1, .rank = 2, .local_rank = 2),
			P(30, 20, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(31, 20, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(32, 21, "python -u t.py", USR1, .rank = 2, .local_rank = 2)},
		SIGUSR1, {0}, {20, 21}, NULL},
	{"SIGTERM goes round torchrun",
		{P(10, 1, "python -m torch.distributed.run t.py", TERM),
			P(20, 10, "python -u t.py", TERM, .rank = 1, .local_rank = 1),
			P(21, 10, "python -u t.py", TERM, .rank = 2, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{"SIGTERM with nobody but torchrun to catch it",
		{P(10, 1, "python -u -m torch.distributed.run t.py", TERM),
			P(20, 10, "python -u t.py", 0, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {0}, "only the launcher"},
	{"a rank of the pod in everybody's environment",
		{P(10, 1, "bash run.sh", TERM, .rank = 1),
			P(11, 10, "torchrun t.py", TERM, .rank = 1),
			P(20, 11, "python -u t.py", TERM, .rank = 9, .local_rank = 1),
			P(21, 11, "python -u t.py", TERM, .rank = 10, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{"one of two ranks is ready",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", 0, .rank = 1, .local_rank = 1),
			P(21, 10, "python t.py", USR1, .rank = 2, .local_rank = 2)},
		SIGUSR1, {0}, {21}, NULL},
	{"LOCAL_RANK alone",
		{P(10, 1, "deepspeed t.py", TERM),
			P(20, 10, "python t.py", TERM, .local_rank = 1),
			P(21, 10, "python t.py", TERM, .local_rank = 2),
			P(22, 21, "python t.py", TERM, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{"a rank below a rank's own shell",
		{P(10, 1, "torchrun t.sh", TERM),
			P(20, 10, "bash t.sh", 0, .rank = 1, .local_rank = 1),
			P(21, 20, "python t.py", USR1, .rank = 1, .local_rank = 1),
			P(22, 21, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {21}, NULL},
	{"a rank whose parent is gone",
		{P(10, 1, "bash t.sh", 0),
			P(20, 1, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {20}, NULL},
	{"not of ours, and no rank",
		{P(10, 1, "bash t.sh", 0),
			P(20, 1, "python other.py", USR1)},
		SIGUSR1, {0}, {0}, "no process"},
	{"a zombie rank",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", USR1, .rank = 1, .local_rank = 1, .state = 'Z')},
		SIGUSR1, {0}, {0}, "no process"},
	{"the writer among those that catch",
		{P(10, 1, "python spawn.py", USR1),
			P(20, 10, "python -c spawn_main", USR1),
			P(21, 10, "python -c spawn_main", USR1)},
		SIGUSR1, {20}, {20}, NULL},
	{"a writer that does not catch",
		{P(10, 1, "python t.py", USR1),
			P(20, 10, "python t.py", 0)},
		SIGUSR1, {20}, {10}, NULL},
	{"a writer that is gone",
		{P(10, 1, "python t.py", USR1)},
		SIGUSR1, {99}, {10}, NULL},
	{"a writer below a writer",
		{P(10, 1, "bash t.sh", 0),
			P(20, 10, "python t.py", USR1),
			P(21, 20, "python t.py", USR1)},
		SIGUSR1, {21, 20}, {20}, NULL},
	{"ranks come before writers",
		{P(10, 1, "bash t.sh", 0),
			P(20, 10, "python t.py", USR1, .rank = 1),
			P(30, 10, "python log.py", USR1)},
		SIGUSR1, {30}, {20}, NULL},
	{"conda run",
		{P(10, 1, "python /opt/conda/bin/conda run -n x python t.py", TERM),
			P(11, 10, "bash /tmp/x", 0),
			P(12, 11, "python t.py", TERM)},
		SIGTERM, {0}, {12}, NULL},
	{"accelerate launch",
		{P(10, 1, "/usr/bin/python3 -W ignore -X dev /usr/local/bin/accelerate launch t.py", TERM),
			P(11, 10, "python t.py", TERM)},
		SIGTERM, {0}, {11}, NULL},
	{"srun: its tasks are elsewhere",
		{P(10, 1, "srun python t.py", USR1)},
		SIGUSR1, {0}, {0}, "launcher"},
	{"two jobs side by side in one script",
		{P(10, 1, "sh both.sh", 0),
			P(11, 10, "python a.py", USR1),
			P(12, 10, "python b.py", USR1)},
		SIGUSR1, {0}, {11, 12}, NULL},
	{"a kernel-like line without arguments",
		{P(10, 1, "", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{"python -c and a script that is named like a launcher's file",
		{P(10, 1, "python -c torchrun", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{"a real-time signal",
		{P(10, 1, "python t.py", UINT64_C(1) << 63)},
		64, {0}, {10}, NULL},
};
// clang-format on

static void fill(const struct row *row, struct process *process)
{
	*process = (struct process){
		.pid = row->pid,
		.parent = row->parent,
		.state = row->state ? row->state : 'S',
		.caught = row->caught,
		.rank = row->rank ? row->rank - 1 : PROCESS_NO_RANK,
		.local_rank = row->local_rank ? row->local_rank - 1 : PROCESS_NO_RANK,
		.command_size = row->command[0] ? strlen(row->command) + 1 : 0,
	};
	text_set(process->comm, sizeof(process->comm), row->command);
	text_set(process->executable, sizeof(process->executable),
		row->executable ? row->executable : "");
	text_set(process->command, sizeof(process->command), row->command);
	for (size_t i = 0; i < process->command_size; i++)
		if (process->command[i] == ' ')
			process->command[i] = '\0';
}

static void play(const struct scene *scene)
{
	struct process processes[MOST];
	struct process_tree tree = {.processes = processes};
	auto_(rank_choice_release) struct rank_choice choice = {0};
	size_t writers = 0, expected = 0;

	while (tree.count < MOST && scene->rows[tree.count].pid) {
		fill(&scene->rows[tree.count], &processes[tree.count]);
		tree.count++;
	}
	while (writers < 4 && scene->writers[writers])
		writers++;
	while (expected < 4 && scene->chosen[expected])
		expected++;
	rank_choice_make(&tree, MAIN, scene->signal, scene->writers, writers, &choice);
	print_message("%s: %zu chosen (%s)\n", scene->name, choice.count, choice.reason);
	assert_int_equal(choice.count, expected);
	for (size_t i = 0; i < expected; i++)
		assert_int_equal(choice.pids[i], scene->chosen[i]);
	if (expected == 0)
		assert_non_null(strstr(choice.reason, scene->reason));
	else
		assert_string_equal(choice.reason, "");
}

static void plays_all_scenes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		play(&scenes[i]);
}

/* Whatever the tree: only living processes with a handler, and none of them below another. */
static void never_asks_one_that_would_die(void **state)
{
	static const char *const commands[] = {"python t.py", "bash x", "torchrun t.py",
		"python -m torch.distributed.run", "srun t"};
	uint32_t seed = 1;

	(void)state;
	for (int run = 0; run < 20000; run++) {
		struct process processes[MOST];
		struct process_tree tree = {.processes = processes, .count = MOST};
		auto_(rank_choice_release) struct rank_choice choice = {0};
		pid_t writers[2];

		for (int i = 0; i < MOST; i++) {
			seed = seed * 1664525u + 1013904223u;
			uint32_t dice = seed >> 8;
			fill(&(struct row){.pid = MAIN + i,
				     .parent = i ? MAIN + (pid_t)(dice % (uint32_t)i) : 1,
				     .command = commands[dice % 5],
				     .caught = (dice >> 3) & 1 ? USR1 : TERM,
				     .rank = (int)((dice >> 4) % 4),
				     .state = (dice >> 7) % 8 ? 'S' : 'Z'},
				&processes[i]);
		}
		writers[0] = MAIN + (pid_t)(seed % MOST);
		writers[1] = MAIN + (pid_t)((seed >> 16) % MOST);
		rank_choice_make(&tree, MAIN, SIGUSR1, writers, 2, &choice);
		assert_true(choice.count > 0 || choice.reason[0]);
		for (size_t i = 0; i < choice.count; i++) {
			const struct process *process = &processes[choice.pids[i] - MAIN];

			assert_true(process->caught & USR1);
			assert_false(process_is_dead(process));
			assert_int_not_equal(rank_choice_role(process), ROLE_LAUNCHER);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plays_all_scenes),
		cmocka_unit_test(never_asks_one_that_would_die),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
