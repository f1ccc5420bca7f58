#include "latest_seal.h"

#include "run_log.h"
#include "save_shape.h"
#include "step.h"

void latest_seal_init(struct latest_seal *latest)
{
	*latest = (struct latest_seal){.step = -1, .next_step = -1};
}

void latest_seal_saw_step(struct latest_seal *latest, int64_t step)
{
	if (step > latest->next_step)
		latest->next_step = step;
}

bool latest_seal_saw_path(struct latest_seal *latest, const char *path)
{
	if (run_log_matches(path))
		return false;
	latest_seal_saw_step(latest, step_of_path(path));
	return true;
}

static void saw_path(void *argument, const char *path)
{
	latest_seal_saw_path(argument, path);
}

void latest_seal_take(struct latest_seal *latest, const struct sealing *sealing, bool complete)
{
	/* Of the numbered ones in it the last is torn: it gives no number to the rest. */
	if (sealing_is_spared(sealing)) {
		latest->next_step = -1;
		sealing_each_closed(sealing, saw_path, latest);
	}
	latest->generation = sealing_generation(sealing);
	latest->step = latest->next_step;
	latest->fresh = sealing_first_open_ms(sealing) != SEALING_NEVER;
	latest->next_step = -1;
	if (complete)
		latest->shape = save_shape_of(sealing);
}

bool latest_seal_is_like(const struct latest_seal *latest, const struct sealing *sealing)
{
	return latest->shape != 0 && save_shape_of(sealing) == latest->shape;
}
