#include "put_back.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct gaps {
	int directory; /* the checkpoint directory, held open */
	struct path_list paths;
};

static void add_gap(struct gaps *gaps, const struct reconcile_facts *facts, const char *path)
{
	if (!beneath_exists(gaps->directory, path) && reconcile_may_put_back(facts, path))
		path_list_add(&gaps->paths, path);
}

static bool is_gap(void *arg, const char *path)
{
	const struct gaps *gaps = arg;

	for (size_t i = 0; i < gaps->paths.count; i++)
		if (text_equal(gaps->paths.paths[i], path))
			return true;
	return false;
}

/* `staging`: in `folder`. */
static int move_into_place(const struct gaps *gaps, int folder, const char *staging,
			   struct err *err)
{
	for (size_t i = 0; i < gaps->paths.count; i++) {
		const char *path = gaps->paths.paths[i];
		const char *slash = strrchr(path, '/');
		auto_free char *from = text_format("%s/%s", staging, path);
		auto_free char *above = text_copy_n(path, slash ? (size_t)(slash - path) : 0);

		if (slash && beneath_make_directories(gaps->directory, above, 0777, err) < 0)
			return -1;
		if (beneath_rename(folder, from, gaps->directory, path) < 0)
			return err_set(err, ERR_FAILED, "cannot rename %s", from);
	}
	return 0;
}

static int fill_gaps(struct workspace *workspace, struct storage *storage, struct snapshot_id id,
		     struct gaps *gaps, struct cancel *cancel, struct err *err)
{
	auto_free char *staging = workspace_new_staging(workspace, err);
	struct restore_request request = {
		.id = id,
		.directory = staging,
		.within = workspace->folder,
		.include = is_gap,
		.arg = gaps,
	};
	struct restore_result result;
	int status;

	if (!staging)
		return -1;
	status = storage_restore(storage, &request, &result, cancel, err);
	if (status == 0)
		status = move_into_place(gaps, workspace->folder, staging, err);
	(void)beneath_remove_tree(workspace->folder, staging, NULL);
	return status;
}

void put_back_written_over(struct workspace *workspace, struct storage *storage,
			   const struct reconcile_facts *facts, const struct reconcile_plan *plan,
			   struct cancel *cancel)
{
	auto_close int directory = workspace_open_directory(workspace, NULL);
	struct gaps gaps = {.directory = directory};
	char id[SNAPSHOT_ID_TEXT];
	struct err err;

	if (directory < 0)
		return;
	/* Of a number that was being deleted, what was left would come back without the rest. */
	for (size_t i = 0; i < plan->torn_count; i++)
		if (plan->torn[i].reason != TORN_REDUCED)
			add_gap(&gaps, facts, plan->torn[i].path);
	for (char *const *path = facts->moved; path && *path; path++)
		add_gap(&gaps, facts, *path);
	if (gaps.paths.count == 0)
		return;
	snapshot_id_format(facts->start, id);
	if (fill_gaps(workspace, storage, facts->start, &gaps, cancel, &err) < 0)
		log_warn("%s was torn, and could not be put back from snapshot %s: %s",
			 gaps.paths.paths[0], id, err.text);
	else if (gaps.paths.count == 1)
		log_note("%s is put back from snapshot %s", gaps.paths.paths[0], id);
	else
		log_note("%s and %zu more are put back from snapshot %s", gaps.paths.paths[0],
			 gaps.paths.count - 1, id);
	path_list_free(gaps.paths.paths);
}
