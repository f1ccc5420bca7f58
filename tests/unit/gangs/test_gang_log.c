/* The log of a gang's attempt: of two that append, one wins; what a lost answer hid is found; what
 * a newer version wrote is refused. */
#include "storage_fixture.h"

#include "base/json.h"
#include "err_kind.h"
#include "storage/gangs/gang_records.h"
#include "storage/records/job_records.h"

static struct gang_event event_of(uint32_t number, enum gang_event_kind kind, uint32_t member)
{
	return (struct gang_event){.number = number, .kind = kind, .member = member};
}

static bool append(struct storage *storage, struct gang_event *event)
{
	bool taken = false;

	assert_works(storage_gang_append(storage, 1, event, &taken, NULL, &err));
	return taken;
}

static bool read_event(struct storage *storage, uint32_t number, struct gang_event *event)
{
	bool there = true;

	assert_works(storage_gang_read(storage, 1, number, event, &there, NULL, &err));
	return there;
}

/* --- the records --- */

static const struct gang_event kinds[] = {
	{.kind = GANG_EVENT_GO},
	{.kind = GANG_EVENT_OVER, .member = 3, .host = "node-7"},
	{.kind = GANG_EVENT_ROUND, .member = 1, .step = 500},
	{.kind = GANG_EVENT_ROUND, .step = 0, .at_least = true},
	{.kind = GANG_EVENT_ROUND, .step = -1},
	{.kind = GANG_EVENT_ROUND, .step = 60, .answers = 44},
	{.kind = GANG_EVENT_ANSWERS, .member = 1, .round = 44, .answers = 50},
	{.kind = GANG_EVENT_PASSED, .member = 2, .round = 4, .step = 510},
	{.kind = GANG_EVENT_LEFT_OUT, .round = 8, .step = INT64_MAX, .reason = "it is gone"},
	{.kind = GANG_EVENT_REQUEST, .member = 1, .reason = "reprieve checkpoint"},
	{.kind = GANG_EVENT_NOTICE, .member = 5, .left_ms = 30000, .reason = "spot", .host = "a"},
	{.kind = GANG_EVENT_ENDED, .member = STORAGE_GANG_MOST - 1, .code = 139},
	{.kind = GANG_EVENT_ENDED, .member = 1, .more = true},
	{.kind = GANG_EVENT_GOES_ON, .member = 1},
	{.kind = GANG_EVENT_LEAVING, .member = 2, .left_ms = 30000, .reason = "spot"},
	{.kind = GANG_EVENT_GONE, .member = 2},
	{.kind = GANG_EVENT_GONE, .member = 3, .saves = true, .step = 40},
	{.kind = GANG_EVENT_GONE, .member = 3, .saves = true, .step = -1},
};

static void every_kind_comes_back(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct gang_event event = kinds[i], found;

		event.number = i + 100;
		assert_true(append(f.storage, &event));
		assert_int_equal(strlen(event.nonce), 32);
		assert_true(event.host[0]);
		if (kinds[i].host[0])
			assert_string_equal(event.host, kinds[i].host);
		memset(&found, 0x5a, sizeof(found));
		assert_true(read_event(f.storage, i + 100, &found));
		assert_true(gang_event_equal(&event, &found));
		found.nonce[0] ^= 1;
		assert_false(gang_event_equal(&event, &found));
	}
	fixture_stop(&f);
}

static void nothing_is_there_yet(void **state)
{
	struct fixture f;
	struct gang_event event = event_of(1, GANG_EVENT_GO, 0);
	bool committed = true;

	(void)state;
	fixture_start(&f);
	assert_false(read_event(f.storage, 1, &event));
	assert_true(append(f.storage, &event));
	assert_false(read_event(f.storage, 2, &event));
	assert_works(storage_gang_is_committed(f.storage, 1, 1, &committed, NULL, &err));
	assert_false(committed);
	fixture_write(&f, "w", 1, 1);
	fixture_take(&f);
	assert_works(storage_gang_is_committed(f.storage, 1, 1, &committed, NULL, &err));
	assert_true(committed);
	fixture_stop(&f);
}

static void put_body(struct fixture *f, uint32_t number, json_t *body)
{
	auto_free char *path =
		text_format("%s/jobs/job/gang/000001/log/%06u.json", f->store, number);
	auto_free char *parent = text_format("%s/jobs/job/gang/000001/log", f->store);
	auto_(bytes_release) struct bytes record = {0};
	auto_close int fd = -1;

	assert_non_null(body);
	assert_works(record_encode(RECORD_EVENT, body, &record, &err));
	assert_works(file_make_directories(parent, 0755, &err));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_works(file_write_all(fd, record.data, record.size, &err));
	json_decref(body);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *other;
		enum err_kind kind;
	} rows[] = {
		{"", ERR_NONE},
		{"'kind':'later'", ERR_VERSION},
		{"'attempt':2", ERR_CORRUPT},
		{"'number':6", ERR_CORRUPT},
		{"'member':16384", ERR_CORRUPT},
		{"'member':null", ERR_CORRUPT},
		{"'kind':null", ERR_CORRUPT},
		{"'step':-2", ERR_CORRUPT},
		{"'kind':'round','word':'passed'", ERR_CORRUPT},
		{"'kind':'round','word':'passed','round':7", ERR_CORRUPT},
		{"'kind':'round','word':'passed','round':6", ERR_NONE},
		{"'answers':7", ERR_CORRUPT},
		{"'code':4294967296", ERR_CORRUPT},
	};
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *text = text_format("{%s}", rows[i].other);
		auto_json json_t *other = NULL;
		json_t *body =
			json_pack("{s:i, s:i, s:s, s:i, s:i, s:i, s:i}", "attempt", 1, "number", 7,
				  "kind", "go", "member", 0, "round", 0, "answers", 0, "code", 0);
		struct gang_event event;
		bool there;
		int result;

		for (char *at = text; *at; at++)
			if (*at == '\'')
				*at = '"';
		other = json_parse(text, strlen(text), &err);
		assert_int_equal(json_object_update(body, other), 0);
		put_body(&f, 7, body);
		err = (struct err){0};
		result = storage_gang_read(f.storage, 1, 7, &event, &there, NULL, &err);
		if (err.kind != rows[i].kind || (result < 0) != (rows[i].kind != ERR_NONE))
			fail_msg("%s: %s: %s", rows[i].other, err_kind_name(err.kind), err.text);
		if (rows[i].kind == ERR_VERSION)
			assert_non_null(strstr(err.text, "another version"));
		/* It is not one's own, whatever it is. */
		event = event_of(7, GANG_EVENT_GO, 0);
		assert_false(append(f.storage, &event));
	}
	fixture_stop(&f);
}

