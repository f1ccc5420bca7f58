#include "start_restore.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress_bar.h"
#include "place_checkpoint.h"
#include "quarantine.h"
#include "reconcile.h"
#include "salvage.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>

/* Records all files in the directory as complete: they are exactly those of the snapshot. */
static int write_completion_record(const struct resume_request *request,
				   const struct resume_result *result, struct err *err)
{
	auto_(completion_record_release) struct completion_record record = {0};

	record.job = text_copy(request->job);
	record.id = result->from;
	if (workspace_list_files(request->workspace, &record.files, err) < 0)
		return -1;
	return workspace_write_record(request->workspace, &record, err);
}

/* One restore, for its callbacks. */
struct restoring {
	struct progress_bar progress;
	const struct path_set *left_out;
};

static bool is_restored(void *arg, const char *path)
{
	const struct restoring *restoring = arg;

	return path_set_marks(restoring->left_out, path) == 0;
}

static void update_progress(void *arg, uint64_t done, uint64_t total)
{
	struct restoring *restoring = arg;

	progress_bar_update(&restoring->progress, done, total);
}

static void remove_left_out(const struct path_set *left_out, struct snapshot_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->count; i++)
		if (path_set_marks(left_out, files->items[i].path))
			free(files->items[i].path);
		else
			files->items[kept++] = files->items[i];
	files->count = kept;
}

/* All of the snapshot but what is left out. */
static int stage_snapshot(const struct resume_request *request, struct resume_result *result,
			  const struct path_set *left_out, const char *staging,
			  struct snapshot_files *files, struct cancel *cancel, struct err *err)
{
	struct restoring restoring = {.left_out = left_out};
	struct restore_request restore = {
		.id = result->attempt.start,
		.directory = staging,
		.within = request->workspace->folder,
		.seed = request->workspace->held,
		.link_seed = true,
		/* After a crash the record is of another boot: then it is compared again. */
		.unsynced = true,
		.include = is_restored,
		.files = files,
		.progress = update_progress,
		.arg = &restoring,
	};
	int status;

	progress_bar_start(&restoring.progress, "restoring");
	status = storage_restore(result->storage, &restore, &result->restored, cancel, err);
	progress_bar_stop(&restoring.progress);
	remove_left_out(left_out, files);
	return status;
}

/* Of the parts of several members. */
static void log_clashes(const struct restore_result *restored, bool shared)
{
	if (restored->clashes > 0)
		log_warn("%u file%s of the same name but with other content at another member (%s "
			 "of member %u was taken, and not that of member %u): if each member is to "
			 "have its own files alone, %s",
			 restored->clashes, restored->clashes == 1 ? " is" : "s are",
			 restored->clash_path, restored->clash_kept, restored->clash_left,
			 shared ? "give each a --checkpoint-dir of its own" : "use --parts own");
}

/* Nobody is to go on from what is torn. */
static void log_torn_aside(const struct workspace *workspace, const struct files_aside *here,
			   const char *aside)
{
	char more[64] = "";

	if (here->torn_count > 1)
		snprintf(more, sizeof(more), " (and %zu more like that)", here->torn_count - 1);
	if (here->torn)
		log_warn("%s/%s %s%s: %s; the snapshot takes its place, and it was moved to %s",
			 workspace->directory, here->torn, torn_reason_verb(here->reason), more,
			 torn_reason_text(here->reason), aside);
	/* Where others are usable, how to go on from all of them is said behind this. */
	if (here->torn && here->reason == TORN_HALF && here->usable == 0 && !here->of_two_saves)
		quarantine_log_way_back(workspace, aside);
}

/* Nothing that may be whole is lost in silence. (A gang goes on from what all have alone: what of
 * this all have, one member does not know.) */
static void log_moved_aside(const struct workspace *workspace, bool of_gang,
			    const struct files_aside *here, const char *aside)
{
	const char *but = here->torn ? " without what is torn" : "";
	auto_free char *back = quarantine_command_back(workspace, aside);
	char what[80] = "";

	log_torn_aside(workspace, here, aside);
	if (here->torn && here->usable == 0)
		return;
	if (here->step >= 0)
		snprintf(what, sizeof(what), ", up to step %lld%s", (long long)here->step,
			 here->newer ? ", which is newer" : "");
	else if (here->newer)
		text_set(what, sizeof(what), ", and are newer");
	if (of_gang)
		log_warn("%s held files that are not in the snapshot%s%s; they were moved to %s. "
			 "To go on from them, if a step in there has the files of all ranks: "
			 "end all members, cp -a that step's into a new directory, and start all "
			 "once with --restore none and that --checkpoint-dir",
			 workspace->directory, what,
			 here->newer ? ", but which the members had not committed together" : "",
			 aside);
	else
		log_warn("%s held files that are not in the snapshot%s; they were moved to %s. To "
			 "go on from them%s, end this run, %s, and start it once with --restore "
			 "none",
			 workspace->directory, what, aside, but, back);
}

