/* What is known of each checkpoint, put together for verdict.h; the ends of its writers; and what
 * is remembered of one that is decided. The events are handled in detector_shim.c and
 * detector_kernel.c. */
#include "detector.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A finding is looked at again after this time, if anything was written since. */
#define RECHECK_MS 200

void detector_init(struct detector *detector, int64_t quiet_ms,
		   const struct file_patterns *patterns)
{
	*detector = (struct detector){
		.quiet_ms = quiet_ms,
		.patterns = patterns,
		.request_ms = DETECTOR_NEVER,
	};
	checkpoint_table_init(&detector->table);
}

void detector_release(struct detector *detector)
{
	free(detector->moved_path);
	writer_table_release(&detector->writers);
	checkpoint_table_release(&detector->table);
}

/* --- judging --- */

/* A numbered checkpoint has all of its files, unless it is being written anew; of the fixed names,
 * those count that were written in this save. */
static bool counts(const struct checkpoint *checkpoint, const struct tracked_file *file)
{
	return (file->marks & FILE_FRESH) || (*checkpoint->key && !checkpoint->rewritten);
}

/* The fixed name that this save was begun with. */
static const struct tracked_file *find_leader(const struct checkpoint *fixed)
{
	const struct tracked_file *leader = NULL;

	for (const struct tracked_file *file = fixed->files; file; file = file->sibling)
		if ((file->marks & FILE_FRESH) && (!leader || file->begun_ms < leader->begun_ms))
			leader = file;
	return leader;
}

static struct family *find_family(const struct detector *detector, const char *name)
{
	for (struct family *family = detector->table.families; family; family = family->next)
		if (text_equal(family->name, name))
			return family;
	return NULL;
}

/* NULL: nothing is known of its kind yet. */
static struct family *family_of(const struct detector *detector,
				const struct checkpoint *checkpoint)
{
	const struct tracked_file *leader;
	char name[DETECTOR_LEADER];

	if (*checkpoint->key)
		return checkpoint->family;
	leader = find_leader(checkpoint);
	if (!leader)
		return NULL;
	detector_leader_name(leader, name);
	return find_family(detector, name);
}

/* Its files that count; the caller frees. */
static struct named_file *list_files(const struct checkpoint *checkpoint, size_t *count)
{
	struct named_file *names = memory_new((checkpoint->file_count + 1) * sizeof(*names));

	*count = 0;
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if (counts(checkpoint, file))
			names[(*count)++] = (struct named_file){file->name, file->size};
	return names;
}

static enum signature_match match_signature(const struct detector *detector,
					    const struct checkpoint *checkpoint)
{
	const struct family *family = family_of(detector, checkpoint);
	auto_free struct named_file *names = NULL;
	enum signature_match match;
	size_t count;

	if (!family || family->signature.expected == 0)
		return SIGNATURE_UNKNOWN;
	/* The quick answer while one of many files is being written. */
	if (checkpoint->file_count < family->signature.expected)
		return SIGNATURE_FEWER;
	names = list_files(checkpoint, &count);
	match = signature_compare(&family->signature, names, count);
	if (match != SIGNATURE_FULL || !*checkpoint->key)
		return match;
	/* What was learned from this one alone says nothing of what else it will have; and it may
	 * be a part of a checkpoint, like the ones before it. */
	return !family->sure || (family->signature.learned == 1 && !checkpoint->rewritten &&
				 family->signature.newest_number == checkpoint->number)
		       ? SIGNATURE_UNKNOWN
		       : match;
}

/* Has each file that counts all of the marks? */
static bool all_have(const struct checkpoint *checkpoint, unsigned marks)
{
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if ((file->marks & FILE_FRESH) && (file->marks & marks) != marks)
			return false;
	return true;
}

static int64_t still_ms(const struct checkpoint *checkpoint, int64_t last_ms, int64_t now_ms)
{
	return now_ms - last_ms - checkpoint->stalled_ms;
}

/* Of a numbered one, any torn file tears it. Of the fixed names each stands for itself. */
static bool has_torn_files(const struct checkpoint *checkpoint)
{
	if (*checkpoint->key)
		return checkpoint_any(checkpoint, FILE_TORN);
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if ((file->marks & (FILE_FRESH | FILE_TORN)) == FILE_FRESH)
			return false;
	return true;
}

