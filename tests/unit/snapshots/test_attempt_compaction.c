/* Old attempts are summed up: every reader sees the same lineage before, after, and at any instant
 * between. */
#include "effort.h"
#include "slow_store.h"
#include "synthetic_history.h"

#include "base/workers.h"
#include "storage/records/lineage_summary.h"
#include "storage/snapshots/attempt_compaction.h"

#include <signal.h>
#include <sys/wait.h>

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

static struct storage *open_job(struct fixture *f, const char *job)
{
	struct storage_options options = {.url = f->url, .job = job, .create = true, .threads = 2};
	struct storage *storage;

	assert_works(storage_open(&options, &storage, NULL, &err));
	return storage;
}

static void compact(struct fixture *f, const char *job, size_t most)
{
	auto_(storage_close) struct storage *storage = open_job(f, job);
	auto_(job_listing_release) struct job_listing listing = {0};

	assert_works(job_records_list_lineage(storage, &listing, NULL, &err));
	assert_works(attempt_compaction_run(storage, &listing, most, NULL, &err));
}

/* --- the same lineage --- */

static void assert_same_lineage(struct fixture *f, const char *one, const char *other)
{
	auto_(storage_close) struct storage *first = open_job(f, one), *second = open_job(f, other);
	auto_(job_listing_release) struct job_listing a = {0}, b = {0};
	auto_free enum snapshot_state *states_a = NULL, *states_b = NULL;
	auto_free struct snapshot_id *chain_a = NULL, *chain_b = NULL;
	size_t count;

	assert_works(job_records_list_lineage(first, &a, NULL, &err));
	assert_works(job_records_list_lineage(second, &b, NULL, &err));
	count = a.lineage.snapshot_count;
	assert_int_equal(count, b.lineage.snapshot_count);
	states_a = memory_new((count + 1) * sizeof(*states_a));
	states_b = memory_new((count + 1) * sizeof(*states_b));
	chain_a = memory_new((count + 1) * sizeof(*chain_a));
	chain_b = memory_new((count + 1) * sizeof(*chain_b));
	lineage_states(&a.lineage, states_a);
	lineage_states(&b.lineage, states_b);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(states_a[i], states_b[i]);
	assert_int_equal(lineage_newest_attempt(&a.lineage), lineage_newest_attempt(&b.lineage));
	assert_int_equal(a.lineage.attempt_count, b.lineage.attempt_count);
	for (uint32_t i = 1; i <= lineage_newest_attempt(&a.lineage); i++) {
		size_t length = lineage_chain(&a.lineage, i, chain_a);

		assert_int_equal(length, lineage_chain(&b.lineage, i, chain_b));
		for (size_t j = 0; j < length; j++)
			assert_int_equal(snapshot_id_compare(chain_a[j], chain_b[j]), 0);
	}
}

/* Numbers that repeat from run to run. */
static uint32_t below(uint64_t *seed, uint32_t most)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % most);
}

static struct synthetic_attempt random_attempt(uint32_t number, uint64_t *seed)
{
	struct synthetic_attempt attempt = {
		.number = number,
		.policy = (enum restore_policy)below(seed, 3),
		.unconfirmed = below(seed, 5) == 0,
		.unended = below(seed, 3) == 0,
		.damaged = below(seed, 12) == 0,
	};

	if (number > 1 && attempt.policy != RESTORE_NONE)
		attempt.start =
			(struct snapshot_id){1 + below(seed, number - 1), 1 + below(seed, 4)};
	if (number > 1 && below(seed, 6) == 0)
		attempt.suspect =
			(struct snapshot_id){1 + below(seed, number - 1), 1 + below(seed, 4)};
	return attempt;
}

static void write_random_snapshots(struct fixture *f, uint32_t attempt, uint64_t *seed)
{
	for (uint32_t i = 1; i <= 4; i++) {
		auto_free char *one =
			text_format("jobs/summed/snapshots/%06u-%06u.json", attempt, i);
		auto_free char *other =
			text_format("jobs/plain/snapshots/%06u-%06u.json", attempt, i);

		if (below(seed, 4) != 0)
			continue;
		synthetic_write(f, one, "unread\n", 7);
		synthetic_write(f, other, "unread\n", 7);
	}
}

