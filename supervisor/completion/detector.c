/* Which checkpoint is decided next, and what is remembered of one that is. Its verdict is made in
 * detector_judge.c; the events are handled in detector_shim.c, detector_kernel.c and
 * detector_ends.c. */
#include "detector_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void detector_init(struct detector *detector, int64_t quiet_ms,
		   const struct file_patterns *patterns)
{
	*detector = (struct detector){
		.quiet_ms = quiet_ms,
		.patterns = patterns,
		.request_ms = DETECTOR_NEVER,
		.left_out_number = -1,
	};
}

/* Forgets the directories made by saves that are complete. */
static void forget_made(struct detector *detector, int64_t until_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < detector->made_count; i++)
		if (detector->made[i].ms > until_ms)
			detector->made[kept++] = detector->made[i];
		else
			free(detector->made[i].path);
	detector->made_count = kept;
}

void detector_release(struct detector *detector)
{
	path_set_release(&detector->ran);
	forget_made(detector, DETECTOR_NEVER);
	free(detector->made);
	writer_table_release(&detector->writers);
	checkpoint_table_release(&detector->table);
}

struct file_look detector_look(const struct detector *detector, const char *path)
{
	const struct detector_questions *questions = &detector->questions;

	return questions->look ? questions->look(questions->arg, path)
			       : (struct file_look){.exists = true};
}

/* --- judging --- */

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Is it not there any more, although no process that is known has it open? */
static bool is_missing(const struct detector *detector, const struct tracked_file *file)
{
	return (file->marks & FILE_FRESH) && !(file->marks & FILE_RUNNING) &&
	       !writer_table_has_open(&detector->writers, file->path) &&
	       !detector_look(detector, file->path).exists;
}

/* The word of a rename is under way for so long at most: the kernel's is in the queue when the name
 * is gone, and the shim's follows within microseconds. */
#define UNTOLD_MS 200

/*
 * What is missing for that long was renamed or deleted, although nobody told: not the kernel,
 * because its directory was not watched yet, nor the shim, because of a raw system call. Until then
 * its checkpoint is not decided without it. With its last file, a numbered checkpoint goes too.
 * *wait_ms: until the next one is forgotten; 0: none is missing. False: no file is left.
 */
static bool forget_missing(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms,
			   int64_t *wait_ms)
{
	size_t left = checkpoint->file_count;

	*wait_ms = 0;
	for (struct tracked_file *file = checkpoint->files, *next; left > 0 && file; file = next) {
		int64_t untold_ms;

		next = file->sibling;
		if (!is_missing(detector, file)) {
			file->missing_ms = 0;
			continue;
		}
		if (file->missing_ms == 0)
			file->missing_ms = now_ms > 0 ? now_ms : 1;
		untold_ms = file->missing_ms + earlier_of(detector->quiet_ms, UNTOLD_MS) - now_ms;
		if (untold_ms > 0 && detector->job_end == JOB_END_NOT_YET) {
			*wait_ms = *wait_ms == 0 ? untold_ms : earlier_of(*wait_ms, untold_ms);
			continue;
		}
		if (--left == 0)
			checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_EMPTY);
		checkpoint_table_remove(&detector->table, file);
	}
	return left > 0;
}

/* By the files that are there. What is written just now is there, and where nothing is decided yet,
 * the verdict does not hang on what is missing. False: there are none. */
static bool judge(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms,
		  struct judgement *judgement)
{
	int64_t written_ms = detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms);
	int64_t wait_ms = earlier_of(detector->quiet_ms, UNTOLD_MS) - written_ms;

	*judgement = detector_judge(detector, checkpoint, now_ms);
	if (judgement->verdict != VERDICT_COMPLETE && judgement->reason != REASON_TEMPORARY) {
		if (judgement->reason != REASON_OPEN)
			return true;
		if (wait_ms > 0) {
			judgement->wait_ms = earlier_of(judgement->wait_ms, wait_ms);
			return true;
		}
	}
	if (!forget_missing(detector, checkpoint, now_ms, &wait_ms))
		return false;
	*judgement = detector_judge(detector, checkpoint, now_ms);
	if (wait_ms > 0 && judgement->reason == REASON_OPEN)
		judgement->wait_ms = wait_ms;
	else if (wait_ms > 0)
		*judgement = (struct judgement){VERDICT_UNDER_WAY, REASON_MOVING, wait_ms};
	return true;
}

