/* What is known of one checkpoint, put together for verdict.h. */
#include "base/cleanup.h"
#include "base/text.h"
#include "detector_parts.h"

#include <stdlib.h>

/* A finding is looked at again after this time, if anything was written since. */
#define RECHECK_MS 200

/* A numbered checkpoint has all of its files, unless it is being written anew; of the fixed names,
 * those count that were written in this save. */
static bool counts(const struct checkpoint *checkpoint, const struct tracked_file *file)
{
	return (file->marks & FILE_FRESH) || (*checkpoint->key && !checkpoint->rewritten);
}

/* What lies beside a save, and the best so far, begin it only if there is nothing else. */
static int rank_of_leader(const struct tracked_file *file)
{
	return companion_file_is_best(file->path) ? 2 : companion_file_is(file->path);
}

static bool leads(const struct tracked_file *file, const struct tracked_file *leader)
{
	int rank = rank_of_leader(file), other;

	if (!leader)
		return true;
	other = rank_of_leader(leader);
	return rank == other ? file->begun_ms < leader->begun_ms : rank < other;
}

/* The fixed name that this save was begun with. */
static const struct tracked_file *find_leader(const struct checkpoint *fixed)
{
	const struct tracked_file *leader = NULL;

	each_file (file, fixed)
		if ((file->marks & FILE_FRESH) && leads(file, leader))
			leader = file;
	return leader;
}

/* NULL: nothing is known of its kind yet. */
static struct family *family_of(const struct detector *detector,
				const struct checkpoint *checkpoint)
{
	const struct tracked_file *leader;

	if (*checkpoint->key)
		return checkpoint->family;
	leader = find_leader(checkpoint);
	return leader ? detector_family_led_by(detector, leader) : NULL;
}

/* The best so far, and what was measured of a checkpoint, are no part of what a save has to have.
 */
static bool may_be_missing(const struct checkpoint *checkpoint, const struct tracked_file *file)
{
	return companion_file_is_best(file->path) ||
	       (*checkpoint->key && companion_file_is_result(file->path));
}

/* Its files that count, and of them those that may not be missing, unless there is nothing else.
 * The caller frees. */
static struct named_file *list_files(const struct checkpoint *checkpoint, size_t *count)
{
	struct named_file *names = memory_new((checkpoint->file_count + 1) * sizeof(*names));

	*count = 0;
	each_file (file, checkpoint)
		if (counts(checkpoint, file) && !may_be_missing(checkpoint, file))
			names[(*count)++] = (struct named_file){file->name, file->size};
	if (*count > 0)
		return names;
	each_file (file, checkpoint)
		if (counts(checkpoint, file))
			names[(*count)++] = (struct named_file){file->name, file->size};
	return names;
}

/* The one that its signature was learned from last is being written on: it was not complete then,
 * as when a rank is behind the others. */
static bool was_taught_too_early(const struct detector *detector,
				 const struct checkpoint *checkpoint, const struct known_kind *kind)
{
	const char *key = checkpoint->family->taught_by;

	each_under_way (other, &detector->table)
		if (other != checkpoint && key &&
		    (text_equal(other->added_to, key) ||
		     (text_equal(other->key, key) && other->number == kind->newest_number &&
		      !other->rewritten)))
			return true;
	return false;
}

/* Nothing was learned yet of what is written together with its first file, as in the first save
 * after a restart. But if it has all the fixed names there ever were, and no other, it is whole. */
static enum signature_match match_all_names(const struct checkpoint *checkpoint)
{
	const struct signature *all = &checkpoint->family->signature;
	auto_free struct named_file *names = NULL;
	size_t count;

	if (*checkpoint->key || all->kinds[0].expected == 0)
		return SIGNATURE_UNKNOWN;
	names = list_files(checkpoint, &count);
	return count == all->count && signature_compare(all, all->kinds, names, count, NULL) ==
					      SIGNATURE_FULL
		       ? SIGNATURE_FULL
		       : SIGNATURE_UNKNOWN;
}

/* A fixed name that a save writes. */
static bool is_saved_name(const struct tracked_file *file)
{
	const unsigned out = FILE_RUNNING | FILE_SLOW | FILE_DAMAGED | FILE_TEMPORARY;

	return !(file->marks & out) && tracked_file_was_written(file) &&
	       !companion_file_is_best(file->path);
}

