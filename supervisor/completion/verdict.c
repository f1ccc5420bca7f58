#include "verdict.h"

#include "workspace/workspace.h"

/* One with fewer files than its signature: it is waited for this many quiet times, or this many
 * times the longest pause that was seen between two files of an earlier one. */
#define PATIENCE_QUIET_TIMES 10
#define PATIENCE_PAUSES 3

static struct judgement decided(enum verdict verdict, enum verdict_reason reason)
{
	return (struct judgement){verdict, reason, INT64_MAX};
}

static struct judgement wait_for(enum verdict_reason reason, int64_t wait_ms)
{
	return (struct judgement){VERDICT_UNDER_WAY, reason, wait_ms};
}

int64_t verdict_patience_ms(int64_t quiet_ms, int64_t pause_ms)
{
	int64_t by_quiet = PATIENCE_QUIET_TIMES * quiet_ms;
	int64_t by_pause = PATIENCE_PAUSES * pause_ms + quiet_ms;

	return by_quiet > by_pause ? by_quiet : by_pause;
}

int64_t verdict_partner_ms(int64_t quiet_ms, int64_t lag_ms)
{
	return PATIENCE_PAUSES * lag_ms + quiet_ms;
}

/* How long it has to be still if there is nothing stronger. A file that some of them have may come
 * as late as it did before. */
static int64_t needed_ms(const struct checkpoint_facts *facts)
{
	if (facts->signature == SIGNATURE_FEWER)
		return verdict_patience_ms(facts->quiet_ms, facts->pause_ms);
	if (facts->signature == SIGNATURE_OTHER)
		return verdict_partner_ms(facts->quiet_ms, facts->pause_ms);
	return facts->quiet_ms;
}

static bool has_signature(const struct checkpoint_facts *facts)
{
	return facts->signature == SIGNATURE_FULL || facts->signature == SIGNATURE_OTHER;
}

static bool may_be_renamed(const struct checkpoint_facts *facts)
{
	return facts->temporary && facts->job_end != JOB_END_CLEAN &&
	       facts->still_ms < verdict_patience_ms(facts->quiet_ms, facts->pause_ms);
}

/* After a request, whatever the code or the signal that the job ended with: some always end with
 * the same one, saved or not. */
static bool meant_to_leave_it(const struct checkpoint_facts *facts, bool lacks)
{
	if (facts->job_end == JOB_END_ASKED)
		return has_signature(facts) || (facts->answers && facts->witnessed && !lacks);
	return facts->job_end == JOB_END_CLEAN;
}

/* Nothing of it is open, and no writer of it died. */
static struct judgement judge_closed(const struct checkpoint_facts *facts)
{
	bool fewer = facts->signature == SIGNATURE_FEWER;
	/* A save that failed has fewer files, or smaller ones, and the next one is begun. */
	bool lacks = fewer || facts->signature == SIGNATURE_SMALLER;
	int64_t needed = needed_ms(facts);

	if (facts->own_word)
		return decided(VERDICT_COMPLETE, REASON_OWN_WORD);
	if (may_be_renamed(facts))
		return facts->job_end == JOB_END_NOT_YET
			       ? wait_for(REASON_TEMPORARY,
					  verdict_patience_ms(facts->quiet_ms, facts->pause_ms) -
						  facts->still_ms)
			       : decided(VERDICT_TORN, REASON_DIED);
	if (facts->committed && facts->witnessed && (facts->placed || !fewer))
		return decided(VERDICT_COMPLETE, REASON_COMMIT);
	if (facts->signature == SIGNATURE_FULL && facts->witnessed)
		return decided(VERDICT_COMPLETE, REASON_SIGNATURE);
	/* A file that the next two saves did not add was never meant to come. */
	if (facts->later > lacks && facts->witnessed)
		return decided(VERDICT_COMPLETE, fewer ? REASON_PATIENCE : REASON_NEXT);
	if (facts->still_ms >= needed)
		return decided(VERDICT_COMPLETE, fewer ? REASON_PATIENCE : REASON_QUIET);
	if (meant_to_leave_it(facts, lacks))
		return decided(VERDICT_COMPLETE, REASON_ENDED);
	if (facts->job_end != JOB_END_NOT_YET)
		return decided(VERDICT_TORN, REASON_DIED);
	return wait_for(facts->still_ms >= facts->quiet_ms ? REASON_FEWER : REASON_MOVING,
			needed - facts->still_ms);
}

