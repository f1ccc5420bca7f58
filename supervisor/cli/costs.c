#include "costs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "planning/planning.h"
#include "status_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the lines say, by this machine's own clock; -1: it has not happened. */
struct event_times {
	struct attempt_costs *costs;
	int64_t launched_ms, exited_ms, last_ms, saving_ms, told_ms;
	int64_t noticed_ms, deadline_ms;
	int64_t written_ms;       /* the last write to the newest checkpoint that is durable */
	int64_t lost_ms, kept_ms; /* as counted at the end; not times, and -1 where nobody did */
	bool dated;
	int64_t wall_ms; /* the wall clock's time at the zero of this one, as snapshots have it */
};

static void read_notice(struct event_times *times, json_t *line, int64_t at_ms)
{
	struct attempt_costs *costs = times->costs;
	json_t *left = json_object_get(line, "seconds_left");

	if (!text_equal(json_text_or(line, "kind", ""), "stop"))
		return;
	text_set(costs->source, sizeof(costs->source), json_text_or(line, "source", ""));
	costs->notice_seconds = json_is_number(left) ? json_number_value(left) : -1;
	if (costs->notice_seconds < 0)
		return;
	times->noticed_ms = at_ms;
	times->deadline_ms = at_ms + json_seconds_or(line, "seconds_left", 0);
}

static void read_event(struct event_times *times, json_t *line)
{
	struct attempt_costs *costs = times->costs;
	const char *event = json_text_or(line, "event", "");
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);
	int64_t took_ms = json_seconds_or(line, "seconds", 0);
	int64_t age_ms = json_seconds_or(line, "age", 0);

	if (at_ms < 0 || at_ms > INT64_MAX / 4)
		return;
	times->last_ms = at_ms;
	if (!times->dated && datetime_parse(json_text_or(line, "time", ""), &costs->from_ms)) {
		times->dated = true;
		times->wall_ms = costs->from_ms - at_ms;
	}
	if (text_equal(event, "launched")) {
		times->launched_ms = at_ms;
	} else if (text_equal(event, "child_exited")) {
		times->exited_ms = at_ms;
	} else if (text_equal(event, "stopping") && times->told_ms < 0) {
		times->told_ms = at_ms;
	} else if (text_equal(event, "saving")) {
		times->saving_ms = at_ms;
	} else if (text_equal(event, "checkpoint_complete")) {
		if (times->saving_ms >= 0)
			page_add_phase(&costs->bar, PHASE_SAVING, times->saving_ms, at_ms);
		times->saving_ms = -1;
	} else if (text_equal(event, "durable")) {
		times->written_ms = at_ms - (age_ms > 0 ? age_ms : took_ms);
		page_add_phase(&costs->bar, PHASE_UPLOADING, at_ms - took_ms, at_ms);
	} else if (text_equal(event, "restored")) {
		costs->restore_ms = took_ms;
		page_add_phase(&costs->bar, PHASE_RESTORING, at_ms - took_ms, at_ms);
	} else if (text_equal(event, "ended")) {
		times->lost_ms = json_seconds_or(line, "lost", -1);
		times->kept_ms = json_seconds_or(line, "kept", -1);
	} else if (text_equal(event, "notice")) {
		read_notice(times, line, at_ms);
	}
}

static void read_ledger(struct event_times *times, const struct bytes *ledger)
{
	const char *at = (const char *)ledger->data, *end = at + ledger->size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
		auto_json json_t *line = json_loadb(at, length, 0, NULL);

		if (line)
			read_event(times, line);
		at += length + 1;
	}
}

static bool was_interrupted(const struct attempt_summary *past, bool newest)
{
	if (!past->ended)
		return !newest;
	return text_equal(past->outcome, "preempted") || text_equal(past->outcome, "not_durable");
}

static bool has_lost(const struct attempt_costs *costs, const struct attempt_summary *past)
{
	return costs->interrupted || costs->superseded_by > 0 ||
	       (past->ended &&
		(text_equal(past->outcome, "failed") || text_equal(past->outcome, "stopped")));
}

