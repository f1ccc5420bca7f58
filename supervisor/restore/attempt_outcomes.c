#include "attempt_outcomes.h"

#include "base/cleanup.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* Enough attempts for a rollback and its result, and to estimate how long machines last. */
#define ATTEMPTS_LEAST 8

/* The facts in an attempt's records: attempt_record_json() (job/job_start.c) writes them at its
 * start, end_record() (reporting/end_report.c) at its end. */
static struct attempt_outcome read_attempt_outcome(const struct attempt_summary *past,
						   const json_t *about)
{
	struct attempt_outcome item = {
		.number = past->number,
		.start = past->start,
		.snapshots = past->snapshots,
		.newest = past->newest,
		.ran_ms = json_number_or(past->end_about, "ran_ms", -1),
		.finished = text_equal(past->outcome, "finished"),
		.crashed = json_true_or(past->end_about, "crashed", false),
		.checkpoint_complete = json_true_or(past->end_about, "checkpoint_complete", false),
		.same_command = json_equal(json_object_get(past->about, "command"),
					   json_object_get(about, "command")),
		.had_no_effect = json_true_or(past->about, "rollback_had_no_effect", false),
	};

	(void)snapshot_id_parse(json_text_or(past->about, "rolled_back_from", ""),
				&item.rolled_back_from);
	(void)snapshot_id_parse(json_text_or(past->about, "restore", ""), &item.wanted);
	return item;
}

/* An attempt that was preempted before the launch says nothing about the job. */
static bool was_launched(const struct attempt_summary *past)
{
	return json_true_or(past->end_about, "launched", true);
}

/* A job that failed or finished by itself says nothing about the machine. */
static void count_interruption(struct interruption_history *all, const struct attempt_summary *past)
{
	bool announced = text_equal(past->outcome, "preempted");
	int64_t ran_ms = json_number_or(past->end_about, "ran_ms", -1);

	if (all->save_ms < 0)
		all->save_ms = json_number_or(past->end_about, "save_ms", -1);
	if (past->ended && !announced && !text_equal(past->outcome, "not_durable"))
		return;
	all->announced += announced;
	all->unannounced += !announced;
	if (ran_ms < 0)
		return;
	all->interruptions++;
	all->ran_ms += ran_ms;
}

static void carry_rollback(const struct restart_decision *decision, json_t *about)
{
	char id[SNAPSHOT_ID_TEXT];

	/* A start that waits reads the history again into the same record. */
	json_object_del(about, "rolled_back_from");
	json_object_del(about, "rollback_had_no_effect");
	if (!snapshot_id_is_none(decision->rolled_back_from))
		json_object_set_new(about, "rolled_back_from",
				    json_string(
					    snapshot_id_format(decision->rolled_back_from, id)));
	if (decision->had_no_effect)
		json_object_set_new(about, "rollback_had_no_effect", json_true());
}

/* Experiment trackers use it as the id of the run: letters and digits only. */
static void carry_run_identity(const struct attempt_history *history, bool afresh, json_t *about,
			       char *run)
{
	const struct attempt_summary *newest = history->count > 0 ? &history->items[0] : NULL;
	const char *known = newest ? json_text_or(newest->about, "run", "") : "";
	char nonce[33];

	if (afresh || !known[0]) {
		random_hex(nonce);
		nonce[RUN_IDENTITY_TEXT - 2] = '\0';
		snprintf(run, RUN_IDENTITY_TEXT, "r%.*s", RUN_IDENTITY_TEXT - 2, nonce);
	} else {
		text_set(run, RUN_IDENTITY_TEXT, known);
	}
	json_object_set_new(about, "run", json_string(run));
}

static void describe_newest_attempt(const struct attempt_summary *past,
				    struct attempt_outcomes *attempt_outcomes)
{
	attempt_outcomes->newest = past->number;
	/* One that was made by hand has no supervisor. */
	attempt_outcomes->open.supervisor_pid =
		(int)json_number_or(past->about, "supervisor_pid", 0);
	attempt_outcomes->open.is_open = !past->ended && attempt_outcomes->open.supervisor_pid > 0;
	text_set(attempt_outcomes->open.host, sizeof(attempt_outcomes->open.host),
		 json_text_or(past->about, "host", ""));
	text_set(attempt_outcomes->open.created, sizeof(attempt_outcomes->open.created),
		 past->created);
	text_set(attempt_outcomes->open.directory, sizeof(attempt_outcomes->open.directory),
		 json_text_or(past->about, "directory", ""));
	if (!past->ended)
		text_set(attempt_outcomes->outcome, sizeof(attempt_outcomes->outcome),
			 "left no end record");
	else if (text_equal(past->outcome, "failed"))
		snprintf(attempt_outcomes->outcome, sizeof(attempt_outcomes->outcome),
			 "failed with exit %d",
			 (int)json_number_or(past->end_about, "exit_code", 1));
	else
		text_set(attempt_outcomes->outcome, sizeof(attempt_outcomes->outcome),
			 past->outcome);
}

