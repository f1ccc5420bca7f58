/* PRIVATE. PURE. What a notice command's end means. */
#ifndef CLOUD_COMMAND_RESULT_H
#define CLOUD_COMMAND_RESULT_H

#include "file_reply.h"

enum {
	/* As of test(1) and grep(1). */
	COMMAND_NOTICE = 0,
	COMMAND_NONE = 1,
};

struct command_result {
	const char *command;
	bool ended;       /* false: it was killed, or did not end in its time */
	int code;         /* if so; 128 + n for a signal, as the shell has it */
	const char *text; /* its stdout, of `size` bytes */
	size_t size;
	int64_t seen_ms, seen_wall_ms;
};

/*
 * 0: a notice, described by stdout as a notice file is (file_reply.h); "id" in JSON is its
 * identity, else the command is. 1: none. Anything else, and broken JSON, is UNKNOWN.
 */
void command_result_judge(const struct command_result *end, struct verdict *verdict);

#endif
