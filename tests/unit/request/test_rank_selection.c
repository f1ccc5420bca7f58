/* Whom a checkpoint signal goes to: tables of process trees as they are met. */
#include "request/request.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/process_tree.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define MAIN 10
#define MOST 12

#define USR1 (UINT64_C(1) << (SIGUSR1 - 1))
#define TERM (UINT64_C(1) << (SIGTERM - 1))

#define BIT(SIGNAL) (UINT64_C(1) << ((SIGNAL)-1))
/* What a DataLoader worker handles, and a Go program. */
#define WORKER (BIT(SIGTERM) | BIT(SIGBUS) | BIT(SIGSEGV) | BIT(SIGFPE))
#define GO UINT64_C(0xfffffffe3bfaffff)

/* Ranks count from 1 here, so that a row that says nothing has none. Arguments are apart by blanks;
 * '~' is a blank in one. */
struct row {
	pid_t pid, parent;
	const char *command;
	uint64_t caught;
	int rank, local_rank, mpi_rank;
	char state;
	const char *executable, *comm;
};

struct scene {
	const char *name;
	struct row rows[MOST];
	int signal;
	pid_t writers[4]; /* they have saved before, unless `is_new` */
	pid_t chosen[4];
	const char *reason; /* part of it, where nobody is chosen */
	enum profile_target whom;
	size_t expected; /* 0: as many as are chosen */
	struct rank asked[3];
	bool is_new;
};

#define P(PID, PARENT, COMMAND, CAUGHT, ...)                                                    \
	{                                                                                       \
		.pid = PID, .parent = PARENT, .command = COMMAND, .caught = CAUGHT, __VA_ARGS__ \
	}

