/* What a snapshot may hold, and when the list of what is under way is written. */
#include "completion/detector.h"
#include "completion/snapshot_plan.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <string.h>

#include "unit.h"

static struct detector detector;

/* Process 1 opens the file, closes it, or both. */
static void write_file(const char *path, const char *how, int64_t now_ms)
{
	struct shim_message message = {.pid = 1, .descriptor = 3, .path = path, .path2 = ""};

	message.event = SHIM_OPENED;
	message.flags = SHIM_FLAG_EMPTY;
	if (*how == 'o')
		detector_handle_shim(&detector, &message, now_ms);
	message.event = SHIM_CLOSED;
	message.flags = 0;
	if (text_ends(how, "c"))
		detector_handle_shim(&detector, &message, now_ms);
}

/* It opens it with its content. */
static void write_over(const char *path, int64_t now_ms)
{
	const struct shim_message message = {
		.event = SHIM_OPENED,
		.pid = 1,
		.descriptor = 4,
		.path = path,
		.path2 = "",
	};

	write_file(path, "c", now_ms);
	detector_handle_shim(&detector, &message, now_ms);
}

static void decide(int64_t now_ms)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(&detector, now_ms, &judgement, &at_ms)))
		detector_decide(&detector, checkpoint, judgement);
}

static int set_up(void **state)
{
	(void)state;
	detector_init(&detector, DETECTOR_QUIET_MS, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	detector_release(&detector);
	return 0;
}

/* What lies beside checkpoints is none, and says so when it is complete. */
static void test_what_begins_a_checkpoint(void **state)
{
	static const struct {
		const char *path, *how;
		bool begun, of_companions;
	} of[] = {
		{"args.json", "o", false, true},
		{"args.json", "c", false, true},
		{"curve.csv", "oc", false, true}, /* written all the time */
		{"plots/step_10.png", "oc", false, true},
		{"last.pt.tmp", "o", true, false},
		{"last.pt", "o", true, false},
		{"last.pt", "c", true, false},
		{"args.json", "oc", true, false}, /* one set with it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct checkpoint *fixed;

		write_file(of[i].path, of[i].how, 10 * (int64_t)i);
		if (detector_has_begun_checkpoint(&detector) != of[i].begun)
			fail_msg("%zu: %s", i, of[i].path);
		fixed = detector.table.checkpoints;
		while (fixed && *fixed->key)
			fixed = fixed->sibling;
		if (fixed && detector_is_of_companions(fixed) != of[i].of_companions)
			fail_msg("%zu: %s, of companions", i, of[i].path);
	}
	decide(100000);
	assert_true(detector_has_begun_checkpoint(&detector));
}

/* Whatever has become of it; and also of one that falls behind the one before. */
static void test_which_step_was_begun_last(void **state)
{
	(void)state;
	assert_true(detector_begun_step(&detector) == -1);
	write_file("args.json", "oc", 900);
	assert_true(detector_begun_step(&detector) == -1);
	write_file("checkpoint-1/model.pt", "oc", 1000);
	assert_true(detector_begun_step(&detector) == 1);
	decide(3000);
	write_file("checkpoint-7/model.pt", "o", 4000);
	assert_true(detector_begun_step(&detector) == 7);
	write_file("checkpoint-3/model.pt", "oc", 5000);
	assert_true(detector_begun_step(&detector) == 3);
}

/* But never the newest, and no fixed name. */
static void test_what_was_begun_too_early_is_left_out(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("last.pt", "oc", 500);
	write_file("checkpoint-1/model.pt", "oc", 1000);
	decide(3000);
	write_file("checkpoint-2/model.pt", "oc", 4000);
	decide(6000);
	write_file("checkpoint-3/model.pt", "oc", 7000);
	decide(9000);
	for (int64_t until_ms = 1000; until_ms <= 8000; until_ms += 1000) {
		detector.left_out_ms = until_ms;
		snapshot_plan_make(&plan, &detector, "checkpoint-3/");
		assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-1/model.pt"));
		assert_false(snapshot_plan_lists(plan.complete, "checkpoint-1/model.pt"));
		assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-2/model.pt") ==
			    (until_ms >= 4000));
		assert_true(snapshot_plan_lists(plan.complete, "checkpoint-2/model.pt") ==
			    (until_ms < 4000));
		assert_false(snapshot_plan_lists(plan.excluded.paths, "checkpoint-3/model.pt"));
		assert_true(snapshot_plan_lists(plan.complete, "checkpoint-3/model.pt"));
		assert_false(snapshot_plan_lists(plan.excluded.paths, "last.pt"));
		snapshot_plan_release(&plan);
	}
}

/* Whenever it was begun, and whatever its number: the newest is judged by others. */
static void test_what_a_gone_member_had_come_to_is_left_out(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("last.pt", "oc", 500);
	write_file("checkpoint-10/model.pt", "oc", 1000);
	decide(3000);
	write_file("checkpoint-20/model.pt", "oc", 4000);
	decide(6000);
	write_file("checkpoint-30/model.pt", "oc", 7000);
	decide(9000);
	for (int64_t number = -1; number <= 40; number++) {
		detector.left_out_number = number;
		snapshot_plan_make(&plan, &detector, "checkpoint-30/");
		assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-10/model.pt") ==
			    (number >= 10));
		assert_true(snapshot_plan_lists(plan.complete, "checkpoint-20/model.pt") ==
			    (number < 20));
		assert_true(snapshot_plan_lists(plan.complete, "checkpoint-30/model.pt"));
		assert_false(snapshot_plan_lists(plan.excluded.paths, "last.pt"));
		snapshot_plan_release(&plan);
	}
}

static void test_only_what_is_complete_goes_in(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("checkpoint-1/model.pt", "oc", 1000);
	decide(3000);
	write_file("checkpoint-2/model.pt", "o", 4000);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	assert_false(snapshot_plan_lists(plan.excluded.paths, "checkpoint-1/model.pt"));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-2/model.pt"));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-2"));
	assert_false(snapshot_plan_lists(plan.excluded.paths, "checkpoint-20"));
	assert_true(snapshot_plan_confirm(&plan, &detector, false));
	snapshot_plan_release(&plan);
}

