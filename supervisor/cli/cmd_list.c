/* reprieve list: the snapshots of a job, or the jobs of a store. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/terminal_line.h"
#include "base/text.h"
#include "storage_price.h"
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
	.notes = "Without --job, and with several jobs in the store: lists the jobs.\n"
		"The states: good (may be resumed from), late (a newer attempt has begun without "
		"it: it was committed after that, or was damaged then), superseded (an older one "
		"was restored by hand), suspect (the job died of it twice), damaged (something of it "
		"is missing or cut short; `reprieve verify` reads every byte). * marks what "
		"the next start resumes from. MEMBERS, "
		"where there is a gang: how many machines have taken it together; \"3 of 4\": one "
		"of them has no checkpoint in it. `reprieve show` says what each has.",
	.exits = store_command_exits,
};
// clang-format on

static int list_jobs(const struct store_command *store_command)
{
	struct storage_job_names jobs;
	struct err err;

	if (storage_list_jobs(store_command->store, &jobs, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	if (store_command->json) {
		json_t *names = json_array();

		for (size_t i = 0; i < jobs.count; i++)
			json_array_append_new(names, json_string(jobs.names[i]));
		json_print(json_pack("{s:s, s:o}", "store", store_command->store, "jobs", names),
			   true);
	} else {
		for (size_t i = 0; i < jobs.count; i++)
			terminal_line_print("%s", jobs.names[i]);
	}
	storage_job_names_release(&jobs);
	return 0;
}

static json_t *snapshot_json(const struct snapshot_info *info)
{
	char id[SNAPSHOT_ID_TEXT], parent[SNAPSHOT_ID_TEXT];

	return json_pack(
		"{s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:b, s:b, s:o, "
		"s:I, s:I}",
		"id", snapshot_id_format(info->id, id), "state", snapshot_state_name(info),
		"newest", info->newest, "created", info->created, "host", info->host, "reason",
		info->reason, "step", json_integer_or_null(info->step), "parent",
		snapshot_id_is_none(info->parent)
			? json_null()
			: json_string(snapshot_id_format(info->parent, parent)),
		"files", (json_int_t)info->files, "bytes", (json_int_t)info->bytes, "bytes_stored",
		(json_int_t)info->bytes_stored, "bytes_alone", (json_int_t)info->bytes_alone, "tag",
		info->tag[0] ? json_string(info->tag) : json_null(), "pinned", info->pinned,
		"started_from", info->started_from, "damage",
		info->damage[0] ? json_string(info->damage) : json_null(), "members",
		(json_int_t)info->members, "members_without_checkpoint",
		(json_int_t)info->members_without);
}

/* As wide as what is in them, so that a row fits a terminal. */
struct list_widths {
	int state, step, files, size, stored;
	int members; /* 0: none is of a gang */
};

static void widen(int *width, const char *text)
{
	int length = (int)strlen(text);

	*width = length > *width ? length : *width;
}

static const char *format_step(const struct snapshot_info *info, char text[24])
{
	text_set(text, 24, "-");
	if (info->step >= 0)
		snprintf(text, 24, "%lld", (long long)info->step);
	return text;
}

/* "4"; "3 of 4"; "-": one machine. */
static const char *format_members(const struct snapshot_info *info, char text[24])
{
	text_set(text, 24, "-");
	if (info->members > 0 && info->members_without == 0)
		snprintf(text, 24, "%u", info->members);
	else if (info->members > 0)
		snprintf(text, 24, "%u of %u", info->members - info->members_without,
			 info->members);
	return text;
}

static struct list_widths measure_rows(const struct snapshot_list *list)
{
	struct list_widths widths = {5, 4, 5, 4, 6, 0}; /* of the headings */
	char text[24];

