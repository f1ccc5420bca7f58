/* What S3, Azure, Google and STS answer: lists, error documents, credentials. Who answers may be a
 * proxy, or worse. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/aws/aws_credentials.h"
#include "storage/aws/s3_address.h"
#include "storage/azure/azure.h"
#include "storage/backend/bucket_listing.h"
#include "storage/gcs/gcs.h"
#include "storage/http/store_reply.h"
#include "storage/s3/s3.h"

typedef int (*list_fn)(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err);

static void check_error(const struct err *err)
{
	CHECK(err->kind != 0 && err->text[0]);
	CHECK(memchr(err->text, '\0', sizeof(err->text)));
	CHECK(fuzz_is_utf8(err->text));
}

static void read_list(list_fn read, const uint8_t *data, size_t size, const char *prefix)
{
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_free char *next = NULL;
	struct err err = {0};

	store_listing_add(&listing, "before", 1);
	if (read(data, size, prefix, &listing, &next, &err) < 0) {
		CHECK(listing.count == 1 && !next);
		check_error(&err);
		return;
	}
	CHECK(!next || next[0]);
	CHECK(listing.count >= 1 && strcmp(listing.items[0].key, "before") == 0);
	for (size_t i = 1; i < listing.count; i++) {
		CHECK(listing.items[i].key[0] && listing.items[i].size <= INT64_MAX);
		CHECK(!text_ends(listing.items[i].key, "/") || listing.items[i].size == 0);
	}
}

static const unsigned asked[] = {ASKED_PUT,      ASKED_PUT_IF_ABSENT, ASKED_GET,
				 ASKED_GET_REST, ASKED_LIST,          ASKED_REMOVE};

/* Each size of the input stands for one pair: all of them with each input would take most of the
 * time. */
static void judge_s3(const uint8_t *data, size_t size, const char *text)
{
	static const int statuses[] = {200, 204, 206, 301, 307, 400, 401,
				       403, 404, 409, 412, 500, 503};
	unsigned operation = asked[size % COUNT(asked)];
	const struct s3_reply answer = {
		.status = statuses[size / COUNT(asked) % COUNT(statuses)],
		.region = text,
		.location = text,
		.etag = size % 2 ? "\"e\"" : NULL,
		.body = data,
		.size = size,
	};
	struct s3_move move;
	struct err err = {0};
	enum call_verdict verdict = s3_reply_judge(operation, &answer, &move, &err);

	CHECK(!move.region[0] || s3_address_is_region(move.region));
	CHECK(!strpbrk(move.host, "/?#@"));
	if (verdict == CALL_DONE)
		return;
	check_error(&err);
	CHECK(fuzz_is_one_line(err.text));
	CHECK(verdict != CALL_MOVED || move.region[0] || move.host[0]);
	CHECK(err.kind != ERR_EXISTS || operation == ASKED_PUT_IF_ABSENT);
	CHECK(err.kind != ERR_NOT_FOUND || memmem(data, size, "NoSuchKey", 9) ||
	      memchr(data, '\0', size) || memchr(data, '&', size) || memmem(data, size, "<!", 2));
}

static void judge_error(const uint8_t *data, size_t size)
{
	static const int statuses[] = {400, 401, 403, 404, 409, 412, 416, 429, 500, 503};
	static const struct reply_table *const tables[] = {&gcs_replies, &azure_blob_replies,
							   &aws_sts_replies};
	struct store_reply reply = {.status = 400};
	struct err err = {0};

	store_reply_read_body(&reply, data, size, true);
	reply.facts = asked[size % COUNT(asked)];
	CHECK(fuzz_is_one_line(reply.code) && fuzz_is_one_line(reply.message));
	for (size_t i = 0; i < COUNT(statuses) * COUNT(tables); i++) {
		reply.status = statuses[i / COUNT(tables)];
		if (store_reply_judge(tables[i % COUNT(tables)], &reply, &err) != CALL_DONE)
			CHECK(err.kind != ERR_EXISTS || reply.facts == ASKED_PUT_IF_ABSENT);
	}
	check_error(&err);
}

static void ask_sts(const uint8_t *data, size_t size)
{
	auto_(credential_clear) struct credential credentials = {0};
	struct err err = {0};

	if (aws_reply_sts(data, size, &credentials, &err) < 0) {
		CHECK(!credentials.access_key && !credentials.secret_key);
		check_error(&err);
	} else {
		CHECK(credentials.access_key[0] && fuzz_is_one_line(credentials.access_key));
		CHECK(credentials.secret_key[0] && fuzz_is_one_line(credentials.secret_key));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_list(bucket_listing_read, data, size, "p/");
	read_list(bucket_listing_read, data, size, "");
	read_list(azure_listing_read, data, size, "p/");
	read_list(gcs_json_read_page, data, size, "p/");
	read_list(gcs_json_read_page, data, size, "");
	judge_s3(data, size, text);
	judge_error(data, size);
	ask_sts(data, size);
	return 0;
}