static void tell(enum dir_change change, const char *path, int64_t now_ms)
{
	const struct dir_event event = {
		.change = change,
		.path = path,
		.directory = change == DIR_DIRECTORY_CREATED,
	};

	detector_handle_kernel(&detector, &event, now_ms);
}

/* What was deleted of the newest complete checkpoint stays until the next one is complete. */
static void test_a_deletion_belongs_to_the_next_save(void **state)
{
	static const struct {
		const char *newest, *deleted, *next;
		enum snapshot_gone gone;
		int64_t number;
	} rows[] = {
		{"step-1.pt", NULL, NULL, GONE_NOTHING, 1},
		{"step-1.pt", "step-1.pt", NULL, GONE_NEWEST, 1},
		{"step-1.pt", "step-1.pt", "step-2.pt", GONE_NEWEST, 1},
		{"checkpoint-1/model.pt", "checkpoint-1/model.pt", NULL, GONE_NEWEST, 1},
		{"last.pt", NULL, NULL, GONE_NOTHING, -1},
		{"last.pt", "last.pt", NULL, GONE_NEWEST, -1},
		{"last.pt", "last.pt", "other.pt", GONE_NEWEST, -1},
		{NULL, NULL, NULL, GONE_ANY, -1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *key = rows[i].newest ? checkpoint_name_key(rows[i].newest) : NULL;
		struct snapshot_plan plan;

		if (rows[i].newest)
			write_file(rows[i].newest, "oc", 1000);
		decide(3000);
		if (rows[i].deleted)
			tell(DIR_DELETED, rows[i].deleted, 4000);
		if (rows[i].next)
			write_file(rows[i].next, "o", 5000);
		snapshot_plan_make(&plan, &detector, key);
		assert_int_equal(plan.gone, rows[i].gone);
		assert_int_equal(plan.gone_number, rows[i].number);
		snapshot_plan_release(&plan);
		if (rows[i].next) {
			auto_free char *next = checkpoint_name_key(rows[i].next);

			write_file(rows[i].next, "c", 6000);
			decide(8000);
			snapshot_plan_make(&plan, &detector, next);
			assert_int_equal(plan.gone, GONE_NOTHING);
			snapshot_plan_release(&plan);
		}
		tear_down(state);
		set_up(state);
	}
}

/* A directory is of the save that made it. */
static void test_a_directory_is_of_the_next_save(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	tell(DIR_DIRECTORY_CREATED, "run_1", 1000);
	write_file("run_1/state.pt", "oc", 1001);
	tell(DIR_DIRECTORY_CREATED, "run_2", 2500);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "");
	assert_string_equal(plan.made[0], "run_2");
	assert_null(plan.made[1]);
	tell(DIR_DIRECTORY_CREATED, "run_3", 3500);
	assert_true(snapshot_plan_confirm(&plan, &detector, false));
	assert_string_equal(plan.made[1], "run_3");
	snapshot_plan_release(&plan);
	write_file("run_2/state.pt", "oc", 4000);
	decide(6000);
	snapshot_plan_make(&plan, &detector, "");
	assert_null(plan.made[0]);
	snapshot_plan_release(&plan);
}

