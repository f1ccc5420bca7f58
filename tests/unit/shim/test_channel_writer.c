/* The producer's side of PROTOCOL.md: which channel a process takes part in, and what lies in it
 * after each report. */
#include "own_channel.h"

#include "shim/channel_writer.h"
#include "shim/fd_table.h"

#include <errno.h>
#include <sys/syscall.h>

/* With it, this program is a process of the job that ends with this code. */
#define ENDS_WITH "REPRIEVE_TEST_ENDS_WITH"

/* In place of the handler, which takes SIGTERM over. */
void sigterm_handler_install(void)
{
}

void sigterm_handler_forked(void)
{
}

static int join_each(void **state)
{
	(void)state;
	fill_header();
	assert_true(join(channel_name));
	return 0;
}

static void check(uint64_t sequence, enum shim_event event, int descriptor, unsigned flags,
		  const char *path, const char *path2)
{
	const struct shim_record *record = published(sequence);

	assert_int_equal(record->event, event);
	assert_int_equal(record->descriptor, descriptor);
	assert_int_equal(record->flags, flags);
	assert_int_equal(record->path_length, strlen(path));
	assert_memory_equal(record->text, path, strlen(path));
	assert_int_equal(record->path2_length, strlen(path2));
	assert_memory_equal(record->text + strlen(path), path2, strlen(path2));
}

static struct resolved_path inside(const char *path, unsigned flags)
{
	struct resolved_path found = {
		.inside = true,
		.regular = true,
		.flags = flags,
		.length = (uint16_t)strlen(path),
		.device = 0x123456789a,
		.inode = 0xabcdef0123,
	};

	memcpy(found.path, path, found.length);
	return found;
}

/* --- which channel --- */

static void test_only_a_sound_channel_is_taken(void **state)
{
#define AT(member) offsetof(struct shim_header, member)
	static const struct {
		const char *why;
		size_t offset, size;
		int byte;
	} rows[] = {
		{"not finished", AT(magic), 4, 0},
		{"another version", AT(version), 1, SHIM_VERSION + 1},
		{"a relative directory", AT(directory), 1, 'x'},
		{"a shorter directory", AT(directory_length), 1, 1},
		{"a longer directory", AT(directory_length), 1, 255},
		{"a directory without an end", AT(directory) + 1, 1023, 'x'},
		{"another name without an end", AT(alias), 1024, 'x'},
		{"a doorbell without an end", AT(doorbell), 108, 'x'},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fill_header();
		memset((char *)header + rows[i].offset, rows[i].byte, rows[i].size);
		if (rows[i].size == 1023)
			header->directory_length = 1024;
		if (join(channel_name))
			fail_msg("%s", rows[i].why);
		assert_false(channel_is_possible());
	}
	/* Each text may be as long as there is room for it and its end. */
	fill_header();
	memset(header->directory + 1, 'x', 1022);
	header->directory_length = 1023;
	memset(header->alias, 'x', 1023);
	memset(header->doorbell, 'x', 107);
	assert_true(join(channel_name));
	assert_true(channel_is_possible());
}

static void test_only_a_file_of_its_size_and_by_its_own_name_is_one(void **state)
{
	char other[80];

	(void)state;
	fill_header();
	assert_false(join(NULL));
	assert_false(join("channel"));
	snprintf(other, sizeof(other), "%s/none", place);
	assert_false(join(other));
	assert_int_equal(symlink(channel_name, other), 0);
	assert_false(join(other));
	for (int change = -1; change <= 1; change++) {
		assert_int_equal(truncate(channel_name, (off_t)SHIM_CHANNEL_SIZE + change), 0);
		assert_int_equal(join(channel_name), change == 0);
		fill_header();
	}
	assert_int_equal(truncate(channel_name, SHIM_CHANNEL_SIZE), 0);
}

