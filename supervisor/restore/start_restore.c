#include "start.h"

#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "restore.h"

#include <string.h>

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
static int stage_snapshot(struct start *start, const struct path_set *left_out, const char *staging,
			  struct snapshot_files *files, struct err *err)
{
	struct restoring restoring = {.left_out = left_out};
	struct restore_request restore = {
		.id = start->result->attempt.start,
		.directory = staging,
		.within = start->workspace->folder,
		.seed = start->workspace->held,
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
	status = storage_restore(start->result->storage, &restore, &start->result->restored,
				 start->cancel, err);
	progress_bar_stop(&restoring.progress);
	remove_left_out(left_out, files);
	return status;
}

/* Warns about files that differ between members. */
static void log_clashes(const struct restore_result *restored, bool shared)
{
	if (restored->clashes > 0)
		log_warn("%u file%s other content at another member (%s of member %u was taken, "
			 "and not that of member %u): %s",
			 restored->clashes, restored->clashes == 1 ? " has" : "s have",
			 restored->clash_path, restored->clash_kept, restored->clash_left,
			 shared ? "give each a --checkpoint-dir of its own" : "use --parts own");
}

/* Nothing that may be whole is lost in silence. (A gang goes on from what all have alone: what of
 * this all have, one member does not know.) */
static void log_moved_aside(const struct start *start, const char *aside)
{
	const struct reconcile_plan *plan = &start->plan;
	bool of_gang = start->request->gang.members > 1;
	auto_free char *back = quarantine_command_back(start->workspace, aside);
	char what[80] = "";

	if (plan->aside_step >= 0)
		snprintf(what, sizeof(what), ", up to step %lld%s", (long long)plan->aside_step,
			 plan->aside_newer ? ", which is newer" : "");
	else if (plan->aside_newer)
		text_set(what, sizeof(what), ", and are newer");
	log_warn("%s held files that are not in the snapshot%s%s; they were moved to %s",
		 start->workspace->directory, what,
		 plan->aside_newer && of_gang ? ", but which the members had not committed together"
					      : "",
		 aside);
	if (of_gang)
		log_note("To go on from them: if a step in there has the files of all ranks, copy "
			 "it and start all there with --restore none");
	else
		log_note("To go on from them, end this run, %s, and start it once with --restore "
			 "none",
			 back);
}

#define POINTER_MOST 1024
#define POINTERS_MOST 64

/* Cuts the first absolute path out of what a pointer file says; NULL: it has none. */
static char *cut_path(char *text)
{
	char *at = text;

	while ((at = strchr(at, '/')) && at > text && !strchr(" \t\n\"':=", at[-1]))
		at++;
	if (at)
		at[strcspn(at, " \t\r\n\"',")] = '\0';
	return at;
}

/* A pointer such as mmengine's last_checkpoint may name its checkpoint by the path that it had on
 * another machine. The job's own error would not say that it is here. */
static void log_lost_pointer(const struct start *start, const struct snapshot_files *files)
{
	const struct workspace *workspace = start->workspace;
	size_t tried = 0;

	for (size_t i = 0; i < files->count; i++) {
		auto_(bytes_release) struct bytes text = {.limit = POINTER_MOST};
		char *named, *rest;

		if (files->items[i].size == 0 || files->items[i].size >= POINTER_MOST ||
		    tried++ >= POINTERS_MOST ||
		    beneath_read(workspace->held, files->items[i].path, &text, NULL) < 0 ||
		    bytes_append(&text, "", 1, NULL) < 0 ||
		    strlen((char *)text.data) + 1 < text.size)
			continue;
		named = rest = cut_path((char *)text.data);
		while (rest && !(rest[1] && beneath_exists(workspace->held, rest + 1)))
			rest = strchr(rest + 1, '/');
		/* Asked last: another machine's path may be a mount that hangs here. */
		if (rest && !file_exists(named)) {
			log_warn("%s names %s, which is not on this machine: it is %s%s here",
				 files->items[i].path, named, workspace->directory, rest);
			return;
		}
	}
}

static int restore_snapshot(struct start *start, const struct path_set *left_out, struct err *err)
{
	const struct resume_request *request = start->request;
	struct workspace *workspace = start->workspace;
	auto_free char *staging = workspace_new_staging(workspace, err);
	auto_free char *aside = NULL;
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_(completion_record_release) struct completion_record record = {0};
	int64_t began = clock_monotonic_ms();

	if (!staging)
		return -1;
	start->result->from = start->result->attempt.start;
	/* The store has it nowhere as a whole. */
	start->result->newer_than_store = start->result->attempt.start_is_damaged;
	if (stage_snapshot(start, left_out, staging, &files, err) < 0) {
		(void)beneath_remove_tree(workspace->folder, staging, NULL);
		return -1;
	}
	if (quarantine_files(start, err) < 0 ||
	    workspace_install(workspace, staging, &files, &request->options->patterns, &aside,
			      err) < 0)
		return -1;
	if (aside)
		log_moved_aside(start, aside);
	log_clashes(&start->result->restored, start->result->sharers != NULL);
	log_lost_pointer(start, &files);
	/* The snapshot may come from a run that did not check files. */
	if (quarantine_torn(start, err) < 0)
		return -1;
	start->facts.moved = start->moved.paths; /* the list may have grown */
	/* A snapshot also holds empty directories, such as that of the next checkpoint, created
	 * before its files. */
	workspace_prune(workspace);
	start->result->kind = RESUME_RESTORED;
	start->result->step = start->result->restored.step;
	start->result->milliseconds = clock_monotonic_ms() - began;
	/* They are exactly those of the snapshot. */
	return place_record_files(start, start->result->from, &record, err);
}

/* --- of a damaged snapshot --- */

static void add_lost_file(void *arg, const char *path)
{
	path_list_add(arg, path);
}

static void log_salvage(const char *id, const struct path_set *left_out,
			const struct path_list *lost)
{
	log_warn("snapshot %s and every older one are damaged: its newest checkpoint is restored, "
		 "without %zu other file%s (%s%s)",
		 id, left_out->count, left_out->count == 1 ? "" : "s", lost->paths[0],
		 left_out->count > 1 ? ", ..." : "");
}

/* There is no whole snapshot. If that does not concern the newest checkpoint of the newest one, the
 * job goes on from it; everything else is for the user to decide. */
static int salvage_start(struct start *start, struct err *err)
{
	struct snapshot_id id = start->result->attempt.start;
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
	if (storage_list_files(start->result->storage, id, &files, start->cancel, &damage) == 0 &&
	    storage_verify(start->result->storage, &verify, &verified, start->cancel, &damage) ==
		    0) {
		if (lost.count == 0)
			damage = *err;
		else if (!salvage_decide(&files, &lost, &start->request->options->patterns,
					 &left_out, &why, &path))
			err_set(&damage, ERR_CORRUPT, "%s, %s", path, why);
		else
			status = restore_snapshot(start, &left_out, &damage);
	}
	if (status == 0)
		log_salvage(text, &left_out, &lost);
	path_list_free(lost.paths);
	start->result->all_damaged =
		status < 0 && (damage.kind == ERR_CORRUPT || damage.kind == ERR_NOT_FOUND);
	*err = damage;
	return status < 0 ? err_wrap(err, "snapshot %s", text) : 0;
}

int start_restore(struct start *start, struct err *err)
{
	static const struct path_set nothing;
	struct snapshot_id id = start->result->attempt.start;
	char text[SNAPSHOT_ID_TEXT];

	if (restore_snapshot(start, &nothing, err) == 0)
		return 0;
	if ((err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND) ||
	    start->policy == RESTORE_SPECIFIC || start->request->gang.members > 1) {
		err_wrap(err, "restoring snapshot %s", snapshot_id_format(id, text));
		return resume_refuse_named(start, err);
	}
	if (start->result->attempt.start_is_damaged)
		return salvage_start(start, err);
	resume_note_damaged(start->result, id, err->text);
	return 0;
}

/* --- files that were moved aside --- */

static void add_gap(struct path_set *gaps, const struct reconcile_facts *facts, int directory,
		    const char *path)
{
	if (!beneath_exists(directory, path) && reconcile_may_put_back(facts, path))
		path_set_mark(gaps, path, 1);
}

static bool is_gap(void *arg, const char *path)
{
	return path_set_marks(arg, path) != 0;
}

static int fill_gap(const struct workspace *workspace, int directory, const char *staging,
		    const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	auto_free char *from = text_format("%s/%s", staging, path);
	auto_free char *above = text_copy_n(path, slash ? (size_t)(slash - path) : 0);

	if (slash && beneath_make_directories(directory, above, 0777, err) < 0)
		return -1;
	if (beneath_rename(workspace->folder, from, directory, path) < 0)
		return err_set(err, ERR_FAILED, "cannot rename %s", from);
	return 0;
}

static int fill_gaps(struct start *start, int directory, struct path_set *gaps, struct err *err)
{
	struct workspace *workspace = start->workspace;
	auto_free char *staging = workspace_new_staging(workspace, err);
	struct restore_request request = {
		.id = start->facts.start,
		.directory = staging,
		.within = workspace->folder,
		.include = is_gap,
		.arg = gaps,
	};
	struct restore_result result;
	int status;

	if (!staging)
		return -1;
	status = storage_restore(start->result->storage, &request, &result, start->cancel, err);
	for (const struct path_entry *gap = gaps->first; gap && status == 0; gap = gap->next)
		status = fill_gap(workspace, directory, staging, gap->path, err);
	(void)beneath_remove_tree(workspace->folder, staging, NULL);
	return status;
}

void put_back_written_over(struct start *start)
{
	const struct reconcile_facts *facts = &start->facts;
	const struct reconcile_plan *plan = &start->plan;
	auto_close int directory = workspace_open_directory(start->workspace, NULL);
	auto_(path_set_release) struct path_set gaps = {0};
	char id[SNAPSHOT_ID_TEXT], more[48] = " is";
	struct err err;

	if (directory < 0)
		return;
	/* Of a number that was being deleted, what was left would come back without the rest. */
	for (size_t i = 0; i < plan->torn_count; i++)
		if (plan->torn[i].reason != TORN_REDUCED)
			add_gap(&gaps, facts, directory, plan->torn[i].path);
	for (char *const *path = facts->moved; path && *path; path++)
		add_gap(&gaps, facts, directory, *path);
	if (gaps.count == 0)
		return;
	snapshot_id_format(facts->start, id);
	if (gaps.count > 1)
		snprintf(more, sizeof(more), " and %zu more are", gaps.count - 1);
	if (fill_gaps(start, directory, &gaps, &err) < 0)
		log_warn("%s was torn, and could not be put back from snapshot %s: %s",
			 gaps.first->path, id, err.text);
	else
		log_note("%s%s put back from snapshot %s", gaps.first->path, more, id);
}

/* --- what of a damaged snapshot is left out --- */

static bool is_running(const struct snapshot_file *file, const struct file_patterns *patterns)
{
	return file->running || file_patterns_kind(patterns, file->path) != FILE_KIND_ORDINARY;
}

/* Does a file stay of the same kind, numbers aside, and with a higher number? */
static bool has_newer(const struct snapshot_files *files, const char *path,
		      const struct path_set *left_out)
{
	int64_t number = step_of_path(path);
	auto_free char *kind = checkpoint_name_template(path);

	for (size_t i = 0; i < files->count; i++) {
		const char *other = files->items[i].path;
		auto_free char *other_kind = checkpoint_name_template(other);
		struct checkpoint_name name = checkpoint_name_parse(other);

		if (name.certain && name.number > number && text_equal(kind, other_kind) &&
		    !path_set_marks(left_out, other))
			return true;
	}
	return false;
}

bool salvage_decide(const struct snapshot_files *files, const struct path_list *lost,
		    const struct file_patterns *patterns, struct path_set *left_out,
		    const char **why, const char **path)
{
	auto_(path_set_release) struct path_set checkpoints = {0};

	*why = "which is part of no checkpoint that could be left out";
	for (size_t i = 0; i < lost->count; i++) {
		const struct snapshot_file *file = file_list_find(files, lost->paths[i]);
		auto_free char *key = checkpoint_name_key(lost->paths[i]);
		bool running = file && is_running(file, patterns);

		*path = lost->paths[i];
		if (!file || (!running && !checkpoint_name_parse(*path).certain))
			return false;
		path_set_mark(running ? left_out : &checkpoints, running ? *path : key, 1);
	}
	for (size_t i = 0; i < files->count; i++) {
		auto_free char *key = checkpoint_name_key(files->items[i].path);

		if (!is_running(&files->items[i], patterns) && path_set_marks(&checkpoints, key))
			path_set_mark(left_out, files->items[i].path, 1);
	}
	*why = "which is part of its newest checkpoint";
	for (size_t i = 0; i < files->count; i++) {
		*path = files->items[i].path;
		if (!is_running(&files->items[i], patterns) && path_set_marks(left_out, *path) &&
		    !has_newer(files, *path, left_out))
			return false;
	}
	return true;
}
