/* Which files belong to one checkpoint, and what stays known of them while they are renamed and
 * removed. The names themselves are tested in tests/unit/workspace/test_checkpoint_name.c. */
#include "completion/checkpoint_table.h"

#include "effort.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static int set_up(void **state)
{
	struct checkpoint_table *table = memory_new(sizeof(*table));

	*state = table;
	return 0;
}

static int tear_down(void **state)
{
	checkpoint_table_release(*state);
	free(*state);
	return 0;
}

static struct checkpoint *checkpoint_of(struct checkpoint_table *table, const char *path)
{
	return checkpoint_table_add(table, path)->checkpoint;
}

static size_t count_checkpoints(const struct checkpoint_table *table)
{
	size_t count = 0;

	each_checkpoint (checkpoint, table)
		count++;
	return count;
}

static void count_node(const void *node, VISIT visit, void *count)
{
	(void)node;
	*(size_t *)count += visit == preorder || visit == leaf;
}

static size_t count_files(const struct checkpoint_table *table)
{
	size_t count = 0;

	twalk_r(table->files, count_node, &count);
	return count;
}

/* Each file is in the list of its checkpoint, once; each checkpoint counts its files. */
static void check_lists(const struct checkpoint_table *table)
{
	size_t files = 0;

	each_checkpoint (checkpoint, table) {
		const struct tracked_file *previous = NULL;
		size_t count = 0;

		each_file (file, checkpoint) {
			assert_ptr_equal(file->checkpoint, checkpoint);
			assert_ptr_equal(file->previous, previous);
			assert_ptr_equal(checkpoint_table_find(table, file->path), file);
			previous = file;
			count++;
		}
		assert_int_equal(count, checkpoint->file_count);
		files += count;
	}
	assert_int_equal(count_files(table), files);
}

// clang-format off
static const struct {
	const char *path, *other;
	bool same_checkpoint, same_family, same_name;
} pairs[] = {
	{"checkpoint-5/a", "checkpoint-5/b", true, true, false},
	{"checkpoint-5/a", "checkpoint-5/deep/down/a", true, true, false},
	{"checkpoint-5/a", "checkpoint-6/a", false, true, true},
	{"checkpoint-5/a", "run/checkpoint-5/a", false, false, false},
	{"checkpoint-5/a", "checkpoint-5.tmp/a", true, true, false},
	{"model-160.bin", "optimizer-160.bin", true, true, false},
	{"model-160.bin", "model-161.bin", false, true, true},
	{"model-160.bin", "model-160.bin.tmp", true, true, false},
	{"last.pt", "best.pt", true, true, false},
	{"last.pt", "run/best.pt", true, true, false},
	{"rank0.pt", "rank1.pt", true, true, false},
	{"last.pt", "step-5.pt", false, false, false},
	{"step-5/rank0.pt", "step-5/rank1.pt", true, true, false},
	{"#77", "last.pt", true, true, false},
};
// clang-format on

static void test_grouping(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct checkpoint_table table = {0};
		const struct tracked_file *file, *other;

		file = checkpoint_table_add(&table, pairs[i].path);
		other = checkpoint_table_add(&table, pairs[i].other);
		if ((file->checkpoint == other->checkpoint) != pairs[i].same_checkpoint ||
		    (file->checkpoint->family == other->checkpoint->family) !=
			    pairs[i].same_family ||
		    (file->name == other->name) != pairs[i].same_name)
			fail_msg("%s and %s", pairs[i].path, pairs[i].other);
		check_lists(&table);
		checkpoint_table_release(&table);
	}
}

static void test_what_is_known_of_a_checkpoint(void **state)
{
	struct checkpoint_table *table = *state;
	struct checkpoint *numbered = checkpoint_of(table, "run/checkpoint-500/model.pt");
	struct checkpoint *beside = checkpoint_of(table, "model.120");
	struct checkpoint *fixed = checkpoint_of(table, "last.pt");

	assert_int_equal(numbered->number, 500);
	assert_true(numbered->in_directory);
	assert_true(numbered->family->sure);
	assert_int_equal(beside->number, 120);
	assert_false(beside->in_directory);
	assert_false(beside->family->sure);
	assert_int_equal(fixed->number, -1);
	assert_string_equal(fixed->key, "");
	assert_int_equal(numbered->step, -1);
	assert_int_equal(numbered->family->highest, -1);
	/* The newest comes first. */
	assert_ptr_equal(table->checkpoints, fixed);
}