/* --- lost answers --- */

/* Hands everything to a real store. Puts are done, and then said to have failed; the answer to the
 * reading after them is lost too. */
struct deaf {
	struct store store;
	struct store *real;
	int lost_puts, lost_gets;
};

static int deaf_put(struct store *store, const char *key, const void *data, size_t size,
		    enum store_put_mode mode, struct cancel *cancel, struct err *failure)
{
	struct deaf *deaf = (struct deaf *)store;
	int result = deaf->real->ops->put(deaf->real, key, data, size, mode, cancel, failure);

	if (deaf->lost_puts == 0)
		return result;
	deaf->lost_puts--;
	return err_set(failure, ERR_RETRY, "connection reset");
}

static int deaf_get(struct store *store, const char *key, uint64_t offset, size_t size,
		    struct bytes *out, struct cancel *cancel, struct err *failure)
{
	struct deaf *deaf = (struct deaf *)store;

	if (deaf->lost_gets == 0)
		return deaf->real->ops->get(deaf->real, key, offset, size, out, cancel, failure);
	deaf->lost_gets--;
	return err_set(failure, ERR_RETRY, "connection reset");
}

static const struct store_ops deaf_ops = {.put = deaf_put, .get = deaf_get};

static void a_lost_answer_is_resolved(void **state)
{
	struct fixture f;
	struct deaf deaf = {.store.ops = &deaf_ops, .lost_puts = 1};
	struct gang_event event = event_of(1, GANG_EVENT_REQUEST, 4), other, found;
	bool taken;

	(void)state;
	fixture_start(&f);
	deaf.real = f.storage->transfer.store;
	f.storage->transfer.store = &deaf.store;
	/* It is read back at once. */
	assert_true(append(f.storage, &event));
	/* It cannot be; the caller asks again with the same event. */
	event = event_of(2, GANG_EVENT_REQUEST, 4);
	deaf.lost_puts = deaf.lost_gets = 1;
	assert_fails(storage_gang_append(f.storage, 1, &event, &taken, NULL, &err), ERR_RETRY);
	assert_false(taken);
	assert_true(append(f.storage, &event));
	/* What equals it in all but the nonce is another one's, and so is what it has become. */
	other = event_of(2, GANG_EVENT_REQUEST, 4);
	assert_false(append(f.storage, &other));
	other = event;
	other.kind = GANG_EVENT_NOTICE;
	assert_false(append(f.storage, &other));
	/* Who has the number is not known: an error, not an answer. */
	event = event_of(2, GANG_EVENT_REQUEST, 5);
	deaf.lost_gets = 2;
	assert_fails(storage_gang_append(f.storage, 1, &event, &taken, NULL, &err), ERR_RETRY);
	deaf.lost_gets = 1;
	assert_fails(storage_gang_read(f.storage, 1, 2, &found, &taken, NULL, &err), ERR_RETRY);
	assert_fails((deaf.lost_gets = 1,
		      storage_gang_is_committed(f.storage, 1, 1, &taken, NULL, &err)),
		     ERR_RETRY);
	f.storage->transfer.store = deaf.real;
	fixture_stop(&f);
}

/* --- who is missing --- */

static void put_part(struct fixture *f, const char *name)
{
	auto_free char *key = text_format("jobs/job/parts/000001/000007/%s", name);
	struct store *store = f->storage->transfer.store;

	assert_works(store->ops->put(store, key, "x", 1, STORE_IF_ABSENT, NULL, &err));
}

static void who_has_given_no_part(void **state)
{
	static const char *const names[] = {"00001.json", "00003.json", "00000.json", "00002.text"};
	static const bool wanted[] = {true, true, false};
	struct fixture f;
	bool given[3];

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_part(&f, names[i]);
	assert_works(storage_gang_given(f.storage, 1, 7, 3, given, NULL, &err));
	assert_memory_equal(given, wanted, sizeof(given));
	assert_works(storage_gang_given(f.storage, 1, 8, 3, given, NULL, &err));
	assert_false(given[0] || given[1] || given[2]);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_comes_back),
		cmocka_unit_test(nothing_is_there_yet),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(a_lost_answer_is_resolved),
		cmocka_unit_test(who_has_given_no_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
