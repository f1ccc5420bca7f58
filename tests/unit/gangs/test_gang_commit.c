/* A gang's snapshot: committed once the parts of all are there, by whoever sees them; never one of
 * parts that do not belong together; and what a member builds upon is there. */
#include "gang_fixture.h"

#include "base/clock.h"
#include "base/json.h"

#include <stdatomic.h>

/* --- time --- */

/* Moves the clock on, so that what would be due in a quarter of an hour is due now. */
static atomic_llong clock_ahead_ms;

int64_t __real_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void)
{
	return __real_clock_monotonic_ms() + atomic_load(&clock_ahead_ms);
}

int64_t __real_clock_left_ms(int64_t until_ms);
int64_t __wrap_clock_left_ms(int64_t until_ms);
int64_t __wrap_clock_left_ms(int64_t until_ms)
{
	return __real_clock_left_ms(
		until_ms == CLOCK_NEVER ? until_ms : until_ms - atomic_load(&clock_ahead_ms));
}

/* --- a store that fails one machine --- */

struct failing_store {
	struct store store;
	struct store *real;
	/* Calls whose key has this in it: those of a put are done, and answered with an error. */
	const char *puts, *lists, *gets;
	enum err_kind kind;
	/* so many more; parts are read by several threads */
	_Atomic int most;
};

static bool fails(struct failing_store *failing, const char *part, const char *key)
{
	int most = failing->most;

	if (!part || !strstr(key, part))
		return false;
	while (most > 0 && !atomic_compare_exchange_weak(&failing->most, &most, most - 1))
		;
	return most > 0;
}

static int failing_put(struct store *store, const char *key, const void *data, size_t size,
		       enum store_put_mode mode, struct cancel *cancel, struct err *failure)
{
	struct failing_store *failing = (struct failing_store *)store;
	int result = failing->real->ops->put(failing->real, key, data, size, mode, cancel, failure);

	return fails(failing, failing->puts, key) ? err_set(failure, failing->kind, "lost")
						  : result;
}

static int failing_get(struct store *store, const char *key, uint64_t offset, size_t size,
		       struct bytes *out, struct cancel *cancel, struct err *failure)
{
	struct failing_store *failing = (struct failing_store *)store;

	if (fails(failing, failing->gets, key))
		return err_set(failure, failing->kind, "lost");
	return failing->real->ops->get(failing->real, key, offset, size, out, cancel, failure);
}

static int failing_list(struct store *store, const char *prefix, enum store_depth depth,
			struct store_listing *listing, struct cancel *cancel, struct err *failure)
{
	struct failing_store *failing = (struct failing_store *)store;

	if (fails(failing, failing->lists, prefix))
		return err_set(failure, failing->kind, "lost");
	return failing->real->ops->list(failing->real, prefix, depth, listing, cancel, failure);
}

static int failing_remove(struct store *store, const char *key, struct cancel *cancel,
			  struct err *failure)
{
	struct failing_store *failing = (struct failing_store *)store;

	return failing->real->ops->remove(failing->real, key, cancel, failure);
}

static const struct store_ops failing_ops = {
	.put = failing_put,
	.get = failing_get,
	.list = failing_list,
	.remove = failing_remove,
};

static void fail_store(struct gang *gang, uint32_t member, struct failing_store *failing)
{
	struct transfer *transfer = &gang->machines[member].files.storage->transfer;

	failing->store.ops = &failing_ops;
	failing->real = transfer->store;
	transfer->store = &failing->store;
}

static void heal_store(struct gang *gang, uint32_t member, struct failing_store *failing)
{
	gang->machines[member].files.storage->transfer.store = failing->real;
}

/* --- what a member is told of its round --- */

static bool is_over(void *arg)
{
	(void)arg;
	return true;
}

/* Cancels the machine's own save, while it waits. */
static bool cancel_own(void *arg)
{
	struct gang_machine *machine = arg;

	cancel_raise(machine->given->cancel);
	return false;
}

