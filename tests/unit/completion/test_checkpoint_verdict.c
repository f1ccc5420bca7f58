/* The rule: what is known of one checkpoint, and what follows. A table for each reason, and what
 * must hold whatever is known. */
#include "completion/verdict.h"

#include "workspace/workspace.h"

#include <string.h>

#include "unit.h"

#define QUIET 1000
#define NEVER INT64_MAX

struct row {
	const char *name;
	struct checkpoint_facts facts; /* quiet_ms is added */
	struct judgement expected;
};

/* The verdict of a row: still under way, complete or torn, and why. */
#define WAITS(reason, ms)                              \
	{                                              \
		VERDICT_UNDER_WAY, REASON_##reason, ms \
	}
#define WHOLE(reason)                                    \
	{                                                \
		VERDICT_COMPLETE, REASON_##reason, NEVER \
	}
#define TORN(reason)                                 \
	{                                            \
		VERDICT_TORN, REASON_##reason, NEVER \
	}

// clang-format off
static const struct row rows[] = {
	/* Open files hold up everything, except for the end of the job. */
	{"open", {.open = true}, WAITS(OPEN, NEVER)},
	{"open for long", {.open = true, .still_ms = 3600000}, WAITS(OPEN, NEVER)},
	{"open, and called complete", {.open = true, .own_word = true}, WAITS(OPEN, NEVER)},
	{"open, with all names",
		{.open = true, .witnessed = true, .signature = SIGNATURE_FULL}, WAITS(OPEN, NEVER)},
	{"open, the next one begun",
		{.open = true, .witnessed = true, .later = 1}, WAITS(OPEN, NEVER)},
	{"open, the job ended well", {.open = true, .job_end = JOB_END_CLEAN}, TORN(DIED)},
	{"open, the job crashed", {.open = true, .job_end = JOB_END_CRASHED}, TORN(DIED)},
	{"open, the job was asked", {.open = true, .job_end = JOB_END_ASKED}, TORN(DIED)},

	/* The job's own word needs nothing else, neither a witness nor time. */
	{"own word", {.own_word = true}, WHOLE(OWN_WORD)},
	{"own word, fewer files", {.own_word = true, .signature = SIGNATURE_FEWER}, WHOLE(OWN_WORD)},
	{"own word before all other evidence",
		{.own_word = true, .committed = true, .witnessed = true, .later = 1,
			.signature = SIGNATURE_FULL, .still_ms = 5000}, WHOLE(OWN_WORD)},

	{"commit", {.committed = true, .witnessed = true}, WHOLE(COMMIT)},
	{"commit, a file smaller than before",
		{.committed = true, .witnessed = true, .signature = SIGNATURE_SMALLER}, WHOLE(COMMIT)},
	{"commit of files that nobody saw being closed", {.committed = true}, WAITS(MOVING, QUIET)},
	{"a rename into place with fewer files",
		{.committed = true, .placed = true, .witnessed = true, .signature = SIGNATURE_FEWER},
		WHOLE(COMMIT)},
	{"a rename into place of files that nobody saw being closed",
		{.committed = true, .placed = true, .signature = SIGNATURE_FEWER},
		WAITS(MOVING, 10 * QUIET)},
	{"commit with fewer files",
		{.committed = true, .witnessed = true, .signature = SIGNATURE_FEWER},
		WAITS(MOVING, 10 * QUIET)},

	{"all names", {.witnessed = true, .signature = SIGNATURE_FULL}, WHOLE(SIGNATURE)},
	{"all names, closed by nobody known", {.signature = SIGNATURE_FULL}, WAITS(MOVING, QUIET)},
	{"all names, one smaller",
		{.witnessed = true, .signature = SIGNATURE_SMALLER}, WAITS(MOVING, QUIET)},
	{"all names, one smaller, quiet",
		{.witnessed = true, .signature = SIGNATURE_SMALLER, .still_ms = QUIET}, WHOLE(QUIET)},
	{"all names before the next one's beginning",
		{.witnessed = true, .signature = SIGNATURE_FULL, .later = 1}, WHOLE(SIGNATURE)},

	{"the next one begun", {.witnessed = true, .later = 1}, WHOLE(NEXT)},
	{"the next one begun, without a name that some have",
		{.witnessed = true, .later = 1, .signature = SIGNATURE_OTHER}, WHOLE(NEXT)},
	{"the next one begun, fewer files: a save that failed",
		{.witnessed = true, .later = 1, .signature = SIGNATURE_FEWER},
		WAITS(MOVING, 10 * QUIET)},
	{"the next two begun, fewer files: they were meant to be",
		{.witnessed = true, .later = 2, .signature = SIGNATURE_FEWER}, WHOLE(PATIENCE)},
	{"the next one begun, one smaller: a save that failed",
		{.witnessed = true, .later = 1, .signature = SIGNATURE_SMALLER},
		WAITS(MOVING, QUIET)},
	{"the next one begun, by writers that were guessed", {.later = 1}, WAITS(MOVING, QUIET)},

	{"written now", {.witnessed = true}, WAITS(MOVING, QUIET)},
	{"written a moment ago", {.still_ms = QUIET - 1}, WAITS(MOVING, 1)},
	{"quiet", {.still_ms = QUIET}, WHOLE(QUIET)},
	{"quiet, witnessed", {.still_ms = QUIET, .witnessed = true}, WHOLE(QUIET)},
	{"less than no time, after a stall", {.still_ms = -500}, WAITS(MOVING, QUIET + 500)},

	/* What has fewer files than the ones before it is waited for much longer. */
	{"fewer, written now", {.signature = SIGNATURE_FEWER}, WAITS(MOVING, 10 * QUIET)},
	{"fewer, quiet",
		{.signature = SIGNATURE_FEWER, .still_ms = QUIET}, WAITS(FEWER, 9 * QUIET)},
	{"fewer, nearly patience",
		{.signature = SIGNATURE_FEWER, .still_ms = 10 * QUIET - 1}, WAITS(FEWER, 1)},
	{"fewer, patience",
		{.signature = SIGNATURE_FEWER, .still_ms = 10 * QUIET}, WHOLE(PATIENCE)},
	{"fewer, and five seconds between two files are usual",
		{.signature = SIGNATURE_FEWER, .pause_ms = 5000, .still_ms = 10 * QUIET},
		WAITS(FEWER, 6 * QUIET)},
	{"fewer, and so were three of those pauses",
		{.signature = SIGNATURE_FEWER, .pause_ms = 5000, .still_ms = 16 * QUIET},
		WHOLE(PATIENCE)},
	{"without a name that some have, quiet",
		{.witnessed = true, .signature = SIGNATURE_OTHER, .still_ms = QUIET}, WHOLE(QUIET)},
	{"without a name that some have, which comes two seconds later",
		{.witnessed = true, .signature = SIGNATURE_OTHER, .pause_ms = 2000, .still_ms = QUIET},
		WAITS(FEWER, 6 * QUIET)},
	{"... and which did not come",
		{.signature = SIGNATURE_OTHER, .pause_ms = 2000, .still_ms = 7 * QUIET}, WHOLE(QUIET)},

	/* What its writer will rename. */
	{"a temporary name", {.temporary = true, .still_ms = QUIET}, WAITS(TEMPORARY, 9 * QUIET)},
	{"a temporary name that stays", {.temporary = true, .still_ms = 10 * QUIET}, WHOLE(QUIET)},
	{"a temporary name, and called complete",
		{.temporary = true, .own_word = true}, WHOLE(OWN_WORD)},
	{"a temporary name, ended well",
		{.temporary = true, .job_end = JOB_END_CLEAN}, WHOLE(ENDED)},
	{"a temporary name, asked, with all names",
		{.temporary = true, .job_end = JOB_END_ASKED, .signature = SIGNATURE_FULL},
		TORN(DIED)},

	{"the usual pause does not hold up one that has all names",
		{.signature = SIGNATURE_SMALLER, .pause_ms = 60000, .still_ms = QUIET}, WHOLE(QUIET)},

	/* The end of the job. */
	{"ended well", {.job_end = JOB_END_CLEAN}, WHOLE(ENDED)},
	{"ended well, with fewer files",
		{.job_end = JOB_END_CLEAN, .signature = SIGNATURE_FEWER}, WHOLE(ENDED)},
	{"ended well, after a quiet time", {.job_end = JOB_END_CLEAN, .still_ms = QUIET}, WHOLE(QUIET)},
	{"asked, and ended with some code", {.job_end = JOB_END_ASKED}, TORN(DIED)},
	{"asked, with all names",
		{.job_end = JOB_END_ASKED, .signature = SIGNATURE_FULL}, WHOLE(ENDED)},
	{"asked, without a name that some have",
		{.job_end = JOB_END_ASKED, .signature = SIGNATURE_OTHER}, WHOLE(ENDED)},
	{"asked, with all names, one smaller",
		{.job_end = JOB_END_ASKED, .signature = SIGNATURE_SMALLER}, TORN(DIED)},
	{"asked, all closed since",
		{.job_end = JOB_END_ASKED, .answers = true, .witnessed = true}, WHOLE(ENDED)},
	{"asked, all closed since, by whom is not known",
		{.job_end = JOB_END_ASKED, .answers = true}, TORN(DIED)},
	{"asked, all closed since, with fewer files",
		{.job_end = JOB_END_ASKED, .answers = true, .witnessed = true,
			.signature = SIGNATURE_FEWER}, TORN(DIED)},
	{"asked, all closed since, one smaller",
		{.job_end = JOB_END_ASKED, .answers = true, .witnessed = true,
			.signature = SIGNATURE_SMALLER}, TORN(DIED)},
	{"asked, all closed before",
		{.job_end = JOB_END_ASKED, .witnessed = true}, TORN(DIED)},
	{"crashed, all closed since the request",
		{.job_end = JOB_END_CRASHED, .answers = true, .witnessed = true}, TORN(DIED)},
	{"asked, whole by format",
		{.job_end = JOB_END_ASKED, .format = FORMAT_WHOLE, .witnessed = true},
		WHOLE(FORMAT)},
	{"crashed", {.job_end = JOB_END_CRASHED}, TORN(DIED)},
	{"crashed, after a quiet time", {.job_end = JOB_END_CRASHED, .still_ms = QUIET}, WHOLE(QUIET)},
	{"crashed, with all names, witnessed",
		{.job_end = JOB_END_CRASHED, .signature = SIGNATURE_FULL, .witnessed = true},
		WHOLE(SIGNATURE)},
	{"crashed, with all names, closed perhaps by the death",
		{.job_end = JOB_END_CRASHED, .signature = SIGNATURE_FULL}, TORN(DIED)},
	{"crashed, committed",
		{.job_end = JOB_END_CRASHED, .committed = true, .witnessed = true}, WHOLE(COMMIT)},
	{"crashed, its file closed and whole by its format",
		{.job_end = JOB_END_CRASHED, .format = FORMAT_WHOLE, .witnessed = true}, WHOLE(FORMAT)},
	{"crashed, its file closed, and nobody has looked into it yet",
		{.job_end = JOB_END_CRASHED, .format = FORMAT_UNCHECKED, .witnessed = true},
		WHOLE(FORMAT)},
	{"crashed, its file closed, and of no format that records its end",
		{.job_end = JOB_END_CRASHED, .format = FORMAT_UNKNOWN, .witnessed = true}, TORN(DIED)},
	{"crashed, its file closed and cut off",
		{.job_end = JOB_END_CRASHED, .format = FORMAT_UNCHECKED, .witnessed = true,
			.defect = true, .defect_wait_ms = 300}, TORN(DIED)},
	{"a writer died after the close, whole by its format",
		{.format = FORMAT_WHOLE, .witnessed = true}, WHOLE(FORMAT)},
	{"a writer died after the close, and its format says nothing",
		{.format = FORMAT_UNKNOWN, .witnessed = true, .still_ms = QUIET}, TORN(DIED)},
	{"a writer died after the close, and another has it open",
		{.format = FORMAT_WHOLE, .witnessed = true, .open = true}, WAITS(OPEN, NEVER)},
	{"crashed, fewer files, quiet but without patience",
		{.job_end = JOB_END_CRASHED, .signature = SIGNATURE_FEWER, .still_ms = QUIET},
		TORN(DIED)},

	/* The death of a writer. */
	{"a writer died", {.writer_died = true}, WAITS(MOVING, QUIET)},
	{"a writer died, another writes", {.writer_died = true, .open = true}, WAITS(OPEN, NEVER)},
	{"a writer died, quiet", {.writer_died = true, .still_ms = QUIET}, TORN(DIED)},
	{"a writer died, with all evidence that there is",
		{.writer_died = true, .own_word = true, .committed = true, .witnessed = true,
			.later = 1, .format = FORMAT_WHOLE, .signature = SIGNATURE_FULL,
			.still_ms = QUIET}, TORN(DIED)},
	{"a writer died, and then the job",
		{.writer_died = true, .job_end = JOB_END_CRASHED}, TORN(DIED)},
	{"a writer died, the job ended well",
		{.writer_died = true, .open = true, .job_end = JOB_END_CLEAN}, TORN(DIED)},

	/* What its content lacks. */
	{"a defect while it is open", {.defect = true, .open = true}, WAITS(OPEN, NEVER)},
	{"a defect before it is quiet", {.defect = true, .defect_wait_ms = 300}, WAITS(MOVING, QUIET)},
	{"a defect that may be mended",
		{.defect = true, .defect_wait_ms = 300, .still_ms = QUIET}, WAITS(PENDING, 300)},
	{"a defect against its own word",
		{.defect = true, .defect_wait_ms = 300, .own_word = true}, WAITS(PENDING, 300)},
	{"a defect that nobody mends", {.defect = true, .still_ms = QUIET}, TORN(DEFECT)},
	{"a defect whose time was over long ago",
		{.defect = true, .defect_wait_ms = -5000, .still_ms = QUIET}, TORN(DEFECT)},
	{"a defect when the job has ended",
		{.defect = true, .defect_wait_ms = 300, .job_end = JOB_END_CLEAN}, TORN(DEFECT)},
	{"a defect of one whose writer died",
		{.defect = true, .writer_died = true, .still_ms = QUIET}, TORN(DIED)},
	{"a time to wait without a defect",
		{.defect_wait_ms = 300, .still_ms = QUIET}, WHOLE(QUIET)},
};
// clang-format on