struct checkpoint *detector_next_decided(struct detector *detector, int64_t now_ms,
					 struct judgement *judgement, int64_t *at_ms)
{
	struct checkpoint *fixed = checkpoint_table_find_key(&detector->table, "");

	*at_ms = DETECTOR_NEVER;
	if (fixed)
		detector_find_running(detector, fixed, now_ms);
	for (struct checkpoint *checkpoint = detector->table.under_way, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->under_way_next;
		if (!judge(detector, checkpoint, now_ms, judgement))
			continue;
		if (!checkpoint_any(checkpoint, FILE_FRESH)) {
			checkpoint_set_state(&detector->table, checkpoint, CHECKPOINT_EMPTY);
			checkpoint_change(checkpoint, ~0u, FILE_WRITTEN, 0);
			continue;
		}
		checkpoint->reason = judgement->reason;
		if (judgement->verdict != VERDICT_UNDER_WAY)
			return checkpoint;
		if (judgement->wait_ms != INT64_MAX)
			*at_ms = earlier_of(*at_ms, now_ms + judgement->wait_ms);
	}
	return NULL;
}

void detector_settle(struct detector *detector, int writer, int64_t now_ms)
{
	for (struct checkpoint *checkpoint = detector->table.under_way, *next; checkpoint;
	     checkpoint = next) {
		bool still = detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms) >=
			     detector->quiet_ms;
		struct judgement judgement;

		next = checkpoint->under_way_next;
		if (checkpoint->settled || !((still && checkpoint->defect == 0) ||
					     (writer && checkpoint_has_writer(checkpoint, writer))))
			continue;
		/* Time alone changes what is not written: it is judged again when it may, and not
		 * at each of thousands of events. */
		if (!writer && checkpoint->unsettled == checkpoint->changed &&
		    now_ms < checkpoint->unsettled_ms)
			continue;
		judgement = detector_judge(detector, checkpoint, now_ms);
		checkpoint->unsettled = checkpoint->changed;
		checkpoint->unsettled_ms =
			now_ms + earlier_of(judgement.wait_ms > 0 ? judgement.wait_ms : 1,
					    detector->quiet_ms);
		/* What counts as whole by its format is looked at first. */
		checkpoint->settled =
			judgement.verdict == VERDICT_COMPLETE && judgement.reason != REASON_FORMAT;
		checkpoint->reason = judgement.reason;
		if (still && judgement.verdict == VERDICT_TORN && judgement.reason == REASON_DIED)
			detector_decide(detector, checkpoint, judgement);
	}
}

/* --- what the contents say --- */

void detector_note_findings(struct detector *detector, struct checkpoint *checkpoint,
			    const struct findings *findings, const struct path_set *valid,
			    int64_t now_ms)
{
	int64_t wait_ms = 0;
	bool any = false;

	each_file (file, checkpoint) {
		bool was = file->marks & FILE_UNCHECKED;
		bool found = false;

		for (size_t i = 0; i < findings->count; i++) {
			const struct finding *finding = &findings->items[i];

			if (!path_set_is_below(file->path, finding->path))
				continue;
			found = true;
			if (finding->wait_ms > wait_ms)
				wait_ms = finding->wait_ms;
		}
		any |= found && (file->marks & FILE_FRESH);
		if (was)
			file->marks &= ~(unsigned)(FILE_REJECTED | FILE_VALID);
		if (found)
			file->marks |= FILE_REJECTED;
		else if (path_set_marks(valid, file->path))
			file->marks |= FILE_VALID;
		/* What was found is looked at again. */
		if (!found)
			file->marks &= ~(unsigned)FILE_UNCHECKED;
	}
	checkpoint->defect = any ? detector->generation : 0;
	checkpoint->defect_ms = now_ms;
	checkpoint->defect_until_ms = checkpoint->last_ms + wait_ms;
}

void detector_each_unchecked(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	each_file (file, checkpoint)
		if (file->marks & FILE_UNCHECKED)
			act(argument, file->path);
}

/* --- deciding --- */

