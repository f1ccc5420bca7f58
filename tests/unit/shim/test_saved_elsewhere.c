/* Which names are checkpoints', and which places keep them. */
#include "shim/channel_writer.h"

#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

/* In place of the channel: what would be sent. */
static struct shim_header header = {.directory = "/data/checkpoints"};
static char sent[SAVED_ELSEWHERE_MOST + 2][SHIM_PATH_MOST];
static size_t sent_count;

const struct shim_header *channel_header(void)
{
	return &header;
}

void channel_send(enum shim_event event, int descriptor, unsigned flags,
		  const struct resolved_path *path, const struct resolved_path *path2)
{
	assert_int_equal(event, SHIM_SAVED_ELSEWHERE);
	assert_int_equal(descriptor, -1);
	assert_int_equal(flags, 0);
	assert_null(path2);
	assert_true(sent_count < SAVED_ELSEWHERE_MOST + 2);
	snprintf(sent[sent_count++], sizeof(sent[0]), "%.*s", (int)path->length, path->path);
}

static void test_names(void **state)
{
	static const struct {
		const char *path;
		bool is_checkpoint;
	} rows[] = {
		{"model.pt", true},
		{"out/ckpt-10.pth", true},
		{"/a/b/model.safetensors", true},
		{"best.pkl", true},
		{"weights.h5", true},
		{"w2v.model", true},
		{"step-000010", true},
		{"checkpoint_10", true},
		{"epoch=1-step=20", true},
		{"iter500", true},
		{"out/checkpoint-10/rng_state_0", true},
		{"out/global_step100/mp_rank_00", true},
		{"out/checkpoint-10/optimizer.bin", true},
		/* an archive of one, by the ending before or by a word */
		{"checkpoint.pth.tar", true},
		{"/a/model_best.pth.tar", true},
		{"last.pt.gz", true},
		{"net_10.t7", true},
		{"checkpoint.tar.gz", true},
		{"rl_model_2560_steps.zip", true},
		{"ckpt.tgz", true},
		{"data.tar.gz", false},
		{"remodel.zip", false},
		{"train.csv.gz", false},
		{"dump.sql.zst", false},
		{".tar", false},
		{"model.pt.tmp", false},
		{"step_10.png", false},
		{"epoch_3.log", false},
		{"checkpoint-10/trainer_state.json", false},
		{"checkpoints", false},
		{"checkpoint", false},
		{"steps", false},
		{"train.py", false},
		{"metrics.csv", false},
		{".pt", false},
		{"pt", false},
		{"Makefile", false},
		{"a.o", false},
		{"", false},
		{"/", false},
		{"out/", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (saved_elsewhere_is_checkpoint_name(rows[i].path) != rows[i].is_checkpoint)
			fail_msg("%s", rows[i].path);
}

static void test_places(void **state)
{
	static const struct {
		const char *path, *directory;
		bool is_kept;
	} rows[] = {
		{"/home/u/out/model.pt", "/home/u/checkpoints", true},
		{"/tmp/model.pt", "/home/u/checkpoints", false},
		{"/var/tmp/x/model.pt", "/home/u/checkpoints", false},
		{"/tmp/test/out/model.pt", "/tmp/test/checkpoints", true},
		{"/tmpfs/model.pt", "/home/u/checkpoints", true},
		{"/dev/shm/model.pt", "/dev/shm/checkpoints", false},
		{"/proc/1/model.pt", "/home/u/checkpoints", false},
		{"/home/u/.cache/torch/model.pt", "/home/u/checkpoints", false},
		{"/usr/lib/python3/site-packages/a/model.pkl", "/home/u/checkpoints", false},
		{"/home/u/checkpoints.reprieve/tmp/model.pt", "/home/u/checkpoints", false},
		{"/home/u/a.reprieves/model.pt", "/home/u/checkpoints", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (saved_elsewhere_is_kept_place(rows[i].path, rows[i].directory) !=
		    rows[i].is_kept)
			fail_msg("%s", rows[i].path);
}

static void test_reports_each_directory_and_few_of_them(void **state)
{
	(void)state;
	saved_elsewhere_report(AT_FDCWD, NULL);
	saved_elsewhere_report(AT_FDCWD, "/home/u/out/notes.txt");
	saved_elsewhere_report(AT_FDCWD, "/tmp/model.pt");
	assert_int_equal(sent_count, 0);
	saved_elsewhere_report(AT_FDCWD, "/home/u/x/../out/model.pt");
	saved_elsewhere_report(AT_FDCWD, "/home/u/out/model2.pt");
	assert_int_equal(sent_count, 1);
	assert_string_equal(sent[0], "/home/u/out/model.pt");
	/* Once more if it is saved again, and no more. */
	for (int i = 0; i < 3; i++) {
		saved_elsewhere_report(AT_FDCWD, "/home/u/out/model.pt");
		assert_int_equal(sent_count, 2);
		assert_string_equal(sent[1], "/home/u/out/model.pt");
	}
	for (int i = 0; i < 2 * SAVED_ELSEWHERE_MOST; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/home/u/out/checkpoint-%d/model.pt", i);
		saved_elsewhere_report(AT_FDCWD, path);
	}
	assert_int_equal(sent_count, SAVED_ELSEWHERE_MOST + 1);
	/* Two with numbers say that it is no single file; the others do not matter. */
	for (int i = 0; i < 5; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/home/u/out/checkpoint-0/step-%d.pt", i);
		saved_elsewhere_report(AT_FDCWD, path);
	}
	assert_int_equal(sent_count, SAVED_ELSEWHERE_MOST + 2);
	assert_string_equal(sent[SAVED_ELSEWHERE_MOST + 1], "/home/u/out/checkpoint-0/step-0.pt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_reports_each_directory_and_few_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
