#include "report_page.h"

#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BARS_MOST 64
/* A wait is drawn no longer than this part of what all attempts have run. */
#define WAIT_SHARE 4

/* --- one attempt's ledger --- */

/* By the wall clock, as it was at the first event; -1: it has not happened. */
struct ledger_times {
	struct page_bar *bar;
	int64_t wall_ms; /* of the monotonic clock's zero */
	int64_t first_ms, launched_ms, saving_ms, told_ms, exited_ms, last_ms;
	int64_t noticed_ms, deadline_ms;
};

static void read_ledger_event(void *arg, json_t *line)
{
	struct ledger_times *times = arg;
	const char *event = json_text_or(line, "event", "");
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);
	int64_t took_ms = json_seconds_or(line, "seconds", 0);
	int64_t left_ms = json_seconds_or(line, "seconds_left", -1);

	if (at_ms < 0 || at_ms > INT64_MAX / 4)
		return;
	if (times->first_ms < 0 && datetime_parse(json_text_or(line, "time", ""), &times->first_ms))
		times->wall_ms = times->first_ms - at_ms;
	at_ms += times->wall_ms;
	times->last_ms = at_ms;
	if (text_equal(event, "launched"))
		times->launched_ms = at_ms;
	else if (text_equal(event, "restored"))
		page_add_phase(times->bar, PHASE_RESTORING, at_ms - took_ms, at_ms);
	else if (text_equal(event, "saving"))
		times->saving_ms = at_ms;
	else if (text_equal(event, "checkpoint_complete") && times->saving_ms >= 0)
		page_add_phase(times->bar, PHASE_SAVING, times->saving_ms, at_ms);
	else if (text_equal(event, "durable"))
		page_add_phase(times->bar, PHASE_UPLOADING, at_ms - took_ms, at_ms);
	else if (text_equal(event, "stopping") && times->told_ms < 0)
		times->told_ms = at_ms;
	else if (text_equal(event, "child_exited"))
		times->exited_ms = at_ms;
	else if (text_equal(event, "notice") && left_ms >= 0 &&
		 text_equal(json_text_or(line, "kind", ""), "stop")) {
		times->noticed_ms = at_ms;
		times->deadline_ms = at_ms + left_ms;
	}
	if (text_equal(event, "checkpoint_complete"))
		times->saving_ms = -1;
}

void timeline_read(struct timeline *timeline, const struct attempt_costs *costs,
		   const struct bytes *ledger)
{
	struct page_bar *bar = &timeline->bar;
	struct ledger_times times = {bar, 0, -1, -1, -1, -1, -1, -1, -1, -1};
	int64_t ended_ms, told_ms, lost_ms;

	free(bar->phases);
	*timeline = (struct timeline){.from_ms = 0};
	ledger_each_event(ledger, read_ledger_event, &times);
	if (times.launched_ms < 0 || times.first_ms < 0) {
		/* Without a ledger: as long as its records say. */
		bar->count = 0;
		if (!datetime_parse(costs->started, &timeline->from_ms))
			return;
		timeline->to_ms = timeline->from_ms + (costs->ran_ms > 0 ? costs->ran_ms : 0);
		page_add_phase(bar, PHASE_TRAINING, timeline->from_ms, timeline->to_ms);
		return;
	}
	ended_ms = times.exited_ms >= 0 ? times.exited_ms : times.last_ms;
	if (costs->at_least && costs->ran_ms > ended_ms - times.launched_ms)
		ended_ms = times.launched_ms + costs->ran_ms;
	told_ms = times.told_ms >= 0 && times.told_ms < ended_ms ? times.told_ms : ended_ms;
	lost_ms = told_ms - (costs->lost_ms > 0 ? costs->lost_ms : 0);
	page_add_phase(bar, PHASE_TRAINING, times.launched_ms, ended_ms);
	page_add_phase(bar, PHASE_LOST, lost_ms > times.launched_ms ? lost_ms : times.launched_ms,
		       told_ms);
	page_add_phase(bar, PHASE_NOTICE, times.noticed_ms, times.deadline_ms);
	timeline->from_ms = times.first_ms;
	timeline->to_ms = ended_ms > times.last_ms ? ended_ms : times.last_ms;
}

/* --- all attempts of a job --- */

static const char *format_duration(int64_t ms, char text[32])
{
	return ms < 0 ? "?" : text_duration(ms, text, 32);
}

static void format_label(const struct attempt_costs *costs, char *text, size_t size)
{
	char ran[32], lost[32];

	snprintf(text, size, "%u: ran %s, %s%s%s", costs->number,
		 format_duration(costs->ran_ms, ran), costs->outcome,
		 costs->lost_ms > 0 ? ", lost " : "",
		 costs->lost_ms > 0 ? format_duration(costs->lost_ms, lost) : "");
}