static void test_table(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint_facts facts = rows[i].facts;
		const struct judgement *expected = &rows[i].expected;
		struct judgement judgement;

		facts.quiet_ms = QUIET;
		judgement = verdict_of(&facts);
		if (judgement.verdict == expected->verdict &&
		    judgement.reason == expected->reason && judgement.wait_ms == expected->wait_ms)
			continue;
		print_error("%s: %d, %s, %lld ms\n", rows[i].name, judgement.verdict,
			    verdict_reason_name(judgement.reason), (long long)judgement.wait_ms);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void test_each_reason_has_a_row(void **state)
{
	bool seen[REASON_COUNT] = {false};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		seen[rows[i].expected.reason] = true;
	seen[REASON_LOOKED_AT] = true; /* shown, and never given */
	for (size_t i = 0; i < REASON_COUNT; i++)
		assert_true(seen[i]);
}

/* --- whatever is known --- */

static bool *flag_at(struct checkpoint_facts *facts, size_t index)
{
	bool *flags[] = {&facts->open,      &facts->witnessed, &facts->writer_died,
			 &facts->own_word,  &facts->committed, &facts->defect,
			 &facts->temporary, &facts->answers};

	return index < sizeof(flags) / sizeof(flags[0]) ? flags[index] : NULL;
}

typedef void check_fn(const struct checkpoint_facts *facts);

/* Every combination of what is known, with the times at which something changes. */
static void for_all_facts(check_fn *check)
{
	static const int64_t stills[] = {-1, 0, 1, 999, 1000, 1001, 9999, 10000, 15999, 16000};
	static const int64_t pauses[] = {0, 5000};
	static const int64_t waits[] = {-1, 0, 1, 400};
	enum {
		FLAGS = 8,
		LATERS = 3,
		FORMATS = 4,
		MATCHES = 5,
		STILLS = 10,
		PAUSES = 2,
		WAITS = 4
	};
	const unsigned all =
		(1u << FLAGS) * LATERS * FORMATS * MATCHES * 4 * STILLS * PAUSES * WAITS;

	for (unsigned number = 0; number < all; number++) {
		struct checkpoint_facts facts = {.quiet_ms = QUIET};
		unsigned rest = number >> FLAGS;
		bool *flag;

		for (size_t i = 0; (flag = flag_at(&facts, i)); i++)
			*flag = number >> i & 1;
		facts.later = rest % LATERS;
		rest /= LATERS;
		facts.signature = (enum signature_match)(rest % MATCHES);
		rest /= MATCHES;
		facts.job_end = (enum job_end)(rest % 4);
		rest /= 4;
		facts.still_ms = stills[rest % STILLS];
		rest /= STILLS;
		facts.pause_ms = pauses[rest % PAUSES];
		rest /= PAUSES;
		facts.defect_wait_ms = waits[rest % WAITS];
		facts.format = (enum format_evidence)(rest / WAITS);
		/* It is asked for only where the writer was seen to close a file of a new kind. */
		if (facts.format == FORMAT_NOT_ASKED ||
		    (facts.witnessed && facts.signature == SIGNATURE_UNKNOWN))
			check(&facts);
	}
}

/* Asserts, and says for which facts it does not hold. */
#define HOLDS(facts, condition)                                                                  \
	do {                                                                                     \
		if (!(condition))                                                                \
			fail_msg("%s: open %d witnessed %d died %d word %d commit %d format %d " \
				 "later %u defect %d signature %d end %d still %lld",            \
				 #condition, (facts)->open, (facts)->witnessed,                  \
				 (facts)->writer_died, (facts)->own_word, (facts)->committed,    \
				 (facts)->format, (facts)->later, (facts)->defect,               \
				 (facts)->signature, (facts)->job_end,                           \
				 (long long)(facts)->still_ms);                                  \
	} while (0)

static bool is_complete(const struct checkpoint_facts *facts)
{
	return verdict_of(facts).verdict == VERDICT_COMPLETE;
}

static bool is_whole_by_format(const struct checkpoint_facts *facts)
{
	return facts->format == FORMAT_WHOLE || facts->format == FORMAT_UNCHECKED;
}

static void check_what_is_never_complete(const struct checkpoint_facts *facts)
{
	bool fewer = facts->signature == SIGNATURE_FEWER;
	bool ended = facts->job_end == JOB_END_CLEAN ||
		     (facts->job_end == JOB_END_ASKED &&
		      (facts->signature == SIGNATURE_FULL || facts->signature == SIGNATURE_OTHER ||
		       (facts->answers && facts->witnessed && !fewer)));
	bool has_word = facts->own_word || ended;

	if (!is_complete(facts))
		return;
	HOLDS(facts, !facts->open);
	HOLDS(facts, !facts->writer_died);
	HOLDS(facts, !facts->defect);
	/* Before it is quiet, only what somebody saw, or what the job said by word or end. */
	HOLDS(facts, facts->still_ms >= QUIET || facts->witnessed || has_word);
	/* Before it is quiet, something says that no more comes. */
	HOLDS(facts, facts->still_ms >= QUIET || has_word || facts->committed || facts->later ||
			     facts->signature == SIGNATURE_FULL || is_whole_by_format(facts));
	/* With fewer files or temporary names, quiet alone says nothing, nor does the next one;
	 * what the next two have not mended was meant so. */
	HOLDS(facts, !(fewer || facts->temporary) || facts->own_word ||
			     facts->job_end == JOB_END_CLEAN || is_whole_by_format(facts) ||
			     (facts->later > 1 && facts->witnessed && !facts->temporary) ||
			     facts->still_ms >= verdict_patience_ms(QUIET, facts->pause_ms));
}

/* The reason that is given is there. */
static void check_reasons(const struct checkpoint_facts *facts)
{
	struct judgement judgement = verdict_of(facts);
	enum signature_match signature = facts->signature;

	switch (judgement.reason) {
	case REASON_OPEN:
		HOLDS(facts, facts->open);
		break;
	case REASON_TEMPORARY:
		HOLDS(facts, facts->temporary);
		break;
	case REASON_FEWER:
		HOLDS(facts, (signature == SIGNATURE_FEWER || signature == SIGNATURE_OTHER) &&
				     facts->still_ms >= QUIET);
		break;
	case REASON_PATIENCE:
		HOLDS(facts, signature == SIGNATURE_FEWER &&
				     (facts->later > 1 || facts->still_ms >= QUIET));
		break;
	case REASON_PENDING:
	case REASON_DEFECT:
		HOLDS(facts, facts->defect && !facts->writer_died && !facts->open);
		break;
	case REASON_OWN_WORD:
		HOLDS(facts, facts->own_word);
		break;
	case REASON_COMMIT:
		HOLDS(facts, facts->committed && facts->witnessed && !facts->own_word);
		break;
	case REASON_SIGNATURE:
		HOLDS(facts, signature == SIGNATURE_FULL && facts->witnessed);
		break;
	case REASON_NEXT:
		HOLDS(facts, facts->later && facts->witnessed);
		break;
	case REASON_QUIET:
		HOLDS(facts, signature != SIGNATURE_FEWER && facts->still_ms >= QUIET);
		break;
	case REASON_FORMAT:
		HOLDS(facts, is_whole_by_format(facts));
		break;
	case REASON_ENDED:
		HOLDS(facts, facts->job_end != JOB_END_NOT_YET);
		break;
	case REASON_DIED:
		HOLDS(facts, facts->writer_died || facts->job_end != JOB_END_NOT_YET ||
				     facts->format == FORMAT_UNKNOWN);
		break;
	case REASON_MOVING:
		HOLDS(facts, judgement.verdict == VERDICT_UNDER_WAY);
		break;
	case REASON_LOOKED_AT: /* only of people's interest */
	case REASON_COUNT:
		HOLDS(facts, false);
	}
}

/* What is under way is never said to be complete, nor torn. */
static void test_what_is_under_way_waits_for_something(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++) {
		enum verdict_reason reason = (enum verdict_reason)i;

		assert_int_equal(verdict_reason_shown(VERDICT_UNDER_WAY, reason),
				 reason < REASON_LOOKED_AT ? reason : REASON_LOOKED_AT);
		assert_int_equal(verdict_reason_shown(VERDICT_COMPLETE, reason), reason);
		assert_int_equal(verdict_reason_shown(VERDICT_TORN, reason), reason);
	}
}

