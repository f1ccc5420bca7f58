/* Packs on their way to a store that is slow, late, or refuses: what is committed is whole, and
 * nothing waits for ever. */
#include "slow_store.h"

#include "base/clock.h"
#include "storage/transfer/reading.h"
#include "storage/transfer/sending.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#define PATIENCE_MS 20000

/* Packs of two chunks; a hash per thread, as many connections as a test wants. */
static const struct transfer_plan_facts small_packs = {
	.processors = 3,
	.connections = 8,
	.memory = 128 << 20,
	.remote = true,
};

static void start(struct fixture *f, const struct transfer_plan_facts *facts,
		  struct slow_store **slow)
{
	fixture_start(f);
	*slow = slow_store_install(f, facts);
}

static int take_it(struct fixture *f, struct save_result *result, struct cancel *cancel)
{
	struct save_request request = {
		.id = fixture_next(f),
		.directory = f->source,
		.reason = "request",
		.step = -1,
	};

	return storage_save(f->storage, &request, result, cancel, &err);
}

static void assert_nothing_committed(struct fixture *f)
{
	struct snapshot_list list;

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	assert_int_equal(list.count, 0);
	snapshot_list_release(&list);
}

static int wait_until(atomic_uint *counter, unsigned least, struct cancel *cancel,
		      struct err *error)
{
	for (int64_t left = PATIENCE_MS; left > 0 && atomic_load(counter) < least; left -= 5)
		if (cancel_sleep(cancel, 5, error) < 0)
			return -1;
	return 0;
}

/* --- what the parent names --- */

/* `arg`: a pack that goes away before it is listed; NULL: none. */
static int lose_pack(struct slow_store *slow, const char *prefix, struct err *error)
{
	const char *pack = slow->arg;

	(void)error;
	if (pack && strstr(prefix, "packs/000001/000001-"))
		unlink(pack);
	return 0;
}