/* As long as it is not sure that the numbers count checkpoints, those of a family are parts of one:
 * they are open and still together. */
static void judge_with_family(const struct detector *detector, const struct checkpoint *checkpoint,
			      struct checkpoint_facts *facts, int64_t now_ms)
{
	const struct family *family = checkpoint->family;

	if (checkpoint->number < 0 || family->sure)
		return;
	facts->still_ms = still_ms(checkpoint, family->last_ms, now_ms);
	for (const struct checkpoint *other = detector->table.checkpoints; other && !facts->open;
	     other = other->sibling)
		facts->open = other->family == family && other->state == CHECKPOINT_UNDER_WAY &&
			      detector_is_open(detector, other);
}

/* Its framework will rename them when they are finished. */
static bool has_temporary_files(const struct checkpoint *checkpoint)
{
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if ((file->marks & FILE_FRESH) && (file->marks & FILE_TEMPORARY) &&
		    *checkpoint->key)
			return true;
	return false;
}

static struct checkpoint_facts facts_of(const struct detector *detector,
					const struct checkpoint *checkpoint, int64_t now_ms)
{
	bool found = checkpoint->defect > 0 && (checkpoint->defect == detector->generation ||
						now_ms - checkpoint->defect_ms < RECHECK_MS);
	struct checkpoint_facts facts = {
		.open = detector_is_open(detector, checkpoint),
		.writer_died = checkpoint->writer_died || has_torn_files(checkpoint),
		.own_word = checkpoint->own_word == checkpoint->changed,
		.committed = checkpoint->committed == checkpoint->changed,
		.next_begun = checkpoint->next_begun,
		/* What somebody else writes afterwards is no longer the job's last word. */
		.job_end = checkpoint->changed <= detector->ended ? detector->job_end
								  : JOB_END_NOT_YET,
		.still_ms = still_ms(checkpoint, checkpoint->last_ms, now_ms),
		.quiet_ms = detector->quiet_ms,
		.defect = found,
		.defect_wait_ms = checkpoint->defect_until_ms - now_ms,
	};

	judge_with_family(detector, checkpoint, &facts, now_ms);
	facts.open |= has_temporary_files(checkpoint);
	if (facts.open)
		return facts;
	facts.witnessed = all_have(checkpoint, FILE_WITNESSED);
	facts.signature = match_signature(detector, checkpoint);
	/* Of the fixed names, some may be written before and some after a numbered one. */
	if (checkpoint->number < 0 && facts.signature == SIGNATURE_FEWER)
		facts.next_begun = false;
	/* A rank that has not begun its part of this one is behind the others. */
	if (checkpoint->number >= 0 && facts.signature == SIGNATURE_FEWER &&
	    checkpoint->writer_count < checkpoint->family->writers)
		facts.next_begun = false;
	if (facts.signature != SIGNATURE_UNKNOWN)
		facts.pause_ms = family_of(detector, checkpoint)->signature.pause_ms;
	/* Found again after RECHECK_MS, if something was written that may have mended it. */
	if (found && checkpoint->defect != detector->generation &&
	    facts.defect_wait_ms > RECHECK_MS)
		facts.defect_wait_ms = RECHECK_MS;
	return facts;
}

/* Of the fixed names, the others may be whole although one is rejected. */
static bool leaves_something(const struct checkpoint *checkpoint)
{
	if (*checkpoint->key)
		return false;
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if ((file->marks & FILE_FRESH) && !(file->marks & (FILE_TORN | FILE_REJECTED)))
			return true;
	return false;
}

struct judgement detector_judge(const struct detector *detector,
				const struct checkpoint *checkpoint, int64_t now_ms)
{
	struct checkpoint_facts facts = facts_of(detector, checkpoint, now_ms);
	struct judgement judgement = verdict_of(&facts);

	if (checkpoint->needs_format && !facts.open && !facts.defect) {
		bool known = !checkpoint_any(checkpoint, FILE_UNCHECKED);
		bool whole = all_have(checkpoint, FILE_VALID);

		return (struct judgement){whole || !known ? VERDICT_COMPLETE : VERDICT_TORN,
					  whole || !known ? REASON_FORMAT : REASON_DIED, INT64_MAX};
	}
	if (judgement.verdict == VERDICT_TORN && judgement.reason == REASON_DEFECT &&
	    leaves_something(checkpoint))
		judgement.verdict = VERDICT_COMPLETE;
	if (checkpoint->settled && judgement.verdict != VERDICT_COMPLETE && !facts.defect)
		return (struct judgement){VERDICT_COMPLETE, checkpoint->reason, INT64_MAX};
	return judgement;
}