int attempt_outcomes_read(struct storage *storage, const struct restart_rules *rules, json_t *about,
			  struct attempt_outcomes *attempt_outcomes, struct cancel *cancel,
			  struct err *err)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_free struct attempt_outcome *items = NULL;
	char id[SNAPSHOT_ID_TEXT];
	size_t count = 0;
	size_t most =
		rules->max_no_progress > ATTEMPTS_LEAST ? rules->max_no_progress : ATTEMPTS_LEAST;

	*attempt_outcomes = (struct attempt_outcomes){.past = {.save_ms = -1}};
	if (storage_history(storage, most, &history, cancel, err) < 0)
		return -1;
	if (!snapshot_id_is_none(rules->wanted))
		json_object_set_new(about, "restore",
				    json_string(snapshot_id_format(rules->wanted, id)));
	carry_run_identity(&history, rules->afresh, about, attempt_outcomes->run);
	if (history.count == 0)
		return 0;
	items = memory_new(history.count * sizeof(*items));
	for (size_t i = 0; i < history.count; i++)
		if (was_launched(&history.items[i]))
			items[count++] = read_attempt_outcome(&history.items[i], about);
	for (size_t i = 0; i < history.count; i++)
		if (history.items[i].newest > 0 && snapshot_id_is_none(attempt_outcomes->saved))
			attempt_outcomes->saved = (struct snapshot_id){history.items[i].number,
								       history.items[i].newest};
	for (size_t i = 0; i < history.count; i++)
		count_interruption(&attempt_outcomes->past, &history.items[i]);
	for (size_t i = 0; i < count; i++)
		items[i].same_command |= rules->any_command;
	attempt_outcomes->decision = restart_rules_decide(items, count, rules);
	carry_rollback(&attempt_outcomes->decision, about);
	describe_newest_attempt(&history.items[0], attempt_outcomes);
	return 0;
}

char *attempt_outcomes_refusal(const struct attempt_outcomes *attempt_outcomes, const char *job)
{
	const struct restart_decision *decision = &attempt_outcomes->decision;

	if (decision->action == RESTART_NO_PROGRESS)
		return text_format("job %s: the last %u attempt%s saved nothing beyond what "
				   "was durable before (attempt %u %s): not started (exit %d); "
				   "find out why, then run "
				   "it once with --max-no-progress 0",
				   job, decision->without_progress,
				   decision->without_progress == 1 ? "" : "s",
				   attempt_outcomes->newest, attempt_outcomes->outcome,
				   EXIT_NO_PROGRESS);
	return NULL;
}

char *attempt_outcomes_takeover(const struct attempt_outcomes *attempt_outcomes, const char *job,
				bool runs_here)
{
	const struct open_attempt *open = &attempt_outcomes->open;
	const char *host = open->host[0] ? open->host : "another machine";
	const char *created = open->created[0] ? open->created : "an unknown time";

	if (!open->is_open)
		return NULL;
	if (runs_here)
		return text_format(
			"job %s is running on %s since %s (attempt %u, process %d): this "
			"start takes it over, and what that one saves from now on is "
			"not used",
			job, host, created, attempt_outcomes->newest, open->supervisor_pid);
	return text_format("job %s: attempt %u, on %s since %s, has left no end record; if it "
			   "still "
			   "runs, this start takes it over",
			   job, attempt_outcomes->newest, host, created);
}

char *attempt_outcomes_living(const struct attempt_outcomes *attempt_outcomes, const char *job)
{
	const struct open_attempt *open = &attempt_outcomes->open;

	return text_format("job %s is running on this machine already (attempt %u, process "
			   "%d%s%s): "
			   "end that one, give this one another --job, or take the job over with "
			   "--take-over",
			   job, attempt_outcomes->newest, open->supervisor_pid,
			   open->directory[0] ? ", in " : "", open->directory);
}
