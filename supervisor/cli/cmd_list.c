/* reprieve list: the snapshots of a job, or the jobs of a store. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "costs.h"
#include "page.h"
#include "status_text.h"
#include "store_command.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list_options {
	struct store_command store_command;
	double price; /* -1: by the store */
};

// clang-format off
const struct verb verb_list = {
	.name = "list",
	.summary = "list the snapshots of a job, newest first",
	.examples = "reprieve list\n"
		"reprieve list --store file:///mnt/share/runs --job train-3f2a9c81d0b4 --json",
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP(NULL, price_rows, offsetof(struct list_options, price)),
		STORE_COMMAND_OTHER,
	},
	.notes = "Without --job, and with several jobs in the store: lists the jobs. * marks what the next "
		"start resumes from. The states: good, late (a newer attempt has begun without it), superseded "
		"(an older one was restored by hand), suspect (the job died of it twice), damaged, newer (of a "
		"newer version). MEMBERS: \"3 of 4\" says that one has no checkpoint in it. More: `man reprieve`",
	.exits = store_command_exits,
};
// clang-format on

static int list_jobs(const struct store_command *command)
{
	struct storage_job_names jobs;
	struct err err;

	if (storage_list_jobs(command->store, &jobs, NULL, &err) < 0)
		return store_command_fail(command, &err);
	if (command->json) {
		json_t *names = json_array();

		for (size_t i = 0; i < jobs.count; i++)
			json_array_append_new(names, json_string(jobs.names[i]));
		json_print(json_pack("{s:s, s:o}", "store", command->store, "jobs", names), true);
	} else {
		for (size_t i = 0; i < jobs.count; i++) {
			auto_free char *origin =
				store_command_job_origin(command->store, jobs.names[i]);

			terminal_line_print("%s%s", jobs.names[i], origin);
		}
	}
	storage_job_names_release(&jobs);
	return 0;
}

static json_t *snapshot_json(const struct snapshot_info *info)
{
	char id[SNAPSHOT_ID_TEXT], parent[SNAPSHOT_ID_TEXT];

	return json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:b, "
			 "s:b, s:o, s:I, s:I}",
			 "id", snapshot_id_format(info->id, id), "state", snapshot_state_name(info),
			 "newest", info->newest, "created", info->created, "host", info->host,
			 "reason", info->reason, "step", json_integer_or_null(info->step), "parent",
			 snapshot_id_is_none(info->parent)
				 ? json_null()
				 : json_string(snapshot_id_format(info->parent, parent)),
			 "files", (json_int_t)info->files, "bytes", (json_int_t)info->bytes,
			 "bytes_stored", (json_int_t)info->bytes_stored, "bytes_alone",
			 (json_int_t)info->bytes_alone, "tag",
			 info->tag[0] ? json_string(info->tag) : json_null(), "pinned",
			 info->pinned, "started_from", info->started_from, "damage",
			 info->damage[0] ? json_string(info->damage) : json_null(), "members",
			 (json_int_t)info->members, "members_without_checkpoint",
			 (json_int_t)info->members_without);
}

/* MEMBERS stands there where one is of a gang. */
static void print_table(json_t *rows)
{
	struct page_column columns[] = {
		{"  ID", "[{newest:?}* |  ]{id}"},
		{"STATE", "{state}"},
		{"STEP", "[{step}|-]"},
		{"MEMBERS", "[{with} of {members}|{members:+}|-]"},
		{"FILES", "{files}"},
		{"SIZE", "{bytes:bytes}"},
		{"STORED", "{bytes_stored:bytes}"},
		{"CREATED (UTC)", "{created:second}"},
		{"HOST", "{host}[{pinned:?}  pinned][  tag {tag}][: {damage}]"},
		{0},
	};
	bool gang = false;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		int64_t members = json_number_or(row, "members", 0);
		int64_t without = json_number_or(row, "members_without_checkpoint", 0);

		gang |= members > 0;
		if (members > 0 && without > 0)
			json_object_set_new(row, "with", json_integer(members - without));
	}
	if (!gang)
		memmove(&columns[3], &columns[4], sizeof(columns) - 4 * sizeof(columns[0]));
	page_print_rows(columns, rows);
}

int cmd_list(int argc, char **argv)
{
	auto_(store_command_end) struct list_options options = {
		.store_command.all_jobs = true,
		.price = -1,
	};
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const struct store_command *command = &options.store_command;
	auto_json json_t *rows = json_array(), *all = NULL;
	double price;
	uint64_t bytes;
	struct err err;
	int code = store_command_begin(&verb_list, argc, argv, &options);

	if (code >= 0)
		return code;
	if (!command->storage)
		return list_jobs(command);
	if (storage_list_snapshots(command->storage, &list, NULL, &err) < 0 ||
	    storage_size(command->storage, &bytes, NULL, &err) < 0)
		return store_command_fail(command, &err);
	code = list.count == 0 ? store_command_check_job(command) : -1;
	if (code >= 0)
		return code;
	price = options.price < 0 ? storage_price_of(command->store) : options.price;
	for (size_t i = 0; i < list.count; i++)
		json_array_append_new(rows, snapshot_json(&list.items[i]));
	all = json_pack("{s:s, s:s, s:I, s:f, s:f, s:O}", "store", command->store, "job",
			command->job, "bytes_stored", (json_int_t)bytes, "price", price, "cost",
			storage_price_per_month(bytes, price), "snapshots", rows);
	if (command->json) {
		json_print(steal(&all), true);
	} else if (list.count == 0) {
		json_say("job {job} has no snapshots in {store}", all);
	} else {
		print_table(rows);
		json_say("stored: {bytes_stored:bytes}[, about {cost:money} a month (an estimate: "
			 "storage alone, at {price:+price} per GB)]",
			 all);
	}
	return 0;
}