static void test_the_user_can_turn_it_off(void **state)
{
	static const struct {
		const char *value;
		bool takes_part;
	} rows[] = {{"", true}, {"0", true}, {"1", false}, {"no", false}, {"00", false}};

	(void)state;
	fill_header();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(setenv(SHIM_ENV_DISABLE, rows[i].value, 1), 0);
		assert_int_equal(join(channel_name), rows[i].takes_part);
	}
	assert_int_equal(unsetenv(SHIM_ENV_DISABLE), 0);
}

static void test_what_is_read_of_the_header(void **state)
{
	(void)state;
	header->sigterm_hold = SHIM_HOLD_ACTIVE;
	assert_int_equal(channel_sigterm_hold(), SHIM_HOLD_ACTIVE);
	header->sigterm_hold = SHIM_HOLD_RELEASED;
	assert_int_equal(channel_sigterm_hold(), SHIM_HOLD_RELEASED);
	/* The rest as it was at the start, whatever the job writes there. */
	memset(header, 0, SHIM_HEADER_SIZE);
	assert_string_equal(channel_header()->directory, directory);
	assert_string_equal(channel_header()->doorbell, doorbell);
}

/* --- reports --- */

static void test_what_a_report_holds(void **state)
{
	const struct resolved_path a = inside("step-1/a", SHIM_FLAG_EMPTY);
	const struct resolved_path b = inside("b", 0);
	const struct resolved_path cut = inside("cut", SHIM_FLAG_TRUNCATED_PATH);
	struct resolved_path outside = inside("outside", SHIM_FLAG_TRUNCATED_PATH);
	const struct {
		const struct resolved_path *path, *path2;
		unsigned flags, got_flags;
		const char *text, *text2;
	} rows[] = {
		{NULL, NULL, 0, 0, "", ""},
		/* What was found of a file is its reporter's to say. */
		{&a, NULL, 0, 0, "step-1/a", ""},
		{&a, &b, SHIM_FLAG_EXCHANGED, SHIM_FLAG_EXCHANGED, "step-1/a", "b"},
		{&outside, &b, 0, 0, "", "b"},
		{&a, &outside, 0, 0, "step-1/a", ""},
		{&cut, NULL, 0, SHIM_FLAG_TRUNCATED_PATH, "cut", ""},
		{&a, &cut, SHIM_FLAG_FAILED, SHIM_FLAG_FAILED | SHIM_FLAG_TRUNCATED_PATH,
		 "step-1/a", "cut"},
	};

	(void)state;
	outside.inside = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = EDOM;
		channel_send(SHIM_RENAMED, 70000, rows[i].flags, rows[i].path, rows[i].path2);
		/* The job's own call has set it. */
		assert_int_equal(errno, EDOM);
		assert_int_equal(header->head, i + 1);
		check(i, SHIM_RENAMED, 70000, rows[i].got_flags, rows[i].text, rows[i].text2);
		assert_int_equal(published(i)->pid, getpid());
		assert_int_equal(published(i)->device, rows[i].path ? 0x123456789a : 0);
		assert_int_equal(published(i)->inode, rows[i].path ? 0xabcdef0123 : 0);
	}
	assert_int_equal(header->dropped, 0);
}

/* Its end is the log's: it says so, unless the file begins anew with each opening. */
static void test_how_a_file_was_opened(void **state)
{
	static const struct {
		int open_flags;
		unsigned flags;
	} rows[] = {
		{O_WRONLY, SHIM_FLAG_EMPTY},
		{O_RDWR | O_APPEND, SHIM_FLAG_EMPTY | SHIM_FLAG_APPENDS},
		{O_WRONLY | O_APPEND | O_TRUNC, SHIM_FLAG_EMPTY},
		{O_WRONLY | O_TRUNC, SHIM_FLAG_EMPTY},
	};
	const struct resolved_path path = inside("a", SHIM_FLAG_EMPTY);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		channel_send_opened(9, rows[i].open_flags, &path);
		check(i, SHIM_OPENED, 9, rows[i].flags, "a", "");
	}
}

static ssize_t rings(void)
{
	char bytes[16];
	ssize_t got = read(rung, bytes, sizeof(bytes));

	return got < 0 ? 0 : got;
}

