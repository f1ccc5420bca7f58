/* Forgetting and sweeping on a real store: what is kept is whole, what nobody needs is gone, a
 * crash leaves whole snapshots. */
#include "effort.h"
#include "storage_fixture.h"

#include <signal.h>
#include <sys/wait.h>

struct told {
	unsigned reasons[16];
	size_t count;
};

static void note(void *arg, const struct snapshot_info *info, unsigned reasons)
{
	struct told *told = arg;

	(void)info;
	told->reasons[told->count++] = reasons;
}

/* Snapshots 1-1 to 1-`count`, nothing in common. */
static void take_several(struct fixture *f, int count)
{
	for (int i = 0; i < count; i++) {
		fixture_write(f, "w", 300000, 100 * f->attempt.number + f->sequence);
		fixture_take(f);
	}
}

static struct forget_result forget(struct fixture *f, struct forget_request request)
{
	struct forget_result result;

	assert_works(storage_forget(f->storage, &request, &result, NULL, &err));
	return result;
}

static struct forget_result keep_last(struct fixture *f, uint32_t count)
{
	return forget(f, (struct forget_request){.policy.keep_last = count});
}

static size_t snapshots_of(struct fixture *f)
{
	struct snapshot_list list;
	size_t count;

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	count = list.count;
	snapshot_list_release(&list);
	return count;
}

static size_t count_files(struct fixture *f, const char *below)
{
	auto_free char *command =
		text_format("find '%s/%s' -type f 2>/dev/null | wc -l", f->store, below);
	FILE *stream = popen(command, "r");
	unsigned count = 0;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%u", &count), 1);
	pclose(stream);
	return count;
}

/* As if everything had been put two days ago. */
static void make_old(struct fixture *f)
{
	auto_free char *command =
		text_format("find '%s/jobs' -type f -exec touch -d '2 days ago' '{}' +", f->store);

	assert_int_equal(system(command), 0);
}

static void check_all_sound(struct fixture *f)
{
	assert_int_equal(fixture_damages(f), 0);
}

static void test_forgets_and_sweeps_later(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 5);
	result = keep_last(&f, 2);
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.kept, 2);
	assert_int_equal(snapshots_of(&f), 2);
	/* The packs are too young. */
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(result.collected.packs_deferred, 3);
	assert_int_equal(count_files(&f, "jobs/job/packs"), 5);
	make_old(&f);
	result = keep_last(&f, 2);
	assert_int_equal(result.forgotten, 0);
	assert_int_equal(result.collected.packs_removed, 3);
	assert_true(result.collected.bytes_removed > 900000);
	assert_int_equal(count_files(&f, "jobs/job/packs"), 2);
	assert_int_equal(count_files(&f, "tmp"), 0);
	check_all_sound(&f);
	fixture_check(&f, (struct snapshot_id){1, 5});
	fixture_stop(&f);
}

static void test_dry_run_removes_nothing_and_says_the_same(void **state)
{
	struct fixture f;
	struct forget_request request = {.policy.keep_last = 1, .dry_run = true};
	struct told told = {0};
	struct forget_result dry, wet;

	(void)state;
	fixture_start(&f);
	take_several(&f, 4);
	make_old(&f);
	request.decided = note;
	request.arg = &told;
	dry = forget(&f, request);
	assert_int_equal(told.count, 4);
	assert_true(told.reasons[0] & 1u << KEEP_NEWEST);
	assert_int_equal(told.reasons[1], 0);
	assert_int_equal(snapshots_of(&f), 4);
	assert_int_equal(count_files(&f, "jobs/job/packs"), 4);
	wet = keep_last(&f, 1);
	assert_int_equal(dry.forgotten, wet.forgotten);
	assert_int_equal(dry.kept, wet.kept);
	assert_int_equal(dry.bytes_before, wet.bytes_before);
	assert_int_equal(dry.collected.packs_removed, wet.collected.packs_removed);
	assert_int_equal(dry.collected.bytes_removed, wet.collected.bytes_removed);
	assert_int_equal(snapshots_of(&f), 1);
	fixture_stop(&f);
}

/* What is shared stays as long as one of them is kept. */
static void test_shared_packs_stay(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "frozen", 9000000, 1);
	take_several(&f, 3);
	make_old(&f);
	result = keep_last(&f, 1);
	assert_int_equal(result.forgotten, 2);
	/* Of the first snapshot, `frozen` is still needed; whole packs go or stay. */
	check_all_sound(&f);
	fixture_check(&f, (struct snapshot_id){1, 3});
	fixture_claim(&f);
	take_several(&f, 1);
	check_all_sound(&f);
	fixture_stop(&f);
}

