#include "attempt_outcomes.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* Enough for a step back and its end, and to know how long machines last. */
#define ATTEMPTS_LEAST 16

AUTO(struct history, history_release);

/* What the records of an attempt say beyond their form: written by about_this_attempt() and end_attempt() in job*.c. */
static struct precedent read_precedent(const struct past_attempt *past, const json_t *about)
{
	struct precedent item = {
		.start = past->start,
		.snapshots = past->snapshots,
		.ran_ms = json_number_or(past->end_about, "ran_ms", -1),
		.finished = json_true_or(past->end_about, "done", false),
		.crashed = json_true_or(past->end_about, "crashed", false),
		.sealed = json_true_or(past->end_about, "sealed", false),
		.same_command = json_equal(
			json_object_get(past->about, "command"), json_object_get(about, "command")),
		.in_vain = json_true_or(past->about, "stepped_back_in_vain", false),
	};

	(void)snapshot_id_parse(
		json_text_or(past->about, "stepped_back_from", ""), &item.stepped_back_from);
	return item;
}

/* Preempted before the job was there: that says nothing of the job. */
static bool was_launched(const struct past_attempt *past)
{
	return json_true_or(past->end_about, "launched", true);
}

/* Failures and ends of the job's own say nothing of the machine. */
static void count_interruption(struct interval_past *all, const struct past_attempt *past)
{
	bool announced = text_equal(past->outcome, "preempted");
	int64_t ran_ms = json_number_or(past->end_about, "ran_ms", -1);

	if (all->save_ms < 0)
		all->save_ms = json_number_or(past->end_about, "save_ms", -1);
	if (past->ended && !announced && !text_equal(past->outcome, "lost"))
		return;
	all->announced += announced;
	all->unannounced += !announced;
	if (ran_ms < 0)
		return;
	all->interruptions++;
	all->ran_ms += ran_ms;
}

static void carry_over(const struct precedent_ruling *ruling, json_t *about)
{
	char id[SNAPSHOT_ID_TEXT];

	if (!snapshot_id_is_none(ruling->stepped_back_from))
		json_object_set_new(about, "stepped_back_from",
			json_string(snapshot_id_format(ruling->stepped_back_from, id)));
	if (ruling->in_vain)
		json_object_set_new(about, "stepped_back_in_vain", json_true());
}

/* Trackers of experiments take it for the run's name: letters and digits. */
static void carry_run(const struct history *history, bool afresh, json_t *about, char *run)
{
	const struct past_attempt *newest = history->count > 0 ? &history->items[0] : NULL;
	const char *known = newest ? json_text_or(newest->about, "run", "") : "";
	char nonce[33];

	if (afresh || !known[0] || json_true_or(newest->end_about, "done", false)) {
		file_nonce(nonce);
		nonce[RUN_IDENTITY_TEXT - 2] = '\0';
		snprintf(run, RUN_IDENTITY_TEXT, "r%.*s", RUN_IDENTITY_TEXT - 2, nonce);
	} else {
		text_set(run, RUN_IDENTITY_TEXT, known);
	}
	json_object_set_new(about, "run", json_string(run));
}

static void describe_newest(const struct past_attempt *past, struct earlier *earlier)
{
	earlier->newest = past->number;
	text_set(earlier->ended_at, sizeof(earlier->ended_at), past->ended_at);
	if (!past->ended)
		text_set(earlier->outcome, sizeof(earlier->outcome), "ended without a word");
	else if (text_equal(past->outcome, "failed"))
		snprintf(earlier->outcome, sizeof(earlier->outcome), "failed with exit %d",
			(int)json_number_or(past->end_about, "exit_code", 1));
	else
		text_set(earlier->outcome, sizeof(earlier->outcome), past->outcome);
}

int earlier_read(struct storage *storage, const struct precedent_rules *rules, json_t *about,
	struct earlier *earlier, struct cancel *cancel, struct err *err)
{
	auto_(history_release) struct history history = {0};
	auto_free struct precedent *items = NULL;
	size_t count = 0;
	size_t most =
		rules->max_no_progress > ATTEMPTS_LEAST ? rules->max_no_progress : ATTEMPTS_LEAST;

	*earlier = (struct earlier){.past = {.save_ms = -1}};
	if (storage_history(storage, most, &history, cancel, err) < 0)
		return -1;
	carry_run(&history, rules->afresh, about, earlier->run);
	if (history.count == 0)
		return 0;
	items = memory_new(history.count * sizeof(*items));
	for (size_t i = 0; i < history.count; i++)
		if (was_launched(&history.items[i]))
			items[count++] = read_precedent(&history.items[i], about);
	for (size_t i = 0; i < history.count; i++)
		count_interruption(&earlier->past, &history.items[i]);
	earlier->ruling = precedent_rule(items, count, rules);
	carry_over(&earlier->ruling, about);
	describe_newest(&history.items[0], earlier);
	return 0;
}
