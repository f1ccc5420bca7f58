/* What the core says is said: a line of log, an event, or both. One row for each sentence. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "reporting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a row may tell. */
struct told {
	struct reports *reports;
	struct run_facts run;
	const char *text;
	const struct snapshot_outcome *snapshot;
};

void reports_release(struct reports *reports)
{
	path_list_free(reports->said_patterns.paths);
	free(reports->save_place.elsewhere);
	path_list_free(reports->save_place.files.paths);
}

void report_our_failure(struct reports *reports, const char *what, const struct err *err)
{
	reports->failed = true;
	log_warn("%s: %s", what, err->text);
}

void report_no_store(struct reports *reports, const char *what)
{
	if (!reports->no_store.kind)
		return;
	report_our_failure(reports, what, &reports->no_store);
	reports->no_store = (struct err){0};
}

/* --- the plan, and asking --- */

static void plan(const struct told *told)
{
	const struct job_model *model = told->run.model;
	char text[256];

	log_note("%s", preemption_forecast_format_plan(&model->plan.facts, text, sizeof(text)));
	event_log_add(told->reports->events, "plan", "{s:s}", "text", text);
}

static void not_asked(const struct told *told)
{
	log_note("the job is not asked for a checkpoint%s: its newest complete one is used, once "
		 "no further save is due in time",
		 told->run.ask_chosen ? " (--checkpoint-signal none)"
				      : ", because no way to ask it is known");
}

static void cannot_ask(const struct told *told)
{
	const struct run_facts *run = &told->run;
	bool retries = run->model->state == JOB_CHECKPOINTING && run->rules->ask != REQUEST_COMMAND;
	const char *what =
		retries ? "; if none does in time, its newest complete checkpoint is used" : "";

	/* Nobody has said that it can be asked: that is how most jobs are. Or the start has said
	 * that it most likely cannot. */
	if (run->rules->ask == REQUEST_AUTO)
		log_note("the job cannot be asked for a checkpoint: %s; those that it saves by "
			 "itself count%s (`reprieve explain python`)",
			 told->text,
			 retries ? ", and it trains on until no further one is due in time" : "");
	else if (run->handler_unseen)
		log_note("cannot ask the job for a checkpoint: %s%s", told->text, what);
	else
		log_warn("cannot ask the job for a checkpoint: %s%s", told->text, what);
	event_log_add(told->reports->events, "request_failed", "{s:s}", "why", told->text);
}

/* Said once: it is so at each interval. */
static void no_way_to_ask(const struct told *told)
{
	if (told->reports->said_no_way)
		return;
	told->reports->said_no_way = true;
	log_warn("the job is not asked for a checkpoint: no way to ask it is known; those that it "
		 "saves count (`reprieve explain python`)");
}

static void saving(const struct told *told)
{
	/* Else nobody asked for it. */
	if (told->run.model->requests.asking == ASKING_SENT)
		log_note("the job is saving %s", told->text);
	event_log_add(told->reports->events, "saving", "{s:s}", "path", told->text);
}

static void complete(const struct told *told)
{
	event_log_add(told->reports->events, "checkpoint_complete", "{s:o}", "step",
		      json_integer_or_null(told->run.model->newest.step));
}

static void saved(const struct told *told)
{
	const struct job_model *model = told->run.model;
	/* SIGTERM was passed on as to any command, and nothing in the job handles it. */
	bool by_itself = model->asking.forwarded && model->plan.made && !model->plan.facts.can_ask;

	log_note("the job has saved%s, %.1f s after %s", by_itself ? " by itself" : "",
		 (double)(model->newest.completed_ms - model->asking.sent_ms) / 1000,
		 by_itself ? "it was sent SIGTERM" : "it was asked");
}

static void deferred(const struct told *told)
{
	const struct preemption_facts *facts = &told->run.model->deferral.facts;
	int64_t due_ms = preemption_forecast_next_save_ms(facts);
	char time[32], next[64] = "the next save is due now";
	bool first = preemption_forecast_choose(facts) == PREEMPTION_AWAIT_FIRST;

	if (due_ms > 0)
		snprintf(next, sizeof(next), "the next save is due in %s",
			 text_duration(due_ms, time, sizeof(time)));
	if (first)
		snprintf(next, sizeof(next), "the job has not saved yet, and may do so in time");
	log_note("%s: SIGTERM is forwarded when it completes (another SIGTERM, a second or more "
		 "later, forwards it now)",
		 facts->saving_for_ms >= 0 ? "a save is in progress" : next);
}

static void killing(const struct told *told)
{
	log_warn("the job has not exited: killing it (SIGKILL)");
	event_log_add(told->reports->events, "stopping", "{s:s}", "signal", "KILL");
}

/* --- snapshots --- */

/* Said with the first checkpoint, because a job without checkpoints needs no store. */
static void no_store(const struct told *told)
{
	report_no_store(told->reports,
			"the job has written a checkpoint, and it will not be saved");
}

