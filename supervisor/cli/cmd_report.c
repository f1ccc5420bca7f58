/* reprieve report: what the attempts of a job, or of all jobs, have done, lost and cost. */
#include "attempt_costs.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "store_command.h"
#include "terminal_line.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS_MOST 10000

AUTO(struct history, history_release);
AUTO(struct storage_jobs, storage_jobs_release);
AUTO_POINTER(struct storage, storage_close);

struct wishes {
	double spot, on_demand; /* USD per hour; 0: not asked for */
	const char *by;         /* a label; NULL */
	bool all;
};

/* What is said of one job, or of all with one value of a label. */
struct group {
	char *name;
	struct account_sum sum;
};

struct report {
	const struct query *query;
	const struct wishes *wishes;
	struct group *groups;
	size_t count;
	struct account_sum sum;
	json_t *jobs;
};

static int set_dollars(double *price, const char *value, struct err *err)
{
	char *end;

	*price = strtod(value, &end);
	if (end != value && *end == '\0' && *price > 0 && *price < 1e6)
		return 0;
	return err_set(err, ERR_INVALID, "'%s' is no price: write USD per hour, as 1.20", value);
}

static int set_spot(void *arg, const char *value, struct err *err)
{
	return set_dollars(&((struct wishes *)arg)->spot, value, err);
}

static int set_on_demand(void *arg, const char *value, struct err *err)
{
	return set_dollars(&((struct wishes *)arg)->on_demand, value, err);
}

static int set_by(void *arg, const char *value, struct err *err)
{
	if (!*value)
		return err_set(err, ERR_INVALID, "it is empty: name a label, as team");
	((struct wishes *)arg)->by = value;
	return 0;
}

static int set_all(void *arg, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	((struct wishes *)arg)->all = true;
	return 0;
}

static const struct query_option own_options[] = {
	{"spot-price", false, set_spot},
	{"on-demand-price", false, set_on_demand},
	{"by", false, set_by},
	{"all", true, set_all},
	{0},
};

static const struct query_usage usage = {
	.text = "Say what the attempts of a job have done, lost and cost.\n\n"
		"  reprieve report --job digits\n"
		"  reprieve report --all --by team --spot-price 1.20 --on-demand-price 3.06\n\n"
		"Usage: reprieve report [--store URL] [--job NAME | --all] [--by LABEL] "
		"[--spot-price "
		"USD]\n"
		"                       [--on-demand-price USD] [--json]\n\n"
		"      --all                   every job of the store\n"
		"      --by LABEL              sums for each value of that label (run --label)\n"
		"      --spot-price USD        per hour, of the machine that was used\n"
		"      --on-demand-price USD   per hour, of the same machine without "
		"preemptions\n\n"
		"Lost is work that no snapshot of its attempt holds. A machine that vanished "
		"without a "
		"word is counted\n"
		"with what was known of it last: > marks that. Saved is work that would have been "
		"done "
		"again if every\n"
		"interruption had meant a start from nothing. Nobody can tell a machine that has "
		"just vanished from one\n"
		"that still runs: the newest attempt of a job is no preemption until a later one "
		"follows.\n",
	.words_most = 0,
	.all_jobs = true,
	.no_job = false,
	.options = own_options,
};

/* --- reading --- */

static int read_accounts(struct storage *storage, const struct history *history,
	struct account *accounts, struct err *err)
{
	for (size_t i = 0; i < history->count; i++) {
		/* The history is newest first. */
		const struct past_attempt *past = &history->items[history->count - 1 - i];
		auto_(bytes_release) struct bytes ledger = {0};

		if (storage_get_notes(storage, past->number, "ledger", &ledger, NULL, err) < 0)
			return -1;
		account_read(&accounts[i], past, i + 1 == history->count, &ledger);
	}
	return 0;
}

/* The value of the label in the newest attempt that has one. */
static const char *group_name(const struct wishes *wishes, const struct history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		json_t *labels = json_object_get(history->items[i].about, "labels");
		const char *value = json_text_or(labels, wishes->by, "");

		if (value[0])
			return value;
	}
	return "(none)";
}

