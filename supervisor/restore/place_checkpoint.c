/* Which checkpoint the job finds: the store's, put into place, or the one that lies here. */
#include "place_checkpoint.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "left_file.h"
#include "put_back.h"
#include "quarantine.h"
#include "reconcile.h"
#include "resharding.h"
#include "start_restore.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

static bool is_moved(const struct reconcile_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->torn_count; i++)
		if (text_equal(path, plan->torn[i].path))
			return true;
	return false;
}

/* The highest step among the files that stay and are no logs. The number of a picture is none. */
static int64_t newest_step(const struct file_patterns *patterns, const struct snapshot_files *files,
			   const struct reconcile_plan *plan)
{
	int64_t newest = -1;

	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->items[i].path;
		int64_t step = step_of_path(path);

		if (step > newest && file_patterns_kind(patterns, path) == FILE_KIND_ORDINARY &&
		    !companion_file_is(path) && !is_moved(plan, path))
			newest = step;
	}
	return newest;
}

static bool plan_keeps_anything(const struct file_patterns *patterns,
				const struct snapshot_files *local,
				const struct reconcile_plan *plan)
{
	for (size_t i = 0; i < local->count; i++)
		if (file_patterns_kind(patterns, local->items[i].path) == FILE_KIND_ORDINARY &&
		    !is_moved(plan, local->items[i].path))
			return true;
	return false;
}

/* Of the job that ran last in this directory: to the script, its files are as good as its own. */
static void log_other_job(const struct resume_request *request, const struct reconcile_facts *facts,
			  enum reconcile_action action, const char *other)
{
	const char *directory = request->workspace->directory;
	char id[SNAPSHOT_ID_TEXT];

	if (facts->of_other && action == RECONCILE_KEEP)
		log_note("%s holds newer files, of job %s; this job goes on from them and not from "
			 "its newest snapshot (--restore %s goes back to that; --job NAME keeps "
			 "jobs apart)",
			 directory, other, snapshot_id_format(facts->start, id));
	else
		log_note("%s held files of job %s: %s (a --checkpoint-dir of its own keeps jobs "
			 "apart)",
			 directory, other,
			 action == RECONCILE_RESTORE
				 ? "this job goes on from its own snapshot, and what that does not "
				   "hold was moved aside"
				 : "they stay, this job finds them, and its snapshots hold them");
}

/* `of_earlier_start`: else what lies there was put there by hand, be it a pretrained model: a
 * number in its name counts nothing of this job. */
static int keep_local(const struct resume_request *request, struct resume_result *result,
		      const struct reconcile_plan *plan, const struct snapshot_files *local,
		      bool of_earlier_start, struct err *err)
{
	if (quarantine_files(request->workspace, plan->torn, plan->torn_count, err) < 0)
		return -1;
	if (plan->broken)
		log_warn("%s/%s was being written over when the last job here ended, and no "
			 "snapshot has what it was: it stays as it is",
			 request->workspace->directory, plan->broken);
	if (plan->prune)
		workspace_prune(request->workspace);
	/* Nothing is left: the job must not be told that it resumes (REPRIEVE_RESUMING). */
	if (plan->torn_count > 0 && !plan_keeps_anything(request->patterns, local, plan))
		return 0;
	result->kind = RESUME_KEPT;
	result->from = result->attempt.start;
	result->newer_than_store = plan->newer_than_store ||
				   (plan->any_checkpoint && result->attempt.start_is_damaged);
	if (of_earlier_start)
		result->step = newest_step(request->patterns, local, plan);
	return 0;
}

/* The restart rules have chosen another snapshot than the newest: the local files are not used. */
static bool starts_elsewhere(const struct resume_result *result)
{
	return !snapshot_id_is_none(result->attempt.suspect) ||
	       result->attempt_outcomes.decision.action == RESTART_REVERT;
}

/* What lies here, and what the last supervisor here left. */
struct local_facts {
	struct snapshot_files files;
	struct completion_record record;
	struct path_list moved, under_way;
	struct path_set whole; /* by their format */
	/* An earlier start has left them, of whatever job: there is a record. */
	bool of_earlier_start;
};

static void local_facts_release(struct local_facts *local)
{
	snapshot_files_release(&local->files);
	completion_record_release(&local->record);
	path_list_free(local->moved.paths);
	path_list_free(local->under_way.paths);
	path_set_release(&local->whole);
}
AUTO(struct local_facts, local_facts_release);

static void read_local_record(const struct resume_request *request, bool left,
			      struct local_facts *local, struct reconcile_facts *facts)
{
	static const struct snapshot_files nothing;
	char boot[40];
	struct err why;

	workspace_read_boot(boot);