static void test_what_is_begun_later_is_dropped(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("checkpoint-1/model.pt", "oc", 1000);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	write_file("checkpoint-2/model.pt", "oc", 4000);
	assert_true(snapshot_plan_confirm(&plan, &detector, false));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "checkpoint-2/model.pt"));
	assert_false(snapshot_plan_lists(plan.excluded.paths, "checkpoint-1/model.pt"));
	snapshot_plan_release(&plan);
}

static void test_void_once_the_newest_is_written_again(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("checkpoint-1/model.pt", "oc", 1000);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	write_file("checkpoint-1/model.pt", "o", 4000);
	assert_false(snapshot_plan_confirm(&plan, &detector, false));
	assert_false(snapshot_plan_confirm(&plan, &detector, true));
	snapshot_plan_release(&plan);
}

static void test_fixed_names_that_are_written_again(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("model.pt", "oc", 1000);
	write_file("checkpoint-1/model.pt", "oc", 1000);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	write_file("model.pt", "o", 4000);
	assert_false(snapshot_plan_confirm(&plan, &detector, false));
	assert_true(snapshot_plan_confirm(&plan, &detector, true));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "model.pt"));
	snapshot_plan_release(&plan);
}

static struct file_look look(void *size, const char *path)
{
	(void)path;
	return (struct file_look){.exists = true, .size = *(uint64_t *)size};
}

/* On a busy disk a file is empty for a while before the kernel tells that it was cut off. */
static void test_what_was_found_empty_is_written_anew(void **state)
{
	static const struct {
		const char *path, *key, *empty;
		uint64_t size; /* when it was closed */
		bool good;
	} rows[] = {
		{"last.pt", "", "last.pt", 40000, false},
		{"step-5.pt", "step-5.pt", "step-5.pt", 40000, false},
		{"last.pt", "", "other.pt", 40000, true},
		{"last.pt", "", "last.pt", 0, true}, /* as it was closed */
		{"curve.csv", "", "curve.csv", 40000, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *empty[] = {(char *)rows[i].empty, NULL};
		struct snapshot_plan plan;
		uint64_t size = rows[i].size;

		set_up(state);
		detector.questions.look = look;
		detector.questions.arg = &size;
		write_file(rows[i].path, "oc", 1000);
		decide(3000);
		snapshot_plan_make(&plan, &detector, rows[i].key);
		detector_note_empty(&detector, *empty, 4000);
		if (snapshot_plan_confirm(&plan, &detector, false) != rows[i].good)
			fail_msg("row %zu", i);
		/* Once quiet says so, it is complete again; it is not written for ever. */
		decide(6000);
		snapshot_plan_release(&plan);
		snapshot_plan_make(&plan, &detector, rows[i].key);
		detector_note_empty(&detector, *empty, 7000);
		assert_true(snapshot_plan_confirm(&plan, &detector, false));
		snapshot_plan_release(&plan);
		tear_down(state);
	}
	set_up(state);
}

static void test_fixed_names_are_not_dropped_if_they_are_the_checkpoint(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("model.pt", "oc", 1000);
	write_file("optimizer.pt", "oc", 1000);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "");
	write_file("model.pt", "o", 4000);
	assert_false(snapshot_plan_confirm(&plan, &detector, true));
	snapshot_plan_release(&plan);
}