static void test_starts_and_pins_stay(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	take_several(&f, 3);
	assert_works(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err));
	assert_works(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err));
	fixture_claim(&f);
	take_several(&f, 3);
	make_old(&f);
	keep_last(&f, 1);
	/* 1-1 pinned, 1-3 started from, 2-3 newest. */
	assert_int_equal(snapshots_of(&f), 3);
	check_all_sound(&f);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 3}));
	assert_works(storage_unpin(f.storage, (struct snapshot_id){1, 1}, NULL, &err));
	assert_fails(storage_unpin(f.storage, (struct snapshot_id){1, 1}, NULL, &err),
		     ERR_NOT_FOUND);
	keep_last(&f, 1);
	assert_int_equal(snapshots_of(&f), 2);
	assert_fails(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err), ERR_NOT_FOUND);
	assert_int_equal(count_files(&f, "jobs/job/pins"), 0);
	fixture_stop(&f);
}

/* Only that of the newest attempt, once the others have ended. */
static void test_starts_of_attempts_that_ended_may_go(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (int i = 0; i < 4; i++) {
		if (i > 0)
			fixture_claim(&f);
		take_several(&f, 1);
		assert_works(storage_end_attempt(f.storage, f.attempt.number, "saved", NULL, NULL,
						 &err));
	}
	assert_int_equal(keep_last(&f, 1).kept, 2);
	assert_int_equal(snapshots_of(&f), 2);
	fixture_check(&f, (struct snapshot_id){4, 1});
	assert_works(fixture_try_restore(&f, (struct snapshot_id){3, 1}));
	fixture_stop(&f);
}

/* The list says what only one snapshot needs: what forgetting it would free. */
static void test_what_a_snapshot_needs_alone(void **state)
{
	struct fixture f;
	struct snapshot_list list;
	uint64_t total;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "frozen", 5000000, 1);
	fixture_take(&f);
	fixture_write(&f, "w", 300000, 2);
	fixture_take(&f);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_works(storage_size(f.storage, &total, NULL, &err));
	assert_int_equal(list.items[1].bytes_alone, 0);
	assert_true(list.items[0].bytes_alone >= 300000 && list.items[0].bytes_alone < 400000);
	assert_true(total > 5300000 && total < 5400000);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

/* Packs that a killed attempt left serve the next one: they stay until something
 * newer is committed. */
static void test_leftovers_wait_for_the_next_commit(void **state)
{
	struct fixture f;
	struct forget_result result;
	struct save_result taken;
	char left[256];

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_claim(&f);
	take_several(&f, 1);
	snprintf(left, sizeof(left), "%s/jobs/job/snapshots/000002-000001.json", f.store);
	assert_int_equal(unlink(left), 0);
	make_old(&f);
	fixture_claim(&f);
	result = keep_last(&f, 9);
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(result.collected.packs_deferred, 1);
	assert_works(fixture_try_take(&f, &taken));
	fixture_write(&f, "w", 300000, 77);
	fixture_take(&f);
	make_old(&f);
	keep_last(&f, 9);
	check_all_sound(&f);
	fixture_stop(&f);
}

/* A manifest that cannot be read may name anything that was written for it. */
/* A job that is through needs no leftovers, also if it never commits again. */
static void test_leftovers_of_a_job_that_is_through(void **state)
{
	struct fixture f;
	struct forget_result result;
	char left[256];

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_claim(&f);
	take_several(&f, 1);
	snprintf(left, sizeof(left), "%s/jobs/job/snapshots/000002-000001.json", f.store);
	assert_int_equal(unlink(left), 0);
	fixture_claim(&f);
	make_old(&f);
	/* The newest attempt may still save. */
	assert_int_equal(keep_last(&f, 9).collected.packs_deferred, 1);
	assert_works(
		storage_end_attempt(f.storage, f.attempt.number, "preempted", NULL, NULL, &err));
	result = keep_last(&f, 9);
	assert_int_equal(result.collected.packs_removed, 1);
	check_all_sound(&f);
	/* It has ended, but was claimed just now: soon there may be another. */
	fixture_claim(&f);
	take_several(&f, 1);
	snprintf(left, sizeof(left), "%s/jobs/job/snapshots/%06u-000001.json", f.store,
		 f.attempt.number);
	assert_int_equal(unlink(left), 0);
	make_old(&f);
	fixture_claim(&f);
	assert_works(
		storage_end_attempt(f.storage, f.attempt.number, "preempted", NULL, NULL, &err));
	result = keep_last(&f, 9);
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(result.collected.packs_deferred, 1);
	fixture_stop(&f);
}