static void test_what_the_parent_names_is_relied_on_where_it_is_listed(void **state)
{
	static const struct {
		bool lost;
		unsigned sent, kept;
	} rows[] = {{false, 2, 3}, {true, 3, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *pack = NULL;
		struct fixture f;
		struct slow_store *slow;
		struct save_result result;

		fixture_start(&f);
		fixture_write(&f, "small", CHUNK_SIZE, 1);
		fixture_take(&f);
		pack = fixture_find(&f, ".pack");
		fixture_write(&f, "large", 2 * CHUNK_SIZE, 2);
		fixture_take(&f);
		/* Another process: all that it knows is what the store has. */
		fixture_claim(&f);
		slow = slow_store_install(&f, &small_packs);
		slow->arg = rows[i].lost ? pack : NULL;
		slow->answer_list = lose_pack;
		fixture_write(&f, "new", 2 * CHUNK_SIZE, 3);
		assert_works(fixture_try_take(&f, &result));
		assert_int_equal(result.chunks_sent, rows[i].sent);
		assert_int_equal(result.chunks_kept, rows[i].kept);
		fixture_check(&f, (struct snapshot_id){2, 1});
		fixture_stop(&f);
	}
}

static int refuse_to_list_packs(struct slow_store *slow, const char *prefix, struct err *error)
{
	(void)slow;
	return strstr(prefix, "packs/000001/000001-") ? err_set(error, ERR_FAILED, "no list") : 0;
}

/* Nothing is committed on what nobody has seen, and the next save looks again. */
static void test_a_listing_that_fails(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", CHUNK_SIZE, 1);
	fixture_take(&f);
	fixture_claim(&f);
	slow = slow_store_install(&f, &small_packs);
	slow->answer_list = refuse_to_list_packs;
	fixture_write(&f, "b", CHUNK_SIZE, 2);
	assert_fails(fixture_try_take(&f, &result), ERR_FAILED);
	slow->answer_list = NULL;
	f.sequence--;
	assert_works(fixture_try_take(&f, &result));
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_stop(&f);
}

/* --- where chunks are read to --- */

static void fill_chunk(uint8_t *room, bool compressible, unsigned seed)
{
	for (size_t i = 0; i < CHUNK_SIZE; i++) {
		seed = seed * 1103515245u + 12345u;
		room[i] = compressible ? (uint8_t)(seed >> 30) : (uint8_t)(seed >> 16);
	}
}

/* Always to an aligned place, and to where the pack wants it at last. */
static void test_chunks_are_read_to_aligned_places(void **state)
{
	static const bool compressible[] = {false, true, false, true, true, false, false};
	struct fixture f;
	struct slow_store *slow;
	struct packing packing = {.id = {1, 1}};
	struct packer packer;

	(void)state;
	start(&f, &small_packs, &slow);
	packing.transfer = &f.storage->transfer;
	packing.uploader = pack_uploader_get(packing.transfer);
	assert_works(packer_init(&packer, &packing, &err));
	for (unsigned i = 0; i < sizeof(compressible); i++) {
		auto_free uint8_t *expected = memory_new(CHUNK_SIZE);
		struct chunk chunk;
		uint8_t *room;

		fill_chunk(expected, compressible[i], i);
		assert_works(packer_reserve(&packer, CHUNK_SIZE, &room, &err));
		assert_int_equal((uintptr_t)room % PACK_UPLOADER_ALIGNMENT, 0);
		memcpy(room, expected, CHUNK_SIZE);
		packer_add(&packer, CHUNK_SIZE, &chunk);
		assert_int_equal(chunk.codec, compressible[i] ? CHUNK_LZ4 : CHUNK_RAW);
		if (!compressible[i])
			assert_memory_equal(packer.builder.data + chunk.offset, expected,
					    CHUNK_SIZE);
	}
	assert_int_equal(atomic_load(&packing.chunks_sent), sizeof(compressible));
	/* What was sent is the uploader's to count, and what is given up nobody's. */
	assert_true(atomic_load(&packing.packs) > 1);
	assert_true(packer.held > 0 && packer.held < sizeof(compressible) * CHUNK_SIZE);
	assert_true(atomic_load(&packing.bytes_held) == packer.held);
	packer_release(&packer);
	assert_true(atomic_load(&packing.bytes_held) == 0);
	fixture_stop(&f);
}

/* Between two saves it is the job's memory. */
static void test_a_resting_uploader_keeps_no_memory(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct pack_uploader *uploader;
	struct pack_upload *first, *second;

	(void)state;
	start(&f, &small_packs, &slow);
	uploader = pack_uploader_get(&f.storage->transfer);
	first = pack_uploader_borrow_buffer(uploader, &err);
	second = pack_uploader_borrow_buffer(uploader, &err);
	assert_true(first && second && first != second);
	pack_uploader_return_buffer(uploader, first);
	assert_non_null(first->data);
	pack_uploader_trim(uploader);
	assert_null(first->data);
	/* Also what comes back later, until it is used again. */
	pack_uploader_return_buffer(uploader, second);
	assert_null(second->data);
	first = pack_uploader_borrow_buffer(uploader, &err);
	assert_non_null(first->data);
	pack_uploader_return_buffer(uploader, first);
	assert_non_null(first->data);
	fixture_stop(&f);
}

struct borrower {
	struct pack_uploader *uploader;
	_Atomic pid_t thread;
	struct pack_upload *got;
	struct err err;
};

static void *borrow_one(void *arg)
{
	struct borrower *borrower = arg;

	atomic_store(&borrower->thread, gettid());
	borrower->got = pack_uploader_borrow_buffer(borrower->uploader, &borrower->err);
	return NULL;
}

static bool is_asleep(pid_t thread)
{
	auto_free char *path = text_format("/proc/self/task/%d/stat", (int)thread);
	auto_(bytes_release) struct bytes status = {0};

	assert_works(file_read(path, &status, &err));
	bytes_append(&status, "", 1, NULL);
	return strstr((const char *)status.data, ") S ") != NULL;
}

/* Its wait has no end of its own: the store may be hanging. */
static void test_who_waits_for_a_buffer_can_be_interrupted(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct pack_upload *all[64];
	unsigned buffers;
	struct borrower borrower = {0};
	struct timespec patience;
	pthread_t thread;

	(void)state;
	start(&f, &small_packs, &slow);
	borrower.uploader = pack_uploader_get(&f.storage->transfer);
	buffers = f.storage->transfer.plan.buffers;
	assert_in_range(buffers, 1, sizeof(all) / sizeof(all[0]));
	for (unsigned i = 0; i < buffers; i++) {
		all[i] = pack_uploader_borrow_buffer(borrower.uploader, &err);
		assert_non_null(all[i]);
	}
	assert_int_equal(pthread_create(&thread, NULL, borrow_one, &borrower), 0);
	while (atomic_load(&borrower.thread) == 0 || !is_asleep(borrower.thread))
		sched_yield();
	pack_uploader_interrupt(borrower.uploader);
	clock_gettime(CLOCK_REALTIME, &patience);
	patience.tv_sec += PATIENCE_MS / 1000;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &patience), 0);
	assert_null(borrower.got);
	assert_int_equal(borrower.err.kind, ERR_RETRY);
	/* Until the next save. */
	pack_uploader_return_buffer(borrower.uploader, all[0]);
	assert_null(pack_uploader_borrow_buffer(borrower.uploader, &err));
	assert_ptr_equal(pack_uploader_get(&f.storage->transfer), borrower.uploader);
	all[0] = pack_uploader_borrow_buffer(borrower.uploader, &err);
	assert_non_null(all[0]);
	for (unsigned i = 0; i < buffers; i++)
		pack_uploader_return_buffer(borrower.uploader, all[i]);
	fixture_stop(&f);
}

