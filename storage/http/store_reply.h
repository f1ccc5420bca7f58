/*
 * PURE. What the reply of a store means. There is one judge for all stores: it looks through the
 * rows of a table for the first that fits the status, the code in the error document, and what is
 * known of the call. Each store has its own table (s3_store.c, gcs_store.c, azure_store.c), in
 * which the particular rows stand before the general ones.
 */
#ifndef STORE_REPLY_H
#define STORE_REPLY_H

#include "base/err.h"
#include "base/http.h"
#include "retrying_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a call besides status and code: a set of these. */
enum reply_fact {
	/* What was asked for: one of the first four, with what belongs to it. */
	ASKED_PUT = 1 << 0,
	ASKED_GET = 1 << 1,
	ASKED_LIST = 1 << 2,
	ASKED_REMOVE = 1 << 3,
	/* To put only where nothing is. */
	ASKED_PUT_IF_ABSENT = ASKED_PUT | 1 << 4,
	/* To get all that comes after an offset, which may be nothing. */
	ASKED_GET_REST = ASKED_GET | 1 << 5,

	/* The call carried a token that can be renewed. */
	SENT_TOKEN = 1 << 6,
	/* It was signed with a clock that is too wrong: store_reply_judge() finds that out from
	 * `skew_ms`. */
	SENT_SKEWED = 1 << 7,

	/* The reply lacks what all such replies of this store have: the ETag, the generation, the
	 * request id. */
	CAME_UNMARKED = 1 << 8,
	/* Its body is an <Error> document; an HTML page, or no XML; anything at all. */
	CAME_ERROR = 1 << 9,
	CAME_PAGE = 1 << 10,
	CAME_BODY = 1 << 11,
};

struct store_reply {
	int status;
	unsigned facts;
	/* The clock of the store minus the one that the call was signed with; 0 unknown. */
	int64_t skew_ms;

	/* From the error document; "" where it says nothing. They are without control characters.
	 */
	char code[64];
	/* Its first line. */
	char message[200];
	/* S3 alone: where the bucket is. */
	char region[64];
};

/* The statuses of a row: this one, or one of these sets. */
enum {
	STATUS_ANY = 0,
	/* 200 to 299 */
	STATUS_GOOD = 2,
	/* 300 to 399 */
	STATUS_ELSEWHERE = 3,
	/* 500 and above */
	STATUS_FAULT = 5,
};

/* In the order in which a row of the tables is read. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct reply_row {
	int status;
	/* NULL: any, or none. */
	const char *code;
	/* Facts that must all be there. */
	unsigned when;
	enum call_verdict verdict;
	/* ERR_NONE with CALL_DONE alone. */
	enum err_kind kind;
	/* What the user can do about it, or what it means; NULL: the store's own words are enough.
	 */
	const char *fix;
};

struct reply_table {
	const struct reply_row *rows;
	/* The last row fits everything. */
	size_t count;
	/* How wrong a clock may be for a signature to hold; 0: the store has a code for that. */
	int64_t skew_most_ms;
};

/*
 * Looks for an error document in the body: fills code, message and region, and adds CAME_ERROR,
 * CAME_PAGE and CAME_BODY to the facts. Status and facts of the call are there already: what came
 * for a good GET is the object, and is not looked into. A document that breaks off says nothing if
 * `whole` is set, else what could be read of it.
 */
void store_reply_read_body(struct store_reply *reply, const void *body, size_t size, bool whole);

/* What the Date of a reply says of the clock of the store minus the one that the call was signed
 * with; 0: nothing. */
int64_t store_reply_skew_ms(const struct http_response *response, int64_t sent_ms);

/* From a reply to a call with these facts: status, the skew from its Date, and the body as above,
 * of which only a whole one counts. */
void store_reply_read(struct store_reply *reply, const struct http_response *response,
		      unsigned facts, int64_t sent_ms);

/* The index of the row that counts. */
size_t store_reply_find_row(const struct reply_table *table, const struct store_reply *reply);

/* Fills `err` for every verdict but CALL_DONE: "404 NoSuchKey: what the store says (the fix)". Its
 * kind is the row's. */
enum call_verdict store_reply_judge(const struct reply_table *table,
				    const struct store_reply *reply, struct err *err);

#endif