/* Of the fixed names, only those belong to it that were written since the one before it. */
static void mark_newest(struct checkpoint *checkpoint)
{
	checkpoint_change(checkpoint, ~0u, FILE_NEWEST, 0);
	checkpoint_change(checkpoint, FILE_WRITTEN, 0, FILE_NEWEST);
	checkpoint_change(checkpoint, FILE_DAMAGED | FILE_SLOW, FILE_NEWEST, 0);
	checkpoint_change(checkpoint, ~0u, FILE_WRITTEN, 0);
	checkpoint->gone = false;
}

/* Was a checkpoint of this kind complete before, in any attempt? */
static bool is_of_known_kind(const struct checkpoint *checkpoint)
{
	const struct signature *signature = &checkpoint->family->signature;

	if (*checkpoint->key)
		return signature->kind_count > 0;
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && signature_has(signature, file->name))
			return true;
	return false;
}

/* More files may follow a save of a kind that was never complete: the first save ever, and one that
 * comes after a request in place of those that the job has made before. The wait for them ends
 * after ten quiet times, or when another save is complete. A first save that answers a request is
 * waited for only if it has a directory, because a single file is mostly all of it. */
static void note_unknown_save(struct detector *detector, const struct checkpoint *checkpoint,
			      enum verdict_reason reason)
{
	bool asked = checkpoint->begun_ms >= detector->request_ms;
	bool known = is_of_known_kind(checkpoint), first = !detector->saved;
	bool waits =
		first ? !asked || checkpoint->in_directory : asked && !known && !detector->answered;

	if (checkpoint_is_alone(checkpoint) || detector_is_of_companions(checkpoint))
		return;
	if (waits && (reason == REASON_QUIET || reason == REASON_PATIENCE))
		detector->unknown_until_ms =
			checkpoint->last_ms + verdict_patience_ms(detector->quiet_ms, 0);
	else if (!waits &&
		 (checkpoint->number != detector->unknown_number || checkpoint->rewritten))
		detector->unknown_until_ms = 0;
	if (first || waits)
		detector->unknown_number = checkpoint->number;
	detector->saved = true;
	detector->answered |= asked && known;
}

static void note_decided(struct detector *detector, struct checkpoint *checkpoint,
			 struct judgement judgement)
{
	if (checkpoint->added_to)
		return;
	if (judgement.verdict == VERDICT_COMPLETE) {
		checkpoint_save_is_over(checkpoint);
		if (!*checkpoint->key)
			detector->writes_complete = detector->write_count;
	} else if (judgement.reason == REASON_DEFECT && detector->job_end == JOB_END_NOT_YET) {
		checkpoint->family->given_up = checkpoint->save;
	}
}

void detector_decide(struct detector *detector, struct checkpoint *checkpoint,
		     struct judgement judgement)
{
	bool complete = judgement.verdict == VERDICT_COMPLETE;

	note_decided(detector, checkpoint, judgement);
	checkpoint_set_state(&detector->table, checkpoint,
			     complete ? CHECKPOINT_COMPLETE : CHECKPOINT_TORN);
	checkpoint->reason = judgement.reason;
	if (complete) {
		note_unknown_save(detector, checkpoint, judgement.reason);
		mark_newest(checkpoint);
		forget_made(detector, checkpoint->last_ms);
	}
	if (complete && !checkpoint->reduced)
		detector_learn(detector, checkpoint);
	else if (!complete && judgement.reason != REASON_DEFECT)
		checkpoint_change(checkpoint, *checkpoint->key ? ~0u : FILE_FRESH, 0, FILE_TORN);
	else if (!complete && *checkpoint->key)
		checkpoint_change(checkpoint, ~0u, 0, FILE_REJECTED);
	checkpoint_change(checkpoint, ~0u, FILE_FRESH | FILE_UNCLOSED | FILE_UNCHECKED, 0);
	checkpoint->writer_count = 0;
	checkpoint->settled = false;
	checkpoint->later = 0;
	checkpoint->death = DEATH_NONE;
	checkpoint->defect = 0;
	if (!detector_is_busy(detector)) {
		detector->events_lost = false;
		writer_table_forget_all(&detector->writers);
	}
}

