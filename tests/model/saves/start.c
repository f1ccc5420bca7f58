/*
 * The next start in the same directory, after all was killed: what place_checkpoint.c does, without
 * its I/O. start_left() hears the reports that nobody had read; start_decide() says which files
 * stay.
 */
#include "driver.h"

#include "base/json.h"
#include "restore/reconcile.h"

#include <stdio.h>
#include <string.h>

enum listed {
	LISTED_HERE,
	LISTED_SNAPSHOT,
	LISTED_RECORD,
	LISTED_KINDS,
};

struct start {
	struct snapshot_files files[LISTED_KINDS];
	struct path_list under_way, moved;
	struct path_set whole;
	struct left_report *reports;
	size_t report_count, report_room;
	sim_look_fn *look;
	char *text;
};

SIM struct start *start_new(sim_look_fn *look)
{
	struct start *start = memory_new(sizeof(*start));

	start->look = look;
	return start;
}

SIM void start_free(struct start *start)
{
	for (size_t i = 0; i < LISTED_KINDS; i++)
		snapshot_files_release(&start->files[i]);
	path_list_free(start->under_way.paths);
	path_list_free(start->moved.paths);
	path_set_release(&start->whole);
	free(start->reports);
	free(start->text);
	free(start);
}

SIM void start_file(struct start *start, int listed, const char *path, uint64_t size,
		    int64_t written_ns, int64_t born_ns, uint64_t inode, int running)
{
	file_list_add(&start->files[listed],
		      (struct snapshot_file){.path = text_copy(path),
					     .size = size,
					     .mtime_ns = written_ns,
					     .ctime_ns = inode ? written_ns : 0,
					     .inode = inode,
					     .born_ns = born_ns,
					     .running = running});
}

SIM void start_under_way(struct start *start, const char *path)
{
	path_list_add(&start->under_way, path);
}

/* `content`: as in struct sim_file. 1: it is torn by it, and moved aside. */
SIM int start_content(struct start *start, const char *path, int content)
{
	if (content < 0 && file_patterns_kind(NULL, path) == FILE_KIND_ORDINARY)
		return path_list_add(&start->moved, path), 1;
	if (content > 0)
		path_set_mark(&start->whole, path, (unsigned)content);
	return 0;
}

SIM void start_report(struct start *start, int event, int pid, int descriptor, unsigned flags,
		      const char *path, const char *path2)
{
	struct left_report *report;

	if (start->report_count == start->report_room) {
		start->report_room = 2 * start->report_room + 16;
		start->reports =
			memory_grow(start->reports, start->report_room, sizeof(start->reports[0]));
	}
	report = &start->reports[start->report_count++];
	*report = (struct left_report){
		.message = {.event = event,
			    .pid = pid,
			    .descriptor = descriptor,
			    .flags = flags,
			    .step = -1}};
	text_set(report->paths.path, sizeof(report->paths.path), path);
	text_set(report->paths.path2, sizeof(report->paths.path2), path2);
}

/* The list accounts for the first `listed` reports. */
SIM void start_left(struct start *start, const char *known, size_t listed)
{
	auto_json json_t *json = json_parse(known, strlen(known), NULL);
	struct left_facts facts = {.known = json,
				   .reports = start->reports,
				   .count = start->report_count,
				   .listed = listed,
				   .list = start->under_way.paths,
				   .look = look_at,
				   .arg = &start->look};
	char **paths;

	for (size_t i = 0; i < start->report_count; i++) {
		start->reports[i].message.path = start->reports[i].paths.path;
		start->reports[i].message.path2 = start->reports[i].paths.path2;
	}
	paths = left_reports_list(&facts);
	path_list_free(start->under_way.paths);
	start->under_way = (struct path_list){0};
	for (char **path = paths; path && *path; path++)
		path_list_add(&start->under_way, *path);
	path_list_free(paths);
}

/* The first line: what is done (enum reconcile_action). Then what is moved aside, each behind a +
 * if it comes back from the snapshot (start_restore.c), else behind a -. `from`, `recorded`: the
 * numbers of the newest snapshot and of the record; 0: there is none. */
SIM const char *start_decide(struct start *start, uint32_t from, uint32_t recorded)
{
	struct reconcile_facts facts = {
		.local = &start->files[LISTED_HERE],
		.snapshot = from ? &start->files[LISTED_SNAPSHOT] : NULL,
		.start = {from ? 1 : 0, from},
		.complete = &start->files[LISTED_RECORD],
		.complete_id = {1, recorded ? recorded : 1},
		.moved = start->moved.paths,
		.whole = &start->whole,
	};
	struct reconcile_plan plan;
	size_t size = 16, moved = 0;

	for (size_t i = 0; i < LISTED_KINDS; i++)
		file_list_sort(&start->files[i]);
	left_files_settle(&start->under_way, &facts);
	facts.under_way = start->under_way.paths;
	reconcile_decide(&facts, &plan);
	for (size_t i = 0; i < plan.torn_count; i++)
		size += strlen(plan.torn[i].path) + 2;
	for (; facts.moved && facts.moved[moved]; moved++)
		size += strlen(facts.moved[moved]) + 2;
	free(start->text);
	start->text = memory_new(size);
	snprintf(start->text, size, "%d\n", (int)plan.action);
	for (size_t i = 0; i < plan.torn_count + moved; i++) {
		const char *path =
			i < plan.torn_count ? plan.torn[i].path : facts.moved[i - plan.torn_count];

		strcat(start->text, reconcile_may_put_back(&facts, path) ? "+" : "-");
		strcat(start->text, path);
		strcat(start->text, "\n");
	}
	reconcile_plan_release(&plan);
	return start->text;
}
