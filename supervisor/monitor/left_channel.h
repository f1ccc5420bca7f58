/*
 * What a supervisor that was killed has not read in the shim's channel: the file outlives both it
 * and the job. Validated like a living one, since the job could write there. Blocks.
 */
#ifndef LEFT_CHANNEL_H
#define LEFT_CHANNEL_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "shim_channel.h"
#include "shim_record.h"

#include <stdbool.h>
#include <stddef.h>

/* In the session directory. */
#define LEFT_CHANNEL_KNOWN "shim.known"

struct left_report {
	struct shim_message message;
	struct shim_record_paths paths; /* which the message borrows */
};

struct left_channel {
	char *directory; /* canonical */
	int supervisor;  /* its pid, as it saw it */
	/* In their order, from those on that begin what was under way when it wrote its list, as
	 * far as the ring still has them. What cannot be read is left out. */
	struct left_report *reports;
	size_t count;
	/* so many of them the list accounts for */
	size_t listed;
	/* shim_channel_leave_known() */
	struct bytes known;
};

/* From the session directory of a dead supervisor. ERR_NOT_FOUND: it has left nothing that can be
 * of use: it is of an earlier boot of the machine, or reports were lost since, or nothing says what
 * was known. ERR_CORRUPT: no channel of this version. There is nothing to release then. */
int left_channel_read(const char *session_directory, struct left_channel *left, struct err *err);
void left_channel_release(struct left_channel *left);
AUTO(struct left_channel, left_channel_release);

#endif
