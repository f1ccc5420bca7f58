/* The tracker: its callbacks post what the job writes. */
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "workspace/workspace.h"

int64_t job_reported_step(const struct job *job)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	return page ? progress_page_last_step(page) : -1;
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
				.reported_step = job_reported_step(job),
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

/* Is the watched directory a link by now, and the file below what it leads to? */
static bool is_below_watched(const struct job *job, const char *path)
{
	auto_free char *watched = held_directory_resolve(job->workspace.directory, NULL);
	auto_free char *real = NULL;

	if (!watched || text_equal(watched, job->workspace.directory))
		return false;
	real = held_directory_resolve(path, NULL);
	return real && path_set_is_below(real, watched);
}

static void on_saved_elsewhere(void *arg, const char *path)
{
	struct job *job = arg;

	if (!is_below_watched(job, path))
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
	session_note_place(&job->session, job->workspace.directory, boot);
}