static bool move_clock(void *arg)
{
	(void)arg;
	atomic_fetch_add(&clock_ahead_ms, 3600 * 1000);
	return false;
}

/* --- commits --- */

static void restore_and_compare(struct gang *gang, uint32_t member)
{
	fixture_check(&gang->machines[member].files, gang->newest);
}

static void the_parts_of_all(void **state)
{
	static const struct gang_given all[] = {{.step = 10}, {.step = 10}, {.step = 10}};
	struct gang gang;
	json_t *body = NULL;

	(void)state;
	gang_start(&gang, 3);
	gang_round(&gang, 4, all);
	gang_assert_committed(&gang, 4);
	for (uint32_t i = 0; i < 3; i++)
		restore_and_compare(&gang, i);
	assert_works(storage_read_manifest(gang.store.storage, gang.newest, &body, NULL, &err));
	assert_int_equal(json_array_size(json_object_get(body, "parts")), 3);
	assert_int_equal(json_integer_value(json_object_get(body, "files")), 3);
	assert_int_equal(json_integer_value(json_object_get(body, "step")), 10);
	json_decref(body);
	/* Each has removed its own. */
	assert_false(gang_has(&gang, "parts/000001/000004/00000.json"));
	assert_false(gang_has(&gang, "parts/000001/000004/00001.json"));
	assert_false(gang_has(&gang, "parts/000001/000004/00002.json"));
	/* What has not changed is not sent again; the same step may come again. */
	fixture_write(&gang.machines[1].files, "more", 5000, 77);
	gang_round(&gang, 9, all);
	gang_assert_committed(&gang, 9);
	assert_int_equal(gang.machines[0].result.chunks_sent, 0);
	assert_true(gang.machines[1].result.chunks_sent > 0);
	for (uint32_t i = 0; i < 3; i++)
		restore_and_compare(&gang, i);
	gang_stop(&gang);
}

static void an_empty_part(void **state)
{
	static const struct gang_given first[] = {{.empty = true}, {.step = -1}};
	static const struct gang_given later[] = {{.step = 20}, {.step = 20}};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	/* It has not even a directory. */
	assert_works(file_remove_tree(gang.machines[0].files.source, &err));
	gang_round(&gang, 1, first);
	gang_assert_committed(&gang, 1);
	restore_and_compare(&gang, 1);
	assert_works(fixture_try_restore(&gang.machines[0].files, gang.newest));
	assert_int_equal(rmdir(gang.machines[0].files.target), 0);
	/* It begins to write later, and so on other machines. */
	fixture_write(&gang.machines[0].files, "weights", 3000, 5);
	gang_round(&gang, 2, later);
	gang_assert_committed(&gang, 2);
	gang_restart(&gang);
	gang_round(&gang, 3, first);
	gang_assert_committed(&gang, 3);
	gang_round(&gang, 5, later);
	gang_assert_committed(&gang, 5);
	restore_and_compare(&gang, 0);
	restore_and_compare(&gang, 1);
	gang_stop(&gang);
}

static unsigned without_checkpoint(struct gang *gang, uint32_t member, unsigned most)
{
	return storage_gang_recall(gang->machines[member].files.storage, gang->newest, most, NULL);
}

