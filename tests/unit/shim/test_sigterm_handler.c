/* Whose SIGTERM is held back, and what the application sees meanwhile: PROTOCOL.md, "Holding back
 * SIGTERM". The shim is compiled into this program. */
#include "own_channel.h"

#include "shim/channel_writer.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

/* --- in this process: what the application sees --- */

/* By the kernel, whose structure begins with it. */
static sighandler_t real_handler(int signal)
{
	uintptr_t action[16] = {0};

	(void)syscall(SYS_rt_sigaction, signal, NULL, action, 8);
	return (sighandler_t)action[0];
}

static bool is_caught(int signal)
{
	return real_handler(signal) != SIG_DFL && real_handler(signal) != SIG_IGN;
}

/* The application has none: it is marked, so that nobody takes it for one that handles SIGTERM. */
static void check_marked(bool marked)
{
	assert_int_equal(is_caught(SHIM_MARK_SIGNAL), marked);
}

static void first(int signal)
{
	(void)signal;
}

static void second(int signal)
{
	(void)signal;
}

static int install(void **state)
{
	(void)state;
	fill_header();
	header->sigterm_hold = SHIM_HOLD_ACTIVE;
	assert_true(join(channel_name));
	signal(SIGTERM, SIG_DFL);
	sigterm_handler_install();
	assert_true(atomic_load(&sigterm_handler_installed));
	return 0;
}

static sighandler_t seen(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
	return now.sa_handler;
}