static void test_the_lineage_stays_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 1, last = effort_count("histories", 6, 1); seed <= last; seed++) {
		uint64_t random = seed * 7919;
		uint32_t number = 0;
		struct fixture f;

		fixture_start(&f);
		for (int i = 0; i < 60; i++) {
			struct synthetic_attempt attempt;

			/* Now and then a number is left out. */
			number += 1 + (below(&random, 9) == 0);
			attempt = random_attempt(number, &random);
			synthetic_attempt(&f, "summed", &attempt);
			synthetic_attempt(&f, "plain", &attempt);
			write_random_snapshots(&f, number, &random);
			if (below(&random, 6) != 0)
				continue;
			compact(&f, "summed", 1 + below(&random, 9));
			assert_same_lineage(&f, "summed", "plain");
		}
		compact(&f, "summed", 1000);
		compact(&f, "summed", 1000);
		assert_same_lineage(&f, "summed", "plain");
		assert_true(count_files(&f, "jobs/summed/attempts") <= 3 * ATTEMPT_SINGLES_MOST);
		assert_true(count_files(&f, "jobs/summed/summaries") <= 2);
		fixture_stop(&f);
	}
}

/* --- readers that do not know summaries --- */

static bool is_of_version(struct fixture *f, uint32_t number, unsigned version)
{
	auto_free char *path = text_format("%s/jobs/summed/attempts/%06u.json", f->store, number);
	auto_free char *wanted = text_format("\"version\":%u,", version);
	auto_(bytes_release) struct bytes record = {0};

	return file_read(path, &record, &err) == 0 && bytes_append(&record, "", 1, &err) == 0 &&
	       strstr((const char *)record.data, wanted) != NULL;
}

/* They read the claims that stay. One of them must be of a version that they refuse. */
static void test_an_old_reader_is_warned(void **state)
{
	struct fixture f;
	uint32_t number = 1;

	(void)state;
	fixture_start(&f);
	for (; number <= 30; number++)
		synthetic_attempt(&f, "summed",
				  &(struct synthetic_attempt){.number = number, .old = true});
	compact(&f, "summed", 1000);
	assert_int_equal(count_files(&f, "jobs/summed/summaries"), 0);
	assert_int_equal(count_files(&f, "jobs/summed/attempts"), 90);
	synthetic_attempt(&f, "summed", &(struct synthetic_attempt){.number = number++});
	assert_true(is_of_version(&f, 31, 3));
	compact(&f, "summed", 1000);
	assert_int_equal(count_files(&f, "jobs/summed/summaries"), 1);
	assert_int_equal(count_files(&f, "jobs/summed/attempts"), 3 * ATTEMPT_SINGLES_LEAST);
	assert_true(is_of_version(&f, 31, 3));
	/* Those that claim at the same time, before they see it, do not hide it. */
	for (; number <= 40; number++)
		synthetic_attempt(&f, "summed",
				  &(struct synthetic_attempt){.number = number,
							      .old = true,
							      .unconfirmed = true});
	compact(&f, "summed", 1000);
	assert_true(is_of_version(&f, 31, 3));
	fixture_stop(&f);
}

/* --- many starts --- */

static void test_starts_keep_the_store_small(void **state)
{
	struct fixture f;
	struct snapshot_id newest;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	newest = fixture_take(&f);
	for (uint32_t i = 2; i <= 40; i++) {
		fixture_claim(&f);
		assert_int_equal(f.attempt.number, i);
		assert_int_equal(snapshot_id_compare(f.attempt.start, newest), 0);
		assert_works(storage_announce_drain(f.storage, i, 1, 1000, NULL, &err));
		if (i % 3)
			assert_works(
				storage_end_attempt(f.storage, i, "preempted", NULL, NULL, &err));
		if (i % 10 == 0)
			newest = fixture_take(&f);
		assert_true(count_files(&f, "jobs/job/attempts") <= 3 * ATTEMPT_SINGLES_MOST);
		assert_true(count_files(&f, "jobs/job/summaries") <= 2);
		assert_true(count_files(&f, "jobs/job/draining") <= ATTEMPT_SINGLES_MOST);
	}
	fixture_check(&f, newest);
	fixture_stop(&f);
}

