/* One question to a running supervisor, and its answer. */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "base/err.h"

#include <jansson.h>

/*
 * Sends {"do": `what`} to the supervisor of that session's directory. Blocks, for `patience_ms` at
 * most. The caller owns *answer. Errors as control_socket_call()'s; ERR_FAILED when it went away
 * before it answered, ERR_RETRY when it lives but refuses, as with too many clients.
 */
int control_client_query(const char *directory, const char *what, int64_t patience_ms,
			 json_t **answer, struct err *err);

#endif
