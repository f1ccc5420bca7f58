/* What is written by processes that do not speak: only the kernel tells of it, and who they are has to be found. */
#include "detector.h"

bool sealing_is_unseen(const struct sealing *sealing)
{
	const struct writers *writers = &sealing->burst.writers;

	/* Who has a number of another namespace, and a file open, has spoken; but who it is has to be found. */
	for (size_t i = 0; writers->open_count > 0 && i < writers->process_count; i++)
		if (writers->processes[i].elsewhere)
			return true;
	return path_set_any(&sealing->burst.paths, BURST_WRITTEN);
}

void sealing_sighted(struct sealing *sealing, int pid)
{
	if (sealing->burst.active)
		writers_add(&sealing->burst.writers, pid);
}

bool sealing_waits_for_unseen(const struct sealing *sealing, int64_t now_ms)
{
	const struct burst *burst = &sealing->burst;

	return burst->active && burst->writers.open_count == 0 && sealing_is_unseen(sealing) &&
	       now_ms >= burst_over_at_ms(burst);
}

void sealing_each_unseen(const struct sealing *sealing, path_set_fn *act, void *argument)
{
	path_set_each(&sealing->burst.paths, BURST_WRITTEN, act, argument);
}

void sealing_nobody_writes(struct sealing *sealing)
{
	path_set_change_all(&sealing->burst.paths, BURST_WRITTEN, BURST_WRITTEN, 0);
}
