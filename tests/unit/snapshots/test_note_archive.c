/* The notes of old attempts are put together: a report reads the same before, after, and meanwhile.
 */
#include "slow_store.h"
#include "synthetic_history.h"

#include "storage/snapshots/note_archive.h"

#include <signal.h>
#include <sys/wait.h>

#define ALL 192
/* The newest keep their notes. */
#define OLD (ALL - NOTES_LEAST)

static void put_note(struct fixture *f, uint32_t attempt, const char *kind, unsigned part)
{
	auto_free char *text = text_format("%s %u %u\n", kind, attempt, part);
	auto_free char *key = text_format("jobs/job/notes/%06u/%s-%04u", attempt, kind, part);

	synthetic_write(f, key, text, strlen(text));
}

static void put_notes(struct fixture *f, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		put_note(f, i, "ledger", 1);
		put_note(f, i, "ledger", 2);
	}
	put_note(f, 5, "log", 1);
	put_note(f, 5, "metrics", 1);
}

/* The second part of it alone. */
static int shorten(const struct bytes *ledger, struct bytes *out, struct err *error)
{
	const uint8_t *newline = ledger->size > 0 ? memchr(ledger->data, '\n', ledger->size) : NULL;
	size_t skipped;

	if (!newline)
		return 0;
	skipped = (size_t)(newline + 1 - ledger->data);
	return bytes_append(out, newline + 1, ledger->size - skipped, error);
}

struct read_back {
	char *ledgers[ALL + 1];
};

static void take_ledger(void *arg, uint32_t attempt, const struct bytes *ledger)
{
	struct read_back *back = arg;

	assert_in_range(attempt, 1, ALL);
	free(back->ledgers[attempt]);
	back->ledgers[attempt] = text_copy_n((const char *)ledger->data, ledger->size);
}

/* Up to `archived` they are shortened. */
static void assert_ledgers(struct storage *storage, uint32_t oldest, uint32_t archived)
{
	struct read_back back = {0};

	assert_works(storage_each_ledger(storage, oldest, take_ledger, &back, NULL, &err));
	for (uint32_t i = 1; i <= ALL; i++) {
		auto_free char *whole = text_format("ledger %u 2\n", i);
		auto_free char *both = text_format("ledger %u 1\n%s", i, whole);

		if (i < oldest && !back.ledgers[i])
			continue;
		if (!back.ledgers[i])
			fail_msg("%u is not there", i);
		assert_string_equal(back.ledgers[i], i <= archived ? whole : both);
		free(back.ledgers[i]);
	}
}

static size_t count_objects(struct storage *storage, const char *below)
{
	auto_free char *prefix = text_format("jobs/job/%s", below);
	auto_(store_listing_release) struct store_listing listing = {0};

	assert_works(storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL,
							&listing, NULL, &err));
	return listing.count;
}

static void test_old_ones_are_put_together(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	assert_ledgers(f.storage, 1, 0);
	/* without a rule how to shorten, nothing goes */
	assert_works(note_archive_run(f.storage, ALL, NULL, NULL, &err));
	/* only what is summed up: too little */
	assert_works(note_archive_run(f.storage, NOTE_ARCHIVE_LEAST - 1, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "ledgers/"), 0);
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * ALL + 2);
	assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "ledgers/000001-000128.json"), 1);
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * NOTES_LEAST);
	assert_ledgers(f.storage, 1, OLD);
	assert_ledgers(f.storage, OLD + 1, OLD);
	fixture_stop(&f);
	/* no more than so many at once */
	fixture_start(&f);
	put_notes(&f, 1, ALL + 9);
	assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * (ALL + 9 - NOTE_ARCHIVE_MOST));
	fixture_stop(&f);
}