/* It saves no checkpoints, but has a curve, which goes on; directories without it are left out. */
static void a_part_without_a_checkpoint(void **state)
{
	static const struct gang_given given[] = {{.step = 10}, {.beside = true}};
	static const struct gang_given later[] = {{.step = 30}, {.step = 30}};
	struct failing_store failing = {.gets = "/snapshots/", .kind = ERR_RETRY, .most = 1};
	struct gang gang;
	struct fixture *other = &gang.machines[1].files;

	(void)state;
	gang_start(&gang, 2);
	assert_int_equal(without_checkpoint(&gang, 1, 2), 0);
	assert_works(file_remove_tree(other->source, &err));
	assert_works(file_make_directories(other->source, 0755, &err));
	fixture_write(other, "run/curve", 3000, 1);
	gang_round(&gang, 1, given);
	gang_assert_committed(&gang, 1);
	restore_and_compare(&gang, 0);
	restore_and_compare(&gang, 1);
	assert_int_equal(without_checkpoint(&gang, 0, 2), 0);
	assert_int_equal(without_checkpoint(&gang, 1, 2), 1);
	fixture_write(other, "run/curve", 4000, 1);
	gang_round(&gang, 2, given);
	gang_assert_committed(&gang, 2);
	assert_int_equal(without_checkpoint(&gang, 1, 2), 2);
	/* What fails for a moment says nothing. */
	fail_store(&gang, 1, &failing);
	assert_int_equal(without_checkpoint(&gang, 1, 2), 2);
	heal_store(&gang, 1, &failing);
	assert_int_equal(failing.most, 0);
	/* More than are asked for are not read. */
	assert_int_equal(without_checkpoint(&gang, 1, 1), 1);
	restore_and_compare(&gang, 1);
	/* What has no file is no part of it. */
	assert_works(file_remove_tree(other->source, &err));
	fixture_write(other, "curve", 10, 1);
	{
		auto_free char *bare = text_format("%s/a/b", other->source);

		assert_works(file_make_directories(bare, 0755, &err));
		gang_round(&gang, 4, given);
		gang_assert_committed(&gang, 4);
		assert_works(fixture_try_restore(other, gang.newest));
		assert_int_equal(access(bare, F_OK), 0);
	}
	{
		auto_free char *restored = text_format("%s/a", other->target);

		assert_false(file_exists(restored));
	}
	gang_round(&gang, 5, later);
	gang_assert_committed(&gang, 5);
	assert_int_equal(without_checkpoint(&gang, 1, 2), 0);
	gang_stop(&gang);
}

/* What the jobs have left, of whatever steps. */
static void the_final_round(void **state)
{
	static const struct gang_given of[][3] = {
		{{.step = 10, .final = true},
		 {.step = 20, .final = true},
		 {.step = -1, .final = true}},
		{{.step = 10, .final = true},
		 {.empty = true, .final = true},
		 {.beside = true, .final = true}},
		{{.empty = true, .final = true},
		 {.beside = true, .final = true},
		 {.empty = true, .final = true}},
	};
	struct gang gang;

	(void)state;
	gang_start(&gang, 3);
	for (uint32_t i = 0; i < 3; i++) {
		gang_round(&gang, 1 + i, of[i]);
		gang_assert_committed(&gang, 1 + i);
		restore_and_compare(&gang, i == 2);
	}
	gang_stop(&gang);
}

static void parts_that_do_not_belong_together(void **state)
{
	static const struct gang_given rounds[][2] = {
		{{.step = 10}, {.step = 20}},
		{{.step = -1}, {.step = -1}},
		{{.empty = true}, {.empty = true}},
	};
	static const struct gang_given good[] = {{.step = 30}, {.step = 30}};
	uint32_t count = sizeof(rounds) / sizeof(rounds[0]);
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	for (uint32_t i = 0; i < count; i++) {
		struct gang_given given[2] = {rounds[i][0], rounds[i][1]};

		/* The first of them may be there before the second, and must look again. */
		given[0].over = given[1].over = move_clock;
		gang_round(&gang, i + 1, given);
		gang_assert_over(&gang, i + 1, true);
	}
	gang_round(&gang, count + 1, good);
	gang_assert_committed(&gang, count + 1);
	gang_stop(&gang);
}