/* A path that was renamed and has not reappeared has left the directory. Its descriptors stay in
 * the table until they are closed, because a new file may have the same name. */
static void remove_file(void *argument, struct tracked_file *file)
{
	struct detector *detector = argument;

	checkpoint_table_remove(&detector->table, file);
}

void detector_forget_moved(struct detector *detector)
{
	if (detector->moved_path) {
		checkpoint_table_each_below(&detector->table, detector->moved_path, remove_file,
					    detector);
		checkpoint_table_remove_empty(&detector->table, detector->moved_path);
	}
	free(detector->moved_path);
	detector->moved_path = NULL;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

struct checkpoint *detector_next_decided(struct detector *detector, int64_t now_ms,
					 struct judgement *judgement, int64_t *at_ms)
{
	struct checkpoint *oldest = NULL;

	*at_ms = DETECTOR_NEVER;
	detector_forget_moved(detector);
	for (struct checkpoint *checkpoint = detector->table.checkpoints, *next; checkpoint;
	     checkpoint = next) {
		struct judgement now;

		next = checkpoint->sibling;
		if (checkpoint->state != CHECKPOINT_UNDER_WAY)
			continue;
		if (!*checkpoint->key)
			detector_find_running(detector, checkpoint, now_ms);
		if (!checkpoint_any(checkpoint, FILE_FRESH)) {
			checkpoint->state = CHECKPOINT_EMPTY;
			continue;
		}
		now = detector_judge(detector, checkpoint, now_ms);
		checkpoint->reason = now.reason;
		if (now.verdict == VERDICT_UNDER_WAY && now.wait_ms != INT64_MAX)
			*at_ms = earlier_of(*at_ms, now_ms + now.wait_ms);
		if (now.verdict == VERDICT_UNDER_WAY ||
		    (oldest && oldest->begun_ms <= checkpoint->begun_ms))
			continue;
		oldest = checkpoint;
		*judgement = now;
	}
	return oldest;
}

void detector_settle(struct detector *detector, int64_t now_ms)
{
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		struct judgement judgement;

		if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled ||
		    checkpoint->defect > 0 ||
		    still_ms(checkpoint, checkpoint->last_ms, now_ms) < detector->quiet_ms)
			continue;
		judgement = detector_judge(detector, checkpoint, now_ms);
		checkpoint->settled = judgement.verdict == VERDICT_COMPLETE;
		checkpoint->reason = judgement.reason;
		if (judgement.verdict == VERDICT_TORN && judgement.reason == REASON_DIED)
			detector_decide(detector, checkpoint, judgement);
	}
}

/* --- what the contents say --- */

