#include "snapshot_plan.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "detector.h"

#include <stdlib.h>

void snapshot_plan_make(struct snapshot_plan *plan, const struct detector *detector,
			const char *newest)
{
	*plan = (struct snapshot_plan){
		.generation = detector->generation,
		.running_generation = detector->running_generation,
		.excluded = detector_list(detector, detector_each_excluded),
		.running = detector_list(detector, detector_each_running),
		.key = text_copy(newest ? newest : ""),
		.dropped = memory_new(sizeof(char *)),
	};
}

void snapshot_plan_release(struct snapshot_plan *plan)
{
	path_list_free(plan->excluded);
	path_list_free(plan->running);
	path_list_free(plan->dropped);
	free(plan->key);
	*plan = (struct snapshot_plan){0};
}

bool snapshot_plan_confirm(struct snapshot_plan *plan, const struct detector *detector,
			   bool last_try)
{
	struct path_list dropped = {.paths = NULL};

	if (detector->generation == plan->generation)
		return true;
	dropped.paths = memory_new(sizeof(char *));
	detector_each_changed(detector, plan->generation, path_list_add, &dropped);
	path_list_free(plan->dropped);
	plan->dropped = dropped.paths;
	if (*plan->key && detector_has_changed(detector, plan->key, plan->generation))
		return false;
	/* The newest complete checkpoint is the fixed names: without them there is nothing new. */
	if (!*plan->key)
		last_try = false;
	return last_try || !detector_has_changed(detector, "", plan->generation);
}

bool snapshot_plan_lists(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (path_set_is_below(path, *paths))
			return true;
	return false;
}
