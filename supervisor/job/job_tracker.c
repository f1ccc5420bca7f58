/* The tracker: its callbacks post what the job writes. */
#include "job.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "completion/completion.h"
#include "workspace/workspace.h"

#include <stdlib.h>

/* --- job_left --- */

/* What a supervisor that was killed together with its job has left unread: it goes into the list of
 * what was under way in its directory, before its session is removed. Only in that of this job:
 * another one may lie on a mount that hangs, and this job is not to wait for it. Of such, the
 * session stays for the start there. */

static void complete_list(const struct job *job, struct workspace *workspace,
			  const struct left_channel *left, const json_t *known)
{
	bool rebooted;
	struct path_list listed = {0};
	struct left_facts facts = {
		.known = known,
		.reports = left->reports,
		.count = left->count,
		.listed = left->listed,
		.patterns = &job->options->patterns,
		.look = file_look_at,
		.is_database = file_look_is_database,
		.arg = workspace->directory,
	};
	char **paths;
	struct err err;

	if (workspace_read_under_way(workspace, &listed, &rebooted, &err) == 0 && !rebooted) {
		facts.list = listed.paths;
		paths = left_reports_list(&facts);
		if (workspace_write_under_way(workspace, paths, &err) < 0)
			log_debug("the list of what was being written stays as it was: %s",
				  err.text);
		path_list_free(paths);
	}
	path_list_free(listed.paths);
}

/* What it has learned of this job's saves need not be learned again. */
static void keep_known(struct job *job, const struct workspace *workspace, json_t *known)
{
	auto_(completion_record_release) struct completion_record record = {0};
	struct err err;

	if (workspace_read_record(workspace, &record, &err) < 0 ||
	    !text_equal(record.job, job->name.text))
		return;
	json_decref(job->left_known);
	job->left_known = json_incref(known);
}

static void read_left(void *arg, const char *session_directory)
{
	struct job *job = arg;
	auto_(left_channel_release) struct left_channel left = {0};
	struct workspace workspace = {0};
	auto_json json_t *known = NULL;
	struct err err;
	int last;

	if (left_channel_read(session_directory, &left, &err) < 0) {
		log_debug("%s", err.text);
		return;
	}
	known = json_parse(left.known.data, left.known.size, NULL);
	workspace_init(&workspace, job->options->checkpoint_dir);
	/* Was this supervisor the last one in the directory, and is nobody there now? Else the list
	 * is not its own. */
	if (text_equal(workspace.directory, left.directory) &&
	    json_is_array(json_object_get(known, "rest")) &&
	    !workspace_is_in_use(&workspace, &last, NULL) && last == left.supervisor) {
		if (left.count > left.listed)
			complete_list(job, &workspace, &left, known);
		keep_known(job, &workspace, known);
	}
	workspace_release(&workspace);
}

void job_read_what_was_left(struct job *job)
{
	char boot[40];

	workspace_read_boot(boot);
	session_each_dead(job->workspace.directory, read_left, job);
	session_remove_dead(&job->session, job->workspace.directory, boot);
}

static void on_save_started(void *arg, const char *path)
{
	struct job *job = arg;
	bool foreign = !save_place_note_write(&job->reports, path);

	job_post_with(arg, (struct job_event){.kind = JOB_EV_SAVE_STARTED, .foreign = foreign},
		      text_copy(path), NULL);
}

static void on_running_written(void *arg, const char *path)
{
	struct job *job = arg;
	bool foreign = !save_place_note_write(&job->reports, path);

	job_post(arg, (struct job_event){.kind = JOB_EV_RUNNING_WRITTEN, .foreign = foreign});
}

static void on_checkpoint_complete(void *arg)
{
	struct job *job = arg;
	const struct latest_checkpoint *latest = tracker_latest_checkpoint(job->tracker);
	struct progress_page *page = tracker_page(job->tracker);
	struct job_event event = {
		.kind = JOB_EV_COMPLETE,
		.fresh = latest->fresh,
		.late = latest->late,
		.checkpoint =
			{
				.generation = latest->generation,
				/* The members of a gang know one by the other. */
				.step = job->gang.members > 1 ? latest->step : latest->resume_step,
				.written_ms = latest->written_ms,
				.by_word = latest->by_word,
				.reported_step = page ? progress_page_last_step(page) : -1,
			},
	};

	job_note_complete_in_gang(job, latest);
	job_post_with(job, event, NULL, json_pack("{s:s}", "event", "saved"));
}

static void on_sigterm_held(void *arg, pid_t pid, pid_t sender, int64_t had_ms)
{
	struct job *job = arg;

	sigterm_hold_add(&job->sigterm_hold, pid, sender, job_has_sent_sigterm(job, pid, had_ms));
}

static void on_saved_elsewhere(void *arg, const char *path)
{
	struct job *job = arg;

	save_place_note_elsewhere(&job->reports, path);
}

void job_start_tracker(struct job *job)
{
	char boot[40];
	struct tracker_options options = {
		.loop = &job->loop,
		.workspace = &job->workspace,
		.session_directory = job->session.directory,
		.quiet_ms = job->options->quiet_ms,
		.polls = job->options->polls,
		.profile = job->profile.profile,
		.marker_elsewhere = job->gang.member > 0,
		.others_write = job->resume.sharers || job->resume.kept_by_other,
		.looks = job->options->checks_contents,
		.saving = on_save_started,
		.closed = job_on_files_closed,
		.held = on_sigterm_held,
		.saved_elsewhere = on_saved_elsewhere,
		.writer = job->gang.members > 1 ? job_note_writer_in_gang : NULL,
		.on_complete = on_checkpoint_complete,
		.on_running = on_running_written,
		.ended = job_post_child_exit,
		.patterns = &job->options->patterns,
		.signatures = job->resume.signatures,
		.left = job->left_known,
		.existing = job->resume.existing.paths,
		.arg = job,
	};

	tracker_new(&options, &job->tracker);
	if (!tracker_channel(job->tracker))
		return;
	workspace_read_boot(boot);
	session_note(&job->session, SESSION_PLACE,
		     *boot ? text_format("%s\n%s", boot, job->workspace.directory) : NULL);
}