/* Fixed names that there are, or were when one was complete last, and this save has not written. */
static bool lacks_known_names(const struct checkpoint *fixed, size_t count)
{
	each_file (file, fixed)
		if (!(file->marks & FILE_FRESH) && is_saved_name(file) &&
		    !companion_file_is_setting(file->path))
			return true;
	return count < fixed->family->signature.kinds[0].expected;
}

/* Of what the first of a kind has beside, nobody knows whether more of it comes. */
static bool is_added_to_first(const struct detector *detector, const struct checkpoint *added)
{
	const struct checkpoint *to = checkpoint_table_find_key(&detector->table, added->added_to);

	return to && to->family->signature.kinds[0].learned == 1;
}

/* *kind: what it was compared with; NULL: nothing. */
static enum signature_match match_signature(
	const struct detector *detector, const struct checkpoint *checkpoint,
	const struct family *family, const struct known_kind **kind)
{
	const struct signature *signature = family ? &family->signature : NULL;
	auto_free struct named_file *names = NULL;
	enum signature_match match;
	size_t count;

	*kind = NULL;
	if (checkpoint_is_alone(checkpoint))
		return is_added_to_first(detector, checkpoint) ? SIGNATURE_UNKNOWN : SIGNATURE_FULL;
	/* The quick answer while one of many files is being written. */
	if (signature && !signature->several &&
	    checkpoint->file_count < signature->kinds[0].expected)
		*kind = signature->kinds;
	if (!*kind && signature) {
		names = list_files(checkpoint, &count);
		*kind = signature_kind_of(signature, names, count);
	}
	if (!*kind || (*kind)->expected == 0) {
		*kind = NULL;
		return match_all_names(checkpoint);
	}
	if (was_taught_too_early(detector, checkpoint, *kind))
		return SIGNATURE_UNKNOWN;
	if (!names)
		return SIGNATURE_FEWER;
	match = signature_compare(signature, *kind, names, count, NULL);
	if (match != SIGNATURE_FULL)
		return match;
	/* What was written together once may have been half of it, if other names are known. */
	if (!*checkpoint->key)
		return (*kind)->learned == 1 && lacks_known_names(checkpoint, count)
			       ? SIGNATURE_UNKNOWN
			       : match;
	/* What was learned from this one alone says nothing of what else it will have; and it may
	 * be a part of a checkpoint, like the ones before it. */
	return !family->sure || ((*kind)->learned == 1 && !checkpoint->rewritten &&
				 (*kind)->newest_number == checkpoint->number)
		       ? SIGNATURE_UNKNOWN
		       : match;
}

/* Of a numbered one, any torn file tears it. Of the fixed names each stands for itself. */
static bool has_torn_files(const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if (*checkpoint->key && (file->marks & FILE_TORN))
			return true;
	if (*checkpoint->key)
		return false;
	each_file (file, checkpoint)
		if ((file->marks & (FILE_FRESH | FILE_TORN)) == FILE_FRESH)
			return false;
	return true;
}

/* What is added to one checkpoint comes together. And as long as it is not sure that the numbers
 * count checkpoints, those of a family are parts of one. */
static bool are_judged_together(const struct checkpoint *one, const struct checkpoint *other)
{
	if (one->added_to)
		return text_equal(one->added_to, other->added_to);
	return one->number >= 0 && !one->family->sure && one->family == other->family;
}

/* They are open and still together. */
static void judge_together(const struct detector *detector, const struct checkpoint *checkpoint,
			   struct checkpoint_facts *facts, int64_t now_ms)
{
	bool parts = checkpoint->number >= 0 && !checkpoint->family->sure;

	if (!parts && !checkpoint->added_to)
		return;
	if (parts)
		facts->still_ms = detector_still_ms(detector, checkpoint,
						    checkpoint->family->last_ms, now_ms);
	each_under_way (other, &detector->table) {
		int64_t still_ms;

		if (other == checkpoint || !are_judged_together(checkpoint, other))
			continue;
		facts->open |= detector_is_open(detector, other);
		still_ms = detector_still_ms(detector, other, other->last_ms, now_ms);
		if (still_ms < facts->still_ms)
			facts->still_ms = still_ms;
	}
}

/* Its writer will rename them when they are finished. */
static size_t count_temporary_files(const struct checkpoint *checkpoint, size_t *others)
{
	size_t count = 0;

	*others = 0;
	each_file (file, checkpoint) {
		bool temporary = (file->marks & FILE_FRESH) && (file->marks & FILE_TEMPORARY);

		count += temporary;
		*others += !temporary;
	}
	return count;
}