static void check_the_wait(const struct checkpoint_facts *facts)
{
	struct judgement judgement = verdict_of(facts), then;
	struct checkpoint_facts later = *facts;

	HOLDS(facts, judgement.verdict == VERDICT_UNDER_WAY || judgement.wait_ms == NEVER);
	if (judgement.verdict != VERDICT_UNDER_WAY || judgement.wait_ms == NEVER)
		return;
	HOLDS(facts, judgement.wait_ms > 0);
	later.still_ms += judgement.wait_ms - 1;
	later.defect_wait_ms -= judgement.wait_ms - 1;
	HOLDS(facts, verdict_of(&later).verdict == VERDICT_UNDER_WAY);
	later.still_ms++;
	later.defect_wait_ms--;
	then = verdict_of(&later);
	HOLDS(facts, then.verdict != VERDICT_UNDER_WAY || then.reason == REASON_PENDING);
}

/* Once the job has ended, nothing is waited for. */
static void check_the_end(const struct checkpoint_facts *facts)
{
	HOLDS(facts,
	      facts->job_end == JOB_END_NOT_YET || verdict_of(facts).verdict != VERDICT_UNDER_WAY);
	/* While it runs, only a death or a defect tears anything. */
	HOLDS(facts,
	      facts->job_end != JOB_END_NOT_YET || facts->writer_died || facts->defect ||
		      facts->format == FORMAT_UNKNOWN || verdict_of(facts).verdict != VERDICT_TORN);
}

