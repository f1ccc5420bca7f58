/* Asks which checkpoints are decided, has their contents checked, and acts upon the verdicts. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "tracker_state.h"

#include <stdlib.h>

/* Of two, the one that was begun later is the newer one, whichever was decided first: less evidence
 * takes more time. */
static bool is_newer(const struct checkpoint *checkpoint, const struct save_begin *than)
{
	return checkpoint->begun_ms == than->ms ? checkpoint->save >= than->save
						: checkpoint->begun_ms > than->ms;
}

/* Has a file of it been in a complete one before? What is written again and again is a state,
 * whatever its name. */
static bool is_written_over(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && (file->marks & FILE_NEWEST))
			return true;
	return false;
}

/* Pictures, texts, and the files of a stream are no checkpoint, and answer no request. Beside one
 * they are worth a snapshot; alone they are nothing to resume from. */
static bool is_beside(const struct tracker *tracker, const struct checkpoint *checkpoint)
{
	if (*checkpoint->key)
		return detector_is_of_companions(checkpoint) || checkpoint_is_alone(checkpoint);
	return detector_is_of_companions(checkpoint) &&
	       (tracker->detector.wrote_checkpoint || !is_written_over(checkpoint) ||
		detector_has_only_settings(checkpoint));
}

/* Before and after the newest one that has a step is another one. */
static void update_resume_step(struct tracker *tracker)
{
	if (tracker->step_family &&
	    detector_is_followed(&tracker->detector, tracker->step_family, tracker->step_number))
		tracker->latest.resume_step = tracker->latest.step;
}

static void note_step(struct tracker *tracker, const struct checkpoint *checkpoint,
		      struct save_begin begin)
{
	int64_t step = checkpoint_step_of(checkpoint);

	update_resume_step(tracker);
	if (step < 0 || !is_newer(checkpoint, &tracker->step_begin))
		return;
	tracker->latest.step = step;
	tracker->step_begin = begin;
	tracker->step_family = checkpoint->family;
	tracker->step_number = checkpoint->number;
	update_resume_step(tracker);
}

/* Makes it the latest one, unless something was only added to it; or else it is worth a snapshot
 * all the same. The newest may have no step. False: it is not even that. */
static bool note_complete(struct tracker *tracker, const struct checkpoint *checkpoint,
			  int64_t now_ms)
{
	struct latest_checkpoint *latest = &tracker->latest;
	int64_t request_ms = tracker->detector.request_ms;
	struct save_begin begin = {checkpoint->begun_ms, checkpoint->save};

	bool beside = is_beside(tracker, checkpoint);

	/* A job that has ended by itself has nothing else. */
	if (!tracker->latest_key && tracker->detector.job_end == JOB_END_CLEAN && !*checkpoint->key)
		beside = false;
	if (!tracker->latest_key && beside)
		return false;
	latest->generation++;
	if (beside) {
		latest->fresh = latest->late = false;
		return true;
	}
	tracker->warned_failed = false;
	if (is_newer(checkpoint, &tracker->latest_begin) ||
	    !detector_is_complete(&tracker->detector, tracker->latest_key)) {
		latest->written_ms = checkpoint->last_ms;
		tracker->latest_begin = begin;
		free(tracker->latest_key);
		tracker->latest_key = text_copy(checkpoint->key);
	}
	note_step(tracker, checkpoint, begin);
	latest->begun_ms = tracker->latest_begin.ms;
	if (latest->step >= 0 && tracker->step_begin.ms < latest->begun_ms)
		latest->begun_ms = tracker->step_begin.ms;
	latest->fresh = request_ms != DETECTOR_NEVER && checkpoint->begun_ms >= request_ms;
	latest->late = false;
	latest->of_companions = detector_is_of_companions(checkpoint);
	tracker->answered_ms = 0;
	if (!latest->fresh && request_ms != DETECTOR_NEVER && checkpoint->last_ms >= request_ms)
		tracker->answered_ms = now_ms + tracker->options.quiet_ms;
	return true;
}

void tracker_note_settings(struct tracker *tracker)
{
	const struct checkpoint *fixed = checkpoint_table_find_key(&tracker->detector.table, "");

	if (tracker->latest_key || !fixed || fixed->state != CHECKPOINT_COMPLETE ||
	    tracker->detector.job_end != JOB_END_CLEAN)
		return;
	(void)note_complete(tracker, fixed, clock_monotonic_ms());
	tracker->options.on_complete(tracker->options.arg);
}

