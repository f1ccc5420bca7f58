#include "report_page.h"

#include "base/json.h"

#include <stdio.h>

#define BARS_MOST 64
/* A wait is drawn no longer than this part of what all attempts have run. */
#define WAIT_SHARE 4

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
		     size_t count)
{
	int64_t ran_ms = 0, wait_most_ms, cut_ms = -1, ended_ms = 0;
	size_t first = count > BARS_MOST ? count - BARS_MOST : 0;

	for (size_t i = first; i < count; i++)
		ran_ms += accounts[i].to_ms - accounts[i].from_ms;
	wait_most_ms = ran_ms / WAIT_SHARE + 1;
	for (size_t i = first; i < count; i++) {
		const struct attempt_costs *costs = &accounts[i];
		struct page_bar *bar = page_add_bar(section);
		int64_t waited_ms = ended_ms > 0 ? costs->from_ms - ended_ms : 0;

		format_label(costs, bar->label, sizeof(bar->label));
		if (costs->from_ms <= 0)
			continue;
		if (cut_ms < 0)
			cut_ms = costs->from_ms;
		if (waited_ms > wait_most_ms) {
			cut_ms += waited_ms - wait_most_ms;
			waited_ms = wait_most_ms;
		}
		page_add_phase(bar, PHASE_WAITING, costs->from_ms - cut_ms - waited_ms,
			       costs->from_ms - cut_ms);
		for (size_t j = 0; j < costs->bar.count; j++) {
			const struct page_phase *phase = &costs->bar.phases[j];

			page_add_phase(bar, phase->kind, phase->from_ms - cut_ms,
				       phase->to_ms - cut_ms);
		}
		if (costs->to_ms > ended_ms)
			ended_ms = costs->to_ms;
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

static void add_row(struct page_section *section, const struct attempt_costs *costs)
{
	bool more = costs->at_least && costs->interrupted && costs->lost_ms >= 0;
	auto_json json_t *row = attempt_costs_json(costs);

	json_object_set_new(row, "others", json_integer((json_int_t)costs->machines - 1));
	json_object_set_new(row, "loses", json_boolean(costs->loses));
	json_object_set_new(row, "more", json_boolean(more));
	if (costs->unsaved_ms >= UNSAVED_LEAST_MS)
		json_object_set_new(row, "rest", json_seconds(costs->unsaved_ms));
	page_add_row(section, row);
}

void report_page_fill(struct page_section *section, const char *job,
		      const struct attempt_costs *accounts, size_t count,
		      const struct report_prices *prices)
{
	static const struct page_column columns[] = {
		{"ATTEMPT", "{attempt}"},
		{"STARTED (UTC)", "{started:second}"},
		{"HOST", "{host}[+{others:+}]"},
		{"RAN", "[{at_least:?}>{ran_seconds:time}|{ran_seconds:time}|?]"},
		{"OUTCOME", "{outcome}"},
		{"NOTICE", "[{source}, {notice_seconds} s|{source}|-]"},
		{"IN STORE", "{snapshots}"},
		{"LOST", "[{loses:?}[{more:?}>][{lost_seconds:time}|?]|- ({rest:time} in no "
			 "snapshot)|-]"},
		{0},
	};
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
	add_bars(section, accounts, count);
	section->columns = columns;
	for (size_t i = 0; i < count; i++)
		add_row(section, &accounts[i]);
}
