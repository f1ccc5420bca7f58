#include "latest_checkpoint.h"

#include "workspace/workspace.h"
#include "save_signature.h"

void latest_seal_init(struct latest_seal *latest)
{
	*latest = (struct latest_seal){.step = -1, .next_step = -1};
}

void latest_seal_saw_step(struct latest_seal *latest, int64_t step)
{
	if (step > latest->next_step)
		latest->next_step = step;
}

struct numbering {
	int64_t step;
	latest_seal_is_there_fn *is_there;
	void *arg;
};

static void saw_path(void *argument, const char *path)
{
	struct numbering *numbering = argument;
	int64_t step = run_log_matches(path) ? -1 : step_of_path(path);

	if (step > numbering->step && numbering->is_there(numbering->arg, path))
		numbering->step = step;
}

void latest_seal_take(struct latest_seal *latest, const struct sealing *sealing, bool complete,
	latest_seal_is_there_fn *is_there, void *arg)
{
	struct numbering numbering = {.step = latest->next_step, .is_there = is_there, .arg = arg};

	/* Of the numbered ones in it the last is torn: it gives no number to the rest. */
	if (sealing_is_spared(sealing))
		numbering.step = -1;
	sealing_each_closed(sealing, saw_path, &numbering);
	latest->generation = sealing_generation(sealing);
	latest->written_ms = sealing_last_ms(sealing);
	latest->step = numbering.step;
	latest->fresh = sealing_first_open_ms(sealing) != SEALING_NEVER;
	latest->next_step = -1;
	if (complete)
		latest->shape = save_shape_of(sealing);
}

bool latest_seal_is_like(const struct latest_seal *latest, const struct sealing *sealing)
{
	/* Numbers may be those of one save's parts: what is left out now must not have counted then. */
	return latest->shape != 0 && (save_shape_of(sealing) == latest->shape ||
					     save_shape_of_newest(sealing) == latest->shape);
}
