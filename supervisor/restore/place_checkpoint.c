/* Which checkpoint the job finds: the store's, put into place, or the one that lies here. */
#include "start.h"

#include "base/beneath.h"
#include "base/log.h"
#include "restore.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Of the job that ran last in this directory: to the script, its files are as good as its own. */
static void log_other_job(const struct start *start)
{
	const char *directory = start->workspace->directory, *other = start->record.job;
	char id[SNAPSHOT_ID_TEXT];

	if (start->facts.of_other && start->plan.action == RECONCILE_KEEP)
		log_note("%s holds newer files, of job %s; this job goes on from them (--restore "
			 "%s goes back; --job NAME keeps jobs apart)",
			 directory, other, snapshot_id_format(start->facts.start, id));
	else
		log_note("%s held files of job %s: %s (a --checkpoint-dir of its own keeps jobs "
			 "apart)",
			 directory, other,
			 start->plan.action == RECONCILE_RESTORE
				 ? "this job goes on from its own snapshot, and what that does not "
				   "hold was moved aside"
				 : "they stay, this job finds them, and its snapshots hold them");
}

/* Without an earlier start what lies there was put there by hand, be it a pretrained model: a
 * number in its name counts nothing of this job. */
static int keep_local(struct start *start, struct err *err)
{
	struct resume_result *result = start->result;
	const struct reconcile_plan *plan = &start->plan;

	if (quarantine_files(start, err) < 0)
		return -1;
	if (plan->broken)
		log_warn("%s/%s was being written over when the last job here ended, and no "
			 "snapshot has what it was: it stays as it is",
			 start->workspace->directory, plan->broken);
	if (plan->prune)
		workspace_prune(start->workspace);
	/* Nothing is left: the job must not be told that it resumes (REPRIEVE_RESUMING). */
	if (plan->torn_count > 0 && !plan->any_left)
		return 0;
	result->kind = RESUME_KEPT;
	result->from = result->attempt.start;
	result->newer_than_store = plan->newer_than_store ||
				   (plan->any_checkpoint && result->attempt.start_is_damaged);
	if (start->of_earlier_start || !snapshot_id_is_none(result->attempt.start))
		result->step = plan->step;
	return 0;
}

static void read_local_record(struct start *start)
{
	static const struct snapshot_files nothing;
	struct reconcile_facts *facts = &start->facts;
	struct completion_record *record = &start->record;
	char boot[40];
	struct err why;

	/* A record of another job also says which files are complete, but its number cannot be
	 * compared with this job's snapshots. Where somebody has named the job, that one's files
	 * are none of its own. */
	facts->complete_id = (struct snapshot_id){0, 1};
	if (start->local.count == 0)
		return;
	start->of_earlier_start = workspace_read_record(start->workspace, record, &why) == 0 ||
				  why.kind != ERR_NOT_FOUND;
	if (record->job) {
		bool own = text_equal(record->job, start->request->job);

		facts->of_other =
			!own && !start->request->named && record->unnamed && facts->snapshot;
		if (own || facts->of_other || !facts->snapshot)
			facts->complete = &record->files;
		if (own)
			facts->complete_id = record->id;
		workspace_read_boot(boot);
		facts->rebooted = boot[0] && !text_equal(record->boot, boot);
		/* On purpose (struct attempt). */
		facts->abandoned = own && start->result->attempt.local_left;
	} else if (start->of_earlier_start) {
		/* An unreadable record: an earlier attempt wrote these files, and none of them is
		 * known to be complete. */
		log_warn("cannot tell which files in %s are complete: %s",
			 start->workspace->directory, why.text);
		facts->complete = &nothing;
	}
}