static void assert_history(struct fixture *f, uint32_t attempts)
{
	auto_(storage_close) struct storage *storage = open_job(f, "long");
	auto_(attempt_history_release) struct attempt_history history = {0};

	assert_works(storage_history(storage, 10000, &history, NULL, &err));
	assert_int_equal(history.count, attempts);
	for (size_t i = 0; i < history.count; i++) {
		struct attempt_summary *past = &history.items[i];

		assert_int_equal(past->number, attempts - i);
		assert_true(past->known);
		assert_string_equal(past->created, "2026-01-01T00:00:00Z");
		assert_int_equal(json_number_or(past->about, "told", 0), past->number);
		assert_int_equal(past->ended, past->number % 5 != 0);
		if (!past->ended)
			continue;
		assert_string_equal(past->outcome, "preempted");
		assert_string_equal(past->ended_at, "2026-01-02T00:00:00Z");
		assert_int_equal(json_number_or(past->end_about, "exit_code", -1),
				 past->number % 7);
	}
}

/* Reports show what they did before. */
static void test_the_history_stays_the_same(void **state)
{
	uint32_t attempts = effort_count("attempts", 300, 100);
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (uint32_t i = 1; i <= attempts; i++)
		synthetic_attempt(&f, "long",
				  &(struct synthetic_attempt){.number = i,
							      .start = {i - 1, i > 1},
							      .unended = i % 5 == 0});
	assert_history(&f, attempts);
	for (uint32_t i = 0; i < attempts / 25; i++) {
		compact(&f, "long", 30);
		assert_history(&f, attempts);
	}
	assert_true(count_files(&f, "jobs/long/attempts") <= 3 * ATTEMPT_SINGLES_MOST);
	assert_true(count_files(&f, "jobs/long/archives") > 0);
	fixture_stop(&f);
}

/* --- at the same time --- */

struct overtaking {
	struct fixture *fixture;
	bool summaries;
	int lists;
	atomic_uint left;
	uint32_t newest;
};

/* The first one who gets here, of several threads. */
static void claim_often(struct overtaking *overtaking)
{
	struct claim claim = {.policy = RESTORE_LATEST};
	unsigned claims = atomic_exchange(&overtaking->left, 0);

	for (; claims > 0; claims--) {
		auto_(storage_close) struct storage *other = open_job(overtaking->fixture, "job");
		auto_(attempt_release) struct attempt attempt = {0};

		assert_works(storage_claim(other, &claim, &attempt, NULL, &err));
		overtaking->newest = attempt.number;
	}
}

/* The claimer has listed the attempts, and looks at what it would start from. */
static int overtake(struct slow_store *slow, const char *key, struct err *error)
{
	(void)error;
	if (strstr(key, "/snapshots/"))
		claim_often(slow->arg);
	return 0;
}

