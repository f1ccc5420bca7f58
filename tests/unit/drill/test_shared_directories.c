#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "drill/shared_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char root[32];
	char *from, *scratch;
	struct shared_directories shared;
};

static void make(const struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->root, path);
	auto_free char *above = text_copy(whole);

	*strrchr(above, '/') = '\0';
	assert_int_equal(file_make_directories(above, 0777, NULL), 0);
	assert_int_equal(file_replace(whole, path, strlen(path), NULL), 0);
}

/* Two environments, one of which holds what the drill writes, and a repository. */
static int set_up(void **state)
{
	struct place *place = memory_new(sizeof(*place));
	auto_(tree_look_release) struct tree_look look = {0};
	const char *nothing[] = {NULL};

	strcpy(place->root, "/tmp/test-shared-XXXXXX");
	assert_non_null(mkdtemp(place->root));
	place->from = text_format("%s/work", place->root);
	place->scratch = text_format("%s/work/other/scratch", place->root);
	make(place, "work/env/pyvenv.cfg");
	make(place, "work/env/lib/__pycache__/a.pyc");
	make(place, "work/other/pyvenv.cfg");
	make(place, "work/other/scratch/store");
	make(place, "work/.git/config");
	make(place, "work/data/a");
	assert_int_equal(tree_look_take(&look, place->from, nothing, nothing, NULL), 0);
	shared_directories_find(&place->shared, &look, place->from,
				(const char *[]){place->scratch, NULL});
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	shared_directories_release(&place->shared);
	assert_int_equal(file_remove_tree(place->root, NULL), 0);
	free(place->from);
	free(place->scratch);
	free(place);
	return 0;
}

static void only_what_is_not_copied_is_shared(void **state)
{
	struct place *place = *state;
	auto_free char *environment = text_format("%s/env", place->from);

	assert_int_equal(place->shared.count, 1);
	assert_string_equal(place->shared.paths[0], environment);
}

/* In a child, as a machine is. */
static int open_for_writing(const struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->from, path);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int code = 255;

		if (shared_directories_close(&place->shared))
			code = open(whole, O_WRONLY | O_CREAT, 0666) < 0 ? errno : 0;
		free(steal(&whole));
		_exit(code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void a_machine_writes_to_none_where_the_kernel_lets_us(void **state)
{
	struct place *place = *state;

	if (!place->shared.read_only) {
		assert_int_equal(open_for_writing(place, "data/a"), 255);
		skip();
	}
	assert_int_equal(open_for_writing(place, "env/pyvenv.cfg"), EROFS);
	assert_int_equal(open_for_writing(place, "env/lib/new"), EROFS);
	assert_int_equal(open_for_writing(place, "data/a"), 0);
	assert_int_equal(open_for_writing(place, "other/scratch/store"), 0);
	/* It is so for the machine alone. */
	make(place, "work/env/lib/mine");
}

static void what_is_written_elsewhere_is_found(void **state)
{
	struct place *place = *state;
	const struct timespec moment = {.tv_nsec = 20000000};
	auto_free char *expected = text_format("%s/env/lib/b", place->from);

	place->shared.read_only = false;
	nanosleep(&moment, NULL); /* the clock of files is coarse */
	make(place, "work/env/lib/__pycache__/b.pyc");
	make(place, "work/data/b");
	assert_null(shared_directories_find_change(&place->shared));
	make(place, "work/env/lib/b");
	auto_free char *found = shared_directories_find_change(&place->shared);
	assert_string_equal(found, expected);
	place->shared.read_only = true;
	assert_null(shared_directories_find_change(&place->shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_is_not_copied_is_shared, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_machine_writes_to_none_where_the_kernel_lets_us,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_written_elsewhere_is_found, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