/* Each is reported once, because most jobs have the same files in all of their checkpoints. */
static void report_skipped_files(const struct told *told)
{
	const struct snapshot_outcome *snapshot = told->snapshot;

	if (!told->reports->said_skipped_files)
		skipped_files_report(&snapshot->result, told->run.directory);
	told->reports->said_skipped_files |= snapshot->result.left_out > 0;
	for (char **matched = snapshot->matched; matched && *matched; matched++) {
		size_t length = strcspn(*matched, "(");
		bool said = false;

		for (size_t i = 0; i < told->reports->said_patterns.count; i++)
			said |= strncmp(told->reports->said_patterns.paths[i], *matched, length) ==
				0;
		if (said)
			continue;
		path_list_add(&told->reports->said_patterns, *matched);
		log_note("%s) %s", *matched,
			 text_starts(*matched, "--exclude")
				 ? "leaves files out of the snapshots: they stay on this machine"
				 : "takes files as running files: they delay no checkpoint");
	}
}

static void durable_quietly(const struct told *told)
{
	const struct snapshot_outcome *snapshot = told->snapshot;
	const struct checkpoint *checkpoint = &snapshot->checkpoint;
	char id[SNAPSHOT_ID_TEXT];

	report_skipped_files(told);
	event_log_add(told->reports->events, "durable", "{s:s, s:o, s:i, s:I, s:I, s:f, s:f, s:s}",
		      "id", snapshot_id_format(snapshot->id, id), "step",
		      json_integer_or_null(checkpoint->step), "files", (int)snapshot->result.files,
		      "bytes", (json_int_t)snapshot->result.bytes, "bytes_sent",
		      (json_int_t)snapshot->result.bytes_sent, "seconds",
		      (double)told->run.model->measured.upload_ms / 1000, "age",
		      (double)(clock_monotonic_ms() - checkpoint->written_ms) / 1000, "reason",
		      save_reason_name(checkpoint->reason));
}

/* At the first checkpoint, when a job has set up its handlers. */
static void suggest_signal(const struct told *told)
{
	if (told->reports->said_signal || told->run.rules->ask != REQUEST_AUTO ||
	    told->run.ask_chosen)
		return;
	told->reports->said_signal = true;
	if (told->reports->look(told->reports->arg, LOOK_AT_PROCESSES).view.could_use_usr1)
		log_note("the job handles SIGUSR1, but is not asked by it: if it saves then, set "
			 "--checkpoint-signal USR1");
}

static void durable(const struct told *told)
{
	const struct snapshot_outcome *snapshot = told->snapshot;
	int64_t deadline_ms = told->run.model->stop.deadline_ms;
	char id[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32], spare[64] = "", step[40] = "";

	if (snapshot->checkpoint.step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)snapshot->checkpoint.step);
	if (deadline_ms != CLOCK_NEVER)
		snprintf(spare, sizeof(spare), ", %.1f s before the deadline",
			 (double)clock_left_ms(deadline_ms) / 1000);
	/* What a member has given whose files another one keeps, or that has none. */
	if (told->run.rules->of_gang && snapshot->result.bytes == 0)
		log_note("durable: %s%s%s", snapshot_id_format(snapshot->id, id), step, spare);
	else
		log_note("durable: %s%s, %s (%s written) in %s%s",
			 snapshot_id_format(snapshot->id, id), step,
			 text_bytes(snapshot->result.bytes, size, sizeof(size)),
			 text_bytes(snapshot->result.bytes_sent, sent, sizeof(sent)),
			 text_duration(snapshot->took_ms, time, sizeof(time)), spare);
	/* Before the event, after which a job may be ended. */
	suggest_signal(told);
	durable_quietly(told);
}

static void still_failing(const struct told *told)
{
	if (!told->snapshot->not_whole)
		told->reports->store_failure = told->snapshot->err;
	event_log_add(told->reports->events, "snapshot_failed", "{s:s}", "why",
		      told->snapshot->err.text);
}

static void not_durable(const struct told *told)
{
	still_failing(told);
	report_our_failure(told->reports,
			   "a checkpoint is not durable; the job continues, retrying",
			   &told->snapshot->err);
}

static void superseded(const struct told *told)
{
	report_our_failure(told->reports,
			   "superseded by a newer attempt: no further checkpoints are uploaded",
			   &told->snapshot->err);
}

static void window_too_short(const struct told *told)
{
	const struct run_facts *run = &told->run;
	struct preemption_facts facts = run_facts_forecast(run);
	char save[32], upload[32], time[32];

	log_warn("saving (%s) plus upload (%s) exceeds the %s %s: make the checkpoint smaller or "
		 "save more often (--every auto)",
		 text_duration(facts.save_ms, save, sizeof(save)),
		 text_duration(facts.upload_ms, upload, sizeof(upload)),
		 text_duration(facts.window_ms, time, sizeof(time)),
		 run->view.usual_window_ms > 0 ? "of this cloud's notice" : "of --grace");
	event_log_add(told->reports->events, "upload_exceeds_notice", "{s:f, s:f, s:f}",
		      "save_seconds", (double)facts.save_ms / 1000, "upload_seconds",
		      (double)facts.upload_ms / 1000, "window_seconds",
		      (double)facts.window_ms / 1000);
}

