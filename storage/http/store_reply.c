#include "store_reply.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "xml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the error document --- */

/* It goes to a terminal. */
static void set_printable(char *target, size_t capacity, const char *text)
{
	text_set(target, capacity, text);
	text_to_line(target);
}

static void read_element(void *arg, const char *path, const char *text)
{
	struct store_reply *reply = arg;

	if (strcasecmp(path, "html") == 0)
		reply->facts |= CAME_PAGE;
	/* That of the Security Token Service. */
	if (text_starts(path, "ErrorResponse/"))
		path += strlen("ErrorResponse/");
	if (strncmp(path, "Error", 5) != 0 || (path[5] && path[5] != '/'))
		return;
	reply->facts |= CAME_ERROR;
	if (strcmp(path, "Error/Code") == 0) {
		set_printable(reply->code, sizeof(reply->code), text);
	} else if (strcmp(path, "Error/Message") == 0) {
		text_set(reply->message, sizeof(reply->message), text);
		/* Azure's go on with a request id and the time. */
		reply->message[strcspn(reply->message, "\r\n")] = '\0';
		text_to_line(reply->message);
	} else if (strcmp(path, "Error/Region") == 0) {
		set_printable(reply->region, sizeof(reply->region), text);
	}
}

static bool status_is_good(int status)
{
	return status >= 200 && status < 300;
}

void store_reply_read_body(struct store_reply *reply, const void *body, size_t size, bool whole)
{
	if (size == 0)
		return;
	reply->facts |= CAME_BODY;
	if (status_is_good(reply->status) && reply->facts & ASKED_GET)
		return;
	if (xml_read(body, size, read_element, reply, NULL) == 0)
		return;
	reply->facts |= CAME_PAGE;
	if (whole)
		reply->code[0] = reply->message[0] = reply->region[0] = '\0';
	/* Without a code it is garbage, and the status alone counts. */
	if (!reply->code[0])
		reply->facts &= ~(unsigned)CAME_ERROR;
	/* A sentence such as that of a server of TLS that was spoken to in plain text. */
	if (size < 100 && isalpha(*(const unsigned char *)body)) {
		auto_free char *text = text_copy_n(body, size);

		set_printable(reply->message, sizeof(reply->message), text);
	}
}

int64_t store_reply_skew_ms(const struct http_response *response, int64_t sent_ms)
{
	const char *date = http_header(response, "Date");
	int64_t server_ms;

	return date && datetime_parse(date, &server_ms) ? server_ms - sent_ms : 0;
}

void store_reply_read(struct store_reply *reply, const struct http_response *response,
		      unsigned facts, int64_t sent_ms)
{
	*reply = (struct store_reply){
		.status = response->status,
		.facts = facts,
		.skew_ms = store_reply_skew_ms(response, sent_ms),
	};
	store_reply_read_body(reply, response->body.data, response->body.size, true);
}

/* --- the verdict --- */

static bool status_fits(int row, int status)
{
	switch (row) {
	case STATUS_ANY:
		return true;
	case STATUS_GOOD:
		return status_is_good(status);
	case STATUS_ELSEWHERE:
		return status >= 300 && status < 400;
	case STATUS_FAULT:
		return status >= 500;
	default:
		return status == row;
	}
}

size_t store_reply_find_row(const struct reply_table *table, const struct store_reply *reply)
{
	bool skewed = table->skew_most_ms && llabs(reply->skew_ms) > table->skew_most_ms;
	unsigned facts = reply->facts | (skewed ? SENT_SKEWED : 0);
	size_t i;

	for (i = 0; i + 1 < table->count; i++) {
		const struct reply_row *row = &table->rows[i];

		if (status_fits(row->status, reply->status) &&
		    (!row->code || strcmp(row->code, reply->code) == 0) &&
		    (row->when & facts) == row->when)
			break;
	}
	return i;
}

enum call_verdict store_reply_judge(const struct reply_table *table,
				    const struct store_reply *reply, struct err *err)
{
	const struct reply_row *row = &table->rows[store_reply_find_row(table, reply)];
	const char *fix = row->fix ? row->fix : "", *message = reply->message;

	if (row->verdict != CALL_DONE)
		err_set(err, row->kind, "%d%s%s%s%s%s%s%s", reply->status,
			reply->code[0] ? " " : "", reply->code, message[0] || fix[0] ? ": " : "",
			message, message[0] && fix[0] ? " (" : "", fix,
			message[0] && fix[0] ? ")" : "");
	return row->verdict;
}
