/* PRIVATE. PURE. What a notice file says, and what a command prints. */
#ifndef CLOUD_FILE_REPLY_H
#define CLOUD_FILE_REPLY_H

#include "reply.h"

enum {
	FILE_NOTICE_MS = 30 * 1000, /* where the file says no time */
	/* A file whose deadline is over for longer is left over from an earlier run: it must not
	 * end every new start. */
	FILE_STALE_MS = 60 * 1000,
};

struct file_content {
	const char *source; /* "file", "command" */
	const char *path;   /* the notice's identity */
	const char *text;
	size_t size;
	int64_t appeared_wall_ms; /* ctime: when it got its content or its name */
	int64_t seen_ms, seen_wall_ms;
	/* it has been like this for a while: what cannot be read will not become readable */
	bool settled;
};

/*
 * Empty, or words for people: STOP within 30 s of its appearing. JSON: {"reason": TEXT, "deadline":
 * TIME | "in_seconds": N, "kind": "stop" | "advice" | "cancelled" | "none"}, each optional. A TIME
 * alone is the deadline. Broken JSON is UNKNOWN until it is settled, for it may still be being
 * written; then the file's being there is what counts.
 *
 * "cancelled", and "none" for commands that always answer: NEGATIVE, with notice.kind CANCELLED:
 * what the source told is withdrawn. Any other kind is STOP, and the reason names it.
 */
void file_reply(const struct file_content *content, struct verdict *verdict);

#endif