/* --- many at once, in so much memory --- */

static int wait_for_three(struct slow_store *slow, unsigned number, unsigned again,
			  struct cancel *cancel, struct err *error)
{
	(void)again;
	return number > 3 ? 0 : wait_until(&slow->under_way_most, 3, cancel, error);
}

struct outcome {
	unsigned under_way_most, buffers, chunks_sent;
};

/* A save of so many chunks, whose packs are put by `put_pack`; it is whole. */
static struct outcome save_by(
	const struct transfer_plan_facts *facts,
	int (*put_pack)(struct slow_store *slow, unsigned number, unsigned again,
			struct cancel *cancel, struct err *error),
	void *arg, size_t chunks)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct outcome outcome;

	start(&f, facts, &slow);
	slow->put_pack = put_pack;
	slow->arg = arg;
	fixture_write(&f, "w", chunks * CHUNK_SIZE, 1);
	assert_works(take_it(&f, &result, NULL));
	fixture_check(&f, (struct snapshot_id){1, 1});
	outcome = (struct outcome){atomic_load(&slow->under_way_most),
				   f.storage->transfer.plan.buffers, result.chunks_sent};
	fixture_stop(&f);
	return outcome;
}

static void test_packs_are_sent_side_by_side(void **state)
{
	(void)state;
	assert_true(save_by(&small_packs, wait_for_three, NULL, 16).under_way_most >= 3);
}

static int linger(struct slow_store *slow, unsigned number, unsigned again, struct cancel *cancel,
		  struct err *error)
{
	(void)slow, (void)number, (void)again;
	return cancel_sleep(cancel, 30, error);
}

static void test_no_more_buffers_than_allowed(void **state)
{
	const struct transfer_plan_facts facts = {
		.processors = 3,
		.connections = 8,
		.memory = 1,
		.remote = true,
	};
	struct outcome outcome = save_by(&facts, linger, NULL, 24);

	(void)state;
	assert_true(outcome.buffers < 4);
	assert_true(outcome.under_way_most <= outcome.buffers);
}

/* --- late ones --- */

static int hang_once(struct slow_store *slow, unsigned number, unsigned again,
		     struct cancel *cancel, struct err *error)
{
	atomic_uint *given_up = slow->arg;

	/* Its second sending has another number. */
	if (number != 7 || again > 0 || cancel_sleep(cancel, PATIENCE_MS, error) == 0)
		return 0;
	atomic_fetch_add(given_up, 1);
	return -1;
}

static void test_a_late_pack_is_sent_twice(void **state)
{
	atomic_uint given_up = 0;

	(void)state;
	assert_int_equal(save_by(&small_packs, hang_once, &given_up, 24).chunks_sent, 24);
	/* It was not waited for to its end. */
	assert_int_equal(given_up, 1);
}

/* How long a small pack takes says nothing of a usual one: of those from half its size on, each is
 * a sample. */
static void test_small_packs_say_nothing_of_how_long_one_takes(void **state)
{
	static const struct {
		size_t eighths; /* of the usual size */
		unsigned samples;
	} rows[] = {{1, 0}, {3, 0}, {5, 1}, {7, 2}};
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	start(&f, &small_packs, &slow);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct transfer *transfer = &f.storage->transfer;

		/* One that packs, so that there is one pack. */
		transfer->plan.readers = 1;
		fixture_write(&f, "w", rows[i].eighths * transfer->plan.pack_target / 8,
			      (unsigned)i + 1);
		assert_works(take_it(&f, &result, NULL));
		assert_int_equal(atomic_load(&slow->pack_puts), i + 1);
		assert_int_equal(transfer->hedge.count, rows[i].samples);
	}
	fixture_stop(&f);
}

