#include "attempt_costs.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* What the lines say, by this machine's own clock. */
struct reading {
	int64_t launched_ms, exited_ms, last_ms;
	int64_t written_ms; /* the last write to the newest checkpoint that is durable */
};

static void read_line(struct account *account, struct reading *reading, json_t *line)
{
	const char *event = json_text_or(line, "event", "");
	int64_t at_ms = json_number_or(line, "monotonic_ms", -1);
	double seconds = json_number_value(json_object_get(line, "seconds"));
	double age = json_number_value(json_object_get(line, "age"));

	if (at_ms < 0)
		return;
	reading->last_ms = at_ms;
	if (text_equal(event, "launched"))
		reading->launched_ms = at_ms;
	else if (text_equal(event, "child_exited"))
		reading->exited_ms = at_ms;
	else if (text_equal(event, "durable"))
		reading->written_ms = at_ms - (int64_t)((age > 0 ? age : seconds) * 1000);
	else if (text_equal(event, "restored"))
		account->restore_ms = (int64_t)(seconds * 1000);
	if (!text_equal(event, "notice") || !text_equal(json_text_or(line, "kind", ""), "stop"))
		return;
	text_set(account->source, sizeof(account->source), json_text_or(line, "source", ""));
	account->notice_seconds = json_is_number(json_object_get(line, "seconds_left"))
					  ? json_number_value(json_object_get(line, "seconds_left"))
					  : -1;
}

static void read_lines(struct account *account, struct reading *reading, const struct bytes *ledger)
{
	const char *at = (const char *)ledger->data, *end = at + ledger->size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
		auto_json json_t *line = json_loadb(at, length, 0, NULL);

		if (line)
			read_line(account, reading, line);
		at += length + 1;
	}
}

/* The machine took it away; everything else is the job's own affair, and no work of it is lost. */
static bool was_interrupted(const struct past_attempt *past, bool newest)
{
	if (!past->ended)
		return !newest;
	return text_equal(past->outcome, "preempted") || text_equal(past->outcome, "lost");
}

static void measure(struct account *account, const struct reading *reading)
{
	int64_t end_ms = reading->exited_ms >= 0 ? reading->exited_ms : reading->last_ms;
	int64_t from_ms;

	if (reading->launched_ms < 0)
		return;
	if (account->ran_ms < 0)
		account->ran_ms = end_ms - reading->launched_ms;
	from_ms = reading->written_ms >= reading->launched_ms ? reading->written_ms
							      : reading->launched_ms;
	/* Where it may still run, nothing is lost yet. */
	if (account->interrupted || !account->at_least)
		account->lost_ms = account->interrupted && end_ms > from_ms ? end_ms - from_ms : 0;
	/* All of it, also by the clock of the end record. */
	if (account->interrupted && reading->written_ms < reading->launched_ms)
		account->lost_ms = account->ran_ms;
}

static const char *outcome_of(const struct past_attempt *past, bool newest)
{
	if (past->ended)
		return past->outcome;
	return newest ? "running or vanished" : "lost without a word";
}

void account_read(struct account *account, const struct past_attempt *past, bool newest,
	const struct bytes *ledger)
{
	struct reading reading = {-1, -1, -1, -1};

	*account = (struct account){.number = past->number,
		.snapshots = past->snapshots,
		.notice_seconds = -1,
		.ran_ms = json_number_or(past->end_about, "ran_ms", -1),
		.lost_ms = -1,
		.interrupted = was_interrupted(past, newest)};
	text_set(account->started, sizeof(account->started), past->created);
	text_set(account->host, sizeof(account->host), json_text_or(past->about, "host", ""));
	text_set(account->outcome, sizeof(account->outcome), outcome_of(past, newest));
	read_lines(account, &reading, ledger);
	account->at_least = !past->ended;
	measure(account, &reading);
}

static int64_t known(int64_t ms)
{
	return ms > 0 ? ms : 0;
}

struct account_sum account_sum(const struct account *items, size_t count)
{
	struct account_sum sum = {.attempts = (uint32_t)count};
	int64_t kept_ms = 0;

	for (size_t i = 0; i < count; i++) {
		sum.ran_at_least |= items[i].at_least;
		sum.lost_at_least |= items[i].at_least && items[i].interrupted;
		sum.ran_ms += known(items[i].ran_ms);
		sum.lost_ms += known(items[i].lost_ms);
		sum.restore_ms += known(items[i].restore_ms);
		kept_ms += known(items[i].ran_ms) - known(items[i].lost_ms);
		if (!items[i].interrupted)
			continue;
		sum.interruptions++;
		sum.announced += items[i].source[0] != '\0';
		sum.saved_ms += kept_ms;
	}
	return sum;
}

void account_add(struct account_sum *sum, const struct account_sum *more)
{
	sum->attempts += more->attempts;
	sum->interruptions += more->interruptions;
	sum->announced += more->announced;
	sum->ran_at_least |= more->ran_at_least;
	sum->lost_at_least |= more->lost_at_least;
	sum->ran_ms += more->ran_ms;
	sum->lost_ms += more->lost_ms;
	sum->restore_ms += more->restore_ms;
	sum->saved_ms += more->saved_ms;
}

struct account_cost account_cost(
	const struct account_sum *sum, double spot_per_hour, double on_demand_per_hour)
{
	const double hour_ms = 3600000;
	struct account_cost cost;

	cost.spot = (double)(sum->ran_ms + sum->restore_ms) / hour_ms * spot_per_hour;
	cost.on_demand = (double)(sum->ran_ms - sum->lost_ms) / hour_ms * on_demand_per_hour;
	cost.saved = cost.on_demand - cost.spot;
	return cost;
}