static void at_risk(const struct told *told)
{
	const struct job_model *model = told->run.model;
	struct preemption_facts facts = run_facts_forecast(&told->run);
	char text[120], durable[48] = "";

	if (model->durable.written_ms == 0)
		text_set(durable, sizeof(durable), ": nothing is durable yet");
	else if (model->durable.step >= 0)
		snprintf(durable, sizeof(durable), "; durable: step %lld",
			 (long long)model->durable.step);
	log_warn("%s%s%s", preemption_forecast_format_loss(&facts, text, sizeof(text)), durable,
		 job_is_upload_behind(model, told->run.view.now_ms)
			 ? "; the upload has fallen behind"
			 : "");
	event_log_add(told->reports->events, "at_risk", "{s:f}", "seconds",
		      (double)facts.behind_ms / 1000);
}

static void interval(const struct told *told)
{
	const struct checkpoint_interval *now = &told->run.model->measured.interval;
	bool measured = now->save_ms >= 0;
	char every[32], save[32], mtbf[32];

	text_duration(now->every_ms, every, sizeof(every));
	if (measured)
		log_note("--every auto: checkpoint every %s (save takes %s; assumed MTBF %s, %.0f "
			 "%% announced)",
			 every, text_duration(now->save_ms, save, sizeof(save)),
			 text_duration(now->mtbf_ms, mtbf, sizeof(mtbf)), 100 * now->announced);
	else
		log_note("--every auto: first checkpoint after %s; the time that it takes decides "
			 "the interval",
			 every);
	event_log_add(told->reports->events, "interval", "{s:f, s:o, s:f, s:f}", "seconds",
		      (double)now->every_ms / 1000, "save_seconds", json_seconds(now->save_ms),
		      "mtbf_seconds", (double)now->mtbf_ms / 1000, "announced", now->announced);
}

void report_sentence(struct reports *reports, enum job_sentence sentence, const char *text,
		     const struct snapshot_outcome *snapshot)
{
	static const struct {
		void (*tell)(const struct told *told);
		const char *note, *warn; /* one of the three */
	} rows[JOB_SENTENCES] = {
		[SAY_PLAN] = {.tell = plan},
		[SAY_WITHDRAWN] = {.note = "the notice was withdrawn: the job continues"},
		[SAY_NOT_ASKED] = {.tell = not_asked},
		[SAY_CANNOT_ASK] = {.tell = cannot_ask},
		[SAY_NO_WAY_TO_ASK] = {.tell = no_way_to_ask},
		[SAY_SAVE_IS_USED] = {.note = "the job is still saving for the previous request: "
					      "that save is used"},
		[SAY_SAVING] = {.tell = saving},
		[SAY_COMPLETE] = {.tell = complete},
		[SAY_SAVED] = {.tell = saved},
		[SAY_DEFERRED] = {.tell = deferred},
		[SAY_KILLING] = {.tell = killing},
		[SAY_OUT_OF_TIME] = {.warn = "out of time: the upload under way is cancelled"},
		[SAY_FLUSH_GOES_ON] = {.note = "the job has ended, and what it saved last is being "
					       "made durable (Ctrl-C gives that up)"},
		[SAY_FLUSH_INTERRUPTED] =
			{.warn = "interrupted: what is not durable by now is given up"},
		[SAY_NO_STORE] = {.tell = no_store},
		[SAY_DURABLE] = {.tell = durable},
		[SAY_DURABLE_QUIETLY] = {.tell = durable_quietly},
		[SAY_STORE_WORKS] = {.note = "the store works again"},
		[SAY_NOT_DURABLE] = {.tell = not_durable},
		[SAY_STILL_FAILING] = {.tell = still_failing},
		[SAY_SUPERSEDED] = {.tell = superseded},
		[SAY_WINDOW_TOO_SHORT] = {.tell = window_too_short},
		[SAY_AT_RISK] = {.tell = at_risk},
		[SAY_INTERVAL] = {.tell = interval},
	};
	bool forecasts = sentence == SAY_WINDOW_TOO_SHORT || sentence == SAY_AT_RISK;
	const struct told told = {
		.reports = reports,
		.run = reports->look(reports->arg, forecasts ? LOOK_AT_PROCESSES : LOOK_AT_MODEL),
		.text = text,
		.snapshot = snapshot,
	};

	if (rows[sentence].tell)
		rows[sentence].tell(&told);
	else if (rows[sentence].note)
		log_note("%s", rows[sentence].note);
	else
		log_warn("%s", rows[sentence].warn);
}