/* It may be what a save left that failed. Warns once. */
static void warn_of_fewer_files(struct tracker *tracker, const struct checkpoint *checkpoint)
{
	if (tracker->warned_fewer)
		return;
	tracker->warned_fewer = true;
	log_warn("%s has fewer files than those before it and counts as complete; if its save "
		 "failed, restore an older one",
		 *checkpoint->key ? checkpoint->key : "the checkpoint");
}

static void apply_verdict(struct tracker *tracker, struct checkpoint *checkpoint,
			  struct judgement judgement)
{
	int64_t now_ms = clock_monotonic_ms();
	bool news = judgement.verdict == VERDICT_COMPLETE && !checkpoint->reduced &&
		    !checkpoint_is_of_members(checkpoint) &&
		    !detector_is_added_to(&tracker->detector, checkpoint);

	log_debug("%s: %s (%s)", *checkpoint->key ? checkpoint->key : "files with fixed names",
		  judgement.verdict == VERDICT_COMPLETE ? "complete" : "torn",
		  verdict_reason_name(judgement.reason));
	if (judgement.reason == REASON_DEFECT)
		content_check_worker_log(tracker->checker, checkpoint, true);
	if (judgement.reason == REASON_PATIENCE)
		warn_of_fewer_files(tracker, checkpoint);
	tracker->latest.by_word = judgement.reason == REASON_OWN_WORD;
	news = news && note_complete(tracker, checkpoint, now_ms);
	detector_decide(&tracker->detector, checkpoint, judgement);
	tracker->knows_more = true;
	tracker->saving = false;
	tracker->busy_since_ms = 0;
	if (news)
		tracker->options.on_complete(tracker->options.arg);
}

/* True: a scan that began after the last write confirms that nothing was written since; well after
 * it, if that nothing was is all the evidence. Without scans the kernel's events are enough. */
static bool is_scan_current(struct tracker *tracker, const struct checkpoint *checkpoint,
			    enum verdict_reason reason)
{
	bool by_quiet = reason == REASON_QUIET || reason == REASON_PATIENCE;

	return directory_monitor_is_current(tracker->directory,
					    checkpoint->last_ms +
						    (by_quiet ? tracker->options.quiet_ms / 2 : 1));
}

/* Verdict of one that is decided as far as its files are known; its contents may change that. */
static struct judgement check_contents(struct tracker *tracker, struct checkpoint *checkpoint,
				       struct judgement judgement)
{
	const struct judgement waits = {VERDICT_UNDER_WAY, REASON_MOVING, INT64_MAX};

	if (judgement.verdict != VERDICT_COMPLETE)
		return judgement;
	if (!tracker->ending && !is_scan_current(tracker, checkpoint, judgement.reason))
		return waits;
	/* Of texts and pictures no format says where they end. */
	if (!tracker->checker || detector_is_of_companions(checkpoint))
		return judgement;
	if (!content_check_worker_run(tracker->checker, &tracker->detector, checkpoint))
		return waits;
	judgement = detector_judge(&tracker->detector, checkpoint, clock_monotonic_ms());
	if (judgement.reason == REASON_PENDING)
		content_check_worker_log(tracker->checker, checkpoint, false);
	return judgement;
}

int64_t tracker_apply_verdicts(struct tracker *tracker)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(&tracker->detector, clock_monotonic_ms(),
						   &judgement, &at_ms))) {
		judgement = check_contents(tracker, checkpoint, judgement);
		/* One whose check has not ended keeps the others waiting: they are younger. */
		if (judgement.verdict == VERDICT_UNDER_WAY && judgement.wait_ms == INT64_MAX)
			return clock_monotonic_ms() + TRACKER_POLL_MS;
		if (judgement.verdict != VERDICT_UNDER_WAY)
			apply_verdict(tracker, checkpoint, judgement);
	}
	return at_ms;
}

void tracker_note_late_answer(struct tracker *tracker)
{
	if (tracker->answered_ms == 0 || clock_monotonic_ms() < tracker->answered_ms)
		return;
	tracker->answered_ms = 0;
	if (detector_is_busy(&tracker->detector))
		return;
	tracker->latest.fresh = tracker->latest.late = true;
	tracker->options.on_complete(tracker->options.arg);
}
