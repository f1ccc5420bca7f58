/* What is written by processes that do not speak: only the kernel tells of it, and who they are
 * has to be found. */
#include "detector.h"

bool detector_has_untracked(const struct detector *detector)
{
	const struct writer_table *writers = &detector->burst.writers;

	/* Who has a number of another namespace, and a file open, has spoken; but
	 * who it is has to be found. */
	for (size_t i = 0; writers->open_count > 0 && i < writers->process_count; i++)
		if (writers->processes[i].elsewhere)
			return true;
	return path_set_any(&detector->burst.paths, WRITE_BURST_WRITTEN);
}

void detector_writer_seen(struct detector *detector, int pid)
{
	if (detector->burst.active)
		writer_table_add(&detector->burst.writers, pid);
}

bool detector_waits_for_untracked(const struct detector *detector, int64_t now_ms)
{
	const struct write_burst *burst = &detector->burst;

	return burst->active && burst->writers.open_count == 0 &&
	       detector_has_untracked(detector) && now_ms >= write_burst_over_at_ms(burst);
}

void detector_each_untracked(const struct detector *detector, path_set_fn *act, void *argument)
{
	path_set_each(&detector->burst.paths, WRITE_BURST_WRITTEN, act, argument);
}

void detector_all_closed(struct detector *detector)
{
	path_set_change_all(&detector->burst.paths, WRITE_BURST_WRITTEN, WRITE_BURST_WRITTEN, 0);
}
