/* The tables of the stores: each row is reached by some reply, so that none stands behind one that
 * takes all of its replies away; and what each answer of Azure and Google means (S3:
 * test_s3_reply.c). */
#include "storage/azure/azure.h"
#include "storage/gcs/gcs.h"
#include "storage/s3/s3.h"

#include "base/text.h"
#include "err_kind.h"

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

#define HOUR (3600 * 1000LL)
#define DAY (24 * HOUR)

// clang-format off
static const struct {
	const struct reply_table *table;
	int status;
	const char *code;
	unsigned facts;
	int64_t skew_ms;
	enum call_verdict verdict;
	enum err_kind kind;
} replies[] = {
	{&azure_blob_replies, 200, "", ASKED_LIST, 0, CALL_DONE, ERR_NONE},
	{&azure_blob_replies, 201, "", ASKED_PUT_IF_ABSENT, DAY, CALL_DONE, ERR_NONE},
	{&azure_blob_replies, 409, "BlobAlreadyExists", ASKED_PUT_IF_ABSENT, 0, CALL_FAILED, ERR_EXISTS},
	{&azure_blob_replies, 412, "ConditionNotMet", ASKED_PUT_IF_ABSENT, 0, CALL_FAILED, ERR_EXISTS},
	{&azure_blob_replies, 409, "BlobAlreadyExists", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 412, "LeaseIdMissing", ASKED_PUT_IF_ABSENT, 0, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 409, "BlobImmutableDueToPolicy", ASKED_LIST, 0, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 409, "ContainerBeingDeleted", ASKED_PUT_IF_ABSENT, 0, CALL_FAILED, ERR_INVALID},
	{&azure_blob_replies, 404, "BlobNotFound", ASKED_LIST, 0, CALL_FAILED, ERR_NOT_FOUND},
	{&azure_blob_replies, 404, "ContainerNotFound", ASKED_LIST, 0, CALL_FAILED, ERR_INVALID},
	{&azure_blob_replies, 404, "ResourceNotFound", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 404, "", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 403, "AuthenticationFailed", ASKED_LIST, 0, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 403, "AuthenticationFailed", ASKED_LIST, DAY, CALL_SKEWED, ERR_DENIED},
	{&azure_blob_replies, 403, "AuthenticationFailed", ASKED_LIST, -DAY, CALL_SKEWED, ERR_DENIED},
	{&azure_blob_replies, 403, "AuthorizationPermissionMismatch", ASKED_LIST | SENT_TOKEN, DAY, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 403, "", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 401, "InvalidAuthenticationInfo", ASKED_LIST | SENT_TOKEN, 0, CALL_REFRESH, ERR_DENIED},
	{&azure_blob_replies, 401, "NoAuthenticationInformation", ASKED_LIST, 0, CALL_FAILED, ERR_DENIED},
	{&azure_blob_replies, 400, "Md5Mismatch", ASKED_LIST, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 400, "InvalidHeaderValue", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 408, "", ASKED_LIST, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 416, "InvalidRange", ASKED_LIST, 0, CALL_FAILED, ERR_CORRUPT},
	{&azure_blob_replies, 429, "", ASKED_LIST, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{&azure_blob_replies, 500, "OperationTimedOut", ASKED_LIST, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 500, "InternalError", ASKED_PUT_IF_ABSENT, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 502, "", ASKED_LIST, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 503, "ServerBusy", ASKED_LIST, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{&azure_blob_replies, 501, "NotImplemented", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 301, "", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 0, "", ASKED_LIST, 0, CALL_FAILED, ERR_FAILED},
	{&azure_blob_replies, 201, "", ASKED_PUT, 0, CALL_DONE, ERR_NONE},
	{&azure_blob_replies, 200, "", ASKED_PUT, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 201, "", ASKED_PUT | CAME_UNMARKED, 0, CALL_RETRY, ERR_RETRY},
	{&azure_blob_replies, 202, "", ASKED_LIST, 0, CALL_DONE, ERR_NONE},
	{&azure_blob_replies, 200, "", ASKED_LIST | CAME_UNMARKED, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 200, "", ASKED_LIST | SENT_TOKEN, 0, CALL_DONE, ERR_NONE},
	{&gcs_replies, 206, "", ASKED_LIST | SENT_TOKEN, HOUR, CALL_DONE, ERR_NONE},
	{&gcs_replies, 204, "", ASKED_LIST | SENT_TOKEN, 0, CALL_DONE, ERR_NONE},
	{&gcs_replies, 412, "PreconditionFailed", ASKED_PUT_IF_ABSENT | SENT_TOKEN, 0, CALL_FAILED, ERR_EXISTS},
	{&gcs_replies, 412, "PreconditionFailed", ASKED_LIST | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 404, "NoSuchKey", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_NOT_FOUND},
	{&gcs_replies, 404, "NoSuchBucket", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_INVALID},
	{&gcs_replies, 404, "", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_FAILED},
	{&gcs_replies, 403, "AccessDenied", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_DENIED},
	{&gcs_replies, 403, "NoSuchKey", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_DENIED},
	{&gcs_replies, 401, "authError", ASKED_LIST | SENT_TOKEN, 0, CALL_REFRESH, ERR_DENIED},
	{&gcs_replies, 401, "", ASKED_LIST | SENT_TOKEN, HOUR, CALL_SKEWED, ERR_DENIED},
	{&gcs_replies, 401, "", ASKED_LIST | SENT_TOKEN, -HOUR, CALL_SKEWED, ERR_DENIED},
	{&gcs_replies, 401, "", ASKED_LIST, HOUR, CALL_FAILED, ERR_DENIED},
	{&gcs_replies, 400, "required", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_INVALID},
	{&gcs_replies, 400, "invalid", ASKED_PUT_IF_ABSENT | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 400, "invalid", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_FAILED},
	{&gcs_replies, 200, "BadDigest", ASKED_PUT_IF_ABSENT | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 408, "", ASKED_LIST | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 409, "OperationAborted", ASKED_PUT_IF_ABSENT | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 416, "InvalidRange", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_CORRUPT},
	{&gcs_replies, 429, "SlowDown", ASKED_LIST | SENT_TOKEN, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{&gcs_replies, 500, "InternalError", ASKED_PUT_IF_ABSENT | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 503, "", ASKED_LIST | SENT_TOKEN, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 501, "", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_FAILED},
	{&gcs_replies, 307, "", ASKED_LIST | SENT_TOKEN, 0, CALL_FAILED, ERR_FAILED},
	{&gcs_replies, 200, "", ASKED_PUT, 0, CALL_DONE, ERR_NONE},
	{&gcs_replies, 200, "", ASKED_PUT | CAME_UNMARKED, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 200, "", ASKED_GET, 0, CALL_DONE, ERR_NONE},
	{&gcs_replies, 200, "", ASKED_GET | CAME_UNMARKED, 0, CALL_RETRY, ERR_RETRY},
	{&gcs_replies, 200, "", ASKED_LIST | CAME_UNMARKED, 0, CALL_DONE, ERR_NONE},
};
// clang-format on

static void what_each_answer_means(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		struct store_reply reply = {
			.status = replies[i].status,
			.message = "Words.",
			.facts = replies[i].facts,
			.skew_ms = replies[i].skew_ms,
		};
		struct err err = {0};
		enum call_verdict verdict;

		text_set(reply.code, sizeof(reply.code), replies[i].code);
		verdict = store_reply_judge(replies[i].table, &reply, &err);
		if (verdict != replies[i].verdict || err.kind != replies[i].kind)
			fail_msg("row %zu, %d %s: %d %s", i, reply.status, reply.code, (int)verdict,
				 err_kind_name(err.kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_reached),
		cmocka_unit_test(a_shadowed_row_is_found),
		cmocka_unit_test(kinds_keep_the_contract),
		cmocka_unit_test(what_each_answer_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