/* More evidence, and more time, never take COMPLETE away. */
static void check_more_evidence(const struct checkpoint_facts *facts)
{
	struct checkpoint_facts more = *facts;

	if (!is_complete(facts))
		return;
	more.witnessed = true;
	HOLDS(facts, is_complete(&more));
	more.committed = true;
	more.later = 2;
	more.format = more.format == FORMAT_UNCHECKED ? FORMAT_WHOLE : more.format;
	HOLDS(facts, is_complete(&more));
	more.own_word = true;
	HOLDS(facts, is_complete(&more));
	more = *facts;
	more.still_ms += 100000;
	HOLDS(facts, is_complete(&more));
	more = *facts;
	more.signature = SIGNATURE_FULL;
	HOLDS(facts, is_complete(&more));
}

static void test_what_is_never_complete(void **state)
{
	(void)state;
	for_all_facts(check_what_is_never_complete);
}

static void test_reasons_are_true(void **state)
{
	(void)state;
	for_all_facts(check_reasons);
}

static void test_waits_end(void **state)
{
	(void)state;
	for_all_facts(check_the_wait);
}

static void test_the_end_of_the_job_decides(void **state)
{
	(void)state;
	for_all_facts(check_the_end);
}

static void test_more_evidence_is_never_worse(void **state)
{
	(void)state;
	for_all_facts(check_more_evidence);
}

