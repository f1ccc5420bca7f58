/* reprieve forget: removes the snapshots that a policy does not keep, and what only they needed. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "costs.h"
#include "options/options.h"
#include "page.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

struct forget_options {
	struct store_command store_command;
	struct retention_rules retention;
	int64_t garbage_age_ms;
	double price; /* -1: by the store */
	bool dry_run;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"sweep-age", 0, "DURATION", NULL,
		"the age at which content is removed that no snapshot needs (default: 1d); never "
		"less than the longest upload takes: 0 if nobody runs the job; a run whose store is "
		"full does not wait for it",
		OPTION_DURATION(struct forget_options, garbage_age_ms)},
	{"dry-run", 0, NULL, NULL, "say what would go, and remove nothing",
		OPTION_FLAG(struct forget_options, dry_run)},
	{0},
};

const struct verb verb_forget = {
	.name = "forget",
	.summary = "remove the snapshots that no rule keeps",
	.examples = "reprieve forget --keep-last 5 --dry-run\n"
		"reprieve forget --keep-last 3 --keep-every 10000 --keep-tag best",
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		/* The variables are of what `run` forgets by itself. */
		{.title = "Retention", .rows = retention_rows,
			.at = offsetof(struct forget_options, retention), .no_environment = true},
		OPTION_GROUP(NULL, own_rows, 0),
		OPTION_GROUP(NULL, price_rows, offsetof(struct forget_options, price)),
		STORE_COMMAND_OTHER,
	},
	.notes = "What any rule keeps is kept; give at least one. Kept in any case: the newest good snapshot, "
		"what an attempt that has not ended started from, and what is pinned (`reprieve pin`).",
	.exits = store_command_exits,
};
// clang-format on

static json_t *reasons_json(unsigned reasons)
{
	json_t *list = json_array();

	for (int reason = 0; reason < KEEP_REASONS; reason++)
		if (reasons & 1u << reason)
			json_array_append_new(list, json_string(keep_reason_name(
							    (enum keep_reason)reason)));
	return list;
}

static void note_decision(void *rows, const struct snapshot_info *info, unsigned reasons)
{
	char id[SNAPSHOT_ID_TEXT];

	json_array_append_new(rows, json_pack("{s:s, s:b, s:o, s:s, s:o, s:s, s:I, s:I}", "id",
					      snapshot_id_format(info->id, id), "kept",
					      reasons != 0, "reasons", reasons_json(reasons),
					      "state", snapshot_state_name(info), "step",
					      json_integer_or_null(info->step), "created",
					      info->created, "bytes", (json_int_t)info->bytes,
					      "bytes_alone", (json_int_t)info->bytes_alone));
}

static void print_decisions(json_t *rows, bool dry_run)
{
	const struct page_column columns[] = {
		{"", dry_run ? "[{kept:?}keep|would go]" : "[{kept:?}keep|forget]"},
		{"ID", "{id}"},
		{"STATE", "{state}"},
		{"STEP", "[{step}|-]"},
		{"SIZE", "{bytes:bytes}"},
		{"ALONE", "{bytes_alone:bytes}"},
		{"CREATED (UTC)", "{created:second}"},
		{"WHY", "[{reasons}|no rule keeps it]"},
		{0},
	};

	if (json_array_size(rows) > 0)
		page_print_rows(columns, rows);
}

static json_t *summary_json(const struct forget_options *options, json_t *rows,
			    const struct forget_result *result)
{
	const struct store_command *command = &options->store_command;
	double price = options->price;
	uint64_t after = result->bytes_before - result->collected.bytes_removed;

	return json_pack("{s:s, s:s, s:b, s:i, s:i, s:I, s:I, s:i, s:I, s:f, s:f, s:f, s:i, "
			 "s:s?, s:O}",
			 "store", command->store, "job", command->job, "dry_run", options->dry_run,
			 "kept", (int)result->kept, "forgotten", (int)result->forgotten,
			 "bytes_before", (json_int_t)result->bytes_before, "bytes_freed",
			 (json_int_t)result->collected.bytes_removed, "packs_removed",
			 (int)result->collected.packs_removed, "bytes_waiting",
			 (json_int_t)result->collected.bytes_deferred, "price", price,
			 "cost_before", storage_price_per_month(result->bytes_before, price),
			 "cost_after", storage_price_per_month(after, price), "refused",
			 (int)result->refused.count, "first_refused",
			 result->refused.count > 0 ? result->refused.first : NULL, "snapshots",
			 rows);
}

static void print_summary(const struct forget_result *result, json_t *summary)
{
	json_object_set_new(summary, "bytes_after",
			    json_integer((json_int_t)(result->bytes_before -
						      result->collected.bytes_removed)));
	json_say("[{dry_run:?}would keep|kept] {kept} snapshot{kept:s}, [{dry_run:?}forget|forgot] "
		 "{forgotten}; [{dry_run:?}free|freed] {bytes_freed:bytes} in {packs_removed} "
		 "pack{packs_removed:s}",
		 summary);
	json_say("[{bytes_waiting:+bytes} more that no snapshot needs stay for now: too young "
		 "(--sweep-age), or newer than the newest good snapshot]",
		 summary);
	if (result->refused.count > 0)
		log_warn("the store refuses to remove %u object%s, which stay%s: %s",
			 result->refused.count, result->refused.count == 1 ? "" : "s",
			 result->refused.count == 1 ? "s" : "", result->refused.first);
	json_say("stored: {bytes_before:bytes}, [{dry_run:?}then|now] {bytes_after:bytes}[; about "
		 "{cost_before:money}, [{dry_run:?}then|now] {cost_after:money} a month (an "
		 "estimate: storage alone, at {price:+price} per GB)]",
		 summary);
}

int cmd_forget(int argc, char **argv)
{
	auto_(store_command_end) struct forget_options options = {
		.store_command.changes = true,
		.retention.keep_last = -1,
		.garbage_age_ms = GARBAGE_AGE_MS,
		.price = -1,
	};
	const struct store_command *command = &options.store_command;
	auto_json json_t *rows = json_array(), *summary = NULL;
	struct forget_request request = {.decided = note_decision, .arg = rows};
	struct forget_result result;
	struct err err;
	int code = store_command_begin(&verb_forget, argc, argv, &options);

	if (code >= 0)
		return code;
	if (!retention_is_given(&options.retention)) {
		log_error("forget: no rule: give at least one of --keep-last, --keep-within, "
			  "--keep-every, --keep-tag");
		return EXIT_USAGE;
	}
	if (options.price < 0)
		options.price = storage_price_of(command->store);
	request.policy = retention_policy(&options.retention);
	request.dry_run = options.dry_run;
	/* There, 0 is no age at all. */
	request.garbage_age_ms = options.garbage_age_ms > 0 ? options.garbage_age_ms : 1;
	if (storage_forget(command->storage, &request, &result, NULL, &err) < 0)
		return store_command_fail(command, &err);
	code = result.kept + result.forgotten == 0 ? store_command_check_job(command) : -1;
	if (code >= 0)
		return code;
	summary = summary_json(&options, rows, &result);
	if (command->json) {
		json_print(steal(&summary), true);
	} else {
		print_decisions(rows, options.dry_run);
		print_summary(&result, summary);
	}
	return result.refused.count > 0 ? EXIT_FAILURE : 0;
}