/* It takes a number that was free when it looked, and that has been taken and summed up since. */
static void test_a_stale_claim_does_not_count(void **state)
{
	static const enum restore_policy policies[] = {RESTORE_LATEST, RESTORE_SPECIFIC};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		struct overtaking overtaking = {.fixture = &f, .left = 20};
		struct claim claim = {.policy = policies[i], .this_one = {1, 1}};
		auto_(attempt_release) struct attempt attempt = {0};
		auto_(job_listing_release) struct job_listing listing = {0};
		struct slow_store *slow;

		fixture_start(&f);
		fixture_write(&f, "w", 1000, 1);
		fixture_take(&f);
		slow = slow_store_install(&f, NULL);
		slow->answer_get = overtake;
		slow->arg = &overtaking;
		assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
		slow->answer_get = NULL;
		assert_int_equal(overtaking.newest, 21);
		assert_int_equal(attempt.number, 22);
		assert_int_equal(snapshot_id_compare(attempt.start, (struct snapshot_id){1, 1}), 0);
		/* Its first claim is gone. */
		assert_works(job_records_list_lineage(f.storage, &listing, NULL, &err));
		for (size_t j = 0; j < listing.singles.count; j++)
			assert_false(text_ends(listing.singles.items[j].key, "/000002.json"));
		assert_int_equal(listing.lineage.attempt_count, 22);
		fixture_stop(&f);
	}
}

/* Killed right after it: the record lies there, and changes nothing. */
static void test_a_stale_record_changes_nothing(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (uint32_t i = 1; i <= 30; i++) {
		struct synthetic_attempt attempt = {
			.number = i,
			.start = {i - 1, i > 1},
			.unconfirmed = i == 11,
			.unended = i == 11,
		};

		/* A number that was left out. */
		if (i == 9)
			continue;
		synthetic_attempt(&f, "plain", &attempt);
		synthetic_attempt(&f, "summed", &attempt);
		if (i != 11)
			write_random_snapshots(&f, i, &(uint64_t){i});
	}
	compact(&f, "summed", 1000);
	for (uint32_t i = 7; i <= 11; i += 2)
		synthetic_attempt(&f, "summed",
				  &(struct synthetic_attempt){.number = i, .policy = RESTORE_NONE});
	assert_same_lineage(&f, "summed", "plain");
	/* It goes with the next ones. */
	compact(&f, "summed", 1000);
	assert_int_equal(count_files(&f, "jobs/summed/attempts"), 3 * ATTEMPT_SINGLES_LEAST);
	fixture_stop(&f);
}

/* Two who have listed at different times, in either order. */
static void test_two_at_once(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		auto_(job_listing_release) struct job_listing early = {0}, late = {0};
		struct storage *one, *other;
		struct fixture f;

		fixture_start(&f);
		one = open_job(&f, "summed");
		other = open_job(&f, "summed");
		for (uint32_t i = 1; i <= 40; i++) {
			struct synthetic_attempt attempt = {.number = i, .start = {i - 1, i > 1}};

			if (i == 21)
				assert_works(job_records_list_lineage(one, &early, NULL, &err));
			synthetic_attempt(&f, "plain", &attempt);
			synthetic_attempt(&f, "summed", &attempt);
		}
		assert_works(job_records_list_lineage(other, &late, NULL, &err));
		if (order == 0)
			assert_works(attempt_compaction_run(other, &late, 1000, NULL, &err));
		/* It finds records gone, or not: either way nothing is lost. */
		(void)attempt_compaction_run(one, &early, 1000, NULL, &err);
		if (order == 1)
			(void)attempt_compaction_run(other, &late, 1000, NULL, &err);
		assert_same_lineage(&f, "summed", "plain");
		compact(&f, "summed", 1000);
		assert_same_lineage(&f, "summed", "plain");
		storage_close(one);
		storage_close(other);
		fixture_stop(&f);
	}
}

/* What was listed is removed before it is read: it is looked again. */
static int compact_under_the_reader(struct slow_store *slow, const char *key, struct err *error)
{
	struct overtaking *overtaking = slow->arg;

	(void)error;
	if (strstr(key, overtaking->summaries ? "/summaries/" : "/attempts/"))
		claim_often(overtaking);
	return 0;
}