/* What the job does after the checkpoint with the key `newest` was complete. "o": opens, "c":
 * closes, "oc": both, "r": renames PATH.tmp over it. */
static const struct {
	const char *newest;
	struct {
		const char *path, *how;
	} later[3];
	bool lacks, part;
	const char *in, *out; /* of the snapshot */
} afterwards[] = {
	{"", {{"model.pt", "o"}}, true, true, NULL, "model.pt"},
	{"", {{"model.pt", "oc"}}, true, true, NULL, "model.pt"},
	{"", {{"model.pt", "oc"}, {"optimizer.pt", "o"}}, true, true, NULL, "optimizer.pt"},
	/* The set that was complete is still there. */
	{"", {{"model.pt.tmp", "o"}}, false, false, "optimizer.pt", "model.pt.tmp"},
	{"", {{"model.pt.tmp", "oc"}, {"model.pt", "r"}}, true, true, NULL, "model.pt"},
	{"", {{"unrelated.pt", "oc"}}, false, false, "model.pt", "unrelated.pt"},
	/* Nothing but whole checkpoints is left. */
	{"checkpoint-1/",
	 {{"model.pt", "o"}},
	 true,
	 false,
	 "checkpoint-1/model.pt",
	 "optimizer.pt"},
};

static void rename_temporary(const char *path, int64_t now_ms)
{
	auto_free char *from = text_format("%s.tmp", path);
	struct dir_event event = {.change = DIR_MOVED_TO, .from = from, .path = path};

	detector_handle_kernel(&detector, &event, now_ms);
}

static void test_the_newest_is_written_over(void **state)
{
	for (size_t i = 0; i < sizeof(afterwards) / sizeof(afterwards[0]); i++) {
		struct snapshot_plan plan;

		tear_down(state);
		set_up(state);
		if (*afterwards[i].newest)
			write_file("checkpoint-1/model.pt", "oc", 500);
		write_file("best.pt", "oc", 500);
		decide(3000);
		write_file("model.pt", "oc", 4000);
		write_file("optimizer.pt", "oc", 4001);
		decide(6000);
		for (size_t j = 0; j < 3 && afterwards[i].later[j].path; j++) {
			const char *path = afterwards[i].later[j].path;
			const char *how = afterwards[i].later[j].how;

			if (*how == 'r')
				rename_temporary(path, 7000);
			else
				write_file(path, how, 7000);
		}
		snapshot_plan_make(&plan, &detector, "");
		assert_int_equal(plan.lacks_newest, afterwards[i].lacks);
		assert_int_equal(plan.holds_less, afterwards[i].part);
		assert_int_equal(snapshot_plan_confirm(&plan, &detector, true),
				 !afterwards[i].part);
		assert_true(snapshot_plan_lists(plan.excluded.paths, afterwards[i].out));
		if (afterwards[i].in)
			assert_false(snapshot_plan_lists(plan.excluded.paths, afterwards[i].in));
		assert_false(snapshot_plan_lists(plan.excluded.paths, "best.pt"));
		snapshot_plan_release(&plan);
	}
}

/* The numbered checkpoint is the newest, and the set is left out as a whole. */
static void test_no_half_of_a_set_beside_a_numbered_one(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("model.pt", "oc", 1000);
	write_file("optimizer.pt", "oc", 1001);
	decide(3000);
	write_file("checkpoint-1/model.pt", "oc", 4000);
	decide(6000);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	assert_false(snapshot_plan_lists(plan.excluded.paths, "optimizer.pt"));
	write_file("model.pt", "oc", 7000);
	assert_true(snapshot_plan_confirm(&plan, &detector, true));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "model.pt"));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "optimizer.pt"));
	snapshot_plan_release(&plan);
	snapshot_plan_make(&plan, &detector, "checkpoint-1/");
	assert_false(plan.lacks_newest);
	assert_true(snapshot_plan_lists(plan.excluded.paths, "model.pt"));
	assert_true(snapshot_plan_lists(plan.excluded.paths, "optimizer.pt"));
	snapshot_plan_release(&plan);
}