static enum format_evidence format_of(const struct checkpoint *checkpoint)
{
	if (checkpoint->death != DEATH_AFTER_CLOSE)
		return FORMAT_NOT_ASKED;
	if (checkpoint_any(checkpoint, FILE_UNCHECKED))
		return FORMAT_UNCHECKED;
	return checkpoint_all(checkpoint, FILE_VALID) ? FORMAT_WHOLE : FORMAT_UNKNOWN;
}

/* What somebody else writes afterwards is no longer the job's last word. But what another member of
 * a gang has written is judged there, and may be seen here late: unless it lacks something, which
 * that one may still add. */
static enum job_end job_end_of(const struct detector *detector, const struct checkpoint *checkpoint,
			       bool lacks)
{
	bool of_member = detector->others_write && detector->job_end == JOB_END_CLEAN && !lacks;

	return of_member || checkpoint->changed <= detector->ended
		       ? detector->job_end
		       : JOB_END_NOT_YET;
}

/* True for a checkpoint that other members of a gang began in the shared directory after the job
 * here had ended: it is theirs alone. */
static bool is_of_others_alone(const struct detector *detector, const struct checkpoint *checkpoint)
{
	return detector->others_write && detector->job_end != JOB_END_NOT_YET &&
	       checkpoint->number >= 0 && checkpoint->begun_ms > detector->ended_ms;
}

/* A save that failed and was caught leaves a file that is empty, and was not before. */
static bool has_emptied(const struct detector *detector, const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint) {
		struct file_look look;

		if (!counts(checkpoint, file) || file->size > 0)
			continue;
		/* One that nobody told was renamed is not empty. */
		look = detector_look(detector, file->path);
		if (look.exists && look.size == 0)
			return true;
	}
	return false;
}

static struct checkpoint_facts facts_of(const struct detector *detector,
					const struct checkpoint *checkpoint, int64_t now_ms)
{
	bool found = checkpoint->defect > 0 && (checkpoint->defect == detector->generation ||
						now_ms - checkpoint->defect_ms < RECHECK_MS);
	bool open = detector_is_open(detector, checkpoint);
	struct checkpoint_facts facts = {
		.open = open,
		.writer_died = checkpoint->death == DEATH_TEARS || has_torn_files(checkpoint),
		.format = format_of(checkpoint),
		.own_word = checkpoint->own_word == checkpoint->changed,
		.committed = checkpoint->committed == checkpoint->changed,
		.placed = checkpoint->placed == checkpoint->changed &&
			  checkpoint->family->placed_whole,
		/* Another member may still add the files that it lacks. */
		.later = detector->others_write && checkpoint->later > 1 ? 1 : checkpoint->later,
		.job_end = job_end_of(detector, checkpoint, open || found),
		.answers = detector->job_end == JOB_END_ASKED &&
			   checkpoint->last_ms >= detector->request_ms,
		.still_ms = detector_still_ms(detector, checkpoint, checkpoint->last_ms, now_ms),
		.quiet_ms = detector->quiet_ms,
		.defect = found,
		/* A job that has completed a later one will not finish it. */
		.defect_wait_ms = *checkpoint->key && checkpoint->family->over > checkpoint->save
					  ? 0
					  : checkpoint->defect_until_ms - now_ms,
	};
	const struct known_kind *kind;
	size_t others;

	judge_together(detector, checkpoint, &facts, now_ms);
	facts.temporary = count_temporary_files(checkpoint, &others) > 0;
	/* A numbered one that has a temporary name itself gets another when it is finished. One of
	 * its files, or of the fixed names, may be left over from a save that failed. */
	facts.open |= facts.temporary && *checkpoint->key && others == 0;
	if (facts.open)
		return facts;
	facts.witnessed = checkpoint_all(checkpoint, FILE_WITNESSED);
	facts.signature =
		match_signature(detector, checkpoint, family_of(detector, checkpoint), &kind);
	if (facts.signature != SIGNATURE_UNKNOWN && kind)
		facts.pause_ms = kind->pause_ms;
	if (facts.signature == SIGNATURE_SMALLER && !found && has_emptied(detector, checkpoint)) {
		facts.defect = true;
		facts.defect_wait_ms = 0;
	}
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
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && !(file->marks & FILE_DAMAGED))
			return true;
	return false;
}