void detector_note_findings(struct detector *detector, struct checkpoint *checkpoint,
			    const struct findings *findings, const struct path_set *valid,
			    int64_t now_ms)
{
	int64_t wait_ms = findings_wait_ms(findings);
	bool any = false;

	for (struct tracked_file *file = checkpoint->files; file; file = file->sibling) {
		bool was = file->marks & FILE_UNCHECKED;
		bool found = false;

		for (size_t i = 0; i < findings->count && !found; i++)
			found = path_set_is_below(file->path, findings->items[i].path);
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
	checkpoint->defect_until_ms = now_ms + wait_ms;
}

void detector_each_unchecked(const struct checkpoint *checkpoint, path_set_fn *act, void *argument)
{
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if (file->marks & FILE_UNCHECKED)
			act(argument, file->path);
}

/* --- deciding --- */

static void learn(struct detector *detector, struct checkpoint *checkpoint)
{
	auto_free struct named_file *names = NULL;
	size_t count;

	/* Of the fixed names it is learned when one of them is written again. */
	if (!*checkpoint->key)
		return;
	(void)detector;
	names = list_files(checkpoint, &count);
	signature_learn(&checkpoint->family->signature, checkpoint->number, names, count,
			checkpoint->pause_ms);
}

void detector_decide(struct detector *detector, struct checkpoint *checkpoint,
		     struct judgement judgement)
{
	bool complete = judgement.verdict == VERDICT_COMPLETE;

	checkpoint->state = complete ? CHECKPOINT_COMPLETE : CHECKPOINT_TORN;
	checkpoint->reason = judgement.reason;
	if (complete && checkpoint->writer_count > 0)
		checkpoint->family->writers = checkpoint->writer_count;
	if (complete)
		learn(detector, checkpoint);
	else if (judgement.reason != REASON_DEFECT)
		checkpoint_change(checkpoint, *checkpoint->key ? ~0u : FILE_FRESH, 0, FILE_TORN);
	else if (*checkpoint->key)
		checkpoint_change(checkpoint, ~0u, 0, FILE_REJECTED);
	checkpoint_change(checkpoint, ~0u, FILE_FRESH | FILE_UNCLOSED | FILE_UNCHECKED, 0);
	checkpoint->writer_count = 0;
	checkpoint->settled = checkpoint->writer_died = checkpoint->next_begun = false;
	checkpoint->needs_format = false;
	checkpoint->defect = 0;
	if (!detector_is_busy(detector)) {
		detector->events_lost = false;
		writer_table_forget_all(&detector->writers);
	}
}

bool detector_is_busy(const struct detector *detector)
{
	for (const struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling)
		if (checkpoint->state == CHECKPOINT_UNDER_WAY)
			return true;
	return false;
}

static const struct checkpoint *find_fixed(const struct detector *detector)
{
	for (const struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling)
		if (!*checkpoint->key)
			return checkpoint;
	return NULL;
}

bool detector_is_replacing(const struct detector *detector)
{
	const struct checkpoint *fixed = find_fixed(detector);

	if (!fixed || fixed->state == CHECKPOINT_UNDER_WAY)
		return fixed;
	for (const struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling)
		if (checkpoint->state == CHECKPOINT_UNDER_WAY && !checkpoint->reduced &&
		    checkpoint->begun_ms <= fixed->last_ms)
			return true;
	return false;
}

/* --- what the job says --- */

void detector_requested(struct detector *detector, int64_t now_ms)
{
	detector->request_ms = now_ms;
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

	detector_settle(detector, now_ms);
	if (writer)
		writer->saved = true;
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		bool own = checkpoint->writer_count == 0 || checkpoint_has_writer(checkpoint, pid);

		if (checkpoint->state != CHECKPOINT_UNDER_WAY || !own)
			continue;
		if (step > checkpoint->step)
			checkpoint->step = step;
		if (all_have_saved(detector, checkpoint))
			checkpoint->own_word = checkpoint->changed;
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

	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		if (text_equal(checkpoint->key, key))
			commit(checkpoint);
		if (checkpoint->number >= 0 && checkpoint->state == CHECKPOINT_UNDER_WAY &&
		    (!newest || checkpoint->begun_ms > newest->begun_ms))
			newest = checkpoint;
	}
	if (!*key)
		commit(newest);
}

/* --- ends --- */

static enum writer_end effective_writer_end(const struct detector *detector,
					    const struct writer *writer, enum writer_end end)
{
	if (end == WRITER_END_UNKNOWN && writer->failed)
		end = WRITER_END_FAILED;
	/* After a request to save, a job may end with any code; it says nothing about the files. */
	if (end == WRITER_END_FAILED && detector->request_ms != DETECTOR_NEVER)
		end = WRITER_END_EXITED;
	return end;
}

/* Its only file was closed by the process that has died now, and nothing is known of its kind: it
 * is complete if its format says that it is whole. */
static bool may_be_whole(const struct detector *detector, const struct checkpoint *checkpoint)
{
	size_t fresh = 0;

	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		fresh += counts(checkpoint, file);
	return fresh == 1 && !detector_is_open(detector, checkpoint) &&
	       all_have(checkpoint, FILE_WITNESSED) &&
	       match_signature(detector, checkpoint) == SIGNATURE_UNKNOWN;
}