static void a_round_that_is_over(void **state)
{
	static const struct gang_given alone[] = {{.step = 10, .over = is_over}, {.absent = true}};
	static const struct gang_given both[] = {{.step = 20}, {.step = 20}};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	gang_round(&gang, 1, alone);
	gang_assert_over(&gang, 1, false);
	assert_true(gang_has(&gang, "parts/000001/000001/00000.json"));
	/* What it has sent for it serves the next. */
	gang_round(&gang, 3, both);
	gang_assert_committed(&gang, 3);
	assert_int_equal(gang.machines[0].result.chunks_sent, 0);
	assert_false(gang_has(&gang, "parts/000001/000001/00000.json"));
	gang_stop(&gang);
}

/* All parts are there: over or not, that is a snapshot. */
static void over_too_late(void **state)
{
	static const struct gang_given given[] = {{.step = 10, .over = is_over},
						  {.step = 10, .over = is_over}};
	struct failing_store failing = {.lists = "/parts/", .kind = ERR_FAILED, .most = 1};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	/* Its part is put, and then it is gone. */
	fail_store(&gang, 1, &failing);
	gang_round(&gang, 1, (struct gang_given[]){{.absent = true}, given[1]});
	heal_store(&gang, 1, &failing);
	assert_int_equal(gang.machines[1].err.kind, ERR_FAILED);
	assert_true(gang_has(&gang, "parts/000001/000001/00001.json"));
	gang_round(&gang, 1, (struct gang_given[]){given[0], {.absent = true}});
	gang_assert_committed(&gang, 1);
	gang_stop(&gang);
}

/* --- deaths --- */

/* Of a save that has failed it is known whether its part may lie in the store: from the first try
 * on that came so far. One without files does not. */
static void whether_a_part_was_put(void **state)
{
	static const struct {
		bool files, put;
	} tries[] = {{false, false}, {false, false}, {true, true}, {false, true}};
	static const struct gang_given alone[] = {{.step = 10, .over = is_over}, {.absent = true}};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	for (uint32_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct gang_machine *machine = &gang.machines[0];

		assert_works(file_remove_tree(machine->files.source, &err));
		if (tries[i].files)
			fixture_write(&machine->files, "weights.bin", 1000, 7);
		gang_round(&gang, 2, alone);
		assert_int_equal(machine->failed, -1);
		if (machine->result.gang_put != tries[i].put)
			fail_msg("try %u: %d", i, machine->result.gang_put);
	}
	gang_stop(&gang);
}

#define ASKED_MOST 3

/* How often each has been asked while all parts were there, and no commit. */
static atomic_uint asked_in_vain[2];

static bool wait_for_marked(void *arg)
{
	struct gang_machine *machine = arg;
	struct storage *storage = machine->files.storage;
	bool committed = true, given[2] = {false, false};
	struct err own;

	/* On the threads of both. */
	assert_int_equal(storage_gang_given(storage, 1, 2, 2, given, NULL, &own), 0);
	assert_int_equal(storage_gang_is_committed(storage, 1, 2, &committed, NULL, &own), 0);
	if (given[0] && given[1] && !committed)
		atomic_fetch_add(&asked_in_vain[storage->gang.member], 1);
	if (atomic_load(&asked_in_vain[0]) >= ASKED_MOST &&
	    atomic_load(&asked_in_vain[1]) >= ASKED_MOST)
		move_clock(NULL);
	return false;
}

/* Another one has said that it commits, and has died: the others wait for it at first. */
static void one_commits_for_all(void **state)
{
	static const struct gang_given given[] = {{.step = 10, .over = wait_for_marked},
						  {.step = 10, .over = wait_for_marked}};
	static const struct gang_given all[] = {{.step = 20}, {.step = 20}};
	struct gang gang;
	struct store *store;

	(void)state;
	gang_start(&gang, 2);
	store = gang.machines[0].files.storage->transfer.store;
	assert_works(store->ops->put(store, "jobs/job/gang/000001/commits-000002", "\n", 1,
				     STORE_IF_ABSENT, NULL, &err));
	gang_round(&gang, 2, given);
	gang_assert_committed(&gang, 2);
	assert_true(atomic_load(&asked_in_vain[0]) >= ASKED_MOST);
	assert_true(atomic_load(&asked_in_vain[1]) >= ASKED_MOST);
	/* Of a round that all live through nothing is left. */
	gang_round(&gang, 3, all);
	gang_assert_committed(&gang, 3);
	assert_false(gang_has(&gang, "gang/000001/commits-000003"));
	gang_stop(&gang);
}