	/* A record of another job also says which files are complete, but its number cannot be
	 * compared with this job's snapshots. Where somebody has named the job, that one's files
	 * are none of its own. */
	facts->complete_id = (struct snapshot_id){0, 1};
	if (local->files.count == 0)
		return;
	local->of_earlier_start =
		workspace_read_record(request->workspace, &local->record, &why) == 0 ||
		why.kind != ERR_NOT_FOUND;
	if (local->record.job) {
		bool own = text_equal(local->record.job, request->job);

		facts->of_other =
			!own && !request->named && local->record.unnamed && facts->snapshot;
		if (own || facts->of_other || !facts->snapshot)
			facts->complete = &local->record.files;
		if (own)
			facts->complete_id = local->record.id;
		facts->rebooted = boot[0] && !text_equal(local->record.boot, boot);
		facts->abandoned = own && left;
	} else if (local->of_earlier_start) {
		/* An unreadable record: an earlier attempt wrote these files, and none of them is
		 * known to be complete. */
		log_warn("cannot tell which files in %s are complete: %s",
			 request->workspace->directory, why.text);
		facts->complete = &nothing;
	}
}

/* `left`: on purpose (struct attempt). */
static int read_local_facts(const struct resume_request *request, bool left,
			    struct local_facts *local, struct reconcile_facts *facts,
			    struct err *err)
{
	struct left_files left_files = {.here = &local->files, .snapshot = facts->snapshot};
	bool rebooted = false;
	struct err why;

	if (request->looks &&
	    quarantine_torn(request->workspace, request->profile, request->patterns,
			    request->gang.member > 0, &local->moved, &local->whole, err) < 0)
		return -1;
	if (workspace_list_files(request->workspace, &local->files, err) < 0)
		return -1;
	if (local->files.count > 0 &&
	    workspace_read_under_way(request->workspace, &local->under_way, &rebooted, &why) < 0) {
		log_warn("cannot tell which files in %s were being written when the last job here "
			 "ended: %s; they stay as they are",
			 request->workspace->directory, why.text);
	}
	facts->local = &local->files;
	facts->moved = local->moved.paths;
	facts->whole = &local->whole;
	read_local_record(request, left, local, facts);
	/* Before the first checkpoint is complete there is no record, but there is a list. */
	facts->rebooted |= rebooted;
	left_files.record = &local->record.files;
	left_files.moved = local->moved.paths;
	left_files.whole = &local->whole;
	left_files.rebooted = facts->rebooted;
	left_files_settle(&local->under_way, &left_files);
	facts->under_way = local->under_way.paths;
	return 0;
}

/*
 * The members of a gang go on from what all have, and from nothing else: what lies here may be
 * newer, or a copy of it, which is found equal. Without a snapshot, or with --restore none, what an
 * earlier start has left here is moved aside; what was put here by hand stays, and no member says
 * that it resumes.
 */
static int place_for_gang(const struct resume_request *request, struct resume_result *result,
			  const struct local_facts *local, struct reconcile_plan *plan,
			  struct err *err)
{
	static const struct snapshot_files nothing;
	auto_free char *aside = NULL, *staging = NULL;

	plan->newer_than_store = false;
	if (!snapshot_id_is_none(result->attempt.start)) {
		plan->action = RECONCILE_RESTORE;
		return 0;
	}
	plan->action = RECONCILE_FRESH;
	plan->any_checkpoint = false;
	if (!local->of_earlier_start)
		return 0;
	staging = workspace_new_staging(request->workspace, err);
	if (!staging ||
	    beneath_make_directories(request->workspace->folder, staging, 0700, err) < 0 ||
	    workspace_install(request->workspace, staging, &nothing, request->patterns, &aside,
			      err) < 0)
		return -1;
	if (aside)
		log_warn("%s held files of an earlier start, from which the gang does not go on; "
			 "they were moved to %s (to go on from them, a step with the files of all "
			 "ranks has to be copied into a new --checkpoint-dir)",
			 request->workspace->directory, aside);
	return 0;
}

/* Now this start is of another number of machines than the snapshot, or one of one. */
static int take_all_parts(const struct resume_request *request, struct resume_result *result,
			  const struct err *unfit, struct cancel *cancel, struct err *err)
{
	struct snapshot_id id = result->attempt.start;
	auto_(gang_files_release) struct gang_files all = {0};
	struct resharding resharding;
	char text[SNAPSHOT_ID_TEXT];

	if (storage_gang_list_files(result->storage, id, &all, cancel, err) < 0)
		return -1;
	resharding = resharding_judge(&all);
	if (!resharding.fits)
		return err_set(err, ERR_UNFIT,
			       "%s. To go on with %u all the same, give each the files of all "
			       "with --parts all; that the job can read them so, nothing says: %s",
			       unfit->text, request->gang.members, resharding.why);
	log_note("snapshot %s was taken by %u machine%s, and now there %s %u: %s",
		 snapshot_id_format(id, text), all.members ? all.members : 1,
		 all.members > 1 ? "s" : "", request->gang.members > 1 ? "are" : "is",
		 request->gang.members,
		 request->gang.members > 1 ? "each gets the files of all"
					   : "it gets the files of all");
	storage_gang_choose_parts(result->storage, GANG_PARTS_ALL);
	return 0;
}

