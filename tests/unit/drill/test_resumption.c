#include "drill/resumption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct continuation_facts went_on(enum continuation continuation, double next)
{
	return (struct continuation_facts){
		.continuation = continuation,
		.counted = continuation != CONTINUATION_UNKNOWN,
		.word = "step",
		.count = {.first = 1,
			  .low = 120,
			  .high = 120,
			  .saved = 120,
			  .last = 130,
			  .stride = 1,
			  .step = 120,
			  .next = next},
	};
}

static struct reading_facts opened(enum reading reading)
{
	return (struct reading_facts){
		.reading = reading,
		.opened = "ckpt-110.pt",
		.missed = "ckpt-120.pt",
		.files = 2,
		.opened_files = 1,
		.bytes = 4096,
		.opened_bytes = 2048,
	};
}

// clang-format off
/* One row for each kind of job: what it counts, what it opens, and what is said of it. */
static const struct {
	const char *job;
	enum continuation continuation;
	double next;
	enum reading reading;
	int failed;
	enum drill_result expected;
	const char *said, *seen;
} jobs[] = {
	{"honest", CONTINUATION_PROVEN, 121, READING_DONE, 0, DRILL_PASS, NULL, "it opened ckpt-110.pt (1 of 2 restored files, 2.0 KiB of 4.0 KiB); saved at step 120, and its first on the next machine was step 121"},
	{"honest, a static program", CONTINUATION_PROVEN, 121, READING_UNKNOWN, 0, DRILL_PASS, NULL, "which files it opened is not known"},
	{"honest, and fails at its end", CONTINUATION_PROVEN, 121, READING_DONE, 9, DRILL_PASS, NULL, ""},
	{"honest, says nothing", CONTINUATION_UNKNOWN, 0, READING_DONE, 0, DRILL_UNPROVEN, "opened ckpt-110.pt, but nothing shows that it went on from there. Let it print its step", "no count shows"},
	{"nothing is known at all", CONTINUATION_UNKNOWN, 0, READING_UNKNOWN, 0, DRILL_UNPROVEN, "nothing shows where the job went on", ""},
	{"never loads", CONTINUATION_ANEW, 1, READING_NOTHING, 0, DRILL_FAIL, "step 120 was restored, but the job began again at step 1: it does not load its checkpoint. If it does so only with an option (--resume PATH), give it that where REPRIEVE_RESUMING is 1", "it opened none of the 2 restored files"},
	{"never loads, a static program", CONTINUATION_ANEW, 1, READING_UNKNOWN, 0, DRILL_FAIL, "does not load its checkpoint", ""},
	{"never loads, says nothing", CONTINUATION_UNKNOWN, 0, READING_NOTHING, 0, DRILL_FAIL, "opened none of the 2 restored files: it does not load", ""},
	{"opens and ignores, or counts anew", CONTINUATION_ANEW, 1, READING_DONE, 0, DRILL_FAIL, "ckpt-110.pt opened, but the job began again at step 1: it ignores", ""},
	{"loads an older one", CONTINUATION_OLDER, 111, READING_OLDER, 0, DRILL_FAIL, "step 120 was restored, but the job went on with step 111: it loads an older", ""},	{"does not load, and begins later than before", CONTINUATION_OLDER, 3, READING_NOTHING, 0, DRILL_FAIL, "it loads nothing of what was restored", ""},
	{"loads an older one, a static program", CONTINUATION_OLDER, 111, READING_UNKNOWN, 0, DRILL_FAIL, "it loads an older", ""},
	{"loads an older one, says nothing", CONTINUATION_UNKNOWN, 0, READING_OLDER, 0, DRILL_FAIL, "opened ckpt-110.pt, and not ckpt-120.pt, which is newer", ""},
	{"loads an older one, counts as if not", CONTINUATION_PROVEN, 121, READING_OLDER, 0, DRILL_UNPROVEN, "and not ckpt-120.pt, which is newer. If that one is no part of its state (another program writes it there), keep it out: REPRIEVE_EXCLUDE", ""},
	{"a private copy", CONTINUATION_AHEAD, 131, READING_NOTHING, 0, DRILL_FAIL, "counts on with step 131, but opened none", ""},
	{"a private copy, a static program", CONTINUATION_AHEAD, 131, READING_UNKNOWN, 0, DRILL_UNPROVEN, "left out what is between", ""},
	{"a faked step", CONTINUATION_PROVEN, 121, READING_NOTHING, 0, DRILL_FAIL, "counts on with step 121, but opened none", ""},
	{"loads only its count", CONTINUATION_PROVEN, 121, READING_LITTLE, 0, DRILL_UNPROVEN, "opened only ckpt-110.pt, and not ckpt-120.pt. If that one is no part of its state (another program writes it there), keep it out: REPRIEVE_EXCLUDE", ""},
	{"a torn file", CONTINUATION_UNKNOWN, 0, READING_DONE, 1, DRILL_FAIL, "ended with 1 on the machine with the restored checkpoint", ""},
};
// clang-format on

static void each_job(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct resumption_facts facts = {
			.continuation = went_on(jobs[i].continuation, jobs[i].next),
			.reading = opened(jobs[i].reading),
			.failed = jobs[i].failed,
		};
		struct resumption found = resumption_judge(&facts);

		if (found.result != jobs[i].expected ||
		    (jobs[i].said ? !strstr(found.reason, jobs[i].said) : found.reason[0]) ||
		    !strstr(found.proof, jobs[i].seen))
			fail_msg("%s: %d, '%s', '%s'", jobs[i].job, found.result, found.reason,
				 found.proof);
	}
}

/* It counts nothing, but its losses go on. */
static void lines_that_are_printed_again(void **state)
{
	struct resumption_facts facts = {
		.continuation = went_on(CONTINUATION_UNKNOWN, 1),
		.reading = opened(READING_DONE),
		.replayed = true,
	};

	(void)state;
	assert_int_equal(resumption_judge(&facts).result, DRILL_PASS);
	assert_non_null(strstr(resumption_judge(&facts).proof, "its first lines are those"));
	facts.reading.reading = READING_NOTHING;
	assert_int_equal(resumption_judge(&facts).result, DRILL_FAIL);
	facts.reading.reading = READING_DONE;
	facts.continuation.continuation = CONTINUATION_ANEW;
	assert_int_equal(resumption_judge(&facts).result, DRILL_FAIL);
}

static void a_save_that_came_too_early(void **state)
{
	struct resumption_facts facts = {
		.continuation = went_on(CONTINUATION_UNKNOWN, 1),
		.reading = opened(READING_DONE),
	};

	(void)state;
	facts.continuation.counted = true;
	assert_non_null(strstr(resumption_judge(&facts).reason, "greater --notice-after"));
	assert_int_equal(resumption_judge(&facts).result, DRILL_UNPROVEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_job),
		cmocka_unit_test(lines_that_are_printed_again),
		cmocka_unit_test(a_save_that_came_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
