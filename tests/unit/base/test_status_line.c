/* The line that is drawn again, on a pseudo terminal (tests/e2e/test_progress.py has the rest). */
#include "base/log.h"

#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define COLUMNS 20

static int saved = -1;

static void put_in_place(int fd)
{
	saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static void put_back(void)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	/* It sees that, before another terminal gets the number of this one. */
	(void)status_line_is_possible();
}

/* Returns the side of the one who looks; nothing is translated. */
static int open_terminal(unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	struct termios raw = {0};
	int master, slave;

	setenv("TERM", "xterm", 1);
	unsetenv("CI");
	cfmakeraw(&raw);
	assert_int_equal(openpty(&master, &slave, NULL, &raw, &size), 0);
	fcntl(master, F_SETFL, O_NONBLOCK);
	put_in_place(slave);
	return master;
}

/* What came out. A terminal hands it on when it likes: a mark behind it says that it is all. */
static const char *seen(int master)
{
	static char text[1 << 18];
	struct pollfd ready = {.fd = master, .events = POLLIN};
	size_t size = 0;

	assert_int_equal(write(STDERR_FILENO, "|", 1), 1);
	while (size < sizeof(text) - 1 && (size == 0 || text[size - 1] != '|')) {
		ssize_t got;

		assert_int_equal(poll(&ready, 1, 10000), 1);
		got = read(master, text + size, sizeof(text) - 1 - size);
		assert_true(got > 0);
		size += (size_t)got;
	}
	text[size - 1] = '\0';
	return text;
}

static void test_it_follows_the_width(void **state)
{
	struct winsize narrow = {.ws_row = 24, .ws_col = 6};
	int master = open_terminal(COLUMNS);

	(void)state;
	status_line_show("a text that is longer than the terminal is wide");
	assert_string_equal(seen(master), "a text that is long\x1b[K");
	ioctl(master, TIOCSWINSZ, &narrow);
	status_line_show("a text");
	assert_string_equal(seen(master), "\ra tex\x1b[K");
	status_line_clear();
	put_back();
	close(master);
}

static void test_where_it_is_not_possible(void **state)
{
	static const struct {
		const char *terminal, *automatic;
		unsigned short columns;
		bool possible;
	} rows[] = {
		{"xterm", NULL, 80, true}, {"dumb", NULL, 80, false},
		{"", NULL, 80, false},     {"xterm", "true", 80, false},
		{"xterm", "", 80, true},   {"xterm", "false", 80, true},
		{"xterm", NULL, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int master = open_terminal(rows[i].columns);

		setenv("TERM", rows[i].terminal, 1);
		if (rows[i].automatic)
			setenv("CI", rows[i].automatic, 1);
		assert_int_equal(status_line_is_possible(), rows[i].possible);
		status_line_show("bar");
		assert_int_equal(seen(master)[0] != '\0', rows[i].possible);
		status_line_clear();
		put_back();
		close(master);
	}
}

/* Exit status: 0 if a line is drawn with nobody else in the foreground, not while another job has
 * the terminal, and again once that has ended. */
static int draw_in_the_background(void)
{
	int master;
	pid_t other;
	bool before, meanwhile, after;

	setsid();
	master = open_terminal(80);
	signal(SIGTTOU, SIG_IGN);
	if (master < 0 || ioctl(STDERR_FILENO, TIOCSCTTY, 0) < 0)
		return 2;
	tcsetpgrp(STDERR_FILENO, getpgrp());
	before = status_line_is_possible();
	other = fork();
	if (other == 0) {
		pause();
		_exit(0);
	}
	setpgid(other, other);
	tcsetpgrp(STDERR_FILENO, other);
	meanwhile = status_line_is_possible();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	after = status_line_is_possible();
	return before && !meanwhile && after ? 0 : 1;
}

static void test_not_over_what_another_job_shows(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(draw_in_the_background());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Somebody has pressed Ctrl-S. */
static void test_nobody_waits_for_a_terminal(void **state)
{
	int master = open_terminal(COLUMNS);

	(void)state;
	status_line_show("bar");
	assert_string_equal(seen(master), "bar\x1b[K");
	assert_int_equal(tcflow(STDERR_FILENO, TCOOFF), 0);
	status_line_show("another");
	log_note("one");
	log_note("two");
	status_line_clear();
	assert_int_equal(tcflow(STDERR_FILENO, TCOON), 0);
	log_note("three");
	assert_string_equal(seen(master), "\r\x1b[Kreprieve: 2 lines are missing here: nobody read "
					  "them\nreprieve: three\n");
	put_back();
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_follows_the_width),
		cmocka_unit_test(test_where_it_is_not_possible),
		cmocka_unit_test(test_not_over_what_another_job_shows),
		cmocka_unit_test(test_nobody_waits_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
