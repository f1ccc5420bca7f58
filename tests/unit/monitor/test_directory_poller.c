/* What scans tell, and what the first one does. */
#include "monitor/directory_poller.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct place {
	char directory[64];
	struct loop loop;
	char told[200];
};

static int begin(void **state)
{
	struct place *place = memory_new(sizeof(*place));

	strcpy(place->directory, "/tmp/test_directory_poller.XXXXXX");
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

static struct directory_poller *poll_place(struct place *place, bool all)
{
	return directory_poller_new(
		&(struct directory_monitor_options){
			.loop = &place->loop,
			.directory = place->directory,
			.quiet_ms = 1000,
			.said = said,
			.on_scanned = scanned,
			.arg = place,
		},
		all);
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
	struct directory_poller *poller;

	write_file(place, "old", "1");
	write_file(place, ".reprieve-probe", "ours");
	poller = poll_place(place, false);
	assert_told(place, "");
	write_file(place, "new", "1");
	directory_poller_scan_now(poller);
	assert_told(place, "new ");
	write_file(place, "old", "22");
	directory_poller_scan_now(poller);
	assert_told(place, "old ");
	directory_poller_scan_now(poller);
	assert_told(place, "");
	directory_poller_free(poller);
}

static void test_what_the_job_may_have_written_is_news(void **state)
{
	struct place *place = *state;
	struct directory_poller *poller;

	write_file(place, "b", "1");
	write_file(place, "a", "1");
	poller = poll_place(place, true);
	assert_told(place, "a b ");
	directory_poller_free(poller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_there_before_the_job_is_no_news, begin,
						end),
		cmocka_unit_test_setup_teardown(test_what_the_job_may_have_written_is_news, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
