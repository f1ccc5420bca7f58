/* reprieve report: what the attempts of a job, or of all jobs, have done, lost and cost. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "costs.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS_MOST 10000

struct report_options {
	struct store_command store_command;
	double spot, on_demand; /* USD per hour; 0: not asked for */
	const char *by;         /* a label; NULL */
	bool all;
	bool log;
};

/* What is said of one job, or of all with one value of a label. */
struct group {
	char *name;
	struct attempt_costs_sum sum;
};

struct report {
	const struct store_command *command;
	const struct report_options *options;
	struct group *groups;
	size_t count;
	struct attempt_costs_sum sum;
	json_t *jobs;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"all", 0, NULL, NULL, "every job of the store", OPTION_FLAG(struct report_options, all)},
	{"log", 0, NULL, NULL,
		"only the end of the job's own log, as the newest attempt has left it that "
		"has one (run --log)",
		OPTION_FLAG(struct report_options, log)},
	{"by", 0, "LABEL", NULL, "sums for each value of that label (run --label)",
		OPTION_TEXT(struct report_options, by), .least = 1},
	{"spot-price", 0, "USD", NULL,
		"per hour, of the machine that was used; of a gang, of each",
		.set = price_set, .at = offsetof(struct report_options, spot)},
	{"on-demand-price", 0, "USD", NULL, "per hour, of the same machine without preemptions",
		.set = price_set, .at = offsetof(struct report_options, on_demand)},
	{0},
};

const struct verb verb_report = {
	.name = "report",
	.summary = "say what the attempts of a job have done, lost and cost",
	.examples = "reprieve report --job digits\n"
		"reprieve report --all --by team --spot-price 1.20 --on-demand-price 3.06\n"
		"reprieve report --job digits --log",
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("Report", own_rows, 0),
		STORE_COMMAND_OTHER,
	},
	.notes = "Lost is work that no snapshot of its attempt holds, where the job has not "
		"finished: up to the moment when it was told to end, or up to its last step, if it "
		"reports them. Of a job that ended with 0 nothing is counted as lost; how long it "
		"went on after its newest snapshot stands in brackets, and is lost if it had not "
		"finished, as where a training is killed within a pipeline. "
		"A machine that vanished without a word is counted with what was known of it last, "
		"which is its newest snapshot, or its ledger, of which a part is stored each "
		"minute: > marks that. Saved is "
		"work that would have been done again if every interruption had meant a start "
		"from nothing. "
		"In store says how many snapshots of the attempt are there now: "
		"retention (--keep-last and its like) has removed others. Nobody can tell a "
		"machine that has just vanished from one that "
		"still runs: the newest attempt of a job is no preemption until a later one "
		"follows. An attempt of a gang is one, whose times are those of its member 0, and "
		"whose cost is that of all its machines.",
	.exits = store_command_exits,
};
// clang-format on

/* --- reading --- */

/* Oldest first, as the history is not. */
struct accounts {
	struct attempt_costs *items;
	const struct attempt_history *history;
	struct snapshot_list snapshots; /* only where an attempt has left no end record */
};

/* When the newest snapshot of that attempt was made; "" unknown. */
static const char *saved_last(const struct accounts *accounts, uint32_t attempt)
{
	for (size_t i = 0; i < accounts->snapshots.count; i++)
		if (accounts->snapshots.items[i].id.attempt == attempt)
			return accounts->snapshots.items[i].created;
	return "";
}

static void read_account(const struct accounts *accounts, size_t at, const struct bytes *ledger)
{
	const struct attempt_history *history = accounts->history;

	const struct attempt_summary *past = &history->items[history->count - 1 - at];

	attempt_costs_read(&accounts->items[at], past,
			   past->ended ? "" : saved_last(accounts, past->number),
			   at + 1 == history->count, ledger);
}

static void take_ledger(void *arg, uint32_t attempt, const struct bytes *ledger)
{
	const struct accounts *accounts = arg;

	for (size_t i = 0; i < accounts->history->count; i++)
		if (accounts->items[i].number == attempt)
			read_account(accounts, i, ledger);
}

