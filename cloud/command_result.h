/* PRIVATE. PURE. Judges the result of a notice command. */
#ifndef CLOUD_COMMAND_RESULT_H
#define CLOUD_COMMAND_RESULT_H

#include "file_reply.h"

enum {
	/* As test(1) and grep(1) return. */
	COMMAND_NOTICE = 0,
	COMMAND_NONE = 1,
};

struct command_result {
	const char *command;
	bool ended;       /* false: it was killed, or timed out */
	int code;         /* valid if `ended`; 128 + n when killed by signal n */
	const char *text; /* its output, of `size` bytes */
	size_t size;
	int64_t seen_ms, seen_wall_ms;
};

/*
 * Exit code 0: a notice, described by the output like a notice file (file_reply.h); "id" in JSON is
 * its identity, otherwise a hash of the command. 1: none. Any other code, and broken JSON: UNKNOWN.
 */
void command_result_judge(const struct command_result *end, struct verdict *verdict);

#endif