static int restore_snapshot(const struct resume_request *request, struct resume_result *result,
			    const struct files_aside *here, const struct path_set *left_out,
			    struct cancel *cancel, struct err *err)
{
	struct workspace *workspace = request->workspace;
	auto_free char *staging = workspace_new_staging(workspace, err);
	auto_free char *aside = NULL;
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	int64_t began = clock_monotonic_ms();

	if (!staging)
		return -1;
	result->from = result->attempt.start;
	/* The store has it nowhere as a whole. */
	result->newer_than_store = result->attempt.start_is_damaged;
	if (stage_snapshot(request, result, left_out, staging, &files, cancel, err) < 0) {
		(void)beneath_remove_tree(workspace->folder, staging, NULL);
		return -1;
	}
	if (workspace_install(workspace, staging, &files, request->patterns, &aside, err) < 0)
		return -1;
	if (aside)
		log_moved_aside(workspace, request->gang.members > 1, here, aside);
	log_clashes(&result->restored, result->sharers != NULL);
	/* The snapshot may come from a run that did not check files. */
	if (request->looks && quarantine_torn(workspace, request->profile, request->patterns,
					      request->gang.member > 0, NULL, NULL, err) < 0)
		return -1;
	/* A snapshot also holds empty directories, such as that of the next checkpoint, created
	 * before its files. */
	workspace_prune(workspace);
	result->kind = RESUME_RESTORED;
	result->step = result->restored.step;
	result->milliseconds = clock_monotonic_ms() - began;
	return write_completion_record(request, result, err);
}

/* --- of a damaged snapshot --- */

static void add_lost_file(void *arg, const char *path)
{
	path_list_add(arg, path);
}

static void log_salvage(const char *id, const struct path_set *left_out,
			const struct path_list *lost)
{
	log_warn("snapshot %s is damaged, and so is every older one: its newest checkpoint is "
		 "whole and is restored, without %zu file%s of older checkpoints or that are "
		 "written all the time (%s%s)",
		 id, left_out->count, left_out->count == 1 ? "" : "s", lost->paths[0],
		 left_out->count > 1 ? ", ..." : "");
}

/* There is no whole snapshot. If that does not concern the newest checkpoint of the newest one, the
 * job goes on from it; everything else is for the user to decide. */
static int salvage_start(const struct resume_request *request, struct resume_result *result,
			 const struct files_aside *here, struct cancel *cancel, struct err *err)
{
	struct snapshot_id id = result->attempt.start;
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_(path_set_release) struct path_set left_out = {0};
	struct path_list lost = {0};
	struct verify_request verify = {.id = id, .lost = add_lost_file, .arg = &lost};
	struct verify_result verified;
	struct err damage = *err;
	char text[SNAPSHOT_ID_TEXT];
	const char *why, *path;
	int status = -1;

	snapshot_id_format(id, text);
	log_note("snapshot %s is damaged: reading all of it, to see what is whole", text);
	if (storage_list_files(result->storage, id, &files, cancel, &damage) == 0 &&
	    storage_verify(result->storage, &verify, &verified, cancel, &damage) == 0) {
		if (lost.count == 0)
			damage = *err;
		else if (!salvage_decide(&files, &lost, request->patterns, &left_out, &why, &path))
			err_set(&damage, ERR_CORRUPT, "%s, %s", path, why);
		else
			status =
				restore_snapshot(request, result, here, &left_out, cancel, &damage);
	}
	if (status == 0)
		log_salvage(text, &left_out, &lost);
	path_list_free(lost.paths);
	result->all_damaged =
		status < 0 && (damage.kind == ERR_CORRUPT || damage.kind == ERR_NOT_FOUND);
	*err = damage;
	return status < 0 ? err_wrap(err, "snapshot %s", text) : 0;
}

int start_restore(const struct resume_request *request, struct resume_result *result,
		  const struct files_aside *here, struct cancel *cancel, struct err *err)
{
	static const struct path_set nothing;
	struct snapshot_id id = result->attempt.start;
	char text[SNAPSHOT_ID_TEXT];

	if (restore_snapshot(request, result, here, &nothing, cancel, err) == 0)
		return 0;
	if ((err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND) ||
	    request->policy == RESTORE_SPECIFIC || request->gang.members > 1) {
		err_wrap(err, "restoring snapshot %s", snapshot_id_format(id, text));
		return resume_refuse_named(request, result, cancel, err);
	}
	if (result->attempt.start_is_damaged)
		return salvage_start(request, result, here, cancel, err);
	resume_note_damaged(result, id, err->text);
	return 0;
}
