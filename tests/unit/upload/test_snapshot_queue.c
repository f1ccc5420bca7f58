/* A real queue over a real store: what becomes of a checkpoint that is submitted, what its snapshot
 * holds, and what is tried again. */
#include "upload/upload.h"

#include "slow_store.h"

#include "base/json.h"
#include "storage/records/storage_handle.h"

#include <unistd.h>

enum {
	PATHS_MOST = 8
};

struct bench {
	struct fixture f;
	struct loop loop;
	struct workers *workers;
	struct workspace workspace;
	struct file_patterns patterns;
	struct snapshot_queue *queue;
	/* What the plan says. NULL-terminated. */
	const char *excluded[PATHS_MOST], *complete[PATHS_MOST];
	const char *key;
	enum snapshot_gone gone;
	int64_t gone_number;
	bool ended;
	/* Done once the plan is made, before the directory is walked. */
	void (*planned)(struct bench *bench);
	bool refuses;       /* to confirm the plan */
	unsigned tries[16]; /* as it was asked */
	unsigned asked;
	unsigned awaited; /* so many outcomes more */
	struct snapshot_outcome last;
};

static char **list_of(const char *const *paths)
{
	struct path_list list = {.paths = NULL};

	for (; *paths; paths++)
		path_list_add(&list, *paths);
	return list.paths;
}

static void make_plan(void *arg, struct snapshot_plan *plan, struct checkpoint *checkpoint)
{
	struct bench *bench = arg;

	assert_true(checkpoint->generation > 0);
	for (const char *const *path = bench->excluded; *path; path++)
		path_list_add(&plan->excluded, *path);
	plan->complete = list_of(bench->complete);
	plan->key = text_copy(bench->key);
	plan->gone = bench->gone;
	plan->gone_number = bench->gone_number;
	plan->ended = bench->ended;
	if (bench->planned)
		bench->planned(bench);
}

static bool confirm_plan(void *arg, struct snapshot_plan *plan, unsigned tries)
{
	struct bench *bench = arg;

	assert_non_null(plan->key);
	bench->tries[bench->asked++] = tries;
	return !bench->refuses;
}

static json_t *tell_signatures(void *arg)
{
	(void)arg;
	return json_string("learned");
}

static void note_outcome(void *arg, const struct snapshot_outcome *outcome)
{
	struct bench *bench = arg;

	bench->last = *outcome;
	if (--bench->awaited == 0)
		loop_stop(&bench->loop);
}

static struct snapshot_queue_options options_of(struct bench *bench,
						const struct forget_policy *retention)
{
	return (struct snapshot_queue_options){
		.loop = &bench->loop,
		.workers = bench->workers,
		.storage = bench->f.storage,
		.attempt = bench->f.attempt.number,
		.workspace = &bench->workspace,
		.job = "job",
		.retention = retention,
		.patterns = &bench->patterns,
		.plan = make_plan,
		.confirm = confirm_plan,
		.signatures = tell_signatures,
		.finished = note_outcome,
		.arg = bench,
	};
}

static void start(struct bench *bench, const struct forget_policy *retention)
{
	struct snapshot_queue_options options;

	*bench = (struct bench){.key = ""};
	fixture_start(&bench->f);
	workspace_init(&bench->workspace, bench->f.source);
	assert_works(loop_init(&bench->loop, &err));
	assert_works(workers_new(&bench->loop, 1, &bench->workers, &err));
	options = options_of(bench, retention);
	assert_works(snapshot_queue_new(&options, &bench->queue, &err));
}

static void stop(struct bench *bench)
{
	snapshot_queue_stop_early(bench->queue);
	workers_free(bench->workers);
	snapshot_queue_free(bench->queue);
	loop_release(&bench->loop);
	workspace_release(&bench->workspace);
	file_patterns_release(&bench->patterns);
	fixture_stop(&bench->f);
}

static void submit(struct bench *bench, uint64_t generation)
{
	struct checkpoint checkpoint = {.generation = generation, .step = (int64_t)generation * 10};

	snapshot_queue_submit(bench->queue, &checkpoint);
}