/* A snapshot that has to do without the newest says which one it holds. */
static void test_the_newest_that_is_held(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("state.json", "oc", 1000);
	decide(3000);
	snapshot_plan_make(&plan, &detector, "");
	assert_int_equal(plan.held_step, -1);
	assert_int_equal(plan.held_ms, 0);
	snapshot_plan_release(&plan);
	/* Both within one millisecond. */
	write_file("checkpoint-2/model.pt", "oc", 5000);
	write_file("checkpoint-10/model.pt", "oc", 5000);
	decide(7000);
	write_file("state.json", "oc", 8000);
	write_file("images/epoch011_fake.png", "oc", 8500);
	decide(10000);
	write_file("state.json", "o", 11000);
	write_file("checkpoint-12/model.pt", "o", 11000);
	snapshot_plan_make(&plan, &detector, "");
	assert_true(plan.lacks_newest);
	assert_int_equal(plan.held_step, 10);
	assert_int_equal(plan.held_ms, 5000);
	snapshot_plan_release(&plan);
	/* One whose number is the newest, and is written over. */
	write_file("checkpoint-10/model.pt", "o", 12000);
	snapshot_plan_make(&plan, &detector, "checkpoint-10/");
	assert_true(plan.lacks_newest);
	assert_int_equal(plan.held_step, 2);
	snapshot_plan_release(&plan);
}

static void test_one_alone_that_is_written_over_holds_up_no_other(void **state)
{
	struct snapshot_plan plan;

	(void)state;
	write_file("model.pt", "oc", 1000);
	decide(3000);
	write_file("status.json", "oc", 4000);
	decide(6000);
	write_file("status.json", "o", 7000);
	snapshot_plan_make(&plan, &detector, "");
	assert_true(plan.lacks_newest);
	assert_false(plan.holds_less);
	assert_false(snapshot_plan_lists(plan.excluded.paths, "model.pt"));
	snapshot_plan_release(&plan);
	write_file("status.json", "c", 7001);
	decide(9000);
	assert_false(snapshot_plan_would_lack_newest(&detector, ""));
}

static void test_whole_directories_end_in_a_slash(void **state)
{
	char **paths;

	(void)state;
	write_file("checkpoint-1/model.pt", "o", 1000);
	paths = detector_list(&detector, detector_each_under_way);
	assert_string_equal(paths[0], "checkpoint-1/");
	assert_null(paths[1]);
	path_list_free(paths);
}

static void handle_kernel(const char *path, enum dir_change change, int64_t now_ms)
{
	detector_handle_kernel(&detector, &(struct dir_event){.change = change, .path = path},
			       now_ms);
}

static void assert_under_way(const char *first, const char *second)
{
	char **paths = detector_list(&detector, detector_each_under_way);

	if (first)
		assert_string_equal(paths[0], first);
	if (second)
		assert_string_equal(paths[1], second);
	assert_null(paths[second ? 2 : first ? 1 : 0]);
	path_list_free(paths);
}

/* A single file of a new kind is not known to be torn, unless it is open. */
static void test_a_file_of_a_new_kind_is_said_to_be_closed(void **state)
{
	(void)state;
	write_file("checkpoint-1.pt", "oc", 1000);
	assert_under_way("./checkpoint-1.pt", NULL);
	write_file("checkpoint-1.pt", "o", 1100);
	assert_under_way(UNDER_WAY_UNLESS_WHOLE "checkpoint-1.pt", NULL);
	/* Over what it had: its end may be that of before. */
	write_over("checkpoint-1.pt", 1300);
	assert_under_way("checkpoint-1.pt", NULL);
}

/* Between the list and the next one a kill leaves what is open; only its format says then whether
 * it was closed before. */
