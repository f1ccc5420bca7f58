#include "drill/resumption.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#define HOW_TO_COUNT                                                                  \
	"Let it print its step or epoch (\"step 121\") a few times before and after " \
	"each save, or save as checkpoint-120"

#define HOW_TO_LOAD                                                                            \
	"it does not load its checkpoint. If it does so only with an option (--resume PATH), " \
	"give it that where REPRIEVE_RESUMING is 1: reprieve-run(1) shows how"

/* The file that was not opened may be of another program, and no part of what the job loads. */
#define IF_NO_PART                                                                             \
	"If that one is no part of its state (another program writes it there), keep it out: " \
	"REPRIEVE_EXCLUDE, or another directory. If it is one, the job loads too little: "     \
	"--compare its result to know"

const char *drill_result_name(enum drill_result result)
{
	static const char *const names[] = {
		[DRILL_PASS] = "PASS",
		[DRILL_FAIL] = "FAIL",
		[DRILL_UNPROVEN] = "UNPROVEN",
		[DRILL_NOT_RUN] = "NOT RUN",
	};

	return names[result];
}

__attribute__((format(printf, 3, 4))) static void decide(
	struct resumption *resumption, enum drill_result result, const char *format, ...)
{
	va_list args;

	resumption->result = result;
	va_start(args, format);
	vsnprintf(resumption->reason, sizeof(resumption->reason), format, args);
	va_end(args);
}

/* "step 120"; a fraction of an epoch with its digits. */
static const char *format_count(const struct continuation_facts *facts, double value, char text[48])
{
	snprintf(text, 48, "%s %.*f", facts->word, value == (double)(int64_t)value ? 0 : 2, value);
	return text;
}

/* "none of the 3 restored files" */
static const char *format_none(size_t files, char text[48])
{
	if (files == 1)
		return "did not open the restored file";
	snprintf(text, 48, "opened none of the %zu restored files", files);
	return text;
}

/* --- what was seen --- */

static int print_reading(const struct reading_facts *reading, char *text, size_t capacity)
{
	char opened[32], all[32], none[48];

	switch (reading->reading) {
	case READING_UNKNOWN:
		return snprintf(text, capacity, "which files it opened is not known");
	case READING_NOTHING:
		return snprintf(text, capacity, "it %s", format_none(reading->files, none));
	case READING_OLDER:
		return snprintf(text, capacity, "it opened %s and not %s", reading->opened,
				reading->missed);
	case READING_LITTLE:
	case READING_DONE:
		break;
	}
	return snprintf(text, capacity, "it opened %s (%zu of %zu restored files, %s of %s)",
			reading->opened, reading->opened_files, reading->files,
			text_bytes(reading->opened_bytes, opened, sizeof(opened)),
			text_bytes(reading->bytes, all, sizeof(all)));
}

static void print_proof(const struct resumption_facts *facts, struct resumption *resumption)
{
	const struct continuation_facts *continuation = &facts->continuation;
	char *text = resumption->proof, at_save[48], next[48];
	size_t capacity = sizeof(resumption->proof);
	int used = print_reading(&facts->reading, text, capacity);

	if (used < 0 || (size_t)used >= capacity)
		return;
	if (continuation->continuation == CONTINUATION_UNKNOWN) {
		snprintf(text + used, capacity - (size_t)used, "%s",
			 facts->replayed ? "; its first lines are those that the machine before "
					   "printed after the save"
					 : "; no count shows where it went on");
		return;
	}
	format_count(continuation, continuation->count.saved, at_save);
	format_count(continuation, continuation->count.next, next);
	snprintf(text + used, capacity - (size_t)used,
		 "; saved at %s%s, and its first on the next machine was %s",
		 continuation_is_same_count(&continuation->count) ? "" : "about ", at_save, next);
}

/* --- the judgement --- */

static void judge_anew(const struct resumption_facts *facts, struct resumption *resumption)
{
	const struct continuation_facts *continuation = &facts->continuation;
	char at_save[48], next[48];

	format_count(continuation, continuation->count.saved, at_save);
	format_count(continuation, continuation->count.next, next);
	if (facts->reading.reading == READING_DONE || facts->reading.reading == READING_LITTLE)
		decide(resumption, DRILL_FAIL,
		       "%s was restored and %s opened, but the job began again at %s: it ignores "
		       "what it loads, or does not save where it was",
		       at_save, facts->reading.opened, next);
	else
		decide(resumption, DRILL_FAIL,
		       "%s was restored, but the job began again at %s: " HOW_TO_LOAD, at_save,
		       next);
}