static int read_local_facts(struct start *start, struct err *err)
{
	struct workspace *workspace = start->workspace;
	struct reconcile_facts *facts = &start->facts, left;
	bool rebooted = false;
	struct err why;

	if (workspace_read_under_way(workspace, &start->under_way, &rebooted, &why) < 0)
		log_warn("cannot tell which files in %s were being written when the last job here "
			 "ended: %s; they stay as they are",
			 workspace->directory, why.text);
	if (quarantine_torn(start, err) < 0 ||
	    workspace_list_files(workspace, &start->local, err) < 0)
		return -1;
	facts->local = &start->local;
	facts->moved = start->moved.paths;
	facts->whole = &start->whole;
	read_local_record(start);
	/* Before the first checkpoint is complete there is no record, but there is a list. */
	facts->rebooted |= rebooted;
	/* To tell whether a file is all there, any job's record will do. */
	left = *facts;
	left.complete = &start->record.files;
	left_files_settle(&start->under_way, &left);
	facts->under_way = start->under_way.paths;
	return 0;
}

/*
 * The members of a gang go on from what all have, and from nothing else: what lies here may be
 * newer, or a copy of it, which is found equal. Without a snapshot, or with --restore none, what an
 * earlier start has left here is moved aside; what was put here by hand stays, and no member says
 * that it resumes.
 */
static int begin_gang(struct start *start, struct err *err)
{
	static const struct snapshot_files nothing;
	struct workspace *workspace = start->workspace;
	auto_free char *aside = NULL, *staging = NULL;

	start->plan.action = RECONCILE_FRESH;
	start->plan.any_checkpoint = false;
	if (!start->of_earlier_start)
		return 0;
	staging = workspace_new_staging(workspace, err);
	if (!staging || beneath_make_directories(workspace->folder, staging, 0700, err) < 0 ||
	    workspace_install(workspace, staging, &nothing, &start->request->options->patterns,
			      &aside, err) < 0)
		return -1;
	if (aside)
		log_warn("%s held files of an earlier start, from which the gang does not go on; "
			 "they were moved to %s",
			 workspace->directory, aside);
	return 0;
}

/* --- the files of another number of machines --- */

#define NOBODY UINT32_MAX