/* The second sending fails: the first one, which was only slow, counts. */
static int be_late_once(struct slow_store *slow, unsigned number, unsigned again,
			struct cancel *cancel, struct err *error)
{
	atomic_uint *failed = slow->arg;

	if (again > 0) {
		atomic_fetch_add(failed, 1);
		return err_set(error, ERR_RETRY, "503");
	}
	return number == 7 ? wait_until(failed, 1, cancel, error) : 0;
}

static void test_the_first_one_may_win_after_all(void **state)
{
	atomic_uint failed = 0;

	(void)state;
	save_by(&small_packs, be_late_once, &failed, 24);
	/* Any other one may be late as well, by whatever else the machine does. */
	assert_true(failed >= 1);
}

/* --- failures --- */

static int refuse_the_third(struct slow_store *slow, unsigned number, unsigned again,
			    struct cancel *cancel, struct err *error)
{
	(void)slow, (void)again, (void)cancel;
	return number == 3 ? err_set(error, ERR_DENIED, "no more") : 0;
}

static void test_a_refused_pack_ends_it_and_the_next_sends_the_rest(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	start(&f, &small_packs, &slow);
	slow->put_pack = refuse_the_third;
	fixture_write(&f, "w", 24 * CHUNK_SIZE, 1);
	assert_fails(take_it(&f, &result, NULL), ERR_DENIED);
	assert_nothing_committed(&f);
	assert_works(take_it(&f, &result, NULL));
	assert_true(result.chunks_kept >= 4);
	assert_true(result.chunks_sent >= 2);
	fixture_check(&f, (struct snapshot_id){1, 2});
	fixture_stop(&f);
}

struct deadline {
	int64_t whole_ms;
	atomic_bool too_late; /* a pack was given more than what is left beside the commit */
};

static int hang(struct slow_store *slow, unsigned number, unsigned again, struct cancel *cancel,
		struct err *error)
{
	struct deadline *deadline = slow->arg;

	(void)number, (void)again;
	for (int64_t left = PATIENCE_MS; left > 0; left -= 5)
		if (cancel_sleep(cancel, 5, error) < 0)
			break;
	if (deadline && atomic_load(&cancel->deadline_ms) >= deadline->whole_ms)
		atomic_store(&deadline->too_late, true);
	return err_set(error, ERR_CANCELLED, "out of time");
}

static void test_packs_leave_time_for_the_commit(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct cancel cancel;
	struct deadline deadline = {.whole_ms = clock_monotonic_ms() + 1500};

	(void)state;
	start(&f, &small_packs, &slow);
	slow->put_pack = hang;
	slow->arg = &deadline;
	fixture_write(&f, "w", 6 * CHUNK_SIZE, 1);
	assert_works(cancel_init(&cancel, &err));
	cancel_set_deadline(&cancel, deadline.whole_ms);
	assert_fails(take_it(&f, &result, &cancel), ERR_CANCELLED);
	assert_false(atomic_load(&deadline.too_late));
	cancel_release(&cancel);
	assert_nothing_committed(&f);
	fixture_stop(&f);
}

static void *raise_soon(void *arg)
{
	usleep(100000);
	cancel_raise(arg);
	return NULL;
}

static void test_cancelled_while_sending(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct cancel cancel;
	pthread_t thread;

	(void)state;
	start(&f, &small_packs, &slow);
	slow->put_pack = hang;
	fixture_write(&f, "w", 24 * CHUNK_SIZE, 1);
	assert_works(cancel_init(&cancel, &err));
	assert_int_equal(pthread_create(&thread, NULL, raise_soon, &cancel), 0);
	assert_fails(take_it(&f, &result, &cancel), ERR_CANCELLED);
	pthread_join(thread, NULL);
	cancel_release(&cancel);
	assert_nothing_committed(&f);
	slow->put_pack = NULL;
	assert_works(take_it(&f, &result, NULL));
	fixture_check(&f, (struct snapshot_id){1, 2});
	fixture_stop(&f);
}

/* --- a good neighbour --- */

static const struct transfer_plan_facts a_byte_per_second = {
	.processors = 3,
	.connections = 2,
	.bandwidth = 1,
	.remote = true,
};

