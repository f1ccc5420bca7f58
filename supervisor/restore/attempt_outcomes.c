#include "restore.h"

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "control/control.h"

#include <errno.h>
#include <signal.h>

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
				    struct attempt_outcomes *outcomes)
{
	struct open_attempt *open = &outcomes->open;

	outcomes->newest = past->number;
	/* One that was made by hand has no supervisor. */
	open->supervisor_pid = (int)json_number_or(past->about, "supervisor_pid", 0);
	open->is_open = !past->ended && open->supervisor_pid > 0;
	text_set(open->host, sizeof(open->host), json_text_or(past->about, "host", ""));
	text_set(open->created, sizeof(open->created), past->created);
	text_set(open->directory, sizeof(open->directory),
		 json_text_or(past->about, "directory", ""));
	if (past->ended && text_equal(past->outcome, "failed"))
		snprintf(outcomes->outcome, sizeof(outcomes->outcome), "failed with exit %d",
			 (int)json_number_or(past->end_about, "exit_code", 1));
	else
		text_set(outcomes->outcome, sizeof(outcomes->outcome),
			 past->ended ? past->outcome : "left no end record");
}

static struct restart_rules rules_from(const struct job_config *options, uint32_t member)
{
	return (struct restart_rules){
		.max_no_progress = options->max_no_progress,
		.may_roll_back = options->restore == RESTORE_LATEST,
		.wanted = options->restore == RESTORE_SPECIFIC ? options->restore_id
							       : (struct snapshot_id){0},
		.any_command = member > 0,
	};
}

int attempt_outcomes_read(struct storage *storage, const struct job_config *options,
			  uint32_t member, json_t *about, struct attempt_outcomes *outcomes,
			  struct cancel *cancel, struct err *err)
{
	struct restart_rules rules = rules_from(options, member);
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_free struct attempt_outcome *items = NULL;
	char id[SNAPSHOT_ID_TEXT];
	size_t count = 0;
	size_t most =
		rules.max_no_progress > ATTEMPTS_LEAST ? rules.max_no_progress : ATTEMPTS_LEAST;

	*outcomes = (struct attempt_outcomes){.past = {.save_ms = -1}};
	if (storage_history(storage, most, &history, cancel, err) < 0)
		return -1;
	if (!snapshot_id_is_none(rules.wanted))
		json_object_set_new(about, "restore",
				    json_string(snapshot_id_format(rules.wanted, id)));
	carry_run_identity(&history, options->restore == RESTORE_NONE, about, outcomes->run);
	if (history.count == 0)
		return 0;
	items = memory_new(history.count * sizeof(*items));
	for (size_t i = 0; i < history.count; i++) {
		const struct attempt_summary *past = &history.items[i];

		/* One that was preempted before the launch says nothing about the job. */
		if (json_true_or(past->end_about, "launched", true)) {
			items[count] = read_attempt_outcome(past, about);
			items[count++].same_command |= rules.any_command;
		}
		if (past->newest > 0 && snapshot_id_is_none(outcomes->saved))
			outcomes->saved = (struct snapshot_id){past->number, past->newest};
		count_interruption(&outcomes->past, past);
	}
	outcomes->decision = restart_rules_decide(items, count, &rules);
	carry_rollback(&outcomes->decision, about);
	describe_newest_attempt(&history.items[0], outcomes);
	return 0;
}

char *attempt_outcomes_refusal(const struct attempt_outcomes *outcomes, const char *job)
{
	const struct restart_decision *decision = &outcomes->decision;

	if (decision->action != RESTART_NO_PROGRESS)
		return NULL;
	return text_format("job %s: the last %u attempt%s saved nothing beyond what was "
			   "durable before (attempt %u %s): not started (exit %d); find "
			   "out why, then run it once with --max-no-progress 0",
			   job, decision->without_progress,
			   decision->without_progress == 1 ? "" : "s", outcomes->newest,
			   outcomes->outcome, EXIT_NO_PROGRESS);
}

/* --- does the attempt before this one live here --- */

enum attempt_life attempt_life_of(const struct open_attempt *open, const char *job)
{
	auto_(session_list_release) struct session_list sessions = {0};
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	if (!open->is_open || !text_equal(open->host, host))
		return ATTEMPT_MAY_LIVE;
	session_find(&sessions, false, job);
	for (size_t i = 0; i < sessions.count; i++)
		if (sessions.items[i].pid == open->supervisor_pid &&
		    sessions.items[i].pid != getpid())
			return ATTEMPT_LIVES_HERE;
	return kill(open->supervisor_pid, 0) < 0 && errno == ESRCH
		       ? ATTEMPT_IS_GONE
		       : ATTEMPT_MAY_LIVE;
}