// clang-format off
static const struct scene scenes[] = {
	{.name = "main catches itself",
		{P(10, 1, "python train.py", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "nobody catches",
		{P(10, 1, "python train.py", TERM)},
		SIGUSR1, {0}, {0}, "no process of the job catches SIGUSR1 yet"},
	{.name = "no process at all", {{.pid = 0}}, SIGUSR1, {0}, {0}, "no process"},
	{.name = "workers inherit the handler of main",
		{P(10, 1, "python train.py", USR1),
			P(11, 10, "python train.py", USR1),
			P(12, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "a container whose monitor is nobody's child",
		{P(10, 1, "podman run image python train.py", GO),
			P(11, 1, "/usr/bin/conmon -n any", TERM),
			P(12, 11, "python train.py", USR1)},
		SIGUSR1, {0}, {12}, NULL},
	{.name = "another orphan is not asked",
		{P(10, 1, "podman run image python train.py", GO),
			P(11, 1, "python serve.py", USR1)},
		SIGUSR1, {0}, {0}, "no process of the job catches"},
	{.name = "bash script and python",
		{P(10, 1, "bash train.sh", 0),
			P(11, 10, "python train.py", USR1),
			P(12, 11, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{.name = "bash with a trap is passed over for python",
		{P(10, 1, "/bin/bash ./train.sh", USR1),
			P(11, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{.name = "bash with a trap, python without: the trap is meant",
		{P(10, 1, "/bin/bash ./train.sh", USR1),
			P(11, 10, "python train.py", 0)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "a shell under another argv[0]",
		{P(10, 1, "trainer", USR1, .executable = "bash"),
			P(11, 10, "python train.py", USR1)},
		SIGUSR1, {0}, {11}, NULL},
	{.name = "torchrun, 2 ranks, workers",
		{P(10, 1, "/usr/bin/python3 /usr/bin/torchrun --nproc_per_node=2 t.py", TERM),
			P(20, 10, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(21, 10, "python -u t.py", USR1, .rank = 2, .local_rank = 2),
			P(30, 20, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(31, 20, "python -u t.py", USR1, .rank = 1, .local_rank = 1),
			P(32, 21, "python -u t.py", USR1, .rank = 2, .local_rank = 2)},
		SIGUSR1, {0}, {20, 21}, NULL},
	{.name = "SIGTERM goes round torchrun",
		{P(10, 1, "python -m torch.distributed.run t.py", TERM),
			P(20, 10, "python -u t.py", TERM, .rank = 1, .local_rank = 1),
			P(21, 10, "python -u t.py", TERM, .rank = 2, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{.name = "SIGTERM with nobody but torchrun to catch it",
		{P(10, 1, "python -u -m torch.distributed.run t.py", TERM),
			P(20, 10, "python -u t.py", 0, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {0}, "no process of the job catches"},
	{.name = "a rank of the pod in everybody's environment",
		{P(10, 1, "bash run.sh", TERM, .rank = 1),
			P(11, 10, "torchrun t.py", TERM, .rank = 1),
			P(20, 11, "python -u t.py", TERM, .rank = 9, .local_rank = 1),
			P(21, 11, "python -u t.py", TERM, .rank = 10, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{.name = "one of two ranks is ready",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", 0, .rank = 1, .local_rank = 1),
			P(21, 10, "python t.py", USR1, .rank = 2, .local_rank = 2)},
		SIGUSR1, {0}, {21}, NULL, .expected = 2},
	{.name = "LOCAL_RANK alone",
		{P(10, 1, "deepspeed t.py", TERM),
			P(20, 10, "python t.py", TERM, .local_rank = 1),
			P(21, 10, "python t.py", TERM, .local_rank = 2),
			P(22, 21, "python t.py", TERM, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{.name = "a rank below a rank's own shell",
		{P(10, 1, "torchrun t.sh", TERM),
			P(20, 10, "bash t.sh", 0, .rank = 1, .local_rank = 1),
			P(21, 20, "python t.py", USR1, .rank = 1, .local_rank = 1),
			P(22, 21, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {21}, NULL},
	{.name = "a rank whose parent is gone",
		{P(10, 1, "bash t.sh", 0),
			P(20, 1, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {20}, NULL},
	{.name = "not of ours, and no rank",
		{P(10, 1, "bash t.sh", 0),
			P(20, 1, "python other.py", USR1)},
		SIGUSR1, {0}, {0}, "no process"},
	{.name = "a zombie rank",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", USR1, .rank = 1, .local_rank = 1, .state = 'Z')},
		SIGUSR1, {0}, {0}, "no process"},
	{.name = "the writer among those that catch",
		{P(10, 1, "python spawn.py", USR1),
			P(20, 10, "python -c logger", USR1),
			P(21, 10, "python -c trainer", USR1)},
		SIGUSR1, {21}, {21}, NULL},
	{.name = "two that were spawned: one has written, both are ranks",
		{P(10, 1, "python spawn.py", USR1),
			P(20, 10,
			"python -c from~multiprocessing.spawn~import~spawn_main;(7)", USR1),
			P(21, 10,
			"python -c from~multiprocessing.spawn~import~spawn_main;(9)", USR1)},
		SIGUSR1, {20}, {20, 21}, NULL},
	{.name = "a copier of the user's own",
		{P(10, 1, "bash train.sh", 0),
			P(20, 10, "python copy.py", TERM)},
		SIGTERM, {20}, {0}, "no process", .is_new = true},
	{.name = "the same beside the trainer",
		{P(10, 1, "bash train.sh", 0),
			P(20, 10, "python copy.py", TERM),
			P(21, 10, "python train.py", TERM)},
		SIGTERM, {20}, {21}, NULL, .is_new = true},
	{.name = "a rank in its first save",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", TERM, .rank = 1)},
		SIGTERM, {20}, {20}, NULL, .is_new = true},
	{.name = "a tool that copies",
		{P(10, 1, "bash train.sh", 0),
			P(20, 10, "rsync -a a b", TERM)},
		SIGTERM, {20}, {0}, "no process"},
	{.name = "the same, and a trap",
		{P(10, 1, "bash train.sh", TERM),
			P(20, 10, "python aws s3 sync a b", TERM)},
		SIGTERM, {0}, {10}, NULL},
	{.name = "a writer that does not catch",
		{P(10, 1, "python t.py", USR1),
			P(20, 10, "python t.py", 0)},
		SIGUSR1, {20}, {10}, NULL},
	{.name = "a writer that is gone",
		{P(10, 1, "python t.py", USR1)},
		SIGUSR1, {99}, {10}, NULL},
	{.name = "a writer below a writer",
		{P(10, 1, "bash t.sh", 0),
			P(20, 10, "python t.py", USR1),
			P(21, 20, "python t.py", USR1)},
		SIGUSR1, {21, 20}, {20}, NULL},
	{.name = "ranks come before writers",
		{P(10, 1, "bash t.sh", 0),
			P(20, 10, "python t.py", USR1, .rank = 1),
			P(30, 10, "python log.py", USR1)},
		SIGUSR1, {30}, {20}, NULL},
	{.name = "conda run",
		{P(10, 1, "python /opt/conda/bin/conda run -n x python t.py", TERM),
			P(11, 10, "bash /tmp/x", 0),
			P(12, 11, "python t.py", TERM)},
		SIGTERM, {0}, {12}, NULL},
	{.name = "accelerate launch",
		{P(10, 1, "/usr/bin/python3 -W ignore -X dev /usr/local/bin/accelerate launch t.py",
			TERM),
			P(11, 10, "python t.py", TERM)},
		SIGTERM, {0}, {11}, NULL},
	{.name = "srun: its tasks are elsewhere",
		{P(10, 1, "srun python t.py", USR1)},
		SIGUSR1, {0}, {0}, "no process of the job catches"},
	{.name = "two jobs side by side in one script",
		{P(10, 1, "sh both.sh", 0),
			P(11, 10, "python a.py", USR1),
			P(12, 10, "python b.py", USR1)},
		SIGUSR1, {0}, {11, 12}, NULL},
	{.name = "a kernel-like line without arguments",
		{P(10, 1, "", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "python -c and a script that is named like a launcher's file",
		{P(10, 1, "python -c torchrun", USR1)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "the rank that comes late",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", USR1, .rank = 1, .local_rank = 1),
			P(21, 10, "python t.py", USR1, .rank = 2, .local_rank = 2),
			P(30, 20, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {21}, NULL, .expected = 2, .asked = {{20, 0, 0}}},
	{.name = "a rank that was asked and is gone: its worker is not it",
		{P(10, 1, "torchrun t.py", TERM),
			P(30, 10, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {0}, "no process", .expected = 1, .asked = {{20, 0, 0}}},
	{.name = "asked without ranks: nobody else afterwards",
		{P(10, 1, "python t.py", 0),
			P(11, 10, "python t.py", USR1)},
		SIGUSR1, {0}, {0}, "no process", .expected = 1, .asked = {{10, 0, -1}}},
	{.name = "rank 0 alone",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", TERM, .rank = 2, .local_rank = 2),
			P(21, 10, "python t.py", TERM, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {21}, NULL, .whom = PROFILE_TARGET_RANK_0},
	{.name = "rank 0 alone, and it is not ready",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", TERM, .rank = 2, .local_rank = 2),
			P(21, 10, "python t.py", 0, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {0}, "only rank 0", .whom = PROFILE_TARGET_RANK_0, .expected = 1},
	{.name = "any rank: the lowest that is here",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", TERM, .rank = 10, .local_rank = 2),
			P(21, 10, "python t.py", TERM, .rank = 9, .local_rank = 1)},
		SIGTERM, {0}, {21}, NULL, .whom = PROFILE_TARGET_ANY},
	{.name = "rank 0 alone, of a job without ranks",
		{P(10, 1, "bash t.sh", 0),
			P(11, 10, "python t.py", TERM)},
		SIGTERM, {0}, {11}, NULL, .whom = PROFILE_TARGET_RANK_0},
	{.name = "mpirun, and workers",
		{P(10, 1, "/usr/bin/mpirun -n 2 python t.py", TERM | USR1),
			P(20, 10, "python t.py", USR1, .mpi_rank = 1),
			P(21, 10, "python t.py", USR1, .mpi_rank = 2),
			P(30, 20, "python t.py", USR1, .mpi_rank = 1)},
		SIGUSR1, {20}, {20, 21}, NULL},
	{.name = "mpirun in a pod that has a RANK",
		{P(10, 1, "mpirun -n 2 python t.py", TERM, .rank = 1),
			P(20, 10, "python t.py", USR1, .rank = 1, .mpi_rank = 1),
			P(21, 10, "python t.py", USR1, .rank = 1, .mpi_rank = 2)},
		SIGUSR1, {0}, {20, 21}, NULL},
	{.name = "a launcher of the user's own in a pod that has a RANK",
		{P(10, 1, "python launch.py", TERM, .rank = 1),
			P(20, 10, "python t.py", TERM, .rank = 1, .local_rank = 1),
			P(21, 10, "python t.py", TERM, .rank = 2, .local_rank = 2)},
		SIGTERM, {0}, {20, 21}, NULL},
	{.name = "DataLoader workers handle SIGTERM, their rank does not",
		{P(10, 1, "python t.py", 0),
			P(11, 10, "python t.py", WORKER),
			P(12, 10, "python t.py", WORKER)},
		SIGTERM, {0}, {0}, "no process"},
	{.name = "the same below torchrun",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", 0, .rank = 1, .local_rank = 1),
			P(30, 20, "python t.py", WORKER, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {0}, "no process of the job catches", .expected = 1},
	{.name = "the same, spawned, and what such a worker starts",
		{P(10, 1, "python t.py", 0),
			P(11, 10,
			"python -c from~multiprocessing.spawn~import~spawn_main; "
			"--multiprocessing-fork", WORKER),
			P(12, 11, "python helper.py", TERM)},
		SIGTERM, {0}, {0}, "no process"},
	{.name = "a worker by its name, that writes",
		{P(10, 1, "python t.py", USR1),
			P(11, 10, "python t.py", USR1, .comm = "pt_data_worker")},
		SIGUSR1, {11}, {10}, NULL},
	{.name = "workers with the RANK that their parent has set itself",
		{P(10, 1, "python t.py", USR1),
			P(11, 10,
			"python -c from~multiprocessing.spawn~import~spawn_main;", USR1, .rank = 1),
			P(12, 10, "python -c from~multiprocessing.spawn~import~spawn_main;", USR1,
			.rank = 1)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "ranks that were given different ones by their parent",
		{P(10, 1, "python t.py", USR1),
			P(11, 10,
			"python -c from~multiprocessing.spawn~import~spawn_main;", USR1, .rank = 1),
			P(12, 10, "python -c from~multiprocessing.spawn~import~spawn_main;", USR1,
			.rank = 2)},
		SIGUSR1, {0}, {11, 12}, NULL},
	{.name = "the main process is rank 0 and has started the others",
		{P(10, 1, "python t.py", USR1),
			P(11, 10, "python t.py", USR1, .local_rank = 2),
			P(12, 10, "python t.py", USR1, .local_rank = 3)},
		SIGUSR1, {0}, {10, 11, 12}, NULL},
	{.name = "a worker whose rank is gone, and the rank that was started anew",
		{P(10, 1, "torchrun t.py", TERM),
			P(30, 1, "python t.py", USR1, .rank = 1, .local_rank = 1),
			P(40, 10, "python t.py", USR1, .rank = 1, .local_rank = 1)},
		SIGUSR1, {0}, {40}, NULL},
	{.name = "a Go helper of a rank that has no handler yet",
		{P(10, 1, "torchrun t.py", TERM),
			P(20, 10, "python t.py", 0, .rank = 1, .local_rank = 1),
			P(30, 20, "wandb-core", GO, .rank = 1, .local_rank = 1)},
		SIGTERM, {0}, {0}, "no process of the job catches", .expected = 1},
	{.name = "a Go program is asked by a signal that it can handle, where it is the job",
		{P(10, 1, "/opt/trainer", GO)},
		SIGUSR1, {0}, {10}, NULL},
	{.name = "and beside a Python that handles it, not",
		{P(10, 1, "sh t.sh", 0),
			P(11, 10, "exporter", GO),
			P(12, 10, "python t.py", USR1)},
		SIGUSR1, {0}, {12}, NULL},
	{.name = "xargs -P: one has saved already, the others are ranks as well",
		{P(10, 1, "xargs -P 3 python t.py", 0),
			P(11, 10, "/usr/bin/python t.py 1", USR1),
			P(12, 10, "/usr/bin/python t.py 2", USR1),
			P(13, 10, "python monitor.py", USR1)},
		SIGUSR1, {11}, {11, 12}, NULL},
	{.name = "tini and sudo",
		{P(10, 1, "/usr/bin/tini -g -- sudo -u me python t.py", TERM),
			P(11, 10, "sudo -u me python t.py", TERM | USR1),
			P(12, 11, "python t.py", USR1)},
		SIGUSR1, {0}, {12}, NULL},
	{.name = "python with its options put together",
		{P(10, 1, "python -um torch.distributed.run t.py", TERM),
			P(20, 10, "python t.py", 0, .rank = 1)},
		SIGTERM, {0}, {0}, "no process of the job catches", .expected = 1},
	{.name = "a real-time signal",
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
		.mpi_rank = row->mpi_rank ? row->mpi_rank - 1 : PROCESS_NO_RANK,
		.command_size = row->command[0] ? strlen(row->command) + 1 : 0,
	};
	text_set(process->comm, sizeof(process->comm), row->comm ? row->comm : row->command);
	text_set(process->executable, sizeof(process->executable),
		 row->executable ? row->executable : "");
	text_set(process->command, sizeof(process->command), row->command);
	for (size_t i = 0; i < process->command_size; i++)
		if (process->command[i] == ' ')
			process->command[i] = '\0';
		else if (process->command[i] == '~')
			process->command[i] = ' ';
}

static void play(const struct scene *scene)
{
	struct process processes[MOST];
	struct process_tree tree = {.processes = processes};
	auto_(rank_selection_release) struct rank_selection selection = {0};
	struct recent_writers writers = {0};
	struct checkpoint_request request = {
		.child = MAIN,
		.signal = scene->signal,
		.whom = scene->whom,
		.writers = &writers,
		.saved_ms = scene->is_new ? -1 : 0,
		.asked = (struct rank *)scene->asked,
	};
	size_t expected = 0;

	while (tree.count < MOST && scene->rows[tree.count].pid) {
		fill(&scene->rows[tree.count], &processes[tree.count]);
		tree.count++;
	}
	for (; writers.count < 4 && scene->writers[writers.count]; writers.count++)
		writers.items[writers.count].pid = scene->writers[writers.count];
	while (request.asked_count < 3 && scene->asked[request.asked_count].pid)
		request.asked_count++;
	while (expected < 4 && scene->chosen[expected])
		expected++;
	rank_selection_make(&tree, &request, &selection);
	print_message("%s: %zu chosen (%s)\n", scene->name, selection.count, selection.reason);
	assert_int_equal(selection.count, expected);
	for (size_t i = 0; i < expected; i++)
		assert_int_equal(selection.ranks[i].pid, scene->chosen[i]);
	if (scene->expected || expected)
		assert_int_equal(selection.expected, scene->expected ? scene->expected : expected);
	if (expected == 0)
		assert_non_null(strstr(selection.reason, scene->reason));
	else
		assert_string_equal(selection.reason, "");
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
		auto_(rank_selection_release) struct rank_selection selection = {0};
		struct recent_writers writers = {.count = 2};
		struct checkpoint_request request = {
			.child = MAIN,
			.signal = SIGUSR1,
			.whom = (enum profile_target)(run % 3),
			.writers = &writers,
		};

		for (int i = 0; i < MOST; i++) {
			seed = seed * 1664525u + 1013904223u;
			uint32_t dice = seed >> 8;
			fill(
				&(struct row){
					.pid = MAIN + i,
					.parent = i ? MAIN + (pid_t)(dice % (uint32_t)i) : 1,
					.command = commands[dice % 5],
					.caught = (dice >> 3) & 1 ? USR1 : TERM,
					.rank = (int)((dice >> 4) % 4),
					.state = (dice >> 7) % 8 ? 'S' : 'Z',
				},
				&processes[i]);
		}
		writers.items[0].pid = MAIN + (pid_t)(seed % MOST);
		writers.items[1].pid = MAIN + (pid_t)((seed >> 16) % MOST);
		rank_selection_make(&tree, &request, &selection);
		assert_true(request.whom == PROFILE_TARGET_ALL || selection.count <= 1);
		assert_true(selection.count > 0 || selection.reason[0]);
		for (size_t i = 0; i < selection.count; i++) {
			const struct process *process = &processes[selection.ranks[i].pid - MAIN];

			assert_true(process->caught & USR1);
			assert_false(process_is_dead(process));
			assert_int_not_equal(process_role(process), ROLE_LAUNCHER);
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