static void compute_times(struct attempt_costs *costs, const struct event_times *times)
{
	struct attempt_work work = {
		.launched_ms = times->launched_ms,
		.exited_ms = times->exited_ms >= 0 ? times->exited_ms : times->last_ms,
		.written_ms = times->written_ms,
		.lost_steps = -1,
	};
	bool counted = times->lost_ms >= 0 && times->kept_ms >= 0;
	int64_t lost_ms = counted ? times->lost_ms : recovery_point_lost_ms(&work);
	int64_t kept_ms = counted ? times->kept_ms : recovery_point_kept_ms(&work);

	if (times->launched_ms < 0)
		return;
	if (costs->ran_ms < 0)
		costs->ran_ms = work.exited_ms - work.launched_ms;
	/* Where it may still run, nothing is lost yet. */
	if (costs->loses || !costs->at_least)
		costs->lost_ms = costs->loses ? lost_ms : 0;
	costs->kept_ms = costs->loses ? kept_ms : costs->ran_ms;
	if (!costs->loses && counted)
		costs->unsaved_ms = lost_ms;
}

/* Its newest snapshot was made while it ran. */
static void count_saved(struct attempt_costs *costs, const struct event_times *times,
			const char *saved)
{
	int64_t saved_ms, from_ms = times->wall_ms + times->launched_ms;
	int64_t last_ms = times->last_ms - times->launched_ms;
	int64_t ran_ms;

	if (!datetime_parse(saved, &saved_ms) || ((!times->dated || times->launched_ms < 0) &&
						  !datetime_parse(costs->started, &from_ms)))
		return;
	ran_ms = saved_ms - from_ms;
	if (ran_ms <= 0 || ran_ms <= costs->ran_ms)
		return;
	costs->ran_ms = costs->kept_ms = ran_ms;
	/* What came behind it, nobody saw. */
	if (costs->loses && times->launched_ms >= 0 && last_ms <= ran_ms)
		costs->lost_ms = 0;
}

/* Without a ledger: as long as its records say. */
static void draw_attempt(struct attempt_costs *costs, const struct event_times *times)
{
	struct page_bar *bar = &costs->bar;
	int64_t launched_ms = times->launched_ms, told_ms, lost_ms;
	int64_t ended_ms = times->exited_ms >= 0 ? times->exited_ms : times->last_ms;

	if (launched_ms < 0 || !times->dated) {
		bar->count = 0;
		costs->from_ms = 0;
		if (!datetime_parse(costs->started, &costs->from_ms))
			return;
		costs->to_ms = costs->from_ms + (costs->ran_ms > 0 ? costs->ran_ms : 0);
		page_add_phase(bar, PHASE_TRAINING, costs->from_ms, costs->to_ms);
		return;
	}
	if (costs->at_least && costs->ran_ms > ended_ms - launched_ms)
		ended_ms = launched_ms + costs->ran_ms;
	told_ms = times->told_ms >= 0 && times->told_ms < ended_ms ? times->told_ms : ended_ms;
	lost_ms = told_ms - (costs->lost_ms > 0 ? costs->lost_ms : 0);
	page_add_phase(bar, PHASE_TRAINING, launched_ms, ended_ms);
	page_add_phase(bar, PHASE_LOST, lost_ms > launched_ms ? lost_ms : launched_ms, told_ms);
	page_add_phase(bar, PHASE_NOTICE, times->noticed_ms, times->deadline_ms);
	for (size_t i = 0; i < bar->count; i++) {
		bar->phases[i].from_ms += times->wall_ms;
		bar->phases[i].to_ms += times->wall_ms;
	}
	costs->to_ms = times->wall_ms + (ended_ms > times->last_ms ? ended_ms : times->last_ms);
}

static const char *attempt_outcome(const struct attempt_summary *past, bool newest)
{
	if (past->ended)
		return past->outcome;
	return newest ? "running or vanished" : "lost without a word";
}

static uint32_t machine_count(const struct attempt_summary *past)
{
	json_t *gang = json_object_get(past->about, "gang");
	int64_t members = json_number_or(gang, "members", 1);

	return members >= 1 && members <= STORAGE_GANG_MOST ? (uint32_t)members : 1;
}

static uint32_t successor_of(const struct attempt_summary *past)
{
	int64_t number = json_number_or(past->end_about, "superseded_by", 0);

	return number > past->number && number <= UINT32_MAX ? (uint32_t)number : 0;
}

