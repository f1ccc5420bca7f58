/* What each answer of Cloud Storage means. */
#include "unit.h"

#include "base/text.h"
#include "err_kind.h"
#include "storage/gcs/gcs.h"

#define HOUR (3600 * 1000LL)

// clang-format off
static const struct {
	int status;
	const char *code;
	bool if_absent, anonymous;
	int64_t skew_ms;
	enum call_verdict verdict;
	enum err_kind kind;
} rows[] = {
	{200, "", false, false, 0, CALL_DONE, ERR_NONE},
	{206, "", false, false, HOUR, CALL_DONE, ERR_NONE},
	{204, "", false, false, 0, CALL_DONE, ERR_NONE},
	{412, "PreconditionFailed", true, false, 0, CALL_FAILED, ERR_EXISTS},
	{412, "PreconditionFailed", false, false, 0, CALL_RETRY, ERR_RETRY},
	{404, "NoSuchKey", false, false, 0, CALL_FAILED, ERR_NOT_FOUND},
	{404, "NoSuchBucket", false, false, 0, CALL_FAILED, ERR_INVALID},
	{404, "", false, false, 0, CALL_FAILED, ERR_FAILED},
	{403, "AccessDenied", false, false, 0, CALL_FAILED, ERR_DENIED},
	{403, "NoSuchKey", false, false, 0, CALL_FAILED, ERR_DENIED},
	{401, "authError", false, false, 0, CALL_REFRESH, ERR_DENIED},
	{401, "", false, false, HOUR, CALL_SKEWED, ERR_DENIED},
	{401, "", false, false, -HOUR, CALL_SKEWED, ERR_DENIED},
	{401, "", false, true, HOUR, CALL_FAILED, ERR_DENIED},
	{400, "required", false, false, 0, CALL_FAILED, ERR_INVALID},
	{400, "invalid", true, false, 0, CALL_RETRY, ERR_RETRY},
	{400, "invalid", false, false, 0, CALL_FAILED, ERR_FAILED},
	{200, "BadDigest", true, false, 0, CALL_RETRY, ERR_RETRY},
	{408, "", false, false, 0, CALL_RETRY, ERR_RETRY},
	{409, "OperationAborted", true, false, 0, CALL_RETRY, ERR_RETRY},
	{416, "InvalidRange", false, false, 0, CALL_FAILED, ERR_CORRUPT},
	{429, "SlowDown", false, false, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{500, "InternalError", true, false, 0, CALL_RETRY, ERR_RETRY},
	{503, "", false, false, 0, CALL_RETRY, ERR_RETRY},
	{501, "", false, false, 0, CALL_FAILED, ERR_FAILED},
	{307, "", false, false, 0, CALL_FAILED, ERR_FAILED},
};
// clang-format on

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_reply reply = {
			.status = rows[i].status,
			.message = "Words.",
			.facts = (rows[i].if_absent ? ASKED_PUT_IF_ABSENT : ASKED_LIST) |
				 (rows[i].anonymous ? 0 : SENT_TOKEN),
			.skew_ms = rows[i].skew_ms,
		};
		struct err err = {0};
		enum call_verdict verdict;

		text_set(reply.code, sizeof(reply.code), rows[i].code);
		verdict = store_reply_judge(&gcs_replies, &reply, &err);
		if (verdict != rows[i].verdict || err.kind != rows[i].kind)
			fail_msg("row %zu, %d %s: %d %s", i, rows[i].status, rows[i].code,
				 (int)verdict, err_kind_name(err.kind));
	}
}

/* 200 from somebody else. */
static void strangers(void **state)
{
	static const struct {
		bool is_get, is_put, is_tagged;
		enum call_verdict verdict;
	} strange[] = {
		{false, true, true, CALL_DONE},   {false, true, false, CALL_RETRY},
		{true, false, true, CALL_DONE},   {true, false, false, CALL_RETRY},
		{false, false, false, CALL_DONE}, /* a list: whoever reads it finds out */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		const struct store_reply reply = {
			.status = 200,
			.facts = (strange[i].is_get   ? ASKED_GET
				  : strange[i].is_put ? ASKED_PUT
						      : ASKED_LIST) |
				 (strange[i].is_tagged ? 0 : CAME_UNMARKED),
		};
		struct err err = {0};

		if (store_reply_judge(&gcs_replies, &reply, &err) != strange[i].verdict)
			fail_msg("row %zu: %s", i, err.text);
		assert_int_equal(err.kind, strange[i].verdict == CALL_RETRY ? ERR_RETRY : ERR_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(strangers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
