/* What /proc says of processes that this test starts itself. */
#include "process/process_tree.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void handle(int signal)
{
	(void)signal;
}

static const struct process *find(const struct process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].pid == pid)
			return &tree->processes[i];
	return NULL;
}

/* Child, and grandchild whose numbers go to `pids`; both live until they are killed. */
static void start_family(pid_t pids[2], int ends[2])
{
	assert_int_equal(pipe(ends), 0);
	pids[0] = fork();
	if (pids[0] == 0) {
		pid_t grandchild;

		/* A test that fails must not leave them behind: who reads its
		 * output would wait for them. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, handle);
		signal(SIGUSR2, SIG_IGN);
		prctl(PR_SET_NAME, "a) R 1 (b");
		grandchild = fork();
		if (grandchild == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGUSR1, SIG_DFL);
			for (;;)
				pause();
		}
		if (write(ends[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &pids[1], sizeof(pids[1])), sizeof(pids[1]));
}

static void end_family(pid_t pids[2], int ends[2])
{
	kill(pids[1], SIGKILL);
	kill(pids[0], SIGKILL);
	assert_int_equal(waitpid(pids[0], NULL, 0), pids[0]);
	close(ends[0]);
	close(ends[1]);
}

static void sees_parents_before_children(void **state)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	const struct process *child, *grandchild;
	pid_t pids[2];
	int ends[2];
	uint64_t caught;

	(void)state;
	start_family(pids, ends);
	assert_int_equal(process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, NULL), 0);
	assert_null(find(&tree, getpid()));
	child = find(&tree, pids[0]);
	grandchild = find(&tree, pids[1]);
	assert_non_null(child);
	assert_non_null(grandchild);
	assert_true(child < grandchild);
	assert_int_equal(child->parent, getpid());
	assert_int_equal(grandchild->parent, pids[0]);
	/* A name that looks like the rest of the line must not shift the fields. */
	assert_string_equal(child->comm, "a) R 1 (b");
	/* It sleeps, or is on its way to: it has just written to us. */
	assert_true(child->state == 'S' || child->state == 'R');
	assert_int_equal(child->start_time, process_start_time(pids[0]));
	assert_true(child->caught & process_signal_bit(SIGUSR1));
	assert_true(child->ignored & process_signal_bit(SIGUSR2));
	assert_false(child->caught & process_signal_bit(SIGUSR2));
	assert_true(child->command_size > 0);
	assert_int_equal(process_read_caught(pids[0], &caught, NULL), 0);
	assert_int_equal(caught, child->caught);
	end_family(pids, ends);
}

static void feels_the_pulse(void **state)
{
	struct process_sample before, after = {0};
	siginfo_t ended;
	sigset_t blocked, old;
	pid_t pid;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &old);
	pid = fork();
	if (pid == 0)
		for (;;)
			; /* until it is killed */
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_true(process_read_sample(pid, &before));
	assert_int_equal(before.parent, getpid());
	assert_int_equal(before.start_time, process_start_time(pid));
	assert_int_equal(before.pending & process_signal_bit(SIGUSR1), 0);
	assert_int_equal(kill(pid, SIGUSR1), 0);
	while (after.cpu_ticks <= before.cpu_ticks)
		assert_true(process_read_sample(pid, &after));
	assert_true(after.pending & process_signal_bit(SIGUSR1)); /* it blocks the signal */
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_false(process_read_sample(pid, &after)); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_read_sample(pid, &after));
}

static void includes_another_root(void **state)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	pid_t pids[2];
	int ends[2];

	(void)state;
	start_family(pids, ends);
	assert_int_equal(process_tree_read(pids[0], PROCESS_TREE_BRIEF, &tree, NULL), 0);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.processes[0].pid, pids[0]);
	assert_int_equal(tree.processes[1].pid, pids[1]);
	end_family(pids, ends);
}

static void knows_the_dead(void **state)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	const struct process *zombie;
	siginfo_t ended;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(3);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, NULL), 0);
	zombie = find(&tree, pid);
	assert_non_null(zombie);
	assert_true(process_is_dead(zombie));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_start_time(pid), 0);
	struct err err;
	uint64_t caught;
	assert_int_equal(process_read_caught(pid, &caught, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

/* Since the kernel has started it, and not since somebody has asked. */
static void knows_when_it_began(void **state)
{
	int64_t before_ms = clock_boot_ms(), began_ms;
	int status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		kill(getpid(), SIGSTOP);
		/* The kernel says it to 10 ms. */
		began_ms = process_began_ms();
		_exit(began_ms >= before_ms - 20 && began_ms == process_began_ms() &&
				      began_ms < clock_boot_ms() - 100
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	usleep(200 * 1000);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The environment that a process was started with, also a large one. */
static void reads_ranks(void **state)
{
	static char filler[100 * 1024];
	char shell[] = "/bin/sh", option[] = "-c", command[] = "printf x; read x; exit 0";
	char *argv[] = {shell, option, command, NULL};
	char rank[] = "RANK=7", local_rank[] = "LOCAL_RANK=3", other[] = "OMPI_RANK=9";
	char *environment[] = {filler, other, rank, local_rank, NULL};
	auto_(process_tree_release) struct process_tree tree = {0};
	int out[2], in[2];
	char byte, program[PATH_MAX];
	pid_t pid;

	(void)state;
	memset(filler, 'f', sizeof(filler) - 1);
	memcpy(filler, "FILLER=", 7);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(in), 0);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		execve(shell, argv, environment);
		_exit(127);
	}
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(process_tree_read(pid, PROCESS_TREE_FULL, &tree, NULL), 0);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.processes[0].rank, 7);
	assert_int_equal(tree.processes[0].local_rank, 3);
	assert_non_null(realpath(shell, program));
	assert_string_equal(tree.processes[0].executable, strrchr(program, '/') + 1);
	assert_memory_equal(tree.processes[0].command, "/bin/sh\0-c\0printf", 17);
	for (int i = 0; i < 2; i++) {
		close(out[i]);
		close(in[i]);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Processes are born and end while the table is read: no error, no process without a number. */
static void stands_a_storm(void **state)
{
	pid_t storm = fork();

	(void)state;
	if (storm == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGCHLD, SIG_IGN);
		for (;;)
			if (fork() == 0)
				_exit(0);
	}
	for (int i = 0; i < 200; i++) {
		auto_(process_tree_release) struct process_tree tree = {0};

		assert_int_equal(process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, NULL), 0);
		assert_non_null(find(&tree, storm));
		for (size_t j = 0; j < tree.count; j++)
			assert_true(tree.processes[j].pid > 0 && tree.processes[j].start_time > 0);
	}
	kill(storm, SIGKILL);
	assert_int_equal(waitpid(storm, NULL, 0), storm);
}

static void knows_who_is_below(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	assert_true(process_is_below(child, getpid()));
	assert_true(process_is_below(child, getppid()));
	assert_false(process_is_below(child, child));
	assert_false(process_is_below(getpid(), child));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(process_is_below(child, getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_parents_before_children), cmocka_unit_test(feels_the_pulse),
		cmocka_unit_test(includes_another_root),        cmocka_unit_test(knows_the_dead),
		cmocka_unit_test(knows_when_it_began),          cmocka_unit_test(reads_ranks),
		cmocka_unit_test(knows_who_is_below),           cmocka_unit_test(stands_a_storm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
