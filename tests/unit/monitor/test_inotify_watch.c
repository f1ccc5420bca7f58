/* On a real directory: what the kernel tells, and what libinotifytools needs help with. */
#include "monitor/monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct place {
	char directory[64];
	struct loop loop;
	struct inotify_watch *watch;
	struct timer timeout;
	bool rescanned;
	char told[65536]; /* "created a\nmodified a\n" */
};

static const char *const names[] = {
	[DIR_CREATED] = "created",     [DIR_MODIFIED] = "modified",
	[DIR_CLOSED_WRITE] = "closed", [DIR_MOVED_TO] = "to",
	[DIR_DELETED] = "deleted",     [DIR_DIRECTORY_CREATED] = "directory",
	[DIR_RESCAN] = "rescan",
};

static void changed(void *argument, const struct dir_event *event)
{
	struct place *place = argument;
	size_t used = strlen(place->told);

	place->rescanned |= event->change == DIR_RESCAN;
	snprintf(place->told + used, sizeof(place->told) - used, "%s%s%s %s\n",
		 event->from ? event->from : "", event->from ? " " : "", names[event->change],
		 event->path);
}

static int set_up(void **state)
{
	struct place *place = memory_new(sizeof(*place));
	struct err err;

	text_set(place->directory, sizeof(place->directory), "/tmp/test_dir_watch.XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	assert_int_equal(loop_init(&place->loop, &err), 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	if (place->watch)
		inotify_watch_close(place->watch);
	loop_release(&place->loop);
	file_remove_tree(place->directory, NULL);
	free(place);
	return 0;
}

static char *name(struct place *place, const char *path)
{
	static char names_of[4][128];
	static int next;

	next = (next + 1) % 4;
	snprintf(names_of[next], sizeof(names_of[next]), "%s/%s", place->directory, path);
	return names_of[next];
}

static void watch(struct place *place)
{
	struct err err = {0};

	if (inotify_watch_open(&place->loop, place->directory, changed, place, &place->watch,
			       &err) < 0)
		fail_msg("%s", err.text);
}

static void write_file(struct place *place, const char *path)
{
	int fd = open(name(place, path), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static void make_directory(struct place *place, const char *path)
{
	assert_int_equal(mkdir(name(place, path), 0700), 0);
}

static void move(struct place *place, const char *old, const char *new)
{
	assert_int_equal(rename(name(place, old), name(place, new)), 0);
}

/* What was told since the last call, now. */
static const char *told(struct place *place)
{
	static char copy[sizeof(place->told)];

	inotify_watch_drain(place->watch);
	memcpy(copy, place->told, sizeof(copy));
	place->told[0] = '\0';
	return copy;
}

static void assert_told(struct place *place, const char *line)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s\n", line);
	const char *all = told(place);
	if (!strstr(all, whole))
		fail_msg("\"%s\" is not among:\n%s", line, all);
}

/* What has left is told before what comes in its place. */
static void test_file_that_leaves_and_is_made_again(void **state)
{
	struct place *place = *state;
	char elsewhere[80], second[80];

	watch(place);
	write_file(place, "a");
	told(place);
	snprintf(elsewhere, sizeof(elsewhere), "%s.moved", place->directory);
	assert_int_equal(rename(name(place, "a"), elsewhere), 0);
	write_file(place, "a");
	assert_string_equal(told(place), "deleted a\ncreated a\nmodified a\nclosed a\n");
	/* Its name is taken by a rename from outside. */
	assert_int_equal(rename(name(place, "a"), name(place, "b")), 0);
	assert_string_equal(told(place), "a to b\n");
	snprintf(second, sizeof(second), "%s.second", place->directory);
	assert_int_equal(rename(name(place, "b"), second), 0);
	assert_int_equal(rename(elsewhere, name(place, "b")), 0);
	assert_string_equal(told(place), "deleted b\nto b\n");
	unlink(second);
}

static void ran_out(struct timer *timer)
{
	loop_stop(&container_of(timer, struct place, timeout)->loop);
}

static void run_for(struct place *place, int64_t ms)
{
	place->timeout.fired = ran_out;
	place->loop.stopped = false;
	loop_arm(&place->loop, &place->timeout, clock_monotonic_ms() + ms);
	assert_int_equal(loop_run(&place->loop, NULL), 0);
}

static void test_file(void **state)
{
	struct place *place = *state;

	watch(place);
	write_file(place, "a");
	assert_string_equal(told(place), "created a\nmodified a\nclosed a\n");
	move(place, "a", "b");
	assert_string_equal(told(place), "a to b\n");
	unlink(name(place, "b"));
	assert_string_equal(told(place), "deleted b\n");
}

static void test_what_is_there_already_is_no_news(void **state)
{
	struct place *place = *state;

	write_file(place, "a");
	make_directory(place, "old");
	write_file(place, "old/a");
	watch(place);
	assert_string_equal(told(place), "");
	write_file(place, "old/b");
	assert_string_equal(told(place), "created old/b\nmodified old/b\nclosed old/b\n");
}

/* The library lists before it watches, or not at all: these files would be lost. */
static void test_new_directory_with_content(void **state)
{
	struct place *place = *state;

	watch(place);
	make_directory(place, "s");
	make_directory(place, "s/t");
	write_file(place, "s/t/a");
	assert_string_equal(told(place), "directory s\ndirectory s/t\ncreated s/t/a\n");
	write_file(place, "s/t/b");
	assert_string_equal(told(place), "created s/t/b\nmodified s/t/b\nclosed s/t/b\n");
}

static void test_renamed_directory_keeps_its_files_names_right(void **state)
{
	struct place *place = *state;

	watch(place);
	make_directory(place, "tmp");
	make_directory(place, "tmp/x");
	make_directory(place, "tmp2");
	told(place);
	move(place, "tmp", "step");
	assert_string_equal(told(place), "tmp to step\n");
	write_file(place, "step/x/a");
	write_file(place, "tmp2/b");
	assert_string_equal(told(place), "created step/x/a\nmodified step/x/a\nclosed step/x/a\n"
					 "created tmp2/b\nmodified tmp2/b\nclosed tmp2/b\n");
	/* Again under the first name, which the library still has in its index. */
	make_directory(place, "tmp");
	told(place);
	write_file(place, "tmp/c");
	assert_told(place, "closed tmp/c");
}

/* The supervisor stood still while all of it was made and got its name; and a directory in a
 * watched one. */
static void test_directory_that_is_renamed_before_it_is_seen(void **state)
{
	struct place *place = *state;
	const char *all;

	watch(place);
	make_directory(place, "tmp");
	write_file(place, "tmp/a");
	move(place, "tmp", "step-1");
	make_directory(place, "tmp");
	write_file(place, "tmp/b");
	move(place, "tmp", "step-2");
	all = told(place);
	assert_non_null(strstr(all, "created step-1/a\n"));
	assert_non_null(strstr(all, "created step-2/b\n"));
	write_file(place, "step-1/c");
	assert_string_equal(told(place), "created step-1/c\nmodified step-1/c\nclosed step-1/c\n");
	make_directory(place, "tmp");
	told(place);
	make_directory(place, "tmp/in");
	write_file(place, "tmp/in/d");
	move(place, "tmp", "step-3");
	assert_told(place, "created step-3/in/d");
}

static void test_directory_that_is_deleted_and_made_again(void **state)
{
	struct place *place = *state;

	watch(place);
	for (int i = 0; i < 20; i++) {
		make_directory(place, "s");
		told(place);
		write_file(place, "s/a");
		assert_told(place, "closed s/a");
		unlink(name(place, "s/a"));
		rmdir(name(place, "s"));
		assert_told(place, "deleted s");
	}
}

static void test_directory_that_leaves(void **state)
{
	struct place *place = *state;
	char elsewhere[80];

	watch(place);
	make_directory(place, "s");
	told(place);
	snprintf(elsewhere, sizeof(elsewhere), "%s.moved", place->directory);
	assert_int_equal(rename(name(place, "s"), elsewhere), 0);
	assert_string_equal(told(place), "");
	run_for(place, 50);
	assert_string_equal(told(place), "deleted s\n");
	char inside[100];
	snprintf(inside, sizeof(inside), "%s/a", elsewhere);
	close(open(inside, O_WRONLY | O_CREAT, 0600));
	assert_string_equal(told(place), "");
	/* And comes back, with what it got meanwhile. */
	assert_int_equal(rename(elsewhere, name(place, "s")), 0);
	assert_string_equal(told(place), "to s\ncreated s/a\n");
	write_file(place, "s/b");
	assert_told(place, "closed s/b");
}

static void test_directory_itself_is_replaced(void **state)
{
	struct place *place = *state;

	watch(place);
	assert_int_equal(rmdir(place->directory), 0);
	assert_told(place, "rescan ");
	run_for(place, 50);
	assert_int_equal(mkdir(place->directory, 0700), 0);
	write_file(place, "early");
	for (int i = 0; i < 100 && !strstr(place->told, "created early"); i++)
		run_for(place, 50);
	assert_told(place, "created early");
	write_file(place, "a");
	assert_told(place, "closed a");
}

static void test_loop_hands_out(void **state)
{
	struct place *place = *state;

	watch(place);
	write_file(place, "a");
	for (int i = 0; i < 100 && !strstr(place->told, "closed a"); i++)
		run_for(place, 20);
	assert_non_null(strstr(place->told, "closed a"));
	place->told[0] = '\0';
	write_file(place, "b");
	for (int i = 0; i < 100 && !strstr(place->told, "closed b"); i++)
		run_for(place, 20);
	assert_non_null(strstr(place->told, "closed b"));
}

static int queue_limit(void)
{
	auto_(bytes_release) struct bytes text = {0};

	if (file_read("/proc/sys/fs/inotify/max_queued_events", &text, NULL) < 0)
		return -1;
	bytes_append(&text, "", 1, NULL);
	return atoi((const char *)text.data);
}

static void test_overflow_says_rescan_and_watches_what_came_unseen(void **state)
{
	struct place *place = *state;
	int limit = queue_limit();

	if (limit < 0 || limit > 100000)
		skip();
	watch(place);
	/* Two names in turn, because the kernel merges events that are equal to the last one. */
	for (int i = 0; i <= limit; i++)
		write_file(place, i % 2 ? "a" : "b");
	make_directory(place, "unseen");
	inotify_watch_drain(place->watch);
	assert_true(place->rescanned);
	place->told[0] = '\0';
	write_file(place, "unseen/a");
	assert_told(place, "closed unseen/a");
}

/* The only one there is. */
static int inotify_descriptor(void)
{
	char link[40], target[64] = "";
	int found = -1;

	for (int fd = 0; fd < 256; fd++) {
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = readlink(link, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!text_equal(target, "anon_inode:inotify"))
			continue;
		assert_int_equal(found, -1);
		found = fd;
	}
	assert_true(found >= 0);
	return found;
}

static void test_descriptor_does_not_leak_into_the_job(void **state)
{
	struct place *place = *state;
	int fd;

	watch(place);
	fd = inotify_descriptor();
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void test_one_at_a_time_and_again_after_it(void **state)
{
	struct place *place = *state;
	struct inotify_watch *second;
	struct err err;

	watch(place);
	assert_int_equal(inotify_watch_open(&place->loop, place->directory, changed, place, &second,
					    &err),
			 -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	inotify_watch_close(place->watch);
	watch(place);
	write_file(place, "a");
	assert_told(place, "closed a");
}

static void shell(struct place *place, const char *line)
{
	auto_free char *command = text_format("D='%s'; %s", place->directory, line);

	assert_int_equal(system(command), 0);
}

/* All that is in it by then is told, and what comes later as ever; nothing is said to be lost. */
static void test_directory_that_is_made_later(void **state)
{
	static const struct {
		const char *before, *make, *told;
	} rows[] = {
		{"rmdir $D", "mkdir $D", ""},
		{"rmdir $D", "mkdir -p $D/step-1; touch $D/a",
		 "directory step-1\ncreated a\n|created a\ndirectory step-1\n"},
		{"rmdir $D", "mkdir $D.tmp; touch $D.tmp/a; mv -T $D.tmp $D", "created a\n"},
		{"rmdir $D", "mkdir $D; touch $D/a; rm -r $D; mkdir $D; touch $D/b", "created b\n"},
		{"rmdir $D; touch $D", "rm $D; mkdir $D; touch $D/a", "created a\n"},
		{"rmdir $D; ln -s $D.real $D", "mkdir $D.real; touch $D/a", "created a\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct place *place = *state;
		const char *all;

		shell(place, rows[i].before);
		watch(place);
		shell(place, "touch $D.other");
		assert_string_equal(told(place), "");
		shell(place, rows[i].make);
		all = told(place);
		if (*all ? !strstr(rows[i].told, all) : *rows[i].told)
			fail_msg("%s: told %s", rows[i].make, all);
		write_file(place, "late");
		assert_string_equal(told(place), "created late\nmodified late\nclosed late\n");
		/* What its parent gets is no more of interest. */
		shell(place, "touch $D.more");
		assert_string_equal(told(place), "");
		inotify_watch_close(place->watch);
		place->watch = NULL;
		shell(place, "rm -rf $D $D.*; mkdir $D");
	}
}

/* With the directory that it is in: only a look finds it. */
static void test_directory_whose_parent_is_made_again(void **state)
{
	struct place *place = *state;
	auto_free char *parent = text_copy(place->directory);

	snprintf(place->directory, sizeof(place->directory), "%s/out", parent);
	watch(place);
	shell(place, "rm -r ${D%/*}; mkdir -p $D; touch $D/a");
	for (int i = 0; i < 100 && !place->told[0]; i++)
		run_for(place, 50);
	assert_string_equal(place->told, "created a\n");
	text_set(place->directory, sizeof(place->directory), parent);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file),
		TEST(test_what_is_there_already_is_no_news),
		TEST(test_new_directory_with_content),
		TEST(test_renamed_directory_keeps_its_files_names_right),
		TEST(test_directory_that_is_renamed_before_it_is_seen),
		TEST(test_directory_that_is_deleted_and_made_again),
		TEST(test_directory_that_leaves),
		TEST(test_file_that_leaves_and_is_made_again),
		TEST(test_directory_itself_is_replaced),
		TEST(test_loop_hands_out),
		TEST(test_overflow_says_rescan_and_watches_what_came_unseen),
		TEST(test_descriptor_does_not_leak_into_the_job),
		TEST(test_one_at_a_time_and_again_after_it),
		TEST(test_directory_that_is_made_later),
		TEST(test_directory_whose_parent_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
