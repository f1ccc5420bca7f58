/* Which summary of the old attempts counts (FORMAT.md, "Summaries"). */
#include "slow_store.h"

#include "storage/records/records.h"

#include "base/json.h"

#define SUMMARIES "jobs/job/summaries/"
/* Far more than any listing makes: an endless one fails instead of hanging. */
#define GETS_MOST 100

/* `through` attempts, each of which began afresh. */
static void put_summary(struct fixture *f, uint32_t through)
{
	struct lineage_summary summary = {.through = through, .count = through};
	auto_free char *key = job_record_key_summary(f->storage, through);
	auto_json json_t *body = NULL;

	summary.attempts = memory_new(through * sizeof(*summary.attempts));
	for (uint32_t i = 0; i < through; i++)
		summary.attempts[i] = (struct lineage_attempt){
			.number = i + 1,
			.known = true,
			.policy = RESTORE_NONE,
		};
	body = lineage_summary_encode(&summary);
	assert_non_null(body);
	assert_works(job_record_put(f->storage->transfer.store, key, RECORD_SUMMARY, body, NULL,
				    NULL, &err));
	free(summary.attempts);
}

static void put_text(struct fixture *f, const char *name)
{
	struct store *store = f->storage->transfer.store;
	auto_free char *key = text_format(SUMMARIES "%s", name);

	assert_works(store->ops->put(store, key, "no record\n", 10, STORE_UNIQUE, NULL, &err));
}

struct answers {
	/* So many gets of a summary find nothing; of those that are made. */
	int vanished, gets;
};

static int answer_get(struct slow_store *slow, const char *key, struct err *error)
{
	struct answers *answers = slow->arg;

	if (!text_starts(key, SUMMARIES))
		return 0;
	if (++answers->gets > GETS_MOST)
		fail_msg("%s is read again and again", key);
	return answers->vanished-- > 0 ? err_set(error, ERR_NOT_FOUND, "%s", key) : 0;
}

static void test_which_summary_counts(void **state)
{
	static const struct {
		const char *name;
		uint32_t good[2];
		const char *damaged[3];
		uint32_t through, newest;
	} rows[] = {
		{"none", {0}, {NULL}, 0, 0},
		{"one", {3}, {NULL}, 3, 3},
		{"the highest number", {3, 2}, {NULL}, 3, 3},
		{"the next lower one, if it is damaged", {3, 2}, {"000005.json"}, 3, 5},
		{"the next lower one but one", {2}, {"000004.json", "000005.json"}, 2, 5},
		{"all are damaged", {0}, {"000004.json", "000005.json"}, 0, 5},
		{"what others put there is none",
		 {3},
		 {"000009.json.tmp", "note", "zeros-000000.json"},
		 3,
		 3},
		{"nothing but what others put there", {0}, {"note"}, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(job_listing_release) struct job_listing listing = {0};
		struct answers answers = {0};
		struct slow_store *slow;
		struct fixture f;

		fixture_start(&f);
		for (size_t j = 0; j < 2 && rows[i].good[j] > 0; j++)
			put_summary(&f, rows[i].good[j]);
		for (size_t j = 0; j < 3 && rows[i].damaged[j]; j++)
			put_text(&f, rows[i].damaged[j]);
		slow = slow_store_install(&f, NULL);
		slow->arg = &answers;
		slow->answer_get = answer_get;
		assert_works(job_records_list_attempts(f.storage, &listing, NULL, &err));
		if (listing.through != rows[i].through || listing.newest_summary != rows[i].newest)
			fail_msg("%s: through %u of %u", rows[i].name, listing.through,
				 listing.newest_summary);
		/* The claim of the fixture, number 1, is in a summary if there is any. */
		assert_int_equal(listing.lineage.attempt_count,
				 rows[i].through > 0 ? rows[i].through : 1);
		for (size_t j = 0; j < listing.lineage.attempt_count; j++) {
			assert_int_equal(listing.lineage.attempts[j].number, j + 1);
			assert_int_equal(listing.records[j].summarised, rows[i].through > 0);
		}
		fixture_stop(&f);
	}
}

/* Somebody has compacted the attempts since it was listed: it is looked again, but not for ever. */
static void test_a_summary_that_vanished(void **state)
{
	static const struct {
		int vanished;
		bool found;
	} rows[] = {{1, true}, {4, true}, {5, false}, {GETS_MOST, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(job_listing_release) struct job_listing listing = {0};
		struct answers answers = {.vanished = rows[i].vanished};
		struct slow_store *slow;
		struct fixture f;

		fixture_start(&f);
		put_summary(&f, 3);
		slow = slow_store_install(&f, NULL);
		slow->arg = &answers;
		slow->answer_get = answer_get;
		if (rows[i].found) {
			assert_works(job_records_list_attempts(f.storage, &listing, NULL, &err));
			assert_int_equal(listing.through, 3);
		} else {
			assert_fails(job_records_list_attempts(f.storage, &listing, NULL, &err),
				     ERR_RETRY);
			assert_non_null(strstr(err.text, SUMMARIES "000003.json"));
		}
		fixture_stop(&f);
	}
}

static int refuse_get(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return text_starts(key, SUMMARIES) ? err_set(error, ERR_FAILED, "refused") : 0;
}

/* It is not damaged: then an older one in its place would hide attempts. */
static void test_one_that_cannot_be_read(void **state)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put_summary(&f, 2);
	put_summary(&f, 3);
	slow_store_install(&f, NULL)->answer_get = refuse_get;
	assert_fails(job_records_list_attempts(f.storage, &listing, NULL, &err), ERR_FAILED);
	fixture_stop(&f);
}

/* It never changes. */
static void test_a_summary_is_read_once(void **state)
{
	struct answers answers = {0};
	struct slow_store *slow;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put_summary(&f, 3);
	slow = slow_store_install(&f, NULL);
	slow->arg = &answers;
	slow->answer_get = answer_get;
	for (int i = 0; i < 3; i++) {
		auto_(job_listing_release) struct job_listing listing = {0};

		assert_works(job_records_list_attempts(f.storage, &listing, NULL, &err));
		assert_int_equal(listing.through, 3);
	}
	assert_int_equal(answers.gets, 1);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_summary_counts),
		cmocka_unit_test(test_a_summary_that_vanished),
		cmocka_unit_test(test_one_that_cannot_be_read),
		cmocka_unit_test(test_a_summary_is_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