void attempt_costs_read(struct attempt_costs *costs, const struct attempt_summary *past,
			const char *saved, bool newest, const struct bytes *ledger)
{
	struct event_times times = {costs, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, false, 0};

	free(costs->bar.phases);
	*costs = (struct attempt_costs){
		.number = past->number,
		.snapshots = past->snapshots,
		.machines = machine_count(past),
		.notice_seconds = -1,
		.ran_ms = json_number_or(past->end_about, "ran_ms", -1),
		.lost_ms = -1,
		.unsaved_ms = -1,
		.kept_ms = -1,
		.interrupted = was_interrupted(past, newest),
	};
	text_set(costs->started, sizeof(costs->started), past->created);
	text_set(costs->host, sizeof(costs->host), json_text_or(past->about, "host", ""));
	costs->superseded_by = successor_of(past);
	if (costs->superseded_by > 0)
		snprintf(costs->outcome, sizeof(costs->outcome), "superseded by %u",
			 costs->superseded_by);
	else
		text_set(costs->outcome, sizeof(costs->outcome), attempt_outcome(past, newest));
	costs->loses = has_lost(costs, past);
	read_ledger(&times, ledger);
	costs->at_least = !past->ended;
	compute_times(costs, &times);
	if (costs->at_least)
		count_saved(costs, &times, saved);
	draw_attempt(costs, &times);
}

json_t *attempt_costs_json(const struct attempt_costs *costs)
{
	return json_pack(
		"{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:b, s:i, s:o}",
		"attempt", (int)costs->number, "started", costs->started, "host", costs->host,
		"outcome", costs->outcome, "source", costs->source, "notice_seconds",
		costs->notice_seconds < 0 ? json_null() : json_real(costs->notice_seconds),
		"ran_seconds", json_seconds(costs->ran_ms), "lost_seconds",
		json_seconds(costs->lost_ms), "unsaved_seconds", json_seconds(costs->unsaved_ms),
		"kept_seconds", json_seconds(costs->kept_ms), "restore_seconds",
		json_seconds(costs->restore_ms), "snapshots", (int)costs->snapshots, "interrupted",
		costs->interrupted, "at_least", costs->at_least, "machines", (int)costs->machines,
		"superseded_by",
		costs->superseded_by > 0 ? json_integer(costs->superseded_by) : json_null());
}

static int64_t known_or_zero(int64_t ms)
{
	return ms > 0 ? ms : 0;
}

void attempt_costs_add(struct attempt_costs_sum *sum, const struct attempt_costs *items,
		       size_t count)
{
	sum->attempts += (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		/* Of what ran without a ledger nobody knows what was kept: it is not counted. */
		int64_t ran_ms = items[i].kept_ms < 0 ? 0 : known_or_zero(items[i].ran_ms);
		int64_t restore_ms = known_or_zero(items[i].restore_ms);
		int64_t kept_ms = known_or_zero(items[i].kept_ms);

		sum->at_least |= items[i].at_least && items[i].interrupted;
		sum->ran_ms += ran_ms;
		sum->lost_ms += known_or_zero(items[i].lost_ms);
		sum->restore_ms += restore_ms;
		sum->machines_ms += (ran_ms + restore_ms) * items[i].machines;
		sum->machines_kept_ms += kept_ms * items[i].machines;
		sum->kept_ms += kept_ms;
		if (!items[i].interrupted)
			continue;
		sum->interruptions++;
		sum->announced += items[i].source[0] != '\0';
		sum->saved_ms += kept_ms;
		sum->machines_saved_ms += kept_ms * items[i].machines;
	}
}

json_t *attempt_costs_sum_json(const struct attempt_costs_sum *sum,
			       const struct report_prices *prices)
{
	int64_t paid_ms = sum->ran_ms + sum->restore_ms;
	int64_t rest_ms = paid_ms - sum->kept_ms - sum->lost_ms;
	double machines_ms = (double)sum->machines_ms, hour_ms = 3600000;
	double unsaved_ms = (double)(sum->machines_kept_ms - sum->machines_saved_ms);
	double spot = machines_ms / hour_ms * prices->spot;
	double on_demand = (double)sum->machines_kept_ms / hour_ms * prices->on_demand;
	json_t *json =
		json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "attempts",
			  (int)sum->attempts, "preemptions", (int)sum->interruptions, "announced",
			  (int)sum->announced, "ran_seconds", json_seconds(sum->ran_ms),
			  "lost_seconds", json_seconds(sum->lost_ms), "kept_seconds",
			  json_seconds(sum->kept_ms), "restore_seconds",
			  json_seconds(sum->restore_ms), "saved_seconds",
			  json_seconds(sum->saved_ms), "paid_seconds", json_seconds(paid_ms),
			  "rest_seconds", json_seconds(rest_ms > 0 ? rest_ms : 0), "at_least",
			  sum->at_least);

	json_object_set_new(json, "goodput",
			    machines_ms > 0 ? json_real((double)sum->machines_kept_ms / machines_ms)
					    : json_null());
	json_object_set_new(json, "goodput_without",
			    machines_ms > 0 ? json_real(unsaved_ms / machines_ms) : json_null());
	if (prices->spot > 0)
		json_object_set_new(json, "spot_cost", json_real(spot));
	if (prices->on_demand > 0)
		json_object_set_new(json, "on_demand_cost", json_real(on_demand));
	if (prices->spot > 0 && prices->on_demand > 0)
		json_object_set_new(json, "saved_cost", json_real(on_demand - spot));
	return json;
}

