/* Who keeps a SIGTERM for whom: the supervisor as a process, seen from a signal handler. System
 * calls only; errno may change. */
#ifndef PEER_H
#define PEER_H

#include "shim.h"

#include <stdbool.h>

/* By its pid and its start time; a zombie is dead. Where /proc does not say, the
 * pid alone has to do. */
bool peer_is_alive(const struct shim_header *header);

/* False in another PID namespace, where it cannot be told from others. */
bool peer_shares_pidns(const struct shim_header *header);

/* True in another PID namespace, for sure: there our number means somebody else, or nobody. */
bool peer_has_foreign_pidns(const struct shim_header *header);

#endif