	for (size_t i = 0; i < list->count; i++) {
		const struct snapshot_info *info = &list->items[i];

		widen(&widths.state, snapshot_state_name(info));
		widen(&widths.step, format_step(info, text));
		widen(&widths.size, text_bytes(info->bytes, text, sizeof(text)));
		widen(&widths.stored, text_bytes(info->bytes_stored, text, sizeof(text)));
		snprintf(text, sizeof(text), "%u", info->files);
		widen(&widths.files, text);
		if (info->members > 0)
			widen(&widths.members, "MEMBERS");
		if (info->members > 0)
			widen(&widths.members, format_members(info, text));
	}
	return widths;
}

static void print_table(const struct snapshot_list *list)
{
	struct list_widths widths = measure_rows(list);
	int gang = widths.members ? widths.members + 2 : 0;

	printf("  %-13s  %-*s  %*s%*s  %*s  %*s  %*s  %-19s  %s\n", "ID", widths.state, "STATE",
	       widths.step, "STEP", gang, widths.members ? "MEMBERS" : "", widths.files, "FILES",
	       widths.size, "SIZE", widths.stored, "STORED", "CREATED (UTC)", "HOST");
	for (size_t i = 0; i < list->count; i++) {
		const struct snapshot_info *info = &list->items[i];
		char id[SNAPSHOT_ID_TEXT], step[24], members[24], size[24], stored[24];

		terminal_line_print("%c %-13s  %-*s  %*s%*s  %*u  %*s  %*s  %.19s  %s%s%s%s",
				    info->newest ? '*' : ' ', snapshot_id_format(info->id, id),
				    widths.state, snapshot_state_name(info), widths.step,
				    format_step(info, step), gang,
				    gang ? format_members(info, members) : "", widths.files,
				    info->files, widths.size,
				    text_bytes(info->bytes, size, sizeof(size)), widths.stored,
				    text_bytes(info->bytes_stored, stored, sizeof(stored)),
				    info->created, info->host, info->pinned ? "  pinned" : "",
				    info->tag[0] ? "  tag " : "", info->tag);
		if (info->damage[0])
			terminal_line_print("  %13s  %s", "", info->damage);
	}
}

static void print_total(uint64_t bytes, double price)
{
	char size[24], cost[24];

	printf("stored: %s", text_bytes(bytes, size, sizeof(size)));
	if (price > 0)
		printf(", about %s a month (an estimate: storage alone, at $%g per GB)",
		       storage_price_format(storage_price_per_month(bytes, price), cost,
					    sizeof(cost)),
		       price);
	printf("\n");
}

static void print_json(const struct store_command *store_command, const struct snapshot_list *list,
		       uint64_t bytes, double price)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(rows, snapshot_json(&list->items[i]));
	json_print(json_pack("{s:s, s:s, s:I, s:f, s:f, s:o}", "store", store_command->store, "job",
			     store_command->job, "bytes_stored", (json_int_t)bytes, "price", price,
			     "cost", storage_price_per_month(bytes, price), "snapshots", rows),
		   true);
}

int cmd_list(int argc, char **argv)
{
	auto_(store_command_end) struct list_options options = {
		.store_command.all_jobs = true,
		.price = -1,
	};
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const struct store_command *store_command = &options.store_command;
	double price;
	struct err err;
	int code = store_command_begin(&verb_list, argc, argv, &options);

	if (code >= 0)
		return code;
	if (!store_command->storage)
		return list_jobs(store_command);
	if (storage_list_snapshots(store_command->storage, &list, NULL, &err) < 0)
		return store_command_fail(store_command, &err);
	code = list.count == 0 ? store_command_check_job(store_command) : -1;
	if (code >= 0)
		return code;
	price = options.price < 0 ? storage_price_of(store_command->store) : options.price;
	if (store_command->json) {
		print_json(store_command, &list, list.bytes, price);
	} else if (list.count == 0) {
		printf("job %s has no snapshots in %s\n", store_command->job, store_command->store);
	} else {
		print_table(&list);
		print_total(list.bytes, price);
	}
	return 0;
}