static void put_object(struct gang *gang, const char *name)
{
	auto_free char *key = text_format("jobs/job/%s", name);
	struct store *store = gang->store.storage->transfer.store;

	assert_works(store->ops->put(store, key, "x", 1, STORE_IF_ABSENT, NULL, &err));
}

/* Its part is there, and it is gone. */
static void give_and_die(struct gang *gang, uint32_t member, uint32_t round, int64_t step)
{
	struct failing_store failing = {.lists = "/parts/", .kind = ERR_FAILED, .most = 1};
	struct gang_given given[3] = {{.absent = true}, {.absent = true}, {.absent = true}};

	assert_true(gang->members <= 3);
	given[member] = (struct gang_given){.step = step};
	fail_store(gang, member, &failing);
	gang_round(gang, round, given);
	heal_store(gang, member, &failing);
	assert_int_equal(gang->machines[member].err.kind, ERR_FAILED);
}

/* Once, behind the first listing. */
static bool move_clock_once(void *arg)
{
	static int calls;

	return ++calls == 2 ? move_clock(arg) : false;
}

/* A late commit that fails for a moment does not wait for the next listing. */
static void a_late_commit_is_tried_again(void **state)
{
	static const struct gang_given own[] = {{.step = 10, .over = move_clock_once},
						{.absent = true}};
	struct failing_store failing = {.gets = "/parts/", .kind = ERR_RETRY, .most = 1};
	int64_t began_ms;
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	give_and_die(&gang, 1, 2, 10);
	put_object(&gang, "gang/000001/commits-000002");
	fail_store(&gang, 0, &failing);
	began_ms = __real_clock_monotonic_ms();
	gang_round(&gang, 2, own);
	heal_store(&gang, 0, &failing);
	gang_assert_committed(&gang, 2);
	assert_int_equal(failing.most, 0);
	assert_true(__real_clock_monotonic_ms() < began_ms + 10000);
	gang_stop(&gang);
}

static void append_to_log(struct gang *gang, uint32_t number, enum gang_event_kind kind,
			  uint32_t round)
{
	struct gang_event event = {.number = number, .kind = kind, .round = round};
	bool taken;

	assert_works(storage_gang_append(gang->store.storage, 1, &event, &taken, NULL, &err));
	assert_true(taken);
}

/* The newest round that the next start finishes. */
static uint32_t finish(struct gang *gang)
{
	uint32_t round = 77;

	assert_works(storage_gang_finish(gang->machines[0].files.storage, 1, &round, NULL, &err));
	return round;
}

static void all_die(void **state)
{
	struct failing_store unread = {.gets = "/log/", .kind = ERR_DENIED, .most = 1};
	struct failing_store failing = {.puts = "/snapshots/", .kind = ERR_DENIED, .most = 1};
	struct gang gang;
	uint32_t round;

	(void)state;
	gang_start(&gang, 2);
	assert_int_equal(finish(&gang), 0);
	give_and_die(&gang, 0, 3, 10);
	assert_int_equal(finish(&gang), 0);
	give_and_die(&gang, 1, 3, 10);
	/* What the log says of it cannot be read: it is not taken for nothing. */
	fail_store(&gang, 0, &unread);
	assert_fails(storage_gang_finish(gang.machines[0].files.storage, 1, &round, NULL, &err),
		     ERR_DENIED);
	heal_store(&gang, 0, &unread);
	/* Not even this answer comes: it is looked up the next time. */
	fail_store(&gang, 0, &failing);
	(void)storage_gang_finish(gang.machines[0].files.storage, 1, &round, NULL, &err);
	heal_store(&gang, 0, &failing);
	assert_int_equal(finish(&gang), 0);
	gang.newest = (struct snapshot_id){1, 3};
	restore_and_compare(&gang, 0);
	restore_and_compare(&gang, 1);
	/* What else the log says is no fate. */
	give_and_die(&gang, 1, 5, 20);
	give_and_die(&gang, 0, 5, 20);
	append_to_log(&gang, 6, GANG_EVENT_REQUEST, 0);
	append_to_log(&gang, 7, GANG_EVENT_LEFT_OUT, 3);
	assert_int_equal(finish(&gang), 5);
	gang.newest = (struct snapshot_id){1, 5};
	restore_and_compare(&gang, 1);
	gang_restart(&gang);
	assert_int_equal(gang.store.attempt.start.sequence, 5);
	gang_stop(&gang);
}