static int read_accounts(struct storage *storage, const struct attempt_history *history,
			 struct attempt_costs *items, struct err *err)
{
	struct accounts accounts = {.items = items, .history = history};
	struct bytes nothing = {0};
	bool all_ended = true;
	int status = 0;

	for (size_t i = 0; i < history->count; i++)
		all_ended &= history->items[i].ended;
	if (!all_ended)
		status = storage_list_snapshots(storage, &accounts.snapshots, NULL, err);
	for (size_t i = 0; i < history->count && status == 0; i++)
		read_account(&accounts, i, &nothing);
	if (history->count > 0 && status == 0)
		status = storage_each_ledger(storage, items[0].number, take_ledger, &accounts, NULL,
					     err);
	snapshot_list_release(&accounts.snapshots);
	return status;
}

/* The value of the label in the newest attempt that has one. */
static const char *group_name(const struct report_options *options,
			      const struct attempt_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		json_t *labels = json_object_get(history->items[i].about, "labels");
		const char *value = json_text_or(labels, options->by, "");

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

static const char *format_duration(int64_t ms, char text[32])
{
	return ms < 0 ? "?" : text_duration(ms, text, 32);
}

/* Less than this after the last save is the end of the job, and no work. */
#define UNSAVED_LEAST_MS 1000

static const char *format_lost(const struct attempt_costs *costs, char text[64])
{
	char length[32];

	if (costs->loses)
		text_set(text, 64, format_duration(costs->lost_ms, length));
	else if (costs->unsaved_ms >= UNSAVED_LEAST_MS)
		snprintf(text, 64, "- (%s in no snapshot)",
			 format_duration(costs->unsaved_ms, length));
	else
		text_set(text, 64, "-");
	return text;
}

static void print_account(const struct attempt_costs *costs)
{
	char ran[32], lost[64], notice[64] = "-", host[96];

	text_set(host, sizeof(host), costs->host);
	if (costs->machines > 1)
		snprintf(host, sizeof(host), "%s+%u", costs->host, costs->machines - 1);
	if (costs->source[0] && costs->notice_seconds >= 0)
		snprintf(notice, sizeof(notice), "%s, %.0f s", costs->source,
			 costs->notice_seconds);
	else if (costs->source[0])
		text_set(notice, sizeof(notice), costs->source);
	terminal_line_print("%7u  %-24s  %-12s  %s%-12s  %-20s  %-16s  %9u  %s%s", costs->number,
			    costs->started, host, costs->at_least && costs->ran_ms >= 0 ? ">" : " ",
			    format_duration(costs->ran_ms, ran), costs->outcome, notice,
			    costs->snapshots,
			    costs->at_least && costs->interrupted && costs->lost_ms >= 0 ? ">" : "",
			    format_lost(costs, lost));
}

static void print_cost(const struct report_options *options, const struct attempt_costs_sum *sum)
{
	struct attempt_costs_price cost =
		attempt_costs_price(sum, options->spot, options->on_demand);

	if (options->spot > 0)
		printf("  cost   $%.2f at $%.2f an hour\n", cost.spot, options->spot);
	if (options->spot > 0 && options->on_demand > 0)
		printf("         $%.2f for the same work on demand, at $%.2f: saved $%.2f (%.0f "
		       "%%)\n",
		       cost.on_demand, options->on_demand, cost.saved,
		       cost.on_demand > 0 ? 100 * cost.saved / cost.on_demand : 0);
}

static void print_sum(const struct report_options *options, const char *name,
		      const struct attempt_costs_sum *sum)
{
	char ran[32], lost[32], restore[32], saved[32], share[16] = "";

	terminal_line_print("%s: %u attempt%s, %u preemption%s (%u announced)", name, sum->attempts,
			    sum->attempts == 1 ? "" : "s", sum->interruptions,
			    sum->interruptions == 1 ? "" : "s", sum->announced);
	/* Of two numbers that may be larger there is no share. */
	if (!sum->lost_at_least)
		snprintf(share, sizeof(share), " (%.1f %%)",
			 sum->ran_ms > 0 ? 100.0 * (double)sum->lost_ms / (double)sum->ran_ms : 0);
	printf("  ran    %s%s, of that lost %s%s%s; restoring took %s\n",
	       sum->ran_at_least ? ">" : "", format_duration(sum->ran_ms, ran),
	       sum->lost_at_least && sum->lost_ms > 0 ? ">" : "",
	       format_duration(sum->lost_at_least && sum->lost_ms == 0 ? -1 : sum->lost_ms, lost),
	       share, format_duration(sum->restore_ms, restore));
	printf("  saved  %s of work that would have been done again\n",
	       format_duration(sum->saved_ms, saved));
	print_cost(options, sum);
}

static json_t *milliseconds_json(int64_t ms)
{
	return ms < 0 ? json_null() : json_real((double)ms / 1000);
}

static json_t *account_json(const struct attempt_costs *costs)
{
	return json_pack(
		"{s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:b, s:i, s:o}",
		"attempt", (int)costs->number, "started", costs->started, "host", costs->host,
		"outcome", costs->outcome, "source", costs->source, "notice_seconds",
		costs->notice_seconds < 0 ? json_null() : json_real(costs->notice_seconds),
		"ran_seconds", milliseconds_json(costs->ran_ms), "lost_seconds",
		milliseconds_json(costs->lost_ms), "unsaved_seconds",
		milliseconds_json(costs->unsaved_ms), "kept_seconds",
		milliseconds_json(costs->kept_ms), "restore_seconds",
		milliseconds_json(costs->restore_ms), "snapshots", (int)costs->snapshots,
		"interrupted", costs->interrupted, "at_least", costs->at_least, "machines",
		(int)costs->machines, "superseded_by",
		costs->superseded_by > 0 ? json_integer(costs->superseded_by) : json_null());
}

static json_t *sum_json(const struct report_options *options, const struct attempt_costs_sum *sum)
{
	struct attempt_costs_price cost =
		attempt_costs_price(sum, options->spot, options->on_demand);
	json_t *json =
		json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:b}", "attempts",
			  (int)sum->attempts, "preemptions", (int)sum->interruptions, "announced",
			  (int)sum->announced, "ran_seconds", milliseconds_json(sum->ran_ms),
			  "lost_seconds", milliseconds_json(sum->lost_ms), "kept_seconds",
			  milliseconds_json(sum->kept_ms), "restore_seconds",
			  milliseconds_json(sum->restore_ms), "saved_seconds",
			  milliseconds_json(sum->saved_ms), "at_least", sum->lost_at_least);

	if (options->spot > 0)
		json_object_set_new(json, "spot_cost", json_real(cost.spot));
	if (options->spot > 0 && options->on_demand > 0) {
		json_object_set_new(json, "on_demand_cost", json_real(cost.on_demand));
		json_object_set_new(json, "saved_cost", json_real(cost.saved));
	}
	return json;
}