static void test_the_store_changes_under_a_reader(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fixture f;
		struct overtaking overtaking = {.fixture = &f, .summaries = i == 1};
		auto_(job_listing_release) struct job_listing listing = {0};
		struct slow_store *slow;

		fixture_start(&f);
		atomic_store(&overtaking.left, 10);
		claim_often(&overtaking);
		storage_close(f.storage);
		fixture_open(&f);
		slow = slow_store_install(&f, NULL);
		slow->answer_get = compact_under_the_reader;
		slow->arg = &overtaking;
		atomic_store(&overtaking.left, 20);
		assert_works(job_records_list_lineage(f.storage, &listing, NULL, &err));
		assert_int_equal(atomic_load(&overtaking.left), 0);
		for (size_t j = 0; j < listing.lineage.attempt_count; j++) {
			assert_int_equal(listing.lineage.attempts[j].number, j + 1);
			assert_true(listing.lineage.attempts[j].known);
			assert_false(listing.lineage.attempts[j].unconfirmed);
		}
		fixture_stop(&f);
	}
}

/* Before the n-th listing: the order of the listings matters. */
static void claim_between_lists(struct slow_store *slow)
{
	struct overtaking *overtaking = slow->arg;

	if (--overtaking->lists == 0)
		claim_often(overtaking);
}

static void test_the_store_changes_between_two_listings(void **state)
{
	(void)state;
	for (int i = 1; i <= 3; i++) {
		struct fixture f;
		struct overtaking overtaking = {.fixture = &f, .lists = i};
		auto_(job_listing_release) struct job_listing listing = {0};
		struct slow_store *slow;

		fixture_start(&f);
		atomic_store(&overtaking.left, 10);
		claim_often(&overtaking);
		storage_close(f.storage);
		fixture_open(&f);
		slow = slow_store_install(&f, NULL);
		slow->before_list = claim_between_lists;
		slow->arg = &overtaking;
		atomic_store(&overtaking.left, 12);
		assert_works(job_records_list_lineage(f.storage, &listing, NULL, &err));
		assert_int_equal(atomic_load(&overtaking.left), 0);
		assert_true(listing.lineage.attempt_count >= 11);
		for (size_t j = 0; j < listing.lineage.attempt_count; j++)
			assert_int_equal(listing.lineage.attempts[j].number, j + 1);
		fixture_stop(&f);
	}
}

static void test_the_history_is_read_again(void **state)
{
	struct fixture f;
	struct overtaking overtaking = {.fixture = &f};
	auto_(attempt_history_release) struct attempt_history history = {0};
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	atomic_store(&overtaking.left, 10);
	claim_often(&overtaking);
	storage_close(f.storage);
	fixture_open(&f);
	slow = slow_store_install(&f, NULL);
	slow->answer_get = compact_under_the_reader;
	slow->arg = &overtaking;
	atomic_store(&overtaking.left, 12);
	assert_works(storage_history(f.storage, 100, &history, NULL, &err));
	assert_int_equal(history.count, 23);
	for (size_t i = 0; i < history.count; i++)
		assert_true(history.items[i].known);
	fixture_stop(&f);
}

struct racing {
	struct fixture *fixture;
	uint32_t numbers[4][12];
};

static void race(void *arg, size_t index)
{
	struct racing *racing = arg;

	for (size_t i = 0; i < 12; i++) {
		struct storage_options options = {
			.url = racing->fixture->url,
			.job = "race",
			.create = true,
			.threads = 1,
		};
		struct claim claim = {.policy = RESTORE_LATEST};
		struct attempt attempt = {0};
		struct storage *storage;
		struct err own = {0};

		if (storage_open(&options, &storage, NULL, &own) < 0)
			return;
		if (storage_claim(storage, &claim, &attempt, NULL, &own) == 0)
			racing->numbers[index][i] = attempt.number;
		attempt_release(&attempt);
		storage_close(storage);
	}
}

