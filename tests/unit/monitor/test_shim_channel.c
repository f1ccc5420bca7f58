/* The supervisor's end of the channel against a job that may do anything to it. The producer
 * here is this test. */
#include "monitor/monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "shim/reprieve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

struct desk {
	char directory[64];
	struct loop loop;
	struct shim_channel *link;
	struct shim_header *header; /* as a job maps it */
	struct shim_record *records;
	struct timer timeout;
	struct sigaction bus; /* the channel's; cmocka sets its own for each function */
	int messages, lost;
	int64_t step;                       /* of the last one */
	char last[2 * SHIM_PATH_MOST + 64]; /* "event pid fd path path2" */
};

static void received(void *argument, const struct shim_message *message)
{
	struct desk *desk = argument;

	if (message->lost) {
		desk->lost++;
		return;
	}
	desk->messages++;
	desk->step = message->step;
	snprintf(desk->last, sizeof(desk->last), "%d %d %d %s %s", message->event, message->pid,
		 message->descriptor, message->path, message->path2);
}

static int set_up(void **state)
{
	struct desk *desk = memory_new(sizeof(*desk));
	struct err err = {0};
	int fd;

	text_set(desk->directory, sizeof(desk->directory), "/tmp/test_shim_link.XXXXXX");
	assert_non_null(mkdtemp(desk->directory));
	assert_int_equal(loop_init(&desk->loop, &err), 0);
	if (shim_channel_open(&desk->loop, desk->directory, "/data/ckpt", "/home/u/ckpt", received,
			      desk, &desk->link, &err) < 0)
		fail_msg("%s", err.text);
	sigaction(SIGBUS, NULL, &desk->bus);
	fd = open(shim_channel_path(desk->link), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	desk->header = mmap(NULL, SHIM_CHANNEL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(desk->header != MAP_FAILED);
	desk->records = (struct shim_record *)((char *)desk->header + SHIM_HEADER_SIZE);
	close(fd);
	*state = desk;
	return 0;
}

static int tear_down(void **state)
{
	struct desk *desk = *state;

	sigaction(SIGBUS, &desk->bus, NULL);
	shim_channel_close(desk->link);
	munmap(desk->header, SHIM_CHANNEL_SIZE);
	loop_release(&desk->loop);
	assert_true(file_directory_is_empty(desk->directory));
	file_remove_tree(desk->directory, NULL);
	free(desk);
	return 0;
}

static struct shim_record *claim(struct desk *desk, uint64_t *sequence)
{
	*sequence = desk->header->head++;
	return &desk->records[*sequence % SHIM_RECORDS];
}

static void fill(struct shim_record *record, const char *path)
{
	memset(record, 0, sizeof(*record));
	record->pid = 77;
	record->descriptor = 3;
	record->event = SHIM_OPENED;
	record->path_length = (uint16_t)strlen(path);
	memcpy(record->text, path, strlen(path));
}

static void publish(struct shim_record *record, uint64_t sequence)
{
	record->checksum = shim_checksum(record, sequence);
	__atomic_store_n(&record->published, sequence + 1, __ATOMIC_RELEASE);
}

static void report(struct desk *desk, const char *path)
{
	uint64_t sequence;
	struct shim_record *record = claim(desk, &sequence);

	fill(record, path);
	publish(record, sequence);
}

static void test_header(void **state)
{
	struct desk *desk = *state;
	struct stat status;

	assert_int_equal(desk->header->magic, SHIM_MAGIC);
	assert_int_equal(desk->header->version, SHIM_VERSION);
	assert_string_equal(desk->header->directory, "/data/ckpt");
	assert_int_equal(desk->header->directory_length, strlen("/data/ckpt"));
	assert_string_equal(desk->header->alias, "/home/u/ckpt");
	assert_int_equal(desk->header->sleeping, 1);
	assert_int_equal(stat(shim_channel_path(desk->link), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	/* All blocks are there: a page that cannot be backed would kill the job with SIGBUS. */
	assert_true((uint64_t)status.st_blocks * 512 >= SHIM_CHANNEL_SIZE);
}

static void test_messages_in_order_and_round_the_ring(void **state)
{
	struct desk *desk = *state;

	for (int i = 0; i < 5000; i++) {
		char path[20];

		snprintf(path, sizeof(path), "f%d", i);
		report(desk, path);
		if (i % 100 == 99)
			shim_channel_poll(desk->link);
	}
	assert_int_equal(desk->messages, 5000);
	assert_int_equal(desk->lost, 0);
	assert_string_equal(desk->last, "2 77 3 f4999 ");
	assert_int_equal(desk->header->tail, 5000);
}

static void test_what_is_handed_on(void **state)
{
	static const struct {
		const char *text;
		uint16_t event, second; /* the length of the second path */
		const char *said;
	} rows[] = {
		{"/usr/bin/python3", SHIM_HELLO, 0, "1 77 3 /usr/bin/python3 "},
		{"oldnew", SHIM_RENAMED, 3, "5 77 3 old new"},
	};
	struct desk *desk = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t sequence;
		struct shim_record *record = claim(desk, &sequence);

		fill(record, rows[i].text);
		record->event = rows[i].event;
		record->path_length = (uint16_t)(record->path_length - rows[i].second);
		record->path2_length = rows[i].second;
		publish(record, sequence);
		shim_channel_poll(desk->link);
		assert_string_equal(desk->last, rows[i].said);
	}
}

static void test_cut_path_says_lost(void **state)
{
	struct desk *desk = *state;
	uint64_t sequence;
	struct shim_record *record = claim(desk, &sequence);

	fill(record, "a");
	record->flags = SHIM_FLAG_TRUNCATED_PATH;
	publish(record, sequence);
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
	assert_int_equal(desk->lost, 1);
}

static void test_dropped_records_say_lost_once(void **state)
{
	struct desk *desk = *state;

	desk->header->dropped = 5;
	shim_channel_poll(desk->link);
	shim_channel_poll(desk->link);
	assert_int_equal(desk->lost, 1);
}

/* A producer killed between taking a place and filling it. */
static void test_hole_is_waited_for_then_skipped(void **state)
{
	struct desk *desk = *state;
	uint64_t sequence;
	int64_t start = clock_monotonic_ms();

	report(desk, "a");
	claim(desk, &sequence);
	report(desk, "b");
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
	while (desk->lost == 0 && clock_monotonic_ms() - start < 10000) {
		usleep(10000);
		shim_channel_poll(desk->link);
	}
	assert_int_equal(desk->lost, 1);
	assert_int_equal(desk->messages, 2);
	assert_string_equal(desk->last, "2 77 3 b ");
}

static void test_slow_producer_is_no_hole(void **state)
{
	struct desk *desk = *state;
	uint64_t sequence;
	struct shim_record *record = claim(desk, &sequence);

	shim_channel_poll(desk->link);
	fill(record, "late");
	publish(record, sequence);
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
	assert_int_equal(desk->lost, 0);
}

/* A producer that was stopped, and continued when its place had long been another's. */
static void test_overwritten_record_is_lost_not_believed(void **state)
{
	struct desk *desk = *state;

	report(desk, "a");
	desk->records[0].text[0] = 'b';
	report(desk, "c");
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
	assert_int_equal(desk->lost, 1);
	assert_string_equal(desk->last, "2 77 3 c ");
}

static void test_garbage(void **state)
{
	static const char *const paths[] = {"/etc/passwd", "..", "../x", "a/../../x", "a/.."};
	struct desk *desk = *state;
	uint64_t sequence;
	struct shim_record *record;
	int lost = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++, lost++)
		report(desk, paths[i]);
	record = claim(desk, &sequence);
	fill(record, "abc");
	record->text[1] = '\0';
	publish(record, sequence);
	lost++;
	for (unsigned event = SHIM_SAVED_ELSEWHERE + 1; event < 70000; event += 9999, lost++) {
		record = claim(desk, &sequence);
		fill(record, "a");
		record->event = (uint16_t)event;
		publish(record, sequence);
	}
	record = claim(desk, &sequence);
	fill(record, "a");
	record->pid = 0;
	publish(record, sequence);
	lost++;
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 0);
	assert_int_equal(desk->lost, lost);
	report(desk, "..a/b..");
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
}

/* Lengths far out of the record, with a checksum that the job could not even compute. */
static void test_lengths_out_of_the_record(void **state)
{
	struct desk *desk = *state;
	uint64_t sequence;
	struct shim_record *record = claim(desk, &sequence);

	fill(record, "a");
	record->path_length = 0xffff;
	record->path2_length = 0xffff;
	record->published = sequence + 1;
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 0);
	assert_int_equal(desk->lost, 1);
}