/* --- one job --- */

static void print_job(struct report *report, const char *job, const struct attempt_costs *accounts,
		      size_t count, const struct attempt_costs_sum *sum)
{
	json_t *attempts = json_array(), *json = sum_json(report->options, sum);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(attempts, account_json(&accounts[i]));
	json_object_set_new(json, "job", json_string(job));
	json_object_set_new(json, "list", attempts);
	json_array_append_new(report->jobs, json);
	if (report->command->json || report->options->all)
		return;
	printf("%7s  %-24s  %-12s   %-12s  %-20s  %-16s  %9s  %s\n", "ATTEMPT", "STARTED", "HOST",
	       "RAN", "OUTCOME", "NOTICE", "IN STORE", "LOST");
	for (size_t i = 0; i < count; i++)
		print_account(&accounts[i]);
	printf("\n");
}

/* 0, or the exit code, -1 with err. */
static int report_job(struct report *report, struct storage *storage, const char *job,
		      struct err *err)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_free struct attempt_costs *accounts = NULL;
	struct attempt_costs_sum sum = {0};
	const char *group = job;

	if (storage_history(storage, ATTEMPTS_MOST, &history, NULL, err) < 0)
		return -1;
	if (history.count == 0 && !report->options->all) {
		int code = store_command_check_job(report->command);

		if (code >= 0)
			return code;
	}
	accounts = memory_new((history.count + 1) * sizeof(*accounts));
	if (read_accounts(storage, &history, accounts, err) < 0)
		return -1;
	attempt_costs_add(&sum, accounts, history.count);
	print_job(report, job, accounts, history.count, &sum);
	if (report->options->by)
		group = group_name(report->options, &history);
	attempt_costs_add(&group_of(report, group)->sum, accounts, history.count);
	attempt_costs_add(&report->sum, accounts, history.count);
	return 0;
}

