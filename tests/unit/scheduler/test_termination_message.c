#include "scheduler/scheduler.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_lines(void **state)
{
	static const struct {
		struct termination_facts facts;
		const char *line;
	} rows[] = {
		// clang-format off
		{{.source = "aws", .reason = "spot interruption", .durable = ""},
			"preempted: spot interruption (aws)"},
		{{.source = "aws",
			 .reason = "spot interruption",
			 .durable = "3-12, step 1200",
			 .outcome = "preempted",
			 .exit_code = 75},
			"preempted: spot interruption (aws); durable: 3-12, step 1200; exit 75"},
		{{.source = "sigterm",
			 .reason = "SIGTERM",
			 .durable = "",
			 .outcome = "not_durable",
			 .exit_code = 74},
			"preempted: SIGTERM (sigterm); durable: nothing; exit 74"},
		{{.durable = "1-2", .outcome = "failed", .exit_code = 137},
			"failed; durable: 1-2; exit 137"},
		// clang-format on
	};
	char line[TERMINATION_LINE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(termination_line(&rows[i].facts, line), rows[i].line);
}

static void test_the_words_of_the_job_are_kept(void **state)
{
	static const struct {
		const char *before, *held, *text;
	} rows[] = {
		{"", "", "new\n"},
		{"", "CUDA out of memory\n", "new\nCUDA out of memory\n"},
		/* our line of the notice is replaced, what the job put behind it stays */
		{"old", "old\n", "new\n"},
		{"old", "old\nsaved at step 7\n", "new\nsaved at step 7\n"},
		/* the job has written over it */
		{"old", "saved at step 7", "new\nsaved at step 7"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *text = termination_text("new", rows[i].before, rows[i].held);

		assert_string_equal(text, rows[i].text);
	}
}

static void test_too_much_is_cut_at_its_beginning(void **state)
{
	char held[3 * TERMINATION_TEXT_MOST];
	auto_free char *text = NULL;

	(void)state;
	memset(held, 'x', sizeof(held));
	strcpy(held + sizeof(held) - 5, "last");
	text = termination_text("preempted", "", held);
	assert_true(strlen(text) < TERMINATION_TEXT_MOST);
	assert_true(strlen(text) > TERMINATION_TEXT_MOST / 2);
	assert_memory_equal(text, "preempted\n", 10);
	assert_string_equal(text + strlen(text) - 4, "last");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_the_words_of_the_job_are_kept),
		cmocka_unit_test(test_too_much_is_cut_at_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