/* The first one is free; now the rest has so long. */
static int set_a_deadline(struct slow_store *slow, unsigned number, unsigned again,
			  struct cancel *cancel, struct err *error)
{
	(void)number, (void)again, (void)cancel, (void)error;
	cancel_set_deadline(slow->arg, clock_monotonic_ms() + 300);
	return 0;
}

static void test_a_limit_is_kept(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct cancel cancel;

	(void)state;
	start(&f, &a_byte_per_second, &slow);
	fixture_write(&f, "w", 6 * CHUNK_SIZE, 1);
	assert_works(cancel_init(&cancel, &err));
	slow->put_pack = set_a_deadline;
	slow->arg = &cancel;
	assert_fails(take_it(&f, &result, &cancel), ERR_CANCELLED);
	cancel_release(&cancel);
	assert_true(atomic_load(&slow->pack_puts) == 1);
	fixture_stop(&f);
}

struct nice {
	struct fixture *f;
	int usual;
	atomic_int low, nicer, normal;
};

/* By the policy of this thread alone: whoever runs this may be nice already. */
static bool is_low(void)
{
	return sched_getscheduler(0) == SCHED_BATCH;
}

static int hurry_then(struct slow_store *slow, unsigned number, unsigned again,
		      struct cancel *cancel, struct err *error)
{
	struct nice *nice = slow->arg;

	(void)again, (void)cancel, (void)error;
	atomic_fetch_add(is_low() ? &nice->low : &nice->normal, 1);
	atomic_fetch_add(&nice->nicer, getpriority(PRIO_PROCESS, 0) > nice->usual);
	if (number == 1)
		storage_set_urgent(nice->f->storage);
	return 0;
}

static void test_hurry_lifts_the_limit_and_the_low_priority(void **state)
{
	struct transfer_plan_facts facts = a_byte_per_second;
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	int before = getpriority(PRIO_PROCESS, 0);
	struct nice nice = {.f = &f, .usual = before};

	(void)state;
	if (is_low())
		skip();
	facts.connections = 1;
	start(&f, &facts, &slow);
	f.storage->transfer.background = true;
	slow->put_pack = hurry_then;
	slow->arg = &nice;
	fixture_write(&f, "w", 12 * CHUNK_SIZE, 1);
	assert_works(take_it(&f, &result, NULL));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
	assert_false(is_low());
	assert_int_equal(nice.low, 1);
	/* Who runs at the priority of the background (priority_pool.c) already stays there. */
	assert_int_equal(nice.nicer, before < 10 ? 1 : 0);
	assert_true(nice.normal >= 5);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

/* --- getting back --- */

static void test_neighbours_are_fetched_together(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	unsigned gets;

	(void)state;
	start(&f, NULL, &slow);
	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d/f%03d", i % 7, i);
		fixture_write(&f, name, 1000 + (size_t)i, (uint64_t)i);
	}
	fixture_write(&f, "large", 9 * CHUNK_SIZE + 5, 1000);
	assert_works(take_it(&f, &result, NULL));
	gets = atomic_load(&slow->gets);
	fixture_check(&f, (struct snapshot_id){1, 1});
	assert_true(atomic_load(&slow->gets) - gets < 30);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_parent_names_is_relied_on_where_it_is_listed),
		cmocka_unit_test(test_a_listing_that_fails),
		cmocka_unit_test(test_chunks_are_read_to_aligned_places),
		cmocka_unit_test(test_a_resting_uploader_keeps_no_memory),
		cmocka_unit_test(test_who_waits_for_a_buffer_can_be_interrupted),
		cmocka_unit_test(test_packs_are_sent_side_by_side),
		cmocka_unit_test(test_no_more_buffers_than_allowed),
		cmocka_unit_test(test_a_late_pack_is_sent_twice),
		cmocka_unit_test(test_small_packs_say_nothing_of_how_long_one_takes),
		cmocka_unit_test(test_the_first_one_may_win_after_all),
		cmocka_unit_test(test_a_refused_pack_ends_it_and_the_next_sends_the_rest),
		cmocka_unit_test(test_packs_leave_time_for_the_commit),
		cmocka_unit_test(test_cancelled_while_sending),
		cmocka_unit_test(test_a_limit_is_kept),
		cmocka_unit_test(test_hurry_lifts_the_limit_and_the_low_priority),
		cmocka_unit_test(test_neighbours_are_fetched_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
