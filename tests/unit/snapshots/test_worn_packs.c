/* What a snapshot needs of packs that are mostly dead is sent anew, so that the rest can go. */
#include "slow_store.h"

#include "base/json.h"
#include "storage/records/storage_handle.h"

#define LAYERS 10
#define LAYER_SIZE 20000

/* Layer i is trained in the steps up to i, and is the same from then on. */
static void write_layers(struct fixture *f, unsigned step)
{
	for (unsigned i = 1; i <= LAYERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "layer-%u", i);
		fixture_write(f, name, LAYER_SIZE, 1000 * i + (step < i ? step : i));
	}
}

static void forget_old(struct fixture *f)
{
	struct forget_request request = {
		.policy.keep_last = 1,
		.attempt = f->attempt.number,
	};
	struct forget_result result;

	assert_works(storage_forget(f->storage, &request, &result, NULL, &err));
}

/* How large the packs are that the snapshot names. */
static uint64_t named_bytes(struct fixture *f, struct snapshot_id id)
{
	auto_json json_t *manifest = NULL;
	json_t *pack;
	uint64_t bytes = 0;
	size_t i;

	assert_works(storage_read_manifest(f->storage, id, &manifest, NULL, &err));
	json_array_foreach(json_object_get(manifest, "packs"), i, pack) bytes +=
		(uint64_t)json_integer_value(json_object_get(pack, "bytes"));
	return bytes;
}

static unsigned take_step(struct fixture *f, unsigned step)
{
	struct save_result result;

	write_layers(f, step);
	assert_works(fixture_try_take(f, &result));
	return result.chunks_sent;
}

/* The layers; half as much that is dead; and what the last save has written over. */
#define BYTES_MOST (5u * LAYERS * LAYER_SIZE / 2)

/* One thread packs, so that each save makes one pack. */
static void start(struct fixture *f)
{
	fixture_start(f);
	f->storage->transfer.plan.readers = 1;
}

static void test_what_is_dead_goes(void **state)
{
	struct fixture f;
	struct snapshot_id last;
	unsigned sent = 0;

	(void)state;
	start(&f);
	for (unsigned step = 1; step <= LAYERS; step++) {
		sent += take_step(&f, step);
		last = (struct snapshot_id){1, step};
		assert_in_range(named_bytes(&f, last), LAYERS * LAYER_SIZE, BYTES_MOST);
		fixture_check(&f, last);
		forget_old(&f);
	}
	/* 55 are new; of the others few. */
	assert_in_range(sent, 56, 75);
	assert_int_equal(fixture_damages(&f), 0);
	/* The next attempt goes on with it, in its first save. */
	fixture_claim(&f);
	take_step(&f, LAYERS);
	assert_in_range(named_bytes(&f, (struct snapshot_id){2, 1}), LAYERS * LAYER_SIZE,
			BYTES_MOST);
	fixture_stop(&f);
}

/* Where all snapshots stay, little would be freed by it. */
static void test_hardly_anything_is_sent_anew_for_nothing(void **state)
{
	struct fixture f;
	unsigned sent = 0;

	(void)state;
	start(&f);
	for (unsigned step = 1; step <= LAYERS; step++)
		sent += take_step(&f, step);
	assert_in_range(sent, LAYERS * (LAYERS + 1) / 2, LAYERS * (LAYERS + 1) / 2 + 1);
	fixture_claim(&f);
	assert_int_equal(take_step(&f, LAYERS), 0);
	fixture_stop(&f);
}

/* So many steps without the rule, as an older version would. */
static void take_steps_without(struct fixture *f, unsigned steps)
{
	for (unsigned step = 1; step <= steps; step++)
		take_step(f, step);
	forget_old(f);
	assert_int_equal(f->storage->snapshots, 1);
	assert_true(named_bytes(f, (struct snapshot_id){1, steps}) > BYTES_MOST);
}

static void test_before_a_deadline_nothing_is_sent_anew(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	take_steps_without(&f, LAYERS);
	storage_set_urgent(f.storage);
	assert_int_equal(take_step(&f, LAYERS), 0);
	fixture_stop(&f);
}

static int is_full(struct slow_store *slow, unsigned number, unsigned again, struct cancel *cancel,
		   struct err *error)
{
	(void)slow, (void)number, (void)again, (void)cancel;
	return err_set(error, ERR_NO_SPACE, "507");
}

