/* With real processes: who holds a file, and how a process ends that is not our child. */
#include "completion/writer_monitor.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "monitor/monitor.h"
#include "process/process.h"

#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

struct place {
	char directory[64];
	struct loop loop;
	struct timer timeout;
	pid_t found, ended;
	int status;
};

static int set_up(void **state)
{
	struct place *place = memory_new(sizeof(*place));
	struct err err;

	text_set(place->directory, sizeof(place->directory), "/tmp/test_unseen.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	assert_int_equal(loop_init(&place->loop, &err), 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	loop_release(&place->loop);
	file_remove_tree(place->directory, NULL);
	free(place);
	return 0;
}

static void found(void *arg, pid_t pid, const char *path)
{
	struct place *place = arg;

	assert_int_equal(strncmp(path, place->directory, strlen(place->directory)), 0);
	place->found = pid;
}

static pid_t find(struct place *place)
{
	place->found = 0;
	open_files_find_holders(place->directory, found, place);
	return place->found;
}

/* --- a child that does what one letter says, and says when it has done it --- */

struct writer_child {
	pid_t pid;
	int to, from;
};

static char *name(const struct place *place)
{
	static char path[96];

	text_set(path, sizeof(path), place->directory);
	strcat(path, "/file");
	return path;
}

static void obey(const struct place *place, char order)
{
	static int fd = -1;
	static void *view;

	if (order == 'w')
		fd = open(name(place), O_RDWR | O_CREAT, 0600);
	if (order == 'r')
		fd = open(name(place), O_RDONLY);
	if (order == 'c')
		close(fd);
	if (order == 'm') {
		if (ftruncate(fd, 4096) < 0)
			_exit(9);
		view = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (order == 'u')
		munmap(view, 4096);
	if (order == 'x')
		_exit(0);
	if (order == 'f')
		_exit(3);
	if (order == 'k')
		raise(SIGKILL);
}

static struct writer_child begin(struct place *place)
{
	int to[2], from[2];
	struct writer_child child;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	child.pid = fork();
	if (child.pid == 0) {
		char order;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		while (read(to[0], &order, 1) == 1) {
			obey(place, order);
			if (write(from[1], &order, 1) != 1)
				_exit(9);
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	return child;
}

static void tell(struct writer_child *child, const char *orders)
{
	for (; *orders; orders++) {
		char answer;

		assert_int_equal(write(child->to, orders, 1), 1);
		assert_int_equal(read(child->from, &answer, 1), 1);
	}
}

static void end(struct writer_child *child)
{
	close(child->to);
	close(child->from);
	waitpid(child->pid, NULL, 0);
}

static void test_who_holds_a_file(void **state)
{
	struct place *place = *state;
	struct writer_child child = begin(place);

	assert_int_equal(find(place), 0);
	tell(&child, "w");
	assert_int_equal(find(place), child.pid);
	assert_true(open_files_is_holder(place->directory, child.pid));
	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_OPEN);
	tell(&child, "mc");
	assert_int_equal(find(place), child.pid);
	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_OPEN);
	tell(&child, "u");
	assert_int_equal(find(place), 0);
	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_NONE);
	tell(&child, "r");
	assert_int_equal(find(place), 0);
	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_NONE);
	assert_true(open_files_is_running(child.pid));
	end(&child);
	assert_false(open_files_is_running(child.pid));
}

static void test_what_is_no_file(void **state)
{
	struct place *place = *state;

	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_NONE);
	assert_int_equal(symlink("nowhere", name(place)), 0);
	assert_int_equal(open_files_query_file(name(place)), OPEN_FILES_NONE);
}

static void ended(void *arg, pid_t pid, int status)
{
	struct place *place = arg;

	place->ended = pid;
	place->status = status;
	loop_stop(&place->loop);
}

static void too_long(struct timer *timer)
{
	loop_stop(&container_of(timer, struct place, timeout)->loop);
}

static void run_loop(struct place *place, int64_t most_ms)
{
	struct err err;

	place->ended = 0;
	place->loop.stopped = false;
	place->timeout.fired = too_long;
	loop_arm(&place->loop, &place->timeout, clock_monotonic_ms() + most_ms);
	assert_int_equal(loop_run(&place->loop, &err), 0);
	loop_disarm(&place->loop, &place->timeout);
}

/* Starts one that is not our child, dies as `way` says and stays a zombie until `parent` goes. */
static pid_t stranger(struct place *place, struct exit_watch *ends, char way,
		      struct writer_child *parent)
{
	int number[2], go[2];
	pid_t pid;

	assert_int_equal(pipe(number), 0);
	assert_int_equal(pipe(go), 0);
	parent->pid = fork();
	if (parent->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid = fork();
		if (pid == 0) {
			char byte;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (read(go[0], &byte, 1) == 1)
				obey(place, way);
			_exit(9);
		}
		if (write(number[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(9);
		pause();
	}
	assert_int_equal(read(number[0], &pid, sizeof(pid)), sizeof(pid));
	assert_true(exit_watch_add(ends, pid));
	assert_true(exit_watch_add(ends, pid));
	assert_int_equal(write(go[1], "g", 1), 1);
	close(number[0]);
	close(number[1]);
	close(go[0]);
	close(go[1]);
	return pid;
}

/* valgrind 3.19 and old kernels have no pidfd. */
static void need_pidfd(struct exit_watch *ends)
{
	if (exit_watch_add(ends, getpid()))
		return;
	exit_watch_free(ends);
	skip();
}

static void test_how_a_stranger_ends(void **state)
{
	static const struct {
		char way;
		bool killed;
		int number;
	} ways[] = {{'x', false, 0}, {'f', false, 3}, {'k', true, SIGKILL}};
	struct place *place = *state;
	struct exit_watch *ends = exit_watch_new(&place->loop, ended, place);

	need_pidfd(ends);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct writer_child parent;
		pid_t pid = stranger(place, ends, ways[i].way, &parent);

		run_loop(place, 60000);
		assert_int_equal(place->ended, pid);
		assert_int_not_equal(place->status, -1);
		assert_int_equal(WIFSIGNALED(place->status), ways[i].killed);
		assert_int_equal(ways[i].killed ? WTERMSIG(place->status)
						: WEXITSTATUS(place->status),
				 ways[i].number);
		kill(parent.pid, SIGKILL);
		waitpid(parent.pid, NULL, 0);
	}
	exit_watch_free(ends);
}

static void test_our_children_are_waited_for_by_others(void **state)
{
	struct place *place = *state;
	struct exit_watch *ends = exit_watch_new(&place->loop, ended, place);
	struct writer_child child;
	siginfo_t info;

	need_pidfd(ends);
	child = begin(place);
	assert_true(exit_watch_add(ends, child.pid));
	kill(child.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	run_loop(place, 100);
	assert_int_equal(place->ended, 0);
	end(&child);
	assert_false(exit_watch_add(ends, child.pid));
	exit_watch_free(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_holds_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_how_a_stranger_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_our_children_are_waited_for_by_others, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