char *attempt_outcomes_living(const struct attempt_outcomes *outcomes, const char *job)
{
	const struct open_attempt *open = &outcomes->open;

	if (attempt_life_of(open, job) != ATTEMPT_LIVES_HERE)
		return NULL;
	return text_format("job %s is running on this machine already (attempt %u, process "
			   "%d%s%s): end that one, give this one another --job, or take the job "
			   "over with --take-over",
			   job, outcomes->newest, open->supervisor_pid,
			   open->directory[0] ? ", in " : "", open->directory);
}

/* --- progress --- */

/* How many snapshots lie in a row behind what an attempt has saved last. */
static uint64_t reach_of(const struct attempt_outcome *items, size_t count, size_t at)
{
	uint64_t reach = items[at].newest;
	struct snapshot_id from = items[at].start;

	for (size_t i = at + 1; i < count; i++)
		if (items[i].number == from.attempt) {
			reach += from.sequence;
			from = items[i].start;
		}
	return reach + from.sequence;
}

/* Does the attempt behind `at` begin where that one had come to, or where a step back has put it?
 * Else the user has chosen what it starts from, and what was reached before counts no longer. */
static bool goes_on(const struct attempt_outcome *items, size_t at)
{
	const struct attempt_outcome *before = &items[at + 1];
	struct snapshot_id newest = before->start;

	if (before->newest > 0)
		newest = (struct snapshot_id){before->number, before->newest};
	return snapshot_id_compare(items[at].start, newest) == 0 ||
	       !snapshot_id_is_none(items[at].rolled_back_from);
}

/* How many of the newest attempts have saved nothing beyond the best that there was before. */
static uint32_t count_without_progress(const struct attempt_outcome *items, size_t count)
{
	uint64_t best = 0;
	uint32_t streak = 0;

	for (size_t i = count; i-- > 0;) {
		uint64_t reach = reach_of(items, count, i);

		if (i + 1 < count && !goes_on(items, i))
			best = reach - items[i].newest;
		streak = items[i].finished || (items[i].snapshots > 0 && reach > best)
				 ? 0
				 : streak + 1;
		best = reach > best ? reach : best;
	}
	return streak;
}

/* --- a step back --- */

/* The job crashed soon after it had got its checkpoint, and saved nothing in between. */
static bool died_of_its_start(const struct attempt_outcome *item)
{
	return item->crashed && item->same_command && item->snapshots == 0 &&
	       !item->checkpoint_complete && item->ran_ms >= 0 &&
	       item->ran_ms < RESTART_EARLY_CRASH_MS && !snapshot_id_is_none(item->start);
}

/* Two deaths begin it; from then on each further one is a step. Where there is no older snapshot,
 * the cause is another one, and the newest is as good as any. */
static void decide_start(const struct attempt_outcome *items, size_t count,
			 struct restart_decision *decision)
{
	bool twice, back;

	if (count == 0 || items[0].snapshots > 0)
		return;
	decision->had_no_effect = items[0].had_no_effect;
	decision->rolled_back_from = items[0].rolled_back_from;
	if (decision->had_no_effect || !died_of_its_start(&items[0]))
		return;
	back = !snapshot_id_is_none(decision->rolled_back_from);
	twice = count >= 2 && died_of_its_start(&items[1]) &&
		snapshot_id_compare(items[0].start, items[1].start) == 0;
	if (back != twice) {
		decision->action = RESTART_ROLL_BACK;
		decision->snapshot = items[0].start;
		if (!back)
			decision->rolled_back_from = items[0].start;
	} else if (twice && snapshot_id_compare(decision->rolled_back_from, items[0].start) != 0) {
		decision->action = RESTART_REVERT;
		decision->snapshot = decision->rolled_back_from;
		decision->rolled_back_from = (struct snapshot_id){0};
		decision->had_no_effect = true;
	}
}

/* One that was refused, or killed before it had saved or ended, has trained nothing from there. */
static bool has_had(const struct attempt_outcome *item, struct snapshot_id wanted)
{
	return !snapshot_id_is_none(wanted) && item->same_command &&
	       snapshot_id_compare(item->wanted, wanted) == 0 &&
	       (item->snapshots > 0 || item->ran_ms >= 0);
}

struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules)
{
	struct restart_decision decision = {
		.action = RESTART_PROCEED,
		.without_progress = count_without_progress(items, count),
		.had_wanted = count > 0 && has_had(&items[0], rules->wanted),
	};

	if (rules->max_no_progress > 0 && decision.without_progress >= rules->max_no_progress)
		decision.action = RESTART_NO_PROGRESS;
	else if (rules->may_roll_back || decision.had_wanted)
		decide_start(items, count, &decision);
	return decision;
}
