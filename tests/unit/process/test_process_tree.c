/* The lines of /proc, with names in them that look like the rest of the line; and the files of this
 * process. */
#include "process/process_tree.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What stands behind the state: ppid 7, flags, user time 100, system time 23, start time 4711, exit
 * status 9. */
#define REST(flags)                                                              \
	" 7 1 1 0 -1 " flags                                                     \
	" 20 0 0 0 100 23 0 0 20 0 1 0 4711 2420736 222 1844 1 1 0 0 0 0 0 0 0 " \
	"0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 9\n"

static void test_stat_by_table(void **state)
{
	static const struct {
		const char *text, *comm;
		char state;
		bool exiting;
	} rows[] = {
		{"42 (python3) S" REST("4194304"), "python3", 'S', false},
		{"42 (my program) R" REST("4194304"), "my program", 'R', false},
		{"42 (a) R 1 (b) D" REST("4194304"), "a) R 1 (b", 'D', false},
		{"42 (((() t" REST("4194304"), "(((", 't', false},
		{"42 ())) T" REST("4194304"), "))", 'T', false},
		{"42 () S" REST("4194304"), "", 'S', false},
		{"42 ( ) S" REST("4194304"), " ", 'S', false},
		{"42 (a\nb) Z 1) Z" REST("4194308"), "a\nb) Z 1", 'Z', true},
		{"42 (x) Z 0 0) X" REST("4228364"), "x) Z 0 0", 'X', true},
		{"42 (kworker/u8:3-events_unbound) I" REST("69238880"), "kworker/u8:3-ev", 'I',
		 false},
		{"42 (%s%n) S" REST("4194304"), "%s%n", 'S', false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proc_stat stat;

		assert_true(proc_parse_stat(rows[i].text, &stat));
		assert_string_equal(stat.comm, rows[i].comm);
		assert_int_equal(stat.state, rows[i].state);
		assert_int_equal(stat.exiting, rows[i].exiting);
		assert_int_equal(stat.parent, 7);
		assert_int_equal(stat.cpu_ticks, 123);
		assert_int_equal(stat.start_time, 4711);
		assert_int_equal(stat.exit_status, 9);
	}
}

static void test_stat_that_is_none(void **state)
{
	static const char *const texts[] =
		{"",
		 "42",
		 "42 (python3",
		 "42 )python3(",
		 "42 (python3)",
		 "42 (python3) S",
		 "42 (python3) S 1 2 3",
		 "42 (a 1 2 3 4 5 6 7 8 9 10) S x",
		 "python3) S 7"};
	struct proc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(proc_parse_stat(texts[i], &stat));
}

static void test_dead_states(void **state)
{
	(void)state;
	for (const char *at = "RSDTtIKWP"; *at; at++)
		assert_false(proc_state_is_dead(*at));
	for (const char *at = "ZXx"; *at; at++)
		assert_true(proc_state_is_dead(*at));
}

static void test_signals(void **state)
{
	/* The kernel writes a line break in a name as "\n". */
	const char *status =
		"Name:\tSigCgt: \\nSigCgt:\tff\nUmask:\t0022\nSigQ:\t0/63\n"
		"SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n"
		"SigBlk:\tfffffffe7ffbfeff\nSigIgn:\t0000000001001000\n"
		"SigCgt:\t0000000180000002\n"
		"nonvoluntary_ctxt_switches:\t99\nvoluntary_ctxt_switches:\t120\n";

	(void)state;
	assert_int_equal(proc_parse_signals(status, "SigPnd"), 0);
	assert_int_equal(proc_parse_signals(status, "ShdPnd"), 1 << (SIGTERM - 1));
	assert_true(proc_parse_signals(status, "SigBlk") == 0xfffffffe7ffbfeff);
	assert_int_equal(proc_parse_signals(status, "SigIgn"), 0x1001000);
	assert_true(proc_parse_signals(status, "SigCgt") == 0x180000002);
	assert_int_equal(proc_parse_signals(status, "Sig"), 0);
	assert_int_equal(proc_parse_signals("", "SigCgt"), 0);
	assert_int_equal(proc_parse_switches(status), 120);
}

static void test_mappings_by_table(void **state)
{
	static const struct {
		const char *line, *path;
	} rows[] = {
		{"7f00-7f10 rw-s 00000000 08:01 42        /c/a\n", "/c/a\n"},
		{"7f00-7f10 rw-s 00000000 08:01 42 /c/a b) rw-p (deleted)\n",
		 "/c/a b) rw-p (deleted)\n"},
		{"7f00-7f10 -w-s 00000000 08:01 42 /c/a\\012b\n", "/c/a\\012b\n"},
		{"7f00-7f10 rw-p 00000000 08:01 42 /c/a\n", NULL},
		{"7f00-7f10 r--s 00000000 08:01 42 /c/a\n", NULL},
		{"7f00-7f10 rw-p 00000000 00:00 0 [heap]\n", NULL},
		{"7f00-7f10 rw-s 00000000 00:01 0\n", NULL},
		{"7f00-7f10 rw", NULL},
		{"7f00", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *path = proc_parse_shared_mapping(rows[i].line);

		assert_int_equal(path != NULL, rows[i].path != NULL);
		if (path)
			assert_string_equal(path, rows[i].path);
	}
	/* What ends the line is no part of a directory's name. */
	assert_true(proc_path_is_below(proc_parse_shared_mapping(rows[0].line), "/c"));
	assert_false(proc_path_is_below(proc_parse_shared_mapping(rows[0].line), "/c/a"));
}

static void test_paths_below(void **state)
{
	(void)state;
	assert_true(proc_path_is_below("/c/a", "/c"));
	assert_true(proc_path_is_below("/c/a/b", "/c/a"));
	assert_false(proc_path_is_below("/c", "/c"));
	assert_false(proc_path_is_below("/cc/a", "/c"));
	assert_false(proc_path_is_below("/", "/c"));
}

static void test_own_files(void **state)
{
	struct proc_stat stat;
	char text[8], target[64];

	(void)state;
	assert_true(proc_read_stat(PROC_SELF, &stat));
	assert_int_equal(stat.parent, getppid());
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.owner, geteuid());
	assert_true(proc_is_alive(getpid()));
	assert_int_equal(proc_read(PROC_SELF, "cmdline", text, sizeof(text)), 7);
	assert_int_equal(strlen(text), 7);
	assert_true(proc_read_link(PROC_SELF, "exe", target, sizeof(target)) > 0);
	assert_int_equal(target[0], '/');
	assert_int_equal(proc_read_link(PROC_SELF, "fd/4000000", target, sizeof(target)), -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(target, "");
}

static void test_a_process_that_ended(void **state)
{
	struct proc_stat stat;
	siginfo_t ended;
	pid_t pid = fork();
	char text[16];

	(void)state;
	if (pid == 0)
		_exit(3);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_true(proc_read_stat(pid, &stat));
	assert_int_equal(stat.state, 'Z');
	assert_true(stat.exiting);
	assert_int_equal(WEXITSTATUS(stat.exit_status), 3);
	assert_false(proc_is_alive(pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_read_stat(pid, &stat));
	assert_false(proc_is_alive(pid));
	assert_int_equal(proc_read(pid, "stat", text, sizeof(text)), -1);
	assert_int_equal(proc_maps_below(pid, "/"), -1);
}

static void test_descriptors_and_mappings(void **state)
{
	char directory[] = "/tmp/reprieve-test-proc-XXXXXX", target[64];
	auto_(walk_close) struct walk walk = {0};
	auto_free char *path = NULL;
	bool found = false;
	void *mapped;

	(void)state;
	assert_non_null(mkdtemp(directory));
	path = text_format("%s/a b", directory);
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
	assert_int_equal(proc_maps_below(PROC_SELF, directory), 0);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(proc_maps_below(PROC_SELF, directory), 1);
	assert_int_equal(munmap(mapped, 4096), 0);
	assert_int_equal(proc_maps_below(PROC_SELF, directory), 0);

	assert_int_equal(proc_walk_descriptors(PROC_SELF, &walk), 0);
	while (walk_next(&walk)) {
		auto_free char *link = text_format("fd/%s", walk.name);

		assert_true(proc_read_link(PROC_SELF, link, target, sizeof(target)) > 0);
		found |= text_equal(target, path);
	}
	assert_true(found);
	unlink(path);
	rmdir(directory);
}

/* --- process tree --- */

/* What /proc says of processes that this test starts itself. */

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
		cmocka_unit_test(test_stat_by_table),
		cmocka_unit_test(test_stat_that_is_none),
		cmocka_unit_test(test_dead_states),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_mappings_by_table),
		cmocka_unit_test(test_paths_below),
		cmocka_unit_test(test_own_files),
		cmocka_unit_test(test_a_process_that_ended),
		cmocka_unit_test(test_descriptors_and_mappings),
		cmocka_unit_test(sees_parents_before_children),
		cmocka_unit_test(feels_the_pulse),
		cmocka_unit_test(knows_the_dead),
		cmocka_unit_test(knows_when_it_began),
		cmocka_unit_test(reads_ranks),
		cmocka_unit_test(knows_who_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