static void test_a_file_is_added_once(void **state)
{
	struct checkpoint_table *table = *state;
	struct tracked_file *file = checkpoint_table_add(table, "step-1/a");

	assert_null(checkpoint_table_find(table, "step-1/b"));
	assert_ptr_equal(checkpoint_table_add(table, "step-1/a"), file);
	assert_ptr_equal(checkpoint_table_find(table, "step-1/a"), file);
	assert_int_equal(count_files(table), 1);
}

static void test_directories_without_files(void **state)
{
	struct checkpoint_table *table = *state;
	struct checkpoint *checkpoint = checkpoint_table_add_directory(table, "checkpoint-7");

	assert_non_null(checkpoint);
	assert_int_equal(checkpoint->number, 7);
	assert_null(checkpoint_table_add_directory(table, "logs"));
	assert_null(checkpoint_table_add_directory(table, "checkpoint-7/inner"));
	assert_ptr_equal(checkpoint_of(table, "checkpoint-7/a"), checkpoint);
	checkpoint_table_remove_empty(table, "checkpoint-7");
	assert_int_equal(count_checkpoints(table), 1);
	(void)checkpoint_table_add_directory(table, "checkpoint-8");
	checkpoint_table_remove_empty(table, "checkpoint-8");
	checkpoint_table_remove_empty(table, "checkpoint-9");
	assert_int_equal(count_checkpoints(table), 1);
}

static void test_removal(void **state)
{
	struct checkpoint_table *table = *state;

	(void)checkpoint_table_add(table, "step-1/a");
	(void)checkpoint_table_add(table, "step-1/b");
	(void)checkpoint_table_add(table, "last.pt");
	checkpoint_table_remove(table, checkpoint_table_find(table, "step-1/a"));
	check_lists(table);
	assert_int_equal(count_checkpoints(table), 2);
	checkpoint_table_remove(table, checkpoint_table_find(table, "step-1/b"));
	assert_int_equal(count_checkpoints(table), 1);
	/* The fixed names stay: they are written again. */
	checkpoint_table_remove(table, checkpoint_table_find(table, "last.pt"));
	assert_int_equal(count_checkpoints(table), 1);
	assert_int_equal(count_files(table), 0);
	check_lists(table);
	assert_int_equal(checkpoint_of(table, "step-1/a")->number, 1);
}

static void test_moves(void **state)
{
	struct checkpoint_table *table = *state;
	struct tracked_file *file = checkpoint_table_add(table, "new.pt");

	file->marks = FILE_TORN;
	file->pid = 9;
	/* From a fixed name to a number; what is known of the file goes with it. */
	checkpoint_table_move(table, file, "step-3.pt");
	assert_null(checkpoint_table_find(table, "new.pt"));
	assert_ptr_equal(checkpoint_table_find(table, "step-3.pt"), file);
	assert_int_equal(file->checkpoint->number, 3);
	assert_int_equal(file->marks, FILE_TORN);
	assert_int_equal(file->pid, 9);
	/* Onto another one, which is gone by that. */
	(void)checkpoint_table_add(table, "step-4.pt");
	checkpoint_table_move(table, file, "step-4.pt");
	assert_int_equal(count_files(table), 1);
	assert_ptr_equal(checkpoint_table_find(table, "step-4.pt"), file);
	check_lists(table);
	/* Onto itself. */
	checkpoint_table_move(table, file, "step-4.pt");
	assert_int_equal(count_files(table), 1);
	assert_string_equal(file->path, "step-4.pt");
	/* A temporary name within the same checkpoint: the checkpoint lives on. */
	(void)checkpoint_table_add(table, "checkpoint-5/model.pt");
	file = checkpoint_table_add(table, "checkpoint-5/model.pt.tmp");
	file->checkpoint->death = DEATH_TEARS;
	checkpoint_table_move(table, file, "checkpoint-5/model.pt");
	assert_int_equal(file->checkpoint->file_count, 1);
	assert_int_equal(file->checkpoint->death, DEATH_TEARS);
	check_lists(table);
}

static void move_to_final(void *argument, struct tracked_file *file)
{
	auto_free char *path = text_format("checkpoint-9%s", file->path + strlen("t"));

	checkpoint_table_move(argument, file, path);
}

static void remove_one(void *argument, struct tracked_file *file)
{
	checkpoint_table_remove(argument, file);
}

