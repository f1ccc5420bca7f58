/* What is remembered of a checkpoint once it is complete. Files are written in the kernel's words,
 * at a quiet time of 100 ms. */
#include "completion/latest_checkpoint.h"

#include "base/text.h"
#include "shim/shim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct job {
	struct detector detector;
	struct latest_checkpoint latest;
	int64_t now_ms;
};

static void begin(struct job *job)
{
	*job = (struct job){.now_ms = 1000};
	detector_init(&job->detector, 100);
	latest_checkpoint_init(&job->latest);
}

static void write_file(struct job *job, const char *path)
{
	struct dir_event event = {.change = DIR_CREATED, .path = path};

	detector_handle_kernel(&job->detector, &event, job->now_ms);
	event.change = DIR_CLOSED_WRITE;
	detector_handle_kernel(&job->detector, &event, job->now_ms);
}

static bool is_there(void *arg, const char *path)
{
	(void)arg;
	return !text_starts(path, "gone/");
}

static void take(struct job *job, enum detector_verdict expected)
{
	int64_t at_ms;

	job->now_ms += 1000;
	assert_int_equal(detector_poll(&job->detector, job->now_ms, &at_ms), expected);
	latest_checkpoint_update(&job->latest, &job->detector, expected == DETECTOR_COMPLETE,
				 is_there, NULL);
	detector_acknowledge(&job->detector);
}