static void await(struct bench *bench, unsigned outcomes)
{
	bench->awaited = outcomes;
	bench->loop.stopped = false;
	assert_works(loop_run(&bench->loop, &err));
	assert_int_equal(bench->awaited, 0);
}

static void save(struct bench *bench, uint64_t generation)
{
	submit(bench, generation);
	await(bench, 1);
}

static void save_durably(struct bench *bench, uint64_t generation)
{
	save(bench, generation);
	if (!bench->last.durable)
		fail_msg("%s", bench->last.err.text);
}

static void write_text(struct bench *bench, const char *name, const char *text)
{
	auto_free char *path = text_format("%s/%s", bench->f.source, name);

	assert_works(file_write(path, text, strlen(text), &err));
}

/* In the last snapshot: "a b c", each file by its name, in the order of the names. */
static char *saved_files(struct bench *bench)
{
	auto_json json_t *manifest = NULL;
	char *names = text_copy("");
	json_t *entry;
	size_t i;

	assert_works(
		storage_read_manifest(bench->f.storage, bench->last.id, &manifest, NULL, &err));
	json_array_foreach(json_object_get(manifest, "entries"), i, entry)
	{
		char *more;

		if (!text_equal(json_text_or(entry, "type", ""), "file"))
			continue;
		more = text_format("%s%s%s", names, *names ? " " : "",
				   json_text_or(entry, "path", ""));
		free(names);
		names = more;
	}
	return names;
}

static void assert_saved(struct bench *bench, const char *expected)
{
	auto_free char *names = saved_files(bench);

	assert_string_equal(names, expected);
}

/* --- one after the other --- */

static void test_a_checkpoint_becomes_a_snapshot(void **state)
{
	auto_json json_t *manifest = NULL;
	auto_(completion_record_release) struct completion_record record = {0};
	struct job_view view = {0};
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	fixture_write(&bench.f, "w", 100000, 1);
	snapshot_queue_look(bench.queue, &view);
	assert_false(view.uploading);
	assert_true(view.accepted_ms == 0);
	submit(&bench, 1);
	assert_true(snapshot_queue_is_busy(bench.queue));
	assert_true(snapshot_queue_began_ms(bench.queue) > 0);
	snapshot_queue_look(bench.queue, &view);
	assert_true(view.uploading);
	await(&bench, 1);
	assert_true(bench.last.durable);
	assert_false(snapshot_queue_is_busy(bench.queue));
	assert_true(snapshot_queue_began_ms(bench.queue) == 0);
	snapshot_queue_look(bench.queue, &view);
	assert_true(view.accepted_ms > 0);
	assert_int_equal(bench.last.checkpoint.step, 10);
	assert_int_equal(snapshot_id_compare(bench.last.id, (struct snapshot_id){1, 1}), 0);
	assert_int_equal(snapshot_id_compare(snapshot_queue_newest(bench.queue), bench.last.id), 0);
	fixture_check(&bench.f, bench.last.id);
	assert_works(storage_read_manifest(bench.f.storage, bench.last.id, &manifest, NULL, &err));
	assert_string_equal(json_text_or(json_object_get(manifest, "about"), "signatures", ""),
			    "learned");
	/* And the next start can tell without the store that it was complete. */
	assert_works(workspace_read_record(&bench.workspace, &record, &err));
	assert_int_equal(record.files.count, 1);
	assert_string_equal(record.files.items[0].path, "w");
	stop(&bench);
}

/* The newest of those that wait. */
static void test_one_runs_and_one_waits(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	fixture_write(&bench.f, "w", 1000, 1);
	for (uint64_t generation = 1; generation <= 4; generation++)
		submit(&bench, generation);
	await(&bench, 1);
	assert_int_equal(bench.last.checkpoint.generation, 1);
	assert_true(snapshot_queue_is_busy(bench.queue));
	await(&bench, 1);
	assert_int_equal(bench.last.checkpoint.generation, 4);
	assert_int_equal(bench.last.id.sequence, 2);
	assert_false(snapshot_queue_is_busy(bench.queue));
	stop(&bench);
}