static void test_what_lies_below(void **state)
{
	struct checkpoint_table *table = *state;

	(void)checkpoint_table_add(table, "t/a");
	(void)checkpoint_table_add(table, "t/deep/b");
	(void)checkpoint_table_add(table, "tt");
	checkpoint_table_each_below(table, "t", move_to_final, table);
	assert_int_equal(checkpoint_of(table, "checkpoint-9/deep/b")->file_count, 2);
	assert_non_null(checkpoint_table_find(table, "tt"));
	assert_null(checkpoint_table_find(table, "t/a"));
	check_lists(table);
	checkpoint_table_each_below(table, "nothing", remove_one, table);
	checkpoint_table_each_below(table, "checkpoint-9", remove_one, table);
	/* A path that is a file is that file. */
	checkpoint_table_each_below(table, "tt", remove_one, table);
	assert_int_equal(count_files(table), 0);
	check_lists(table);
}

static void test_numbers_that_are_parts(void **state)
{
	struct checkpoint_table *table = *state;
	struct tracked_file *first = checkpoint_table_add(table, "model_1.pkl");
	struct tracked_file *second = checkpoint_table_add(table, "model_2.pkl");
	struct tracked_file *other = checkpoint_table_add(table, "run/model_1.pkl");
	struct tracked_file *late;

	assert_true(first->checkpoint != second->checkpoint);
	assert_true(first->name == second->name);
	checkpoint_table_join_parts(table, first->checkpoint->family, NULL);
	assert_ptr_equal(first->checkpoint, second->checkpoint);
	assert_string_equal(first->checkpoint->key, "");
	/* As fixed names, they are told apart. */
	assert_true(first->name != second->name);
	/* Those of another directory are of another kind. */
	assert_int_equal(other->checkpoint->number, 1);
	check_lists(table);
	late = checkpoint_table_add(table, "model_3.pkl");
	assert_ptr_equal(late->checkpoint, first->checkpoint);
	assert_true(late->name != first->name && late->name != second->name);
	check_lists(table);
}

static void test_marks(void **state)
{
	struct checkpoint_table *table = *state;
	struct tracked_file *a = checkpoint_table_add(table, "step-1/a");
	struct tracked_file *b = checkpoint_table_add(table, "step-1/b");
	struct checkpoint *checkpoint = a->checkpoint;

	a->marks = FILE_FRESH | FILE_UNCLOSED;
	b->marks = FILE_UNCLOSED;
	assert_true(checkpoint_any(checkpoint, FILE_FRESH));
	assert_false(checkpoint_any(checkpoint, FILE_TORN));
	checkpoint_change(checkpoint, FILE_FRESH, FILE_UNCLOSED, FILE_TORN);
	assert_int_equal(a->marks, FILE_FRESH | FILE_TORN);
	assert_int_equal(b->marks, FILE_UNCLOSED);
}

static void test_writers(void **state)
{
	struct checkpoint *checkpoint = checkpoint_of(*state, "step-1/a");

	checkpoint_add_writer(checkpoint, 0);
	assert_int_equal(checkpoint->writer_count, 0);
	for (int pid = 1; pid <= 100; pid++) {
		checkpoint_add_writer(checkpoint, pid);
		checkpoint_add_writer(checkpoint, pid);
	}
	assert_int_equal(checkpoint->writer_count, 100);
	assert_false(checkpoint_has_writer(checkpoint, 101));
	assert_true(checkpoint_has_writer(checkpoint, 100));
}

/* A checkpoint of many shards, and a job that keeps many checkpoints. */
static void test_many_files(void **state)
{
	struct checkpoint_table *table = *state;
	char path[64];
	unsigned files = effort_count("files", 50000, 5000);
	int steps = (int)effort_count("steps", 10000, 1000);

	for (unsigned i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "checkpoint-%u/%02u/part-%u.bin",
			 100 + i / (files / 2), i % 100, i);
		(void)checkpoint_table_add(table, path);
	}
	assert_int_equal(count_files(table), files);
	assert_int_equal(count_checkpoints(table), 2);
	check_lists(table);
	checkpoint_table_each_below(table, "checkpoint-100", remove_one, table);
	assert_int_equal(count_files(table), files / 2);
	assert_int_equal(count_checkpoints(table), 1);
	check_lists(table);
	for (int i = 0; i < steps; i++) {
		snprintf(path, sizeof(path), "step-%d.pt", i);
		(void)checkpoint_table_add(table, path);
		if (i >= 100) {
			snprintf(path, sizeof(path), "step-%d.pt", i - 100);
			checkpoint_table_remove(table, checkpoint_table_find(table, path));
		}
	}
	assert_int_equal(count_checkpoints(table), 101);
	check_lists(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grouping),
		cmocka_unit_test_setup_teardown(test_what_is_known_of_a_checkpoint, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_is_added_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_directories_without_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_removal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_moves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_lies_below, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_numbers_that_are_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_marks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_writers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_files, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