/* Puts the attempts upon one axis, on which long waits are cut. */
static void add_bars(struct page_section *section, const struct attempt_costs *accounts,
		     const struct timeline *timelines, size_t count)
{
	int64_t ran_ms = 0, wait_most_ms, cut_ms = -1, ended_ms = 0;
	size_t first = count > BARS_MOST ? count - BARS_MOST : 0;

	for (size_t i = first; i < count; i++)
		ran_ms += timelines[i].to_ms - timelines[i].from_ms;
	wait_most_ms = ran_ms / WAIT_SHARE + 1;
	for (size_t i = first; i < count; i++) {
		const struct timeline *timeline = &timelines[i];
		struct page_bar *bar = page_add_bar(section);
		int64_t waited_ms = ended_ms > 0 ? timeline->from_ms - ended_ms : 0;

		format_label(&accounts[i], bar->label, sizeof(bar->label));
		if (timeline->from_ms <= 0)
			continue;
		if (cut_ms < 0)
			cut_ms = timeline->from_ms;
		if (waited_ms > wait_most_ms) {
			cut_ms += waited_ms - wait_most_ms;
			waited_ms = wait_most_ms;
		}
		page_add_phase(bar, PHASE_WAITING, timeline->from_ms - cut_ms - waited_ms,
			       timeline->from_ms - cut_ms);
		for (size_t j = 0; j < timeline->bar.count; j++) {
			const struct page_phase *phase = &timeline->bar.phases[j];

			page_add_phase(bar, phase->kind, phase->from_ms - cut_ms,
				       phase->to_ms - cut_ms);
		}
		if (timeline->to_ms > ended_ms)
			ended_ms = timeline->to_ms;
	}
}

static void add_figures(struct page_section *section, const struct attempt_costs_sum *sum,
			const struct report_prices *prices)
{
	struct attempt_costs_price cost = attempt_costs_price(sum, prices->spot, prices->on_demand);
	char text[32];

	if (sum->machines_ms > 0) {
		page_add_figure(section, "goodput", "goodput", "%.1f %%",
				100 * attempt_costs_goodput(sum, false));
		page_add_figure(section, "goodput-without", "without checkpoints", "%.1f %%",
				100 * attempt_costs_goodput(sum, true));
	}
	page_add_figure(section, "kept", "counts", "%s", format_duration(sum->kept_ms, text));
	page_add_figure(section, "lost", "lost", "%s%s", sum->lost_at_least ? ">" : "",
			format_duration(sum->lost_ms, text));
	page_add_figure(section, "preemptions", "preemptions", "%u", sum->interruptions);
	if (prices->spot > 0)
		page_add_figure(section, "cost", "cost", "$%.2f", cost.spot);
	if (prices->on_demand > 0)
		page_add_figure(section, "cost-without", "the same on demand", "$%.2f",
				cost.on_demand);
}

/* Less than this after the last save is the end of the job, and no work. */
#define UNSAVED_LEAST_MS 1000

static void add_lost(struct page_section *section, const struct attempt_costs *costs)
{
	bool more = costs->at_least && costs->interrupted && costs->lost_ms >= 0;
	char length[32];

	if (costs->loses)
		page_add_cell(section, "%s%s", more ? ">" : "",
			      format_duration(costs->lost_ms, length));
	else if (costs->unsaved_ms >= UNSAVED_LEAST_MS)
		page_add_cell(section, "- (%s in no snapshot)",
			      format_duration(costs->unsaved_ms, length));
	else
		page_add_cell(section, "-");
}

static void add_row(struct page_section *section, const struct attempt_costs *costs)
{
	char ran[32];

	page_add_cell(section, "%u", costs->number);
	page_add_cell(section, "%.19s", costs->started);
	page_add_cell(section, costs->machines > 1 ? "%s+%u" : "%s", costs->host,
		      costs->machines - 1);
	page_add_cell(section, "%s%s", costs->at_least && costs->ran_ms >= 0 ? ">" : "",
		      format_duration(costs->ran_ms, ran));
	page_add_cell(section, "%s", costs->outcome);
	page_add_cell(section, costs->source[0] && costs->notice_seconds >= 0 ? "%s, %.0f s" : "%s",
		      costs->source[0] ? costs->source : "-", costs->notice_seconds);
	page_add_cell(section, "%u", costs->snapshots);
	add_lost(section, costs);
}

void report_page_fill(struct page_section *section, const char *job,
		      const struct attempt_costs *accounts, const struct timeline *timelines,
		      size_t count, const struct report_prices *prices)
{
	static const char *const heads[] = {"ATTEMPT", "STARTED (UTC)", "HOST", "RAN", "OUTCOME",
					    "NOTICE",  "IN STORE",      "LOST", NULL};
	struct attempt_costs_sum sum = {0};
	char sentence[400];

	attempt_costs_add(&sum, accounts, count);
	snprintf(section->title, sizeof(section->title), "job %s", job);
	snprintf(section->note, sizeof(section->note),
		 "%s Goodput is the time that counts in all that was paid for. The chart shows %s; "
		 "a long wait is drawn shorter than it was.",
		 attempt_costs_sentence(&sum, sentence, sizeof(sentence)),
		 count > BARS_MOST ? "the newest 64 attempts" : "all attempts");
	add_figures(section, &sum, prices);
	add_bars(section, accounts, timelines, count);
	section->heads = heads;
	for (size_t i = 0; i < count; i++)
		add_row(section, &accounts[i]);
}
