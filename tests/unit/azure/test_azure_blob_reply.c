/* What each answer of Azure Blob Storage means. */
#include "unit.h"

#include "base/text.h"
#include "err_kind.h"
#include "storage/azure/azure.h"

#define DAY (24 * 3600 * 1000LL)

// clang-format off
static const struct {
	int status;
	const char *code;
	bool if_absent, bearer;
	int64_t skew_ms;
	enum call_verdict verdict;
	enum err_kind kind;
} rows[] = {
	{200, "", false, false, 0, CALL_DONE, ERR_NONE},
	{201, "", true, false, DAY, CALL_DONE, ERR_NONE},
	{409, "BlobAlreadyExists", true, false, 0, CALL_FAILED, ERR_EXISTS},
	{412, "ConditionNotMet", true, false, 0, CALL_FAILED, ERR_EXISTS},
	{409, "BlobAlreadyExists", false, false, 0, CALL_FAILED, ERR_FAILED},
	{412, "LeaseIdMissing", true, false, 0, CALL_FAILED, ERR_DENIED},
	{409, "BlobImmutableDueToPolicy", false, false, 0, CALL_FAILED, ERR_DENIED},
	{409, "ContainerBeingDeleted", true, false, 0, CALL_FAILED, ERR_INVALID},
	{404, "BlobNotFound", false, false, 0, CALL_FAILED, ERR_NOT_FOUND},
	{404, "ContainerNotFound", false, false, 0, CALL_FAILED, ERR_INVALID},
	{404, "ResourceNotFound", false, false, 0, CALL_FAILED, ERR_FAILED},
	{404, "", false, false, 0, CALL_FAILED, ERR_FAILED},
	{403, "AuthenticationFailed", false, false, 0, CALL_FAILED, ERR_DENIED},
	{403, "AuthenticationFailed", false, false, DAY, CALL_SKEWED, ERR_DENIED},
	{403, "AuthenticationFailed", false, false, -DAY, CALL_SKEWED, ERR_DENIED},
	{403, "AuthorizationPermissionMismatch", false, true, DAY, CALL_FAILED, ERR_DENIED},
	{403, "", false, true, 0, CALL_FAILED, ERR_DENIED},
	{401, "InvalidAuthenticationInfo", false, true, 0, CALL_REFRESH, ERR_DENIED},
	{401, "NoAuthenticationInformation", false, false, 0, CALL_FAILED, ERR_DENIED},
	{400, "Md5Mismatch", false, false, 0, CALL_RETRY, ERR_RETRY},
	{400, "InvalidHeaderValue", false, false, 0, CALL_FAILED, ERR_FAILED},
	{408, "", false, false, 0, CALL_RETRY, ERR_RETRY},
	{416, "InvalidRange", false, false, 0, CALL_FAILED, ERR_CORRUPT},
	{429, "", false, false, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{500, "OperationTimedOut", false, false, 0, CALL_RETRY, ERR_RETRY},
	{500, "InternalError", true, false, 0, CALL_RETRY, ERR_RETRY},
	{502, "", false, false, 0, CALL_RETRY, ERR_RETRY},
	{503, "ServerBusy", false, false, 0, CALL_SLOW_DOWN, ERR_RETRY},
	{501, "NotImplemented", false, false, 0, CALL_FAILED, ERR_FAILED},
	{301, "", false, false, 0, CALL_FAILED, ERR_FAILED},
	{0, "", false, false, 0, CALL_FAILED, ERR_FAILED},
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
				 (rows[i].bearer ? SENT_TOKEN : 0),
			.skew_ms = rows[i].skew_ms,
		};
		struct err err = {0};
		enum call_verdict verdict;

		text_set(reply.code, sizeof(reply.code), rows[i].code);
		verdict = store_reply_judge(&azure_blob_replies, &reply, &err);
		if (verdict != rows[i].verdict || err.kind != rows[i].kind)
			fail_msg("row %zu, %d %s: %d %s", i, rows[i].status, rows[i].code,
				 (int)verdict, err_kind_name(err.kind));
	}
}

/* Success from somebody else. */
static void strangers(void **state)
{
	static const struct {
		int status;
		bool is_put, is_identified;
		enum call_verdict verdict;
	} strange[] = {
		{201, true, true, CALL_DONE},   {200, true, true, CALL_RETRY},
		{201, true, false, CALL_RETRY}, {200, false, true, CALL_DONE},
		{202, false, true, CALL_DONE},  {200, false, false, CALL_RETRY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		const struct store_reply reply = {
			.status = strange[i].status,
			.facts = (strange[i].is_put ? ASKED_PUT : ASKED_LIST) |
				 (strange[i].is_identified ? 0 : CAME_UNMARKED),
		};
		struct err err = {0};

		if (store_reply_judge(&azure_blob_replies, &reply, &err) != strange[i].verdict)
			fail_msg("row %zu: %s", i, err.text);
		assert_int_equal(err.kind, strange[i].verdict == CALL_RETRY ? ERR_RETRY : ERR_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(strangers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
