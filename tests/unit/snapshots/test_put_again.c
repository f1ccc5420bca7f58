/* A manifest is put, and its answer is lost: whether it is put once more, what the store has then,
 * and what is told. */
#include "err_kind.h"
#include "slow_store.h"

/* What happens between the put and its answer. */
struct between {
	struct fixture *f;
	/* The manifest has not come there. */
	bool is_lost;
	/* A newer attempt is claimed, and ends; so many more behind it. Each saves one snapshot and
	 * forgets all but that. */
	unsigned attempts;
	/* What the put is answered. */
	enum err_kind answer;
	unsigned puts;
};

static void remove_manifest(struct fixture *f)
{
	auto_free char *path = fixture_find(f, "/snapshots/000001-000002");

	assert_int_equal(unlink(path), 0);
}

/* As another machine does it. */
static void run_newer_attempt(struct fixture *f)
{
	struct fixture other = *f;
	struct forget_request request = {.policy.keep_last = 1, .garbage_age_ms = 1};
	struct forget_result result;
	auto_free char *age =
		text_format("find '%s/jobs' -path '*/packs/*' -exec touch -d '2 days ago' '{}' +",
			    f->store);

	other.storage = NULL;
	other.attempt = (struct attempt){0};
	fixture_claim(&other);
	fixture_write(&other, "w", 1000, 100 + other.attempt.number);
	fixture_take(&other);
	assert_int_equal(system(age), 0);
	request.attempt = other.attempt.number;
	assert_works(storage_forget(other.storage, &request, &result, NULL, &err));
	assert_works(storage_end_attempt(other.storage, other.attempt.number, "finished", NULL,
					 NULL, &err));
	storage_close(other.storage);
	attempt_release(&other.attempt);
}

static int lose_answer(struct slow_store *slow, const char *key, struct err *error)
{
	struct between *between = slow->arg;

	if (!strstr(key, "/snapshots/") || between->puts++ > 0)
		return 0;
	if (between->is_lost)
		remove_manifest(between->f);
	for (unsigned i = 0; i < between->attempts; i++)
		run_newer_attempt(between->f);
	return between->answer == ERR_NONE ? 0 : err_set(error, between->answer, "no answer");
}

static int count_manifests(struct fixture *f)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	int found = 0;

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	for (size_t i = 0; i < list.count; i++)
		found += snapshot_id_compare(list.items[i].id, (struct snapshot_id){1, 2}) == 0;
	return found;
}

/* The second snapshot of the first attempt. */
static void test_put_again(void **state)
{
	static const struct {
		bool is_lost;
		unsigned attempts;
		enum err_kind answer, told;
		unsigned puts;
		int there;
	} rows[] = {
		/* It is there. */
		{false, 0, ERR_RETRY, ERR_NONE, 1, 1},
		{false, 0, ERR_EXISTS, ERR_NONE, 1, 1},
		{false, 1, ERR_RETRY, ERR_NONE, 1, 1},
		/* It was not put, and nobody has come meanwhile. */
		{true, 0, ERR_RETRY, ERR_NONE, 2, 1},
		{true, 0, ERR_EXISTS, ERR_NONE, 2, 1},
		/* Somebody has: it stays as it is. */
		{true, 1, ERR_RETRY, ERR_EXISTS, 1, 0},
		{true, 1, ERR_EXISTS, ERR_EXISTS, 1, 0},
		{true, 2, ERR_RETRY, ERR_EXISTS, 1, 0},
		/* The next attempt has started from it, and the one after that has removed it. */
		{false, 2, ERR_RETRY, ERR_NONE, 1, 0},
		{false, 2, ERR_EXISTS, ERR_NONE, 1, 0},
		/* It came behind the newer claim, and was removed before this one has looked. */
		{true, 1, ERR_NONE, ERR_EXISTS, 1, 0},
		/* No other answer is a reason to put it again. */
		{true, 0, ERR_DENIED, ERR_DENIED, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct between between = {
			.f = &f,
			.is_lost = rows[i].is_lost,
			.attempts = rows[i].attempts,
			.answer = rows[i].answer,
		};
		struct slow_store *slow;
		struct save_result result;
		struct err told;
		int status, there;

		fixture_start(&f);
		fixture_write(&f, "w", 1000, 1);
		fixture_take(&f);
		fixture_write(&f, "w", 1000, 2);
		slow = slow_store_install(&f, NULL);
		slow->answer_record = lose_answer;
		slow->arg = &between;
		err = (struct err){0};
		status = fixture_try_take(&f, &result);
		told = err;
		there = count_manifests(&f);
		if (status != (rows[i].told == ERR_NONE ? 0 : -1) ||
		    (status < 0 && told.kind != rows[i].told) || between.puts != rows[i].puts ||
		    there != rows[i].there)
			fail_msg("row %zu: %s after %u puts, %d there: %s", i,
				 err_kind_name(told.kind), between.puts, there, told.text);
		assert_int_equal(fixture_damages(&f), 0);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_put_again)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