static struct judgement judge_by_files(const struct checkpoint_facts *facts)
{
	if (facts->writer_died) {
		/* Other writers of it may be alive: what they still add is torn with the rest. */
		if (facts->open && facts->job_end == JOB_END_NOT_YET)
			return wait_for(REASON_OPEN, INT64_MAX);
		if (facts->still_ms < facts->quiet_ms && facts->job_end == JOB_END_NOT_YET)
			return wait_for(REASON_MOVING, facts->quiet_ms - facts->still_ms);
		return decided(VERDICT_TORN, REASON_DIED);
	}
	if (facts->open)
		return facts->job_end == JOB_END_NOT_YET ? wait_for(REASON_OPEN, INT64_MAX)
							 : decided(VERDICT_TORN, REASON_DIED);
	return judge_closed(facts);
}

struct judgement verdict_of(const struct checkpoint_facts *facts)
{
	struct judgement judgement = judge_by_files(facts);

	if (facts->format != FORMAT_NOT_ASKED && !facts->open && !facts->writer_died &&
	    !facts->defect)
		return facts->format == FORMAT_UNKNOWN ? decided(VERDICT_TORN, REASON_DIED)
						       : decided(VERDICT_COMPLETE, REASON_FORMAT);
	if (judgement.verdict != VERDICT_COMPLETE || !facts->defect)
		return judgement;
	if (facts->defect_wait_ms > 0 && facts->job_end == JOB_END_NOT_YET)
		return wait_for(REASON_PENDING, facts->defect_wait_ms);
	return decided(VERDICT_TORN, REASON_DEFECT);
}

static const struct {
	const char *name, *text;
} reasons[REASON_COUNT] = {
	[REASON_OPEN] = {"open", "a file of it is open for writing"},
	[REASON_MOVING] = {"moving", "it was written a moment ago"},
	[REASON_FEWER] = {"fewer", "it has fewer files than the complete ones before it"},
	[REASON_TEMPORARY] = {"temporary", "a file of it still has a temporary name"},
	[REASON_PENDING] = {"pending", "its content or layout lacks something"},
	[REASON_LOOKED_AT] = {"looked_at", "its files are closed, and are being looked at"},
	[REASON_OWN_WORD] = {"own_word", "the job called it complete"},
	[REASON_COMMIT] = {"commit", "its framework's last write was seen"},
	[REASON_SIGNATURE] = {"signature", "it has all files that earlier ones had, all closed"},
	[REASON_NEXT] = {"next", "its writer has begun the next one"},
	[REASON_QUIET] = {"quiet", "none of its files was touched for the quiet time"},
	[REASON_PATIENCE] = {"patience", "it has fewer files than earlier ones, but no more came"},
	[REASON_FORMAT] = {"format",
			   "its writer died after closing each file, whole by its format"},
	[REASON_ENDED] = {"ended", "the job ended by itself and left nothing open"},
	[REASON_DIED] = {"died", UNDER_WAY_ENDED_TEXT},
	[REASON_DEFECT] = {"defect", "its content or layout lacks something that nobody adds"},
};

enum verdict_reason verdict_reason_shown(enum verdict verdict, enum verdict_reason reason)
{
	return verdict == VERDICT_UNDER_WAY && reason > REASON_LOOKED_AT
		       ? REASON_LOOKED_AT
		       : reason;
}

const char *verdict_reason_text(enum verdict_reason reason)
{
	return reasons[reason].text;
}

const char *verdict_reason_name(enum verdict_reason reason)
{
	return reasons[reason].name;
}