static struct group *group_of(struct report *report, const char *name)
{
	for (size_t i = 0; i < report->count; i++)
		if (text_equal(report->groups[i].name, name))
			return &report->groups[i];
	report->groups = memory_grow(report->groups, report->count + 1, sizeof(*report->groups));
	report->groups[report->count] = (struct group){.name = text_copy(name)};
	return &report->groups[report->count++];
}

/* --- saying --- */

static const char *duration(int64_t ms, char text[32])
{
	return ms < 0 ? "?" : text_duration(ms, text, 32);
}

static void print_account(const struct account *account)
{
	char ran[32], lost[32], notice[64] = "-";

	if (account->source[0] && account->notice_seconds >= 0)
		snprintf(notice, sizeof(notice), "%s, %.0f s", account->source,
			account->notice_seconds);
	else if (account->source[0])
		text_set(notice, sizeof(notice), account->source);
	show_line("%7u  %-24s  %-12s  %s%-12s  %-20s  %-16s  %9u  %s%s", account->number,
		account->started, account->host, account->at_least ? ">" : " ",
		duration(account->ran_ms, ran), account->outcome, notice, account->snapshots,
		account->at_least && account->interrupted ? ">" : "",
		account->interrupted ? duration(account->lost_ms, lost) : "-");
}

static void print_cost(const struct wishes *wishes, const struct account_sum *sum)
{
	struct account_cost cost = account_cost(sum, wishes->spot, wishes->on_demand);

	if (wishes->spot > 0)
		printf("  cost   $%.2f at $%.2f an hour\n", cost.spot, wishes->spot);
	if (wishes->spot > 0 && wishes->on_demand > 0)
		printf("         $%.2f for the same work on demand, at $%.2f: saved $%.2f (%.0f "
		       "%%)\n",
			cost.on_demand, wishes->on_demand, cost.saved,
			cost.on_demand > 0 ? 100 * cost.saved / cost.on_demand : 0);
}

static void print_sum(const struct wishes *wishes, const char *name, const struct account_sum *sum)
{
	char ran[32], lost[32], restore[32], saved[32], share[16] = "";

	printf("%s: %u attempt%s, %u preemption%s (%u announced)\n", name, sum->attempts,
		sum->attempts == 1 ? "" : "s", sum->interruptions,
		sum->interruptions == 1 ? "" : "s", sum->announced);
	/* Of two numbers that may be larger there is no share. */
	if (!sum->lost_at_least)
		snprintf(share, sizeof(share), " (%.1f %%)",
			sum->ran_ms > 0 ? 100.0 * (double)sum->lost_ms / (double)sum->ran_ms : 0);
	printf("  ran    %s%s, of that lost %s%s%s; restoring took %s\n",
		sum->ran_at_least ? ">" : "", duration(sum->ran_ms, ran),
		sum->lost_at_least ? ">" : "", duration(sum->lost_ms, lost), share,
		duration(sum->restore_ms, restore));
	printf("  saved  %s of work that would have been done again\n",
		duration(sum->saved_ms, saved));
	print_cost(wishes, sum);
}

static json_t *milliseconds(int64_t ms)
{
	return ms < 0 ? json_null() : json_real((double)ms / 1000);
}

static json_t *account_json(const struct account *account)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:b, s:b}", "attempt",
		(int)account->number, "started", account->started, "host", account->host, "outcome",
		account->outcome, "source", account->source, "notice_seconds",
		account->notice_seconds < 0 ? json_null() : json_real(account->notice_seconds),
		"ran_seconds", milliseconds(account->ran_ms), "lost_seconds",
		milliseconds(account->lost_ms), "restore_seconds",
		milliseconds(account->restore_ms), "snapshots", (int)account->snapshots,
		"interrupted", account->interrupted, "at_least", account->at_least);
}

static json_t *sum_json(const struct wishes *wishes, const struct account_sum *sum)
{
	struct account_cost cost = account_cost(sum, wishes->spot, wishes->on_demand);
	json_t *json = json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b}", "attempts",
		(int)sum->attempts, "preemptions", (int)sum->interruptions, "announced",
		(int)sum->announced, "ran_seconds", milliseconds(sum->ran_ms), "lost_seconds",
		milliseconds(sum->lost_ms), "restore_seconds", milliseconds(sum->restore_ms),
		"saved_seconds", milliseconds(sum->saved_ms), "at_least", sum->lost_at_least);

	if (wishes->spot > 0)
		json_object_set_new(json, "spot_cost", json_real(cost.spot));
	if (wishes->spot > 0 && wishes->on_demand > 0) {
		json_object_set_new(json, "on_demand_cost", json_real(cost.on_demand));
		json_object_set_new(json, "saved_cost", json_real(cost.saved));
	}
	return json;
}

