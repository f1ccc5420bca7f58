#include "drill/job_log.h"

#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Each line is seen at 1000, 2000, ... */
static struct job_log read_log(const char *text)
{
	struct job_log log = {0};
	size_t size = strlen(text);
	int64_t at_ms = 0;

	for (size_t at = 0; at < size;) {
		size_t length = job_log_line_length(text + at, size - at);

		job_log_add(&log, text + at, length, at_ms += 1000);
		at += length + 1;
	}
	return log;
}

#define MOST 3

// clang-format off
/* What each log counts; `first` and `last` of every counter, in the order of their first lines. */
static const struct {
	const char *text;
	struct {
		const char *word;
		double first, last;
		bool fell;
	} counters[MOST + 1];
} logs[] = {
	{"", {{0}}},
	{"no number here\n", {{0}}},
	{"step 120 loss 0.3456\n", {{"step", 120, 120, false}}},
	{"step 1 loss 2\nstep 2 loss 1\nstep 3 loss 0\n", {{"step", 1, 3, false}}},
	{"steps=17\n", {{"steps", 17, 17, false}}},
	{"global_step=9\n", {{"step", 9, 9, false}}},
	{"{\"step\": 12, \"loss\": 3}\n", {{"step", 12, 12, false}}},
	{"Iteration 7: 0.1\n", {{"iteration", 7, 7, false}}},
	{"Trial 3 finished with value: 0.1\nTrial 4 finished with value: 0.7\n", {{"trial", 3, 4, false}}},
	/* Progress bars end their lines by a carriage return; at 0 they have just been made. */
	{"step 10\rstep 11\rstep 12\n", {{"step", 10, 12, false}}},
	{"  0%|    | 0/300 [00:00<?, ?it/s]\r 40%|#   | 121/300 [00:01<00:02, 99it/s]\r 41%|#   | 122/300 [00:01<00:02, 99it/s]\r",
		{{"step", 121, 122, false}}},
	/* What differs only in numbers is one counter; a line about something else is another. */
	{"max_steps = 1000\nstep 1\nstep 2\n", {{"steps", 1000, 1000, false}, {"step", 1, 2, false}}},
	{"2026-11-23 10:00:01,5 step 4 x\n2026-11-23 10:00:02,61 step  5 x\n", {{"step", 4, 5, false}}},
	{"loss -0.3 step 4\nloss 1e-05 step 5\n", {{"step", 4, 5, false}}},
	{"rank0 step 4\nrank1 step 3\nrank0 step 5\n", {{"step", 4, 5, false}, {"step", 3, 3, false}}},
	{"Epoch 3/10 step 44\nEpoch 4/10 step 1\n", {{"epoch", 3, 4, false}, {"step", 44, 1, true}}},
	{"{'loss': 0.5, 'epoch': 0.25}\n{'loss': 0.4, 'epoch': 0.5}\n", {{"epoch", 0.25, 0.5, false}}},
	{"120 0.35\n121 0.34\n", {{"number", 120, 121, false}}},
	/* Not the job's own words, or not steps that it made here. */
	{"reprieve: saved step 999\nstep 3\nreprieve: step 998\n", {{"step", 3, 3, false}}},
	{"resumed from step 118\nstep 119 loss 1\n", {{"step", 119, 119, false}}},
	{"Restoring checkpoint step 118\nloaded epoch 4\nstep 119\n", {{"step", 119, 119, false}}},
	{"footstep 5\nstepping 5\nstep size 5\nbatch size 32\ntime/step 5\nstep 12ms\n", {{0}}},
	{"step 99999999999999999999999\n1795428242 x\n", {{0}}},
	{"step 0.5\n", {{0}}},
	{"step of 3 phases, step 7\n", {{"step", 7, 7, false}}},
};
// clang-format on

static void counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		auto_(job_log_release) struct job_log log = read_log(logs[i].text);
		size_t expected = 0;

		while (logs[i].counters[expected].word)
			expected++;
		if (log.count != expected)
			fail_msg("'%s': %zu counters", logs[i].text, log.count);
		for (size_t k = 0; k < expected; k++) {
			const struct job_counter *found = &log.counters[k];

			if (strcmp(found->word, logs[i].counters[k].word) != 0 ||
			    found->samples[0].value != logs[i].counters[k].first ||
			    found->samples[found->count - 1].value != logs[i].counters[k].last ||
			    found->fell != logs[i].counters[k].fell)
				fail_msg("'%s': %s %f %f %d", logs[i].text, found->word,
					 found->samples[0].value,
					 found->samples[found->count - 1].value, found->fell);
		}
	}
}