struct judgement detector_judge(const struct detector *detector,
				const struct checkpoint *checkpoint, int64_t now_ms)
{
	struct checkpoint_facts facts = facts_of(detector, checkpoint, now_ms);
	struct judgement judgement = verdict_of(&facts);

	if (is_of_others_alone(detector, checkpoint))
		return (struct judgement){VERDICT_UNDER_WAY, REASON_OPEN, INT64_MAX};
	if (judgement.verdict == VERDICT_TORN && judgement.reason == REASON_DEFECT &&
	    leaves_something(checkpoint))
		judgement.verdict = VERDICT_COMPLETE;
	if (checkpoint->settled && judgement.verdict != VERDICT_COMPLETE && !facts.defect)
		return (struct judgement){VERDICT_COMPLETE, checkpoint->reason, INT64_MAX};
	return judgement;
}

bool detector_is_added_to(const struct detector *detector, const struct checkpoint *checkpoint)
{
	each_under_way (other, &detector->table)
		if (checkpoint->added_to && other != checkpoint &&
		    text_equal(other->added_to, checkpoint->added_to))
			return true;
	return false;
}

size_t detector_count_missing(const struct checkpoint *checkpoint)
{
	const struct signature *signature = &checkpoint->family->signature;
	auto_free struct named_file *names = NULL;
	const struct known_kind *kind;
	size_t count, missing = 0;

	if (!*checkpoint->key || checkpoint->state == CHECKPOINT_COMPLETE)
		return 0;
	names = list_files(checkpoint, &count);
	kind = signature_kind_of(signature, names, count);
	if (kind)
		(void)signature_compare(signature, kind, names, count, &missing);
	return missing;
}

/* Would it stand beside older files of its set? Of the fixed names that may be one set, only some
 * are written anew. What was not there before is in no set yet; settings are written once. */
static bool would_mix(const struct checkpoint *checkpoint)
{
	const unsigned out = FILE_RUNNING | FILE_SLOW | FILE_DAMAGED | FILE_TEMPORARY;
	bool over = false, other = false;
	size_t here = 0;

	each_file (file, checkpoint) {
		if ((file->marks & out) || companion_file_is_best(file->path))
			continue;
		here++;
		over |= (file->marks & FILE_FRESH) && !(file->marks & FILE_NEW);
		other |= !(file->marks & FILE_FRESH) && !companion_file_is(file->path);
	}
	return !*checkpoint->key && over &&
	       (other || here < checkpoint->family->signature.kinds[0].expected);
}

/* Was all that it has closed by its writer? */
static bool is_closed(const struct detector *detector, const struct checkpoint *checkpoint)
{
	return !detector_is_open(detector, checkpoint) &&
	       checkpoint_all(checkpoint, FILE_WITNESSED) && !would_mix(checkpoint);
}

/* The same, and does nothing say that more is to come? *kind: what it was compared with; NULL:
 * nothing. */
static bool is_closed_as_whole(const struct detector *detector, const struct checkpoint *checkpoint,
			       const struct known_kind **kind)
{
	return is_closed(detector, checkpoint) &&
	       match_signature(detector, checkpoint, family_of(detector, checkpoint), kind) ==
		       SIGNATURE_UNKNOWN;
}

/* Has it the files of the one before it, which is complete, or was left so by its writer? */
static bool is_as_before(const struct detector *detector, const struct checkpoint *checkpoint)
{
	const struct checkpoint *before = NULL;

	each_checkpoint (other, &detector->table)
		if (other->family == checkpoint->family && other->number < checkpoint->number &&
		    (!before || other->number > before->number))
			before = other;
	if (!before || (before->later == 0 && before->state != CHECKPOINT_COMPLETE))
		return false;
	each_file (file, before) {
		bool has = false;

		each_file (own, checkpoint)
			has |= own->name == file->name;
		if (!has)
			return false;
	}
	return true;
}

/* A number that lacks something, and is not what the save under way at the end had written: its
 * writer has gone on, from it or from one like it. */
static bool is_left_so(const struct detector *detector, const struct checkpoint *checkpoint)
{
	return *checkpoint->key && is_closed(detector, checkpoint) &&
	       (checkpoint->later > 0 || is_as_before(detector, checkpoint));
}

bool detector_may_be_whole(const struct detector *detector, const struct checkpoint *checkpoint)
{
	const struct known_kind *kind;
	size_t count;

	free(list_files(checkpoint, &count));
	return count == 1 && is_closed_as_whole(detector, checkpoint, &kind);
}

