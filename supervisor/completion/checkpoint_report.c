#include "checkpoint_report.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>

/* Of the paths of one list. */
#define PATHS_MOST 10

static const char *const state_names[] = {
	[CHECKPOINT_EMPTY] = "empty",
	[CHECKPOINT_UNDER_WAY] = "under way",
	[CHECKPOINT_COMPLETE] = "complete",
	[CHECKPOINT_TORN] = "torn",
};

static void add_path(json_t *list, const char *path)
{
	json_t *text = json_array_size(list) < PATHS_MOST ? json_string(path) : NULL;

	/* NULL: there are many; or the path is no UTF-8. */
	if (text)
		json_array_append_new(list, text);
}

static json_t *describe_checkpoint(const struct detector *detector,
				   const struct checkpoint *checkpoint)
{
	int64_t step = checkpoint->step >= 0 ? checkpoint->step : checkpoint->number;
	json_t *name = json_string(*checkpoint->key ? checkpoint->key : "(fixed names)");
	json_t *open = json_array(), *incomplete = json_array();
	enum verdict_reason reason =
		checkpoint->state == CHECKPOINT_UNDER_WAY
			? verdict_reason_shown(VERDICT_UNDER_WAY, checkpoint->reason)
			: checkpoint->reason;

	each_file (file, checkpoint) {
		if (!(file->marks & FILE_RUNNING) && detector_file_is_open(detector, file))
			add_path(open, file->path);
		if (file->marks & FILE_DAMAGED)
			add_path(incomplete, file->path);
	}

	return json_pack("{s:o, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "checkpoint",
			 /* a path that is no UTF-8 */
			 name ? name : json_string("?"), "verdict", state_names[checkpoint->state],
			 "reason", verdict_reason_name(reason), "why", verdict_reason_text(reason),
			 "step", (json_int_t)step, "files", (json_int_t)checkpoint->file_count,
			 "missing", (json_int_t)detector_count_missing(checkpoint), "open", open,
			 "incomplete", incomplete);
}

json_t *checkpoint_report(const struct detector *detector)
{
	json_t *list = json_array();

	each_checkpoint (checkpoint, &detector->table)
		if (checkpoint->state != CHECKPOINT_EMPTY &&
		    !(checkpoint_is_of_stream(checkpoint) &&
		      checkpoint->state == CHECKPOINT_COMPLETE))
			json_array_append_new(list, describe_checkpoint(detector, checkpoint));
	return list;
}