/* All of them claim and sum up at the same time. */
static void test_many_at_once(void **state)
{
	struct fixture f;
	struct racing racing = {.fixture = &f};
	auto_(storage_close) struct storage *storage = NULL;
	auto_(job_listing_release) struct job_listing listing = {0};
	bool taken[400] = {0};

	(void)state;
	fixture_start(&f);
	parallel_run(4, race, &racing);
	storage = open_job(&f, "race");
	assert_works(job_records_list_lineage(storage, &listing, NULL, &err));
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 12; j++) {
			uint32_t number = racing.numbers[i][j];

			assert_in_range(number, 1, 399);
			assert_false(taken[number]);
			taken[number] = true;
		}
	/* Nobody's claim is lost, and none came twice. */
	for (size_t i = 0; i < listing.lineage.attempt_count; i++) {
		assert_int_equal(listing.lineage.attempts[i].number, i + 1);
		assert_true(listing.lineage.attempts[i].known);
		taken[i + 1] = false;
	}
	for (size_t i = 0; i < 400; i++)
		assert_false(taken[i]);
	assert_true(count_files(&f, "jobs/race/attempts") < 3 * 24);
	fixture_stop(&f);
}

/* An attempt that was killed keeps what it started from, until others have followed it. */
static void test_a_killed_attempt_keeps_its_start_for_a_while(void **state)
{
	struct fixture f;
	struct forget_request request = {.policy.keep_last = 1};
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 0; i < 20; i++) {
		fixture_write(&f, "w", 1000, i);
		fixture_take(&f);
		fixture_claim(&f);
	}
	assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
	assert_in_range(result.kept, ATTEMPT_SINGLES_LEAST, ATTEMPT_SINGLES_MOST);
	fixture_stop(&f);
}

/* --- damage --- */

static void test_a_damaged_summary(void **state)
{
	struct fixture f;
	char *path;

	(void)state;
	fixture_start(&f);
	for (int i = 0; i < 14; i++)
		fixture_claim(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	assert_int_equal(count_files(&f, "jobs/job/summaries"), 2);
	{
		auto_free char *command =
			text_format("for s in '%s'/jobs/job/summaries/*; do echo no > $s; done",
				    f.store);

		assert_int_equal(system(command), 0);
	}
	/* The newest attempts have claims of their own: what is good is still known. */
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 16);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){15, 1}), 0);
	for (int i = 0; i < 8; i++)
		fixture_claim(&f);
	assert_int_equal(f.attempt.number, 24);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){15, 1}), 0);
	/* What a newer version has written is not passed over. */
	path = fixture_find(&f, "summaries/000020");
	synthetic_write(&f, path + strlen(f.store) + 1,
			"{\"reprieve\":\"summary\",\"version\":9,\"bytes\":2,\"sha256\":\"\"}\n{}",
			strlen("{\"reprieve\":\"summary\",\"version\":9,\"bytes\":2,\"sha256\":"
			       "\"\"}\n"
			       "{}"));
	free(path);
	{
		struct claim claim = {.policy = RESTORE_LATEST};

		storage_close(f.storage);
		fixture_open(&f);
		attempt_release(&f.attempt);
		assert_fails(storage_claim(f.storage, &claim, &f.attempt, NULL, &err), ERR_VERSION);
	}
	fixture_stop(&f);
}

static int refuse_removals(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/attempts/") ? err_set(error, ERR_DENIED, "a lock keeps it") : 0;
}

/* A store that keeps everything for ever says the same, and starts go on. */
static void test_nothing_can_be_removed(void **state)
{
	struct fixture f;
	struct claim claim = {.policy = RESTORE_LATEST};

	(void)state;
	fixture_start(&f);
	for (uint32_t i = 2; i <= 30; i++) {
		fixture_claim(&f);
		storage_close(f.storage);
		fixture_open(&f);
		slow_store_install(&f, NULL)->answer_remove = refuse_removals;
		attempt_release(&f.attempt);
		assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
		i++;
		assert_int_equal(f.attempt.number, i);
	}
	fixture_stop(&f);
}

static int refuse_a_claim(struct slow_store *slow, const char *key, struct err *error)
{
	return text_ends(key, slow->arg) ? err_set(error, ERR_DENIED, "a lock hides it") : 0;
}

