/* Old attempts are forgotten with their snapshots: what the others say stays the same at any
 * instant. */
#include "effort.h"
#include "slow_store.h"
#include "synthetic_history.h"

#include "storage/snapshots/forget.h"

#include <signal.h>
#include <sys/wait.h>

#define ATTEMPTS 150

/* Numbers that repeat from run to run. */
static uint32_t below(uint64_t *seed, uint32_t most)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % most);
}

/* --- which --- */

static struct lineage random_lineage(uint64_t *seed)
{
	struct lineage lineage = {
		.attempts = memory_new(ATTEMPTS * sizeof(*lineage.attempts)),
		.snapshots = memory_new(4 * ATTEMPTS * sizeof(*lineage.snapshots)),
	};
	uint32_t wild = below(seed, 40), saved = 1 + below(seed, 30);

	for (uint32_t number = 1; number <= ATTEMPTS; number++) {
		bool snapshot = below(seed, saved) == 0;
		struct lineage_attempt *attempt = &lineage.attempts[lineage.attempt_count++];
		struct snapshot_id newest =
			lineage.snapshot_count
				? lineage.snapshots[lineage.snapshot_count - 1 -
						    (below(seed, 50) < wild
							     ? below(seed, (uint32_t)lineage
										   .snapshot_count)
							     : 0)]
				: (struct snapshot_id){0};

		*attempt = (struct lineage_attempt){
			.number = number,
			.known = below(seed, 20) != 0,
			.start = newest,
			.policy = below(seed, 50) < wild ? RESTORE_SPECIFIC : RESTORE_LATEST,
			.unconfirmed = !snapshot && below(seed, 6) == 0,
		};
		for (uint32_t i = 1; snapshot && i <= 1 + below(seed, 3); i++)
			lineage.snapshots[lineage.snapshot_count++] =
				(struct snapshot_id){number, i};
	}
	return lineage;
}

static size_t position_of(const struct lineage *lineage, uint32_t number)
{
	size_t at = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);

	assert_true(at < lineage->attempt_count && lineage->attempts[at].number == number);
	return at;
}

/* After each of them: a run may be killed anywhere. */
static void test_the_states_stay_the_same(void **state)
{
	uint64_t seed = 1;
	size_t gone = 0;

	(void)state;
	for (unsigned i = 0; i < effort_count("lineages", 400, 60); i++) {
		struct lineage lineage = random_lineage(&seed);
		enum snapshot_state before[4 * ATTEMPTS], after[4 * ATTEMPTS];
		uint32_t numbers[ATTEMPTS];
		size_t count = attempt_forget_select(&lineage, numbers, ATTEMPTS);

		lineage_states(&lineage, before);
		for (size_t j = 0; j < count; j++) {
			size_t at = position_of(&lineage, numbers[j]);

			assert_true(lineage.attempt_count - at > ATTEMPTS_KEPT);
			for (size_t k = 0; k < lineage.snapshot_count; k++)
				assert_int_not_equal(lineage.snapshots[k].attempt, numbers[j]);
			memmove(&lineage.attempts[at], &lineage.attempts[at + 1],
				(--lineage.attempt_count - at) * sizeof(lineage.attempts[0]));
			lineage_states(&lineage, after);
			assert_memory_equal(before, after,
					    lineage.snapshot_count * sizeof(before[0]));
		}
		gone += count;
		free(lineage.attempts);
		free(lineage.snapshots);
	}
	assert_true(gone > 1000);
}

/* A job that goes on each time: of the old ones those stay that have snapshots. */
static void test_a_plain_job_keeps_few(void **state)
{
	struct lineage_attempt attempts[ATTEMPTS];
	struct snapshot_id snapshots[] = {{3, 1}, {40, 2}, {140, 1}};
	struct lineage lineage = {attempts, ATTEMPTS, snapshots, 3};
	uint32_t numbers[ATTEMPTS];

	(void)state;
	for (uint32_t i = 1; i <= ATTEMPTS; i++)
		attempts[i - 1] = (struct lineage_attempt){
			.number = i,
			.known = true,
			.start = i > 140  ? snapshots[2]
				 : i > 40 ? snapshots[1]
				 : i > 3  ? snapshots[0]
					  : (struct snapshot_id){0},
		};
	assert_int_equal(attempt_forget_select(&lineage, numbers, ATTEMPTS),
			 ATTEMPTS - ATTEMPTS_KEPT - 2);
	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[2], 4);
	assert_int_equal(attempt_forget_select(&lineage, numbers, 5), 5);
	lineage.attempt_count = ATTEMPTS_KEPT;
	assert_int_equal(attempt_forget_select(&lineage, numbers, ATTEMPTS), 0);
}

/* What the user has left behind stays left. */
static void test_a_fork_stays(void **state)
{
	struct lineage_attempt attempts[ATTEMPTS];
	struct snapshot_id snapshots[] = {{1, 1}, {1, 2}, {1, 3}, {140, 1}};
	struct lineage lineage = {attempts, ATTEMPTS, snapshots, 4};
	uint32_t numbers[ATTEMPTS];
	size_t count;

	(void)state;
	for (uint32_t i = 1; i <= ATTEMPTS; i++)
		attempts[i - 1] = (struct lineage_attempt){
			.number = i,
			.known = true,
			.policy = i == 2 ? RESTORE_SPECIFIC : RESTORE_LATEST,
			.start = i > 140 ? snapshots[3]
				 : i > 1 ? snapshots[0]
					 : (struct snapshot_id){0},
		};
	count = attempt_forget_select(&lineage, numbers, ATTEMPTS);
	assert_int_equal(count, ATTEMPTS - ATTEMPTS_KEPT - 2);
	for (size_t i = 0; i < count; i++)
		assert_true(numbers[i] > 2);
}