static void test_header_overwritten(void **state)
{
	struct desk *desk = *state;

	memset(desk->header, 0xff, SHIM_HEADER_SIZE);
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 0);
	assert_true(desk->lost > 0);
	shim_channel_poll(desk->link);
}

static void test_random_channel(void **state)
{
	struct desk *desk = *state;
	uint64_t seed = 1;

	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < SHIM_CHANNEL_SIZE / 8; i += 3) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			((uint64_t *)desk->header)[i] = seed >> (seed % 60);
		}
		for (uint64_t i = 0; i < 100; i++)
			desk->records[(desk->header->tail + i) % SHIM_RECORDS].published =
				desk->header->tail + i + 1;
		desk->header->head = desk->header->tail + 100;
		shim_channel_poll(desk->link);
	}
	assert_true(desk->lost > 0);
}

static void ran_out(struct timer *timer)
{
	loop_stop(&container_of(timer, struct desk, timeout)->loop);
}

static void run_for(struct desk *desk, int64_t ms)
{
	desk->timeout.fired = ran_out;
	desk->loop.stopped = false;
	loop_arm(&desk->loop, &desk->timeout, clock_monotonic_ms() + ms);
	assert_int_equal(loop_run(&desk->loop, NULL), 0);
}

static void test_pipe_wakes_the_loop(void **state)
{
	struct desk *desk = *state;
	auto_close int fd = open(desk->header->doorbell, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	report(desk, "a");
	assert_int_equal(write(fd, "", 1), 1);
	/* Less than the tick that would find it as well. */
	run_for(desk, 500);
	assert_int_equal(desk->messages, 1);
}

/* Who reports by the page sends a byte there. */
static void test_socket_wakes_the_loop(void **state)
{
	struct desk *desk = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/shim.doorbell", desk->directory);
	report(desk, "a");
	assert_int_equal(sendto(fd, "", 1, 0, (struct sockaddr *)&address, sizeof(address)), 1);
	run_for(desk, 500);
	assert_int_equal(desk->messages, 1);
}

static void test_lost_doorbell_is_made_good(void **state)
{
	struct desk *desk = *state;

	report(desk, "a");
	for (int i = 0; i < 100 && desk->messages == 0; i++)
		run_for(desk, 100);
	assert_int_equal(desk->messages, 1);
}

static void test_shield_is_shown(void **state)
{
	struct desk *desk = *state;

	assert_int_equal(desk->header->sigterm_hold, SHIM_HOLD_OFF);
	assert_int_equal(desk->header->supervisor_pid, getpid());
	assert_true(desk->header->supervisor_start > 0 && desk->header->namespace_inode > 0);
	shim_channel_set_sigterm_hold(desk->link, SHIM_HOLD_ACTIVE);
	assert_int_equal(desk->header->sigterm_hold, SHIM_HOLD_ACTIVE);
}

/* A process closes its file and says "saved": its records come first. */
static void test_saved_comes_after_what_was_reported_before(void **state)
{
	struct desk *desk = *state;
	char wanted[40];
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		setenv("REPRIEVE_PAGE", progress_page_path(shim_channel_page(desk->link)), 1);
		report(desk, "a");
		reprieve_saved(12);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 2);
	snprintf(wanted, sizeof(wanted), "%d %d -1  ", SHIM_CHANNEL_SAVED, (int)child);
	assert_string_equal(desk->last, wanted);
	assert_int_equal(desk->step, 12);
}

