#include "scheduler/scheduler.h"

#include "unit.h"

#define EXITED(code) ((code) << 8)
#define KILLED(signal) (signal)

static void test_table(void **state)
{
	static const struct {
		struct outcome_facts facts;
		const char *name;
		int code;
	} rows[] = {
		// clang-format off
		{{.launched = true, .wait_status = EXITED(0)}, "finished", 0},
		{{.launched = true, .wait_status = EXITED(0), .managed = true, .all_durable = true},
			"finished", 0},
		{{.launched = true, .wait_status = EXITED(3)}, "failed", 3},
		{{.launched = true, .wait_status = KILLED(9)}, "failed", 137},
		{{.launched = true,
			 .wait_status = KILLED(11),
			 .managed = true,
			 .all_durable = true},
			"failed", 139},
		/* Ctrl-C reaches the job too, and ends no machine */
		{{.launched = true, .wait_status = KILLED(2)}, "stopped", 130},
		{{.launched = true,
			 .wait_status = EXITED(130),
			 .managed = true,
			 .all_durable = true},
			"stopped", 130},
		{{.refusal = 127}, "refused", 127},
		{{.refusal = 126, .noticed = true}, "refused", 126},
		{{.refusal = 78, .managed = true, .all_durable = true}, "refused", 78},
		/* asked to stop before the launch */
		{{.noticed = true}, "not_durable", 74},
		{{.noticed = true, .managed = true}, "not_durable", 74},
		{{.noticed = true, .managed = true, .all_durable = true}, "preempted", 75},
		{{.noticed = true, .strict_failed = true}, "not_durable", 74},
		{{.noticed = true, .by_signal_only = true}, "stopped", 143},
		{{.noticed = true, .by_signal_only = true, .managed = true}, "not_durable", 74},
		{{.noticed = true, .by_signal_only = true, .managed = true, .all_durable = true},
			"preempted", 75},
		{{0}, "refused", 70},
		/* docker stop of something that never saved: what tini answers */
		{{.launched = true,
			 .wait_status = KILLED(15),
			 .noticed = true,
			 .by_signal_only = true,
			 .told_to_end = true},
			"stopped", 143},
		{{.launched = true,
			 .wait_status = EXITED(0),
			 .noticed = true,
			 .by_signal_only = true,
			 .told_to_end = true},
			"finished", 0},
		/* the same of a job with checkpoints */
		{{.launched = true,
			 .wait_status = KILLED(15),
			 .noticed = true,
			 .by_signal_only = true,
			 .told_to_end = true,
			 .managed = true,
			 .all_durable = true},
			"preempted", 75},
		{{.launched = true,
			 .wait_status = KILLED(15),
			 .noticed = true,
			 .told_to_end = true,
			 .managed = true},
			"not_durable", 74},
		/* exit 0 after it was asked: saved and left, as far as anyone can know */
		{{.launched = true,
			 .wait_status = EXITED(0),
			 .noticed = true,
			 .told_to_end = true,
			 .managed = true,
			 .all_durable = true},
			"preempted", 75},
	/* asked, and it saved: whatever it left with */
#define ASKED                                                                    \
	.launched = true, .noticed = true, .told_to_end = true, .managed = true, \
	.asked_to_save = true
		{{ASKED, .wait_status = EXITED(1), .saved = true, .all_durable = true}, "preempted",
			75},
		{{ASKED, .wait_status = EXITED(255), .saved = true, .all_durable = true},
			"preempted", 75},
		{{ASKED, .wait_status = EXITED(42), .saved = true, .all_durable = true},
			"preempted", 75},
		{{ASKED, .wait_status = EXITED(143), .saved = true, .all_durable = true},
			"preempted", 75},
		{{ASKED, .wait_status = KILLED(11), .saved = true, .all_durable = true},
			"preempted", 75},
		/* asked, and it crashed instead of saving */
		{{ASKED, .wait_status = EXITED(1)}, "failed", 1},
		{{ASKED, .wait_status = KILLED(11)}, "failed", 139},
		{{ASKED, .wait_status = EXITED(139)}, "failed", 139},
		/* no crash: its profile knows the code, or it went as one goes that is told to */
		{{ASKED, .wait_status = EXITED(1), .resumes = true}, "not_durable", 74},
		/* The ranks of a gang agreed to end, before this machine heard of the notice. */
		{{.launched = true, .managed = true, .noticed = true, .all_durable = true,
			 .wait_status = EXITED(1), .resumes = true, .of_gang = true},
			"preempted", 75},
		{{.launched = true, .managed = true, .noticed = true, .all_durable = true,
			 .wait_status = EXITED(0), .of_gang = true},
			"preempted", 75},
		{{.launched = true, .managed = true, .noticed = true, .noticed_late = true,
			 .all_durable = true, .wait_status = EXITED(0), .of_gang = true},
			"preempted", 75},
		{{.launched = true, .managed = true, .noticed = true, .wait_status = EXITED(0),
			 .of_gang = true},
			"not_durable", 74},
		{{.launched = true, .managed = true, .noticed = true, .all_durable = true,
			 .wait_status = EXITED(0), .of_gang = true, .goes_on = true},
			"finished", 0},
		{{.launched = true, .managed = true, .noticed = true, .all_durable = true,
			 .wait_status = EXITED(1), .of_gang = true},
			"preempted", 75},
		/* A collective fails when the other member is gone. */
		{{.launched = true, .managed = true, .noticed = true, .noticed_late = true,
			 .wait_status = EXITED(1), .asked_to_save = true,
			 .of_gang = true},
			"not_durable", 74},
		{{.launched = true, .managed = true, .noticed = true, .all_durable = true,
			 .wait_status = EXITED(1), .resumes = true},
			"failed", 1},
		{{ASKED, .wait_status = EXITED(143)}, "not_durable", 74},
		{{ASKED, .wait_status = EXITED(42)}, "not_durable", 74},
		{{ASKED, .wait_status = EXITED(75)}, "not_durable", 74},
		{{ASKED, .wait_status = KILLED(9)}, "not_durable", 74},
		/* we ended it */
		{{ASKED, .wait_status = EXITED(1), .stopped = true}, "not_durable", 74},
		/* a framework that trains on after its save, and has come to its end */
		{{ASKED, .wait_status = EXITED(0), .saved = true, .goes_on = true,
			 .all_durable = true},
			"finished", 0},
		{{ASKED, .wait_status = EXITED(0), .saved = true, .goes_on = true, .stopped = true,
			 .all_durable = true},
			"preempted", 75},
#undef ASKED
		/* it ended by itself before it was asked */
		{{.launched = true,
			 .wait_status = EXITED(0),
			 .noticed = true,
			 .managed = true,
			 .all_durable = true},
			"finished", 0},
		{{.launched = true,
			 .wait_status = EXITED(1),
			 .noticed = true,
			 .managed = true,
			 .all_durable = true},
			"failed", 1},
		/* it ended of a signal that all processes of the machine got, before it was asked */
		{{.launched = true,
			 .wait_status = KILLED(15),
			 .noticed = true,
			 .managed = true,
			 .all_durable = true},
			"preempted", 75},
		{{.launched = true, .wait_status = EXITED(137), .noticed = true, .managed = true},
			"not_durable", 74},
		/* asked outside a stop, saved and left with 0: maybe because it was asked */
#define LEFT .launched = true, .managed = true, .asked = true, .saved = true, .wait_status = EXITED(0)
		{{LEFT, .all_durable = true}, "preempted", 75},
		{{LEFT}, "not_durable", 74},
		{{LEFT, .all_durable = true, .went_on = true}, "finished", 0},
		{{LEFT, .all_durable = true, .goes_on = true}, "finished", 0},
		{{LEFT, .all_durable = true, .lived_on_ms = 60000}, "finished", 0},
#undef LEFT
		/* Ctrl-C: it ends as it would without us. */
		{{.launched = true, .managed = true, .all_durable = true,
			 .wait_status = EXITED(0)}, "finished", 0},
		/* strict */
		{{.launched = true,
			 .wait_status = EXITED(0),
			 .managed = true,
			 .strict_failed = true},
			"not_durable", 74},
		{{.launched = true,
			 .wait_status = EXITED(5),
			 .managed = true,
			 .strict_failed = true},
			"failed", 5},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome outcome = outcome_of(&rows[i].facts);

		assert_string_equal(outcome_name(&outcome), rows[i].name);
		assert_int_equal(outcome.exit_code, rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
