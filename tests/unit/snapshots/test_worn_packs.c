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
	struct snapshot_id newest;
	unsigned sent = 0;

	(void)state;
	start(&f);
	for (unsigned step = 1; step <= LAYERS; step++) {
		sent += take_step(&f, step);
		newest = (struct snapshot_id){1, step};
		assert_in_range(named_bytes(&f, newest), LAYERS * LAYER_SIZE, BYTES_MOST);
		fixture_check(&f, newest);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_dead_goes),
		cmocka_unit_test(test_hardly_anything_is_sent_anew_for_nothing),
		cmocka_unit_test(test_before_a_deadline_nothing_is_sent_anew),
		cmocka_unit_test(test_it_needs_no_room_that_is_not_there),
		cmocka_unit_test(test_what_is_carried_over_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
