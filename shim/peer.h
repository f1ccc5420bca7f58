/* Checks on the supervisor's process from within a signal handler. Makes system calls only; may
 * change errno. */
#ifndef PEER_H
#define PEER_H

#include "shim.h"

#include <stdbool.h>

/* Whether the supervisor lives, by pid and start time; a zombie counts as dead. If /proc cannot be
 * read, the pid alone decides. */
bool peer_is_alive(const struct shim_header *header);

/* True if this process is in the supervisor's PID namespace; false also if that is unknown. */
bool peer_shares_pidns(const struct shim_header *header);

/* True only if this process is known to be in another PID namespace, where its pid means nothing to
 * the supervisor. */
bool peer_has_foreign_pidns(const struct shim_header *header);

#endif