static void test_packs_of_a_damaged_manifest_stay(void **state)
{
	const struct snapshot_id damaged = {1, 1};
	struct fixture f;
	auto_free char *manifest = NULL;

	(void)state;
	fixture_start(&f);
	take_several(&f, 2);
	assert_works(storage_pin(f.storage, damaged, NULL, &err));
	make_old(&f);
	manifest = fixture_find(&f, "snapshots/000001-000001");
	fixture_flip(manifest, 200);
	assert_int_equal(keep_last(&f, 1).collected.packs_removed, 0);
	assert_int_equal(count_files(&f, "jobs/job/packs"), 2);
	/* Once it is forgotten, they go. */
	assert_works(storage_unpin(f.storage, damaged, NULL, &err));
	keep_last(&f, 1);
	assert_int_equal(count_files(&f, "jobs/job/packs"), 1);
	check_all_sound(&f);
	fixture_stop(&f);
}

static void test_what_is_no_pack_is_left_alone(void **state)
{
	struct fixture f;
	auto_free char *note_path = NULL;

	(void)state;
	fixture_start(&f);
	take_several(&f, 2);
	note_path = text_format("%s/jobs/job/packs/README", f.store);
	assert_works(file_write(note_path, "mine", 4, &err));
	make_old(&f);
	keep_last(&f, 1);
	assert_true(file_exists(note_path));
	fixture_stop(&f);
}

/* --- killed --- */

static void forget_and_die(struct fixture *f, const char *point, int time)
{
	struct storage_options options = {.url = f->url, .job = "job", .threads = 2};
	struct forget_request request = {.policy.keep_last = 1};
	struct forget_result result;
	struct storage *storage;
	char fault[64];

	snprintf(fault, sizeof(fault), "%s:%d", point, time);
	setenv("REPRIEVE_FAULT", fault, 1);
	if (storage_open(&options, &storage, NULL, NULL) < 0)
		_exit(1);
	_exit(storage_forget(storage, &request, &result, NULL, NULL) < 0);
}

static bool crash(struct fixture *f, const char *point, int time)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		forget_and_die(f, point, time);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void test_killed_while_forgetting(void **state)
{
	static const char *const points[] = {"before_manifest_remove", "after_manifest_remove",
					     "before_pack_remove", "after_pack_remove"};
	int last = (int)effort_count("times at each point", 3, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (int time = 1; time <= last; time++) {
			struct fixture f;

			fixture_start(&f);
			fixture_write(&f, "frozen", 5000000, 1);
			take_several(&f, 6);
			make_old(&f);
			if (!crash(&f, points[i], time))
				fail_msg("nothing got to %s:%d", points[i], time);
			/* Whatever is still listed is whole, the newest is there, and the next one
			 * finishes the work. */
			check_all_sound(&f);
			fixture_check(&f, (struct snapshot_id){1, 6});
			make_old(&f);
			keep_last(&f, 1);
			assert_int_equal(snapshots_of(&f), 1);
			check_all_sound(&f);
			fixture_claim(&f);
			assert_int_equal(f.attempt.start.sequence, 6);
			take_several(&f, 1);
			check_all_sound(&f);
			fixture_stop(&f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forgets_and_sweeps_later),
		cmocka_unit_test(test_dry_run_removes_nothing_and_says_the_same),
		cmocka_unit_test(test_shared_packs_stay),
		cmocka_unit_test(test_starts_and_pins_stay),
		cmocka_unit_test(test_starts_of_attempts_that_ended_may_go),
		cmocka_unit_test(test_what_a_snapshot_needs_alone),
		cmocka_unit_test(test_leftovers_wait_for_the_next_commit),
		cmocka_unit_test(test_leftovers_of_a_job_that_is_through),
		cmocka_unit_test(test_packs_of_a_damaged_manifest_stay),
		cmocka_unit_test(test_what_is_no_pack_is_left_alone),
		cmocka_unit_test(test_killed_while_forgetting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