static void test_patience(void **state)
{
	(void)state;
	assert_int_equal(verdict_patience_ms(1000, 0), 10000);
	assert_int_equal(verdict_patience_ms(1000, 3000), 10000);
	assert_int_equal(verdict_patience_ms(1000, 3001), 10003);
	assert_int_equal(verdict_patience_ms(1000, 60000), 181000);
	assert_int_equal(verdict_patience_ms(0, 0), 0);
}

static void test_reasons_have_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < REASON_COUNT; i++) {
		const char *name = verdict_reason_name((enum verdict_reason)i);
		const char *text = verdict_reason_text((enum verdict_reason)i);

		assert_non_null(name);
		assert_non_null(text);
		assert_true(strlen(text) > strlen(name));
		assert_null(strpbrk(name, " -"));
		assert_null(strchr(text, '\n'));
		for (size_t other = 0; other < i; other++)
			assert_string_not_equal(name,
						verdict_reason_name((enum verdict_reason)other));
	}
	assert_string_equal(verdict_reason_text(REASON_DIED), UNDER_WAY_ENDED_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_under_way_waits_for_something),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_each_reason_has_a_row),
		cmocka_unit_test(test_what_is_never_complete),
		cmocka_unit_test(test_reasons_are_true),
		cmocka_unit_test(test_waits_end),
		cmocka_unit_test(test_the_end_of_the_job_decides),
		cmocka_unit_test(test_more_evidence_is_never_worse),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_reasons_have_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