static void judge_older(const struct resumption_facts *facts, struct resumption *resumption)
{
	const struct continuation_facts *continuation = &facts->continuation;
	char at_save[48], next[48];

	if (continuation->continuation == CONTINUATION_PROVEN) {
		decide(resumption, DRILL_UNPROVEN,
		       "the job counts on, but it opened %s, and not %s, which is "
		       "newer. " IF_NO_PART,
		       facts->reading.opened, facts->reading.missed);
		return;
	}
	if (continuation->continuation != CONTINUATION_OLDER) {
		decide(resumption, DRILL_FAIL,
		       "the job opened %s, and not %s, which is newer: it loads an older "
		       "checkpoint",
		       facts->reading.opened, facts->reading.missed);
		return;
	}
	decide(resumption, DRILL_FAIL, "%s was restored, but the job went on with %s: it loads %s",
	       format_count(continuation, continuation->count.saved, at_save),
	       format_count(continuation, continuation->count.next, next),
	       facts->reading.reading == READING_NOTHING ? "nothing of what was restored"
							 : "an older checkpoint");
}

static void judge_nothing_opened(const struct resumption_facts *facts,
				 struct resumption *resumption)
{
	const struct continuation_facts *continuation = &facts->continuation;
	char next[48], none[48];

	if (continuation->continuation == CONTINUATION_UNKNOWN)
		decide(resumption, DRILL_FAIL, "the job %s: " HOW_TO_LOAD,
		       format_none(facts->reading.files, none));
	else
		decide(resumption, DRILL_FAIL,
		       "the job counts on with %s, but %s: it loads from a place that a new "
		       "machine "
		       "does not have, or nothing at all",
		       format_count(continuation, continuation->count.next, next),
		       format_none(facts->reading.files, none));
}

static void judge_unknown(const struct resumption_facts *facts, struct resumption *resumption)
{
	const struct reading_facts *reading = &facts->reading;

	if (facts->continuation.counted)
		decide(resumption, DRILL_UNPROVEN,
		       "the save came too early in what the job counts to tell its resumption "
		       "from a new beginning. Give a greater --notice-after");
	else if (reading->reading == READING_UNKNOWN)
		decide(resumption, DRILL_UNPROVEN,
		       "nothing shows where the job went on: the preload library saw none of its "
		       "files, and it counts nothing on both machines. " HOW_TO_COUNT);
	else
		decide(resumption, DRILL_UNPROVEN,
		       "the job opened %s, but nothing shows that it went on from "
		       "there. " HOW_TO_COUNT,
		       reading->opened);
}

static void judge_proven(const struct resumption_facts *facts, struct resumption *resumption)
{
	char all[32];

	if (facts->reading.reading != READING_LITTLE)
		return;
	decide(resumption, DRILL_UNPROVEN,
	       "the job counts on, but of the %s that were restored it opened only %s, and not "
	       "%s. " IF_NO_PART,
	       text_bytes(facts->reading.bytes, all, sizeof(all)), facts->reading.opened,
	       facts->reading.missed);
}

static void judge_ahead(const struct resumption_facts *facts, struct resumption *resumption)
{
	const struct continuation_facts *continuation = &facts->continuation;
	char at_save[48], next[48];

	decide(resumption, DRILL_UNPROVEN,
	       "%s was restored, but the job went on with %s: it left out what is between, or also "
	       "loads from a place that a new machine does not have. --compare its result to know",
	       format_count(continuation, continuation->count.saved, at_save),
	       format_count(continuation, continuation->count.next, next));
}

static void judge(const struct resumption_facts *facts, struct resumption *resumption)
{
	enum continuation continuation = facts->continuation.continuation;
	enum reading reading = facts->reading.reading;

	if (facts->failed && continuation != CONTINUATION_PROVEN)
		decide(resumption, DRILL_FAIL,
		       "the job ended with %d on the machine with the restored checkpoint: it "
		       "cannot go on from it",
		       facts->failed);
	else if (continuation == CONTINUATION_ANEW)
		judge_anew(facts, resumption);
	else if (continuation == CONTINUATION_OLDER || reading == READING_OLDER)
		judge_older(facts, resumption);
	else if (reading == READING_NOTHING)
		judge_nothing_opened(facts, resumption);
	else if (continuation == CONTINUATION_PROVEN ||
		 (continuation == CONTINUATION_UNKNOWN && facts->replayed))
		judge_proven(facts, resumption);
	else if (continuation == CONTINUATION_AHEAD)
		judge_ahead(facts, resumption);
	else
		judge_unknown(facts, resumption);
}

struct resumption resumption_judge(const struct resumption_facts *facts)
{
	struct resumption resumption = {.result = DRILL_PASS};

	judge(facts, &resumption);
	print_proof(facts, &resumption);
	return resumption;
}
