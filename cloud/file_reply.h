/* PRIVATE. PURE. Parses a notice file. */
#ifndef CLOUD_FILE_REPLY_H
#define CLOUD_FILE_REPLY_H

#include "reply.h"

enum {
	FILE_NOTICE_MS = 30 * 1000, /* for a file without a time */
	/* Ignore a notice file whose deadline passed longer ago than this: it is stale, and would
	 * stop every new start. */
	FILE_STALE_MS = 60 * 1000,
};

struct file_content {
	const char *path; /* the notice's identity */
	const char *text;
	size_t size;
	int64_t appeared_wall_ms; /* ctime: when the file got its content or its name */
	int64_t seen_ms, seen_wall_ms;
	/* unchanged for a while: what is unreadable will not become readable */
	bool settled;
};

/*
 * Empty, or text for people: STOP 30 s after it appeared. A time alone is the deadline. JSON:
 * {"reason": TEXT, "deadline": TIME | "in_seconds": N, "kind": "stop" | "advice" | "cancelled" |
 * "none"}, each optional. Broken JSON is UNKNOWN until it is settled, because it may still be being
 * written; then the file counts as an empty one.
 *
 * "cancelled" and "none": NEGATIVE with notice.kind
 * CANCELLED, which withdraws the notice of this source. Any other kind is STOP, and the reason
 * names it.
 *
 * For all but UNKNOWN, `why` says what of the JSON is not understood, as in: but "seconds" is not
 * known (write "in_seconds"); "": nothing. What `reprieve watch --json` prints is known.
 */
void file_reply(const struct file_content *content, struct verdict *verdict);

#endif
