/* What is said of a job that saves nothing where it is watched. */
#include "workspace/save_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_decide(void **state)
{
	static const struct {
		const char *name;
		struct save_place_facts facts;
		enum save_place_remark remark;
	} rows[] = {
		// clang-format off
		{"any command", {.ran_ms = 10}, SAVE_PLACE_SILENT},
		{"any command, for long", {.ran_ms = 3600000}, SAVE_PLACE_SILENT},
		{"any command has ended", {.ran_ms = 3600000, .ended = true}, SAVE_PLACE_SILENT},
		{"it saves elsewhere: at once", {.ran_ms = 10, .elsewhere = "/a/b.pt"},
			SAVE_PLACE_ELSEWHERE},
		{"once", {.ran_ms = 10, .elsewhere = "/a/b.pt", .said_elsewhere = true},
			SAVE_PLACE_SILENT},
		{"and at the end", {.elsewhere = "/a/b.pt", .said_elsewhere = true, .ended = true},
			SAVE_PLACE_ELSEWHERE},
		{"also if it failed", {.elsewhere = "/a/b.pt", .said_elsewhere = true, .ended = true,
			.failed = true}, SAVE_PLACE_ELSEWHERE},
		{"it saves here too", {.ran_ms = 10, .elsewhere = "/a/b.pt", .saved_here = true},
			SAVE_PLACE_SILENT},
		{"the same at the end", {.elsewhere = "/a/b.pt", .saved_here = true, .ended = true,
			.said_elsewhere = true}, SAVE_PLACE_SILENT},
		{"here, and in a second place: once", {.ran_ms = 10, .elsewhere = "/a/b.pt",
			.saved_here = true, .also = "/a/b.pt"}, SAVE_PLACE_ALSO},
		{"not again", {.ran_ms = 10, .also = "/a/b.pt", .saved_here = true,
			.said_also = true}, SAVE_PLACE_SILENT},
		{"nor at the end", {.also = "/a/b.pt", .saved_here = true, .said_also = true,
			.ended = true}, SAVE_PLACE_SILENT},
		{"at the end, if it saved here only later", {.elsewhere = "/a/b.pt",
			.also = "/a/b.pt", .said_elsewhere = true, .saved_here = true, .ended = true},
			SAVE_PLACE_ALSO},
		{"not here: that says more", {.ran_ms = 10, .elsewhere = "/a/b.pt",
			.also = "/a/b.pt"}, SAVE_PLACE_ELSEWHERE},
		{"it goes on from here, and writes one file elsewhere", {.ran_ms = 10,
			.elsewhere = "/a/b.pt", .found_here = true}, SAVE_PLACE_SILENT},
		{"... and checkpoints", {.ran_ms = 10, .elsewhere = "/a/b.pt", .found_here = true,
			.checkpoints = true}, SAVE_PLACE_ELSEWHERE},
		{"... once", {.ran_ms = 10, .elsewhere = "/a/b.pt", .found_here = true,
			.checkpoints = true, .said_elsewhere = true}, SAVE_PLACE_SILENT},
		{"... and at the end", {.elsewhere = "/a/b.pt", .found_here = true,
			.checkpoints = true, .said_elsewhere = true, .ended = true},
			SAVE_PLACE_ELSEWHERE},
		{"... and here too", {.elsewhere = "/a/b.pt", .found_here = true,
			.checkpoints = true, .saved_here = true, .ended = true}, SAVE_PLACE_SILENT},
		{"it goes on from here, and saves nothing", {.ran_ms = 70000, .expected = true,
			.chosen = true, .found_here = true}, SAVE_PLACE_SILENT},
		{"here, and it was expected", {.ran_ms = 70000, .saved_here = true, .expected = true,
			.chosen = true}, SAVE_PLACE_SILENT},
		{"expected, but not yet", {.ran_ms = 59999, .expected = true, .chosen = true},
			SAVE_PLACE_SILENT},
		{"nothing for a minute", {.ran_ms = 60000, .expected = true}, SAVE_PLACE_NOWHERE},
		{"once", {.ran_ms = 70000, .expected = true, .said_nowhere = true},
			SAVE_PLACE_SILENT},
		{"and at the end", {.ran_ms = 70000, .expected = true, .said_nowhere = true,
			.ended = true}, SAVE_PLACE_NOWHERE},
		{"a short one that was only recognised", {.ran_ms = 9000, .expected = true,
			.ended = true}, SAVE_PLACE_SILENT},
		{"a short one with a store", {.ran_ms = 9000, .expected = true, .chosen = true,
			.ended = true}, SAVE_PLACE_NOWHERE},
		{"it failed at its start", {.ran_ms = 900, .expected = true, .chosen = true,
			.ended = true, .failed = true}, SAVE_PLACE_SILENT},
		{"it failed after long", {.ran_ms = 70000, .expected = true, .ended = true,
			.failed = true}, SAVE_PLACE_NOWHERE},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (save_place_decide(&rows[i].facts) != rows[i].remark)
			fail_msg("row %zu: %s", i, rows[i].name);
}

static void test_directory(void **state)
{
	static const struct {
		const char *path, *directory;
	} rows[] = {
		{"/a/out/model.pt", "/a/out"},
		{"/a/out/checkpoint-500/model.safetensors", "/a/out"},
		{"/a/out/checkpoint-500/global_step500/mp_rank_00.pt", "/a/out"},
		{"/a/out/checkpoint-500", "/a/out"},
		{"/a/2026-11-22/model.pt", "/a/2026-11-22"},
		{"/model.pt", "/"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(save_place_directory(rows[i].path, text, sizeof(text)),
				    rows[i].directory);
}

/* What a job saves elsewhere once, and without a number, may be anything. */
static void test_checkpoints(void **state)
{
	static const struct {
		const char *path;
		bool again, is_checkpoint;
	} rows[] = {
		{"/a/cache/features/dataset.pt", false, false},
		{"/a/cache/features/dataset.pt", true, true},
		{"/a/out/last.pt", false, false},
		{"/a/out/last.pt", true, true},
		{"/a/out/model-160.pt", false, false},
		{"/a/out/step-500.pt", false, true},
		{"/a/out/checkpoint-500/model.pt", false, true},
		{"/a/out/checkpoint-500", false, true},
		{"/runs/step-3/cache/dataset.pt", false, false},
		{"/step-3.pt", false, true},
		{"/model.pt", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (save_place_is_checkpoint(rows[i].path, rows[i].again) != rows[i].is_checkpoint)
			fail_msg("row %zu: %s", i, rows[i].path);
}

/* The last of what is saved elsewhere, as the shim names it, makes a second place; or not. */
static void test_second_place(void **state)
{
	static const struct {
		const char *saved[4];
		bool is_second;
	} rows[] = {
		// clang-format off
		{{"/w/checkpoints/checkpoint-500/model.pt"}, false},
		{{"/w/checkpoints/checkpoint-500/model.pt", "/w/checkpoints/checkpoint-1000/model.pt"},
			true},
		{{"/w/checkpoints/step-10.pt", "/w/checkpoints/step-20.pt"}, true},
		/* two files of one */
		{{"/w/checkpoints/step-10.pt", "/w/checkpoints/step-10.safetensors"}, false},
		/* one in each of two places, as of two experiments */
		{{"/w/a/step-10.pt", "/w/b/step-20.pt"}, false},
		{{"/w/best/model.pt", "/w/best/model.pt"}, true},
		{{"/w/final/model.pt"}, false},
		/* what belongs together without a number is not counted */
		{{"/w/out/encoder.pt", "/w/out/decoder.pt"}, false},
		{{"/w/checkpoints/ckpt-1.npz", "/w/checkpoints/ckpt-2.npz"}, true},
		/* curves, data sets and caches, which are written over, or have numbers */
		{{"/w/results/losses.npy", "/w/results/losses.npy"}, false},
		{{"/w/results/history.pkl", "/w/results/history.pkl"}, false},
		{{"/w/logs/embeddings.pt", "/w/logs/embeddings.pt"}, false},
		{{"/w/cache/features.pt", "/w/cache/features.pt"}, false},
		{{"/w/data/train/tokens.pt", "/w/data/train/tokens.pt"}, false},
		{{"/w/datasets/shard-1.pt", "/w/datasets/shard-2.pt"}, false},
		{{"/w/train-00001.bin", "/w/train-00002.bin"}, false},
		{{"/w/database.pt", "/w/database.pt"}, true},
		{{"/w/logs/checkpoints/epoch=1-step=10.ckpt",
			"/w/logs/checkpoints/epoch=2-step=20.ckpt"}, true},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *before[4];
		size_t count = 0;
		bool again = false, is_second = false;

		for (size_t j = 0; j < 4 && rows[i].saved[j]; j++) {
			const char *path = rows[i].saved[j];

			again = j > 0 && strcmp(path, rows[i].saved[j - 1]) == 0;
			is_second = save_place_is_second(path, "/w/outputs", again, before, count);
			before[count++] = (char *)path;
		}
		if (is_second != rows[i].is_second)
			fail_msg("row %zu: %s", i, rows[i].saved[0]);
	}
}

/* What lies above both says nothing of one of them. */
static void test_data_above_both_places(void **state)
{
	(void)state;
	assert_true(save_place_is_second("/data/tmp/u/best/last.pt", "/data/tmp/u/outputs", true,
					 NULL, 0));
	assert_false(save_place_is_second("/data/tmp/u/last.pt", "/home/u/outputs", true, NULL, 0));
	assert_false(save_place_is_second("/data/tmp/u/best/last.pt", "/data/tmp/u/outputs", false,
					  NULL, 0));
}

static void test_lines(void **state)
{
	struct save_place_facts facts = {.watched = "/w", .elsewhere = "/a/out/ckpt-3/model.pt"};
	char text[SAVE_PLACE_TEXT];

	(void)state;
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_ELSEWHERE, text, sizeof(text)),
			    "the job saves model.pt in /a/out, and nothing in /w, which is "
			    "watched: set --checkpoint-dir /a/out if its checkpoints are there");
	facts.refused = "/a/out holds the program /a/out/train.py, not checkpoints alone";
	facts.advice = "start it elsewhere";
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_ELSEWHERE, text, sizeof(text)),
			    "the job saves model.pt in /a/out, and nothing in /w, which is "
			    "watched. If its checkpoints are there: /a/out holds the program "
			    "/a/out/train.py, not checkpoints alone; start it elsewhere");
	facts.refused = NULL;
	facts.ended = true;
	assert_non_null(strstr(save_place_format(&facts, SAVE_PLACE_ELSEWHERE, text, sizeof(text)),
			       "the job has saved model.pt"));
	facts.said_elsewhere = true;
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_ELSEWHERE, text, sizeof(text)),
			    "nothing of this run is durable: the job has saved in /a/out, and "
			    "nothing in /w, which is watched (--checkpoint-dir /a/out)");
	facts.refused = "/a/out holds the program /a/out/train.py, not checkpoints alone";
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_ELSEWHERE, text, sizeof(text)),
			    "nothing of this run is durable: the job has saved in /a/out, and "
			    "nothing in /w, which is watched (see the warning above)");
	facts.also = "/home/a/checkpoints/step-20.pt";
	facts.watched = "/home/a/outputs";
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_ALSO, text, sizeof(text)),
			    "the job also saves in /home/a/checkpoints (step-20.pt), which is not "
			    "watched: that does not come back on another machine. If it resumes "
			    "from there as well as from /home/a/outputs, set --checkpoint-dir to "
			    "one directory for all that it saves: /home/a holds both");
	facts.both_refused = true;
	assert_null(strstr(save_place_format(&facts, SAVE_PLACE_ALSO, text, sizeof(text)),
			   "holds both"));
	facts.both_refused = false;
	facts.also = "/scratch/ckpt/last.pt";
	assert_null(strstr(save_place_format(&facts, SAVE_PLACE_ALSO, text, sizeof(text)),
			   "holds both"));
	facts.watched = "/w";
	facts.ran_ms = 60000;
	assert_string_equal(save_place_format(&facts, SAVE_PLACE_NOWHERE, text, sizeof(text)),
			    "nothing was saved in /w within 1 min 0 s: set --checkpoint-dir to "
			    "where the job saves");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_second_place),
		cmocka_unit_test(test_data_above_both_places),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
