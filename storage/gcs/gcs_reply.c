#include "gcs_reply.h"

// clang-format off
/* Codes: the reasons of "HTTP status and error codes for JSON" in Google's manual, and NoSuchKey,
 * NoSuchBucket and BadDigest of gcs_json.c. */
static const struct reply_row rows[] = {
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	/* The bytes that arrived differ from those that were sent. */
	{STATUS_GOOD, "BadDigest", ASKED_PUT, CALL_RETRY, ERR_RETRY, "it came damaged"},
	{STATUS_GOOD, NULL, ASKED_GET | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{404, "NoSuchKey", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{404, "NoSuchKey", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{404, "NoSuchBucket", 0, CALL_FAILED, ERR_INVALID,
		"there is no such bucket: make it, or correct its name"},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, "the object is shorter than it was"},
	{412, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS, "it is there already"},
	{412, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{400, "required", 0, CALL_FAILED, ERR_INVALID,
		"the bucket is requester-pays: name a project in "
		"GOOGLE_CLOUD_QUOTA_PROJECT"},
	/* A checksum that does not fit has no other reason than this. */
	{400, "invalid", ASKED_PUT, CALL_RETRY, ERR_RETRY, NULL},
	/* A token that was signed with a wrong clock is refused like one whose time is over. */
	{401, NULL, SENT_TOKEN | SENT_SKEWED, CALL_SKEWED, ERR_DENIED, NULL},
	{401, NULL, SENT_TOKEN, CALL_REFRESH, ERR_DENIED, NULL},
	{401, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{405, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};
// clang-format on

const struct reply_table gcs_replies = {rows, sizeof(rows) / sizeof(*rows), 5 * 60 * 1000};