static void test_what_waits_is_dropped_by_a_cancel(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	fixture_write(&bench.f, "w", 1000, 1);
	submit(&bench, 1);
	submit(&bench, 2);
	snapshot_queue_cancel(bench.queue);
	await(&bench, 1);
	assert_int_equal(bench.last.checkpoint.generation, 1);
	assert_false(bench.last.durable);
	assert_int_equal(bench.last.err.kind, ERR_CANCELLED);
	assert_false(snapshot_queue_is_busy(bench.queue));
	assert_true(snapshot_id_is_none(snapshot_queue_newest(bench.queue)));
	stop(&bench);
}

/* How often in a row, and for each checkpoint anew. */
static void test_a_plan_that_is_void(void **state)
{
	static const unsigned expected[] = {0, 1, 2, 0, 1, 0};
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	fixture_write(&bench.f, "w", 1000, 1);
	bench.refuses = true;
	for (int i = 0; i < 3; i++)
		save(&bench, 1);
	assert_false(bench.last.durable);
	assert_true(bench.last.result.changed);
	save(&bench, 2);
	bench.refuses = false;
	save_durably(&bench, 2);
	save_durably(&bench, 2);
	assert_int_equal(bench.asked, sizeof(expected) / sizeof(expected[0]));
	for (unsigned i = 0; i < bench.asked; i++)
		assert_int_equal(bench.tries[i], expected[i]);
	stop(&bench);
}

/* --- what is sent while it is being written --- */

static void test_a_snapshot_waits_for_an_early_upload(void **state)
{
	static const char *const large[] = {"w", "small", NULL};
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	fixture_write(&bench.f, "w", 2 * CHUNK_SIZE, 1);
	fixture_write(&bench.f, "small", 1000, 2);
	snapshot_queue_upload_early(bench.queue, list_of(large), memory_new(sizeof(char *)));
	assert_false(snapshot_queue_is_busy(bench.queue));
	submit(&bench, 1);
	assert_true(snapshot_queue_is_busy(bench.queue));
	assert_true(snapshot_queue_began_ms(bench.queue) == 0);
	await(&bench, 1);
	assert_true(bench.last.durable);
	fixture_check(&bench.f, bench.last.id);
	stop(&bench);
}

/* --- what it holds --- */

/* A checkpoint with a number is in it whole or not at all; fixed names stay as they were. */
static void test_what_is_not_complete_is_left_out(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	write_text(&bench, "last.pt", "first");
	fixture_write(&bench.f, "step-1.pt", 1000, 1);
	save_durably(&bench, 1);
	assert_saved(&bench, "last.pt step-1.pt");
	write_text(&bench, "last.pt", "sec");
	fixture_write(&bench.f, "step-2.pt", 1000, 2);
	bench.excluded[0] = "last.pt";
	bench.excluded[1] = "step-2.pt";
	bench.key = "step-1.pt";
	save_durably(&bench, 2);
	assert_saved(&bench, "last.pt step-1.pt");
	assert_works(fixture_try_restore(&bench.f, bench.last.id));
	{
		auto_free char *path = text_format("%s/last.pt", bench.f.target);
		auto_(bytes_release) struct bytes text = {0};

		assert_works(file_read(path, &text, &err));
		assert_int_equal(text.size, 5);
	}
	stop(&bench);
}

static void remove_file(struct bench *bench, const char *name)
{
	auto_free char *path = text_format("%s/%s", bench->f.source, name);

	assert_int_equal(unlink(path), 0);
}

/* What stays as it was may name a checkpoint of its time: that comes with it, unless a part of it
 * is still there, which may be another one by now. */