bool detector_may_be_whole_set(const struct detector *detector, const struct checkpoint *checkpoint)
{
	const struct known_kind *kind;

	return is_left_so(detector, checkpoint) ||
	       (is_closed_as_whole(detector, checkpoint, &kind) &&
		(*checkpoint->key || detector_may_be_whole(detector, checkpoint) ||
		 (!checkpoint->rewritten && !kind)));
}

/* Of more files than this the next list tells. */
#define BEGUN_MOST 64

bool detector_has_begun_all(const struct detector *detector, const struct checkpoint *checkpoint)
{
	const unsigned out = FILE_TEMPORARY | FILE_DAMAGED | FILE_SLOW;
	const struct known_kind *kind;
	enum signature_match match;
	size_t count;

	if (checkpoint->state != CHECKPOINT_UNDER_WAY || checkpoint->death == DEATH_TEARS ||
	    (*checkpoint->key && checkpoint->rewritten) || checkpoint->file_count > BEGUN_MOST ||
	    checkpoint_any(checkpoint, out) || !checkpoint_all(checkpoint, FILE_CREATED))
		return false;
	free(list_files(checkpoint, &count));
	match = match_signature(detector, checkpoint, family_of(detector, checkpoint), &kind);
	/* What is open has no size yet. */
	if (match == SIGNATURE_FULL || match == SIGNATURE_SMALLER)
		return true;
	/* In a directory of its own the next file may be still to come. */
	return match == SIGNATURE_UNKNOWN && count == 1 && !checkpoint->in_directory &&
	       !would_mix(checkpoint);
}

struct checkpoint *detector_find_provable(struct detector *detector)
{
	struct checkpoint *found = NULL;

	each_under_way (checkpoint, &detector->table) {
		if (found || !detector_may_be_whole(detector, checkpoint))
			return NULL;
		found = checkpoint;
	}
	return found;
}

bool detector_outlives_job(const struct detector *detector, const struct checkpoint *checkpoint,
			   int64_t now_ms)
{
	struct checkpoint_facts facts = facts_of(detector, checkpoint, now_ms);

	facts.job_end = JOB_END_CRASHED;
	facts.format = checkpoint_all(checkpoint, FILE_VALID) ? FORMAT_WHOLE : FORMAT_UNKNOWN;
	return !facts.temporary && !checkpoint_any(checkpoint, FILE_UNCHECKED) &&
	       verdict_of(&facts).verdict == VERDICT_COMPLETE;
}

/* Those of all saves together; none of them is forgotten. */
static void learn_all_names(struct checkpoint *fixed)
{
	auto_free struct named_file *names = memory_new((fixed->file_count + 1) * sizeof(*names));
	size_t count = 0;

	each_file (file, fixed)
		if (is_saved_name(file))
			names[count++] = (struct named_file){file->name, file->size};
	if (count > 0)
		signature_learn(&fixed->family->signature, SIGNATURE_LOADED, names, count, 0);
}

/* What came to a complete one may come to the next. */
static void learn_added(const struct detector *detector, const struct checkpoint *added)
{
	const struct tracked_file *file = added->files;
	const struct checkpoint *to = checkpoint_table_find_key(&detector->table, added->added_to);
	auto_free struct named_file *names = NULL;
	size_t count;

	if (!to || may_be_missing(to, file))
		return;
	names = list_files(to, &count);
	names[count++] = (struct named_file){file->name, file->size};
	signature_learn(&to->family->signature, to->number, names, count, to->pause_ms);
}

void detector_learn(const struct detector *detector, struct checkpoint *checkpoint)
{
	auto_free struct named_file *names = NULL;
	size_t count;

	/* Of the fixed names it is learned when one of them is written again, which are written
	 * together (detector_names.c). */
	if (!*checkpoint->key) {
		learn_all_names(checkpoint);
		return;
	}
	if (checkpoint->added_to)
		learn_added(detector, checkpoint);
	if (checkpoint_is_alone(checkpoint))
		return;
	names = list_files(checkpoint, &count);
	signature_learn(&checkpoint->family->signature, checkpoint->number, names, count,
			checkpoint->pause_ms);
	free(checkpoint->family->taught_by);
	checkpoint->family->taught_by = text_copy(checkpoint->key);
}

void detector_learn_before_removal(const struct detector *detector, struct checkpoint *checkpoint,
				   int64_t now_ms)
{
	if (*checkpoint->key && checkpoint->state == CHECKPOINT_UNDER_WAY &&
	    detector_judge(detector, checkpoint, now_ms).verdict == VERDICT_COMPLETE)
		detector_learn(detector, checkpoint);
}