static void test_a_save_that_has_all_its_files_is_said_to_lack_closes(void **state)
{
	(void)state;
	write_file("step-1.pt", "oc", 1000);
	decide(8000);
	write_file("step-2.pt", "o", 9000);
	assert_under_way(UNDER_WAY_UNLESS_WHOLE "step-2.pt", NULL);
	write_file("step-2.pt", "c", 9001);
	decide(9001);
	write_file("checkpoint-3/model.pt", "oc", 20000);
	write_file("checkpoint-3/optimizer.pt", "oc", 20000);
	decide(30000);
	write_file("checkpoint-4/model.pt", "oc", 40000);
	assert_under_way("checkpoint-4/", NULL);
	write_file("checkpoint-4/optimizer.pt", "o", 40001);
	assert_under_way(UNDER_WAY_UNLESS_WHOLE "checkpoint-4/optimizer.pt",
			 UNDER_WAY_UNLESS_WHOLE "checkpoint-4/model.pt");
}

/* All closes were seen: it is complete, and only nobody has come to say so. */
static void test_a_save_that_is_complete_is_not_listed_until_it_is_decided(void **state)
{
	char **paths;

	(void)state;
	write_file("checkpoint-3/model.pt", "oc", 20000);
	write_file("checkpoint-3/state.json", "oc", 20000);
	decide(30000);
	write_file("checkpoint-4/model.pt", "oc", 40000);
	write_file("checkpoint-4/state.json", "oc", 40001);
	paths = detector_list(&detector, detector_each_under_way);
	assert_null(paths[0]);
	path_list_free(paths);
	write_over("checkpoint-4/state.json", 40002);
	assert_under_way("checkpoint-4/", NULL);
}

/* In a directory of its own the next file may be still to come. */
static void test_the_first_file_of_a_directory_is_not_said_to_lack_its_close(void **state)
{
	(void)state;
	write_file("checkpoint-1/model.pt", "o", 1000);
	assert_under_way("checkpoint-1/", NULL);
}

/* Of a set of fixed names, one that is written over alone would stand beside older ones; one that
 * was not there before is in no set. */
static void test_one_of_several_fixed_names_is_not_said_to_be_closed(void **state)
{
	(void)state;
	write_file("model.pt", "oc", 1000);
	write_file("optimizer.pt", "oc", 1000);
	decide(8000);
	write_file("model.pt", "o", 9000);
	assert_under_way(UNDER_WAY_REST "optimizer.pt", "model.pt");
	write_file("model.pt", "c", 9000);
	assert_under_way(UNDER_WAY_REST "optimizer.pt", UNDER_WAY_WITH "model.pt");
	decide(18000);
	handle_kernel("emergency.pt", DIR_CREATED, 20000);
	write_file("emergency.pt", "o", 20000);
	assert_under_way(UNDER_WAY_UNLESS_WHOLE "emergency.pt", NULL);
	write_file("emergency.pt", "c", 20001);
	assert_under_way("./emergency.pt", NULL);
}

/* Settings are written once, and in no set. */
static void test_a_fixed_name_beside_settings_is_said_to_lack_its_close(void **state)
{
	(void)state;
	write_file("config.json", "oc", 1000);
	write_file("last.pt", "oc", 1000);
	decide(8000);
	write_file("last.pt", "o", 9000);
	assert_under_way(UNDER_WAY_UNLESS_WHOLE "last.pt", NULL);
}

/* Of several files the next one may be still to come, which nobody knows; a start without us would
 * take them, too. */
static void test_a_set_of_a_new_kind_is_said_to_be_closed(void **state)
{
	(void)state;
	write_file("checkpoint-1/model.pt", "oc", 1000);
	assert_under_way("./checkpoint-1/model.pt", NULL);
	write_file("checkpoint-1/optimizer.pt", "oc", 1100);
	assert_under_way("./checkpoint-1/optimizer.pt", "./checkpoint-1/model.pt");
}

/* Between two of them nothing is closed for long, and after the last one all is. */
static void test_fixed_names_of_a_new_kind_are_said_to_be_closed(void **state)
{
	(void)state;
	write_file("model.pt", "oc", 1000);
	assert_under_way("./model.pt", NULL);
	write_file("optimizer.pt", "o", 1100);
	assert_under_way("optimizer.pt", UNDER_WAY_WITH "model.pt");
	write_file("optimizer.pt", "c", 1100);
	assert_under_way("./optimizer.pt", "./model.pt");
	/* The next save, before that one was known to be complete. */
	write_file("model.pt", "o", 1200);
	assert_under_way(UNDER_WAY_WITH "optimizer.pt", "model.pt");
}