bool detector_is_complete(const struct detector *detector, const char *key)
{
	const struct checkpoint *checkpoint = checkpoint_table_find_key(&detector->table, key);

	return checkpoint && checkpoint->state == CHECKPOINT_COMPLETE;
}

bool detector_has_own_word(const struct detector *detector, const char *key)
{
	const struct checkpoint *checkpoint = checkpoint_table_find_key(&detector->table, key);

	return checkpoint && checkpoint->state == CHECKPOINT_COMPLETE &&
	       checkpoint->own_word == checkpoint->changed;
}

bool detector_is_busy(const struct detector *detector)
{
	return detector->table.under_way;
}

/* Was a fixed name written since the other one was begun that may name it? */
static bool may_name(const struct checkpoint *fixed, const struct checkpoint *checkpoint)
{
	each_file (file, fixed) {
		int64_t last_ms = file->here_ms > 0 ? file->here_ms : fixed->last_ms;

		if (tracked_file_was_written(file) && !(file->marks & FILE_RUNNING) &&
		    !companion_file_is(file->path) && checkpoint->begun_ms <= last_ms)
			return true;
	}
	return false;
}

bool detector_is_replacing(const struct detector *detector)
{
	const struct checkpoint *fixed = checkpoint_table_find_key(&detector->table, "");

	if (!fixed)
		return false;
	each_file (file, fixed)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_NEW))
			return true;
	each_under_way (checkpoint, &detector->table)
		if (checkpoint != fixed && !checkpoint->reduced &&
		    !checkpoint_is_alone(checkpoint) && !detector_is_of_companions(checkpoint) &&
		    may_name(fixed, checkpoint))
			return true;
	return false;
}

/* --- what the job says --- */

void detector_requested(struct detector *detector, int64_t now_ms)
{
	detector->request_ms = now_ms;
	detector->answered = false;
}

/* A writer that exits by itself counts as done, like one that called its checkpoint complete. */
static bool all_have_saved(struct detector *detector, const struct checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->writer_count; i++) {
		const struct writer *writer =
			writer_table_find(&detector->writers, checkpoint->writers[i]);

		if (writer && !writer->saved && !writer->exiting)
			return false;
	}
	return true;
}

void detector_note_saved(struct detector *detector, int pid, int64_t step, int64_t now_ms)
{
	struct writer *writer = writer_table_find(&detector->writers, pid);

	detector_settle(detector, 0, now_ms);
	if (writer)
		writer->saved = true;
	each_checkpoint (checkpoint, &detector->table) {
		bool own = checkpoint->writer_count == 0 || checkpoint_has_writer(checkpoint, pid);

		if (!own)
			continue;
		/* One that was complete by other evidence has its word all the same. */
		if (checkpoint->state == CHECKPOINT_UNDER_WAY && step > checkpoint->step)
			checkpoint->step = step;
		if (checkpoint->state == CHECKPOINT_TORN || !all_have_saved(detector, checkpoint))
			continue;
		checkpoint->own_word = checkpoint->changed;
		detector->unknown_until_ms = 0;
		/* Nothing follows it. */
		checkpoint->family->round.said |=
			checkpoint->family->round.number == checkpoint->number;
	}
}

static void commit(struct checkpoint *checkpoint)
{
	/* With several writers, the marker of one says nothing about the files of the others. */
	if (checkpoint && checkpoint->state == CHECKPOINT_UNDER_WAY &&
	    checkpoint->writer_count == 1)
		checkpoint->committed = checkpoint->changed;
}

void detector_note_marker(struct detector *detector, const char *path)
{
	auto_free char *key = checkpoint_name_key(path);
	struct checkpoint *newest = NULL;

	each_checkpoint (checkpoint, &detector->table) {
		if (text_equal(checkpoint->key, key))
			commit(checkpoint);
		if (checkpoint->number >= 0 && checkpoint->state == CHECKPOINT_UNDER_WAY &&
		    (!newest || checkpoint->begun_ms > newest->begun_ms))
			newest = checkpoint;
	}
	if (!*key)
		commit(newest);
}

int64_t detector_still_ms(const struct detector *detector, const struct checkpoint *checkpoint,
			  int64_t last_ms, int64_t now_ms)
{
	return now_ms - last_ms - (detector->stalled_ms - checkpoint->stalled_ms);
}