/* The common forms of progress, and which of their numbers are the job's steps. */
static const struct {
	const char *what, *text, *word; /* word NULL: no steps are known */
	double first, last, stride;
} progress[] = {
	// clang-format off
	{"epochs alone", "epoch 30/80\nepoch 31/80\nepoch 32/80\n", "epoch", 30, 32, 1},
	{"the same, with a loss", "Epoch 1 - loss: 0.5\nEpoch 2 - loss: 0.4\n", "epoch", 1, 2, 1},
	{"one line says nothing of the pace", "epoch 30/80\n", NULL, 0, 0, 0},
	{"PyTorch's tutorials",
		"Epoch [3/10], Step [100/500], Loss: 0.3\nEpoch [3/10], Step [200/500], Loss: 0.2\n"
		"Epoch [4/10], Step [100/500], Loss: 0.1\n", "step", 1600, 2100, 400},
	{"the same in one epoch", "Epoch [3/10], Step [100/500]\nEpoch [3/10], Step [200/500]\n",
		"step", 100, 200, 100},
	{"of unknown length", "Epoch 3 Step 100\nEpoch 3 Step 200\nEpoch 4 Step 100\n", NULL, 0, 0, 0},
	{"of changing length", "Epoch 3 Step 1/9\nEpoch 3 Step 2/9\nEpoch 4 Step 1/8\n", NULL, 0, 0, 0},
	{"steps of all epochs", "Epoch 3 step 1200/5000\nEpoch 4 step 1201/5000\n", "step", 1200, 1201, 1},
	{"the epoch behind the step", "step 8/9 of epoch 1\nstep 9/9 of epoch 1\nstep 1/9 of epoch 2\n",
		"step", 17, 19, 1},
	{"the epoch when it is over", "step 1/2\nstep 2/2\nepoch 0 done\nstep 1/2\nstep 2/2\n", NULL, 0, 0, 0},
	{"tqdm", " 36%|###7      | 36/100 [00:12<00:20,  3.1it/s]\r 37%|###7      | 37/100 [00:12<00:20,  3.1it/s]\r",
		"step", 36, 37, 1},
	{"its blocks", " 36%|\u2588\u2588\u258b      | 36/100 [00:12<?]\r 37%|\u2588\u2588\u258b      | 37/100 [00:12<?]\r",
		"step", 36, 37, 1},
	{"tqdm for each epoch, which it names",
		"Epoch 3:  98%|## | 49/50 [00:01<00:00]\rEpoch 3: 100%|###| 50/50 [00:01<00:00]\r"
		"Epoch 4:   2%|   | 1/50 [00:00<00:01]\r", "step", 199, 201, 1},
	{"Lightning, after its check",
		"Sanity Checking DataLoader 0:  50%|#    | 1/2 [00:00<00:00]\r"
		"Sanity Checking DataLoader 0: 100%|#####| 2/2 [00:00<00:00]\r"
		"Epoch 0:  45%|##   | 9/20 [00:02<00:02, 4.2it/s, v_num=0]\r"
		"Epoch 0:  50%|##   | 10/20 [00:02<00:02, 4.2it/s, v_num=0]\r"
		"Epoch 0:  55%|##   | 11/20 [00:02<00:02, 4.2it/s, v_num=0]\r"
		"Epoch 1:   5%|     | 1/20 [00:00<00:02, 4.2it/s, v_num=0]\r", "step", 9, 21, 10},
	{"Keras", "Epoch 3/10\n 99/100 [====>] - loss: 0.3\r100/100 [=====] - loss: 0.3\nEpoch 4/10\n  1/100 [>....] - loss: 0.2\r",
		"step", 399, 401, 1},
	{"Keras 3, with its colours",
		"Epoch 3/10\n\x1b[1m 99/100\x1b[0m \x1b[32m---\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 3ms/step - loss: 0.3"
		"\b\b\b\r\x1b[1m100/100\x1b[0m \x1b[32m---\x1b[0m\r", "step", 99, 100, 1},
	{"Hugging Face's bar beside its lines",
		"  1%|1    | 10/1000 [00:01<01:30]\r{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 1.23}\n"
		"  2%|2    | 20/1000 [00:02<01:30]\r{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 1.25}\n",
		"step", 10, 20, 10},
	{"its lines alone: parts of epochs are no steps", "{'loss': 0.5, 'epoch': 1.23}\n{'loss': 0.4, 'epoch': 1.25}\n", NULL, 0, 0, 0},
	{"the size of a batch", "batch 32 loss 0.5\nbatch 32 loss 0.4\n", NULL, 0, 0, 0},
	{"the same before the step", "batch 32 step 1\nbatch 32 step 2\n", "step", 1, 2, 1},
	{"dates", "11/28/2026 10:00 x\n11/29/2026 10:00 x\n", NULL, 0, 0, 0},
	{"a line's first number", "120 0.35\n121 0.34\n", NULL, 0, 0, 0},
	// clang-format on
};