/* --- in a store --- */

static size_t count_files(struct fixture *f, const char *below)
{
	auto_free char *command =
		text_format("find '%s/jobs/job/%s' -type f 2>/dev/null | wc -l", f->store, below);
	FILE *stream = popen(command, "r");
	unsigned count = 0;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%u", &count), 1);
	pclose(stream);
	return count;
}

static void write_history(struct fixture *f)
{
	fixture_start(f);
	fixture_write(f, "w", 1000, 1);
	fixture_take(f);
	for (uint32_t i = 2; i <= ATTEMPTS; i++) {
		auto_free char *note = text_format("jobs/job/notes/%06u/ledger-0001", i);
		auto_free char *announced = text_format("jobs/job/draining/%06u-000001.json", i);

		synthetic_attempt(f, "job",
				  &(struct synthetic_attempt){.number = i, .start = {1, 1}});
		synthetic_write(f, note, "{}\n", 3);
		synthetic_write(f, announced, "{}\n", 3);
	}
}

static int refuse_removals(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/notes/") ? err_set(error, ERR_DENIED, "it is held") : 0;
}

static void test_a_retention_run_forgets_them(void **state)
{
	struct forget_request request = {.policy.keep_last = 10};
	struct forget_result result;
	struct attempt_history history;
	struct snapshot_list list;
	struct slow_store *slow;
	struct fixture f;

	(void)state;
	write_history(&f);
	slow = slow_store_install(&f, NULL);
	/* A store that refuses it stays as it is, and nothing fails. */
	slow->answer_remove = refuse_removals;
	assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
	assert_int_equal(count_files(&f, "notes"), ATTEMPTS - 1);
	slow->answer_remove = NULL;
	assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
	/* The first one has a snapshot, and the room for a claim lies beside them. */
	assert_int_equal(count_files(&f, "attempts"), 3 * ATTEMPTS_KEPT + 2 + 1);
	assert_int_equal(count_files(&f, "notes"), ATTEMPTS_KEPT);
	assert_int_equal(count_files(&f, "draining"), ATTEMPTS_KEPT);
	assert_works(storage_history(f.storage, 1000, &history, NULL, &err));
	assert_int_equal(history.count, ATTEMPTS_KEPT + 1);
	assert_true(history.items[ATTEMPTS_KEPT - 1].known && history.items[0].ended);
	attempt_history_release(&history);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.items[0].state, SNAPSHOT_GOOD);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

/* Killed anywhere, the next run does the rest. */
static void test_killed_while_forgetting(void **state)
{
	static const char *const points[] = {"before_attempt_remove", "after_attempt_remove"};
	struct forget_request request = {.policy.keep_last = 10};
	struct forget_result result;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct snapshot_list list;
		struct fixture f;
		pid_t child;
		int status;

		write_history(&f);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			setenv("REPRIEVE_FAULT", points[i], 1);
			storage_close(f.storage);
			fixture_open(&f);
			(void)storage_forget(f.storage, &request, &result, NULL, &err);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
		assert_int_equal(list.items[0].state, SNAPSHOT_GOOD);
		snapshot_list_release(&list);
		assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
		assert_int_equal(count_files(&f, "notes"), ATTEMPTS_KEPT);
		fixture_stop(&f);
	}
}

struct overtaking {
	struct fixture *fixture;
	unsigned left;
};

static int overtake(struct slow_store *slow, const char *key, struct err *error)
{
	struct overtaking *overtaking = slow->arg;
	struct claim claim = {.policy = RESTORE_LATEST};

	(void)error;
	if (!strstr(key, "/snapshots/"))
		return 0;
	for (; overtaking->left > 0; overtaking->left--) {
		struct storage_options options = {.url = overtaking->fixture->url, .job = "job"};
		auto_(storage_close) struct storage *other = NULL;
		auto_(attempt_release) struct attempt attempt = {0};

		assert_works(storage_open(&options, &other, NULL, &err));
		assert_works(storage_claim(other, &claim, &attempt, NULL, &err));
	}
	return 0;
}

/* It takes a number that was free when it looked, and whose attempt was forgotten since. */
static void test_a_stale_claim_does_not_count(void **state)
{
	const unsigned newer = 2 * ATTEMPTS_KEPT + 1;
	struct fixture f;
	struct overtaking overtaking = {&f, newer};
	struct claim claim = {.policy = RESTORE_LATEST};
	auto_(attempt_release) struct attempt attempt = {0};
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	slow = slow_store_install(&f, NULL);
	slow->answer_get = overtake;
	slow->arg = &overtaking;
	assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
	assert_int_equal(attempt.number, newer + 2);
	assert_int_equal(snapshot_id_compare(attempt.start, (struct snapshot_id){1, 1}), 0);
	/* Its first claim is gone. */
	assert_int_equal(count_files(&f, "attempts/000002.json"), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_states_stay_the_same),
		cmocka_unit_test(test_a_plain_job_keeps_few),
		cmocka_unit_test(test_a_fork_stays),
		cmocka_unit_test(test_a_retention_run_forgets_them),
		cmocka_unit_test(test_killed_while_forgetting),
		cmocka_unit_test(test_a_stale_claim_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
