/* What is different between two looks at a directory, when to look again, and
 * where it has to be. */
#include "monitor/monitor.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *name;
	const char *before, *now; /* "path size inode time" ... */
	const char *changed;
};

static const struct row rows[] = {
	{"nothing", "", "", ""},
	{"the same", "a 1 1 1;b 2 2 2", "b 2 2 2;a 1 1 1", ""},
	{"new", "", "b 1 1 1;a 1 1 1", "a b "},
	{"new between others", "a 1 1 1;c 1 1 1", "a 1 1 1;b 1 1 1;c 1 1 1", "b "},
	{"grown", "a 1 1 1", "a 2 1 1", "a "},
	{"written over", "a 1 1 1", "a 1 1 2", "a "},
	{"older than before", "a 1 1 2", "a 1 1 1", "a "},
	{"another file of that name", "a 1 1 1", "a 1 2 1", "a "},
	{"gone", "a 1 1 1;b 1 1 1;c 1 1 1", "c 1 1 1", ""},
	{"renamed", "a 1 1 1", "b 1 1 1", "b "},
	{"in directories", "a/b 1 1 1;a.b 1 1 1", "a/b 1 1 2;a.b 1 1 1;a 1 9 9", "a a/b "},
};

static void read_look(struct snapshot_files *scan, const char *text)
{
	char *copy = text_copy(text), *rest;

	for (char *row = strtok_r(copy, ";", &rest); row; row = strtok_r(NULL, ";", &rest)) {
		unsigned long size, inode, time;
		char path[32];

		assert_int_equal(sscanf(row, "%31s %lu %lu %lu", path, &size, &inode, &time), 4);
		file_list_add(scan, (struct snapshot_file){.path = text_copy(path),
							   .size = size,
							   .mtime_ns = (int64_t)time,
							   .inode = inode});
	}
	file_list_sort(scan);
	free(copy);
}

static void note(void *arg, const char *path)
{
	char *told = arg;

	snprintf(told + strlen(told), 64, "%s ", path);
}

static void test_what_is_different(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_files before = {0}, now = {0};
		char told[512] = "";

		read_look(&before, rows[i].before);
		read_look(&now, rows[i].now);
		directory_scan_compare(&before, &now, note, told);
		if (strcmp(told, rows[i].changed) != 0)
			fail_msg("%s: \"%s\"", rows[i].name, told);
		snapshot_files_release(&before);
		snapshot_files_release(&now);
	}
}

static void test_when_to_look_again(void **state)
{
	(void)state;
	assert_int_equal(directory_scan_interval_ms(1000, 0), 500);
	assert_int_equal(directory_scan_interval_ms(0, 0), 100);
	assert_int_equal(directory_scan_interval_ms(60000, 1), 5000);
	assert_int_equal(directory_scan_interval_ms(1000, 25), 500);
	assert_int_equal(directory_scan_interval_ms(1000, 2000), 40000);
}

static void test_file_systems(void **state)
{
	(void)state;
	assert_string_equal(network_fs_name(0x6969), "NFS");
	assert_string_equal(network_fs_name(0x65735546), "FUSE");
	assert_string_equal(network_fs_name(0x0bd00bd0), "Lustre");
	assert_string_equal(network_fs_name(0xff534d42), "CIFS");
	assert_string_equal(network_fs_name(0x00c36400), "Ceph");
	assert_null(network_fs_name(0xef53));     /* ext4 */
	assert_null(network_fs_name(0x58465342)); /* XFS */
	assert_null(network_fs_name(0x01021994)); /* tmpfs */
	assert_null(network_fs_name(0x794c7630)); /* overlay */
	assert_null(network_fs_name(0x9123683e)); /* btrfs */
	assert_null(network_fs_of("/proc"));
	assert_null(network_fs_of("/dev/shm"));
	assert_null(network_fs_of("/tmp/test_look.none"));
}

/* What scans tell, and what the first one does. */

struct place {
	char directory[64];
	struct loop loop;
	char told[200];
};

static int begin(void **state)
{
	struct place *place = memory_new(sizeof(*place));

	strcpy(place->directory, "/tmp/test_directory_scan.XXXXXX");
	*state = place;
	return mkdtemp(place->directory) ? loop_init(&place->loop, NULL) : -1;
}

static int end(void **state)
{
	struct place *place = *state;

	loop_release(&place->loop);
	file_remove_tree(place->directory, NULL);
	free(place);
	return 0;
}

static void said(void *arg, const struct dir_event *event)
{
	struct place *place = arg;

	assert_int_equal(event->change, DIR_CHANGED);
	snprintf(place->told + strlen(place->told), sizeof(place->told) - strlen(place->told),
		 "%s ", event->path);
}

static void scanned(void *arg)
{
	(void)arg;
}

static struct directory_monitor *poll_place(struct place *place, bool all)
{
	struct directory_monitor *monitor = directory_monitor_new(&(
		struct directory_monitor_options){
		.loop = &place->loop,
		.directory = place->directory,
		.quiet_ms = 1000,
		.polls = true,
		.said = said,
		.on_scanned = scanned,
		.arg = place,
	});

	directory_monitor_open(monitor, all);
	return monitor;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
	auto_free char *path = text_format("%s/%s", place->directory, name);

	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

static void assert_told(struct place *place, const char *expected)
{
	assert_string_equal(place->told, expected);
	place->told[0] = '\0';
}

static void test_what_is_there_before_the_job_is_no_news(void **state)
{
	struct place *place = *state;
	struct directory_monitor *monitor;

	write_file(place, "old", "1");
	write_file(place, ".reprieve-probe", "ours");
	monitor = poll_place(place, false);
	assert_told(place, "");
	write_file(place, "new", "1");
	directory_monitor_scan_now(monitor);
	assert_told(place, "new ");
	write_file(place, "old", "22");
	directory_monitor_scan_now(monitor);
	assert_told(place, "old ");
	directory_monitor_scan_now(monitor);
	assert_told(place, "");
	directory_monitor_free(monitor);
}

static void test_what_the_job_may_have_written_is_news(void **state)
{
	struct place *place = *state;
	struct directory_monitor *monitor;

	write_file(place, "b", "1");
	write_file(place, "a", "1");
	monitor = poll_place(place, true);
	assert_told(place, "a b ");
	directory_monitor_free(monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_different),
		cmocka_unit_test(test_when_to_look_again),
		cmocka_unit_test(test_file_systems),
		cmocka_unit_test_setup_teardown(test_what_is_there_before_the_job_is_no_news, begin,
						end),
		cmocka_unit_test_setup_teardown(test_what_the_job_may_have_written_is_news, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