static int report_all(struct report *report, struct err *err)
{
	auto_(storage_job_names_release) struct storage_job_names jobs = {0};

	if (storage_list_jobs(report->command->store, &jobs, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < jobs.count; i++) {
		auto_(storage_close) struct storage *storage = NULL;
		struct storage_options options = {
			.url = report->command->store,
			.job = jobs.names[i],
			.read_only = true,
		};

		if (storage_open(&options, &storage, NULL, err) < 0 ||
		    report_job(report, storage, jobs.names[i], err) < 0)
			return -1;
	}
	return 0;
}

static void print_totals(struct report *report)
{
	json_t *groups = json_object();

	for (size_t i = 0; i < report->count; i++)
		json_object_set_new(groups, report->groups[i].name,
				    sum_json(report->options, &report->groups[i].sum));
	if (report->command->json) {
		json_print(json_pack("{s:O, s:o, s:o*}", "jobs", report->jobs, "total",
				     sum_json(report->options, &report->sum), "groups",
				     report->options->by ? json_incref(groups) : NULL),
			   true);
	} else {
		for (size_t i = 0; i < report->count; i++)
			print_sum(report->options, report->groups[i].name, &report->groups[i].sum);
		if (report->count > 1)
			print_sum(report->options, "all", &report->sum);
	}
	json_decref(groups);
}

/* So many attempts have their notes (OBSERVING.md). */
#define LOGS_MOST 64

/* A terminal must not obey what a job has written. */
static void print_lines(const struct bytes *log)
{
	const char *at = (const char *)log->data, *end = at + log->size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		auto_free char *line = text_copy_n(at, (size_t)((newline ? newline : end) - at));

		terminal_line_print("%s", line);
		at = newline ? newline + 1 : end;
	}
}

static int print_log(struct storage *storage, const char *job, struct err *err)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	auto_(bytes_release) struct bytes log = {0};

	if (storage_history(storage, LOGS_MOST, &history, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < history.count && log.size == 0; i++)
		if (storage_get_notes(storage, history.items[i].number, "log", &log, NULL, err) < 0)
			return -1;
	if (log.size == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "no log of job %s is kept: run --log FILE keeps the end of FILE, "
			       "where the job does not finish",
			       job);
	if (isatty(STDOUT_FILENO))
		print_lines(&log);
	else
		fwrite(log.data, 1, log.size, stdout);
	return 0;
}

int cmd_report(int argc, char **argv)
{
	auto_(store_command_end) struct report_options options = {.store_command.all_jobs = true};
	const struct store_command *command = &options.store_command;
	auto_json json_t *jobs = json_array();
	struct report report = {.command = command, .options = &options, .jobs = jobs};
	struct err err;
	int code = store_command_begin(&verb_report, argc, argv, &options), result;

	if (code >= 0)
		return code;
	if (options.log && (options.all || options.by || !command->storage)) {
		(void)err_set(&err, ERR_INVALID,
			      "--log is of one job: name it with --job, without --all and --by");
		return store_command_fail(command, &err);
	}
	if (options.log)
		return print_log(command->storage, command->job, &err) < 0
			       ? store_command_fail(command, &err)
			       : 0;
	options.all |= !command->storage;
	result = options.all ? report_all(&report, &err)
			     : report_job(&report, command->storage, command->job, &err);
	if (result < 0)
		result = store_command_fail(command, &err);
	else if (result == 0)
		print_totals(&report);
	for (size_t i = 0; i < report.count; i++)
		free(report.groups[i].name);
	free(report.groups);
	return result;
}