static bool is_under_way(const char *listed)
{
	char **paths = detector_list(&detector, detector_each_under_way);
	bool found = false;

	for (char **path = paths; *path; path++)
		found |= text_equal(*path, listed);
	path_list_free(paths);
	return found;
}

/* What lies beside a set says nothing of it, whole or not. */
static void test_a_page_beside_a_set_of_a_new_kind_is_not_listed(void **state)
{
	(void)state;
	write_file("notes.txt", "oc", 500);
	decide(5000);
	write_file("model.pt", "oc", 6000);
	write_file("optimizer.pt", "oc", 6001);
	write_file("notes.txt", "oc", 6500);
	assert_true(is_under_way("./model.pt") && is_under_way("./optimizer.pt"));
	assert_false(is_under_way("./notes.txt"));
}

/* A page that is written between two saves does not teach that they are none of a set. */
static void test_a_page_says_nothing_of_the_set_that_it_lies_beside(void **state)
{
	(void)state;
	write_file("notes.txt", "oc", 900);
	write_file("model.pt", "oc", 1000);
	write_file("optimizer.pt", "oc", 1001);
	write_file("notes.txt", "oc", 1500);
	write_file("model.pt", "o", 2000);
	assert_true(is_under_way("model.pt") && is_under_way(UNDER_WAY_WITH "optimizer.pt"));
	tear_down(state);
	set_up(state);
	write_file("notes.txt", "oc", 900);
	write_file("model.pt", "oc", 1000);
	write_file("optimizer.pt", "oc", 1001);
	write_file("notes.txt", "oc", 1500);
	decide(9000);
	write_file("model.pt", "o", 10000);
	assert_true(is_under_way("model.pt") && is_under_way(UNDER_WAY_REST "optimizer.pt"));
}

/* The next save begins with the open of its first file, also if the one before, which had all of
 * its files, was not decided yet: what is left of that lacks this file, however whole it is. */
static void test_a_set_whose_next_save_is_begun_is_not_said_to_lack_closes(void **state)
{
	(void)state;
	for (int64_t save_ms = 10000; save_ms <= 30000; save_ms += 10000) {
		write_file("model.pt", "oc", save_ms);
		write_file("optimizer.pt", "oc", save_ms + 1);
		if (save_ms < 30000)
			decide(save_ms + 5000);
	}
	write_file("model.pt", "o", 40000);
	assert_under_way(UNDER_WAY_WITH "optimizer.pt", "model.pt");
}

/* In another attempt, too: what lies there from before may be of one set with what is written over
 * it. What is new is in none; and settings are in none. */
static void test_fixed_names_of_before_may_be_of_a_set(void **state)
{
	(void)state;
	detector_note_existing(&detector, "model.pt");
	detector_note_existing(&detector, "config.json");
	write_file("model.pt", "oc", 1000);
	assert_under_way("./model.pt", NULL);
	tear_down(state);
	set_up(state);
	detector_note_existing(&detector, "model.pt");
	detector_note_existing(&detector, "optimizer.pt");
	assert_false(detector_has_ordinary_files(&detector));
	write_file("model.pt", "o", 1000);
	assert_under_way("model.pt", NULL);
	/* What the user has put beside it is not known to be of its set. */
	write_file("model.pt", "c", 1000);
	assert_under_way(NULL, NULL);
	tear_down(state);
	set_up(state);
	detector_note_existing(&detector, "model.pt");
	detector_note_existing(&detector, "optimizer.pt");
	handle_kernel("emergency.pt", DIR_CREATED, 1000);
	write_file("emergency.pt", "oc", 1000);
	assert_under_way("./emergency.pt", NULL);
}