static void test_it_is_installed_only_where_it_can_be_let_go(void **state)
{
	static const struct {
		enum shim_hold hold;
		bool foreign, installed;
	} rows[] = {
		{SHIM_HOLD_OFF, false, false},
		{SHIM_HOLD_ACTIVE, true, false},
		{SHIM_HOLD_RELEASED, false, true},
		{SHIM_HOLD_ACTIVE, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t child;

		fill_header();
		header->sigterm_hold = rows[i].hold;
		header->namespace_inode += rows[i].foreign;
		child = fork();
		if (child == 0) {
			bool ready = join(channel_name);

			sigterm_handler_install();
			_exit(ready && is_caught(SIGTERM) == rows[i].installed &&
					      atomic_load(&sigterm_handler_installed) ==
						      rows[i].installed
				      ? 0
				      : 1);
		}
		assert_int_equal(code_of(child), 0);
	}
}

static void informed(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
}

/* Until it is installed nobody is in the way; then what the application has set is behind it. */
static void test_what_was_set_before_is_taken_over(void **state)
{
	(void)state;
	for (int with_info = 0; with_info < 2; with_info++) {
		struct sigaction action = {.sa_handler = first};
		pid_t child;

		if (with_info) {
			action.sa_sigaction = informed;
			action.sa_flags = SA_SIGINFO;
		}
		fill_header();
		header->sigterm_hold = SHIM_HOLD_ACTIVE;
		child = fork();
		if (child == 0) {
			bool good = join(channel_name) && sigaction(SIGTERM, &action, NULL) == 0 &&
				    real_handler(SIGTERM) == action.sa_handler;

			sigterm_handler_install();
			_exit(good && is_caught(SIGTERM) &&
					      real_handler(SIGTERM) != action.sa_handler &&
					      seen() == action.sa_handler &&
					      !is_caught(SHIM_MARK_SIGNAL)
				      ? 0
				      : 1);
		}
		assert_int_equal(code_of(child), 0);
	}
}

static bool ignores_notices(void)
{
	struct sigaction action = {.sa_handler = first}, old;
	bool good = real_handler(SIGUSR1) == SIG_IGN && real_handler(SIGUSR2) == second;

	/* The application sees what a process without us would. */
	good = good && sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == SIG_DFL;
	good = good && real_handler(SIGUSR1) == first && signal(SIGUSR1, SIG_DFL) == first;
	good = good && real_handler(SIGUSR1) == SIG_IGN && signal(SIGUSR1, second) == SIG_DFL;
	action.sa_handler = SIG_DFL;
	good = good && sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == second;
	return good && real_handler(SIGUSR1) == SIG_IGN && real_handler(SIGALRM) == SIG_DFL;
}

static void test_a_notice_is_ignored_by_who_has_no_handler(void **state)
{
	(void)state;
	for (int row = 0; row < 4; row++) {
		bool asked = row & 1;
		pid_t child;

		fill_header();
		header->sigterm_hold = SHIM_HOLD_ACTIVE;
		header->namespace_inode += row >= 2; /* also in a container of the job's own */
		header->notice_signals = asked ? 1u << (SIGUSR1 - 1) | 1u << (SIGUSR2 - 1) : 0;
		child = fork();
		if (child == 0) {
			bool good = join(channel_name) && signal(SIGUSR2, second) == SIG_DFL;

			sigterm_handler_install();
			_exit(good && (asked ? ignores_notices() : real_handler(SIGUSR1) == SIG_DFL)
				      ? 0
				      : 1);
		}
		assert_int_equal(code_of(child), 0);
	}
}

static void test_other_signals_are_none_of_our_business(void **state)
{
	struct sigaction action = {.sa_handler = first}, old;

	(void)state;
	assert_int_equal(sigaction(SIGUSR2, &action, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
	assert_true(real_handler(SIGUSR2) == first);
	check_marked(true);
	action.sa_handler = SIG_DFL;
	assert_int_equal(sigaction(SIGUSR2, &action, &old), 0);
	assert_true(old.sa_handler == first);
	assert_true(real_handler(SIGUSR2) == SIG_DFL);
}

static void test_a_plain_process_seems_to_have_no_handler(void **state)
{
	(void)state;
	assert_true(seen() == SIG_DFL);
	assert_true(is_caught(SIGTERM));
	check_marked(true);
}

static void test_sigaction_gives_back_what_it_got(void **state)
{
	struct sigaction action = {.sa_handler = first, .sa_flags = SA_RESTART | SA_NODEFER}, old;
	struct sigaction *volatile same = &action;

	(void)state;
	sigaddset(&action.sa_mask, SIGUSR2);
	assert_int_equal(sigaction(SIGTERM, &action, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
	check_marked(false);
	/* Both may be the same memory. */
	action.sa_handler = second;
	assert_int_equal(sigaction(SIGTERM, &action, same), 0);
	assert_true(action.sa_handler == first);
	assert_int_equal(action.sa_flags & ~0x04000000, SA_RESTART | SA_NODEFER);
	assert_true(sigismember(&action.sa_mask, SIGUSR2));
	assert_true(seen() == second);
	action.sa_handler = SIG_IGN;
	assert_int_equal(sigaction(SIGTERM, &action, NULL), 0);
	assert_true(seen() == SIG_IGN);
	/* Nothing is caught that is ignored: a child of exec() ignores it too. */
	assert_false(is_caught(SIGTERM));
	check_marked(false);
	action.sa_handler = SIG_DFL;
	assert_int_equal(sigaction(SIGTERM, &action, NULL), 0);
	assert_true(seen() == SIG_DFL);
	check_marked(true);
}

/* From then on the process has none, and is marked. */
static void test_a_handler_for_one_time(void **state)
{
	const struct sigaction action = {.sa_handler = first, .sa_flags = (int)SA_RESETHAND};

	(void)state;
	assert_int_equal(sigaction(SIGTERM, &action, NULL), 0);
	check_marked(false);
	/* By itself: it is delivered. */
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_true(seen() == SIG_DFL);
	assert_true(is_caught(SIGTERM));
	check_marked(true);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

sighandler_t bsd_signal(int signal, sighandler_t handler);
sighandler_t ssignal(int signal, sighandler_t handler);
sighandler_t sysv_signal(int signal, sighandler_t handler);
sighandler_t __sysv_signal(int signal, sighandler_t handler);
sighandler_t sigset(int signal, sighandler_t handler);
int sigignore(int signal);
int siginterrupt(int signal, int interrupts);

static void test_each_older_function_does_as_well(void **state)
{
	static sighandler_t (*const rows[])(int,
					    sighandler_t) = {signal,      bsd_signal,    ssignal,
							     sysv_signal, __sysv_signal, sigset};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(rows[i](SIGTERM, first) == SIG_DFL);
		assert_true(seen() == first);
		check_marked(false);
		assert_true(rows[i](SIGTERM, second) == first);
		assert_true(seen() == second);
		assert_true(is_caught(SIGTERM));
		assert_true(rows[i](SIGTERM, SIG_DFL) == second);
		assert_true(seen() == SIG_DFL);
		assert_true(is_caught(SIGTERM));
		check_marked(true);
		/* Other signals are none of our business. */
		assert_true(rows[i](SIGUSR2, first) == SIG_DFL);
		assert_true(rows[i](SIGUSR2, SIG_DFL) == first);
	}
	assert_int_equal(sigignore(SIGTERM), 0);
	assert_true(seen() == SIG_IGN);
	assert_false(is_caught(SIGTERM));
}

static void test_siginterrupt_changes_how_calls_go_on(void **state)
{
	struct sigaction now;

	(void)state;
	assert_true(signal(SIGTERM, first) == SIG_DFL);
	for (int interrupts = 0; interrupts < 2; interrupts++) {
		assert_int_equal(siginterrupt(SIGTERM, interrupts), 0);
		assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
		assert_int_equal((now.sa_flags & SA_RESTART) != 0, !interrupts);
		assert_true(now.sa_handler == first);
	}
}

/* The application may want that signal too. */
static void test_the_mark_is_not_seen(void **state)
{
	struct sigaction action = {.sa_handler = first}, old;

	(void)state;
	assert_int_equal(sigaction(SHIM_MARK_SIGNAL, NULL, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
	assert_int_equal(sigaction(SHIM_MARK_SIGNAL, &action, &old), 0);
	assert_true(old.sa_handler == SIG_DFL);
	assert_int_equal(sigaction(SHIM_MARK_SIGNAL, NULL, &old), 0);
	assert_true(old.sa_handler == first);
	assert_true(signal(SHIM_MARK_SIGNAL, SIG_DFL) == first);
	assert_true(signal(SHIM_MARK_SIGNAL, SIG_DFL) == SIG_DFL);
	check_marked(true);
	action.sa_handler = SIG_DFL;
	assert_int_equal(sigaction(SHIM_MARK_SIGNAL, &action, NULL), 0);
	check_marked(true);
}

/* It has its own handlers, and our memory is its parent's. */
static void test_a_child_without_a_fork_sets_its_own(void **state)
{
	const struct sigaction action = {.sa_handler = first};
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	(void)state;
	if (child == 0) {
		bool good = sigaction(SIGTERM, &action, NULL) == 0 &&
			    real_handler(SIGTERM) == first && seen() == SIG_DFL;

		syscall(SYS_exit_group, good ? 0 : 1);
	}
	assert_int_equal(code_of(child), 0);
}

/* --- in a process of the job: what becomes of a SIGTERM --- */

enum handler {
	BY_DEFAULT,
	IGNORES,
	HANDLES,
	HANDLES_ONCE,
};

struct job {
	pid_t pid;
	int orders, answers; /* a byte each way; the job ends with the former */
};

/* Shared with the job. */
static struct {
	_Atomic int calls, sender;
} * heard;

static void on_sigterm(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	atomic_store(&heard->sender, info->si_pid);
	atomic_fetch_add(&heard->calls, 1);
}

static void be_a_job(enum handler handler, int orders, int answers)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
	char order;

	action.sa_sigaction = on_sigterm;
	if (handler == HANDLES_ONCE)
		action.sa_flags |= (int)SA_RESETHAND;
	if (!join(channel_name))
		_exit(90);
	signal(SIGTERM, SIG_DFL);
	sigterm_handler_install();
	if (handler >= HANDLES && sigaction(SIGTERM, &action, NULL) < 0)
		_exit(91);
	if (handler == IGNORES && signal(SIGTERM, SIG_IGN) == SIG_ERR)
		_exit(92);
	while (read(orders, &order, 1) == 1) {
		if (order == 'I')
			kill(getpid(), SIGTERM);
		if (order == 'T')
			raise(SIGTERM);
		(void)!write(answers, ".", 1);
	}
	_exit(0);
}

/* It has done as it was told, and with each signal that was sent before: they are taken before it
 * reads on. False: it is dead. */
static bool tell(const struct job *job, char order)
{
	char answer;

	(void)!write(job->orders, &order, 1);
	return read(job->answers, &answer, 1) == 1;
}

static struct job start_job(enum handler handler)
{
	int orders[2], answers[2];
	struct job job = {0};

	assert_int_equal(pipe(orders) + pipe(answers), 0);
	job.pid = fork();
	if (job.pid == 0) {
		close(orders[1]);
		close(answers[0]);
		be_a_job(handler, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	job.orders = orders[1];
	job.answers = answers[0];
	assert_true(tell(&job, ' '));
	return job;
}

/* By somebody who is neither the supervisor nor the job's parent. */
static pid_t kill_from_outside(const struct job *job)
{
	pid_t child = fork();

	if (child == 0)
		_exit(kill(job->pid, SIGTERM) == 0 ? 0 : 1);
	assert_int_equal(code_of(child), 0);
	return child;
}

static const struct shim_record *find_held(uint64_t from)
{
	for (; from < header->head; from++)
		if (published(from)->event == SHIM_SIGTERM_HELD)
			return published(from);
	return NULL;
}

/* Who sends a SIGTERM, one after the other: O outside, S the supervisor, R the supervisor, which
 * releases, P the parent, I the job itself, T a thread of it. */
static void test_whose_sigterm_is_held_back(void **state)
{
	static const struct {
		enum shim_hold hold;
		bool supervisor_is_dead, of_another; /* not this process, the job's parent */
		enum handler handler;
		const char *senders;
		bool held, dies;
		int calls;
	} rows[] = {
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "O", true, false, 0},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "O", true, false, 0},
		{SHIM_HOLD_ACTIVE, false, false, IGNORES, "O", false, false, 0},
		{SHIM_HOLD_RELEASED, false, false, BY_DEFAULT, "O", false, true, 0},
		{SHIM_HOLD_RELEASED, false, false, HANDLES, "O", false, false, 1},
		{SHIM_HOLD_ACTIVE, true, false, BY_DEFAULT, "O", false, true, 0},
		{SHIM_HOLD_ACTIVE, true, false, HANDLES, "O", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "S", false, true, 0},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "S", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "SS", false, false, 2},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES_ONCE, "S", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES_ONCE, "SS", false, true, 1},
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "R", false, false, 0},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "R", false, false, 0},
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "I", false, true, 0},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "I", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "T", false, true, 0},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "T", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, true, BY_DEFAULT, "P", false, true, 0},
		{SHIM_HOLD_ACTIVE, false, true, HANDLES, "P", false, false, 1},
		{SHIM_HOLD_ACTIVE, false, true, HANDLES, "O", true, false, 0},
		/* What is held is delivered once. */
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "OR", true, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "ORR", true, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "OOR", true, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "OS", true, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "OSR", true, false, 1},
		{SHIM_HOLD_ACTIVE, false, false, HANDLES, "OROR", true, false, 2},
		{SHIM_HOLD_ACTIVE, false, false, BY_DEFAULT, "OR", true, true, 0},
	};
	pid_t another = fork();

	(void)state;
	if (another == 0)
		for (;;)
			pause();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const union sigval release = {.sival_int = SHIM_RELEASE_VALUE};
		pid_t supervisor = rows[i].of_another ? another : getpid(), outside = 0;
		const struct shim_record *held;
		struct job job;
		bool lives = true;
		int status;

		fill_header();
		header->sigterm_hold = rows[i].hold;
		header->supervisor_pid = (uint32_t)supervisor;
		header->supervisor_start = start_of(supervisor) + rows[i].supervisor_is_dead;
		heard->calls = heard->sender = 0;
		job = start_job(rows[i].handler);
		for (const char *sender = rows[i].senders; *sender; sender++) {
			pid_t by = *sender == 'O' ? kill_from_outside(&job) : 0;

			if (*sender == 'R')
				sigqueue(job.pid, SIGTERM, release);
			else if (*sender == 'S' || *sender == 'P')
				kill(job.pid, SIGTERM);
			lives = tell(&job, *sender);
			outside = outside ? outside : by;
		}
		held = find_held(0);
		if ((held != NULL) != rows[i].held || lives == rows[i].dies ||
		    heard->calls != rows[i].calls)
			fail_msg("row %zu: held %d, lives %d, calls %d", i, held != NULL, lives,
				 (int)heard->calls);
		/* Whose it was is known here and there. */
		if (held)
			assert_int_equal(held->descriptor, outside);
		if (held && rows[i].calls == 1)
			assert_int_equal(heard->sender, outside);
		close(job.orders);
		close(job.answers);
		assert_int_equal(waitpid(job.pid, &status, 0), job.pid);
		assert_int_equal(status, rows[i].dies ? SIGTERM : 0);
	}
	kill(another, SIGKILL);
	waitpid(another, NULL, 0);
}