/* The files of what the attempt starts from, as they are to be restored. */
static int list_start(const struct resume_request *request, struct resume_result *result,
		      struct snapshot_files *files, struct cancel *cancel, struct err *err)
{
	struct snapshot_id id = result->attempt.start;
	struct err unfit;

	storage_gang_choose_parts(result->storage, request->parts);
	if (storage_list_files(result->storage, id, files, cancel, err) == 0) {
		if (request->gang.members == 1 || request->parts != GANG_PARTS_AUTO ||
		    !resharding_needs_all(files))
			return 0;
		snapshot_files_release(files);
		storage_gang_choose_parts(result->storage, GANG_PARTS_ALL);
		return storage_list_files(result->storage, id, files, cancel, err);
	}
	if (err->kind != ERR_UNFIT || request->parts != GANG_PARTS_AUTO)
		return -1;
	unfit = *err;
	return take_all_parts(request, result, &unfit, cancel, err) == 0
		       ? storage_list_files(result->storage, id, files, cancel, err)
		       : -1;
}

static int place_in_held_directory(const struct resume_request *request,
				   struct resume_result *result, struct cancel *cancel,
				   struct err *err)
{
	auto_(local_facts_release) struct local_facts local = {0};
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};
	bool has_start = !snapshot_id_is_none(result->attempt.start);
	struct reconcile_facts facts = {
		.patterns = request->patterns,
		.profile = request->profile,
		.start = result->attempt.start,
	};
	struct reconcile_plan plan;
	int status = 0;

	if (has_start && list_start(request, result, &snapshot, cancel, err) == 0)
		facts.snapshot = &snapshot;
	else if (has_start && err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND)
		return -1;
	if (read_local_facts(request, result->attempt.local_left, &local, &facts, err) < 0)
		return -1;
	reconcile_decide(&facts, &plan);
	/* Its list cannot be read, and nothing lies here. */
	if (result->attempt.start_is_damaged && plan.action == RECONCILE_FRESH)
		plan.action = RECONCILE_RESTORE;
	/* The user has named a snapshot, or the job crashes from the local checkpoint. */
	if (request->policy == RESTORE_SPECIFIC || (has_start && starts_elsewhere(result)))
		plan.action = RECONCILE_RESTORE;
	log_debug("checkpoint directory: %s", plan.reason);
	if (request->gang.members > 1)
		status = place_for_gang(request, result, &local, &plan, err);
	result->any_checkpoint = plan.any_checkpoint;
	if (status < 0)
		log_debug("the gang's snapshot is not put into place");
	else if (plan.action == RECONCILE_RESTORE)
		status = start_restore(request, result, &plan.aside, cancel, err);
	else if (plan.action == RECONCILE_KEEP)
		status = keep_local(request, result, &plan, &local.files,
				    local.of_earlier_start || has_start, err);
	/* A gang that begins anew has moved them aside, and has said so. */
	if (status == 0 && local.record.job && !text_equal(local.record.job, request->job) &&
	    (request->gang.members == 1 || plan.action == RECONCILE_RESTORE))
		log_other_job(request, &facts, plan.action, local.record.job);
	if (plan.action == RECONCILE_KEEP && status == 0 && has_start)
		put_back_written_over(request->workspace, result->storage, &facts, &plan, cancel);
	reconcile_plan_release(&plan);
	return status;
}

int place_checkpoint(const struct resume_request *request, struct resume_result *result,
		     struct cancel *cancel, struct err *err)
{
	int status = workspace_hold(request->workspace, false, err);

	if (status == 0)
		status = place_in_held_directory(request, result, cancel, err);
	workspace_let_go(request->workspace);
	return status;
}

void place_record_existing(const struct resume_request *request, struct resume_result *result)
{
	auto_(completion_record_release) struct completion_record record = {0};
	struct err err;

	if (result->kind == RESUME_RESTORED)
		return;
	record.job = text_copy(request->job);
	record.id = result->kind == RESUME_KEPT && !result->newer_than_store &&
				    !snapshot_id_is_none(result->from)
			    ? result->from
		    : result->no_answer ? result->here
					: (struct snapshot_id){result->attempt.number, 1};
	if (workspace_list_files(request->workspace, &record.files, &err) < 0 ||
	    workspace_write_record(request->workspace, &record, &err) < 0)
		log_debug("cannot record the files of the checkpoint directory: %s", err.text);
	for (size_t i = 0; i < record.files.count; i++)
		path_list_add(&result->existing, record.files.items[i].path);
}