/* What earlier attempts have learned says which of the files of before are the job's own. */
static void test_what_is_left_of_a_set_is_listed(void **state)
{
	static const struct {
		const char *before, *written;
		const char *first, *second;
	} rows[] = {
		{"model.pt optimizer.pt", "model.pt", UNDER_WAY_REST "optimizer.pt",
		 UNDER_WAY_WITH "model.pt"},
		{"optimizer.pt model.pt", "optimizer.pt", UNDER_WAY_REST "model.pt",
		 UNDER_WAY_WITH "optimizer.pt"},
		/* in no save of the job's */
		{"model.pt pretrained.pt", "model.pt", NULL, NULL},
		{"model.pt", "model.pt", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *before = text_copy(rows[i].before);
		auto_json json_t *known = NULL;
		char *rest = NULL;

		tear_down(state);
		set_up(state);
		write_file("model.pt", "oc", 1000);
		write_file("optimizer.pt", "oc", 1000);
		decide(8000);
		write_file("model.pt", "oc", 20000);
		write_file("optimizer.pt", "oc", 20000);
		decide(28000);
		known = detector_known_json(&detector);
		tear_down(state);
		set_up(state);
		detector_load_signatures(&detector, json_object_get(known, "signatures"));
		for (char *path = strtok_r(before, " ", &rest); path;
		     path = strtok_r(NULL, " ", &rest))
			detector_note_existing(&detector, path);
		write_file(rows[i].written, "oc", 1000);
		assert_under_way(rows[i].first, rows[i].second);
	}
}

/* It lacks what the one before it had. */
static void test_a_part_of_a_known_kind_is_not_said_to_be_closed(void **state)
{
	char **paths;

	(void)state;
	write_file("checkpoint-1/model.pt", "oc", 1000);
	write_file("checkpoint-1/optimizer.pt", "oc", 1000);
	decide(8000);
	write_file("checkpoint-2/model.pt", "oc", 9000);
	paths = detector_list(&detector, detector_each_under_way);
	assert_string_equal(paths[0], "checkpoint-2/");
	assert_null(paths[1]);
	path_list_free(paths);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_begins_a_checkpoint),
		TEST(test_which_step_was_begun_last),
		TEST(test_what_was_begun_too_early_is_left_out),
		TEST(test_what_a_gone_member_had_come_to_is_left_out),
		TEST(test_only_what_is_complete_goes_in),
		TEST(test_a_deletion_belongs_to_the_next_save),
		TEST(test_a_directory_is_of_the_next_save),
		TEST(test_what_is_begun_later_is_dropped),
		TEST(test_void_once_the_newest_is_written_again),
		TEST(test_fixed_names_that_are_written_again),
		TEST(test_what_was_found_empty_is_written_anew),
		TEST(test_fixed_names_are_not_dropped_if_they_are_the_checkpoint),
		TEST(test_the_newest_is_written_over),
		TEST(test_no_half_of_a_set_beside_a_numbered_one),
		TEST(test_the_newest_that_is_held),
		TEST(test_one_alone_that_is_written_over_holds_up_no_other),
		TEST(test_whole_directories_end_in_a_slash),
		TEST(test_a_file_of_a_new_kind_is_said_to_be_closed),
		TEST(test_a_save_that_has_all_its_files_is_said_to_lack_closes),
		TEST(test_a_save_that_is_complete_is_not_listed_until_it_is_decided),
		TEST(test_the_first_file_of_a_directory_is_not_said_to_lack_its_close),
		TEST(test_one_of_several_fixed_names_is_not_said_to_be_closed),
		TEST(test_a_fixed_name_beside_settings_is_said_to_lack_its_close),
		TEST(test_a_set_of_a_new_kind_is_said_to_be_closed),
		TEST(test_fixed_names_of_a_new_kind_are_said_to_be_closed),
		TEST(test_a_page_beside_a_set_of_a_new_kind_is_not_listed),
		TEST(test_a_page_says_nothing_of_the_set_that_it_lies_beside),
		TEST(test_a_set_whose_next_save_is_begun_is_not_said_to_lack_closes),
		TEST(test_fixed_names_of_before_may_be_of_a_set),
		TEST(test_what_is_left_of_a_set_is_listed),
		TEST(test_a_part_of_a_known_kind_is_not_said_to_be_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
