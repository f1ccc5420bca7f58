/* What the core says is said: a line of log, an event, or both. One row for each sentence. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "upload/upload.h"

#include <stdio.h>
#include <string.h>

static struct preemption_facts forecast_now(const struct job *job)
{
	struct job_view view = job_look(job, true);
	struct preemption_facts facts = job_forecast(&job->model, &job->rules, &view);

	facts.can_ask = job_can_request_or_signal(&job->rules, &view);
	return facts;
}

const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity)
{
	struct preemption_facts facts = forecast_now(job);

	return preemption_forecast_format_loss(&facts, buffer, capacity);
}

const char *job_forecast_plan(const struct job *job, char *buffer, size_t capacity)
{
	struct preemption_facts facts =
		job->model.plan.made ? job->model.plan.facts : forecast_now(job);

	return preemption_forecast_format_plan(&facts, buffer, capacity);
}

/* --- the plan, and asking --- */

static void plan(struct job *job, const struct posted_event *posted)
{
	char text[256];

	(void)posted;
	log_note("%s", preemption_forecast_format_plan(&job->model.plan.facts, text, sizeof(text)));
	event_log_add(&job->events, "plan", "{s:s}", "text", text);
}

static void withdrawn(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_note("the notice was withdrawn: the job continues");
}

static void not_asked(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	log_note("the job is not asked for a checkpoint%s: its newest complete checkpoint is used",
		 job->options->ask_chosen ? " (--checkpoint-signal none)"
					  : ", because no way to ask it is known");
}

static void cannot_ask(struct job *job, const struct posted_event *posted)
{
	bool retries = job->model.state == JOB_CHECKPOINTING && job->ask.method != REQUEST_COMMAND;
	const char *what =
		retries ? "; if none does in time, its newest complete checkpoint is used" : "";

	/* Nobody has said that it can be asked: that is how most jobs are. Or the start has said
	 * that it most likely cannot. */
	if (job->rules.ask == REQUEST_AUTO)
		log_note("the job cannot be asked for a checkpoint: %s; those that it saves by "
			 "itself "
			 "count (`reprieve explain python` says how a job can be asked)",
			 posted->text);
	else if (job->profile.handler_unseen)
		log_note("cannot ask the job for a checkpoint: %s%s", posted->text, what);
	else
		log_warn("cannot ask the job for a checkpoint: %s%s", posted->text, what);
	event_log_add(&job->events, "request_failed", "{s:s}", "why", posted->text);
}

/* Said once: it is so at each interval. */
static void no_way_to_ask(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	if (job->reported_no_way)
		return;
	job->reported_no_way = true;
	log_warn("the job is not asked for a checkpoint: no way to ask it is known "
		 "(--checkpoint-signal, --checkpoint-command, `reprieve explain python`); those "
		 "that "
		 "it saves by itself count");
}

static void save_is_used(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_note("the job is still saving for the previous request: that save is used");
}

static void saving_quietly(struct job *job, const struct posted_event *posted)
{
	event_log_add(&job->events, "saving", "{s:s}", "path", posted->text);
	job_tell_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", posted->text));
}

static void saving(struct job *job, const struct posted_event *posted)
{
	log_note("the job is saving %s", posted->text);
	saving_quietly(job, posted);
}

static json_t *step_json(int64_t step)
{
	return step >= 0 ? json_integer(step) : json_null();
}

static void complete(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	event_log_add(&job->events, "checkpoint_complete", "{s:o}", "step",
		      step_json(job->model.newest.step));
}

static void saved(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	log_note("the job has saved, %.1f s after it was asked",
		 (double)(job->model.newest.completed_ms - job->model.asking.sent_ms) / 1000);
}

static void deferred(struct job *job, const struct posted_event *posted)
{
	const struct preemption_facts *facts = &job->model.deferral.facts;
	int64_t due_ms = preemption_forecast_next_save_ms(facts);
	char time[32], next[64] = "the next save is due now";
	bool first = preemption_forecast_choose(facts) == PREEMPTION_AWAIT_FIRST;

	(void)posted;
	if (due_ms > 0)
		snprintf(next, sizeof(next), "the next save is due in %s",
			 text_duration(due_ms, time, sizeof(time)));
	if (first)
		snprintf(next, sizeof(next), "the job has not saved yet, and may do so in time");
	log_note("%s: SIGTERM is forwarded when it completes (another SIGTERM, a second or more "
		 "later, forwards it now)",
		 facts->saving_for_ms >= 0 ? "a save is in progress" : next);
}

static void killing(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	log_warn("the job has not exited: killing it (SIGKILL)");
	event_log_add(&job->events, "stopping", "{s:s}", "signal", "KILL");
}

