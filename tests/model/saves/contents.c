/* What of the directory is in a snapshot, by upload/snapshot_contents.c, without a directory. */
#include "driver.h"

#include "upload/snapshot_run.h"

struct contents {
	struct workspace workspace;
	struct snapshot_queue queue;
	struct snapshot_run run;
};

struct contents *contents_new(void)
{
	struct contents *contents = memory_new(sizeof(*contents));

	workspace_init(&contents->workspace, "/nonexistent/simulated");
	contents->queue.options.workspace = &contents->workspace;
	contents->queue.databases.workspace = &contents->workspace;
	contents->run.owner = &contents->queue;
	return contents;
}

void contents_free(struct contents *contents)
{
	if (!contents)
		return;
	snapshot_plan_release(&contents->run.plan);
	path_set_release(&contents->run.walked.paths);
	path_list_free(contents->run.matched.paths);
	path_list_free(contents->run.read.paths.paths);
	path_list_free(contents->run.read.texts.paths);
	path_set_release(&contents->run.walked.numbers);
	path_set_release(&contents->run.deleted);
	database_copies_release(&contents->queue.databases);
	workspace_release(&contents->workspace);
	free(contents);
}

struct snapshot_plan *contents_plan(struct contents *contents)
{
	return &contents->run.plan;
}

bool contents_walked(struct contents *contents)
{
	contents->run.confirmed = true;
	return snapshot_note_deleted(&contents->run);
}

/* The plan would hold less than the snapshot before, and none is made. */
SIM int contents_holds_less(const struct contents *contents)
{
	return contents->run.plan.holds_less;
}

/* For each file that is there, before and after the plan is confirmed. */
SIM int contents_excludes(struct contents *contents, const char *path)
{
	return snapshot_excludes(&contents->run, path);
}

/* A small file, as in snapshot_read_pointers(); contents_drop_pointers() once it is confirmed. */
SIM void contents_read(struct contents *contents, const char *path, const char *text)
{
	if (checkpoint_name_parse(path).number >= 0 ||
	    file_patterns_kind(NULL, path) != FILE_KIND_ORDINARY ||
	    snapshot_leaves_out(&contents->run, path))
		return;
	path_list_add(&contents->run.read.paths, path);
	path_list_add(&contents->run.read.texts, text);
}

SIM void contents_drop_pointers(struct contents *contents)
{
	snapshot_drop_pointers(&contents->run);
}

SIM int contents_is_running(struct contents *contents, const char *path)
{
	return snapshot_is_running_path(&contents->run, path);
}

/* Does what the snapshot before had under this path stay, if it is not there now? */
SIM int contents_carries(struct contents *contents, const char *path)
{
	return snapshot_carries_any(&contents->run) && snapshot_carries(&contents->run, path);
}

/* Asked of all that it has: is it made for this file? */
SIM int contents_wants(struct contents *contents, const char *path)
{
	return snapshot_is_wanted(&contents->run, path);
}