/* As the supervisor reads it: CLOCK_MONOTONIC. */
static uint64_t clock_ms(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* So the supervisor knows which of two the process has got. */
static void test_a_held_one_says_when_the_supervisors_came(void **state)
{
	static const struct {
		const char *senders;
		bool known;
	} rows[] = {{"O", false}, {"SO", true}, {"RO", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const union sigval release = {.sival_int = SHIM_RELEASE_VALUE};
		const struct shim_record *held;
		struct job job;
		uint64_t before = clock_ms();

		fill_header();
		header->sigterm_hold = SHIM_HOLD_ACTIVE;
		job = start_job(HANDLES);
		for (const char *sender = rows[i].senders; *sender; sender++) {
			if (*sender == 'R')
				sigqueue(job.pid, SIGTERM, release);
			else if (*sender == 'S')
				kill(job.pid, SIGTERM);
			else
				kill_from_outside(&job);
			assert_true(tell(&job, *sender));
		}
		held = find_held(0);
		assert_non_null(held);
		if (rows[i].known)
			assert_in_range(held->device, before, clock_ms());
		else
			assert_int_equal(held->device, 0);
		close(job.orders);
		close(job.answers);
		assert_int_equal(code_of(job.pid), 0);
	}
}

static int share(void **state)
{
	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	signal(SIGPIPE, SIG_IGN);
	return heard == MAP_FAILED ? -1 : own_channel_make(state);
}

int main(void)
{
#define INSTALLED(test) cmocka_unit_test_setup(test, install)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_installed_only_where_it_can_be_let_go),
		cmocka_unit_test(test_what_was_set_before_is_taken_over),
		cmocka_unit_test(test_a_notice_is_ignored_by_who_has_no_handler),
		cmocka_unit_test(test_whose_sigterm_is_held_back),
		cmocka_unit_test(test_a_held_one_says_when_the_supervisors_came),
		INSTALLED(test_other_signals_are_none_of_our_business),
		INSTALLED(test_a_plain_process_seems_to_have_no_handler),
		INSTALLED(test_sigaction_gives_back_what_it_got),
		INSTALLED(test_a_handler_for_one_time),
		INSTALLED(test_each_older_function_does_as_well),
		INSTALLED(test_siginterrupt_changes_how_calls_go_on),
		INSTALLED(test_the_mark_is_not_seen),
		INSTALLED(test_a_child_without_a_fork_sets_its_own),
	};

	return cmocka_run_group_tests(tests, share, own_channel_remove);
}