static void test_channel_is_never_taken_over(void **state)
{
	struct desk *desk = *state;
	struct shim_channel *second;
	struct err err;

	assert_int_equal(shim_channel_open(&desk->loop, desk->directory, "/data/ckpt", NULL,
					   received, desk, &second, &err),
			 -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	report(desk, "a");
	shim_channel_poll(desk->link);
	assert_int_equal(desk->messages, 1);
}

static void test_session_directory_too_long(void **state)
{
	struct desk *desk = *state;
	struct shim_channel *second;
	struct err err;
	char name[200];

	snprintf(name, sizeof(name), "%s/%0100d", desk->directory, 0);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(shim_channel_open(&desk->loop, name, "/data/ckpt", NULL, received, desk,
					   &second, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
	/* Nothing is left behind. */
	assert_int_equal(rmdir(name), 0);
}

static void test_holds(void **state)
{
	struct desk *desk = *state;
	char path[100];
	auto_close int fd = -1;
	pid_t child;

	snprintf(path, sizeof(path), "%s/file", desk->directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(open_files_query_descriptor(desk->directory, getpid(), fd),
			 OPEN_FILES_DESCRIPTOR_OPEN);
	assert_int_equal(open_files_query_descriptor(desk->directory, getpid(), 0),
			 OPEN_FILES_DESCRIPTOR_CLOSED);
	assert_int_equal(open_files_query_descriptor(desk->directory, getpid(), 999),
			 OPEN_FILES_DESCRIPTOR_CLOSED);
	child = fork();
	if (child == 0)
		_exit(0);
	/* A zombie holds nothing, though its number is taken. */
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(open_files_query_descriptor(desk->directory, child, fd),
			 OPEN_FILES_DESCRIPTOR_GONE);
	waitpid(child, NULL, 0);
	assert_int_equal(open_files_query_descriptor(desk->directory, child, fd),
			 OPEN_FILES_DESCRIPTOR_GONE);
	unlink(path);
	assert_int_equal(open_files_query_descriptor(desk->directory, getpid(), fd),
			 OPEN_FILES_DESCRIPTOR_OPEN);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* What one wrong redirection in the job does to the files that it shares with its supervisor. */
static void truncate_to(const struct desk *desk, const char *path, off_t size)
{
	sigaction(SIGBUS, &desk->bus, NULL);
	assert_int_equal(truncate(path, size), 0);
}

static void test_a_truncated_channel_is_mended(void **state)
{
	/* The last one is emptied first. */
	static const off_t sizes[] = {0, 10, SHIM_HEADER_SIZE, SHIM_HEADER_SIZE + 1024,
				      SHIM_CHANNEL_SIZE};
	struct desk *desk = *state;
	struct stat status;

	shim_channel_set_sigterm_hold(desk->link, SHIM_HOLD_ACTIVE);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int lost = desk->lost, messages = desk->messages;

		report(desk, "before");
		report(desk, "before");
		shim_channel_poll(desk->link);
		if (sizes[i] == SHIM_CHANNEL_SIZE)
			truncate_to(desk, shim_channel_path(desk->link), 0);
		truncate_to(desk, shim_channel_path(desk->link), sizes[i]);
		/* Each of these touches pages that are gone. */
		shim_channel_set_sigterm_hold(desk->link, SHIM_HOLD_RELEASED);
		shim_channel_set_sigterm_hold(desk->link, SHIM_HOLD_ACTIVE);
		shim_channel_poll(desk->link);
		assert_true(desk->lost > lost);
		assert_int_equal(stat(shim_channel_path(desk->link), &status), 0);
		assert_int_equal(status.st_size, SHIM_CHANNEL_SIZE);
		assert_int_equal(desk->header->magic, SHIM_MAGIC);
		assert_int_equal(desk->header->sigterm_hold, SHIM_HOLD_ACTIVE);
		assert_string_equal(desk->header->directory, "/data/ckpt");
		/* Who has it mapped goes on. */
		report(desk, "after");
		shim_channel_poll(desk->link);
		assert_string_equal(desk->last, "2 77 3 after ");
		assert_int_equal(desk->messages, messages + 3);
	}
}

static void test_a_truncated_page_is_mended(void **state)
{
	struct desk *desk = *state;
	const char *path = progress_page_path(shim_channel_page(desk->link));
	struct training_progress progress;
	struct stat status;

	truncate_to(desk, path, 0);
	progress_page_request(shim_channel_page(desk->link));
	assert_int_equal(progress_page_count_polling(shim_channel_page(desk->link)), 0);
	assert_false(progress_page_read_progress(shim_channel_page(desk->link), &progress));
	shim_channel_poll(desk->link);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size > 4096);
	progress_page_end_request(shim_channel_page(desk->link), false, 0);
	truncate_to(desk, path, 0); /* and at the end */
}

/* --- what a killed supervisor has not read: here it just reads no more --- */

static int read_left(struct desk *desk, struct left_channel *left)
{
	return left_channel_read(desk->directory, left, NULL);
}

static void test_what_was_not_read_is_left(void **state)
{
	struct desk *desk = *state;
	auto_(left_channel_release) struct left_channel left = {0};

	report(desk, "before.pt");
	report(desk, "begun.pt");
	report(desk, "seen.pt");
	shim_channel_poll(desk->link);
	assert_true(shim_channel_position(desk->link) == 3);
	shim_channel_leave_known(desk->link, "{}");
	shim_channel_note_listed(desk->link, 1);
	/* Nothing is news yet, and what was known is there. */
	assert_int_equal(read_left(desk, &left), 0);
	assert_int_equal(left.known.size, 2);
	assert_true(left.count == left.listed);
	left_channel_release(&left);
	report(desk, "unread.pt");
	assert_int_equal(read_left(desk, &left), 0);
	assert_string_equal(left.directory, "/data/ckpt");
	assert_int_equal(left.known.size, 2);
	assert_int_equal(left.supervisor, getpid());
	assert_int_equal(left.count, 3);
	assert_int_equal(left.listed, 2);
	assert_string_equal(left.reports[0].paths.path, "begun.pt");
	assert_string_equal(left.reports[2].paths.path, "unread.pt");
	assert_int_equal(left.reports[2].message.event, SHIM_OPENED);
}

/* The job can write there: no more is believed than from a living one. */
static void test_garbage_that_is_left(void **state)
{
	struct desk *desk = *state;
	uint64_t sequence;

	shim_channel_leave_known(desk->link, "{}");
	report(desk, "sound.pt");
	fill(claim(desk, &sequence), "../outside.pt");
	publish(&desk->records[sequence], sequence);
	(void)claim(desk, &sequence); /* its producer was killed */
	for (int i = 0; i < 8; i++) {
		struct shim_header was = *desk->header;
		auto_(left_channel_release) struct left_channel left = {0};

		switch (i) {
		case 1:
			desk->header->magic++;
			break;
		case 2:
			desk->header->version++;
			break;
		case 3:
			desk->header->boot[0]++; /* the machine was started anew */
			break;
		case 4:
			desk->header->dropped++; /* reports were lost */
			break;
		case 5:
			desk->header->listed = 1000;
			break;
		case 6:
			desk->header->head = 1000000;
			break;
		case 7:
			desk->header->directory_length = 5000;
			break;
		}
		assert_int_equal(read_left(desk, &left), i == 0 ? 0 : -1);
		if (i == 0)
			assert_int_equal(left.count, 1);
		*desk->header = was;
	}
}

/* Of what was begun so long ago that its reports are overwritten, the rest. */
static void test_a_full_ring_is_left(void **state)
{
	struct desk *desk = *state;
	auto_(left_channel_release) struct left_channel left = {0};

	shim_channel_leave_known(desk->link, "{}");
	for (int i = 0; i < 3; i++) {
		for (unsigned j = 0; j < SHIM_RECORDS / 2; j++)
			report(desk, "a.pt");
		if (i == 2)
			break;
		shim_channel_poll(desk->link);
		shim_channel_note_listed(desk->link, 0);
	}
	assert_int_equal(read_left(desk, &left), 0);
	assert_int_equal(left.count, SHIM_RECORDS);
	assert_int_equal(left.listed, SHIM_RECORDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_header),
		TEST(test_messages_in_order_and_round_the_ring),
		TEST(test_what_is_handed_on),
		TEST(test_cut_path_says_lost),
		TEST(test_dropped_records_say_lost_once),
		TEST(test_hole_is_waited_for_then_skipped),
		TEST(test_slow_producer_is_no_hole),
		TEST(test_overwritten_record_is_lost_not_believed),
		TEST(test_garbage),
		TEST(test_lengths_out_of_the_record),
		TEST(test_header_overwritten),
		TEST(test_random_channel),
		TEST(test_pipe_wakes_the_loop),
		TEST(test_socket_wakes_the_loop),
		TEST(test_lost_doorbell_is_made_good),
		TEST(test_shield_is_shown),
		TEST(test_saved_comes_after_what_was_reported_before),
		TEST(test_channel_is_never_taken_over),
		TEST(test_session_directory_too_long),
		TEST(test_holds),
		TEST(test_a_truncated_channel_is_mended),
		TEST(test_a_truncated_page_is_mended),
		TEST(test_what_was_not_read_is_left),
		TEST(test_garbage_that_is_left),
		TEST(test_a_full_ring_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
