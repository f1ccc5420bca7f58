#include "latest_checkpoint.h"

#include "save_signature.h"
#include "workspace/workspace.h"

void latest_checkpoint_init(struct latest_checkpoint *latest)
{
	*latest = (struct latest_checkpoint){.step = -1, .next_step = -1};
}

void latest_checkpoint_note_step(struct latest_checkpoint *latest, int64_t step)
{
	if (step > latest->next_step)
		latest->next_step = step;
}

struct step_search {
	int64_t step;
	latest_checkpoint_is_there_fn *is_there;
	void *arg;
};

static void note_path_step(void *argument, const char *path)
{
	struct step_search *numbering = argument;
	int64_t step = log_files_match(path) ? -1 : step_of_path(path);

	if (step > numbering->step && numbering->is_there(numbering->arg, path))
		numbering->step = step;
}

void latest_checkpoint_update(struct latest_checkpoint *latest, const struct detector *detector,
			      bool complete, latest_checkpoint_is_there_fn *is_there, void *arg)
{
	struct step_search numbering = {
		.step = latest->next_step,
		.is_there = is_there,
		.arg = arg,
	};

	/* The writer reported the number of its last checkpoint, which is the torn one. */
	if (detector_accepted_previous(detector))
		numbering.step = -1;
	detector_each_closed(detector, note_path_step, &numbering);
	latest->generation = detector_generation(detector);
	latest->written_ms = detector_last_ms(detector);
	latest->step = numbering.step;
	latest->fresh = detector_first_open_ms(detector) != DETECTOR_NEVER;
	latest->next_step = -1;
	if (complete)
		latest->signature = save_signature_of(detector);
}

bool latest_checkpoint_is_like(const struct latest_checkpoint *latest,
			       const struct detector *detector)
{
	/* The numbers may be those of one save's parts. Then the second signature, which leaves out
	 * the earlier ones, can match only if the last save left them out too. */
	return latest->signature != 0 && (save_signature_of(detector) == latest->signature ||
					  save_signature_of_newest(detector) == latest->signature);
}
