/* Asks which checkpoints are decided, has their contents checked, and acts upon the verdicts. */
#include "tracker_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

/* Lines of log about files that are not saved. */
#define SAID_MOST 5

/* More of them wait for the next check, so that the newest is not kept waiting by thousands. */
#define CHECKED_AT_ONCE 1000

/* --- contents --- */

void tracker_start_checks(struct tracker *tracker)
{
	const struct tracker_options *options = &tracker->options;
	struct content_checks *checks = &tracker->checks;
	struct err err;

	checks->check = (struct check){
		.directory = options->workspace->directory,
		.profile = options->profile,
		.patterns = options->patterns,
		.marker_elsewhere = options->marker_elsewhere,
		.fresh = &checks->fresh,
		.alone = &checks->alone,
		.valid = &checks->valid,
	};
	if (workers_new(options->loop, 1, &checks->workers, &err) < 0)
		log_warn("the content of the written files is not checked: %s", err.text);
}

static void forget_checked(struct content_checks *checks)
{
	path_set_release(&checks->fresh);
	path_set_release(&checks->alone);
	path_set_release(&checks->valid);
	findings_release(&checks->findings);
}

void tracker_stop_checks(struct tracker *tracker)
{
	if (tracker->checks.workers)
		workers_free(tracker->checks.workers);
	forget_checked(&tracker->checks);
	free(tracker->checks.last_final);
}

/* If the directory cannot be read there are no findings, and the other evidence decides. */
static void run_check(void *arg)
{
	struct content_checks *checks = &((struct tracker *)arg)->checks;
	struct err err;

	if (content_check_run(&checks->check, &checks->findings, &err) < 0)
		log_debug("the content of the written files is not checked: %s", err.text);
}

static void check_done(void *arg)
{
	struct tracker *tracker = arg;

	tracker->checks.running = false;
	tracker_poll_soon(tracker);
}

static void add_fresh(void *arg, const char *path)
{
	path_set_mark(arg, path, 1);
}

static void add_checkpoint(struct content_checks *checks, struct checkpoint *checkpoint)
{
	checkpoint->check = checks->count;
	checkpoint->checked = checkpoint->changed;
	detector_each_unchecked(checkpoint, add_fresh, &checks->fresh);
	each_file (file, checkpoint)
		if (checkpoint->added_to)
			path_set_mark(&checks->alone, file->path, 1);
}

static void begin_check(struct tracker *tracker, struct checkpoint *first)
{
	struct content_checks *checks = &tracker->checks;
	int64_t now_ms = clock_monotonic_ms();
	size_t count = 1;

	forget_checked(checks);
	checks->count++;
	add_checkpoint(checks, first);
	each_under_way (other, &tracker->detector.table)
		if (other != first && count < CHECKED_AT_ONCE &&
		    detector_judge(&tracker->detector, other, now_ms).verdict == VERDICT_COMPLETE) {
			add_checkpoint(checks, other);
			count++;
		}
	checks->running = true;
	workers_run(checks->workers, run_check, check_done, tracker);
}

/* An answer counts once. */
static bool take_answer(const struct content_checks *checks, struct checkpoint *checkpoint)
{
	bool answered =
		checkpoint->check == checks->count && checkpoint->checked == checkpoint->changed;

	checkpoint->check = 0;
	return answered && checks->count > 0;
}

bool tracker_check_contents(struct tracker *tracker, struct checkpoint *checkpoint)
{
	struct content_checks *checks = &tracker->checks;

	if (checks->running)
		return false;
	if (!take_answer(checks, checkpoint)) {
		begin_check(tracker, checkpoint);
		return false;
	}
	detector_note_findings(&tracker->detector, checkpoint, &checks->findings, &checks->valid,
			       clock_monotonic_ms());
	return true;
}

static bool finding_concerns(const struct finding *finding, const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if (path_set_is_below(file->path, finding->path))
			return true;
	return false;
}

static void log_final(struct content_checks *checks, const char *why)
{
	if (text_equal(checks->last_final, why))
		return;
	free(checks->last_final);
	checks->last_final = text_copy(why);
	checks->said_final++;
	if (checks->said_final < SAID_MOST)
		log_warn("%s: not saved", why);
	else if (checks->said_final == SAID_MOST)
		log_warn("%s: not saved; further files like this are not said: see reprieve status "
			 "--checkpoints",
			 why);
	else
		log_debug("%s: not saved", why);
}

/* Why the checkpoint is not saved, or not yet. `final`: the verdict is TORN. */
static void log_findings(struct content_checks *checks, const struct checkpoint *checkpoint,
			 bool final)
{
	for (size_t i = 0; i < checks->findings.count; i++) {
		const struct finding *finding = &checks->findings.items[i];

		if (!finding_concerns(finding, checkpoint))
			continue;
		if (final)
			log_final(checks, finding->why);
		else if (checks->said_waiting)
			log_debug("%s: waiting for the rest", finding->why);
		else
			log_note("%s: not saved until the rest is written", finding->why);
		checks->said_waiting = true;
	}
}
/* --- verdicts --- */

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
		log_findings(&tracker->checks, checkpoint, true);
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
	if (!tracker->checks.workers || detector_is_of_companions(checkpoint))
		return judgement;
	if (!tracker_check_contents(tracker, checkpoint))
		return waits;
	judgement = detector_judge(&tracker->detector, checkpoint, clock_monotonic_ms());
	if (judgement.reason == REASON_PENDING)
		log_findings(&tracker->checks, checkpoint, false);
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
