/* PURE. One record of the channel (shim/PROTOCOL.md) as a message. The job could have written
 * anything there: what is not sound is no message. */
#ifndef SHIM_RECORD_H
#define SHIM_RECORD_H

#include "shim_channel.h"

#include <stdbool.h>
#include <stdint.h>

/* The strings of a message. */
struct shim_record_paths {
	char path[SHIM_PATH_MOST + 1], path2[SHIM_PATH_MOST + 1];
};

/* `record` is a copy that nobody else writes to, with the number `sequence`. The message borrows
 * `paths`. False: it is no record of the library's. */
bool shim_record_read(const struct shim_record *record, uint64_t sequence,
		      struct shim_record_paths *paths, struct shim_message *message);

#endif