static void test_who_sleeps_is_woken(void **state)
{
	(void)state;
	channel_send(SHIM_CLOSED, 1, 0, NULL, NULL);
	assert_int_equal(rings(), 0);
	header->sleeping = 1;
	channel_send(SHIM_CLOSED, 2, 0, NULL, NULL);
	assert_int_equal(rings(), 1);
	/* Also where there was no room: what is lost must be looked for. */
	header->head = header->tail + SHIM_RECORDS;
	channel_send(SHIM_CLOSED, 3, 0, NULL, NULL);
	assert_int_equal(rings(), 1);
	/* Nobody reads any more, or the pipe is gone: the job does not notice. */
	close(rung);
	channel_send(SHIM_CLOSED, 4, 0, NULL, NULL);
	assert_int_equal(unlink(doorbell), 0);
	channel_send(SHIM_CLOSED, 5, 0, NULL, NULL);
	assert_int_equal(mkfifo(doorbell, 0600), 0);
	rung = open(doorbell, O_RDONLY | O_NONBLOCK);
	assert_true(rung >= 0);
}

/* The supervisor reads the ring before it decides: that somebody came and went may wait for that.
 */
static void test_who_comes_and_goes_without_a_file_wakes_nobody(void **state)
{
	static const struct {
		enum shim_event first;
		uint64_t used; /* by others */
		ssize_t rung;
	} rows[] = {
		{SHIM_HELLO, 0, 0},
		{SHIM_HELLO, SHIM_RECORDS / 2 - 1, 1}, /* for what comes next */
		{SHIM_RENAMED, 0, 2},
	};

	(void)state;
	header->sleeping = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t child;

		header->head = header->tail + rows[i].used;
		child = fork();
		if (child == 0) {
			channel_send(rows[i].first, -1, 0, NULL, NULL);
			channel_send_exiting(0, 0);
			_exit(0);
		}
		assert_int_equal(code_of(child), 0);
		assert_int_equal(header->head, header->tail + rows[i].used + 2);
		assert_int_equal(rings(), rows[i].rung);
	}
}

/* --- processes --- */

static void test_numbers_of_another_namespace_are_marked(void **state)
{
	pid_t child;

	(void)state;
	channel_send(SHIM_CLOSED, 1, SHIM_FLAG_FAILED, NULL, NULL);
	header->namespace_inode++;
	/* Found out once, and again by who sees another parent than the one that has. */
	assert_true(join(channel_name));
	channel_send(SHIM_CLOSED, 1, SHIM_FLAG_FAILED, NULL, NULL);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		pid_t below = fork();

		if (below == 0) {
			channel_send(SHIM_CLOSED, 1, SHIM_FLAG_FAILED, NULL, NULL);
			_exit(0);
		}
		syscall(SYS_exit_group, code_of(below));
	}
	assert_int_equal(code_of(child), 0);
	check(0, SHIM_CLOSED, 1, SHIM_FLAG_FAILED, "", "");
	check(1, SHIM_CLOSED, 1, SHIM_FLAG_FAILED, "", "");
	check(2, SHIM_CLOSED, 1, SHIM_FLAG_FAILED | SHIM_FLAG_FOREIGN_PIDNS, "", "");
}

int main(void)
{
#define JOINED(test) cmocka_unit_test_setup(test, join_each)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_sound_channel_is_taken),
		cmocka_unit_test(test_only_a_file_of_its_size_and_by_its_own_name_is_one),
		cmocka_unit_test(test_the_user_can_turn_it_off),
		JOINED(test_what_is_read_of_the_header),
		JOINED(test_what_a_report_holds),
		JOINED(test_how_a_file_was_opened),
		JOINED(test_who_sleeps_is_woken),
		JOINED(test_who_comes_and_goes_without_a_file_wakes_nobody),
		JOINED(test_numbers_of_another_namespace_are_marked),
	};

	if (getenv(ENDS_WITH))
		return atoi(getenv(ENDS_WITH));
	return cmocka_run_group_tests(tests, own_channel_make, own_channel_remove);
}