const char attempt_costs_sentence[] =
	"Of {paid_seconds:time} paid for, {kept_seconds:time} count, [{at_least:?}at least ]"
	"{lost_seconds:time} are lost and {rest_seconds:time} went into restoring, saving and "
	"ending. Without checkpoints, {saved_seconds:time} of what counts would be lost too.";

/* --- the page --- */

#define BARS_MOST 64
/* A wait is drawn no longer than this part of what all attempts have run. */
#define WAIT_SHARE 4

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
		auto_json json_t *row = attempt_costs_json(costs);
		auto_free char *label = json_fill("{attempt}: ran [{ran_seconds:time}|?], "
						  "{outcome}[, lost {lost_seconds:+time}]",
						  row);

		text_set(bar->label, sizeof(bar->label), label);
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

void attempt_costs_fill_page(struct page_section *section, const char *job,
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
	static const char *const figures[][3] = {
		{"goodput", "goodput", "{goodput:percent}"},
		{"goodput-without", "without checkpoints", "{goodput_without:percent}"},
		{"kept", "counts", "{kept_seconds:time}"},
		{"lost", "lost", "[{at_least:?}>]{lost_seconds:time}"},
		{"preemptions", "preemptions", "{preemptions}"},
		{"cost", "cost", "{spot_cost:money}"},
		{"cost-without", "the same on demand", "{on_demand_cost:money}"},
	};
	struct attempt_costs_sum sum = {0};
	auto_json json_t *all = NULL;
	auto_free char *sentence = NULL;

	attempt_costs_add(&sum, accounts, count);
	all = attempt_costs_sum_json(&sum, prices);
	sentence = json_fill(attempt_costs_sentence, all);
	snprintf(section->title, sizeof(section->title), "job %s", job);
	snprintf(section->note, sizeof(section->note),
		 "%s Goodput is the time that counts in all that was paid for. The chart shows %s; "
		 "a long wait is drawn shorter than it was.",
		 sentence, count > BARS_MOST ? "the newest 64 attempts" : "all attempts");
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		auto_free char *value = json_fill(figures[i][2], all);

		page_add_figure(section, figures[i][0], figures[i][1], value);
	}
	add_bars(section, accounts, count);
	section->columns = columns;
	for (size_t i = 0; i < count; i++)
		add_row(section, &accounts[i]);
}

/* --- prices --- */

double storage_price_of(const char *url)
{
	static const struct {
		const char *scheme;
		double price;
	} rows[] = {{"s3://", 0.023}, {"gs://", 0.020}, {"az://", 0.018}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_starts(url, rows[i].scheme))
			return rows[i].price;
	return 0;
}

double storage_price_per_month(uint64_t bytes, double price)
{
	return (double)bytes / (double)(1 << 30) * price;
}

const char *storage_price_format(double dollars, char *buffer, size_t capacity)
{
	int digits = 2;

	if (dollars > 0 && dollars < 0.01)
		digits = dollars < 0.0001 ? 6 : 4;
	snprintf(buffer, capacity, "$%.*f", digits, dollars);
	return buffer;
}

int price_set(void *price, const char *value, struct err *err)
{
	char *end;
	double dollars = strtod(value, &end);

	if (!isdigit((unsigned char)value[0]) || *end || !(dollars >= 0 && dollars < 1e6))
		return err_set(err, ERR_INVALID, "invalid price '%s': write USD, as 0.023", value);
	*(double *)price = dollars;
	return 0;
}

const struct option_row price_rows[] = {
	{"price", 0, "USD", NULL, "per GB and month (default: the list price on s3, gs and az)",
	 .set = price_set},
	{0},
};