/* One member has gone, and the other dies with its part in a round: that is whole once it is said
 * who had gone. */
static void one_has_gone_and_the_last_dies(void **state)
{
	const struct snapshot_id id = {1, 2};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	give_and_die(&gang, 1, 2, 10);
	assert_int_equal(finish(&gang), 0);
	/* A part that is there stays. */
	for (uint32_t i = 0; i < 2; i++)
		assert_works(
			storage_gang_mark_gone(gang.machines[1].files.storage, id, i, NULL, &err));
	assert_int_equal(finish(&gang), 2);
	gang.newest = id;
	storage_gang_choose_parts(gang.machines[1].files.storage, GANG_PARTS_ALL);
	restore_and_compare(&gang, 1);
	gang_stop(&gang);
}

/* A save has failed, and the machine goes on: what has become of its part? Member 2 had gone. */
static void what_has_become_of_a_part(void **state)
{
	static const struct {
		const char *what;
		bool own, other, mixed, committed;
		enum gang_part_fate fate;
	} of[] = {
		{"none was put", false, true, false, false, GANG_FATE_VOID},
		{"it waits for another one", true, false, false, false, GANG_FATE_LIES},
		{"nobody is left who commits", true, true, false, false, GANG_FATE_COMMITTED},
		{"another has committed", true, true, false, true, GANG_FATE_COMMITTED},
		{"never a snapshot", true, true, true, false, GANG_FATE_UNFIT},
	};
	const struct snapshot_id id = {1, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		enum gang_part_fate fate = GANG_FATE_UNFIT;
		struct gang gang;

		gang_start(&gang, 3);
		assert_works(
			storage_gang_mark_gone(gang.machines[0].files.storage, id, 2, NULL, &err));
		if (of[i].own)
			give_and_die(&gang, 0, 3, 10);
		if (of[i].other)
			give_and_die(&gang, 1, 3, of[i].mixed ? 11 : 10);
		for (int again = of[i].committed ? 2 : 1; again > 0; again--)
			assert_works(
				storage_gang_look_after_part(gang.machines[again - 1].files.storage,
							     id, &fate, NULL, &err));
		if (fate != of[i].fate)
			fail_msg("%s: %d", of[i].what, fate);
		assert_int_equal(gang_has(&gang, "snapshots/000001-000003.json"),
				 fate == GANG_FATE_COMMITTED);
		gang_stop(&gang);
	}
}

static void what_has_a_fate_is_left_alone(void **state)
{
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	give_and_die(&gang, 0, 3, 10);
	give_and_die(&gang, 1, 3, 10);
	append_to_log(&gang, 4, GANG_EVENT_REQUEST, 0);
	append_to_log(&gang, 5, GANG_EVENT_LEFT_OUT, 3);
	assert_int_equal(finish(&gang), 0);
	/* One that was opened behind it knew its fate. */
	give_and_die(&gang, 0, 6, 20);
	give_and_die(&gang, 1, 6, 20);
	append_to_log(&gang, 7, GANG_EVENT_ROUND, 0);
	assert_int_equal(finish(&gang), 0);
	/* Never a snapshot. */
	give_and_die(&gang, 0, 8, 30);
	give_and_die(&gang, 1, 8, 31);
	assert_int_equal(finish(&gang), 0);
	/* Another attempt goes on from what was before it. */
	give_and_die(&gang, 0, 9, 40);
	give_and_die(&gang, 1, 9, 40);
	fixture_claim(&gang.store);
	assert_int_equal(finish(&gang), 0);
	assert_false(gang_has(&gang, "snapshots/000001-000009.json"));
	gang_stop(&gang);
}

