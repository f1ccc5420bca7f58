/* What job_record_put() makes of a store's answers that do not fit together. */
#include "storage/records/job_records.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "err_kind.h"

#include "unit.h"

#include <string.h>

/* One object. `exists` puts are answered with ERR_EXISTS although there is nothing; `lost` ones are
 * done, and the answer is lost. */
struct teller {
	struct store store;
	struct bytes object;
	bool is_there;
	int exists, lost, puts;
};

static int teller_put(struct store *store, const char *key, const void *data, size_t size,
		      enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	struct teller *teller = (struct teller *)store;

	(void)key, (void)cancel;
	assert_int_equal(mode, STORE_IF_ABSENT);
	teller->puts++;
	if (teller->is_there || teller->exists-- > 0)
		return err_set(err, ERR_EXISTS, "it is there already");
	assert_int_equal(bytes_append(&teller->object, data, size, NULL), 0);
	teller->is_there = true;
	return teller->lost-- > 0 ? err_set(err, ERR_RETRY, "connection reset") : 0;
}

static int teller_get(struct store *store, const char *key, uint64_t offset, size_t size,
		      struct bytes *out, struct cancel *cancel, struct err *err)
{
	struct teller *teller = (struct teller *)store;

	(void)key, (void)offset, (void)size, (void)cancel;
	if (!teller->is_there)
		return err_set(err, ERR_NOT_FOUND, "there is none");
	return bytes_append(out, teller->object.data, teller->object.size, err);
}

static const struct store_ops teller_ops = {.put = teller_put, .get = teller_get};

static void table(void **state)
{
	static const struct {
		bool taken;
		int exists, lost;
		enum err_kind kind;
		int puts;
	} rows[] = {
		{false, 0, 0, ERR_NONE, 1},
		{true, 0, 0, ERR_EXISTS, 1}, /* another's */
		{false, 0, 1, ERR_NONE, 1},  /* ours, as is seen when it is read back */
		{false, 1, 0, ERR_NONE, 2},  /* nothing was there after all */
		{false, 1, 1, ERR_NONE, 2},
		{false, 9, 0, ERR_RETRY, 2}, /* never final: nobody else has it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct teller teller = {
			.store.ops = &teller_ops,
			.is_there = rows[i].taken,
			.exists = rows[i].exists,
			.lost = rows[i].lost,
		};
		auto_json json_t *body = json_pack("{s:s}", "nonce", "x");
		struct err err = {0};

		if (rows[i].taken)
			assert_int_equal(bytes_append(&teller.object, "other", 5, NULL), 0);
		if (job_record_put(&teller.store, "k", RECORD_FORMAT, body, NULL, NULL, &err) !=
			    (rows[i].kind == ERR_NONE ? 0 : -1) ||
		    err.kind != rows[i].kind || teller.puts != rows[i].puts)
			fail_msg("row %zu: %s after %d puts: %s", i, err_kind_name(err.kind),
				 teller.puts, err.text);
		bytes_release(&teller.object);
	}
}

/* Whoever can write to the store could have its readers run out of memory: as JSON, a record is
 * many times as large. */
static void long_records(void **state)
{
	static const enum record_kind small[] = {RECORD_FORMAT,   RECORD_ATTEMPT, RECORD_END,
						 RECORD_PIN,      RECORD_DRAIN,   RECORD_SWEPT,
						 RECORD_CONFIRMED};
	auto_free char *text = memory_new((2 << 20) + 1);
	auto_json json_t *body = NULL;

	(void)state;
	memset(text, 'x', 2 << 20);
	body = json_pack("{s:s}", "long", text);
	for (size_t i = 0; i <= sizeof(small) / sizeof(small[0]); i++) {
		bool is_manifest = i == sizeof(small) / sizeof(small[0]);
		enum record_kind kind = is_manifest ? RECORD_SNAPSHOT : small[i];
		struct teller teller = {.store.ops = &teller_ops, .is_there = true};
		auto_json json_t *read = NULL;
		struct err err = {0};

		assert_int_equal(record_encode(kind, body, &teller.object, &err), 0);
		if (is_manifest) {
			assert_int_equal(job_record_get(&teller.store, "k", kind, &read, NULL,
							&err),
					 0);
			teller.store.manifest_most = 1 << 20;
		}
		json_decref(read);
		read = NULL;
		assert_int_equal(job_record_get(&teller.store, "k", kind, &read, NULL, &err), -1);
		assert_int_equal(err.kind, is_manifest ? ERR_FAILED : ERR_CORRUPT);
		assert_true(!is_manifest || strstr(err.text, "--memory"));
		bytes_release(&teller.object);
		/* Nor is one written that cannot be read. */
		teller.is_there = false;
		assert_int_equal(job_record_put(&teller.store, "k", kind, body, NULL, NULL, &err),
				 -1);
		assert_int_equal(teller.puts, 0);
	}
	assert_true(record_manifest_most(0) > 300 << 20);
	assert_true(record_manifest_most(32 << 20) < 100 << 20);
	assert_true(record_manifest_most(UINT64_MAX) > record_manifest_most(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(long_records)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