static void out_of_time(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_warn("out of time: the upload under way is cancelled");
}

static void flush_goes_on(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_note("the job has ended, and what it saved last is being made durable (Ctrl-C gives "
		 "that "
		 "up)");
}

static void flush_interrupted(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_warn("interrupted: what is not durable by now is given up");
}

/* --- snapshots --- */

/* Said with the first checkpoint, because a job without checkpoints needs no store. */
static void no_store(struct job *job, const struct posted_event *posted)
{
	(void)posted;
	if (!job->no_store.kind)
		return;
	job_report_failure(job, "the job has written a checkpoint, and it will not be saved",
			   &job->no_store);
	job->no_store = (struct err){0};
}

/* Each is reported once, because most jobs have the same files in all of their checkpoints. */
static void report_skipped_files(struct job *job, const struct snapshot_outcome *snapshot)
{
	if (!job->reported_skipped_files)
		skipped_files_report(&snapshot->result, job->workspace.directory);
	job->reported_skipped_files |= snapshot->result.left_out > 0;
	for (char **matched = snapshot->matched; matched && *matched; matched++) {
		size_t length = strcspn(*matched, "(");
		bool said = false;

		for (size_t i = 0; i < job->reported_patterns.count; i++)
			said |= strncmp(job->reported_patterns.paths[i], *matched, length) == 0;
		if (said)
			continue;
		path_list_add(&job->reported_patterns, *matched);
		log_note("%s) %s", *matched,
			 text_starts(*matched, "--exclude")
				 ? "leaves files out of the snapshots: they stay on this machine"
				 : "takes files as running files: they delay no checkpoint");
	}
}

static void durable_quietly(struct job *job, const struct posted_event *posted)
{
	const struct snapshot_outcome *snapshot = posted->snapshot;
	const struct checkpoint *checkpoint = &snapshot->checkpoint;
	char id[SNAPSHOT_ID_TEXT];

	report_skipped_files(job, snapshot);
	event_log_add(&job->events, "durable", "{s:s, s:o, s:i, s:I, s:I, s:f, s:f, s:s}", "id",
		      snapshot_id_format(snapshot->id, id), "step", step_json(checkpoint->step),
		      "files", (int)snapshot->result.files, "bytes",
		      (json_int_t)snapshot->result.bytes, "bytes_sent",
		      (json_int_t)snapshot->result.bytes_sent, "seconds",
		      (double)job->model.measured.upload_ms / 1000, "age",
		      (double)(clock_monotonic_ms() - checkpoint->written_ms) / 1000, "reason",
		      save_reason_name(checkpoint->reason));
}

static void durable(struct job *job, const struct posted_event *posted)
{
	const struct snapshot_outcome *snapshot = posted->snapshot;
	int64_t deadline_ms = job->model.stop.deadline_ms;
	char id[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32], spare[64] = "", step[40] = "";

	if (snapshot->checkpoint.step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)snapshot->checkpoint.step);
	if (deadline_ms != CLOCK_NEVER)
		snprintf(spare, sizeof(spare), ", %.1f s before the deadline",
			 (double)clock_left_ms(deadline_ms) / 1000);
	/* What a member has given whose files another one keeps, or that has none. */
	if (job->gang.members > 1 && snapshot->result.bytes == 0)
		log_note("durable: %s%s%s", snapshot_id_format(snapshot->id, id), step, spare);
	else
		log_note("durable: %s%s, %s (%s written) in %s%s",
			 snapshot_id_format(snapshot->id, id), step,
			 text_bytes(snapshot->result.bytes, size, sizeof(size)),
			 text_bytes(snapshot->result.bytes_sent, sent, sizeof(sent)),
			 text_duration(snapshot->took_ms, time, sizeof(time)), spare);
	durable_quietly(job, posted);
}

static void store_works(struct job *job, const struct posted_event *posted)
{
	(void)job, (void)posted;
	log_note("the store works again");
}

static void still_failing(struct job *job, const struct posted_event *posted)
{
	event_log_add(&job->events, "snapshot_failed", "{s:s}", "why", posted->snapshot->err.text);
}

static void not_durable(struct job *job, const struct posted_event *posted)
{
	still_failing(job, posted);
	job_report_failure(job, "a checkpoint is not durable; the job continues, retrying",
			   &posted->snapshot->err);
}

static void superseded(struct job *job, const struct posted_event *posted)
{
	next_attempt_release(&job->next_attempt);
	job_report_failure(job,
			   "superseded by a newer attempt: no further checkpoints are uploaded",
			   &posted->snapshot->err);
}