/* --- lost answers --- */

static void lost_answers(void **state)
{
	static const struct failing_store rows[] = {
		{.puts = "/parts/", .kind = ERR_RETRY, .most = 1},
		{.puts = "/parts/", .gets = "/parts/", .kind = ERR_RETRY, .most = 3},
		{.puts = "/snapshots/", .kind = ERR_RETRY, .most = 1},
		{.puts = "/snapshots/", .gets = "/snapshots/", .kind = ERR_RETRY, .most = 4},
		{.puts = "/snapshots/", .kind = ERR_DENIED, .most = 1},
		{.lists = "/parts/", .kind = ERR_RETRY, .most = 3},
		{.gets = "/snapshots/", .kind = ERR_RETRY, .most = 3},
		{.gets = "/parts/", .kind = ERR_RETRY, .most = 2},
	};
	static const struct gang_given given[] = {{.step = 10}, {.step = 10}};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct failing_store failing[2] = {rows[i], rows[i]};

		fixture_write(&gang.machines[0].files, "weights", 1000, 100 + i);
		fail_store(&gang, 0, &failing[0]);
		fail_store(&gang, 1, &failing[1]);
		gang_round(&gang, i + 1, given);
		heal_store(&gang, 0, &failing[0]);
		heal_store(&gang, 1, &failing[1]);
		gang_assert_committed(&gang, i + 1);
		restore_and_compare(&gang, 0);
	}
	gang_stop(&gang);
}

/* --- a save that ends without knowing --- */

static void forget_all_but_the_newest(struct gang *gang)
{
	struct forget_request request = {.policy.keep_last = 1, .garbage_age_ms = 1};
	struct forget_result result;

	usleep(2000);
	assert_works(storage_forget(gang->store.storage, &request, &result, NULL, &err));
}

/* Member 0 gives a part of round 2, and gives up waiting. */
static void give_up_in_round_2(struct gang *gang)
{
	static const struct gang_given good[] = {{.step = 10}, {.step = 10}};
	struct cancel cancel;
	struct gang_given given[] = {{.step = 20, .over = cancel_own, .cancel = &cancel},
				     {.absent = true}};

	gang_start(gang, 2);
	gang_round(gang, 1, good);
	gang_assert_committed(gang, 1);
	fixture_write(&gang->machines[0].files, "weights", 100000, 50);
	assert_works(cancel_init(&cancel, &err));
	gang_round(gang, 2, given);
	cancel_release(&cancel);
	assert_int_equal(gang->machines[0].err.kind, ERR_CANCELLED);
}

/* It was committed all the same, and what came before is gone: nothing may build upon that. */
static void it_was_committed_after_all(void **state)
{
	static const struct gang_given other[] = {{.absent = true}, {.step = 20}};
	static const struct gang_given both[] = {{.step = 30}, {.step = 30}};
	struct gang gang;

	(void)state;
	give_up_in_round_2(&gang);
	gang_round(&gang, 2, other);
	gang_assert_committed(&gang, 2);
	forget_all_but_the_newest(&gang);
	/* As it was in round 1. */
	fixture_write(&gang.machines[0].files, "weights", 100000, 0);
	gang_round(&gang, 5, both);
	gang_assert_committed(&gang, 5);
	assert_int_equal(gang.machines[0].result.chunks_sent, 1);
	restore_and_compare(&gang, 0);
	assert_false(gang_has(&gang, "parts/000001/000002/00000.json"));
	gang_stop(&gang);
}