static void test_what_was_named_then_comes_along(void **state)
{
	static const char *const files[] = {"step-1.pt", "step-2-a.pt", "step-2-b.pt"};
	struct bench bench;

	(void)state;
	start(&bench, NULL);
	write_text(&bench, "last.pt", "first");
	for (unsigned i = 0; i < 3; i++)
		fixture_write(&bench.f, files[i], 1000, i);
	save_durably(&bench, 1);
	assert_saved(&bench, "last.pt step-1.pt step-2-a.pt step-2-b.pt");
	remove_file(&bench, "step-1.pt");
	remove_file(&bench, "step-2-b.pt");
	bench.excluded[0] = "last.pt";
	bench.key = "step-2-a.pt";
	save_durably(&bench, 2);
	assert_saved(&bench, "last.pt step-1.pt step-2-a.pt");
	stop(&bench);
}

static void remove_planned(struct bench *bench)
{
	remove_file(bench, "step-1-a.pt");
	bench->planned = NULL;
}

/* Of a checkpoint that is being deleted nothing is saved. If that is the one it is about, another
 * plan is made. */
static void test_a_checkpoint_is_deleted_meanwhile(void **state)
{
	static const struct {
		const char *key, *saved; /* NULL: nothing */
	} rows[] = {{"step-2-a.pt", "step-2-a.pt step-2-b.pt"}, {"step-1-a.pt", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const files[] = {"step-1-a.pt", "step-1-b.pt", "step-2-a.pt",
						    "step-2-b.pt"};
		struct bench bench;

		start(&bench, NULL);
		for (unsigned j = 0; j < 4; j++) {
			fixture_write(&bench.f, files[j], 1000, j);
			bench.complete[j] = files[j];
		}
		bench.key = rows[i].key;
		bench.planned = remove_planned;
		save(&bench, 1);
		assert_int_equal(bench.last.durable, rows[i].saved != NULL);
		if (rows[i].saved)
			assert_saved(&bench, rows[i].saved);
		else
			assert_true(bench.last.result.changed);
		/* Nobody was asked whether a void plan holds. */
		assert_int_equal(bench.asked, rows[i].saved != NULL);
		stop(&bench);
	}
}

/* The newest checkpoint was deleted once it was complete: it stays as the snapshot before has it.
 * If that has none of it, and nothing of it is left, a snapshot would hold a log in place of a
 * checkpoint.
 */
static void test_none_is_made_without_the_checkpoint_that_it_is_about(void **state)
{
	static const struct {
		const char *label, *before, *left;
		int64_t number;
		const char *saved; /* NULL: none */
		bool complete;     /* what is left is another complete checkpoint */
		bool ended;
	} rows[] = {
		{"in the one before", "step-2-a.pt", "log.csv", 2, "log.csv step-2-a.pt", false,
		 false},
		{"not in it", "step-1-a.pt", "log.csv", 2, NULL, false, false},
		{"a part is left", "step-1-a.pt", "step-2-b.pt", 2, "step-2-b.pt", false, false},
		{"what lies beside it is left", "step-1-a.pt", "step-2.png", 2, NULL, false, false},
		{"a fixed name", "last.pt", "log.csv", -1, "last.pt log.csv", false, false},
		{"another one is left", "step-1-a.pt", "best.pt", -1, "best.pt", false, false},
		{"an older one is left", "step-1-a.pt", "step-1-b.pt", 2, "step-1-b.pt", true,
		 false},
		{"the job has ended by itself", "step-1-a.pt", "log.csv", 2, "log.csv",
		 .ended = true},
		{"of a job that had none before", "step-1-a.pt", "log.csv", -1, NULL, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench bench;

		print_message("%s\n", rows[i].label);
		start(&bench, NULL);
		fixture_write(&bench.f, rows[i].before, 1000, 1);
		save_durably(&bench, 1);
		remove_file(&bench, rows[i].before);
		fixture_write(&bench.f, rows[i].left, 1000, 2);
		bench.complete[0] = rows[i].complete ? rows[i].left : NULL;
		bench.ended = rows[i].ended;
		bench.gone = GONE_NEWEST;
		bench.gone_number = rows[i].number;
		save(&bench, 2);
		assert_int_equal(bench.last.durable, rows[i].saved != NULL);
		if (rows[i].saved)
			assert_saved(&bench, rows[i].saved);
		else
			assert_true(bench.last.result.empty);
		stop(&bench);
	}
}

/* A start from there would die of it. What names it is a file with a fixed name that is small. */
static void test_who_names_what_is_left_out_is_left_out(void **state)
{
	static const struct {
		const char *text;
		bool stays;
	} rows[] = {
		{"checkpoint-2", false},
		{"checkpoint-2\n", false},
		{"{\"newest\": \"runs/checkpoint-2/\"}", false},
		{"checkpoint-1", true},
		{"checkpoint-20", true},
		{"my-checkpoint-2", true},
		{"", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench bench;

		start(&bench, NULL);
		fixture_write(&bench.f, "checkpoint-1/w", 1000, 1);
		fixture_write(&bench.f, "checkpoint-2/w", 1000, 2);
		write_text(&bench, "latest", rows[i].text);
		bench.excluded[0] = "checkpoint-2";
		bench.key = "checkpoint-1";
		save_durably(&bench, 1);
		if (rows[i].stays)
			assert_saved(&bench, "checkpoint-1/w latest");
		else
			assert_saved(&bench, "checkpoint-1/w");
		assert_false(bench.last.lacks_newest);
		/* If the fixed names were complete last, that may be what was. */
		bench.key = "";
		save_durably(&bench, 2);
		assert_int_equal(bench.last.lacks_newest, !rows[i].stays);
		stop(&bench);
	}
}

/* --- a store that fails --- */

static unsigned refusals;
static enum err_kind refusal;

static int refuse_some(struct slow_store *slow, unsigned number, unsigned again,
		       struct cancel *cancel, struct err *error)
{
	(void)slow, (void)number, (void)again, (void)cancel;
	if (refusals == 0)
		return 0;
	refusals--;
	return err_set(error, refusal, "refused");
}

static unsigned count_snapshots(struct bench *bench)
{
	struct snapshot_list list;
	unsigned count;

	assert_works(storage_list_snapshots(bench->f.storage, &list, NULL, &err));
	count = (unsigned)list.count;
	snapshot_list_release(&list);
	return count;
}

/* Only where it has no room, old snapshots make some, by the user's own rule, and it is saved
 * again at once. */
static void test_room_is_made_only_in_a_full_store(void **state)
{
	static const struct {
		enum err_kind refusal;
		bool durable;
		unsigned snapshots;
	} rows[] = {{ERR_NO_SPACE, true, 2}, {ERR_DENIED, false, 3}};
	static const struct forget_policy policy = {.keep_last = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench bench;
		struct slow_store *slow;

		start(&bench, &policy);
		slow = slow_store_install(&bench.f, NULL);
		for (unsigned generation = 1; generation <= 3; generation++) {
			fixture_write(&bench.f, "w", 100000, generation);
			save_durably(&bench, generation);
		}
		assert_int_equal(count_snapshots(&bench), 3);
		slow->put_pack = refuse_some;
		refusals = 1;
		refusal = rows[i].refusal;
		fixture_write(&bench.f, "w", 100000, 4);
		save(&bench, 4);
		assert_int_equal(bench.last.durable, rows[i].durable);
		assert_int_equal(count_snapshots(&bench), rows[i].snapshots);
		if (!rows[i].durable)
			assert_int_equal(bench.last.err.kind, rows[i].refusal);
		else
			fixture_check(&bench.f, bench.last.id);
		stop(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_checkpoint_becomes_a_snapshot),
		cmocka_unit_test(test_one_runs_and_one_waits),
		cmocka_unit_test(test_what_waits_is_dropped_by_a_cancel),
		cmocka_unit_test(test_a_plan_that_is_void),
		cmocka_unit_test(test_a_snapshot_waits_for_an_early_upload),
		cmocka_unit_test(test_what_is_not_complete_is_left_out),
		cmocka_unit_test(test_what_was_named_then_comes_along),
		cmocka_unit_test(test_a_checkpoint_is_deleted_meanwhile),
		cmocka_unit_test(test_none_is_made_without_the_checkpoint_that_it_is_about),
		cmocka_unit_test(test_who_names_what_is_left_out_is_left_out),
		cmocka_unit_test(test_room_is_made_only_in_a_full_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