/* A store may go on listing what is empty; that must not stand before what is next. */
static void test_more_than_at_once(void **state)
{
	enum {
		RUNS = 3,
		OLDER = RUNS * NOTE_ARCHIVE_MOST
	};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (uint32_t i = 1; i <= OLDER + NOTES_LEAST; i++)
		put_note(&f, i, "ledger", 1);
	for (uint32_t i = 1; i <= RUNS; i++) {
		auto_free char *archive =
			text_format("ledgers/%06u-%06u.json", (i - 1) * NOTE_ARCHIVE_MOST + 1,
				    i * NOTE_ARCHIVE_MOST);

		assert_works(note_archive_run(f.storage, OLDER + NOTES_LEAST, shorten, NULL, &err));
		assert_int_equal(count_objects(f.storage, archive), 1);
		assert_int_equal(count_objects(f.storage, "notes/"),
				 OLDER + NOTES_LEAST - i * NOTE_ARCHIVE_MOST);
	}
	fixture_stop(&f);
}

static void test_only_what_is_summed_up(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	assert_works(note_archive_run(f.storage, 64, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "ledgers/000001-000064.json"), 1);
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * (ALL - 64));
	assert_ledgers(f.storage, 1, 64);
	/* too little again, and later enough: the ranges do not overlap */
	assert_works(note_archive_run(f.storage, 127, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "ledgers/"), 1);
	assert_works(note_archive_run(f.storage, 128, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "ledgers/000065-000128.json"), 1);
	assert_ledgers(f.storage, 1, 128);
	fixture_stop(&f);
}

/* What comes after its attempt was archived does not count, and goes. */
static void test_a_late_note(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
	put_note(&f, 7, "ledger", 3);
	assert_ledgers(f.storage, 1, OLD);
	assert_works(note_archive_run(f.storage, ALL - 1, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "notes/000007/"), 0);
	assert_int_equal(count_objects(f.storage, "ledgers/"), 1);
	assert_ledgers(f.storage, 1, OLD);
	fixture_stop(&f);
}

static void test_it_looks_once(void **state)
{
	struct fixture f;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	slow = slow_store_install(&f, NULL);
	assert_works(note_archive_run(f.storage, 90, shorten, NULL, &err));
	atomic_store(&slow->lists, 0);
	assert_works(note_archive_run(f.storage, 90, shorten, NULL, &err));
	assert_int_equal(atomic_load(&slow->lists), 0);
	fixture_stop(&f);
}

static void test_damaged_and_newer(void **state)
{
	static const char newer[] = "{\"reprieve\":\"ledgers\",\"version\":99}\n{}";
	struct fixture f;
	struct read_back back = {0};
	auto_free char *archive = NULL;
	auto_(bytes_release) struct bytes record = {0};

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
	archive = fixture_find(&f, "ledgers/000001-");
	assert_works(file_read(archive, &record, &err));
	record.data[record.size - 20] ^= 1;
	assert_works(file_write(archive, record.data, record.size, &err));
	assert_works(storage_each_ledger(f.storage, 1, take_ledger, &back, NULL, &err));
	for (uint32_t i = 1; i <= ALL; i++) {
		assert_int_equal(back.ledgers[i] != NULL, i > OLD);
		free(back.ledgers[i]);
	}
	back = (struct read_back){0};
	assert_works(file_write(archive, newer, strlen(newer), &err));
	assert_fails(storage_each_ledger(f.storage, 1, take_ledger, &back, NULL, &err),
		     ERR_VERSION);
	fixture_stop(&f);
}

/* --- several at once --- */

static void archive_as_another(struct slow_store *slow)
{
	/* Once: many threads read. */
	struct fixture *f = __atomic_exchange_n(&slow->arg, NULL, __ATOMIC_ACQ_REL);
	auto_(storage_close) struct storage *other = NULL;
	struct storage_options options = {.job = "job", .create = true};
	struct err own;

	if (!f)
		return;
	options.url = f->url;
	if (storage_open(&options, &other, NULL, &own) < 0 ||
	    note_archive_run(other, ALL, shorten, NULL, &own) < 0)
		abort();
}

static int at_the_first_notes(struct slow_store *slow, const char *prefix, struct err *error)
{
	(void)error;
	if (text_ends(prefix, "/notes/000001/"))
		archive_as_another(slow);
	return 0;
}

static int at_the_first_note(struct slow_store *slow, const char *key, struct err *error)
{
	(void)error;
	if (strstr(key, "/notes/"))
		archive_as_another(slow);
	return 0;
}

