#include "azure_blob_reply.h"

// clang-format off
/* Codes: "Blob service error codes" and "Common REST API error codes" of Microsoft's manual. */
static const struct reply_row rows[] = {
	{STATUS_GOOD, NULL, CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	/* "Put Blob" is answered with 201 and nothing else. */
	{201, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{STATUS_GOOD, NULL, ASKED_PUT, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{404, "BlobNotFound", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{404, "BlobNotFound", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{404, "ContainerNotFound", 0, CALL_FAILED, ERR_INVALID,
		"there is no such container: make it, or correct its name"},
	{404, "ContainerBeingDeleted", 0, CALL_FAILED, ERR_INVALID, NULL},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, "the blob is shorter than it was"},
	/* If-None-Match: * is answered with 409; 412 is what other conditions get, and there was
	 * no other. */
	{409, "BlobAlreadyExists", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS,
		"it is there already"},
	{412, "ConditionNotMet", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS,
		"it is there already"},
	{412, "LeaseIdMissing", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "ContainerBeingDeleted", 0, CALL_FAILED, ERR_INVALID, NULL},
	{409, "ContainerDisabled", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobImmutableDueToPolicy", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobArchived", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "SnapshotsPresent", 0, CALL_FAILED, ERR_DENIED, NULL},
	{409, "OperationNotAllowedInCurrentState", 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, "AccountBeingCreated", 0, CALL_RETRY, ERR_RETRY, NULL},
	{400, "Md5Mismatch", 0, CALL_RETRY, ERR_RETRY, NULL},
	/* A signature that is wrong and one that is old get the same code; a token has its time
	 * from elsewhere. */
	{401, NULL, SENT_TOKEN, CALL_REFRESH, ERR_DENIED, NULL},
	{401, NULL, SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{401, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, SENT_TOKEN, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{503, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};
// clang-format on

/* A signature is good for 15 minutes. */
const struct reply_table azure_blob_replies = {rows, sizeof(rows) / sizeof(*rows), 10 * 60 * 1000};