/* A save that has no room for what it sends anew is no worse off than one without. Later ones send
 * less at once. */
static void test_it_needs_no_room_that_is_not_there(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	uint64_t before, most;

	(void)state;
	start(&f);
	take_steps_without(&f, LAYERS);
	before = named_bytes(&f, (struct snapshot_id){1, LAYERS});
	slow = slow_store_install(&f, NULL);
	slow->put_pack = is_full;
	write_layers(&f, LAYERS);
	assert_fails(fixture_try_take(&f, &result), ERR_NO_SPACE);
	most = f.storage->renewed_most;
	assert_in_range(most, 1, LAYERS * LAYER_SIZE / 8 + 1);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 0);
	assert_int_equal(result.chunks_kept, LAYERS);
	assert_int_equal(named_bytes(&f, (struct snapshot_id){1, f.sequence}), before);
	fixture_check(&f, (struct snapshot_id){1, f.sequence});
	forget_old(&f);
	slow->put_pack = NULL;
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	assert_true(named_bytes(&f, (struct snapshot_id){1, f.sequence}) < before);
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

static bool is_layer_1(void *arg, const char *path)
{
	(void)arg;
	return text_equal(path, "layer-1");
}

/* Nobody could send it anew: it stays where it is. */
static void test_what_is_carried_over_stays(void **state)
{
	struct fixture f;
	struct save_result result;
	struct snapshot_id parent;

	(void)state;
	start(&f);
	take_steps_without(&f, LAYERS);
	parent = (struct snapshot_id){1, f.sequence};
	struct save_request request = {
		.id = fixture_next(&f),
		.parent = parent,
		.directory = f.source,
		.reason = "request",
		.exclude = is_layer_1,
		.carried = is_layer_1,
	};
	assert_works(storage_save(f.storage, &request, &result, NULL, &err));
	assert_in_range(result.chunks_sent, 1, LAYERS - 1);
	fixture_check(&f, request.id);
	fixture_stop(&f);
}

/* --- in a store that is just large enough --- */

#define SNAPSHOT (LAYERS * LAYER_SIZE)

/* That was saved in it. */
static struct snapshot_id newest;

/* Any half of them. */
static void train_half(struct fixture *f, unsigned step)
{
	static unsigned trained[LAYERS];

	for (unsigned i = 0; i < LAYERS; i++) {
		char name[16];

		if (step == 1)
			trained[i] = 0;
		if ((step * 2654435761u >> 7) % LAYERS / 2 + 2 >
		    (i * 7 + step * 3) % LAYERS / 2 + 1)
			trained[i] = step;
		snprintf(name, sizeof(name), "layer-%u", i + 1);
		fixture_write(f, name, LAYER_SIZE, 1000 * (i + 1) + trained[i]);
	}
}

static struct slow_store *make_small(struct fixture *f, uint64_t room)
{
	struct slow_store *slow = slow_store_install(f, NULL);

	slow->room = room;
	f->storage->transfer.plan.readers = 1;
	f->storage->transfer.plan.uploaders = 1;
	return slow;
}

static int save_in_small(struct fixture *f, struct snapshot_id parent, struct save_result *result)
{
	struct save_request request = {
		.id = fixture_next(f),
		.parent = parent,
		.directory = f->source,
		.reason = "request",
		.keep_last = 1,
	};

	newest = request.id;
	return storage_save(f->storage, &request, result, NULL, &err);
}

/* As `run` does. */
static void take_in_small(struct fixture *f)
{
	static const struct forget_policy policy = {.keep_last = 1};
	struct snapshot_id parent = f->attempt.start;
	struct save_result result;
	struct forget_result made;
	unsigned tries = 0;

	if (newest.attempt == f->attempt.number)
		parent = newest;
	for (;;) {
		if (save_in_small(f, parent, &result) == 0)
			break;
		assert_int_equal(err.kind, ERR_NO_SPACE);
		assert_true(++tries < 4);
		assert_true(storage_make_room(f->storage, f->attempt.number, &policy, &made, NULL,
					      &err));
	}
	fixture_check(f, newest);
	forget_old(f);
}