/* What could not be read is in no summary: so there is none, and nothing goes. */
static void test_a_record_that_cannot_be_read(void **state)
{
	static const char *const hidden[] = {"/attempts/000003.json", "/attempts/000003.end.json"};

	(void)state;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		auto_(job_listing_release) struct job_listing listing = {0};
		struct slow_store *slow;
		struct fixture f;
		size_t records;

		fixture_start(&f);
		for (uint32_t j = 1; j <= ATTEMPT_SINGLES_MOST + 2; j++)
			synthetic_attempt(&f, "summed",
					  &(struct synthetic_attempt){
						  .number = j,
						  .policy = RESTORE_NONE,
					  });
		storage_close(f.storage);
		f.storage = open_job(&f, "summed");
		assert_works(job_records_list_lineage(f.storage, &listing, NULL, &err));
		records = count_files(&f, "jobs/summed");
		slow = slow_store_install(&f, NULL);
		slow->arg = (void *)hidden[i];
		slow->answer_get = refuse_a_claim;
		assert_fails(attempt_compaction_run(f.storage, &listing, 100, NULL, &err),
			     ERR_DENIED);
		assert_int_equal(count_files(&f, "jobs/summed"), records);
		/* Once it can be read, they are summed up. */
		slow->answer_get = NULL;
		assert_works(attempt_compaction_run(f.storage, &listing, 100, NULL, &err));
		assert_int_equal(count_files(&f, "jobs/summed/summaries"), 1);
		assert_true(count_files(&f, "jobs/summed") < records);
		fixture_stop(&f);
	}
}

/* --- crashes --- */

static const char *const points[] = {
	"before_archive_put", "after_archive_put",     "before_summary_put",
	"after_summary_put",  "before_attempt_remove", "after_attempt_remove",
};

/* Returns whether it was killed. */
static bool crash(struct fixture *f, const char *point, int time)
{
	pid_t child = fork();
	char fault[64];
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		snprintf(fault, sizeof(fault), "%s:%d", point, time);
		setenv("REPRIEVE_FAULT", fault, 1);
		compact(f, "summed", 1000);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void test_killed_while_summing_up(void **state)
{
	int last = (int)effort_count("times at each point", 8, 1);

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int kills = 0;

		for (int time = 1; time <= last; time += time) {
			struct fixture f;
			uint64_t seed = 5;
			bool killed;

			fixture_start(&f);
			for (uint32_t j = 1; j <= 90; j++) {
				struct synthetic_attempt attempt = random_attempt(j, &seed);

				synthetic_attempt(&f, "summed", &attempt);
				synthetic_attempt(&f, "plain", &attempt);
				write_random_snapshots(&f, j, &seed);
			}
			killed = crash(&f, points[i], time);
			kills += killed;
			assert_same_lineage(&f, "summed", "plain");
			/* The next one goes on with it. */
			compact(&f, "summed", 1000);
			assert_same_lineage(&f, "summed", "plain");
			assert_true(count_files(&f, "jobs/summed/attempts") <=
				    3 * ATTEMPT_SINGLES_MOST);
			fixture_stop(&f);
		}
		/* A point that nothing passes proves nothing. */
		if (kills == 0)
			fail_msg("nothing got to %s", points[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_lineage_stays_the_same),
		cmocka_unit_test(test_an_old_reader_is_warned),
		cmocka_unit_test(test_starts_keep_the_store_small),
		cmocka_unit_test(test_the_history_stays_the_same),
		cmocka_unit_test(test_a_stale_claim_does_not_count),
		cmocka_unit_test(test_a_stale_record_changes_nothing),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_the_store_changes_under_a_reader),
		cmocka_unit_test(test_the_store_changes_between_two_listings),
		cmocka_unit_test(test_the_history_is_read_again),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_a_killed_attempt_keeps_its_start_for_a_while),
		cmocka_unit_test(test_a_damaged_summary),
		cmocka_unit_test(test_nothing_can_be_removed),
		cmocka_unit_test(test_a_record_that_cannot_be_read),
		cmocka_unit_test(test_killed_while_summing_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