static void upload_behind(struct job *job, const struct posted_event *posted)
{
	const struct job_model *model = &job->model;
	int64_t now_ms = clock_monotonic_ms();
	char text[160], loss[120];

	(void)posted;
	recovery_point_format(&model->point, model->durable.step, model->durable.written_ms, now_ms,
			      text, sizeof(text));
	log_warn("%s; %s", text, job_forecast_loss(job, loss, sizeof(loss)));
	event_log_add(&job->events, "upload_behind", "{s:f}", "seconds",
		      (double)(now_ms - model->point.waiting_ms) / 1000);
}

static void window_too_short(struct job *job, const struct posted_event *posted)
{
	struct job_view view = job_look(job, false);
	struct preemption_facts facts = job_forecast(&job->model, &job->rules, &view);
	char save[32], upload[32], time[32];

	(void)posted;
	log_warn("saving (%s) plus upload (%s) exceeds the %s %s: make the checkpoint smaller or "
		 "save more often (--every auto)",
		 text_duration(facts.save_ms, save, sizeof(save)),
		 text_duration(facts.upload_ms, upload, sizeof(upload)),
		 text_duration(facts.window_ms, time, sizeof(time)),
		 job->cloud[0] ? "of this cloud's notice" : "of --grace");
	event_log_add(&job->events, "upload_exceeds_notice", "{s:f, s:f, s:f}", "save_seconds",
		      (double)facts.save_ms / 1000, "upload_seconds",
		      (double)facts.upload_ms / 1000, "window_seconds",
		      (double)facts.window_ms / 1000);
}

static void at_risk(struct job *job, const struct posted_event *posted)
{
	struct job_view view = job_look(job, false);
	char text[120];

	(void)posted;
	log_warn("%s%s", job_forecast_loss(job, text, sizeof(text)),
		 job->model.durable.written_ms > 0 ? "" : ": nothing is durable yet");
	event_log_add(&job->events, "at_risk", "{s:f}", "seconds",
		      (double)job_forecast(&job->model, &job->rules, &view).behind_ms / 1000);
}

static void interval(struct job *job, const struct posted_event *posted)
{
	const struct checkpoint_interval *now = &job->model.measured.interval;
	bool measured = now->save_ms >= 0;
	char every[32], save[32], mtbf[32];

	(void)posted;
	text_duration(now->every_ms, every, sizeof(every));
	if (measured)
		log_note("--every auto: checkpoint every %s (save takes %s; assumed MTBF %s, "
			 "%.0f %% announced)",
			 every, text_duration(now->save_ms, save, sizeof(save)),
			 text_duration(now->mtbf_ms, mtbf, sizeof(mtbf)), 100 * now->announced);
	else
		log_note("--every auto: first checkpoint after %s; the time that it takes decides "
			 "the interval",
			 every);
	event_log_add(&job->events, "interval", "{s:f, s:o, s:f, s:f}", "seconds",
		      (double)now->every_ms / 1000, "save_seconds",
		      measured ? json_real((double)now->save_ms / 1000) : json_null(),
		      "mtbf_seconds", (double)now->mtbf_ms / 1000, "announced", now->announced);
}

void job_say(struct job *job, enum job_sentence sentence, const struct posted_event *posted)
{
	static void (*const rows[JOB_SENTENCES])(struct job * job,
						 const struct posted_event *posted) = {
		[SAY_PLAN] = plan,
		[SAY_WITHDRAWN] = withdrawn,
		[SAY_NOT_ASKED] = not_asked,
		[SAY_CANNOT_ASK] = cannot_ask,
		[SAY_NO_WAY_TO_ASK] = no_way_to_ask,
		[SAY_SAVE_IS_USED] = save_is_used,
		[SAY_SAVING] = saving,
		[SAY_SAVING_QUIETLY] = saving_quietly,
		[SAY_COMPLETE] = complete,
		[SAY_SAVED] = saved,
		[SAY_DEFERRED] = deferred,
		[SAY_KILLING] = killing,
		[SAY_OUT_OF_TIME] = out_of_time,
		[SAY_FLUSH_GOES_ON] = flush_goes_on,
		[SAY_FLUSH_INTERRUPTED] = flush_interrupted,
		[SAY_NO_STORE] = no_store,
		[SAY_DURABLE] = durable,
		[SAY_DURABLE_QUIETLY] = durable_quietly,
		[SAY_STORE_WORKS] = store_works,
		[SAY_NOT_DURABLE] = not_durable,
		[SAY_STILL_FAILING] = still_failing,
		[SAY_SUPERSEDED] = superseded,
		[SAY_UPLOAD_BEHIND] = upload_behind,
		[SAY_WINDOW_TOO_SHORT] = window_too_short,
		[SAY_AT_RISK] = at_risk,
		[SAY_INTERVAL] = interval,
	};

	rows[sentence](job, posted);
}