/* They are removed by another process before they are listed, or after it. */
static void test_another_is_quicker(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f;
		struct slow_store *slow;

		fixture_start(&f);
		put_notes(&f, 1, ALL);
		slow = slow_store_install(&f, NULL);
		slow->arg = &f;
		if (i == 0)
			slow->answer_list = at_the_first_notes;
		else
			slow->answer_get = at_the_first_note;
		if (i == 0)
			assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
		else
			assert_fails(note_archive_run(f.storage, ALL, shorten, NULL, &err),
				     ERR_NOT_FOUND);
		assert_null(slow->arg);
		assert_int_equal(count_objects(f.storage, "ledgers/"), 1);
		assert_ledgers(f.storage, 1, OLD);
		fixture_stop(&f);
	}
}

static void test_archived_while_being_read(void **state)
{
	struct fixture f;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	slow = slow_store_install(&f, NULL);
	slow->arg = &f;
	slow->answer_get = at_the_first_note;
	assert_ledgers(f.storage, 1, OLD);
	assert_null(slow->arg);
	fixture_stop(&f);
}

static int refuse_removal(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return err_set(error, ERR_DENIED, "%s is held", key);
}

static int refuse_archive(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/ledgers/") ? err_set(error, ERR_DENIED, "%s is held", key) : 0;
}

static void test_a_store_that_refuses(void **state)
{
	struct fixture f;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	slow = slow_store_install(&f, NULL);
	slow->answer_remove = refuse_removal;
	assert_fails(note_archive_run(f.storage, ALL, shorten, NULL, &err), ERR_DENIED);
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * ALL + 2);
	assert_ledgers(f.storage, 1, OLD);
	slow->answer_remove = NULL;
	assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * NOTES_LEAST);
	assert_int_equal(count_objects(f.storage, "ledgers/"), 1);
	assert_ledgers(f.storage, 1, OLD);
	fixture_stop(&f);
	fixture_start(&f);
	put_notes(&f, 1, ALL);
	slow = slow_store_install(&f, NULL);
	slow->answer_list = refuse_archive;
	assert_fails(note_archive_run(f.storage, ALL, shorten, NULL, &err), ERR_DENIED);
	slow->answer_list = NULL;
	assert_int_equal(count_objects(f.storage, "notes/"), 2 * ALL + 2);
	assert_ledgers(f.storage, 1, 0);
	fixture_stop(&f);
}

/* --- crashes --- */

static bool archive_and_crash(struct fixture *f, const char *point, int time)
{
	pid_t child = fork();
	char fault[64];
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		snprintf(fault, sizeof(fault), "%s:%d", point, time);
		setenv("REPRIEVE_FAULT", fault, 1);
		(void)note_archive_run(f->storage, ALL, shorten, NULL, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void test_killed_meanwhile(void **state)
{
	static const struct {
		const char *point;
		int time;
		uint32_t archived;
	} rows[] = {
		{"before_ledgers_put", 1, 0},
		{"after_ledgers_put", 1, OLD},
		{"before_note_remove", 7, OLD},
		{"after_note_remove", 30, OLD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;

		fixture_start(&f);
		put_notes(&f, 1, ALL);
		if (!archive_and_crash(&f, rows[i].point, rows[i].time))
			fail_msg("nothing got to %s", rows[i].point);
		assert_ledgers(f.storage, 1, rows[i].archived);
		/* The next one goes on with it. */
		assert_works(note_archive_run(f.storage, ALL, shorten, NULL, &err));
		assert_ledgers(f.storage, 1, OLD);
		assert_int_equal(count_objects(f.storage, "notes/"), 2 * NOTES_LEAST);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_ones_are_put_together),
		cmocka_unit_test(test_more_than_at_once),
		cmocka_unit_test(test_only_what_is_summed_up),
		cmocka_unit_test(test_a_late_note),
		cmocka_unit_test(test_it_looks_once),
		cmocka_unit_test(test_damaged_and_newer),
		cmocka_unit_test(test_another_is_quicker),
		cmocka_unit_test(test_archived_while_being_read),
		cmocka_unit_test(test_a_store_that_refuses),
		cmocka_unit_test(test_killed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
