/* The snapshot queue and retention: their callbacks, and what the queue asks when it begins. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "job.h"
#include "upload/upload.h"

/* What was opened changed before it could be read so often: fixed names are dropped instead. */
#define CHANGED_TRIES 3
#define LOOK_AGAIN_MS 250

/* --- retention --- */

/* Logged once: from then on, about as many snapshots are removed as are added. */
static void log_removed_snapshots(struct job *job, const struct forget_result *result)
{
	if (job->reported_removal || result->forgotten == 0)
		return;
	job->reported_removal = true;
	log_note("removed %u snapshot%s %s; %u %s left", result->forgotten,
		 result->forgotten == 1 ? "" : "s", retention_words(&job->retention), result->kept,
		 result->kept == 1 ? "is" : "are");
}

static void on_retention_finished(void *arg, bool worked, const struct forget_result *result,
				  const struct err *err)
{
	struct job *job = arg;

	if (worked && (result->forgotten > 0 || result->collected.packs_removed > 0)) {
		log_debug("removed %u snapshots, freed %llu bytes", result->forgotten,
			  (unsigned long long)result->collected.bytes_removed);
		log_removed_snapshots(job, result);
		event_log_add(&job->events, "snapshots_removed", "{s:i, s:i, s:I}", "snapshots",
			      (int)result->forgotten, "kept", (int)result->kept, "bytes_freed",
			      (json_int_t)result->collected.bytes_removed);
	}
	/* Stopped for a save, or because new attempts keep starting: the next commit starts it
	 * again. */
	if (!worked && err->kind != ERR_CANCELLED && err->kind != ERR_RETRY &&
	    !job->retention_failed) {
		job->retention_failed = true;
		report_our_failure(&job->reports, "cannot remove old snapshots", err);
	}
	if (worked && result->refused.count > 0 && !job->retention_failed) {
		job->retention_failed = true;
		log_warn("old snapshots are removed, but the store refuses %s",
			 result->refused.first);
	}
	job_post(job, (struct job_event){.kind = JOB_EV_RETENTION_DONE});
}

/* --- snapshots --- */

/* For the clients whose request it answers. */
static json_t *outcome_reply(const struct snapshot_outcome *outcome, int64_t took_ms)
{
	char id[SNAPSHOT_ID_TEXT];

	if (!outcome->durable)
		return control_failure(outcome->err.text);
	return json_pack("{s:s, s:s, s:I, s:o, s:f}", "event", "durable", "id",
			 snapshot_id_format(outcome->id, id), "bytes",
			 (json_int_t)outcome->result.bytes, "step",
			 json_integer_or_null(outcome->checkpoint.step), "seconds",
			 (double)took_ms / 1000);
}

static void on_snapshot_finished(void *arg, const struct snapshot_outcome *outcome)
{
	int64_t took_ms = clock_monotonic_ms() - outcome->checkpoint.completed_ms;

	if (!outcome->unasked)
		job_post_snapshot(arg, outcome, outcome_reply(outcome, took_ms));
	job_note_part_ended(arg, outcome);
}

/* --- the rounds of a gang --- */

static void want_round(void *arg)
{
	struct job *job = arg;

	gang_feed_wake(&job->in_gang.feed);
}

static bool is_round_settled(void *arg, uint32_t round)
{
	const struct job *job = arg;

	return gang_feed_is_settled(&job->in_gang.feed, round);
}

/* The newest checkpoint may be newer than the one that the snapshot was begun for. */
static void plan_snapshot(void *arg, struct snapshot_plan *plan, struct checkpoint *checkpoint)
{
	struct job *job = arg;

	tracker_plan(job->tracker, plan);
	*checkpoint = job->model.newest;
	/* One that has become complete just now is in the plan too. */
	if (job->gang.members > 1)
		checkpoint->generation = tracker_latest_checkpoint(job->tracker)->generation;
	job_post(job,
		 (struct job_event){.kind = JOB_EV_PLANNED, .generation = checkpoint->generation});
}

static bool confirm_snapshot(void *arg, struct snapshot_plan *plan, unsigned tries)
{
	struct job *job = arg;

	return tracker_confirm(job->tracker, plan, tries >= CHANGED_TRIES);
}

static json_t *list_signatures(void *arg)
{
	struct job *job = arg;

	return tracker_signatures(job->tracker);
}