static void the_steps_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(progress) / sizeof(progress[0]); i++) {
		auto_(job_log_release) struct job_log log = read_log(progress[i].text);
		const struct job_counter *steps = job_log_steps(&log);

		if (!steps != !progress[i].word)
			fail_msg("%s: %s", progress[i].what, steps ? steps->label : "no steps");
		if (steps && (strcmp(steps->word, progress[i].word) != 0 ||
			      steps->samples[0].value != progress[i].first ||
			      steps->samples[steps->count - 1].value != progress[i].last ||
			      steps->stride != progress[i].stride))
			fail_msg("%s: %s %f %f by %f", progress[i].what, steps->word,
				 steps->samples[0].value, steps->samples[steps->count - 1].value,
				 steps->stride);
	}
}

static void values_have_times(void **state)
{
	auto_(job_log_release) struct job_log log = read_log("step 1\nstep 2\nstep 9\n");
	double value = -1;

	(void)state;
	assert_false(job_counter_value_at(&log.counters[0], 999, &value));
	assert_true(job_counter_value_at(&log.counters[0], 2999, &value));
	assert_true(value == 2);
	assert_true(job_counter_value_at(&log.counters[0], 99999, &value));
	assert_true(value == 9);
	assert_true(log.counters[0].stride == 7);
}

static void two_logs_are_matched(void **state)
{
	auto_(job_log_release) struct job_log one = read_log("Epoch 1/9 step 3/70 loss 0.3\n");
	auto_(job_log_release) struct job_log same = read_log("hello\nEpoch 2/9 step 11/70\n");
	auto_(job_log_release) struct job_log other = read_log("step 3 of epoch 2\n");

	(void)state;
	assert_ptr_equal(job_log_match(&same, &one.counters[0]), &same.counters[0]);
	assert_ptr_equal(job_log_match(&same, &one.counters[1]), &same.counters[1]);
	assert_null(job_log_match(&other, &one.counters[1]));
	assert_false(one.counters[0].nested);
	assert_true(one.counters[1].nested);
}

/* A job that prints without end. */
static void memory_is_bounded(void **state)
{
	auto_(job_log_release) struct job_log log = {0};
	char line[32];
	int lines = (int)effort_count("lines", 1000000, 300000);

	(void)state;
	for (int i = 1; i <= lines; i++)
		job_log_add(&log, line, (size_t)snprintf(line, sizeof(line), "step %d", i), i);
	assert_true(log.counters[0].capacity <= 1 << 18);
	assert_true(log.counters[0].samples[0].value == 1);
	assert_true(log.counters[0].samples[log.counters[0].count - 1].value == lines);
	assert_ptr_equal(job_log_steps(&log), &log.counters[0]);
	for (int i = 0; i < 100; i++)
		job_log_add(&log, line,
			    (size_t)snprintf(line, sizeof(line), "%c%c step 1", 'a' + i / 10,
					     'a' + i % 10),
			    1);
	assert_int_equal(log.count, JOB_COUNTERS_MOST);
}

static void names_are_counted(void **state)
{
	auto_(job_log_release) struct job_log log = {0};

	(void)state;
	job_log_add_name(&log, "checkpoint-10/part-1-of-2.bin");
	job_log_add_name(&log, "checkpoint-20/part-1-of-2.bin");
	job_log_add_name(&log, "latest");
	job_log_add_name(&log, "1234567890123.bin");
	assert_int_equal(log.count, 3);
	assert_true(log.counters[0].samples[1].value == 20);
	assert_true(log.counters[1].samples[1].value == 1);
	assert_null(job_log_steps(&log));
}

static void tail(void **state)
{
	static const char text[] = "a\nb\nc\n";

	(void)state;
	assert_string_equal(text + job_log_tail(text, 6, 1), "c\n");
	assert_string_equal(text + job_log_tail(text, 6, 2), "b\nc\n");
	assert_string_equal(text + job_log_tail(text, 6, 9), text);
	assert_int_equal(job_log_tail("", 0, 3), 0);
	assert_int_equal(job_log_tail("no newline", 10, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(the_steps_are_found),
		cmocka_unit_test(values_have_times),
		cmocka_unit_test(two_logs_are_matched),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(names_are_counted),
		cmocka_unit_test(tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
