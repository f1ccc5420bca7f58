/* What is said of a start: whether it is made, from where, and what was passed over. */
#include "restore/restore.h"

#include "base/text.h"
#include "heard.h"
#include "telemetry/telemetry.h"

#include "unit.h"

#include <string.h>

static char said[256]; /* "claimed restored " */

static void on_event(void *arg, const char *event, json_t *line, const char *text)
{
	(void)arg, (void)line, (void)text;
	strcat(strcat(said, event), " ");
}

static struct event_log events = {.fd = -1, .on_event = on_event};

static const struct {
	struct resume_result result;
	bool named, refused; /* by the rules */
	bool unchosen_store, called_training;
	enum restore_policy policy;
	const char *decided, *events, *line, *silent;
} rows[] = {
	{.result = {.attempt = {.number = 1}, .step = -1},
	 .named = true,
	 .decided = "",
	 .events = "claimed ",
	 .line = "job digits, attempt 1: starting from scratch (no snapshot yet)"},
	{.result = {.attempt = {.number = 1}, .step = -1},
	 .decided = "",
	 .events = "claimed ",
	 .line = "job digits: named after its directory and command; use --job NAME"},
	{.result = {.attempt = {.number = 3, .start = {2, 5}},
		    .kind = RESUME_RESTORED,
		    .from = {2, 5},
		    .step = 40},
	 .named = true,
	 .decided = "",
	 .events = "claimed restored ",
	 .line = "job digits, attempt 3: restored 000002-000005, step 40, "},
	{.result = {.attempt = {.number = 1}, .step = -1},
	 .unchosen_store = true,
	 .decided = "",
	 .events = "claimed ",
	 .line = "checkpoints in /checkpoints are kept in file:///store (--store) as job digits "
		 "(--job): the newest 10 and the last of each day",
	 .silent = "named after"},
	/* Before anything is claimed, and not again then. */
	{.result = {.step = -1},
	 .unchosen_store = true,
	 .called_training = true,
	 .decided = "",
	 .events = "",
	 .line = "are kept in file:///store (--store) as job digits (--job): the newest 10"},
	{.result = {.attempt = {.number = 1}, .step = -1},
	 .unchosen_store = true,
	 .called_training = true,
	 .decided = "",
	 .events = "claimed ",
	 .line = "job digits, attempt 1: starting from scratch",
	 .silent = "are kept in"},
	/* A later attempt has the same name: what helps was said by the first. */
	{.result = {.attempt = {.number = 2}, .step = -1},
	 .decided = "",
	 .events = "claimed ",
	 .line = "job digits, attempt 2: starting from scratch",
	 .silent = "named after"},
	{.result = {.attempt = {.number = 3, .start = {2, 4}, .suspect = {2, 5}},
		    .kind = RESUME_RESTORED,
		    .from = {2, 4},
		    .step = -1,
		    .attempt_outcomes.decision.snapshot = {2, 5},
		    .predecessor = {.attempt = 2}},
	 .named = true,
	 .decided = "rolled_back ",
	 .events = "predecessor_waited claimed restored ",
	 .line = "crashed right after resuming from 000002-000005: resuming from the one "
		 "before it, 000002-000004 (--restore 000002-000005 to override)"},
	{.result = {.attempt = {.number = 4},
		    .step = -1,
		    .attempt_outcomes.decision = {.action = RESTART_REVERT, .snapshot = {2, 5}}},
	 .named = true,
	 .decided = "reverted ",
	 .events = "claimed ",
	 .line = "crashes also occur from older checkpoints: resuming from 000002-000005 again"},
	{.result = {.attempt = {.number = 2}, .kind = RESUME_KEPT, .step = 109},
	 .named = true,
	 .decided = "",
	 .events = "claimed ",
	 .line = "resuming from the files in /checkpoints, whose newest step is 109"},
	{.result = {.attempt = {.number = 2}, .kind = RESUME_KEPT, .step = -1},
	 .named = true,
	 .policy = RESTORE_NONE,
	 .decided = "",
	 .events = "claimed ",
	 .line = "--restore none: nothing restored; existing files in /checkpoints are kept"},
	{.result = {.step = -1,
		    .attempt_outcomes = {.decision = {.action = RESTART_NO_PROGRESS,
						      .without_progress = 5}}},
	 .refused = true,
	 .decided = "no_progress ",
	 .events = "",
	 .line = "5"},
};

static void test_rows(void **state)
{
	struct workspace workspace = {.directory = (char *)"/checkpoints"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resume_request request = {
			.store = "file:///store",
			.job = "digits",
			.named = rows[i].named,
			.private_store = rows[i].unchosen_store,
			.says_place = rows[i].called_training,
			.retention = &(struct forget_policy){.keep_last = 10, .keep_daily = true},
			.policy = rows[i].policy,
			.workspace = &workspace,
		};
		char log[4096];
		bool refused;

		said[0] = '\0';
		text_set(log, sizeof(log),
			 HEARD(refused = resume_log_decision(&request, &rows[i].result, &events)));
		assert_int_equal(refused, rows[i].refused);
		assert_string_equal(said, rows[i].decided);
		said[0] = '\0';
		strcat(log, HEARD(resume_log(&request, &rows[i].result, &events)));
		assert_string_equal(said, rows[i].events);
		if (!strstr(log, rows[i].line))
			fail_msg("row %zu says: %s", i, log);
		if (rows[i].silent && strstr(log, rows[i].silent))
			fail_msg("row %zu says again: %s", i, log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
