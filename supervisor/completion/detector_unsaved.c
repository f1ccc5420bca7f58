/* What the job has written since its newest complete save, and went on: see detector.h. */
#include "detector_parts.h"

/* A save may write a fixed name twice, and its end may cut it off in the next one. */
#define FIXED_WRITES 3

void detector_note_begun(struct checkpoint *checkpoint)
{
	struct family *family = checkpoint->family;

	/* The rest of the same one, after its first part was decided. */
	if (family->begun > 0 && family->begun_number == checkpoint->number)
		return;
	family->begun_before = family->begun;
	family->begun = checkpoint->save;
	family->begun_number = checkpoint->number;
}

void detector_note_decided(struct detector *detector, struct checkpoint *checkpoint,
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

/* Of numbers that may be parts of one, nobody knows whether another save was begun. */
static bool went_on_after_numbered(const struct checkpoint *checkpoint)
{
	const struct family *family = checkpoint->family;

	return checkpoint->save > family->over &&
	       (family->given_up > family->over ||
		(family->sure && family->begun_before > family->over));
}

static bool went_on_after_fixed(const struct detector *detector, const struct tracked_file *file)
{
	uint64_t count = 0;

	for (uint64_t i = detector_first_write(detector); i < detector->write_count; i++)
		count += i >= detector->writes_complete &&
			 detector_write_at(detector, i)->name == file->name;
	return detector->writes_complete > 0 && count >= FIXED_WRITES;
}

void detector_each_unsaved(const struct detector *detector, path_set_fn *act, void *argument)
{
	each_checkpoint (checkpoint, &detector->table)
		each_file (file, checkpoint) {
			if (!(file->marks & FILE_DAMAGED) ||
			    checkpoint_name_is_temporary(file->path))
				continue;
			if (*checkpoint->key ? went_on_after_numbered(checkpoint)
					     : went_on_after_fixed(detector, file))
				act(argument, file->path);
		}
}

const char *detector_why(const struct detector *detector, const char *path)
{
	const struct tracked_file *file = checkpoint_table_find(&detector->table, path);
	bool rejected = file && (file->marks & FILE_REJECTED);

	/* A fixed name may be rejected while the others are complete. */
	return verdict_reason_text(rejected ? REASON_DEFECT : REASON_DIED);
}