static void note_death(struct detector *detector, struct checkpoint *checkpoint, int64_t now_ms)
{
	if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled)
		return;
	if (may_be_whole(detector, checkpoint)) {
		checkpoint->needs_format = true;
		return;
	}
	checkpoint->writer_died = true;
	checkpoint->last_ms = now_ms;
	checkpoint->stalled_ms = 0;
	checkpoint_change(checkpoint, *checkpoint->key ? ~0u : FILE_FRESH,
			  FILE_CREATED | FILE_REWRITTEN, FILE_TORN);
	detector->generation++;
}

/* Complete before the death, by the evidence that there is: a signature needs no quiet time. */
static void settle_before_death(struct detector *detector, int pid, int64_t now_ms)
{
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		struct judgement judgement;

		if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->settled ||
		    !checkpoint_has_writer(checkpoint, pid))
			continue;
		judgement = detector_judge(detector, checkpoint, now_ms);
		checkpoint->settled = judgement.verdict == VERDICT_COMPLETE;
		checkpoint->reason = judgement.reason;
	}
}

bool detector_close_all(struct detector *detector, int pid, bool complete, int64_t now_ms)
{
	char *path;
	bool any = false;

	while ((path = writer_table_close_next(&detector->writers, pid))) {
		struct tracked_file *file = checkpoint_table_find(&detector->table, path);

		free(path);
		if (!file || (file->marks & FILE_RUNNING))
			continue;
		any = true;
		if (complete)
			detector_file_closed(detector, file, true, now_ms);
		else
			note_death(detector, file->checkpoint, now_ms);
	}
	return any;
}

/* A process without the shim is found by a search now and then: it may have written to whatever
 * nobody else is known to have closed. */
static bool may_have_written(const struct checkpoint *checkpoint, const struct writer *writer,
			     int pid)
{
	if (checkpoint_has_writer(checkpoint, pid))
		return true;
	return writer->pid == pid && !writer->speaks && checkpoint_any(checkpoint, FILE_FRESH) &&
	       !all_have(checkpoint, FILE_WITNESSED);
}

void detector_process_ended(struct detector *detector, int pid, enum writer_end end, int64_t now_ms)
{
	const struct writer *found = writer_table_find(&detector->writers, pid);
	struct writer writer = found ? *found : (struct writer){0};
	bool badly;

	end = effective_writer_end(detector, &writer, end);
	detector_settle(detector, now_ms);
	settle_before_death(detector, pid, now_ms);
	detector_close_all(detector, pid, false, now_ms);
	writer_table_forget(&detector->writers, pid);
	/* The signal may have come while exit() was flushing; it may have died between two files
	 * of a checkpoint; or it says itself that it failed. */
	badly = (writer.open_at_exit && end == WRITER_END_KILLED) ||
		(!writer.exiting && end != WRITER_END_EXITED) || end == WRITER_END_FAILED;
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint && badly;
	     checkpoint = checkpoint->sibling)
		if (may_have_written(checkpoint, &writer, pid))
			note_death(detector, checkpoint, now_ms);
}

void detector_job_ended(struct detector *detector, enum job_end end, int64_t now_ms)
{
	detector_settle(detector, now_ms);
	while (detector->writers.open_count > 0) {
		struct writer_descriptor *open = &detector->writers.opens[0];
		struct tracked_file *file = checkpoint_table_find(&detector->table, open->path);

		if (file && !(file->marks & FILE_RUNNING))
			note_death(detector, file->checkpoint, now_ms);
		writer_table_close(&detector->writers, open);
	}
	detector->job_end = end;
	detector->ended = detector->generation;
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling) {
		struct judgement judgement;

		if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->writer_died)
			continue;
		/* Nobody is left who could have a file open that only the kernel has reported. */
		if (end == JOB_END_CLEAN)
			checkpoint_change(checkpoint, FILE_UNCLOSED, FILE_UNCLOSED, 0);
		judgement = detector_judge(detector, checkpoint, now_ms);
		if (judgement.verdict == VERDICT_TORN && may_be_whole(detector, checkpoint))
			checkpoint->needs_format = true;
	}
}

void detector_add_stall(struct detector *detector, int64_t ms)
{
	for (struct checkpoint *checkpoint = detector->table.checkpoints; checkpoint;
	     checkpoint = checkpoint->sibling)
		if (checkpoint->state == CHECKPOINT_UNDER_WAY)
			checkpoint->stalled_ms += ms;
}
