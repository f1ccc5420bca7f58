/* Whether the supervisor that a channel names is still there: itself, not another process with its
 * number. */
#include "process_start.h"

#include "shim/channel_writer.h"

#include "unit.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shim_header header_of(pid_t pid)
{
	return (struct shim_header){
		.supervisor_pid = (uint32_t)pid,
		.supervisor_start = start_of(pid),
	};
}

static void test_itself(void **state)
{
	struct shim_header header = header_of(getpid());

	(void)state;
	assert_true(peer_is_alive(&header));
	/* Another process has got its number. */
	header.supervisor_start++;
	assert_false(peer_is_alive(&header));
	header.supervisor_start -= 2;
	assert_false(peer_is_alive(&header));
}

/* Killed, and its parent has not asked for it: its number and start time are still there. */
static void test_unreaped(void **state)
{
	pid_t child = fork();
	struct shim_header header;
	siginfo_t ended;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		for (;;)
			pause();
	header = header_of(child);
	assert_true(peer_is_alive(&header));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(header_of(child).supervisor_start, header.supervisor_start);
	assert_false(peer_is_alive(&header));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(peer_is_alive(&header));
}

static void test_namespace(void **state)
{
	struct shim_header header = {0};
	struct stat status;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
	header.namespace_device = status.st_dev;
	header.namespace_inode = status.st_ino;
	assert_int_equal(peer_pidns(&header), CHANNEL_PIDNS_SAME);
	header.namespace_inode++;
	assert_int_equal(peer_pidns(&header), CHANNEL_PIDNS_OTHER);
	header.namespace_inode--;
	header.namespace_device++;
	assert_int_equal(peer_pidns(&header), CHANNEL_PIDNS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_unreaped),
		cmocka_unit_test(test_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