int job_start_snapshot_queue(struct job *job, struct err *err)
{
	struct snapshot_queue_options options = {
		.loop = &job->loop,
		.workers = job->workers,
		.storage = job->resume.storage,
		.attempt = job->resume.attempt.number,
		.parent = job->resume.from,
		.workspace = &job->workspace,
		.job = job->name.text,
		.of_gang = job->gang.members > 1,
		.kept_by_other = job->resume.kept_by_other,
		.keeper = job->resume.keeper,
		.members = job->gang.members,
		.sharers = job->resume.sharers,
		.profile = job->profile.profile,
		.patterns = &job->options->patterns,
		.wants_round = want_round,
		.round_is_settled = is_round_settled,
		.plan = plan_snapshot,
		.confirm = confirm_snapshot,
		.signatures = list_signatures,
		.finished = on_snapshot_finished,
		.arg = job,
	};
	struct retention_worker_options retention_worker = {
		.workers = job->workers,
		.storage = job->resume.storage,
		.attempt = job->resume.attempt.number,
		.policy = job->retention,
		.finished = on_retention_finished,
		.arg = job,
	};

	if (job->options->tag && !job->snapshot_about)
		job->snapshot_about = json_pack("{s:s}", "tag", job->options->tag);
	options.about = job->snapshot_about;
	if (job->options->retention.keep_last != 0 && job->gang.member == 0) {
		job->retention_worker = retention_worker_new(&retention_worker);
		options.retention = &job->retention;
	}
	return snapshot_queue_new(&options, &job->snapshots, err);
}

/* --- the end --- */

/* Until the store says yes or no. */
static bool is_committed(struct job *job, uint32_t round, int64_t until_ms)
{
	struct cancel cancel = CANCEL_AT(until_ms);
	bool committed = false;
	struct err err;

	while (storage_gang_is_committed(job->resume.storage, job->resume.attempt.number, round,
					 &committed, &cancel, &err) < 0) {
		log_debug("what became of the last part is not known: %s", err.text);
		if (err.kind != ERR_RETRY || cancel_sleep(&cancel, LOOK_AGAIN_MS, &err) < 0)
			return false;
	}
	return committed;
}

void job_note_other_commit(void *arg, uint32_t round, uint64_t generation)
{
	struct job *job = arg;
	struct snapshot_id id = {.attempt = job->resume.attempt.number, .sequence = round};
	char text[SNAPSHOT_ID_TEXT];

	snapshot_queue_note_committed(job->snapshots, round);
	if (generation > 0 && generation == job->model.newest.generation)
		job_note_late_commit(&job->model);
	else
		/* Its step is not that of what was durable before. */
		job->model.durable.step = job->model.durable.reported_step = -1;
	log_note("durable: %s, which another member has committed", snapshot_id_format(id, text));
	event_log_add(&job->events, "durable", "{s:s, s:o}", "id", text, "step",
		      json_integer_or_null(job->model.durable.step));
}

void job_look_for_last_commit(struct job *job)
{
	struct gang_feed *feed = &job->in_gang.feed;
	uint32_t round, notice = gang_rounds_notice(&feed->view, &feed->here);
	int64_t until_ms;

	if (!gang_feed_is_running(feed) || !job->snapshots || job->model.snapshots.superseded ||
	    (!job_has_pending(&job->model) && !job->model.gang.lost))
		return;
	round = gang_here_in_doubt(&feed->view, &feed->here);
	until_ms = job_last_look_ms(&job->model, &job->rules, clock_monotonic_ms(),
				    job_deadline_ms(job));
	if (round == 0 || !is_committed(job, round, until_ms))
		return;
	job_note_other_commit(job, round, feed->here.given_generation);
	gang_view_committed(&feed->view, round);
	/* That it answers the notice may be known to another member, and said since. */
	gang_feed_read_rest(feed, until_ms);
	/* The others end by it: what this member has saved since is of no use then. */
	if (job_has_pending(&job->model) && notice > 0 && feed->view.answered >= notice)
		job_note_late_answer(&job->model);
	if (feed->view.round.final && feed->view.round.number == round)
		job->model.gang.lost = false;
}

/* While a checkpoint is being written, its closed files are uploaded early, and the parts by which
 * open files have grown. */
bool job_on_files_closed(void *arg)
{
	struct job *job = arg;
	char **closed, **open;

	/* What is sent early is named after the next snapshot, whose number only the round gives.
	 */
	if (job->gang.members > 1)
		return true;
	if (!job_can_save(&job->model) || !job->snapshots || snapshot_queue_is_busy(job->snapshots))
		return false;
	tracker_list_files(job->tracker, &closed, &open);
	snapshot_queue_upload_early(job->snapshots, closed, open);
	return true;
}
