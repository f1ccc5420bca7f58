/* reprieve report: what the attempts of a job, or of all jobs, have done, lost and cost. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "costs.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS_MOST 10000

struct report_options {
	struct store_command store_command;
	struct report_prices prices;
	const char *by;         /* a label; NULL */
	const char *html, *svg; /* files; NULL */
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
	struct page_section *sections; /* one for each job */
	size_t section_count;
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
	{"html", 0, "FILE", NULL,
		"also write a page for a browser: a chart of the attempts, goodput, cost, the table",
		OPTION_TEXT(struct report_options, html), .least = 1},
	{"svg", 0, "FILE", NULL, "also write the chart of one job alone",
		OPTION_TEXT(struct report_options, svg), .least = 1},
	{"spot-price", 0, "USD", NULL,
		"per hour, of the machine that was used; of a gang, of each",
		.set = price_set, .at = offsetof(struct report_options, prices.spot)},
	{"on-demand-price", 0, "USD", NULL, "per hour, of the same machine without preemptions",
		.set = price_set, .at = offsetof(struct report_options, prices.on_demand)},
	{0},
};

const struct verb verb_report = {
	.name = "report",
	.summary = "say what the attempts of a job have done, lost and cost",
	.examples = "reprieve report --job digits\n"
		"reprieve report --all --by team --spot-price 1.20 --on-demand-price 3.06\n"
		"reprieve report --job digits --html digits.html\n"
		"reprieve report --job digits --log",
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("Report", own_rows, 0),
		STORE_COMMAND_OTHER,
	},
	.notes = "Lost is work that no snapshot of its attempt holds, where the job has not finished; > marks "
		"what is known of a machine that vanished. In brackets: how long a job that finished went on "
		"after its newest snapshot. Goodput is the time that counts in all that was paid for. In "
		"store are the snapshots that are there now. More: `man reprieve`",
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

/* Takes over `sum`. */
static void print_sum(const struct report *report, const char *name, json_t *sum)
{
	static const char *const lines[] = {
		"{name}: {attempts} attempt{attempts:s}, {preemptions} preemption{preemptions:s} "
		"({announced} announced)[{origin}]",
		"[  goodput  {goodput:percent} of the time paid for counts; without checkpoints "
		"{goodput_without:percent}]",
		NULL,
		"[  cost     {spot_cost:money} at {spot_price:money} an hour]",
		"[           {on_demand_cost:money} for the same work on demand, at "
		"{on_demand_price:money}[: saved {saved_cost:money}]]",
	};
	auto_free char *origin = store_command_job_origin(report->command->store, name);
	auto_free char *sentence = text_format("  time     %s", attempt_costs_sentence);
	auto_json json_t *all = sum;

	json_object_set_new(all, "name", json_string(name));
	json_object_set_new(all, "origin", json_string(origin));
	json_object_set_new(all, "spot_price", json_real(report->options->prices.spot));
	json_object_set_new(all, "on_demand_price", json_real(report->options->prices.on_demand));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		json_say(lines[i] ? lines[i] : sentence, all);
}

static json_t *sum_json(const struct report *report, const struct attempt_costs_sum *sum)
{
	return attempt_costs_sum_json(sum, &report->options->prices);
}

/* --- one job --- */

static void print_job(struct report *report, const char *job, const struct attempt_costs *accounts,
		      size_t count, const struct attempt_costs_sum *sum)
{
	json_t *attempts = json_array(), *json = sum_json(report, sum);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(attempts, attempt_costs_json(&accounts[i]));
	json_object_set_new(json, "job", json_string(job));
	json_object_set_new(json, "list", attempts);
	json_array_append_new(report->jobs, json);
	if (report->command->json || report->options->all)
		return;
	page_print_table(&report->sections[report->section_count - 1]);
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
	struct page_section *section;
	int status;

	if (storage_history(storage, ATTEMPTS_MOST, &history, NULL, err) < 0)
		return -1;
	if (history.count == 0 && !report->options->all) {
		int code = store_command_check_job(report->command);

		if (code >= 0)
			return code;
	}
	accounts = memory_new((history.count + 1) * sizeof(*accounts));
	status = read_accounts(storage, &history, accounts, err);
	if (status == 0) {
		attempt_costs_add(&sum, accounts, history.count);
		report->sections = memory_grow(report->sections, report->section_count + 1,
					       sizeof(*report->sections));
		section = &report->sections[report->section_count++];
		*section = (struct page_section){.bar_count = 0};
		attempt_costs_fill_page(section, job, accounts, history.count,
					&report->options->prices);
		print_job(report, job, accounts, history.count, &sum);
		if (report->options->by)
			group = group_name(report->options, &history);
		attempt_costs_add(&group_of(report, group)->sum, accounts, history.count);
		attempt_costs_add(&report->sum, accounts, history.count);
	}
	for (size_t i = 0; i < history.count; i++)
		free(accounts[i].bar.phases);
	return status;
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
				    sum_json(report, &report->groups[i].sum));
	if (report->command->json) {
		json_print(json_pack("{s:O, s:o, s:o*}", "jobs", report->jobs, "total",
				     sum_json(report, &report->sum), "groups",
				     report->options->by ? json_incref(groups) : NULL),
			   true);
	} else {
		for (size_t i = 0; i < report->count; i++)
			print_sum(report, report->groups[i].name,
				  sum_json(report, &report->groups[i].sum));
		if (report->count > 1)
			print_sum(report, "all", sum_json(report, &report->sum));
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

static int write_pages(const struct report *report, struct err *err)
{
	const struct report_options *options = report->options;
	auto_free char *chart = NULL, *page = NULL, *subtitle = NULL;
	char now[32];

	if (options->svg && report->section_count != 1)
		return err_set(err, ERR_INVALID, "--svg is of one job: name it with --job");
	if (options->svg)
		chart = page_svg(report->sections);
	if (chart && file_write(options->svg, chart, strlen(chart), err) < 0)
		return err_wrap(err, "--svg");
	if (!options->html)
		return 0;
	subtitle = text_format("%s, as of %.16s UTC", report->command->store,
			       clock_format(clock_wall_ms(), now, sizeof(now)));
	page = page_html("reprieve report", subtitle, report->sections, report->section_count);
	return file_write(options->html, page, strlen(page), err) < 0 ? err_wrap(err, "--html") : 0;
}

static void report_release(struct report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->groups[i].name);
	free(report->groups);
	for (size_t i = 0; i < report->section_count; i++)
		page_section_release(&report->sections[i]);
	free(report->sections);
}

AUTO(struct report, report_release);

int cmd_report(int argc, char **argv)
{
	auto_(store_command_end) struct report_options options = {.store_command.all_jobs = true};
	const struct store_command *command = &options.store_command;
	auto_json json_t *jobs = json_array();
	auto_(report_release) struct report report = {.command = command,
						      .options = &options,
						      .jobs = jobs};
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
	if (result == 0)
		result = write_pages(&report, &err);
	if (result < 0)
		return store_command_fail(command, &err);
	if (result == 0)
		print_totals(&report);
	return result;
}
