/* What `reprieve status` makes of a supervisor's answer: tables. */
#include "cli/status_text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define HEAD \
	"\"job\":\"train\",\"state\":\"running\",\"attempt\":3,\"pid\":12,\"supervisor_pid\":11"
#define NOTICE                                                                          \
	"\"notice\":{\"kind\":\"stop\",\"source\":\"aws\",\"reason\":\"interruption\"," \
	"\"seconds_left\":87.4,\"deadline\":\"2026-11-24T12:15:37.123Z\"}"

static const struct {
	const char *answer, *text, *change;
} rows[] = {
	// clang-format off
	{"{" HEAD "}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n",
		"train: running, attempt 3; durable: nothing yet"},
	{"{" HEAD ",\"store\":\"s3://b/p\",\"durable\":\"000003-000012\",\"step\":1160,"
		"\"durable_seconds\":12.4,\"waiting\":true,\"newest_step\":1200,"
		"\"newest_seconds\":2,\"training\":{\"step\":1204,\"step_seconds\":0.31,"
		"\"seconds\":1.5},\"saving\":{\"bytes_done\":1048576,\"bytes_total\":4194304,"
		"\"bytes_per_second\":524288,\"seconds_left\":6,\"still_seconds\":0.2},"
		"\"behind\":true,\"loss\":\"a preemption now would lose 12 s\","
		"\"plan\":\"plan: a fresh checkpoint (save takes 2 s)\","
		"\"sources\":[{\"name\":\"aws\",\"health\":\"armed\",\"why\":\"\"},"
		"{\"name\":\"file\",\"health\":\"unknown\",\"why\":\"gone\"}]}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     s3://b/p\n"
		"  training  step 1204, 310 ms each, 1.5 s ago\n"
		"  durable   000003-000012, step 1160, 12 s ago, 44 steps behind\n"
		"  waiting   a newer checkpoint, step 1200, 2.0 s ago, 4 steps behind\n"
		"  sending   1.0 MiB of 4.0 MiB (25 %), 512 KiB/s, 6 s left\n"
		"  warning   the upload has fallen behind\n"
		"  at risk   a preemption now would lose 12 s\n"
		"  plan      at a notice: a fresh checkpoint (save takes 2 s)\n"
		"  notices   aws: armed\n"
		"            file: unknown: gone\n",
		"train: running, attempt 3; durable: 000003-000012, step 1160; sending a "
		"checkpoint; the upload has fallen behind"},
	/* A notice: its plan is made, and what will be lost is not known before the end. */
	{"{" HEAD ",\"loss\":\"a preemption now would lose 12 s\",\"plan\":\"plan: x\"," NOTICE
		",\"rank_progress\":{\"active\":true,\"text\":\"2 of 4 ranks\"}}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  request   2 of 4 ranks\n"
		"  plan      x\n"
		"  notice    1 min 27 s left: stop from aws (interruption), until "
		"2026-11-24T12:15:37Z\n"
		"  notices   SIGTERM alone\n",
		"train: running, attempt 3; durable: nothing yet; stop from aws (interruption), "
		"until 2026-11-24T12:15:37Z"},
	{"{" HEAD ",\"checkpoints\":[]}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n"
		"  no checkpoint has been written yet\n",
		"train: running, attempt 3; durable: nothing yet"},
	{"{" HEAD ",\"checkpoints\":[{\"checkpoint\":\"step-10\",\"verdict\":\"torn\",\"files\":1,"
		"\"why\":\"cut\",\"missing\":2,\"open\":[\"a\"],\"incomplete\":[\"b\"]}]}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n"
		"  step-10  torn         1 file   cut\n"
		"              2 of the files that earlier ones had: missing\n"
		"              open: a\n"
		"              incomplete: b\n",
		"train: running, attempt 3; durable: nothing yet"},
	{"{" HEAD ",\"gang\":{\"members\":3,\"member\":1,\"over\":false,\"list\":["
		"{\"member\":1,\"host\":\"b\",\"state\":\"goes on\"},"
		"{\"member\":0,\"host\":\"a\",\"state\":\"has ended\"},"
		"{\"member\":2,\"host\":\"\",\"state\":\"has not ended\",\"heard_seconds\":40}],\"round\":{\"id\":\"000003-000012\","
		"\"step\":300,\"state\":\"open\",\"given\":[0,1],\"missing\":[2]}}}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n"
		"  gang      member 1 of 3\n"
		"            member 0 on a: has ended, has given its part\n"
		"            member 2: nothing heard for 40 s, its part is missing\n"
		"            member 1 on b: goes on, has given its part\n"
		"  round     000003-000012, step 300: open, 2 of 3 parts are there\n",
		"train: running, attempt 3; durable: nothing yet"},
	{"{" HEAD ",\"gang\":{\"members\":300,\"member\":0,\"over\":true,\"list\":["
		"{\"member\":7,\"host\":\"x\",\"state\":\"has left\"}],\"round\":{\"id\":\"000003-000012\","
		"\"step\":null,\"state\":\"left out\",\"why\":{\"member\":7,\"reason\":\"no disk\"}}}}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n"
		"  gang      member 0 of 300, whose attempt is over\n"
		"            member 7 on x: has left\n"
		"            and 299 more (--json)\n"
		"  round     000003-000012: left out by member 7: no disk\n",
		"train: running, attempt 3; durable: nothing yet"},
	{"{" HEAD ",\"gang\":{\"members\":2,\"member\":0,\"list\":[],\"round\":{\"id\":\"000003-000012\","
		"\"step\":5,\"state\":\"open\",\"unknown\":\"out of time\"}}}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n"
		"  gang      member 0 of 2\n"
		"            and 2 more (--json)\n"
		"  round     000003-000012, step 5: open, and whose parts are there is not known: "
		"out of time\n",
		"train: running, attempt 3; durable: nothing yet"},
	/* Another machine has the job: this one's work counts no more. */
	{"{" HEAD ",\"superseded\":true,\"durable\":\"000003-000012\"}",
		"train: running, attempt 3, pid 12 (supervisor 11)\n"
		"  warning   superseded by a newer attempt: what this one saves is not made "
		"durable; end it\n"
		"  store     none\n"
		"  durable   000003-000012\n"
		"  notices   SIGTERM alone\n",
		"train: running, attempt 3; durable: 000003-000012; superseded by a newer attempt"},
	/* Nobody's words command the terminal, nor make a line of their own. */
	{"{\"job\":\"a\\u001b[31m\\nb\",\"state\":\"running\"}",
		"a?[31m?b: running (supervisor 0)\n"
		"  store     none\n"
		"  durable   nothing yet\n"
		"  notices   SIGTERM alone\n",
		"a?[31m?b: running; durable: nothing yet"},
	// clang-format on
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *answer = json_loads(rows[i].answer, 0, NULL);
		struct bytes text = {0};
		char *change;

		assert_non_null(answer);
		status_text_append(&text, answer);
		bytes_append(&text, "", 1, NULL);
		assert_string_equal((const char *)text.data, rows[i].text);
		change = status_text_change(answer);
		assert_string_equal(change, rows[i].change);
		free(change);
		bytes_release(&text);
		json_decref(answer);
	}
}

static void test_ends(void **state)
{
	static const struct {
		const char *ended, *text;
	} ends[] = {
		// clang-format off
		{"{\"job\":\"train\",\"outcome\":\"preempted\",\"exit_code\":75,"
			"\"durable\":\"3-12, step 5\"}",
			"train has ended: preempted (exit 75); durable: 3-12, step 5"},
		{"{\"job\":\"tr\\nain\",\"outcome\":\"finished\",\"exit_code\":0,\"durable\":\"\"}",
			"tr?ain has ended: finished (exit 0); durable: nothing"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		json_t *ended = json_loads(ends[i].ended, 0, NULL);
		char *text = status_text_end(ended);

		assert_string_equal(text, ends[i].text);
		free(text);
		json_decref(ended);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
