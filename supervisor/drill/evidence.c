#include "drill/evidence.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "storage/storage.h"
#include "written_files.h"

/* The files of a snapshot. */
static void read_files(struct storage *storage, struct snapshot_id id, struct restored_files *files)
{
	auto_json json_t *body = NULL;
	struct err err = {0};
	size_t index;
	json_t *entry;

	if (storage_read_manifest(storage, id, &body, NULL, &err) < 0)
		return;
	json_array_foreach(json_object_get(body, "entries"), index, entry)
	{
		json_t *mtime = json_object_get(entry, "mtime");

		if (text_equal(json_text_or(entry, "type", ""), "hardlink"))
			restored_files_add_link(files, json_text_or(entry, "path", ""),
						json_text_or(entry, "target", ""));
		if (text_equal(json_text_or(entry, "type", ""), "file"))
			restored_files_add(files, json_text_or(entry, "path", ""),
					   (uint64_t)json_number_or(entry, "size", 0),
					   json_integer_value(json_array_get(mtime, 0)) *
							   1000000000 +
						   json_integer_value(json_array_get(mtime, 1)));
	}
}

/* Of a gang's, what the member gets of the parts of all. */
static void read_member_files(struct evidence *evidence, struct storage *storage,
			      struct snapshot_id id)
{
	auto_(snapshot_files_release) struct snapshot_files own = {0}, all = {0};
	struct err err = {0};

	storage_set_gang(storage, evidence->members, evidence->member);
	storage_gang_choose_parts(storage, GANG_PARTS_OWN);
	evidence->has_part =
		storage_list_files(storage, id, &own, NULL, &err) == 0 && own.count > 0;
	storage_gang_choose_parts(storage, evidence->parts);
	if (storage_list_files(storage, id, &all, NULL, &err) < 0)
		return;
	for (size_t i = 0; i < all.count; i++)
		restored_files_add(&evidence->files, all.items[i].path, all.items[i].size,
				   all.items[i].mtime_ns);
}

static void read_store(struct evidence *evidence, const struct sandbox *sandbox,
		       struct round_facts *facts)
{
	const struct storage_options options = {
		.url = sandbox->store,
		.job = sandbox->job,
		.read_only = true,
	};
	auto_(storage_close) struct storage *storage = NULL;
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct err err = {0};

	if (storage_open(&options, &storage, NULL, &err) < 0 ||
	    storage_list_snapshots(storage, &list, NULL, &err) < 0) {
		text_set(facts->store_error, sizeof(facts->store_error), err.text);
		return;
	}
	facts->store_read = true;
	for (size_t i = 0; i < list.count; i++) {
		const struct snapshot_info *info = &list.items[i];

		if (info->newest)
			facts->store_newest = info->id;
		if (info->state == SNAPSHOT_GOOD &&
		    snapshot_id_compare(info->id, facts->events.commit.id) == 0)
			facts->commit_good = true;
	}
	if (snapshot_id_is_none(facts->store_newest))
		return;
	if (evidence->members > 0)
		read_member_files(evidence, storage, facts->store_newest);
	else
		read_files(storage, facts->store_newest, &evidence->files);
}

/* What the job has loaded is known better by the files that it opened than by what was saved
 * last. */
static void time_of_files(const struct reading_facts *reading, const struct run_events *events,
			  struct save_time *written)
{
	int64_t wall_ms = clock_wall_ms() - clock_monotonic_ms();
	int64_t oldest_ms = reading->oldest_ns / 1000000 - wall_ms;

	continuation_time_of_save(events, written);
	if (reading->oldest_ns <= 0)
		return;
	/* A file's time is that of its last byte. */
	if (oldest_ms < written->began_ms)
		written->began_ms = oldest_ms;
	written->ended_ms = written->about_ms = reading->newest_ns / 1000000 - wall_ms;
}

/* Where it goes on in what people would call the steps. */
static void note_next_step(const struct evidence *evidence, const struct instance *next,
			   struct round_facts *before)
{
	const struct job_counter *steps = job_log_steps(&evidence->counts);
	const struct job_counter *again = steps ? job_log_match(&next->counts, steps) : NULL;

	before->next_counted = again && !again->fell_at_once;
	if (!before->next_counted)
		return;
	before->count.next = again->samples[0].value;
	/* A machine that was taken away early may not have shown how seldom the job prints. */
	if (steps->count < 3 && again->stride > before->count.stride)
		before->count.stride = again->stride;
}

static void note_next(const struct evidence *evidence, const struct instance *next,
		      const struct file_accesses *accesses, bool over, struct round_facts *before)
{
	struct resumption_facts *resumption = &before->resumption;
	struct save_time written;

	before->next_launched = next->events.launched_ms >= 0;
	before->next_restored = next->events.restored;
	before->next_step = next->events.restored_step;
	note_next_step(evidence, next, before);
	resumption->reading =
		opened_files_judge(&evidence->files,
				   (accesses->any || before->accesses.any) && !accesses->unlisted);
	time_of_files(&resumption->reading, &before->events, &written);
	resumption->continuation = continuation_of_machines(&evidence->counts, &before->events,
							    &written, &next->counts, &next->events);
	resumption->replayed =
		printed_lines_go_on(&evidence->lines, &next->lines, written.began_ms);
	resumption->failed = over ? next->exit_code : 0;
}

static void note_written(const struct scenario_options *options, const struct instance *instance,
			 struct round_facts *facts)
{
	const char *nothing[] = {NULL};
	auto_(tree_look_release) struct tree_look now = {0};

	if (tree_look_take(&now, instance->directory, nothing, nothing, NULL) == 0)
		written_by_machine(&instance->look, &now, options->checkpoint_dir, options->compare,
				   facts->wrote);
}

static void note_round(struct evidence *evidence, const struct sandbox *sandbox,
		       const struct scenario_options *options, struct instance *instance,
		       struct round_facts *facts)
{
	const struct job_counter *steps = job_log_steps(&instance->counts);

	if (steps) {
		struct save_time written;

		continuation_time_of_save(&facts->events, &written);
		continuation_count_at_save(steps, &facts->events, &written, &facts->count);
		facts->counted = true;
		facts->epochs = steps->kind == COUNTER_EPOCH;
	}
	text_set(facts->warning, sizeof(facts->warning), instance->warning);
	text_set(facts->said, sizeof(facts->said), instance->said);
	note_written(options, instance, facts);
	read_store(evidence, sandbox, facts);
	evidence->counts = instance->counts;
	instance->counts = (struct job_log){0};
	evidence->lines = instance->lines;
	instance->lines = (struct printed_lines){0};
}

void evidence_collect(struct evidence *evidence, const struct sandbox *sandbox,
		      const struct scenario_options *options, struct instance *instance, bool over,
		      struct round_facts *before, struct round_facts *facts)
{
	struct file_accesses accesses;

	instance_read_accesses(instance, &accesses, &evidence->files);
	if (before)
		note_next(evidence, instance, &accesses, over, before);
	evidence_release(evidence);
	if (!facts)
		return;
	facts->accesses = accesses;
	note_round(evidence, sandbox, options, instance, facts);
}

void evidence_release(struct evidence *evidence)
{
	job_log_release(&evidence->counts);
	printed_lines_release(&evidence->lines);
	restored_files_release(&evidence->files);
}