/* The old one and the new one side by side, and a little. */
static void test_room_for_two_is_enough(void **state)
{
	struct fixture f;
	unsigned step = 0;

	(void)state;
	fixture_start(&f);
	for (unsigned attempt = 1; attempt <= 3; attempt++) {
		if (attempt > 1)
			fixture_claim(&f);
		make_small(&f, 2 * SNAPSHOT + SNAPSHOT / 10);
		for (unsigned i = 0; i < 10; i++) {
			train_half(&f, ++step);
			take_in_small(&f);
		}
	}
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

struct meanwhile {
	struct fixture *f;
	void (*change)(struct fixture *f);
};

/* Once all files are read, and before some are read once more. */
static int change_files(struct slow_store *slow, const char *prefix, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;
	void (*change)(struct fixture * f) = meanwhile->change;

	(void)error;
	if (!text_ends(prefix, "/packs/") || !change)
		return 0;
	meanwhile->change = NULL;
	change(meanwhile->f);
	return 0;
}

static void remove_files(struct fixture *f)
{
	auto_free char *command =
		text_format("cd '%s' && cp -a . '%s-kept' && rm -r *", f->source, f->source);

	assert_int_equal(system(command), 0);
}

static void write_over(struct fixture *f)
{
	auto_free char *command =
		text_format("cd '%s' && cp -a . '%s-kept' && for i in *; do echo "
			    "x | dd of=$i conv=notrunc "
			    "status=none; done",
			    f->source, f->source);

	assert_int_equal(system(command), 0);
}

/* What is sent anew could make it come too late. */
static void announce_end(struct fixture *f)
{
	auto_free char *command = text_format("cd '%s' && cp -a . '%s-kept'", f->source, f->source);

	assert_int_equal(system(command), 0);
	storage_set_urgent(f->storage);
}

static void put_files_back(struct fixture *f)
{
	auto_free char *command =
		text_format("rm -r '%s' && mv '%s-kept' '%s'", f->source, f->source, f->source);

	assert_int_equal(system(command), 0);
}

/* What becomes of the files after the freeze does not matter. What was written over cannot be sent
 * anew, and stays in its pack. */
static void test_files_that_change_before_they_are_sent_anew(void **state)
{
	static const struct {
		void (*change)(struct fixture *f);
		bool renewed;
	} rows[] = {{remove_files, true}, {write_over, false}, {announce_end, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile = {&f, rows[i].change};
		struct slow_store *slow;
		struct save_result result;

		fixture_start(&f);
		slow = make_small(&f, 2 * SNAPSHOT + SNAPSHOT / 10);
		write_layers(&f, 6);
		assert_works(save_in_small(&f, f.attempt.start, &result));
		slow->arg = &meanwhile;
		slow->answer_list = change_files;
		write_layers(&f, 7);
		assert_works(save_in_small(&f, newest, &result));
		assert_null(meanwhile.change);
		put_files_back(&f);
		storage_clear_urgent(f.storage);
		fixture_check(&f, (struct snapshot_id){1, 2});
		assert_int_equal(result.chunks_sent, rows[i].renewed ? LAYERS : 4);
		/* The next save is whole, and makes up for it. */
		forget_old(&f);
		write_layers(&f, 7);
		take_in_small(&f);
		assert_in_range(named_bytes(&f, newest), SNAPSHOT, SNAPSHOT + SNAPSHOT / 10);
		fixture_stop(&f);
	}
}

/* Room that is there for what is dead is used: nothing is sent anew. */
static void test_in_a_larger_store_less_is_sent_anew(void **state)
{
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	make_small(&f, 3 * SNAPSHOT);
	write_layers(&f, 6);
	assert_works(save_in_small(&f, f.attempt.start, &result));
	write_layers(&f, 7);
	assert_works(save_in_small(&f, newest, &result));
	assert_int_equal(result.chunks_sent, 4);
	assert_int_equal(result.chunks_kept, LAYERS - 4);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_dead_goes),
		cmocka_unit_test(test_hardly_anything_is_sent_anew_for_nothing),
		cmocka_unit_test(test_before_a_deadline_nothing_is_sent_anew),
		cmocka_unit_test(test_it_needs_no_room_that_is_not_there),
		cmocka_unit_test(test_what_is_carried_over_stays),
		cmocka_unit_test(test_room_for_two_is_enough),
		cmocka_unit_test(test_files_that_change_before_they_are_sent_anew),
		cmocka_unit_test(test_in_a_larger_store_less_is_sent_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