static void the_highest_number_counts(void **state)
{
	static const struct {
		const char *first, *second;
		int64_t said, step;
	} rows[] = {
		{"step_9/w.bin", "step_9/o.bin", -1, 9},
		{"step_10.pt", "step_9.pt", -1, 10},
		{"weights", "optimizer", -1, -1},
		{"weights", "optimizer", 70, 70},
		{"step_9.pt", "weights", 8, 9},
		{"step_9.pt", "run_500.log", -1, 9},
		{"events.out.tfevents.1700000000", "weights", -1, -1},
		{"step_4.pt", "logs/step_5.log", -1, 4},
		{"gone/tmp8x", "step_4.pt", -1, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		begin(&job);
		write_file(&job, rows[i].first);
		write_file(&job, rows[i].second);
		latest_checkpoint_note_step(&job.latest, rows[i].said);
		take(&job, DETECTOR_COMPLETE);
		if (job.latest.step != rows[i].step)
			fail_msg("%s: %lld", rows[i].first, (long long)job.latest.step);
		assert_int_equal(job.latest.next_step, -1);
		detector_release(&job.detector);
	}
}

static void only_what_follows_the_request_is_fresh(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	write_file(&job, "step_1.pt");
	take(&job, DETECTOR_COMPLETE);
	assert_false(job.latest.fresh);
	detector_requested(&job.detector, job.now_ms);
	write_file(&job, "step_2.pt");
	take(&job, DETECTOR_COMPLETE);
	assert_true(job.latest.fresh);
	assert_int_equal(job.latest.step, 2);
	assert_int_equal(job.latest.generation, detector_generation(&job.detector));
	detector_release(&job.detector);
}

static void one_that_was_broken_off_looks_otherwise(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	write_file(&job, "step_1/weights");
	write_file(&job, "step_1/state");
	assert_false(latest_checkpoint_is_like(&job.latest, &job.detector));
	take(&job, DETECTOR_COMPLETE);
	write_file(&job, "step_2/state");
	assert_false(latest_checkpoint_is_like(&job.latest, &job.detector));
	write_file(&job, "step_2/weights");
	assert_true(latest_checkpoint_is_like(&job.latest, &job.detector));
	detector_release(&job.detector);
}

static void report(struct job *job, int event, const char *path)
{
	struct shim_message message = {
		.event = event,
		.pid = 1,
		.descriptor = 3,
		.flags = event == SHIM_OPENED ? SHIM_FLAG_EMPTY : 0,
		.path = path,
		.path2 = "",
	};

	detector_handle_shim(&job->detector, &message, job->now_ms);
}

/* Its writer was killed in step 3, without a pause since step 2. */
static void what_is_left_of_torn_work_has_its_own_number(void **state)
{
	struct job job;

	(void)state;
	begin(&job);
	report(&job, SHIM_OPENED, "step_2.pt");
	report(&job, SHIM_CLOSED, "step_2.pt");
	report(&job, SHIM_OPENED, "step_3.pt");
	detector_process_ended(&job.detector, 1, WRITER_END_KILLED, job.now_ms);
	detector_job_ended(&job.detector, false, job.now_ms);
	take(&job, DETECTOR_COMPLETE);
	assert_int_equal(job.latest.step, 2);
	detector_release(&job.detector);
}

static void what_is_torn_does_not_change_the_look(void **state)
{
	struct job job;
	uint64_t signature;

	(void)state;
	begin(&job);
	write_file(&job, "step_1.pt");
	take(&job, DETECTOR_COMPLETE);
	signature = job.latest.signature;
	report(&job, SHIM_OPENED, "other");
	detector_process_ended(&job.detector, 1, WRITER_END_KILLED, job.now_ms);
	take(&job, DETECTOR_TORN);
	assert_int_equal(job.latest.signature, signature);
	assert_int_equal(job.latest.step, -1);
	detector_release(&job.detector);
}

static void save_by_rename(struct job *job, const char *temporary, const char *path)
{
	struct shim_message renamed = {
		.event = SHIM_RENAMED,
		.pid = 1,
		.path = temporary,
		.path2 = path,
	};
	struct dir_event moved = {.change = DIR_MOVED_FROM, .path = temporary, .cookie = 1};

	report(job, SHIM_OPENED, temporary);
	report(job, SHIM_CLOSED, temporary);
	detector_handle_shim(&job->detector, &renamed, job->now_ms);
	detector_handle_kernel(&job->detector, &moved, job->now_ms);
	moved = (struct dir_event){.change = DIR_MOVED_TO, .path = path, .cookie = 1};
	detector_handle_kernel(&job->detector, &moved, job->now_ms);
}

/* A save every few steps, and then one that was asked for before the last of those
 * was quiet for long enough. */
static void one_soon_after_another_looks_as_alone(void **state)
{
	const struct shim_message hello = {.event = SHIM_HELLO, .pid = 1, .path = "", .path2 = ""};
	struct job job;
	int64_t at_ms;

	(void)state;
	begin(&job);
	detector_handle_shim(&job.detector, &hello, job.now_ms);
	save_by_rename(&job, "ck-15.bin.tmp", "ck-15.bin");
	take(&job, DETECTOR_COMPLETE);
	detector_handle_shim(&job.detector, &hello, job.now_ms);
	save_by_rename(&job, "ck-30.bin.tmp", "ck-30.bin");
	save_by_rename(&job, "ck-38.bin.tmp", "ck-38.bin");
	assert_true(latest_checkpoint_is_like(&job.latest, &job.detector));
	detector_job_ended(&job.detector, true, job.now_ms);
	assert_int_equal(detector_poll(&job.detector, job.now_ms, &at_ms), DETECTOR_COMPLETE);
	assert_false(detector_is_torn(&job.detector, "ck-30.bin"));
	assert_false(detector_is_torn(&job.detector, "ck-38.bin"));
	take(&job, DETECTOR_COMPLETE);
	assert_int_equal(job.latest.step, 38);
	detector_release(&job.detector);
}

/* What looks like several checkpoints may be one of several parts, and some of them are missing. */
static void fewer_parts_look_otherwise(void **state)
{
	const struct shim_message hello = {.event = SHIM_HELLO, .pid = 1, .path = "", .path2 = ""};
	struct job job;

	(void)state;
	begin(&job);
	detector_handle_shim(&job.detector, &hello, job.now_ms);
	save_by_rename(&job, "ckpt-1.tmp", "ckpt-1.bin");
	save_by_rename(&job, "ckpt-2.tmp", "ckpt-2.bin");
	save_by_rename(&job, "ckpt-3.tmp", "ckpt-3.bin");
	take(&job, DETECTOR_COMPLETE);
	detector_handle_shim(&job.detector, &hello, job.now_ms);
	save_by_rename(&job, "ckpt-1.tmp", "ckpt-1.bin");
	save_by_rename(&job, "ckpt-2.tmp", "ckpt-2.bin");
	assert_false(latest_checkpoint_is_like(&job.latest, &job.detector));
	save_by_rename(&job, "ckpt-3.tmp", "ckpt-3.bin");
	assert_true(latest_checkpoint_is_like(&job.latest, &job.detector));
	detector_release(&job.detector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_number_counts),
		cmocka_unit_test(only_what_follows_the_request_is_fresh),
		cmocka_unit_test(one_that_was_broken_off_looks_otherwise),
		cmocka_unit_test(what_is_left_of_torn_work_has_its_own_number),
		cmocka_unit_test(what_is_torn_does_not_change_the_look),
		cmocka_unit_test(one_soon_after_another_looks_as_alone),
		cmocka_unit_test(fewer_parts_look_otherwise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