/* It never was: what was sent for it is kept, for the next. */
static void it_was_not(void **state)
{
	static const struct gang_given both[] = {{.step = 30}, {.step = 30}};
	struct gang gang;

	(void)state;
	give_up_in_round_2(&gang);
	forget_all_but_the_newest(&gang);
	gang_round(&gang, 3, both);
	gang_assert_committed(&gang, 3);
	assert_int_equal(gang.machines[0].result.chunks_sent, 0);
	restore_and_compare(&gang, 0);
	assert_false(gang_has(&gang, "parts/000001/000002/00000.json"));
	gang_stop(&gang);
}

/* --- what an open round may name --- */

/* A part names a pack that has gone since: nobody commits that. */
static void a_pack_that_is_gone(void **state)
{
	static const struct gang_given alone[] = {{.step = 10, .over = is_over}, {.absent = true}};
	static const struct gang_given other[] = {{.absent = true}, {.step = 10}};
	static const struct gang_given both[] = {{.step = 20}, {.step = 20}};
	struct gang gang;
	auto_free char *pack = NULL;

	(void)state;
	gang_start(&gang, 2);
	gang_round(&gang, 1, alone);
	gang_assert_over(&gang, 1, false);
	pack = fixture_find(&gang.store, "/packs/");
	assert_int_equal(unlink(pack), 0);
	gang_round(&gang, 1, other);
	gang_assert_over(&gang, 1, true);
	/* The first one finds it when it looks, and sends it again. */
	gang_round(&gang, 2, (struct gang_given[]){both[0], {.absent = true}});
	assert_true(gang.machines[0].result.store_lacks);
	gang_round(&gang, 2, both);
	gang_assert_committed(&gang, 2);
	gang_stop(&gang);
}

/* --- what is left over --- */

static void leftovers_are_swept(void **state)
{
	static const struct {
		const char *name;
		bool stays;
	} rows[] = {
		{"gang/000001/join-00000-00002-0123.json", false},
		{"gang/000000/join-00000-00002-0123.json", false},
		{"gang/000001/log/000001.json", true},
		{"gang/000001/log/000002.json", false},
		{"gang/launch-0123.json", true},
		{"gang/000002/log/000001.json", true},
		{"gang/000003/ready-00001", true},
		{"gang/000010/log/000001.json", true},
		{"parts/000001/000004/00001.json", false},
		{"parts/000002/000001/00000.json", false},
		{"parts/000003/000001/00000.json", true},
	};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_object(&gang, rows[i].name);
	storage_gang_sweep(gang.machines[0].files.storage, 3, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (gang_has(&gang, rows[i].name) != rows[i].stays)
			fail_msg("%s", rows[i].name);
	gang_stop(&gang);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_of_all),
		cmocka_unit_test(an_empty_part),
		cmocka_unit_test(a_part_without_a_checkpoint),
		cmocka_unit_test(the_final_round),
		cmocka_unit_test(parts_that_do_not_belong_together),
		cmocka_unit_test(a_round_that_is_over),
		cmocka_unit_test(over_too_late),
		cmocka_unit_test(whether_a_part_was_put),
		cmocka_unit_test(one_commits_for_all),
		cmocka_unit_test(a_late_commit_is_tried_again),
		cmocka_unit_test(all_die),
		cmocka_unit_test(what_has_become_of_a_part),
		cmocka_unit_test(one_has_gone_and_the_last_dies),
		cmocka_unit_test(what_has_a_fate_is_left_alone),
		cmocka_unit_test(lost_answers),
		cmocka_unit_test(it_was_committed_after_all),
		cmocka_unit_test(it_was_not),
		cmocka_unit_test(a_pack_that_is_gone),
		cmocka_unit_test(leftovers_are_swept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