static bool matches_any(const char *const *patterns, const char *name)
{
	for (size_t i = 0; i < PROFILE_NAMES && patterns[i]; i++)
		if (fnmatch(patterns[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

static bool is_resharded_marker(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (matches_any(profile_rows[i].resharded, name))
			return true;
	return false;
}

/* A file that needs such a marker beside it. */
static bool is_resharded_piece(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		for (size_t j = 0; j < PROFILE_RULES; j++) {
			const struct profile_rule *rule = &profile_rows[i].rules[j];

			if (rule->kind == PROFILE_RULE_NEEDS && rule->at_rank_0 && rule->member &&
			    is_resharded_marker(rule->marker) &&
			    fnmatch(rule->member, name, FNM_PERIOD) == 0)
				return true;
		}
	return false;
}

static bool is_by_rank(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (matches_any(profile_rows[i].by_rank, name))
			return true;
	return false;
}

/* "rank1.pt", "shard_3.bin", "zero_pp_rank_1_mp_rank_00_optim_states.pt": of a rank above 0, which
 * needs that one. */
static bool is_of_later_rank(const char *name)
{
	regex_t of_rank;
	bool found;

	if (regcomp(&of_rank, "(rank|shard)[-_=.]*0*[1-9]", REG_EXTENDED | REG_ICASE) != 0)
		abort();
	found = regexec(&of_rank, name, 0, NULL, 0) == 0;
	regfree(&of_rank);
	return found;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_copy_n(path, slash ? (size_t)(slash - path) : 0);
}

/* At any depth; but a marker that lies in the checkpoint directory itself says nothing of the
 * directories in it. */
static bool is_below_marker(const struct path_set *directories, const char *path)
{
	for (const struct path_entry *entry = directories->first; entry; entry = entry->next)
		if (*entry->path ? path_set_is_below(path, entry->path) : !strchr(path, '/'))
			return true;
	return false;
}

/* --- the judgement --- */

/* Who has files that only it can have written, and one of them. */
struct owner {
	uint32_t member;
	const char *path;
};

/* False: it does not fit, and why. */
static bool judge_file(const struct gang_file *file, struct owner *owner, struct resharding *found)
{
	/* What several have is no member's own. */
	if (file->having > 1)
		return true;
	if (owner->member == NOBODY)
		*owner = (struct owner){file->member, file->path};
	if (owner->member == file->member)
		return true;
	snprintf(found->why, sizeof(found->why),
		 "member %u alone has %.100s, and member %u alone has %.100s", owner->member,
		 owner->path, file->member, file->path);
	return false;
}

struct resharding resharding_judge(const struct gang_files *files)
{
	auto_(path_set_release) struct path_set directories = {0};
	struct resharding found = {.fits = true};
	struct owner owner = {.member = NOBODY};

	for (size_t i = 0; i < files->count; i++) {
		auto_free char *directory = directory_of(files->items[i].path);

		if (is_resharded_marker(text_last_part(files->items[i].path)))
			path_set_mark(&directories, directory, 1);
	}
	for (size_t i = 0; i < files->count && found.fits; i++) {
		const struct gang_file *file = &files->items[i];

		if (file->running || is_by_rank(text_last_part(file->path)))
			continue;
		found.fits = !file->differs && !is_of_later_rank(text_last_part(file->path));
		if (file->differs) {
			snprintf(found.why, sizeof(found.why),
				 "%.200s is not the same at all members that have it", file->path);
		} else if (!found.fits) {
			snprintf(found.why, sizeof(found.why), "%.200s is of one of its ranks",
				 file->path);
		} else if (!is_below_marker(&directories, file->path)) {
			found.fits = judge_file(file, &owner, &found);
		}
	}
	return found;
}

bool resharding_needs_all(const struct snapshot_files *own)
{
	for (size_t i = 0; i < own->count; i++) {
		const char *name = text_last_part(own->items[i].path);

		if (is_resharded_piece(name) || is_resharded_marker(name))
			return true;
	}
	return false;
}

/* Now this start is of another number of machines than the snapshot, or one of one. */
static int take_all_parts(struct start *start, const struct err *unfit, struct err *err)
{
	struct snapshot_id id = start->result->attempt.start;
	auto_(gang_files_release) struct gang_files all = {0};
	struct resharding resharding;
	char text[SNAPSHOT_ID_TEXT];

	if (storage_gang_list_files(start->result->storage, id, &all, start->cancel, err) < 0)
		return -1;
	resharding = resharding_judge(&all);
	if (!resharding.fits)
		return err_set(err, ERR_UNFIT,
			       "%s. To go on with %u, give each the files of all with --parts all; "
			       "nothing says that the job can read them: %s",
			       unfit->text, start->request->gang.members, resharding.why);
	log_note("snapshot %s was taken by %u machine%s, and now there %s %u: %s",
		 snapshot_id_format(id, text), all.members ? all.members : 1,
		 all.members > 1 ? "s" : "", start->request->gang.members > 1 ? "are" : "is",
		 start->request->gang.members,
		 start->request->gang.members > 1 ? "each gets the files of all"
						  : "it gets the files of all");
	storage_gang_choose_parts(start->result->storage, GANG_PARTS_ALL);
	return 0;
}

/* The files of what the attempt starts from, as they are to be restored. */
static int list_start(struct start *start, struct err *err)
{
	struct snapshot_id id = start->result->attempt.start;
	struct storage *storage = start->result->storage;
	struct err unfit;

	storage_gang_choose_parts(storage, start->request->options->parts);
	if (storage_list_files(storage, id, &start->snapshot, start->cancel, err) == 0) {
		if (start->request->gang.members == 1 ||
		    start->request->options->parts != GANG_PARTS_AUTO ||
		    !resharding_needs_all(&start->snapshot))
			return 0;
		snapshot_files_release(&start->snapshot);
		storage_gang_choose_parts(storage, GANG_PARTS_ALL);
		return storage_list_files(storage, id, &start->snapshot, start->cancel, err);
	}
	if (err->kind != ERR_UNFIT || start->request->options->parts != GANG_PARTS_AUTO)
		return -1;
	unfit = *err;
	return take_all_parts(start, &unfit, err) == 0
		       ? storage_list_files(storage, id, &start->snapshot, start->cancel, err)
		       : -1;
}

/* The restart rules have chosen another snapshot than the newest: the local files are not used. */
static bool starts_elsewhere(const struct resume_result *result)
{
	return !snapshot_id_is_none(result->attempt.suspect) ||
	       result->attempt_outcomes.decision.action == RESTART_REVERT;
}

static int decide_and_place(struct start *start, struct err *err)
{
	const struct resume_request *request = start->request;
	struct resume_result *result = start->result;
	enum reconcile_action *action = &start->plan.action;
	bool has_start = !snapshot_id_is_none(result->attempt.start);
	bool of_gang = request->gang.members > 1;
	int status = 0;

	start->facts = (struct reconcile_facts){
		.patterns = &request->options->patterns,
		.profile = request->profile,
		.start = result->attempt.start,
		.restores = start->policy == RESTORE_SPECIFIC ||
			    (has_start && (of_gang || starts_elsewhere(result))),
	};
	if (has_start && list_start(start, err) == 0)
		start->facts.snapshot = &start->snapshot;
	else if (has_start && err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND)
		return -1;
	if (read_local_facts(start, err) < 0)
		return -1;
	reconcile_decide(&start->facts, &start->plan);
	if (of_gang && !has_start)
		status = begin_gang(start, err);
	result->any_checkpoint = start->plan.any_checkpoint;
	if (*action == RECONCILE_RESTORE)
		status = start_restore(start, err);
	else if (*action == RECONCILE_KEEP)
		status = keep_local(start, err);
	/* A gang that begins anew has moved them aside, and has said so. */
	if (status == 0 && start->record.job && !text_equal(start->record.job, request->job) &&
	    (!of_gang || *action == RECONCILE_RESTORE))
		log_other_job(start);
	if (*action == RECONCILE_KEEP && status == 0 && has_start)
		put_back_written_over(start);
	return status;
}

static void release_facts(struct start *start)
{
	snapshot_files_release(&start->local);
	snapshot_files_release(&start->snapshot);
	completion_record_release(&start->record);
	path_list_free(start->moved.paths);
	path_list_free(start->under_way.paths);
	path_set_release(&start->whole);
	reconcile_plan_release(&start->plan);
	start->moved = start->under_way = (struct path_list){0};
	start->of_earlier_start = false;
}

int place_checkpoint(struct start *start, struct err *err)
{
	int status = workspace_hold(start->workspace, false, err);

	if (status == 0)
		status = decide_and_place(start, err);
	release_facts(start);
	workspace_let_go(start->workspace);
	return status;
}

int place_record_files(struct start *start, struct snapshot_id id, struct completion_record *record,
		       struct err *err)
{
	record->job = text_copy(start->request->job);
	record->id = id;
	if (workspace_list_files(start->workspace, &record->files, err) < 0)
		return -1;
	return workspace_write_record(start->workspace, record, err);
}

void place_record_existing(struct start *start)
{
	auto_(completion_record_release) struct completion_record record = {0};
	struct snapshot_id id;
	struct err err;

	if (start->result->kind == RESUME_RESTORED)
		return;
	id = start->result->kind == RESUME_KEPT && !start->result->newer_than_store &&
			     !snapshot_id_is_none(start->result->from)
		     ? start->result->from
	     : start->result->no_answer ? start->result->here
					: (struct snapshot_id){start->result->attempt.number, 1};
	if (place_record_files(start, id, &record, &err) < 0)
		log_debug("cannot record the files of the checkpoint directory: %s", err.text);
	for (size_t i = 0; i < record.files.count; i++)
		path_list_add(&start->result->existing, record.files.items[i].path);
}