/* --- one job --- */

static void say_job(struct report *report, const char *job, const struct account *accounts,
	size_t count, const struct account_sum *sum)
{
	json_t *attempts = json_array(), *json = sum_json(report->wishes, sum);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(attempts, account_json(&accounts[i]));
	json_object_set_new(json, "job", json_string(job));
	json_object_set_new(json, "list", attempts);
	json_array_append_new(report->jobs, json);
	if (report->query->json || report->wishes->all)
		return;
	printf("%7s  %-24s  %-12s   %-12s  %-20s  %-16s  %9s  %s\n", "ATTEMPT", "STARTED", "HOST",
		"RAN", "OUTCOME", "NOTICE", "SNAPSHOTS", "LOST");
	for (size_t i = 0; i < count; i++)
		print_account(&accounts[i]);
	printf("\n");
}

/* 0, or the exit code, -1 with err. */
static int report_job(
	struct report *report, struct storage *storage, const char *job, struct err *err)
{
	auto_(history_release) struct history history = {0};
	auto_free struct account *accounts = NULL;
	struct account_sum sum;
	const char *group = job;

	if (storage_history(storage, ATTEMPTS_MOST, &history, NULL, err) < 0)
		return -1;
	if (history.count == 0 && !report->wishes->all) {
		int code = query_check_job(report->query);

		if (code >= 0)
			return code;
	}
	accounts = memory_new((history.count + 1) * sizeof(*accounts));
	if (read_accounts(storage, &history, accounts, err) < 0)
		return -1;
	sum = account_sum(accounts, history.count);
	say_job(report, job, accounts, history.count, &sum);
	if (report->wishes->by)
		group = group_name(report->wishes, &history);
	account_add(&group_of(report, group)->sum, &sum);
	account_add(&report->sum, &sum);
	return 0;
}

static int report_all(struct report *report, struct err *err)
{
	auto_(storage_jobs_release) struct storage_jobs jobs = {0};

	if (storage_jobs(report->query->store, &jobs, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < jobs.count; i++) {
		auto_(storage_close) struct storage *storage = NULL;
		struct storage_options options = {
			.url = report->query->store, .job = jobs.names[i], .read_only = true};

		if (storage_open(&options, &storage, NULL, err) < 0 ||
			report_job(report, storage, jobs.names[i], err) < 0)
			return -1;
	}
	return 0;
}

static void finish(struct report *report)
{
	json_t *groups = json_object();

	for (size_t i = 0; i < report->count; i++)
		json_object_set_new(groups, report->groups[i].name,
			sum_json(report->wishes, &report->groups[i].sum));
	if (report->query->json) {
		json_print(json_pack("{s:O, s:o, s:o*}", "jobs", report->jobs, "total",
				   sum_json(report->wishes, &report->sum), "groups",
				   report->wishes->by ? json_incref(groups) : NULL),
			true);
	} else {
		for (size_t i = 0; i < report->count; i++)
			print_sum(report->wishes, report->groups[i].name, &report->groups[i].sum);
		if (report->count > 1)
			print_sum(report->wishes, "all", &report->sum);
	}
	json_decref(groups);
}

int cmd_report(int argc, char **argv)
{
	auto_(query_end) struct query query = {0};
	auto_json json_t *jobs = json_array();
	struct wishes wishes = {0};
	struct report report = {.query = &query, .wishes = &wishes, .jobs = jobs};
	struct err err;
	int code = query_begin_with(argc, argv, &usage, &wishes, &query), result;

	if (code >= 0)
		return code;
	wishes.all |= !query.storage;
	result = wishes.all ? report_all(&report, &err)
			    : report_job(&report, query.storage, query.job, &err);
	if (result < 0)
		result = query_failed(&query, &err);
	else if (result == 0)
		finish(&report);
	for (size_t i = 0; i < report.count; i++)
		free(report.groups[i].name);
	free(report.groups);
	return result;
}
