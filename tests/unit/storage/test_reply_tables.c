/* The tables of the stores: each row is reached by some reply, so that none stands behind one that
 * takes all of its replies away. */
#include "storage/azure/azure.h"
#include "storage/gcs/gcs.h"
#include "storage/s3/s3.h"

#include "base/text.h"

#include "unit.h"

/* Everything that may be asked, with all that may be known besides. */
static const unsigned asked[] = {
	ASKED_PUT, ASKED_PUT_IF_ABSENT, ASKED_GET, ASKED_GET_REST, ASKED_LIST, ASKED_REMOVE,
};

enum {
	BESIDES = SENT_TOKEN | SENT_SKEWED | CAME_UNMARKED | CAME_ERROR | CAME_PAGE | CAME_BODY,
};

/* A reply with this status and a code: the row's own, or one that no row knows. */
static bool is_reached_with(const struct reply_table *table, size_t row, int status)
{
	const char *code = table->rows[row].code;
	struct store_reply reply = {.status = status};

	text_set(reply.code, sizeof(reply.code), code ? code : "Unknown");
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		for (unsigned more = BESIDES;; more = (more - 1) & BESIDES) {
			reply.facts = asked[i] | more;
			if (store_reply_find_row(table, &reply) == row)
				return true;
			if (more == 0)
				break;
		}
	return false;
}

static void check_table(const char *name, const struct reply_table *table)
{
	const struct reply_row *last = &table->rows[table->count - 1];

	for (size_t row = 0; row < table->count; row++) {
		const struct reply_row *at = &table->rows[row];
		bool reached = false;

		for (int status = 100; status < 700 && !reached; status++)
			reached = is_reached_with(table, row, status);
		if (!reached)
			fail_msg("%s: no reply reaches row %zu (%d %s)", name, row, at->status,
				 at->code ? at->code : "");
		assert_int_equal(at->verdict == CALL_DONE, at->kind == ERR_NONE);
	}
	assert_true(last->status == STATUS_ANY && !last->code && !last->when);
	assert_int_equal(last->verdict, CALL_FAILED);
}

static void every_row_is_reached(void **state)
{
	(void)state;
	check_table("s3", &s3_replies);
	check_table("gcs", &gcs_replies);
	check_table("azure", &azure_blob_replies);
}

/* The test itself: a row behind one that takes its replies is found. */
static void a_shadowed_row_is_found(void **state)
{
	static const struct reply_row rows[] = {
		{404, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
		{404, "NoSuchKey", ASKED_GET, CALL_FAILED, ERR_NOT_FOUND, NULL},
		{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
	};
	static const struct reply_table table = {rows, sizeof(rows) / sizeof(rows[0]), 0};

	(void)state;
	assert_true(is_reached_with(&table, 0, 404));
	assert_false(is_reached_with(&table, 1, 404));
	assert_true(is_reached_with(&table, 2, 405));
}

/* What the contract of object_store.h says of error kinds. */
static void kinds_keep_the_contract(void **state)
{
	static const struct reply_table *const tables[] = {&s3_replies, &gcs_replies,
							   &azure_blob_replies};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t row = 0; row < tables[i]->count; row++) {
			const struct reply_row *at = &tables[i]->rows[row];

			if (at->kind == ERR_EXISTS)
				assert_int_equal(at->when, ASKED_PUT_IF_ABSENT);
			if (at->kind == ERR_NOT_FOUND)
				assert_non_null(at->code);
			if (at->verdict == CALL_RETRY || at->verdict == CALL_SLOW_DOWN)
				assert_int_equal(at->kind, ERR_RETRY);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_reached),
		cmocka_unit_test(a_shadowed_row_is_found),
		cmocka_unit_test(kinds_keep_the_contract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
